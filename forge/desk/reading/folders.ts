/** Lists a folder, one level at a time. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { isFolder, parseTree, readTree, type TreeEntry } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { FolderEntry } from '../contract/reading.ts'
import type { FolderPlace } from './place.ts'

/** A folder with more entries is refused, since listing it would block the server. */
const MAX_FOLDER_ENTRIES = 200_000

/** Folders first, then by name. `draft` marks unsaved files, and folders that contain one. */
export async function listFolder(objects: Objects, place: FolderPlace, path: Path): Promise<FolderEntry[]> {
  const entries = await entriesIn(objects, place, path)
  if (!entries) throw new Failure(`There is no folder ${visiblePath(path)} here any more.`)
  if (entries.length > MAX_FOLDER_ENTRIES)
    throw new Failure(`${visiblePath(path) || 'This folder'} has ${many(entries.length, 'file')}: too many for a list.`)
  const drafts = namesIn(path, place.drafts)
  const order = ({ mode, name }: { mode: string; name: string }) => `${mode === '040000' ? 0 : 1}${name}`
  const keyed = entries.map(({ name, mode }) => ({ name, mode, draft: drafts.has(name) }))
  return keyed
    .map(entry => [order(entry), entry] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => entry)
}

/** Lists the entries of a folder; undefined if there is no such folder. */
async function entriesIn(
  objects: Objects,
  { tree, unwritten }: FolderPlace,
  path: Path,
): Promise<TreeEntry[] | undefined> {
  const entriesOf = async (oid: Oid): Promise<TreeEntry[]> => {
    const bytes = unwritten.get(oid)
    return bytes ? parseTree(Buffer.from(bytes), objects.repository.format) : await readTree(objects, oid)
  }
  let entries = await entriesOf(tree)
  for (const name of path === '' ? [] : path.split('/')) {
    const entry = entries.find(it => it.name === name)
    if (!entry || !isFolder(entry)) return undefined
    entries = await entriesOf(entry.oid)
  }
  return entries
}

/** The names in a folder at or below which some paths are. */
function namesIn(folder: Path, paths: ReadonlySet<Path>): Set<string> {
  const prefix = folder === '' ? '' : `${folder}/`
  const below = [...paths].filter(path => path.startsWith(prefix))
  return new Set(below.map(path => path.slice(prefix.length).split('/', 1)[0] ?? ''))
}
