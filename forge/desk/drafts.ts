/**
 * Drafts: what was typed in a branch and is not saved yet. In the repository they are a commit on the branch's tip, at
 * `refs/forge/drafts/<branch>`: its tree is the tip's with the drafts in it.
 */
import { bytesOf, lineOf, parseCommit, textOf } from '../../core/git/commits.ts'
import { changesIn, diffTrees } from '../../core/git/diffs.ts'
import { mergeLines, mergeTrees } from '../../core/git/merges.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../core/git/objects.ts'
import type { RefName } from '../../core/git/refs.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { GitError } from '../../core/git/run.ts'
import { type Change, emptyTree, entryAt, listFiles, makeTree } from '../../core/git/trees.ts'

export const DRAFTS = 'refs/forge/drafts/'
export const draftsRef = (branch: string): RefName => `${DRAFTS}${branch}`

/**
 * A file as a draft has it, undefined where it is deleted. The bytes are here for as long as they may not be written.
 */
export type DraftFile = { mode: string; oid: Oid; bytes?: Buffer } | undefined
/**
 * Two ends of one file that could not be brought together: a draft, what it was made from, and the file as it is now.
 */
export type Clashing = { mode: string; base: Oid | undefined; draft: Oid; bytes?: Buffer }

export type Drafts = {
  /** The commit that they were made on; undefined before a branch's first one. */
  tip: Oid | undefined
  files: ReadonlyMap<Path, DraftFile>
  clashes: ReadonlyMap<Path, Clashing>
}

export const noDrafts = (tip: Oid | undefined): Drafts => ({ tip, files: new Map(), clashes: new Map() })
export const isEmpty = ({ files, clashes }: Drafts): boolean => files.size === 0 && clashes.size === 0

export function isSameDrafts(one: Drafts, other: Drafts): boolean {
  if (one.tip !== other.tip || one.files.size !== other.files.size || one.clashes.size !== other.clashes.size)
    return false
  for (const [path, file] of one.files) {
    const twin = other.files.get(path)
    if (!other.files.has(path) || twin?.oid !== file?.oid || twin?.mode !== file?.mode) return false
  }
  for (const [path, { base, draft, mode }] of one.clashes) {
    const twin = other.clashes.get(path)
    if (twin?.base !== base || twin?.draft !== draft || twin?.mode !== mode) return false
  }
  return true
}

/** Who makes the commits that are the desk's own notes: nobody's name stands for them. */
export const DESK = { name: 'Forge', email: 'forge@forge.invalid' }

const asChange = (file: DraftFile): Change => file && (file.bytes ? { mode: file.mode, bytes: file.bytes } : file)
export const asChanges = (files: ReadonlyMap<Path, DraftFile>): Map<Path, Change> =>
  new Map([...files].map(([path, file]) => [path, asChange(file)]))

/** A commit that is not written yet: its id, its tree, and all that has to be written with it. */
export type NewDrafts = { oid: Oid; tree: Oid; made: NewObject[] }

const CLASHES = /^Forge-Clashes: ([0-9a-f]+)$/m

/**
 * The commit for some drafts; undefined where there are none. Where the tip itself is not written yet, `from` says what
 * it is made of: another commit and changes.
 */
export async function makeDrafts(
  objects: Objects,
  drafts: Drafts,
  from: { base: Oid | undefined; changes: ReadonlyMap<Path, Change> } = { base: drafts.tip, changes: new Map() },
): Promise<NewDrafts | undefined> {
  if (isEmpty(drafts)) return undefined
  const tree = await makeTree(objects, from.base, new Map([...from.changes, ...asChanges(drafts.files)]))
  const clashes = drafts.clashes.size > 0 ? await makeClashes(objects, drafts.clashes) : undefined
  const parents = [drafts.tip, clashes?.oid].filter(oid => oid !== undefined)
  const message = `Drafts\n${clashes ? `\nForge-Clashes: ${clashes.oid}\n` : ''}`
  const who = lineOf(DESK)
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents, message }, who, who) }
  const oid = oidOf(objects.repository.format, commit)
  return { oid, tree: tree.oid, made: [...tree.made, ...(clashes?.made ?? []), commit] }
}

/**
 * Clashes as a commit of their own, which is a parent of the drafts': a folder `draft` and a folder `base` with the
 * files of both ends, so that no garbage collection takes them.
 */
async function makeClashes(objects: Objects, clashes: ReadonlyMap<Path, Clashing>): Promise<NewDrafts> {
  const changes = new Map<Path, Change>()
  for (const [path, { mode, base, draft, bytes }] of clashes) {
    changes.set(`draft/${path}`, bytes ? { mode, bytes } : { mode, oid: draft })
    if (base) changes.set(`base/${path}`, { mode, oid: base })
  }
  const tree = await makeTree(objects, undefined, changes)
  const who = lineOf(DESK)
  const message = 'Drafts and what they were made from\n'
  const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents: [], message }, who, who) }
  return { oid: oidOf(objects.repository.format, commit), tree: tree.oid, made: [...tree.made, commit] }
}

/** More drafts than anybody has typed. */
const MOST = 100_000

/** The drafts in a commit that {@link makeDrafts} made; undefined where it is none. */
export async function readDrafts(objects: Objects, oid: Oid): Promise<Drafts | undefined> {
  const object = await objects.read(oid)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { tree, parents, message } = parseCommit(object.bytes)
  const clashing = CLASHES.exec(textOf(message, undefined))?.[1]
  const [tip] = parents.filter(parent => parent !== clashing)
  const clashes = clashing && parents.includes(clashing) ? await readClashes(objects, clashing) : new Map()
  return { tip, files: await filesBetween(objects, tip, tree), clashes }
}

async function readClashes(objects: Objects, commit: Oid): Promise<Map<Path, Clashing>> {
  const clashes = new Map<Path, Clashing>()
  const { files } = await listFiles(objects, commit, { limit: MOST })
  const bases = new Map(
    files.filter(({ path }) => path.startsWith('base/')).map(({ path, oid }) => [path.slice(5), oid]),
  )
  for (const { path, mode, oid } of files) {
    if (!path.startsWith('draft/')) continue
    const name = path.slice(6)
    clashes.set(name, { mode, base: bases.get(name), draft: oid })
  }
  return clashes
}

/** What a tree has otherwise than a commit (undefined: than nothing), as drafts. */
export async function filesBetween(objects: Objects, tip: Oid | undefined, tree: Oid): Promise<Map<Path, DraftFile>> {
  const { repository } = objects
  const before = tip ?? emptyTree(repository.format)
  const files = new Map<Path, DraftFile>()
  for (const [path, , after] of changesIn(await diffTrees(repository, before, tree))) files.set(path, after)
  return files
}

/** The tree that some drafts make of their tip, written into the repository. */
async function writeDraftTree(objects: Objects, drafts: Drafts): Promise<Oid> {
  const { oid, made } = await makeTree(objects, drafts.tip, asChanges(drafts.files))
  await writeObjects(objects.repository, made)
  return oid
}

/**
 * Drafts brought together with what somebody else made of the same start: a branch that has moved (then `theirs` are no
 * drafts on its new tip), or the drafts of another desk. Files that git can merge are merged; of the others both ends
 * are kept as clashes.
 */
export async function mergeDrafts(objects: Objects, start: Drafts, ours: Drafts, theirs: Drafts): Promise<Drafts> {
  const clashes = await mergeClashes(objects, start.clashes, ours.clashes, theirs.clashes)
  if (isSameDrafts({ ...ours, clashes: new Map() }, { ...start, clashes: new Map() })) return { ...theirs, clashes }
  const [base, one, other] = [
    await writeDraftTree(objects, start),
    await writeDraftTree(objects, ours),
    await writeDraftTree(objects, theirs),
  ]
  const merge = await mergeTrees(objects.repository, one, other, { base, objects })
  const files = await filesBetween(objects, theirs.tip, merge.tree)
  for (const [path, stages] of Map.groupBy(merge.stages, stage => stage.path)) {
    // The markers of a conflict are in nobody's text: the file stays as it is there.
    files.delete(path)
    if (theirs.files.has(path)) files.set(path, theirs.files.get(path))
    const [from, mine] = [1, 2].map(number => stages.find(({ stage }) => stage === number))
    if (mine) await addClash(objects, clashes, path, { mode: mine.mode, base: from?.oid, draft: mine.oid })
  }
  return { tip: theirs.tip, files, clashes: await stillClashing(objects, theirs.tip, files, clashes) }
}

async function mergeClashes(
  objects: Objects,
  start: Drafts['clashes'],
  ours: Drafts['clashes'],
  theirs: Drafts['clashes'],
): Promise<Map<Path, Clashing>> {
  const clashes = new Map(theirs)
  // What was settled here is settled, unless the other end was settled to something else.
  for (const [path, { draft }] of start) if (!ours.has(path) && theirs.get(path)?.draft === draft) clashes.delete(path)
  for (const [path, clash] of ours) {
    const before = start.get(path)?.draft
    if (before === clash.draft) continue
    // Theirs is still what this one was made from: then this one is the newer of the two.
    if (theirs.get(path)?.draft === before) clashes.delete(path)
    await addClash(objects, clashes, path, clash)
  }
  return clashes
}

/** Adds a clash; where the same file clashes already, its draft becomes that of both. */
async function addClash(objects: Objects, clashes: Map<Path, Clashing>, path: Path, clash: Clashing): Promise<void> {
  const other = clashes.get(path)
  if (!other || other.draft === clash.draft) {
    clashes.set(path, clash)
    return
  }
  const { repository } = objects
  const [base, one, two] = await Promise.all([
    readBytes(objects, clash.base),
    other.bytes ?? readBytes(objects, other.draft),
    clash.bytes ?? readBytes(objects, clash.draft),
  ])
  const [ours, theirs] = [one ?? Buffer.of(), two ?? Buffer.of()]
  const bytes = await mergeLines(repository, base, ours, theirs).catch(error => {
    if (!(error instanceof GitError)) throw error
    return Buffer.concat([ours, theirs])
  })
  clashes.set(path, { ...clash, draft: oidOf(repository.format, { type: 'blob', bytes }), bytes })
}

const readBytes = async (objects: Objects, blob: Oid | undefined): Promise<Buffer | undefined> =>
  blob === undefined ? undefined : (await objects.read(blob))?.bytes

/** Where the file has become what the draft is, there is nothing left to choose. */
async function stillClashing(
  objects: Objects,
  tip: Oid | undefined,
  files: ReadonlyMap<Path, DraftFile>,
  clashes: ReadonlyMap<Path, Clashing>,
): Promise<Map<Path, Clashing>> {
  const left = new Map<Path, Clashing>()
  for (const [path, clash] of clashes) {
    const before = tip === undefined ? undefined : await entryAt(objects, tip, path)
    const entry = files.has(path) ? files.get(path) : before
    if (entry?.oid !== clash.draft) left.set(path, clash)
  }
  return left
}

/** Drafts that nothing of is only in memory any more. */
export const written = (drafts: Drafts): Drafts => ({
  ...drafts,
  files: new Map([...drafts.files].map(([path, file]) => [path, file && { mode: file.mode, oid: file.oid }])),
  clashes: new Map([...drafts.clashes].map(([path, { mode, base, draft }]) => [path, { mode, base, draft }])),
})

/** The branch whose drafts a ref has. */
export const branchOfDrafts = (ref: RefName): string => ref.slice(DRAFTS.length)
