/** The desk's commits on a branch, and the discarding of drafts. */

import type { Objects } from '../../../core/git/objects.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import type { Gone } from '../contract/values.ts'
import type { BranchWork, Deed, HeldBranch } from './branch-work.ts'
import { savedBelow } from './draft-files.ts'
import { mergeDrafts } from './draft-merges.ts'
import { originsIn, renamesFor, withWhatBelongs } from './draft-renames.ts'
import {
  asChanges,
  type DraftFile,
  type Drafts,
  entryInTip,
  isEmpty,
  isSameDrafts,
  missingIn,
  noDrafts,
  verifyNoClash,
  withoutFiles,
  withSettled,
} from './drafts.ts'
import { type CommitSignature, makeCommit, messageFor, type SaveStep } from './save.ts'

/** What is saved: some files, or all drafts. */
type Selection = readonly Path[] | 'all'

/** Commits some drafts, or all, to the branch. Returns undefined if there is nothing to commit. */
export async function save(work: BranchWork, selection: Selection, message?: string): Promise<Oid | undefined> {
  return await work.inOneGo(async (held, signature) => {
    const paths = selected(work.drafts, selection)
    const written = await withNewContent(work, paths)
    await work.room.filters.verifyContents(work.tip, new Map(written.map(path => [path, work.drafts.files.get(path)])))
    const changes = asChanges(new Map(paths.map(path => [path, work.drafts.files.get(path)])))
    const after = withoutFiles(work.drafts, paths)
    const steps = await stepsOf(work.room.objects, work.drafts, paths)
    const words = `save ${namesOf(withoutOrigins(work.drafts, paths))} to ${visiblePath(work.name)}`
    const commit = { kind: 'save', words, message: message?.trim() || messageFor(steps), changes, after }
    return paths.length === 0 ? undefined : await commitTo(held, commit, signature)
  })
}

/**
 * The paths at which a save writes new content, to be checked for filters: of a renamed file with new content, both
 * paths.
 */
async function withNewContent({ room: { objects }, tip, drafts }: BranchWork, paths: readonly Path[]): Promise<Path[]> {
  const origins = originsIn(drafts)
  const records = renamesFor(drafts, origins)
  // A renamed folder is read once, not for each of its files.
  const saved = new Map<Path, ReturnType<typeof savedBelow>>()
  for (const path of paths) {
    const { from } = records.get(path) ?? {}
    if (from !== undefined && !saved.has(from)) saved.set(from, savedBelow(objects, tip, from))
  }
  const all = paths.map(async path => {
    const file = drafts.files.get(path)
    if (!file) return []
    const [origin, record] = [origins.get(path), records.get(path)]
    if (origin === undefined || record === undefined) return [path]
    const before = (await saved.get(record.from))?.get(origin)
    return before?.oid === file.oid ? [] : [path, origin]
  })
  return (await Promise.all(all)).flat()
}

/** The message that a save would have; '' if it would change nothing. */
export async function messageForSave(work: BranchWork, selection: Selection): Promise<string> {
  return await work.brieflyLocked(async held => {
    await held.collect()
    const { objects } = work.room
    const drafts = await withSettled(objects, work.drafts)
    const steps = await stepsOf(objects, drafts, selected(drafts, selection))
    return steps.length === 0 ? '' : messageFor(steps)
  })
}

/**
 * Discards drafts: the files are as they were saved. The operation can be undone. Returns the files that do not exist
 * any more.
 */
export async function discard(work: BranchWork, paths: readonly Path[]): Promise<Gone> {
  return await work.locked(async held => {
    work.verifyFree()
    await held.collect()
    return await held.again(async () => {
      await held.writeDrafts()
      const after = withoutFiles(work.drafts, withWhatBelongs(work.drafts, paths))
      if (isSameDrafts(after, work.drafts)) return { gone: [] }
      const words = `discard what was typed in ${namesOf(withoutOrigins(work.drafts, paths))} in ${visiblePath(work.name)}`
      const operation = await held.become({ drafts: after }, { kind: 'discard', words })
      return { gone: await missingIn(work.room.objects, work.drafts, paths), ...(operation && { operation }) }
    })
  })
}

/** The drafts to save. Throws if one of them can't be saved yet. */
function selected(drafts: Drafts, selection: Selection): Path[] {
  const all = selection === 'all' ? [...drafts.files.keys(), ...drafts.clashes.keys()] : selection
  const together = withWhatBelongs(drafts, all)
  verifyNoClash(drafts, together)
  return [...together].filter(path => drafts.files.has(path)).sort()
}

/**
 * The changes that a save of these drafts makes. A renamed file is one change, and so is a renamed folder of which all
 * files are among them.
 */
export async function stepsOf(objects: Objects, drafts: Drafts, paths: readonly Path[]): Promise<SaveStep[]> {
  const chosen = new Set(paths)
  const all = originsIn(drafts)
  const origins = new Map([...all].filter(([path, from]) => chosen.has(path) && chosen.has(from)))
  const old = new Set(origins.values())
  const pairs = new Map([...renamesFor(drafts, all)].map(([path, { from, to }]) => [path, `${from}\0${to}`]))
  const inPart = new Set([...pairs].flatMap(([path, pair]) => (origins.has(path) ? [] : [pair])))
  const renames = Map.groupBy(origins, ([path, from]) => {
    const pair = pairs.get(path)
    return pair === undefined || inPart.has(pair) ? `${from}\0${path}` : pair
  })
  const others = paths.filter(path => !origins.has(path) && !old.has(path))
  const before = await Promise.all(others.map(path => entryInTip(objects, drafts.tip, path)))
  const steps = others.map((path, at): SaveStep => {
    if (!drafts.files.get(path)) return { path, does: 'delete' }
    return { path, does: before[at] ? 'edit' : 'add' }
  })
  const moved = [...renames].map(([pair, { length: files }]): SaveStep => {
    const [from = '', path = ''] = pair.split('\0')
    return { path, does: 'rename', from, files }
  })
  return [...moved, ...steps]
}

/** The paths without the old path of each rename whose new path is among them: a renamed file is one file. */
export function withoutOrigins(drafts: Drafts, paths: readonly Path[]): Path[] {
  const chosen = new Set(paths)
  for (const [path, origin] of originsIn(drafts)) if (chosen.has(path)) chosen.delete(origin)
  return [...chosen]
}

const namesOf = (paths: readonly Path[]): string =>
  paths.length <= 2 ? paths.map(visiblePath).join(' and ') : many(paths.length, 'file')

// --- Every commit ---

type NewCommit = {
  kind: string
  words: string
  message: string
  changes: ReadonlyMap<Path, TreeChange>
  /** The drafts that remain unsaved, still based on the branch's commit before this one. */
  after: Drafts
  /** Whether the commit may change files that have drafts: the drafts are then merged onto the commit. */
  mayMeetDrafts?: boolean
} & Pick<Deed, 'also' | 'unrecorded'>

/**
 * The edits typed since a commit was begun (it may have waited for its signature), as drafts on that commit. A file
 * that was edited back to its text before the commit is a draft, too.
 */
async function typedSince({ room, drafts }: BranchWork, begun: Drafts) {
  const typed = new Map<Path, DraftFile>()
  // Nothing was typed since. (A moved folder has thousands of drafts: comparing each with itself would take long.)
  if (begun.files === drafts.files) return typed
  for (const path of new Set([...begun.files.keys(), ...drafts.files.keys()])) {
    const [before, now] = await Promise.all([begun, drafts].map(them => fileIn(room.objects, them, path)))
    if (before?.oid === now?.oid && before?.mode === now?.mode) continue
    typed.set(path, now)
  }
  return typed
}

const fileIn = async (objects: Objects, { tip, files }: Drafts, path: Path): Promise<DraftFile> =>
  files.has(path) ? files.get(path) : await entryInTip(objects, tip, path)

/**
 * Makes a commit on the tip and moves the branch to it. The drafts and the operation are written in the same
 * transaction. Returns undefined if the commit would change nothing.
 */
export async function commitTo(
  held: HeldBranch,
  { message, changes, after, mayMeetDrafts = false, ...deed }: NewCommit,
  signature: Promise<CommitSignature>,
): Promise<Oid | undefined> {
  const { work } = held
  const { objects, maintenance, say } = work.room
  const { tip, name, drafts: begun } = work
  const tree = await makeTree(objects, tip, changes)
  const before = tip === undefined ? undefined : (await objects.info(`${tip}^{tree}`))?.oid
  if (tree.oid === before) {
    await held.becomeSoon(after)
    return undefined
  }
  const parents = tip === undefined ? [] : [tip]
  const who = await signature
  const make = () => makeCommit(objects.repository, who, { tree, parents, message })
  const commit = who.sign ? await held.unlocked(make) : await make()
  const typed = await typedSince(work, begun)
  const left = { ...after, files: new Map([...after.files, ...typed]) }
  const meets = mayMeetDrafts && !isEmpty(left)
  if (meets) await writeObjects(objects.repository, commit.made)
  const drafts = meets
    ? await mergeDrafts(objects, noDrafts(tip), left, noDrafts(commit.oid))
    : { ...left, tip: commit.oid }
  const base = meets ? undefined : { base: tip, changes }
  await held.become({ head: commit.oid, drafts, ...(base && { base }) }, { ...deed, made: commit.made })
  say({ say: 'saved', branch: name, commit: commit.oid, drafts: [...work.draftPaths] })
  maintenance.afterCommit()
  return commit.oid
}
