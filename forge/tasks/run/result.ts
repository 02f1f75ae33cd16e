/** The end of a run: merges the results of its tasks, and checks the contract. */
import type { Finished, Reference, StepResult, TaskResult, Tier } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { Worked } from './events.ts'
import { planOrWish } from './planning.ts'
import { command, listed, names } from './sentences.ts'
import { type Decision, type Finishing, isOver, type RunRecord, type Stuck } from './state.ts'
import { nextTier } from './tiers.ts'

/** At most this many requests to resolve a conflict between results. */
const RESOLVE_TRIES = 2

export const areOver = ({ tasks }: RunRecord): boolean => tasks.every(isOver)

const resultsOf = ({ tasks }: RunRecord): TaskResult[] =>
  tasks.flatMap(({ shape, head, state }) => (head && state === 'done' ? [{ task: shape.id, head }] : []))

/** Begins to merge all results; ends a run that has none. */
export function finishRun(draft: Draft): void {
  const { run } = draft
  if (resultsOf(run).length === 0) {
    const words = `No task was done: ${names(run.tasks.filter(({ state }) => state === 'stopped'))} stopped.`
    run.ending = { state: 'stopped', words }
    draft.say('finish/nothing', 'stopped', words)
    return
  }
  run.finishing = { number: 0, tries: 0 }
  gather(draft, run.finishing)
}

function gather(draft: Draft, { resolved }: Finishing): void {
  draft.work({ do: 'finish', results: resultsOf(draft.run), ...(resolved && { resolved }) })
}

/** Continues the ending of a run with the result of its last work, such as a merge or a review. */
export function finishOn(draft: Draft, worked: Worked): void {
  const { run } = draft
  if (!run.finishing) return
  run.finishing = { ...run.finishing }
  // The user has let a task continue meanwhile: the combined result has to wait for its result.
  if (!areOver(run)) {
    delete run.finishing
    return
  }
  const { finishing } = run
  if (worked.of === 'finish') {
    checked(draft, finishing, worked.finished)
    return
  }
  if (worked.of === 'judge') {
    judged(draft, finishing, worked)
    return
  }
  if (worked.of !== 'ask') throw new Error(`No result is checked by ${worked.of}.`)
  if (finishing.review) reviewed(draft, finishing, worked.result)
  else resolvedBy(draft, finishing, worked.result)
}

function checked(draft: Draft, finishing: Finishing, finished: Finished): void {
  const { isGood, words, head, report, conflicts, question } = finished
  if (conflicts) {
    // The result of each task can conflict once with those merged before. If there are more conflicts, the merge did
    // not continue from the last resolution: stop and ask the user.
    if (++finishing.number > resultsOf(draft.run).length) {
      stuck(draft, finishing, { words, evidence: [conflicts.report] })
      return
    }
    const { plan } = draft.run
    const about = [...(plan ? [plan] : []), conflicts.report]
    finishing.conflict = { ...conflicts, head, about, words: '' }
    finishing.tries = 0
    resolve(draft, finishing)
    return
  }
  if (question) {
    stuck(draft, finishing, { words, evidence: [question, report], isLacking: true })
    return
  }
  if (!isGood) {
    stuck(draft, finishing, { words, evidence: [report] })
    return
  }
  if (!finished.review) {
    done(draft, finished)
    return
  }
  finishing.review = { finished, answers: [], isLast: false }
  review(draft, finishing)
}

// --- Conflicts between results

function resolve(draft: Draft, finishing: Finishing): void {
  const { conflict, number } = finishing
  if (!conflict) return
  if (finishing.tries === RESOLVE_TRIES) {
    stuck(draft, finishing, {
      words: `Results are in conflict: ${conflict.words}`,
      evidence: [conflict.report],
    })
    return
  }
  const tier = ++finishing.tries === 1 ? 'generation' : 'reasoning'
  const wish = { kind: 'resolve', base: conflict.head, about: conflict.about, tier } as const
  draft.work({ do: 'ask', step: `finish/resolve/${number}/${finishing.tries}`, wish })
}

function resolvedBy(draft: Draft, finishing: Finishing, { outcome, commit, words }: StepResult): void {
  if (!finishing.conflict) return
  const { ours, theirs } = finishing.conflict
  finishing.conflict = { ...finishing.conflict, words }
  if (outcome !== 'success' || !commit) {
    resolve(draft, finishing)
    return
  }
  draft.work({ do: 'judge', attempt: finishing.tries, ours, theirs, resolved: commit })
}

function judged(draft: Draft, finishing: Finishing, { commit, report, words }: Extract<Worked, { of: 'judge' }>): void {
  if (!finishing.conflict) return
  if (!commit) {
    const about = [...finishing.conflict.about, report]
    finishing.conflict = { ...finishing.conflict, about, words }
    resolve(draft, finishing)
    return
  }
  delete finishing.conflict
  finishing.resolved = commit
  gather(draft, finishing)
}

// --- Reviews of the whole

/** Asks the next reviewer; where they disagree, a more capable one decides. */
function review(draft: Draft, finishing: Finishing): void {
  const { finished, answers = [], isLast } = finishing.review ?? {}
  if (!finished?.review) return
  const { asks, count, tier } = finished.review
  if (answers.length < count) {
    askReviewer(draft, finished, asks, `${answers.length + 1}`, tier, answers.length)
    return
  }
  const isSplit = answers.some(({ isAccepted }) => isAccepted) && answers.some(({ isAccepted }) => !isAccepted)
  if (isSplit && !isLast) {
    finishing.review = { finished, answers, isLast: true }
    askReviewer(draft, finished, asks, 'last', nextTier(draft.run, tier) ?? tier, 0)
    return
  }
  const last = answers.at(-1)
  if (last?.isAccepted) {
    done(draft, finished)
    return
  }
  const evidence = answers.flatMap(({ parsed }) => (parsed ? [{ ...parsed, kind: 'review' }] : []))
  stuck(draft, finishing, { words: `a review does not accept the whole: ${last?.words ?? ''}`, evidence })
}

function askReviewer(
  draft: Draft,
  { head, report }: Finished,
  asks: Reference,
  name: string,
  tier: Tier,
  choice: number,
): void {
  const about = [planOrWish(draft.run), report, asks]
  draft.work({ do: 'ask', step: `finish/review/${name}`, wish: { kind: 'review', base: head, about, tier, choice } })
}

function reviewed(draft: Draft, finishing: Finishing, { outcome, isGood, words, parsed }: StepResult): void {
  if (!finishing.review) return
  const answer = { isAccepted: outcome === 'success' && isGood === true, words, parsed }
  finishing.review = { ...finishing.review, answers: [...finishing.review.answers, answer] }
  review(draft, finishing)
}

// --- The end

function done(draft: Draft, { head, report, heldBefore = [] }: Finished): void {
  const { run } = draft
  const stopped = run.tasks.filter(({ state }) => state === 'stopped')
  const count = resultsOf(run).length
  const whole = count === 1 ? 'Its one task is done' : `All ${count} tasks are done`
  const all = stopped.length ? `${shareOf(run)} (${names(stopped)} stopped)` : whole
  const held =
    heldBefore.length > 0 ? `, though the check of ${listed(heldBefore)} passed before anything was done` : ''
  const words = `${all}, and the contract holds${held}: look at it and merge it with ${command('land', run.input.run)}.`
  run.ending = { state: 'done', words, result: head, report }
  draft.say('finish/done', 'done', words, { refs: [report] })
}

const shareOf = (run: RunRecord): string => `${resultsOf(run).length} of ${run.tasks.length} tasks are done`

/** Asks the user what to do: the contract (the plan's assertions) does not hold, or can't be checked. */
function stuck(draft: Draft, finishing: Finishing, why: Stuck): void {
  const { run } = draft
  draft.sayOnce('finish', why.words, { refs: why.evidence })
  finishing.stuck = why
  const before = draft.ask('result', { ...why, words: `${shareOf(run)}, but ${why.words}` })
  if (before) decideOnResult(draft, { is: 'answer', answer: before })
}

/**
 * Handles the user's decision about a combined result: the run combines the results again, or, with an answer, has the
 * plan checked again with that answer.
 */
export function decideOnResult(draft: Draft, decision: Decision): void {
  const { run } = draft
  const { stuck: why } = run.finishing ?? {}
  delete run.question
  delete run.finishing
  if (decision.is !== 'answer' || !why) return
  const { answer } = decision
  run.doubts = [...run.doubts, { why: 'contract', words: why.words, answer, evidence: why.evidence }]
}
