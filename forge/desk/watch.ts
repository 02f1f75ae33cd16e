/**
 * Notices that refs have been moved by somebody else: a terminal, a pull, another desk.
 *
 * Git writes each ref that it moves by renaming a file into its folder, or rewrites the list of packed refs; both
 * change the times of a folder or file. Looking at those of a few folders once a second takes a fraction of a
 * millisecond, and works where the kernel tells nobody of changes (network disks, mounted folders, a used up limit of
 * watches). Only where one is different, git is asked.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../../core/git/repository.ts'

/** What may be different: the branches, the drafts, the turns of AIs, or which branch is checked out where. */
export type Part = 'branches' | 'drafts' | 'turns' | 'checkouts'

/** Milliseconds between two looks. */
const EVERY = 1000

type Seen = Map<string, string>

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
    const times: Seen = new Map()
    if (part === 'checkouts') {
      await note(times, join(commonDir, 'HEAD'))
      const linked = join(commonDir, 'worktrees')
      for (const name of await readdir(linked).catch(() => [])) await note(times, join(linked, name, 'HEAD'))
      return times
    }
    const root = join(commonDir, FOLDERS[part])
    await note(times, join(commonDir, 'packed-refs'))
    await this.#noteFolders(times, root, this.#seen.get(part))
    return times
  }

  /** A folder that is as it was has the same folders in it: it need not be listed again. */
  async #noteFolders(times: Seen, folder: string, before: Seen | undefined): Promise<void> {
    const time = await note(times, folder)
    if (time === '') return
    const isKnown = before?.get(folder) === time
    const below = isKnown ? foldersIn(before, folder) : await listFolders(folder)
    for (const path of below) await this.#noteFolders(times, path, before)
  }
}

const PARTS = ['branches', 'drafts', 'turns', 'checkouts'] as const

const FOLDERS = { branches: 'refs/heads', drafts: 'refs/forge/drafts', turns: 'refs/forge/turns' }

async function note(times: Seen, path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  const time = found ? `${found.mtimeNs} ${found.ino} ${found.size}` : ''
  times.set(path, time)
  return time
}

const foldersIn = (seen: Seen, folder: string): string[] =>
  [...seen.keys()].filter(path => path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes('/'))

async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
}

const isSame = (one: Seen, other: Seen | undefined): boolean =>
  one.size === other?.size && [...one].every(([path, time]) => other.get(path) === time)
