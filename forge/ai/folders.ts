/**
 * Reads all folders of a tree with their entries and file counts. Folders that are unchanged since the last reading are
 * reused: after a commit, nearly all of them.
 */
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { type FileEntry, isFolder, readTree, type TreeEntry } from '../../core/git/trees.ts'

export type Folder = {
  /** The path from the root, without a trailing slash; '' is the root. */
  path: Path
  oid: Oid
  files: readonly FileEntry[]
  folders: readonly Folder[]
  /** Counts the files in the folder and below it. */
  all: FolderCount
}

/** The number of files, and the most frequent file name extensions. */
type FolderCount = { files: number; endings: readonly (readonly [ending: string, files: number])[] }

/**
 * At most this many files and folders; further ones are left out. A hostile repository can list any number with a few
 * tree objects.
 */
const MAX_FILES_AND_FOLDERS = 500_000
/** Longer paths, in bytes, are left out: no file system takes them. */
const MAX_PATH_BYTES = 4096
/** At most this many extensions are counted for a folder, the most frequent ones. */
const MAX_ENDINGS = 8

/** The folder of a path; '' is the root. */
export const folderOf = (path: Path): Path => path.slice(0, Math.max(path.lastIndexOf('/'), 0))

/** A folder and its parents, up to the root. */
export function foldersAbove(path: Path): Path[] {
  const above = [path]
  for (let at = path; at !== ''; at = folderOf(at)) above.push(folderOf(at))
  return above
}

/** Reads a tree; `before` is the result for an earlier tree. The folder `.forge` is left out. */
export async function readFolders(objects: Objects, tree: Oid, before?: Folder): Promise<Folder> {
  let left = MAX_FILES_AND_FOLDERS
  // Several folders may be the same tree object.
  const trees = new Map<Oid, Promise<TreeEntry[]>>()
  const entriesOf = (oid: Oid): Promise<TreeEntry[]> => {
    const reading = trees.get(oid) ?? readTree(objects, oid)
    // The error is thrown to the awaiting caller; this keeps it from being reported as unhandled too.
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
    // Folders of one level are requested together.
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
