/**
 * Judges an answer to a stored request by the rules of the run: whether it can be read, whether its edits find their
 * places, whether the linter accepts its plan, whether the checks of its task pass in the container.
 */

import type { CommitIdentity } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { many } from '../../../core/text.ts'
import type { ModelAnswer } from '../../ai/request.ts'
import type { Oid } from '../contract.ts'
import { lintPlan } from '../plan/lint.ts'
import type { Plan, Task } from '../plan/schema.ts'
import { applyAll } from '../steps/apply.ts'
import { commitOn } from '../steps/commits.ts'
import { readAnswer } from '../steps/receive.ts'
import type { KeptRequest } from './kept.ts'

/** How far an answer came: it could be read, its edits could be made, the linter took its plan, its checks passed. */
export type Judged = {
  passes: boolean
  by: 'parsing' | 'edits' | 'linter' | 'checks'
  /** Why the answer does not pass, in short. */
  words?: string
}

export type JudgeMeans = {
  objects: Objects
  signal: AbortSignal
  who: CommitIdentity
  /**
   * Runs the checks of a task on a commit. Gives undefined where they can't be run, or the user has not approved their
   * commands.
   */
  check?: (attempt: {
    plan: Plan
    task: Task
    base: Oid
    head: Oid
  }) => Promise<{ isGood: boolean; words: string } | undefined>
}

/** Judges an answer. `base`: the commit that the request was about. */
export async function judgeAnswer(
  kept: KeptRequest,
  answer: Pick<ModelAnswer, 'blocks' | 'end'>,
  { objects, signal, who, check }: JudgeMeans,
): Promise<Judged> {
  const { kind, base, plan, task } = kept
  const { parsed, words, inShort } = readAnswer(kind, answer)
  if (!parsed) return { passes: false, by: 'parsing', words: inShort ?? words }
  if (parsed.signal !== 'success') return { passes: false, by: 'parsing', words: `It ended with ${parsed.signal}.` }
  if ('plan' in parsed && parsed.plan) {
    const { complaints } = await lintPlan(parsed.plan, { objects, tree: base, limits: { depth: 3 } })
    if (complaints.length === 0) return { passes: true, by: 'linter' }
    return { passes: false, by: 'linter', words: `${many(complaints.length, 'complaint')}: ${complaints[0]}` }
  }
  if (!('edits' in parsed) || parsed.fan_out.length > 0) return { passes: true, by: 'parsing' }
  const applied = await applyAll(objects, base, parsed.edits, signal)
  if (!applied.files) return { passes: false, by: 'edits', words: applied.inShort }
  // Checks judge a whole task, so they are run only for a task that was done in a single step.
  if (!check || !plan || task?.size !== 'small') return { passes: true, by: 'edits' }
  const head = await commitOn(objects, { base, changes: applied.files.changes, message: 'An answer to judge\n', who })
  if (head === base) return { passes: false, by: 'edits', words: 'It changes nothing.' }
  const checked = await check({ plan, task, base, head })
  if (!checked) return { passes: true, by: 'edits' }
  return { passes: checked.isGood, by: 'checks', ...(!checked.isGood && { words: checked.words }) }
}
