/** Opens a merge that a run has resolved in parts as a branch with a waiting merge, in which a person does the rest. */
import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, type Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { type MergeOnDesk, mergeBranch, mergeRef, readMergeOnDesk } from '../../formats/merge-on-desk.ts'
import { branchNames, newMergingBranch } from '../branches/branch-operations.ts'
import type { ConflictRow } from '../branches/merging-commits.ts'
import type { OpenBranches } from '../branches/open-branches.ts'
import { conflictRows, type MergedTrees } from '../conflicts/conflicts.ts'
import { mergeSourceInto } from '../steps/merge.ts'
import { waitForPerson } from '../steps/perform.ts'
import type { Stop } from '../steps/plan.ts'

/** Opens the merge of a run, from the commit at its ref. Returns the branch; if it is open already, that one. */
export async function openMergeOf(objects: Objects, branches: OpenBranches, run: string): Promise<string> {
  const { told, ours, theirs, tree } = await readMerge(objects, run)
  const branch = asBytes(mergeBranch(told))
  if ((await branchNames(branches)).includes(branch)) return branch
  await newMergingBranch(branches, branch, ours, async held => {
    const source = { commit: theirs, words: asBytes(told.name) }
    const merge = await mergeSourceInto(objects, source, { branch, tip: ours })
    const words = { ours: asBytes(told.into), theirs: source.words }
    const state: Stop['state'] = { does: 'merge', message: told.message, todo: [] }
    const marked = await conflictRows(objects, merge, { ours, theirs, words } satisfies MergedTrees)
    const { result, ...carried } = await resolvedIn(objects, told, { ...marked, from: tree })
    await waitForPerson(held, {
      ...{ stop: { merge, ours, theirs, words, state }, ours, kind: 'open run', does: `finish the merge of ${run}` },
      ...(told.forklift && { forklift: forkliftOf(told.forklift) }),
      ...{ isNew: true, result, carried },
    })
  })
  return branch
}

const forkliftOf = ({ run, stuck }: NonNullable<MergeOnDesk['forklift']>) => ({
  run,
  ...(stuck !== undefined && { stuck }),
})

async function readMerge(objects: Objects, run: string) {
  const found = await objects.read(mergeRef(run))
  const commit = found?.type === 'commit' && found.bytes ? parseCommit(found.bytes) : undefined
  const [ours, theirs] = commit?.parents ?? []
  const told = commit && readMergeOnDesk(commit.message.toString())
  if (!commit || !told || ours === undefined || theirs === undefined)
    throw new Failure('What this run has resolved can’t be read: it is not of this version.')
  return { told, ours, theirs, tree: commit.tree }
}

type Marked = { rows: readonly ConflictRow[]; tree: string; from: string }

/** The merge's tree with what is resolved; the files of open conflicts stay as the merge has them. */
async function resolvedIn(objects: Objects, { open, by }: MergeOnDesk, { rows, tree, from }: Marked) {
  const isOpen = new Set(open.map(asBytes))
  const changes = new Map<Path, TreeChange>()
  const kept: Path[] = []
  const models: Record<string, { model: string; oid?: string }> = {}
  for (const row of rows) {
    const paths = [...row.paths, ...(row.original === undefined ? [] : [row.original])]
    if (paths.some(path => isOpen.has(path))) {
      for (const path of paths) changes.set(path, await entryAt(objects, tree, path))
      continue
    }
    const name = Buffer.from(row.path, 'latin1').toString()
    const model = Object.hasOwn(by, name) ? by[name] : undefined
    const [left, resolved] = await Promise.all([tree, from].map(it => entryAt(objects, it, row.path)))
    if (model !== undefined) models[row.path] = { model, ...(resolved && { oid: resolved.oid }) }
    // A choice of what git has left changes no file.
    const pairs = await Promise.all(
      paths.map(async path => [await entryAt(objects, tree, path), await entryAt(objects, from, path)]),
    )
    const isSame = pairs.every(([one, other]) => one?.oid === other?.oid && one?.mode === other?.mode)
    if (isSame && left?.oid === resolved?.oid) kept.push(row.path)
  }
  return { result: await writeTree(objects, from, changes), kept, by: models }
}
