/**
 * Folders in which checks find the files of a commit. They are kept: for the next commit, only the differences are
 * written. Commands there are untrusted, so a slot has no repository in it: git works on it from outside, with its own
 * index and configuration and no filters.
 */
import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, hostname, totalmem } from 'node:os'
import { join } from 'node:path'
import { asText, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run, type Where } from '../../../core/git/run.ts'
import { openScratch, type Scratch } from '../../../core/git/scratch.ts'
import { isRunning } from '../../../core/processes.ts'
import { shellIn } from '../../../core/shell.ts'
import { readUntrusted } from '../../../core/untrusted.ts'
import { giveToContainer, openAll } from '../../ai/closed-container.ts'

/** A folder with exactly the files of one commit. Dispose it to return it to the pool of such folders. */
export type Slot = AsyncDisposable & {
  folder: string
  /** Brings the folder to another commit and removes everything else. */
  fill(commit: Oid): Promise<void>
  /**
   * Restores the commit's files. Records all other files, which a command has made, as prepared: {@link restore} brings
   * them back.
   */
  keepPrepared(): Promise<void>
  /**
   * Restores the files of the commit, or of another one, and the prepared files, and removes everything else. False
   * where nothing was prepared, or a command has changed it: then the folder has only the commit's files.
   */
  restore(commit?: Oid): Promise<boolean>
  /**
   * Opens a second folder for the holder of this one, without waiting: holders that wait for each other would deadlock.
   * Dispose it before this one.
   */
  beside(commit: Oid): Promise<Slot>
  /**
   * The content of a file after commands may have changed it; undefined where it is missing, larger than 16 MB, or
   * behind a link. For paths in UTF-8, and only while no command runs.
   */
  read(path: Path): Promise<Buffer | undefined>
}

/** Larger files, in bytes, are not read back. */
const MAX_TAKEN_FILE_BYTES = 16 << 20

/** The folder with the slots (folders in which checks run), in a repository's state folder. */
const slotsIn = (state: string): string => join(state, 'slots')

/** The memory of one container, in bytes: see core/container.ts. */
const CONTAINER_MEMORY = 4 * 1024 ** 3
const MAX_SLOTS = 16

/** How many checks a machine runs at once: one for each processor, as far as its memory suffices. */
export const slotsFor = ({ processors, memory }: { processors: number; memory: number }): number =>
  Math.max(1, Math.min(MAX_SLOTS, processors, Math.floor(memory / CONTAINER_MEMORY)))

const slotsOfMachine = (): number => slotsFor({ processors: availableParallelism(), memory: totalmem() })

type Waiting = { enter: () => void }

export class Slots implements AsyncDisposable {
  #scratch: Promise<Scratch> | undefined
  #waiting: Waiting[] = []
  #taken = 0

  /**
   * @param most At most this many slots (folders for checks) are in use at once, not counting those opened by {@link
   * Slot.beside}. Further callers wait.
   */
  constructor(
    readonly repository: Repository,
    readonly state: string,
    readonly most = slotsOfMachine(),
  ) {}

  /** Takes a slot (a folder with the files of a commit), waiting for a free one. Throws the signal's reason. */
  async take(commit: Oid, signal?: AbortSignal): Promise<Slot> {
    await this.#enter(signal)
    try {
      return await this.#open(commit, () => this.#leave())
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#taken < this.most) {
      this.#taken++
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = { enter: resolve }
    const giveUp = () => {
      this.#waiting = this.#waiting.filter(it => it !== waiting)
      reject(signal?.reason)
    }
    this.#waiting.push(waiting)
    signal?.addEventListener('abort', giveUp, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** Frees a place, or passes it to the caller that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next.enter()
    else this.#taken--
  }

  /**
   * Opens a slot (a folder with the files of a commit). `onClose` is called when it is given back, and not where
   * opening fails.
   */
  async #open(commit: Oid, onClose: () => void): Promise<Slot> {
    const place = await this.#claim()
    try {
      const giveBack = async () => {
        await this.#giveBack(place)
        onClose()
      }
      const beside = (other: Oid) => this.#open(other, () => undefined)
      const slot = new WarmSlot(place, await this.#git(), { giveBack, beside })
      await slot.fill(commit)
      return slot
    } catch (error) {
      await this.#giveBack(place)
      throw error
    }
  }

  /** Takes a folder named by host and process, so that folders of killed processes can be recognised. */
  async #claim(): Promise<string> {
    const parent = slotsIn(this.state)
    await mkdir(parent, { recursive: true, mode: 0o700 })
    for (const name of await readdir(parent)) {
      const [, host, pid] = /^used-(.*)-(\d+)-[^-]*$/.exec(name) ?? []
      const isLeft = pid !== undefined && host === hostname() && !isRunning(Number(pid))
      if (!isLeft && !name.startsWith('free-')) continue
      const mine = join(parent, this.#name())
      // Another process may have taken the folder first.
      const isMine = await rename(join(parent, name), mine).then(
        () => true,
        () => false,
      )
      if (!isMine) continue
      if (isLeft) await rm(join(mine, 'index.lock'), { force: true })
      return mine
    }
    const made = join(parent, this.#name())
    await mkdir(join(made, 'files'), { recursive: true, mode: 0o700 })
    return made
  }

  #name = (): string => `used-${hostname()}-${process.pid}-${randomUUID().replaceAll('-', '')}`

  /**
   * The temporary git folder from which all slots (folders in which checks run) get their files. It has default
   * configuration, and reads the repository's objects.
   */
  async #git(): Promise<Scratch> {
    const { objects, format } = this.repository
    this.#scratch ??= (async () => {
      const scratch = await openScratch({ parent: join(this.state, 'slots-git'), borrowed: [objects], format })
      await mkdir(join(scratch.gitDir, 'info'), { recursive: true })
      // Attributes of the repository must not change the content of files.
      const attributes = '* -text -ident -filter !eol !working-tree-encoding\n'
      await writeFile(join(scratch.gitDir, 'info', 'attributes'), attributes)
      return scratch
    })()
    return await this.#scratch
  }

  async #giveBack(place: string): Promise<void> {
    await rename(place, join(slotsIn(this.state), `free-${randomUUID()}`)).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const scratch = await this.#scratch?.catch(() => undefined)
    await scratch?.[Symbol.asyncDispose]()
  }
}

/** What a slot needs of the pool of slots: to give itself back, and to open another one for its holder. */
type Home = { giveBack: () => Promise<void>; beside: (commit: Oid) => Promise<Slot> }

class WarmSlot implements Slot {
  readonly folder: string
  readonly #git: Where
  #commit = ''
  /** The prepared files: paths as bytes in latin1, relative to the folder. */
  #prepared: ReadonlySet<string> | undefined

  constructor(
    readonly place: string,
    scratch: Scratch,
    private readonly home: Home,
  ) {
    this.folder = join(place, 'files')
    // git has no time limit here, as an untrusted tree may be large.
    const { bounds: _, ...where } = scratch
    const env = { ...scratch.env, GIT_WORK_TREE: this.folder, GIT_INDEX_FILE: join(place, 'index') }
    this.#git = { ...where, cwd: this.folder, env }
  }

  async fill(commit: Oid): Promise<void> {
    this.#commit = commit
    this.#prepared = undefined
    await openAll(this.folder)
    try {
      await this.#checkOut(commit)
    } catch {
      // The index is broken, or git can't check the folder out: write all files again.
      for (const name of ['index', 'index.lock', 'files'])
        await rm(join(this.place, name), { recursive: true, force: true })
      await mkdir(this.folder, { mode: 0o700 })
      await this.#checkOut(commit)
    }
  }

  async #checkOut(commit: Oid): Promise<void> {
    await this.#bringBackFiles(commit)
    await run(this.#git, ['clean', '--quiet', '-ffdx'])
  }

  async #bringBackFiles(commit: Oid): Promise<void> {
    await run(this.#git, ['read-tree', '--reset', '-u', commit])
    // Git ignores pipes, sockets and devices, and would leave them.
    await shellIn({ cwd: '/' })`find ${this.folder} ! -type f ! -type d ! -type l -delete`
  }

  async keepPrepared(): Promise<void> {
    await openAll(this.folder)
    await this.#bringBackFiles(this.#commit)
    // The files get the container's owner before their state is recorded: later, that would count as a change.
    await giveToContainer(this.folder)
    this.#prepared = await this.#untracked()
    // Files that change from now on are newer than this file.
    await writeFile(this.#stamp, '')
  }

  async restore(commit = this.#commit): Promise<boolean> {
    this.#commit = commit
    const prepared = this.#prepared
    if (!prepared || (await this.#isClosed()) || (await this.#isChanged(prepared))) {
      await this.fill(commit)
      return false
    }
    try {
      await this.#bringBackFiles(commit)
      const there = await this.#untracked()
      await this.#remove([...there].filter(path => !prepared.has(path)))
      if ([...prepared].every(path => there.has(path))) return true
    } catch {
      // Git can't reset the folder in its present state.
    }
    await this.fill(commit)
    return false
  }

  get #stamp(): string {
    return join(this.place, 'prepared')
  }

  /** Whether a command has made a file or folder unreadable. */
  async #isClosed(): Promise<boolean> {
    const folders = ['-type', 'd', '!', '-perm', '-700']
    const files = ['-type', 'f', '!', '-perm', '-600']
    return (await this.#find(['(', ...folders, '-o', ...files, ')', '-prune'])).length > 0
  }

  /** Whether a prepared file has changed, by its inode's change time, which a command can't set. */
  async #isChanged(prepared: ReadonlySet<string>): Promise<boolean> {
    const changed = await this.#find(['!', '-type', 'd', '-cnewer', this.#stamp])
    return changed.some(path => prepared.has(path))
  }

  /** All files, links and folders that are not the commit's. */
  async #untracked(): Promise<Set<string>> {
    const { stdout } = await run(this.#git, ['ls-files', '-z'])
    const tracked = new Set<string>()
    for (const path of stdout.toString('latin1').split('\0')) {
      tracked.add(path)
      // The folders above the commit's files belong to the commit as well.
      for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
        const folder = path.slice(0, at)
        if (tracked.has(folder)) break
        tracked.add(folder)
      }
    }
    return new Set((await this.#find([])).filter(path => !tracked.has(path)))
  }

  /** The paths below the folder that `find` gives for these arguments. */
  async #find(words: readonly string[]): Promise<string[]> {
    const found = await shellIn({ cwd: this.folder })`find . ! -name . ${words} -print0`
    const names = found.buffer().toString('latin1').split('\0')
    return names.filter(name => name !== '').map(name => name.slice('./'.length))
  }

  async #remove(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return
    const gone = new Set(paths)
    // Removes only the topmost paths: their content goes with them.
    const tops = paths.filter(path => !gone.has(path.slice(0, Math.max(path.lastIndexOf('/'), 0))))
    const input = Buffer.from(tops.map(path => `./${path}\0`).join(''), 'latin1')
    const stdio: ['pipe', 'pipe', 'pipe'] = ['pipe', 'pipe', 'pipe']
    await shellIn({ cwd: this.folder }, { input, stdio })`xargs -0 rm -rf --`
  }

  beside(commit: Oid): Promise<Slot> {
    return this.home.beside(commit)
  }

  async read(path: Path): Promise<Buffer | undefined> {
    const parts = asText(path).split('/')
    for (const depth of parts.keys()) {
      const place = join(this.folder, ...parts.slice(0, depth + 1))
      const stats = await lstat(place).catch(() => undefined)
      const isLast = depth === parts.length - 1
      // A link may lead anywhere.
      if (isLast ? !stats?.isFile() : !stats?.isDirectory()) return undefined
    }
    const found = await readUntrusted(join(this.folder, ...parts), MAX_TAKEN_FILE_BYTES + 1)
    return found?.kind === 'file' && found.bytes.length <= MAX_TAKEN_FILE_BYTES ? found.bytes : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await openAll(this.folder)
    await this.home.giveBack()
  }
}
