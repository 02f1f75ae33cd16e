/** Reads trees, and writes a tree from another one and some changes. */
import { LIMITS, TooLarge } from './bounds.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from './objects.ts'
import { type Entry, type Format, isOid, type Oid, type Path } from './repository.ts'

/** An entry of one tree; its name has no `/` and one character per byte, like a {@link Path}. */
export type TreeEntry = { name: string; mode: string; oid: Oid }
/** An entry with its path from the top of the listed tree. */
export type FileEntry = { path: Path; mode: string; oid: Oid }

export const isFolder = (entry: Entry): boolean => entry?.mode === '040000'
/** The empty tree, which git knows even where it is not stored. */
export const emptyTree = (format: Format): Oid => oidOf(format, { type: 'tree', bytes: new Uint8Array() })

/** Parses the bytes of a tree object: repeated mode, space, name, NUL, and the id as bytes. */
export function parseTree(bytes: Buffer, format: Format): TreeEntry[] {
  const entries: TreeEntry[] = []
  const size = format === 'sha1' ? 20 : 32
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at)
    const end = bytes.indexOf(0, space)
    if (space < 0 || end < 0 || end + size >= bytes.length) throw new Error('A tree ends in the middle of an entry')
    const mode = bytes.toString('latin1', at, space).padStart(6, '0')
    at = end + 1 + size
    entries.push({ mode, name: bytes.toString('latin1', space + 1, end), oid: bytes.toString('hex', end + 1, at) })
  }
  return entries
}

/** The bytes of a tree object, sorted as git does: by bytes, a folder as if its name ended in `/`. */
export function treeBytes(entries: readonly TreeEntry[]): Buffer {
  const key = ({ name, mode }: TreeEntry) => (mode === '040000' ? `${name}/` : name)
  const keyed = entries.map(entry => [key(entry), entry] as const).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const parts = keyed.flatMap(([, { name, mode, oid }]) => [
    Buffer.from(`${mode.replace(/^0/, '')} ${name}\0`, 'latin1'),
    Buffer.from(oid, 'hex'),
  ])
  return Buffer.concat(parts)
}

/** Reads one level of a tree, or of a commit's tree (`<id>`, `HEAD`, a ref). Throws where it does not exist. */
export async function readTree(objects: Objects, treeish: string): Promise<TreeEntry[]> {
  const { format } = objects.repository
  if (treeish === emptyTree(format)) return []
  const tree = await objects.read(treeish.endsWith('}') ? treeish : `${treeish}^{tree}`)
  if (!tree?.bytes || tree.type !== 'tree') throw new Error(`There is no tree ${treeish}`)
  return parseTree(tree.bytes, format)
}

/** The tree of a tree or commit. Throws where there is none. */
export async function treeOf(objects: Objects, treeish: string): Promise<Oid> {
  const tree = await objects.info(`${treeish}^{tree}`)
  if (tree) return tree.oid
  throw new Error(`There is no tree ${treeish}`)
}

/** Reads the entry at a path (any bytes) in a tree or commit; the tree itself for the empty path. */
export async function entryAt(objects: Objects, treeish: string, path: Path): Promise<Entry> {
  return (await entriesAt(objects, treeish, [path]))[0]
}

/** As {@link entryAt}, for several paths, in the same order: each folder is read once. */
export async function entriesAt(objects: Objects, treeish: string, paths: readonly Path[]): Promise<Entry[]> {
  const root = await objects.info(`${treeish}^{tree}`)
  const folders = new Map<Oid, Promise<Map<string, TreeEntry>>>()
  const entriesOf = (oid: Oid): Promise<Map<string, TreeEntry>> => {
    const reading =
      folders.get(oid) ?? readTree(objects, oid).then(all => new Map(all.map(entry => [entry.name, entry])))
    folders.set(oid, reading)
    return reading
  }
  const read = async (path: Path): Promise<Entry> => {
    let entry: Entry = root && { mode: '040000', oid: root.oid }
    for (const name of path === '' ? [] : path.split('/')) {
      if (!entry || !isFolder(entry)) return undefined
      entry = (await entriesOf(entry.oid)).get(name)
    }
    return entry && { mode: entry.mode, oid: entry.oid }
  }
  return await Promise.all(paths.map(read))
}

/**
 * Lists the files below a tree or commit, in git's order, without folders: at most `limit`, and `cut` where there are
 * more. A few trees that refer to each other can stand for more files than there are atoms.
 */
export async function listFiles(
  objects: Objects,
  treeish: string,
  { limit }: { limit: number },
): Promise<{ files: FileEntry[]; cut: boolean }> {
  const files: FileEntry[] = []
  // Folders are counted too: a hostile tree may have endlessly many without a single file.
  let folders = 0
  const walk = async (entries: Promise<TreeEntry[]>, prefix: Path): Promise<boolean> => {
    const read = await entries
    folders++
    // The trees of one level are read together.
    const below = read
      .filter(isFolder)
      .slice(0, limit)
      .map(async ({ oid }) => readTree(objects, oid))
    for (const tree of below) tree.catch(() => undefined)
    let next = 0
    for (const { name, mode, oid } of read) {
      if (files.length >= limit || folders > limit) return true
      if (mode !== '040000') {
        files.push({ path: prefix + name, mode, oid })
        continue
      }
      const tree = below[next++]
      if (!tree || (await walk(tree, `${prefix}${name}/`))) return true
    }
    return false
  }
  return { cut: await walk(readTree(objects, treeish), ''), files }
}

/**
 * Throws {@link TooLarge} where two trees or commits differ in more than `most` paths. For any untrusted tree, each
 * folder is read at most once, and none that both sides share. Must be called before anything that goes through the
 * differences path by path.
 */
export async function verifyFewChanges(
  objects: Objects,
  from: string,
  to: string,
  most: number = LIMITS.changes,
): Promise<void> {
  const [one, other] = await Promise.all([from, to].map(it => entryAt(objects, it, '')))
  const count = await countChanges(objects, one, other, most)
  if (count > most) throw new TooLarge(tooMany(count, most))
}

function tooMany(count: number, most: number): string {
  const many = Number.isFinite(count) && count < 1e15 ? count.toLocaleString('en') : 'endlessly many'
  return `it differs in ${many} paths, and at most ${most.toLocaleString('en')} are looked at`
}

async function countChanges(objects: Objects, one: Entry, other: Entry, most: number): Promise<number> {
  const known = new Map<string, Promise<number>>()
  let [folders, bytes, files] = [0, 0, 0]
  const listOf = async (tree: Entry): Promise<Buffer> => {
    if (!tree || !isFolder(tree) || tree.oid === emptyTree(objects.repository.format)) return Buffer.alloc(0)
    if (++folders > LIMITS.folders) throw new TooLarge(`it has more than ${LIMITS.folders} folders of its own`)
    const info = await objects.info(tree.oid)
    if (!info) throw new TooLarge(`it has a folder that is not there, ${tree.oid}`)
    // The size is checked before the tree is read: the trees of one level are read at the same time.
    bytes += info.size
    if (info.size > LIMITS.folder || bytes > LIMITS.folderBytes)
      throw new TooLarge(`the lists of its folders have more bytes than are looked at, ${bytes.toLocaleString('en')}`)
    return (await objects.read(tree.oid))?.bytes ?? Buffer.alloc(0)
  }
  const look = async (before: Entry, after: Entry, depth: number): Promise<number> => {
    if (depth > LIMITS.depth) throw new TooLarge(`it has more than ${LIMITS.depth} folders inside of each other`)
    const [old, young] = await Promise.all([listOf(before), listOf(after)])
    const pairs = differentEntries(old, young, objects.repository.format)
    files += pairs.length
    if (files > most) throw new TooLarge(tooMany(files, most))
    const counts = await Promise.all(pairs.map(([a, b]) => count(a, b, depth + 1)))
    return counts.reduce((sum, it) => sum + it, 1)
  }
  const count = (before: Entry, after: Entry, depth: number): number | Promise<number> => {
    if (before?.oid === after?.oid && before?.mode === after?.mode) return 0
    if (!isFolder(before) && !isFolder(after)) return 1
    // Each pair of trees is counted once, wherever it occurs: a few trees can stand for very many files by repetition.
    const pair = `${before?.oid} ${after?.oid}`
    const counted = known.get(pair) ?? look(before, after, depth)
    known.set(pair, counted)
    return counted
  }
  return await count(one, other, 0)
}

/**
 * The entries that differ between two trees, by name, before and after. Equal entries are skipped by comparing bytes.
 */
function differentEntries(before: Buffer, after: Buffer, format: Format): [Entry, Entry][] {
  const endOf = (tree: Buffer, at: number) => {
    const end = tree.indexOf(0, at) + 1 + (format === 'sha1' ? 20 : 32)
    // An incomplete last entry ends where the tree ends.
    return at < tree.length && end <= tree.length ? end : tree.length
  }
  const rest: [Buffer[], Buffer[]] = [[], []]
  let [at, to] = [0, 0]
  while (at < before.length || to < after.length) {
    const [end, until] = [endOf(before, at), endOf(after, to)]
    if (end - at === until - to && before.compare(after, to, until, at, end) === 0) {
      at = end
      to = until
      continue
    }
    // Entries that only one tree has are collected; entries of the same name are matched later.
    const order = nameOrder(before.subarray(at, end), after.subarray(to, until))
    if (order <= 0 && at < before.length) rest[0].push(before.subarray(at, end))
    if (order >= 0 && to < after.length) rest[1].push(after.subarray(to, until))
    if (order <= 0) at = end
    if (order >= 0) to = until
  }
  const [old, young] = rest.map(entries => parseTree(Buffer.concat(entries), format))
  const names = new Map<string, [Entry, Entry]>(old?.map(entry => [entry.name, [entry, undefined]]))
  for (const entry of young ?? []) names.set(entry.name, [names.get(entry.name)?.[0], entry])
  return [...names.values()]
}

/** Compares two raw entries by name; a missing one comes last. */
function nameOrder(one: Buffer, other: Buffer): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length
  const nameOf = (entry: Buffer) => entry.subarray(entry.indexOf(32) + 1, entry.indexOf(0))
  return nameOf(one).compare(nameOf(other))
}

/** What a path becomes: an existing object, new content, or deleted (undefined). */
export type TreeChange = { mode: string; oid: Oid } | { mode: string; bytes: Uint8Array } | undefined

/** The changes at one path (`set`) and below it. */
type Plan = { set?: { to: TreeChange }; below: Map<string, Plan> }

/**
 * Writes a tree: `base` (a commit's or tree's id; undefined: the empty tree) with some changes, and their new content.
 * Only the affected folders are read and written, by one git process besides the reader. A file is replaced by a folder
 * of its name, and the reverse; an empty folder is removed. A change of mode 040000 sets a whole tree; undefined
 * deletes a file or a whole folder.
 *
 * Throws where git or a file system refuses a path ({@link isSafeName}), where one change is inside of another's file,
 * and where a change refers to a missing object.
 */
export async function writeTree(
  objects: Objects,
  base: Oid | undefined,
  changes: ReadonlyMap<Path, TreeChange>,
): Promise<Oid> {
  const { oid, made } = await makeTree(objects, base, changes)
  await writeObjects(objects.repository, made)
  return oid
}

/** A tree that is not written yet: its id, and all objects to write for it. */
export type NewTree = { oid: Oid; made: NewObject[] }

/**
 * Computes a tree as {@link writeTree} does without writing it, for callers that write more objects by the same git
 * process.
 */
export async function makeTree(
  objects: Objects,
  base: Oid | undefined,
  changes: ReadonlyMap<Path, TreeChange>,
): Promise<NewTree> {
  const { repository } = objects
  const made: NewObject[] = []
  const make = (object: NewObject): Oid => {
    made.push(object)
    return oidOf(repository.format, object)
  }
  const entryOf = (change: TreeChange): Entry => {
    if (change && 'bytes' in change) return { mode: change.mode, oid: make({ type: 'blob', bytes: change.bytes }) }
    // An empty tree counts as no folder.
    return change?.oid === emptyTree(repository.format) ? undefined : change && { mode: change.mode, oid: change.oid }
  }
  /** Applies the changes at one path and below it; `before` is its present entry. */
  const apply = async ({ set, below }: Plan, before: Entry): Promise<Entry> => {
    const there = set ? entryOf(set.to) : before
    if (below.size === 0) return there
    const entries = new Map<string, TreeEntry>()
    if (there && isFolder(there)) for (const entry of await readTree(objects, there.oid)) entries.set(entry.name, entry)
    const after = await Promise.all(
      [...below].map(async ([name, plan]) => [name, await apply(plan, entries.get(name))] as const),
    )
    for (const [name, entry] of after) {
      if (entry) entries.set(name, { name, ...entry })
      else entries.delete(name)
    }
    // Deleting something inside of a path that is a file changes nothing.
    if (entries.size === 0) return there && !isFolder(there) ? there : undefined
    return { mode: '040000', oid: make({ type: 'tree', bytes: treeBytes([...entries.values()]) }) }
  }
  const plan = planOf(repository.format, changes)
  await verifyAreThere(objects, changes)
  const root = base === undefined ? undefined : await objects.info(`${base}^{tree}`)
  if (base !== undefined && !root) throw new Error(`There is no tree ${base}`)
  const tree = await apply(plan, root && { mode: '040000', oid: root.oid })
  const oid = tree ? tree.oid : make({ type: 'tree', bytes: new Uint8Array() })
  return { oid, made }
}

function planOf(format: Format, changes: ReadonlyMap<Path, TreeChange>): Plan {
  const root: Plan = { below: new Map() }
  for (const [path, to] of changes) {
    verifyChange(format, path, to)
    let place = root
    for (const name of path.split('/')) {
      const next: Plan = place.below.get(name) ?? { below: new Map() }
      place.below.set(name, next)
      place = next
    }
    place.set = { to }
  }
  for (const [path, to] of changes) {
    if (!to) continue
    // No change may put a file at a parent folder of another change.
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const above = changes.get(parts.slice(0, depth).join('/'))
      if (above && above.mode !== '040000')
        throw new Error(`${parts.slice(0, depth).join('/')} can't be a file and the folder of ${path}`)
    }
  }
  return root
}

const MODES: Record<string, string> = {
  '100644': 'blob',
  '100755': 'blob',
  '120000': 'blob',
  '040000': 'tree',
  '160000': 'commit',
}

function verifyChange(format: Format, path: Path, to: TreeChange): void {
  const names = path.split('/')
  if (names.includes('')) throw new Error(`${JSON.stringify(path)} is no path: a name in it is empty`)
  // An entry with an unsafe name may be deleted, but not written.
  if (!to) return
  const unsafe = names.find(name => !isSafeName(name))
  if (unsafe !== undefined) throw new Error(`${JSON.stringify(path)} can't be in a tree: git refuses ${unsafe}`)
  if (!MODES[to.mode]) throw new Error(`${to.mode} is no mode of git's, at ${JSON.stringify(path)}`)
  if ('bytes' in to ? MODES[to.mode] !== 'blob' : !isOid(format, to.oid))
    throw new Error(`There is no content of mode ${to.mode} for ${JSON.stringify(path)}`)
  if (to.mode === '120000' && /^\.gitmodules$/i.test(names.at(-1) ?? ''))
    throw new Error(`${JSON.stringify(path)} can't be a link: git refuses it`)
}

/** Throws where a new entry's object is missing: git would write the tree, and fail only when it is read. */
async function verifyAreThere(objects: Objects, changes: ReadonlyMap<Path, TreeChange>): Promise<void> {
  const known = [...changes].flatMap(([path, to]) => {
    const type = to && 'oid' in to && MODES[to.mode]
    // A submodule's commit is in another repository.
    return type && type !== 'commit' && to.oid !== emptyTree(objects.repository.format) ? [{ path, type, ...to }] : []
  })
  const infos = await Promise.all(known.map(({ oid }) => objects.info(oid)))
  const missing = known.find(({ type }, at) => infos[at]?.type !== type)
  if (missing) throw new Error(`There is no ${missing.type} ${missing.oid} for ${JSON.stringify(missing.path)}`)
}

/** Code points that HFS+ ignores in names, as UTF-8 bytes. */
const IGNORED = /\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf/g

/**
 * Whether a name is safe in a tree. Names that some file system takes for `.git`, `.` or `..` are not: a checkout would
 * write git's own files there, and so could run code.
 */
export function isSafeName(name: string): boolean {
  // A character above \u00ff is not a byte and would be written as another character: \u012e as a dot.
  if (name === '' || /[\0/\u0100-\uffff]/.test(name)) return false
  const onMac = name.replace(IGNORED, '')
  // On Windows a backslash separates names, a colon begins a stream, and trailing dots and spaces are ignored.
  const onWindows = name.split('\\').map(part => part.replace(/:.*$/s, '').replace(/[. ]+$/, ''))
  if (name.includes('\\') && name.split('\\').includes('..')) return false
  if (name === '.' || name === '..' || onMac === '.' || onMac === '..') return false
  return ![onMac, ...onWindows].some(it => /^(\.git|git~1)$/i.test(it))
}
