/** Lists a folder, one level at a time. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asText, type Oid, type Path } from '../../../core/git/repository.ts'
import { isFolder, parseTree, readTree, type TreeEntry } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { compareNames } from '../contract/name-order.ts'
import { isIn, pathAfter } from '../contract/paths.ts'
import type { FolderEntry } from '../contract/reading.ts'
import type { FolderPlace } from './place.ts'

/** A folder with more entries is refused, since listing it would block the server. */
const MAX_FOLDER_ENTRIES = 200_000

/** The renames that drafts include. */
export interface DraftRenames {
  /** The old path of each renamed file, by its new path. */
  origins: ReadonlyMap<Path, Path>
  /** The old paths of renamed folders, by their new paths. */
  folders: ReadonlyMap<Path, Path>
}

export const NO_RENAMES: DraftRenames = { origins: new Map(), folders: new Map() }

/**
 * Lists a folder: folders first, then by name ({@link compareNames}). `draft` says what is unsaved. Deleted files are
 * listed, but not the old paths of renamed ones.
 */
export async function listFolder(
  objects: Objects,
  place: FolderPlace,
  path: Path,
  renames: DraftRenames = NO_RENAMES,
): Promise<FolderEntry[]> {
  const drafts = draftsIn(path, place.drafts, renames)
  const [there, before] = await Promise.all([
    entriesIn(objects, place, place.tree, path),
    drafts.size > 0 ? entriesIn(objects, place, place.saved, path) : undefined,
  ])
  const saved = new Map((before ?? []).map(entry => [entry.name, entry]))
  const names = new Set(there?.map(({ name }) => name))
  const gone = [...saved.values()].filter(({ name }) => !names.has(name) && drafts.has(name))
  if (!there && gone.length === 0) throw new Failure(`There is no folder ${visiblePath(path)} here any more.`)
  const entries = [...(there ?? []), ...gone]
  if (entries.length > MAX_FOLDER_ENTRIES)
    throw new Failure(`${visiblePath(path) || 'This folder'} has ${many(entries.length, 'file')}: too many for a list.`)
  const stateOf = ({ name, mode }: TreeEntry): Pick<FolderEntry, 'draft' | 'from'> => {
    if (!drafts.has(name)) return {}
    if (!names.has(name)) return { draft: 'deleted' }
    const before = saved.get(name)
    if (before && isFolder(before) === (mode === '040000')) return { draft: 'changed' }
    const at = path === '' ? name : `${path}/${name}`
    const from = mode === '040000' ? folderOrigin(renames, at) : renames.origins.get(at)
    return from === undefined ? { draft: 'added' } : { draft: 'renamed', from }
  }
  const isFile = ({ mode }: TreeEntry) => Number(mode !== '040000')
  return entries
    .map(entry => ({ entry, text: asText(entry.name) }))
    .sort((one, other) => isFile(one.entry) - isFile(other.entry) || compareNames(one.text, other.text))
    .map(({ entry }) => ({ name: entry.name, mode: entry.mode, ...stateOf(entry) }))
}

/** The old path of a folder that was renamed, or of which files were renamed with a folder above it. */
function folderOrigin({ folders, origins }: DraftRenames, path: Path): Path | undefined {
  const own = folders.get(path)
  if (own !== undefined) return own
  for (const [to, from] of folders) {
    if (!isIn(path, to)) continue
    const before = pathAfter({ from: to, to: from }, path)
    if ([...origins].some(([now, origin]) => isIn(now, path) && isIn(origin, before))) return before
  }
  return undefined
}

/** Lists the entries of a folder; undefined if there is no such folder. */
async function entriesIn(
  objects: Objects,
  { unwritten }: FolderPlace,
  tree: Oid,
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

/** The names in a folder at or below which files are unsaved. The old path of a renamed file does not count. */
function draftsIn(folder: Path, drafts: FolderPlace['drafts'], { origins }: DraftRenames): Set<string> {
  const prefix = folder === '' ? '' : `${folder}/`
  const old = new Set(origins.values())
  const names = new Set<string>()
  for (const path of drafts.keys())
    if (path.startsWith(prefix) && !old.has(path)) names.add(path.slice(prefix.length).split('/', 1)[0] ?? '')
  return names
}
