/**
 * Detects that another program has moved refs: a terminal, a pull, another desk.
 *
 * Git writes a loose ref by renaming a file into its folder, and rewrites the list of packed refs; both change a time
 * stamp. Checking those of a few folders every second takes a fraction of a millisecond, and works where file events
 * are missing (network disks, mounted folders, exhausted limits). Git is asked only after a change.
 *
 * If refs are not files (reftable), each transaction rewrites a list of tables, which is checked for all refs.
 */
import { type BigIntStats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import { DRAFTS, MERGING, TURNS } from '../refs.ts'

/**
 * The parts that may have changed: branches, drafts, the turns of AIs, checkouts (which branch is checked out, or what
 * is staged), or remotes: their branches, their addresses and the upstreams of branches (git's configuration), tags and
 * stashes.
 */
export type WatchedPart = 'branches' | 'drafts' | 'turns' | 'checkouts' | 'remotes'

/** The interval of the checks, in milliseconds. */
const CHECK_INTERVAL_MS = 1000
/**
 * The longest that a synchronous check may take, in milliseconds. On a local disk it takes a tenth of one, a fiftieth
 * of the asynchronous check, which starts a thread per file. If it takes longer, the asynchronous one is used.
 */
const MAX_LOOK_MS = 5

/**
 * The time stamp of a file or folder. `below`: the folders in it, if it is searched recursively. `isSettled`: whether
 * they were listed once more after the check that first saw this time stamp, which stays the same if a folder is added
 * within milliseconds after the first listing.
 */
type Look = { time: string; below: readonly string[]; isSettled: boolean }
type Seen = ReadonlyMap<string, Look>
/** Returns the time stamp of a file or folder. */
type Clock = (path: string) => string | Promise<string>

/** Watches a repository's refs until it is closed. */
export class Watch implements AsyncDisposable {
  readonly #seen = new Map<WatchedPart, Seen>()
  /** The parts (such as drafts) that changed in the last check: they are reported once more, see {@link Watch.look}. */
  #again = new Set<WatchedPart>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #looking: Promise<void> = Promise.resolve()
  #isClosed = false
  #isSlow = false

  constructor(
    readonly repository: Repository,
    /** Called with the parts that may have changed; its errors are passed to `onError`. */
    readonly onChange: (parts: ReadonlySet<WatchedPart>) => Promise<void>,
    readonly onError: (error: unknown) => void,
    /** Further files and folders that belong to the checkouts, as of now. */
    readonly signs: () => readonly string[] = () => [],
  ) {}

  /** Takes the current state as known, and starts checking. */
  async begin(): Promise<void> {
    const timeOf = onceEach(timeLater)
    for (const part of PARTS) this.#seen.set(part, await this.#timesOf(part, timeOf))
    this.#lookLater()
  }

  /**
   * Checks now. A time stamp may stay the same if a ref moves twice within milliseconds, the second time after the
   * first was seen: so a changed part is reported again a moment later.
   */
  async look(): Promise<void> {
    const next = this.#looking.then(() => this.#look())
    this.#looking = next.catch(() => undefined)
    await next
  }

  async #look(): Promise<void> {
    const changed = new Set<WatchedPart>()
    let spent = 0
    const timed = (path: string) => {
      const begun = performance.now()
      const time = timeNow(path)
      spent += performance.now() - begun
      return time
    }
    const timeOf = onceEach(this.#isSlow ? timeLater : timed)
    for (const part of PARTS) {
      const times = await this.#timesOf(part, timeOf)
      if (!isSame(times, this.#seen.get(part))) changed.add(part)
      this.#seen.set(part, times)
    }
    this.#isSlow ||= spent > MAX_LOOK_MS
    const parts = changed.union(this.#again)
    this.#again = changed
    if (parts.size > 0 && !this.#isClosed) await this.onChange(parts)
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(async () => {
      await this.look().catch(this.onError)
      this.#lookLater()
    }, CHECK_INTERVAL_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #timesOf(part: WatchedPart, timeOf: Clock): Promise<Seen> {
    const { commonDir } = this.repository
    const before = this.#seen.get(part)
    if (part === 'checkouts') {
      const linked = join(commonDir, 'worktrees')
      const look = await lookInto(linked, before?.get(linked), timeOf)
      const gitDirs = [commonDir, ...look.below]
      const files = gitDirs.flatMap(gitDir => ['HEAD', 'index', TABLES].map(name => join(gitDir, name)))
      const own = await lookAt([...files, ...this.signs()], timeOf)
      return new Map([...own, [linked, look]])
    }
    const files = [
      join(commonDir, 'packed-refs'),
      join(commonDir, TABLES),
      ...(part === 'remotes' ? REMOTES_FILES.map(name => join(commonDir, name)) : []),
    ]
    const looks = await Promise.all(ROOTS[part].map(root => lookBelow(join(commonDir, root), before, timeOf)))
    return new Map([...(await lookAt(files, timeOf)), ...looks.flatMap(seen => [...seen])])
  }
}

/** The list of tables of a reftable, in a git folder. */
const TABLES = 'reftable/tables.list'

/** The files that are watched for the remotes, besides their refs. */
const REMOTES_FILES = ['FETCH_HEAD', 'config', 'refs/stash', 'logs/refs/stash']

const PARTS = ['branches', 'drafts', 'turns', 'checkouts', 'remotes'] as const

/** The folder of refs with a prefix, relative to the git directory. */
const folderOf = (prefix: string): string => prefix.replace(/\/$/, '')

/** The folders of refs that are watched for each part. */
const ROOTS = {
  branches: ['refs/heads'],
  // A waiting merge is reported as 'drafts'.
  drafts: [DRAFTS, MERGING].map(folderOf),
  turns: [TURNS].map(folderOf),
  remotes: ['refs/remotes', 'refs/tags'],
}

async function lookAt(paths: readonly string[], timeOf: Clock): Promise<Seen> {
  const times = await Promise.all(paths.map(timeOf))
  return new Map(paths.map((path, at) => [path, { ...NOTHING, time: times[at] ?? '' }]))
}

/**
 * The time stamps of a folder and all below it. An unchanged folder still has the same folders, so it is listed only
 * once more.
 */
async function lookBelow(root: string, before: Seen | undefined, timeOf: Clock): Promise<Seen> {
  const seen = new Map<string, Look>()
  let folders: readonly string[] = [root]
  while (folders.length > 0) {
    const looks = await Promise.all(folders.map(folder => lookInto(folder, before?.get(folder), timeOf)))
    for (const [at, folder] of folders.entries()) seen.set(folder, looks[at] ?? NOTHING)
    folders = looks.flatMap(({ below }) => below)
  }
  return seen
}

async function lookInto(folder: string, before: Look | undefined, timeOf: Clock): Promise<Look> {
  const time = await timeOf(folder)
  if (time === '') return NOTHING
  const isKnown = time === before?.time
  if (isKnown && before.isSettled) return before
  return { time, below: await listFolders(folder), isSettled: isKnown }
}

const NOTHING: Look = { time: '', below: [], isSettled: true }

/** Returns a clock that reads each path once. */
function onceEach(timeOf: Clock): Clock {
  const known = new Map<string, ReturnType<Clock>>()
  return path => {
    const time = known.get(path) ?? timeOf(path)
    known.set(path, time)
    return time
  }
}

async function timeLater(path: string): Promise<string> {
  return timeIn(await stat(path, { bigint: true }).catch(() => undefined))
}

function timeNow(path: string): string {
  try {
    return timeIn(statSync(path, { bigint: true, throwIfNoEntry: false }))
  } catch {
    return ''
  }
}

/** The time stamp as text; '' if there is no file. */
const timeIn = (found: BigIntStats | undefined): string => (found ? `${found.mtimeNs} ${found.ino} ${found.size}` : '')

async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const isSame = (one: Seen, other: Seen | undefined): boolean =>
  one.size === other?.size && [...one].every(([path, { time }]) => other.get(path)?.time === time)
