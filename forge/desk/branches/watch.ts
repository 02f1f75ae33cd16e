/**
 * Notices that refs were moved by another program: a terminal, a pull, another desk.
 *
 * Git writes each ref that it moves by renaming a file into its folder, or rewrites the list of packed refs; both
 * change the times of a folder or file. Looking at those of a few folders once a second takes a fraction of a
 * millisecond, and works where the kernel tells nobody of changes (network disks, mounted folders, a used up limit of
 * watches). Only where one is different, git is asked.
 *
 * Where refs are no files (git's reftable), each transaction writes a list of tables anew, whatever it moves: that is
 * looked at, too, and stands for all of them.
 */
import { type BigIntStats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import { DRAFTS, MERGING, TURNS } from '../refs.ts'

/**
 * What may be different: the branches, the drafts, the turns of AIs, which branch is checked out where, or remote
 * branches and tags.
 */
export type WatchedPart = 'branches' | 'drafts' | 'turns' | 'checkouts' | 'remotes'

/** Milliseconds between two looks. */
const EVERY = 1000
/**
 * Milliseconds that a look may take for which everything else waits: on a disk of this machine it is a tenth of one, and
 * a fiftieth of what threads take that are woken for each file. On one that is slower, they are.
 */
const MAX_LOOK_MS = 5

/** The time of a file or folder, and, of a folder in which folders are looked at, those. */
type Look = { time: string; below: readonly string[] }
type Seen = ReadonlyMap<string, Look>
/** Gives the time of a file or folder. */
type Clock = (path: string) => string | Promise<string>

/** Looks at a repository's refs from now on, until it is closed. */
export class Watch implements AsyncDisposable {
  readonly #seen = new Map<WatchedPart, Seen>()
  /** Parts that were different the last time: they are asked for once more. See {@link Watch.look}. */
  #again = new Set<WatchedPart>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #looking: Promise<void> = Promise.resolve()
  #isClosed = false
  #isSlow = false

  constructor(
    readonly repository: Repository,
    /** Is told what may be different; what it throws is passed on to `onError`. */
    readonly onChange: (parts: ReadonlySet<WatchedPart>) => Promise<void>,
    readonly onError: (error: unknown) => void,
  ) {}

  /** Takes everything as it is now for known, and begins to look. */
  async begin(): Promise<void> {
    const timeOf = onceEach(timeLater)
    for (const part of PARTS) this.#seen.set(part, await this.#timesOf(part, timeOf))
    this.#lookLater()
  }

  /**
   * Looks now. A time may stay the same where a ref moves twice within some milliseconds, the second time after the
   * first was seen: so what was different is asked for a second time a moment later.
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
    }, EVERY)
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
      const heads = await lookAt(
        gitDirs.flatMap(gitDir => [join(gitDir, 'HEAD'), join(gitDir, TABLES)]),
        timeOf,
      )
      return new Map([...heads, [linked, look]])
    }
    const files = [
      join(commonDir, 'packed-refs'),
      join(commonDir, TABLES),
      ...(part === 'remotes' ? [join(commonDir, 'FETCH_HEAD')] : []),
    ]
    const looks = await Promise.all(ROOTS[part].map(root => lookBelow(join(commonDir, root), before, timeOf)))
    return new Map([...(await lookAt(files, timeOf)), ...looks.flatMap(seen => [...seen])])
  }
}

/** The list of a reftable's files, in a git folder. */
const TABLES = 'reftable/tables.list'

const PARTS = ['branches', 'drafts', 'turns', 'checkouts', 'remotes'] as const

/** The folder of refs that have a prefix, relative to the git directory. */
const folderOf = (prefix: string): string => prefix.replace(/\/$/, '')

/** Where the refs of a part are. */
const ROOTS = {
  branches: ['refs/heads'],
  // A merge that waits in a branch is part of what is typed there.
  drafts: [DRAFTS, MERGING].map(folderOf),
  turns: [TURNS].map(folderOf),
  remotes: ['refs/remotes', 'refs/tags'],
}

async function lookAt(paths: readonly string[], timeOf: Clock): Promise<Seen> {
  const times = await Promise.all(paths.map(timeOf))
  return new Map(paths.map((path, at) => [path, { time: times[at] ?? '', below: [] }]))
}

/** A folder and all below it. One that is as it was has the same folders in it: it need not be listed again. */
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
  if (time === '' || time === before?.time) return { time, below: time === '' ? [] : (before?.below ?? []) }
  return { time, below: await listFolders(folder) }
}

const NOTHING: Look = { time: '', below: [] }

/** Asks for each path once. */
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

/** Empty where there is nothing. */
const timeIn = (found: BigIntStats | undefined): string => (found ? `${found.mtimeNs} ${found.ino} ${found.size}` : '')

async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const isSame = (one: Seen, other: Seen | undefined): boolean =>
  one.size === other?.size && [...one].every(([path, { time }]) => other.get(path)?.time === time)
