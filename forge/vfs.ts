/**
 * All access to files, never through the file system: those of a commit, which do not change, and those of work in
 * progress, which are a commit with changes on top.
 */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { type CommitFields, commit } from '../core/git/commits.ts'
import { type Objects, oidOf } from '../core/git/objects.ts'
import type { Entry, Oid, Path, Repository } from '../core/git/repository.ts'
import { run } from '../core/git/run.ts'
import { openScratch } from '../core/git/scratch.ts'
import {
  emptyTree,
  entryAt,
  type FileEntry,
  isSafeName,
  listFiles,
  type TreeChange,
  writeTree,
} from '../core/git/trees.ts'
import { isRunning } from '../core/processes.ts'
import { visiblePath } from '../core/text.ts'
import type { Renamed } from './operations.ts'

/** Files by path, as bytes. Paths are relative to the root, with `/` between names and one character for each byte. */
export interface Vfs {
  /** The object database, which gives the size of unchanged content without reading it. */
  readonly objects: Objects
  /** Reads a file. Throws a {@link Failure} where it does not exist. */
  readFile(path: Path): Promise<Buffer>
  writeFile(path: Path, bytes: Uint8Array, options?: { mode?: '100644' | '100755' }): Promise<void>
  /** Deletes a file, or all files in a folder. Throws a {@link Failure} where there is nothing. */
  deleteFile(path: Path): Promise<void>
  /** The files below a folder ('' for the root), in git's order. */
  listFiles(folder: Path): Promise<FileEntry[]>
  fileExists(path: Path): Promise<boolean>
  /** The file, link or submodule at a path; undefined for a folder or nothing. */
  entryAt(path: Path): Promise<Entry>
  /** Writes the tree of all files into the repository, for use with git itself. */
  writeTree(): Promise<Oid>
}

/** At most this many files of a folder are listed. */
const MAX_LISTED_FILES = 2_000_000
/** Larger files, in bytes, are not read. */
const MAX_FILE_BYTES = 128 << 20

/**
 * Throws a {@link Failure} for a path that git refuses, or that some file system takes for another: `..`, `.git` in any
 * spelling, an absolute path, or one with control characters.
 */
export function verifyPath(path: Path): void {
  const refused = whyRefused(path)
  if (refused) throw new Failure(`${visiblePath(path) || 'An empty name'} can't be the name of a file: ${refused}.`)
}

function whyRefused(path: Path): string | undefined {
  if (path === '') return 'it has no characters'
  if (path.startsWith('/')) return 'names begin at the top of the repository, without a slash'
  if (path.length > 4096) return 'it is longer than any file system takes'
  const names = path.split('/')
  if (names.includes('')) return 'a name between two slashes is empty'
  if (names.some(name => name.length > 255)) return 'a part of it is longer than any file system takes'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\x00-\x1f\x7f]/.test(path)) return 'it has a control character'
  const unsafe = names.find(name => !isSafeName(name))
  return unsafe === undefined ? undefined : `git refuses ${visiblePath(unsafe)}`
}

const nothingAt = (path: Path): Failure => new Failure(`There is no file ${visiblePath(path)}.`)

async function readBlob(objects: Objects, path: Path, entry: Entry): Promise<Buffer> {
  if (!entry || entry.mode === '040000' || entry.mode === '160000') throw nothingAt(path)
  const object = await objects.read(entry.oid, { limit: MAX_FILE_BYTES })
  if (!object) throw new Failure(`The content of ${visiblePath(path)} is not in this repository.`)
  if (!object.bytes) throw new Failure(`${visiblePath(path)} is larger than 128 MB: it is not read.`)
  return object.bytes
}

async function listBelow(objects: Objects, treeish: string | undefined, folder: Path): Promise<FileEntry[]> {
  if (treeish === undefined) return []
  const top = await entryAt(objects, treeish, folder)
  if (top?.mode !== '040000') return []
  const { files, cut } = await listFiles(objects, top.oid, { limit: MAX_LISTED_FILES })
  if (cut) throw new Failure('The tree stands for more than two million files: it is not listed.')
  if (folder === '') return files
  return files.map(file => ({ ...file, path: `${folder}/${file.path}` }))
}

/** The files of a commit. `tree`: the tree to read, if it is not the commit's own. */
export class CommitVfs implements Vfs {
  constructor(
    readonly objects: Objects,
    readonly commit: Oid,
    readonly tree = commit,
  ) {}

  async readFile(path: Path): Promise<Buffer> {
    return await readBlob(this.objects, path, await entryAt(this.objects, this.tree, path))
  }

  async writeFile(path: Path): Promise<void> {
    throw this.#refusal(path)
  }

  async deleteFile(path: Path): Promise<void> {
    throw this.#refusal(path)
  }

  listFiles(folder: Path): Promise<FileEntry[]> {
    return listBelow(this.objects, this.tree, folder)
  }

  async fileExists(path: Path): Promise<boolean> {
    return (await this.entryAt(path)) !== undefined
  }

  async entryAt(path: Path): Promise<Entry> {
    const entry = await entryAt(this.objects, this.tree, path)
    return isFile(entry) ? entry : undefined
  }

  async writeTree(): Promise<Oid> {
    const tree = await entryAt(this.objects, this.tree, '')
    if (!tree) throw new Error(`There is no commit ${this.commit}`)
    return tree.oid
  }

  #refusal(path: Path): Failure {
    return new Failure(`${visiblePath(path)} is in the commit ${this.commit.slice(0, 8)}, which never changes.`)
  }
}

const isFile = (entry: Entry): boolean => entry !== undefined && entry.mode !== '040000'

/** The files of a commit, or none, with uncommitted changes, which are in this object only. */
export class WorkInProgressVfs implements Vfs {
  readonly #changes = new Map<Path, TreeChange>()
  /** For each folder, how many changes put something below it. Kept as a count, as there may be many. */
  readonly #counts = new Map<Path, number>()
  readonly #renames: Renamed[] = []

  constructor(
    readonly objects: Objects,
    readonly base: Oid | undefined,
    changes: ReadonlyMap<Path, TreeChange> = new Map(),
    /** Throws where a path may not be written for a reason that only the caller knows, not the files. */
    readonly verifyWritable: (path: Path) => Promise<void> = async () => undefined,
  ) {
    for (const [path, change] of changes) this.#change(path, change)
  }

  /** The changes from the base commit, by path. */
  get changes(): ReadonlyMap<Path, TreeChange> {
    return this.#changes
  }

  /** The renames by {@link renameFile}, in their order. */
  get renames(): readonly Renamed[] {
    return this.#renames
  }

  async readFile(path: Path): Promise<Buffer> {
    const change = this.#changes.get(path)
    if (change && 'bytes' in change) return Buffer.from(change.bytes)
    return await readBlob(this.objects, path, await this.entryAt(path))
  }

  /** Writes a file. The mode of an existing one is kept, unless `mode` is given. */
  async writeFile(path: Path, bytes: Uint8Array, { mode }: { mode?: '100644' | '100755' } = {}): Promise<void> {
    verifyPath(path)
    const there = await this.entryAt(path)
    if (there?.mode === '160000') throw new Failure(`${visiblePath(path)} is a submodule: it is not written here.`)
    if (await this.#isFolder(path)) throw new Failure(`${visiblePath(path)} is a folder.`)
    const above = await this.#fileAbove(path)
    if (above) throw new Failure(`${visiblePath(above)} is a file: nothing can be in it.`)
    await this.verifyWritable(path)
    const kept = there?.mode === '120000' ? '100644' : there?.mode
    this.#change(path, { mode: mode ?? kept ?? '100644', bytes: Buffer.from(bytes) })
  }

  /** Renames a file, whose new path must be free. If that can't be written, nothing is changed. */
  async renameFile(from: Path, to: Path): Promise<void> {
    const bytes = await this.readFile(from)
    const mode = (await this.entryAt(from))?.mode === '100755' ? '100755' : '100644'
    await this.deleteFile(from)
    try {
      await this.writeFile(to, bytes, { mode })
    } catch (error) {
      await this.writeFile(from, bytes, { mode })
      throw error
    }
    this.#renames.push({ from, to })
  }

  async deleteFile(path: Path): Promise<void> {
    const files = isFile(await this.entryAt(path)) ? [path] : (await this.listFiles(path)).map(file => file.path)
    if (files.length === 0) throw nothingAt(path)
    for (const file of files) this.#change(file, undefined)
  }

  async listFiles(folder: Path): Promise<FileEntry[]> {
    const files = new Map((await listBelow(this.objects, this.base, folder)).map(file => [file.path, file]))
    const prefix = folder === '' ? '' : `${folder}/`
    for (const [path, change] of this.#changes) {
      if (!path.startsWith(prefix)) continue
      if (!change) files.delete(path)
      else files.set(path, { path, ...this.#entryOf(change) })
    }
    return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  async fileExists(path: Path): Promise<boolean> {
    return isFile(await this.entryAt(path))
  }

  /** Whether there is a file or a folder with files at a path. */
  async isTaken(path: Path): Promise<boolean> {
    return (await this.fileExists(path)) || (await this.#isFolder(path))
  }

  /**
   * Throws a {@link Failure} where nothing new can be created at a path: something exists there, or a parent is a file.
   */
  async verifyFree(path: Path): Promise<void> {
    verifyPath(path)
    if (await this.isTaken(path)) throw new Failure(`There is ${visiblePath(path)} already: choose another name.`)
    const above = await this.#fileAbove(path)
    if (above) throw new Failure(`${visiblePath(above)} is a file: nothing can be in it.`)
  }

  /** Writes the tree of the base with the changes into the repository. */
  async writeTree(): Promise<Oid> {
    return await writeTree(this.objects, this.base, this.#changes)
  }

  /** Commits the changes on the base, without moving a branch. */
  async commit(wanted: Omit<CommitFields, 'tree' | 'parents'>): Promise<Oid> {
    const parents = this.base === undefined ? [] : [this.base]
    return await commit(this.objects, { ...wanted, tree: await this.writeTree(), parents })
  }

  /**
   * Writes all files into a new folder below `parent`, byte for byte, without git's filters. Dispose it to remove the
   * folder; {@link removeLeftBehind} removes those of killed processes.
   */
  async materialize(parent: string): Promise<{ folder: string } & AsyncDisposable> {
    const made = await this.beginToMaterialize(parent)
    try {
      await made.filled
      return made
    } catch (error) {
      await made[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * The same, for a caller that needs the folder before it has its files: it is there at once, and empty. `filled`
   * resolves when it has all files, and only them. Disposing it waits for that.
   */
  async beginToMaterialize(parent: string): Promise<{ folder: string; filled: Promise<void> } & AsyncDisposable> {
    const { objects, format, signal } = this.objects.repository
    const scratch = await openScratch({ parent, borrowed: [objects], format, signal })
    // Beside the scratch's repository, so that the folder contains no path to the user's objects.
    const folder = join(scratch.cwd, 'files')
    await mkdir(folder)
    const filled = this.#fill(scratch, folder)
    filled.catch(() => undefined)
    const end = async () => {
      await filled.catch(() => undefined)
      await scratch[Symbol.asyncDispose]()
    }
    return { folder, filled, [Symbol.asyncDispose]: end }
  }

  async #fill(scratch: Repository, folder: string): Promise<void> {
    const tree = await this.writeTree()
    // Attributes of the repository must not change the content of files.
    await mkdir(join(scratch.gitDir, 'info'))
    await writeFile(join(scratch.gitDir, 'info', 'attributes'), '* -text -ident -filter !eol !working-tree-encoding\n')
    const where = { ...scratch, cwd: folder, env: { ...scratch.env, GIT_WORK_TREE: folder } }
    if (tree !== emptyTree(scratch.format)) await run(where, ['read-tree', '--reset', '-u', tree])
    await rm(scratch.gitDir, { recursive: true, force: true })
  }

  async entryAt(path: Path): Promise<Entry> {
    if (this.#changes.has(path)) {
      const change = this.#changes.get(path)
      return change && this.#entryOf(change)
    }
    const entry = this.base === undefined ? undefined : await entryAt(this.objects, this.base, path)
    return isFile(entry) ? entry : undefined
  }

  #entryOf(change: NonNullable<TreeChange>): NonNullable<Entry> {
    const { mode } = change
    if ('oid' in change) return { mode, oid: change.oid }
    return { mode, oid: oidOf(this.objects.repository.format, { type: 'blob', bytes: change.bytes }) }
  }

  #change(path: Path, change: TreeChange): void {
    const more = (change ? 1 : 0) - (this.#changes.get(path) ? 1 : 0)
    this.#changes.set(path, change)
    if (more !== 0)
      for (const folder of foldersOf(path)) this.#counts.set(folder, (this.#counts.get(folder) ?? 0) + more)
  }

  async #isFolder(path: Path): Promise<boolean> {
    if (this.#counts.get(path)) return true
    const entry = this.base === undefined ? undefined : await entryAt(this.objects, this.base, path)
    return entry?.mode === '040000' && (await this.listFiles(path)).length > 0
  }

  async #fileAbove(path: Path): Promise<Path | undefined> {
    for (const folder of foldersOf(path)) if (isFile(await this.entryAt(folder))) return folder
    return undefined
  }
}

/** The parent folders of a path, from the top down, without the root. */
function foldersOf(path: Path): Path[] {
  const folders: Path[] = []
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at))
  return folders
}

/** The folder for materialized files in a state folder, in which they are found after a kill -9. */
export const materializedIn = (state: string): string => join(state, 'materialized')

/** Removes the folders of killed processes of this machine. */
export async function removeLeftBehind(parent: string): Promise<void> {
  await mkdir(parent, { recursive: true })
  for (const name of await readdir(parent)) {
    const [, host, pid] = /^scratch-(.*)-(\d+)-[^-]*$/.exec(name) ?? []
    if (!pid || host !== hostname() || isRunning(Number(pid))) continue
    await rm(join(parent, name), { recursive: true, force: true })
  }
}
