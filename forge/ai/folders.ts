/**
 * All folders of a tree with what is in them and how many files are below. What has not changed since it was last read
 * is not read again: after a commit, that is nearly all of it.
 */
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { type FileEntry, isFolder, readTree, type TreeEntry } from '../../core/git/trees.ts'

export type Folder = {
  /** From the top, without a slash at the end; '' is the top. */
  path: Path
  oid: Oid
  files: readonly FileEntry[]
  folders: readonly Folder[]
  /** In it and below it. */
  all: FolderCount
}

/** How many files, and the endings that most of them have. */
type FolderCount = { files: number; endings: readonly (readonly [ending: string, files: number])[] }

/**
 * Of a repository of more files or folders, the others are left out: a hostile repository can have any number with a
 * few tree objects.
 */
const MAX_FILES_AND_FOLDERS = 500_000
/** No file system takes a longer path. */
const MAX_PATH_BYTES = 4096
/** The most endings that are counted for a folder, the most frequent ones. */
const MAX_ENDINGS = 8

/** The folder that a path is in; '' is the top. */
export const folderOf = (path: Path): Path => path.slice(0, Math.max(path.lastIndexOf('/'), 0))

/** A folder and those above it, up to the top. */
export function foldersAbove(path: Path): Path[] {
  const above = [path]
  for (let at = path; at !== ''; at = folderOf(at)) above.push(folderOf(at))
  return above
}

/** Reads a tree; `before` is what was read of an earlier one. What the desk keeps in `.forge` is not in it. */
export async function readFolders(objects: Objects, tree: Oid, before?: Folder): Promise<Folder> {
  let left = MAX_FILES_AND_FOLDERS
  // The same folder may stand in many places.
  const trees = new Map<Oid, Promise<TreeEntry[]>>()
  const entriesOf = (oid: Oid): Promise<TreeEntry[]> => {
    const reading = trees.get(oid) ?? readTree(objects, oid)
    // The first caller gets the error; without a caller it must not count as unhandled.
    reading.catch(() => undefined)
    trees.set(oid, reading)
    return reading
  }
  const read = async (oid: Oid, path: Path, entries: Promise<TreeEntry[]>, old?: Folder): Promise<Folder> => {
    const prefix = path === '' ? '' : `${path}/`
    const names = (await entries).filter(({ name }) => prefix.length + name.length <= MAX_PATH_BYTES)
    const known = new Map(old?.folders.map(folder => [folder.path, folder]))
    const below = names
      .filter(entry => isFolder(entry) && (path !== '' || entry.name !== '.forge'))
      .slice(0, Math.max(left, 0))
      .map(entry => ({ oid: entry.oid, path: prefix + entry.name, old: known.get(prefix + entry.name) }))
    // Those beside each other are read in one go.
    const changed = below.map(it => (it.old?.oid === it.oid ? undefined : entriesOf(it.oid)))
    const files = names
      .filter(entry => !isFolder(entry))
      .slice(0, Math.max(left, 0))
      .map(({ name, mode, oid: blob }) => ({ path: prefix + name, mode, oid: blob }))
    left -= files.length + 1
    const folders: Folder[] = []
    for (const [at, it] of below.entries()) {
      const reading = changed[at]
      if (left <= 0) break
      if (reading) folders.push(await read(it.oid, it.path, reading, it.old))
      else if (it.old) folders.push(it.old)
    }
    return { path, oid, files, folders, all: sumOf([countFiles(files), ...folders.map(({ all }) => all)]) }
  }
  return before?.oid === tree ? before : await read(tree, '', entriesOf(tree), before)
}

export function countFiles(files: readonly FileEntry[]): FolderCount {
  const endings = new Map<string, number>()
  for (const { path } of files) {
    const ending = /\.[A-Za-z0-9]{1,10}$/.exec(path)?.[0] ?? 'other'
    endings.set(ending, (endings.get(ending) ?? 0) + 1)
  }
  return { files: files.length, endings: mostOf(endings) }
}

function sumOf(parts: readonly FolderCount[]): FolderCount {
  const endings = new Map<string, number>()
  for (const part of parts)
    for (const [ending, count] of part.endings) endings.set(ending, (endings.get(ending) ?? 0) + count)
  return { files: parts.reduce((total, { files }) => total + files, 0), endings: mostOf(endings) }
}

const mostOf = (endings: ReadonlyMap<string, number>): FolderCount['endings'] =>
  [...endings].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, MAX_ENDINGS)
