/** How a run gets its plan, and later ones: a model proposes, the linter judges, the user approves. */
import type { Reference, StepResult, TaskId, TaskShape } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { LintedTasks, Worked } from './events.ts'
import { holdAsDegraded } from './holds.ts'
import { hopeAgain } from './outcomes.ts'
import { because, command, counted, listed, progress } from './sentences.ts'
import {
  ATTEMPTS,
  type Decision,
  type Doubt,
  type GoodPlan,
  isFrozen,
  newest,
  newRecord,
  type Planning,
  type RunRecord,
  type Standings,
  type Stuck,
  type TaskRecord,
} from './state.ts'

/** A model may propose at most this many plans before the user is asked. */
const TRIES = 3
/** At most this many rounds in which a planner may read files before it plans. */
export const ROUNDS_OF_LOOKS = 2

/** The plan, or the wish where there is none yet. */
export const planOrWish = ({ plan, input }: RunRecord): Reference => plan ?? input.wish

/**
 * Begins planning a new run: first reads what git has of it, such as a plan that was approved before the server lost
 * the run.
 */
export function beginPlanning(draft: Draft): void {
  draft.run.planning = newPlanning('plan', [], [draft.run.input.wish])
  draft.work({ do: 'begin' })
}

/** Has the plan checked again where there are doubts about it. */
export function settleDoubts(draft: Draft): void {
  const { run } = draft
  const doubts = run.doubts
  run.doubts = []
  const found = doubts.flatMap(doubt => {
    if (doubt.why === 'asked') return [doubt.answer]
    if (doubt.why === 'contract') return [...doubt.evidence, doubt.answer]
    return 'parsed' in doubt && doubt.parsed ? [doubt.parsed] : []
  })
  run.planning = newPlanning('check plan', doubts, [run.input.wish, planOrWish(run), ...found])
  const step = `check-plan/${run.proposals + 1}`
  const words = [progress(run.tasks), because(doubts)].filter(Boolean).join('\n\n')
  draft.work({ do: 'keep', step, kind: 'status', words })
}

const newPlanning = (kind: Planning['kind'], doubts: Doubt[], wish: Reference[]): Planning => ({
  kind,
  doubts,
  wish,
  told: [],
  tries: 0,
  words: '',
})

/** Continues the planning with the result of the run's last work. */
export function planOn(draft: Draft, worked: Worked): void {
  switch (worked.of) {
    case 'begin':
      known(draft, worked)
      return
    case 'keep':
      kept(draft, worked.reference)
      return
    case 'ask':
      answered(draft, worked.result)
      return
    case 'lint':
      linted(draft, worked.linted)
      return
    case 'remember':
      remembered(draft)
      return
    default:
      throw new Error(`No plan is made by ${worked.of}.`)
  }
}

/** Takes over the earlier decisions of a run that was begun before. */
function known(draft: Draft, found: Extract<Worked, { of: 'begin' }>): void {
  const { run } = draft
  const { plan, answers, passed = [], facts, used, above, learns } = found
  run.used += used
  run.remembered = answers
  run.passedBefore = passed
  run.facts = facts
  if (above) run.above = above
  if (learns) run.learns = learns
  if (plan) {
    lint(draft, 'before', plan, 'plan')
    return
  }
  if (run.input.plan) {
    lint(draft, 'person', run.input.plan, 'plan')
    return
  }
  propose(draft)
}

function kept(draft: Draft, reference: Reference): void {
  const planning = edited(draft)
  if (!planning) return
  if (reference.kind === 'report') {
    planning.told = [...planning.told, reference]
    propose(draft)
    return
  }
  planning.wish = [...planning.wish, reference]
  // A cheap model summarises a status about many passed or failed tasks; a single task's finding is used as it is.
  if (planning.doubts.some(({ why }) => why === 'passed' || why === 'failures')) summarise(draft, reference)
  else propose(draft)
}

function summarise(draft: Draft, status: Reference): void {
  const { run } = draft
  const about = [status, ...run.failures]
  run.failures = []
  const wish = { kind: 'summarise', base: run.input.base, about, tier: 'summarization' } as const
  draft.work({ do: 'ask', step: `summary/${run.proposals + 1}`, wish })
}

function propose(draft: Draft): void {
  const planning = edited(draft)
  if (!planning) return
  if (planning.tries === TRIES) {
    const words = `No plan is good after ${TRIES} tries. ${planning.words}`
    stuck(draft, { words, evidence: planning.told })
    return
  }
  planning.tries++
  askForPlan(draft, planning)
}

function askForPlan(draft: Draft, planning: Planning): void {
  const { run } = draft
  const step = `${planning.kind === 'plan' ? 'plan' : 'check-plan'}/${++run.proposals}`
  const about = [...run.facts, ...planning.wish, ...(planning.looked ?? []), ...planning.told]
  draft.work({ do: 'ask', step, wish: { kind: planning.kind, base: run.input.base, about, tier: 'reasoning' } })
}

/** Handles a model's answer: a summary, a plan, or that the plan stays. */
function answered(draft: Draft, result: StepResult): void {
  const { run } = draft
  const planning = edited(draft)
  if (!planning) return
  const { work } = run
  const step = work?.what.do === 'ask' ? work.what.step : ''
  if (work?.what.do === 'ask' && work.what.wish.kind === 'summarise') {
    // Where the model gave no summary, the plan is checked without it.
    if (result.artifact) planning.wish = [...planning.wish, { ...result.artifact, kind: 'summary' }]
    propose(draft)
    return
  }
  planning.words = result.words
  const evidence = [...(result.question ? [result.question] : []), ...(result.parsed ? [result.parsed] : [])]
  if (['confused', 'failure_terminal', 'blocked_on_human'].includes(result.outcome)) {
    stuck(draft, { words: result.words, evidence })
    return
  }
  if (result.outcome !== 'success') {
    if (!result.evidence) {
      draft.work({ do: 'keep', step, kind: 'report', words: result.words })
      return
    }
    planning.told = [...planning.told, result.evidence]
    propose(draft)
    return
  }
  if (result.artifact?.kind === 'looked') {
    lookedAt(draft, planning, result.artifact)
    return
  }
  const plan = result.plan ?? (planning.kind === 'plan' ? result.parsed : undefined)
  if (plan) {
    lint(draft, 'model', plan, step)
    return
  }
  draft.say(`${step}/kept`, 'planned', `The plan stays as it is: ${result.words}`)
  endPlanning(draft)
  const failures = planning.doubts.find(({ why }) => why === 'failures')
  if (failures) holdAsDegraded(draft, failures.words)
}

/** Asks a planner again with the files that it wanted to see; this is still the same try. */
function lookedAt(draft: Draft, planning: Planning, looked: Reference): void {
  const before = planning.looked ?? []
  if (before.length >= ROUNDS_OF_LOOKS) {
    planning.words = `It only looks at the repository, also after ${ROUNDS_OF_LOOKS} rounds of that.`
    propose(draft)
    return
  }
  planning.looked = [...before, looked]
  askForPlan(draft, planning)
}

function lint(draft: Draft, by: NonNullable<Planning['linted']>['by'], plan: Reference, step: string): void {
  const planning = edited(draft)
  if (!planning) return
  planning.linted = { by, plan, step }
  const standing =
    by === 'before'
      ? passedBefore(draft.run).map(({ task: id }) => ({ id, is: 'done' as const }))
      : standingsOf(draft.run)
  draft.work({ do: 'lint', plan, standing })
}

const passedBefore = ({ passedBefore = [] }: RunRecord) => passedBefore

/** The progress of tasks, for the linter of another plan. */
export const standingsOf = ({ tasks }: RunRecord): Standings =>
  tasks.flatMap(({ shape: { id }, state, isOut }): Standings => {
    if (state === 'done') return [{ id, is: 'done' }]
    if (isOut) return [{ id, is: 'under way' }]
    return state === 'stopped' ? [{ id, is: 'stopped' }] : []
  })

function linted(draft: Draft, found: LintedTasks): void {
  const { run } = draft
  const planning = edited(draft)
  const { by, plan, step } = planning?.linted ?? {}
  if (!planning || !by || !plan || step === undefined) return
  delete planning.linted
  const good = goodIn(run, found)
  run.complaints = 'complaints' in good ? good.complaints : []
  if (!('complaints' in good)) {
    if (by !== 'before') {
      propound(draft, good)
      return
    }
    // Questions that were answered before this plan are not asked again, so new questions get the numbers after theirs.
    run.questions = Math.max(0, ...run.remembered.filter(({ task }) => !task).map(({ count }) => count))
    draft.say('plan/remembered', 'approved', 'Goes on with the plan that was approved before.', { refs: [plan] })
    adopt(draft, good)
    takeUpPassed(draft)
    endPlanning(draft)
    return
  }
  if (by === 'before') {
    run.input.plan ? lint(draft, 'person', run.input.plan, 'plan') : propose(draft)
    return
  }
  const words = planRefusal(good.complaints)
  if (by === 'person') {
    stuck(draft, { words, evidence: [plan] })
    return
  }
  planning.words = words
  draft.say(`${step}/refused`, 'refused', words, { refs: [plan] })
  planning.told = [...planning.told, plan, ...(found.report ? [found.report] : [])]
  if (found.report) propose(draft)
  else draft.work({ do: 'keep', step, kind: 'report', words: good.complaints.join(' ') })
}

/** Combines the linter's result with the run's own limits. */
export function goodIn(
  run: RunRecord,
  { plan, tasks, complaints, widens, changes = [] }: LintedTasks,
): GoodPlan | { complaints: string[] } {
  if (!plan || complaints.length > 0) return { complaints }
  const most = run.limits.tasks
  if (most === undefined || tasks.length <= most) return { plan, tasks, widens, changes }
  return { complaints: [`The plan has ${tasks.length} tasks, and this run may have ${most}.`] }
}

/** The message of a refused plan for the user. */
export const planRefusal = (complaints: string[]): string => `The linter refuses this plan: ${complaints.join(' ')}`

/** Lets a good plan wait for approval, unless it needs none. */
function propound(draft: Draft, good: GoodPlan): void {
  const { run } = draft
  const { run: id, isApproved, onlyPlan } = run.input
  run.shown = good.plan
  if (isApproved || onlyPlan) {
    approved(draft, good)
    return
  }
  const isNew = run.planning?.kind === 'plan' || run.planning?.doubts.some(({ why }) => why === 'asked')
  if (!isNew && good.widens.length === 0) {
    approved(draft, good)
    return
  }
  const what =
    isNew && run.planning?.kind === 'plan' ? `A plan of ${counted(good.tasks.length, 'task')}` : 'A changed plan'
  const wider =
    run.planning?.kind === 'plan'
      ? ''
      : good.widens
          .slice(0, 3)
          .map(it => ` ${it}`)
          .join('')
  const words = `${what} waits for a yes: ${command('attach', id)} shows it and asks.${wider}`
  const before = draft.ask('approval', { words, evidence: [good.plan] }, good)
  if (before) decideOnPlan(draft, { is: 'answer', answer: before }, good)
}

/** Asks the user what to do where there is no plan to show. */
function stuck(draft: Draft, why: Stuck): void {
  const before = draft.ask('plan', why)
  if (before) decideOnPlan(draft, { is: 'answer', answer: before }, undefined)
}

/** Handles the user's decision on a plan, or on a failed planning. */
export function decideOnPlan(draft: Draft, decision: Decision, proposal: GoodPlan | undefined): void {
  delete draft.run.question
  const planning = edited(draft)
  if (!planning) return
  if (decision.is === 'approve') {
    approved(draft, decision.plan)
    return
  }
  if (decision.is === 'resume' && planning.kind === 'check plan' && !proposal) {
    endPlanning(draft)
    return
  }
  planning.told = []
  planning.tries = 0
  // The planner has to look anew: the user's answer may be about other files.
  planning.looked = []
  if (decision.is === 'answer')
    planning.wish = [...planning.wish, ...(proposal ? [proposal.plan] : []), decision.answer]
  propose(draft)
}

function approved(draft: Draft, good: GoodPlan): void {
  const { run } = draft
  const planning = edited(draft)
  if (!planning) return
  planning.approved = good
  if (run.input.onlyPlan) {
    remembered(draft)
    return
  }
  const what = { task: '', count: run.questions, answer: good.plan } as const
  draft.work({ do: 'remember', kind: 'approval', what })
}

/** Adopts the plan, once its approval is stored. */
function remembered(draft: Draft): void {
  const { run } = draft
  const good = run.planning?.approved
  if (!good) return
  const { onlyPlan, atMost } = run.input
  const isNew = run.plan === undefined
  if (!onlyPlan) {
    const words = `The plan is approved: ${counted(good.tasks.length, 'task')}, at most ${atMost} at a time.`
    draft.say(`plan/${run.proposals}/approved`, 'approved', words, { refs: [good.plan] })
  }
  const changed = adopt(draft, good)
  const doubts = run.planning?.doubts ?? []
  if (!isNew) sayChanged(draft, good, changed, because(doubts))
  endPlanning(draft)
  if (!onlyPlan) return
  const words = `The plan is made and nothing is begun: ${command('show', run.input.run)} --plan shows it.`
  run.ending = { state: 'done', words }
}

const endPlanning = ({ run }: Draft): void => {
  delete run.planning
}

/** The effects of a new plan on tasks. */
type PlanChanges = { added: TaskId[]; changed: TaskId[]; gone: TaskId[]; rechecked: TaskId[] }

/** At most this many differences of a plan are written to the journal. */
const MAX_CHANGES = 6

/** Writes a line into the journal that says what a new, accepted plan changes. */
export function sayChanged(draft: Draft, { plan, changes }: GoodPlan, found: PlanChanges, why: string): void {
  const { added, changed, gone, rechecked } = found
  const parts = [
    added.length > 0 && `new: ${listed(added)}`,
    changed.length > 0 && `changed, with ${ATTEMPTS} fresh attempts: ${listed(changed)}`,
    rechecked.length > 0 && `checked again: ${listed(rechecked)}`,
    gone.length > 0 && `gone: ${listed(gone)}`,
  ].filter(Boolean)
  const told = changes.slice(0, MAX_CHANGES)
  if (told.length < changes.length) told.push(`And ${counted(changes.length - told.length, 'other change')}.`)
  const words = [`There is a new plan; ${parts.join('; ') || 'its tasks are the same'}.`, ...told].join(' ')
  draft.sayOnce('replanned', words, { refs: [plan], ...(why && { why }) })
}

/**
 * Adopts a plan. Tasks that are done or under way stay; a task whose part of the plan has changed begins again with all
 * its attempts; a done one is only checked again.
 */
export function adopt(draft: Draft, { plan, tasks: shapes }: GoodPlan): PlanChanges {
  const { run } = draft
  const before = new Map(run.tasks.map(record => [record.shape.id, record]))
  const found: PlanChanges = { added: [], changed: [], gone: [], rechecked: [] }
  const next = new Map<TaskId, TaskRecord>()
  for (const shape of shapes) {
    const record = before.get(shape.id)
    if (!record) {
      if (run.plan) found.added.push(shape.id)
      next.set(shape.id, newRecord(shape))
    } else if (isSame(record.shape, shape))
      next.set(shape.id, { ...record, shape: record.isOut ? record.shape : shape })
    else next.set(shape.id, renewed(record, shape, found))
  }
  for (const record of run.tasks) {
    const { id } = record.shape
    if (next.has(id)) continue
    if (isFrozen(record)) next.set(id, record)
    else found.gone.push(id)
  }
  run.plan = plan
  run.shown = plan
  run.complaints = []
  run.passed = 0
  draft.setTasks([...next.values()])
  hopeAgain(draft)
  return found
}

/**
 * Marks tasks as done that passed before the server lost the run; where their part of the plan has changed, they are
 * checked.
 */
function takeUpPassed(draft: Draft): void {
  const taken: TaskId[] = []
  for (const { task, attempt, head, from, hash } of passedBefore(draft.run)) {
    const record = draft.edit(task)
    if (!record || record.attempt > 0) continue
    Object.assign(record, { attempt, head, from, isCounted: true })
    if (record.shape.hash === hash) record.state = 'done'
    else Object.assign(record, { isAgain: true, isRechecked: true })
    taken.push(task)
  }
  delete draft.run.passedBefore
  if (taken.length === 0) return
  draft.sayOnce('approved', `Passed before, and not done again: ${listed(taken)}.`)
}

/** Whether a task is the same in both plans. */
const isSame = (a: TaskShape, b: TaskShape): boolean => a.hash === b.hash && a.tier === b.tier

function renewed(record: TaskRecord, shape: TaskShape, found: PlanChanges): TaskRecord {
  // The linter refuses changes to running tasks, so this task began only after the linter had read the states of the
  // tasks. It continues with the plan that it began with.
  if (record.isOut) return record
  if (record.state === 'done') {
    found.rechecked.push(shape.id)
    return { ...record, shape, state: 'waits', isAgain: true, isRechecked: true }
  }
  found.changed.push(shape.id)
  const { attempt, questions, isPaused, about, spent, isGivenUp } = record
  const isStopped = record.state === 'stopped' && !isGivenUp
  return {
    ...newRecord(shape),
    attempt,
    questions,
    isPaused,
    about: newest(about),
    isCounted: record.isCounted,
    ...(spent && { spent }),
    ...(isStopped && { state: 'stopped', words: record.words }),
  }
}

/** A copy of the current planning, which may be changed. */
function edited({ run }: Draft): Planning | undefined {
  if (!run.planning) return undefined
  run.planning = { ...run.planning }
  return run.planning
}
