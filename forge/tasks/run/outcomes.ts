/** Decides what follows from the end of an attempt: a result, another attempt, a question, or a changed plan. */
import type { Reference, TaskId } from '../contract.ts'
import type { Draft } from './draft.ts'
import type { TaskEnd } from './events.ts'
import { wayBetween } from './graph.ts'
import { confuse, countFirst, halt } from './holds.ts'
import { answerSentence, asSentence, command, whenSetRight } from './sentences.ts'
import { type Doubt, isLacking, newest, nodeOf, type TaskRecord, waitsFor } from './state.ts'
import { nextTier } from './tiers.ts'

/** How often the attempts of a task may report that the plan lacks something; at the next report the task fails. */
const DISCOVERIES = 2
/** The plan is checked again after this many tasks have passed. */
const PASSED_TO_CHECK = 8

/** Decides what follows from the end of an attempt. `isStale`: it was refused by limits that have been raised since. */
export function settleAttempt(draft: Draft, record: TaskRecord, end: TaskEnd, isStale: boolean): void {
  record.spent = end.spent
  if (record.state === 'stopped' || isStale) {
    interrupt(record)
    return
  }
  record.words = end.words
  if (end.halt) {
    interrupt(record)
    halt(draft, end.halt, record.shape.id)
    return
  }
  const evidence = end.report ? [end.report] : []
  delete record.isRechecked
  switch (end.outcome) {
    case 'success':
      passed(draft, record, end)
      return
    case 'failure_retryable':
      failed(draft, record, end.words, evidence)
      return
    case 'failure_terminal':
      record.about = newest([...record.about, ...evidence])
      asks(draft, record, `It can't be done as it is: ${end.words}`, evidence)
      countFirst(draft, record, true)
      return
    case 'blocked_on_human':
      if (end.isUnchecked) record.isAgain = true
      asks(draft, record, end.words, end.question ? [end.question] : [], end.question)
      return
    case 'blocked_on_sibling':
      blocked(draft, record, end)
      return
    case 'new_tasks_discovered':
      discovers(draft, record, end)
      return
    case 'confused':
      record.about = newest([...record.about, ...evidence])
      asks(draft, record, `Nobody can tell what it means: ${end.words}`, evidence)
      if (record.state === 'asks') confuse(draft, record)
  }
}

/** Handles an attempt that was ended from outside: the same one is begun again. */
export function interrupt(record: TaskRecord): void {
  if (record.state === 'runs') record.state = 'waits'
  record.isAgain = true
}

function passed(draft: Draft, record: TaskRecord, { head, from }: TaskEnd): void {
  if (head) record.head = head
  if (from) record.from = from
  record.state = 'done'
  record.words = ''
  const { attempt, shape } = record
  const tries = attempt === 1 ? 'at the first attempt' : `at attempt ${attempt}`
  draft.say(`${shape.id}/${attempt}/passed/${shape.hash.slice(0, 8)}`, 'passed', `It passed ${tries}.`, {
    task: record,
  })
  countFirst(draft, record, false)
  const { run } = draft
  run.passed++
  if (run.passed < PASSED_TO_CHECK || !run.tasks.some(({ state }) => state === 'waits')) return
  const words = `${run.passed} tasks have passed since the plan was last looked at.`
  run.passed = 0
  run.doubts = [...run.doubts, { why: 'passed', words }]
}

/**
 * Begins another attempt from a fresh base, with the report of the failure and, where there is one, by the next more
 * capable tier of models; or asks the user.
 */
function failed(draft: Draft, record: TaskRecord, words: string, evidence: Reference[]): void {
  record.failures++
  record.about = newest([...record.about, ...evidence])
  draft.run.failures = newest([...draft.run.failures, ...evidence])
  const { shape, attempt, failures } = record
  if (failures < record.mayFail) {
    const above = nextTier(draft.run, record.tier)
    record.tier = above ?? record.tier
    const why = `Another attempt follows from a fresh base, ${above ? `one tier higher (${above})` : 'by the same model'}.`
    draft.say(`${shape.id}/${attempt}/failed`, 'failed', words, { refs: evidence, why, task: record })
    record.state = 'waits'
  } else {
    const count = failures === 1 ? 'An attempt' : `${failures} attempts`
    asks(
      draft,
      record,
      `${count} failed, the last one so: ${words}`,
      record.about.filter(({ kind }) => kind === 'report'),
    )
  }
  countFirst(draft, record, true)
}

/**
 * Halts a task until the user answers; other tasks continue. A question that was answered before is not asked again.
 */
function asks(draft: Draft, record: TaskRecord, words: string, evidence: Reference[], question?: Reference): void {
  const { run } = draft
  const { id } = record.shape
  const count = ++record.questions
  const before = run.remembered.find(it => it.task === id && it.count === count)?.answer
  if (before) {
    const besides = { refs: [before], why: words, task: record }
    draft.say(`${id}/${record.attempt}/answered`, 'answered', 'A person has answered this before.', besides)
    goOn(draft, record, before)
    return
  }
  const refs = question ? [...evidence, question] : evidence
  draft.say(`${id}/${record.attempt}/asks`, 'asks', words, { refs, task: record })
  const lacking = isLacking(record)
  record.words = `${asSentence(words)} ${lacking ? whenSetRight(run.input.run, id) : answerSentence(run.input.run, id)}`
  record.state = 'asks'
  if (question) record.question = question
  const resume = lacking ? { resume: command('resume', run.input.run, id) } : {}
  draft.report({ task: id }, { words, evidence }, { task: id, ...resume })
}

/** Lets a task continue with another attempt, and the user's answer where there is one. */
export function goOn(draft: Draft, record: TaskRecord, answer?: Reference): void {
  if (answer) {
    record.about = newest([...record.about, answer])
    record.isAgain = false
  }
  record.mayFail = Math.max(record.mayFail, record.failures + 1)
  waitAgain(record)
  hopeAgain(draft)
}

/** Puts a task back to waiting for its turn. */
function waitAgain(record: TaskRecord): void {
  record.state = 'waits'
  record.words = ''
  record.isGivenUp = false
  delete record.question
}

/**
 * Lets tasks wait again that were stopped because of a dependency; those whose dependencies are still missing are
 * stopped again.
 */
export function hopeAgain(draft: Draft): void {
  for (const { shape, isGivenUp } of draft.run.tasks) {
    const record = isGivenUp ? draft.edit(shape.id) : undefined
    if (record) Object.assign(record, { isGivenUp: false, state: 'waits', words: '' })
  }
}

/** Lets a task wait for another one too; where that is not possible, the plan is checked again. */
function blocked(draft: Draft, record: TaskRecord, { sibling = '', words, report }: TaskEnd): void {
  const { id } = record.shape
  const why = whyNotAfter(draft, record, sibling)
  if (!why) {
    record.siblings = [...record.siblings, sibling]
    record.state = 'waits'
    record.words = `It waits for ${sibling}: ${words}`
    const said = `Waits for ${sibling} from now on.`
    draft.say(`${id}/${record.attempt}/order`, 'order', said, { why: words, task: record })
    return
  }
  const told = `It says that it waits for ${sibling || 'another task'} (${words}), but ${why}.`
  doubt(draft, record, { why: 'blocked', task: id, words: told }, report ? [report] : [])
}

/** Handles a task's discovery that there is more to do than the plan says. */
function discovers(draft: Draft, record: TaskRecord, { words, parsed }: TaskEnd): void {
  const found = parsed ? [parsed] : []
  const doubted = { why: 'discovered' as const, task: record.shape.id, words, parsed }
  doubt(draft, record, doubted, found)
}

/** Has the plan checked again. If this task has questioned the plan too often, fails the task instead. */
function doubt(draft: Draft, record: TaskRecord, doubted: Doubt, evidence: Reference[]): void {
  const { id } = record.shape
  if (++record.discoveries > DISCOVERIES) {
    const words =
      doubted.why === 'blocked'
        ? doubted.words
        : `It finds ever more to do instead of doing its own part: ${doubted.words}`
    failed(draft, record, words, evidence)
    return
  }
  record.about = newest([...record.about, ...evidence])
  record.state = 'waits'
  draft.run.doubts = [...draft.run.doubts, doubted]
  draft.say(`${id}/${record.attempt}/discovers`, 'discovers', doubted.words, { refs: evidence, task: record })
}

/** Why a task can't wait for another one; undefined where it can. */
function whyNotAfter(draft: Draft, record: TaskRecord, sibling: TaskId): string | undefined {
  const { id } = record.shape
  const other = draft.find(sibling)
  if (!other) return 'the plan has no such task'
  if (sibling === id) return 'that is the task itself'
  if (waitsFor(record).includes(sibling)) return `it had the result of ${sibling} already`
  if (other.state === 'stopped') return `${sibling} was stopped`
  const way = wayBetween(draft.run.tasks.map(nodeOf), sibling, id)
  return way && `they would wait for each other: ${id} for ${way.join(' for ')}`
}
