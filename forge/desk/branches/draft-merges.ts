/**
 * Drafts brought together with what somebody else made of the same start: a branch that has moved, or the drafts of
 * another desk.
 */
import { mergeLines, mergeTrees } from '../../../core/git/merges.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { makeTree } from '../../../core/git/trees.ts'
import {
  asChanges,
  type Clashing,
  type DraftFile,
  type Drafts,
  entryInTip,
  filesBetween,
  isSameDrafts,
} from './drafts.ts'

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
    const before = await entryInTip(objects, tip, path)
    const entry = files.has(path) ? files.get(path) : before
    if (entry?.oid !== clash.draft) left.set(path, clash)
  }
  return left
}
