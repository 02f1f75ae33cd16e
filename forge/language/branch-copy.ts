/**
 * A copy of a branch's files in a folder, which language servers read and which follows the branch. Commands that have
 * prepared the folder were untrusted, so nothing that they left (such as a link in the place of a folder) leads a write
 * out of it.
 */
import { randomUUID } from 'node:crypto'
import { chmod, lchown, lstat, mkdir, rename, rm, rmdir, symlink, unlink, writeFile } from 'node:fs/promises'
import { changesIn, diffTrees } from '../../core/git/diffs.ts'
import type { Entry, Path } from '../../core/git/repository.ts'
import { openAll } from '../ai/closed-container.ts'
import { WorkInProgressVfs } from '../vfs.ts'
import type { Launcher } from './launch.ts'

/** A change of a file, as the protocol numbers them: created, changed, deleted. */
export type FileEvent = { path: Path; type: 1 | 2 | 3 }

export class BranchCopy implements AsyncDisposable {
  #vfs: WorkInProgressVfs
  /** Resolves when the folder has all files of the branch, which servers can read. */
  readonly filled: Promise<void>

  private constructor(
    readonly folder: string,
    readonly owner: readonly [uid: number, gid: number],
    vfs: WorkInProgressVfs,
    readonly made: { filled: Promise<void> } & AsyncDisposable,
    launcher: Launcher,
  ) {
    this.#vfs = asNow(vfs)
    this.filled = made.filled.then(async () => {
      await launcher.own(folder)
    })
    this.filled.catch(() => undefined)
  }

  /** Begins to write all files of a branch into a new folder below `parent`. */
  static async begin(vfs: WorkInProgressVfs, parent: string, launcher: Launcher): Promise<BranchCopy> {
    const made = await vfs.beginToMaterialize(parent)
    try {
      return new BranchCopy(made.folder, await launcher.own(made.folder), vfs, made, launcher)
    } catch (error) {
      await made[Symbol.asyncDispose]()
      throw error
    }
  }

  /** The files as they were followed last. */
  get vfs(): WorkInProgressVfs {
    return this.#vfs
  }

  /**
   * Makes the files as they are in `latest`. Gives the changed ones. The caller runs one call at a time, and none
   * before the folder is filled.
   */
  async follow(latest: WorkInProgressVfs): Promise<FileEvent[]> {
    const before = this.#vfs
    const vfs = asNow(latest)
    const paths = new Set([...before.changes.keys(), ...vfs.changes.keys()])
    if (before.base !== vfs.base) for (const path of await pathsBetween(before, vfs)) paths.add(path)
    const changed: { path: Path; was: Entry; is: Entry }[] = []
    for (const path of paths) {
      const [was, is] = [await before.entryAt(path), await vfs.entryAt(path)]
      if (was?.oid !== is?.oid || was?.mode !== is?.mode) changed.push({ path, was, is })
    }
    // Deletions first: a folder may become a file.
    for (const { path, is } of changed) if (!is) await this.#delete(path)
    for (const { path, is } of changed) if (is) await this.#write(vfs, path, is)
    this.#vfs = vfs
    return changed.map(({ path, was, is }) => ({ path, type: is ? (was ? 2 : 1) : 3 }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.filled.catch(() => undefined)
    await openAll(this.folder)
    await this.made[Symbol.asyncDispose]()
  }

  #place(path: Path): Buffer {
    return Buffer.concat([Buffer.from(`${this.folder}/`), Buffer.from(path, 'latin1')])
  }

  async #write(vfs: WorkInProgressVfs, path: Path, { mode }: NonNullable<Entry>): Promise<void> {
    for (const folder of foldersOf(path)) await this.#makeFolder(folder)
    const place = this.#place(path)
    const there = await lstat(place).catch(() => undefined)
    if (there?.isDirectory()) await rm(place, { recursive: true, force: true })
    if (mode === '160000') return await this.#makeFolder(path)
    const bytes = await vfs.readFile(path)
    // Moved into place: writing to what is there could follow a link.
    const fresh = this.#place([...foldersOf(path).slice(-1), `.forge-${randomUUID()}`].join('/'))
    if (mode === '120000') await symlink(bytes, fresh)
    else {
      await writeFile(fresh, bytes, { flag: 'wx' })
      await chmod(fresh, mode === '100755' ? 0o755 : 0o644)
    }
    await this.#give(fresh)
    await rename(fresh, place)
  }

  /** Makes a folder, unless there is one. Anything else in its place is removed. */
  async #makeFolder(path: Path): Promise<void> {
    const place = this.#place(path)
    const there = await lstat(place).catch(() => undefined)
    if (there?.isDirectory()) return
    if (there) await unlink(place)
    await mkdir(place)
    await chmod(place, 0o755)
    await this.#give(place)
  }

  async #give(place: Buffer): Promise<void> {
    if (process.getuid?.() === 0) await lchown(place, ...this.owner)
  }

  async #delete(path: Path): Promise<void> {
    const folders = foldersOf(path)
    for (const folder of folders) if (!(await lstat(this.#place(folder)).catch(() => undefined))?.isDirectory()) return
    await rm(this.#place(path), { recursive: true, force: true })
    for (const folder of folders.reverse()) {
      const isEmpty = await rmdir(this.#place(folder)).then(
        () => true,
        () => false,
      )
      if (!isEmpty) return
    }
  }
}

/** The files as they are now: a turn changes its own later. */
const asNow = ({ objects, base, changes }: WorkInProgressVfs): WorkInProgressVfs =>
  new WorkInProgressVfs(objects, base, changes)

/** The paths in which the commits of two works in progress may differ. */
async function pathsBetween(before: WorkInProgressVfs, after: WorkInProgressVfs): Promise<Path[]> {
  const { repository } = after.objects
  if (before.base === undefined || after.base === undefined) {
    const one = before.base === undefined ? after : before
    return (await one.listFiles('')).map(({ path }) => path)
  }
  return [...changesIn(await diffTrees(repository, before.base, after.base))].map(([path]) => path)
}

/** The folders that contain a path, from the top down. */
function foldersOf(path: Path): Path[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/'))
}
