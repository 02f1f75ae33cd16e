/** Whether the commits that only a remote branch has are old versions of commits that were rewritten in the branch. */
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import type { Operations, Recorded } from '../../operations.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { headRef } from '../branches/branches.ts'
import { renamedBy } from '../branches/open-branches.ts'
import { AMEND } from '../branches/undo.ts'
import type { StepTarget } from './plan.ts'

/** Of more commits than this it is not looked up, and of this many operations and moves of the branch at most. */
const [MAX_COMMITS, MAX_OPERATIONS, MAX_MOVES] = [200, 1000, 50]

/** The kinds of operations that replace commits of a branch. */
const REWRITES: readonly string[] = [AMEND, 'rewrite', 'rebase']
/** What git writes into the reflog of a branch whose commits it has replaced. */
const REWRITES_IN_REFLOG = /^(commit \(amend\)|rebase.*( finished| \(finish\))):/

/**
 * Whether all commits that `theirs` has and the branch lacks were rewritten here: according to the operations of the
 * branch, or to its reflog, or since the branch has a commit with the same patch.
 */
export async function areRewrittenHere(
  { objects, operations }: Pick<BranchServices, 'objects' | 'operations'>,
  { branch, tip }: StepTarget,
  theirs: Oid,
): Promise<boolean> {
  const { repository } = objects
  const left = await commitsOf(repository, [`--max-count=${MAX_COMMITS + 1}`, theirs, `^${tip}`])
  if (left.size > MAX_COMMITS) return false
  const ref = headRef(branch)
  const moves = [...(await recordedMoves(operations, branch)), ...(await reflogMoves(repository, ref))]
  for (const { before, after } of moves.slice(0, MAX_MOVES)) {
    // An old entry of the reflog may name a commit that is gone.
    const gone = await commitsOf(repository, ['--ignore-missing', before, `^${after}`, `^${tip}`])
    for (const oid of gone) left.delete(oid)
    if (left.size === 0) return true
  }
  const others = await commitsOf(repository, ['--cherry-pick', '--right-only', `${tip}...${theirs}`])
  return [...left].every(oid => !others.has(oid))
}

async function commitsOf(repository: Repository, range: readonly string[]): Promise<Set<Oid>> {
  const listed = await read(repository, ['rev-list', ...range, '--'])
  return new Set(listed.split('\n').filter(Boolean))
}

type BranchMove = { before: Oid; after: Oid }

/**
 * The moves of a branch by which the desk replaced commits, the newest first, under its earlier names, too. An undo of
 * one replaces commits as well.
 */
async function recordedMoves(operations: Operations, branch: string): Promise<BranchMove[]> {
  const found: BranchMove[] = []
  let looked = 0
  let ref = headRef(branch)
  for await (const operation of operations.newestFirst()) {
    if (looked++ >= MAX_OPERATIONS) break
    const renaming = renamedBy(operation)
    if (renaming && headRef(renaming.to) === ref) ref = headRef(renaming.from)
    const moved = operation.refs.find(it => it.ref === ref)
    if (!moved?.before || !moved.after || !(await isRewrite(operations, operation))) continue
    found.push({ before: moved.before, after: moved.after })
  }
  return found
}

async function isRewrite(operations: Operations, { kind, of }: Recorded): Promise<boolean> {
  if (of === undefined) return REWRITES.includes(kind)
  const original = await operations.find(of)
  return original !== undefined && REWRITES.includes(original.kind)
}

/** The moves of a branch by which git replaced commits outside the desk, the newest first. */
async function reflogMoves(repository: Repository, ref: RefName): Promise<BranchMove[]> {
  const args = ['log', '--walk-reflogs', `--max-count=${MAX_OPERATIONS}`, '--format=%H %gs', asText(ref), '--']
  const lines = (await read(repository, args)).split('\n')
  const entries = lines.map(line => {
    const [oid = '', words = ''] = line.split(/ (.*)/s)
    return { oid, words }
  })
  return entries.flatMap(({ oid, words }, at) => {
    const before = entries[at + 1]?.oid
    return before && REWRITES_IN_REFLOG.test(words) ? [{ before, after: oid }] : []
  })
}
