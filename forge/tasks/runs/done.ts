/**
 * Where the results of a run's tasks are. While the run works, each is a branch, which the user can look at or land.
 * When the run has ended with a combined result, only that stays a branch; those of its tasks are moved to refs that
 * are not listed as branches.
 */
import { listCheckouts, mainFolder } from '../../../core/git/checkouts.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import type { Oid, RunId, TaskId } from '../contract.ts'
import { BRANCHES, doneRef, hiddenDoneRef, resultRef } from './folder.ts'

/** A result: its branch's name, whether that branch exists, and the commit. */
type Result = { name: string; isBranch: boolean; tip: Oid }

/** The result of a task; undefined where it has not passed. */
export async function findDone(objects: Objects, run: RunId, task: TaskId): Promise<Result | undefined> {
  const branch = doneRef(run, task)
  for (const ref of [branch, hiddenDoneRef(run, task)]) {
    const tip = (await objects.info(`${ref}^{commit}`))?.oid
    if (tip !== undefined) return { name: nameOf(branch), isBranch: ref === branch, tip }
  }
  return undefined
}

/** The combined result; undefined where there is none. */
export async function findResult(objects: Objects, run: RunId): Promise<Result | undefined> {
  const tip = (await objects.info(`${resultRef(run)}^{commit}`))?.oid
  return tip === undefined ? undefined : { name: nameOf(resultRef(run)), isBranch: true, tip }
}

const nameOf = (branch: RefName): string => branch.slice('refs/heads/'.length)

/**
 * Moves the results of tasks from branches to other refs once there is a combined result. A branch that is checked out
 * stays.
 */
export async function hideDone(objects: Objects, run: RunId): Promise<void> {
  const { repository } = objects
  const branches = await listRefs(repository, [`${BRANCHES}${run}/`])
  if (!branches.some(({ name }) => name === resultRef(run))) return
  const hidden = new Map((await listRefs(repository, [`${RUNS}${run}/done/`])).map(({ name, oid }) => [name, oid]))
  const checkouts = await listCheckouts(repository, await mainFolder(repository))
  const moves = branches.flatMap(({ name, oid }) => {
    const [, task] = /^([^/]+)\/done$/.exec(name.slice(`${BRANCHES}${run}/`.length)) ?? []
    if (task === undefined || checkouts.some(({ head }) => head === name)) return []
    const ref = hiddenDoneRef(run, task)
    return [
      { ref, from: hidden.get(ref), to: oid },
      { ref: name, from: oid, to: undefined },
    ]
  })
  if (moves.length === 0) return
  await moveRefsPatiently(repository, moves, { message: `forge: ${run} is done`, own: 'refs/forge/' })
}
