/**
 * Notices that refs have been moved by somebody else: a terminal, a pull, another desk.
 *
 * Git writes each ref that it moves by renaming a file into its folder, or rewrites the list of packed refs; both
 * change the times of a folder or file. Looking at those of a few folders once a second takes a fraction of a
 * millisecond, and works where the kernel tells nobody of changes (network disks, mounted folders, a used up limit of
 * watches). Only where one is different, git is asked.
 *
 * Where refs are no files (git's reftable), each transaction writes a list of tables anew, whatever it moves: that is
 * looked at, too, and stands for all of them.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'

/**
 * What may be different: the branches, the drafts, the turns of AIs, which branch is checked out where, or remote
 * branches and tags.
 */
export type Part = 'branches' | 'drafts' | 'turns' | 'checkouts' | 'remotes'

/** Milliseconds between two looks. */
const EVERY = 1000

/** The time of a file or folder, and, of a folder in which folders are looked at, those. */
type Look = { time: string; below: readonly string[] }
type Seen = ReadonlyMap<string, Look>

/** Looks at a repository's refs from now on, until it is closed. */
export class Watch implements AsyncDisposable {
  readonly #seen = new Map<Part, Seen>()
  /** Parts that were different the last time: they are asked for once more. See {@link Watch.look}. */
  #again = new Set<Part>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #looking: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(
    readonly repository: Repository,
    /** Is told what may be different; what it throws is passed on to `onError`. */
    readonly onChange: (parts: ReadonlySet<Part>) => Promise<void>,
    readonly onError: (error: unknown) => void,
  ) {}

  /** Takes everything as it is now for known, and begins to look. */
  async begin(): Promise<void> {
    for (const part of PARTS) this.#seen.set(part, await this.#timesOf(part))
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
    const changed = new Set<Part>()
    for (const part of PARTS) {
      const times = await this.#timesOf(part)
      if (!isSame(times, this.#seen.get(part))) changed.add(part)
      this.#seen.set(part, times)
    }
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

  async #timesOf(part: Part): Promise<Seen> {
    const { commonDir } = this.repository
    if (part === 'checkouts') {
      const linked = join(commonDir, 'worktrees')
      const names = await readdir(linked).catch(() => [])
      const gitDirs = [commonDir, ...names.map(name => join(linked, name))]
      return await lookAt(gitDirs.flatMap(gitDir => [join(gitDir, 'HEAD'), join(gitDir, TABLES)]))
    }
    const files = [
      join(commonDir, 'packed-refs'),
      join(commonDir, TABLES),
      ...(part === 'remotes' ? [join(commonDir, 'FETCH_HEAD')] : []),
    ]
    const before = this.#seen.get(part)
    const looks = await Promise.all(ROOTS[part].map(root => lookBelow(join(commonDir, root), before)))
    return new Map([...(await lookAt(files)), ...looks.flatMap(seen => [...seen])])
  }
}

/** The list of a reftable's files, in a git folder. */
const TABLES = 'reftable/tables.list'

const PARTS = ['branches', 'drafts', 'turns', 'checkouts', 'remotes'] as const

/** Where the refs of a part are. */
const ROOTS = {
  branches: ['refs/heads'],
  // A merge that waits in a branch is part of what is typed there.
  drafts: ['refs/forge/drafts', 'refs/forge/merging'],
  turns: ['refs/forge/turns'],
  remotes: ['refs/remotes', 'refs/tags'],
}

async function lookAt(paths: readonly string[]): Promise<Seen> {
  const times = await Promise.all(paths.map(timeOf))
  return new Map(paths.map((path, at) => [path, { time: times[at] ?? '', below: [] }]))
}

/** A folder and all below it. One that is as it was has the same folders in it: it need not be listed again. */
async function lookBelow(root: string, before: Seen | undefined): Promise<Seen> {
  const seen = new Map<string, Look>()
  let folders: readonly string[] = [root]
  while (folders.length > 0) {
    const looks = await Promise.all(folders.map(folder => lookInto(folder, before?.get(folder))))
    for (const [at, folder] of folders.entries()) seen.set(folder, looks[at] ?? NOTHING)
    folders = looks.flatMap(({ below }) => below)
  }
  return seen
}

async function lookInto(folder: string, before: Look | undefined): Promise<Look> {
  const time = await timeOf(folder)
  if (time === '' || time === before?.time) return { time, below: time === '' ? [] : (before?.below ?? []) }
  return { time, below: await listFolders(folder) }
}

const NOTHING: Look = { time: '', below: [] }

/** Empty where there is nothing. */
async function timeOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found ? `${found.mtimeNs} ${found.ino} ${found.size}` : ''
}

async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const isSame = (one: Seen, other: Seen | undefined): boolean =>
  one.size === other?.size && [...one].every(([path, { time }]) => other.get(path)?.time === time)
