/** What a run holds of its tasks, and of itself: small and plain, so that a new history can begin with it. */
import type {
  LimitName,
  Limits,
  Linted,
  PersonAnswer,
  Reference,
  RunStatus,
  Spent,
  TaskId,
  TaskShape,
  TaskState,
  Tier,
} from '../../contract.ts'
import { HELD } from '../ends.ts'
import type { Node } from '../graph.ts'

/** Attempts that a task has before it halts and asks. */
export const ATTEMPTS = 2

export type TaskRecord = {
  shape: TaskShape
  /** Without regard to a pause, which does not change what it is. */
  state: Exclude<TaskState, 'paused' | 'failed'>
  isPaused: boolean
  /** The number of the last attempt that was begun; 0: none. */
  attempt: number
  /** Whether that attempt was halted from outside, and is done again under its number. */
  isAgain: boolean
  /** Attempts that failed, and how many may: a person's answer gives it one more. */
  failures: number
  mayFail: number
  tier: Tier
  /** Whether it was stopped only since what it needs was. */
  isGivenUp: boolean
  /** Reports of failures and answers of a person, for the next attempt. */
  about: Reference[]
  /** What it waits for beyond the plan, as an attempt has found out. */
  siblings: TaskId[]
  /** Questions that it has asked, and plans that it has questioned. */
  questions: number
  discoveries: number
  /** Whether its first end is counted among those by which a run is degraded. */
  isCounted: boolean
  doing: string
  words: string
  /**
   * What the last attempt has used: one that was halted is done again, and says all of it again. What those before it
   * have used is counted by the run.
   */
  spent?: Spent
  head?: string
  question?: Reference
}

/** Why nothing is begun, beside a person's pause: until a person says `resume`, answers, or raises a limit. */
export type Hold = {
  why: 'budget' | 'model' | 'machine' | 'degraded' | 'confused'
  state: 'paused' | 'asks' | 'out of budget'
  words: string
  question?: Reference
  /** With budget: by which limit. */
  limit?: LimitName
  /** The task by which it came. */
  task?: TaskId
}

/** A run between two histories. All that it started has ended by then. */
export type Carried = {
  plan: Reference
  tasks: TaskRecord[]
  limits: Limits
  spent: Spent
  /** Milliseconds in which something was under way. */
  used: number
  questions: number
  plans: number
  lines: number
  counted: { ended: number; failed: number }
  discovered: Discovered[]
  remembered: PersonAnswer[]
  facts?: Reference[]
  hold?: Hold
  isPaused: boolean
}

/** A task has found that the plan may be wrong. */
export type Discovered = { task: TaskId; words: string; parsed?: Reference }

/** A plan that the linter lets through. */
export type GoodPlan = Pick<Linted, 'tasks'> & { plan: Reference }

export const newRecord = (shape: TaskShape): TaskRecord => ({
  shape,
  state: 'waits',
  isPaused: false,
  attempt: 0,
  isAgain: false,
  isGivenUp: false,
  failures: 0,
  mayFail: ATTEMPTS,
  tier: shape.tier,
  about: [],
  siblings: [],
  questions: 0,
  discoveries: 0,
  isCounted: false,
  doing: '',
  words: '',
})

/** A task that has not begun, as a new plan has it: what a person said of it before still counts. */
export function renewed(shape: TaskShape, before: TaskRecord | undefined): TaskRecord {
  const { isPaused = false, isGivenUp = false, state, words = '' } = before ?? {}
  const isStopped = state === 'stopped' && !isGivenUp
  return { ...newRecord(shape), isPaused, ...(isStopped && { state, words }) }
}

/** What a task waits for, each once. */
export const waitsFor = ({ shape, siblings }: TaskRecord): TaskId[] => [...new Set([...shape.dependsOn, ...siblings])]

export const nodeOf = (record: TaskRecord): Node => ({ id: record.shape.id, waitsFor: waitsFor(record) })

export const hasBegun = ({ state, attempt }: TaskRecord): boolean => attempt > 0 || state === 'done'

export const isOver = ({ state }: TaskRecord): boolean => state === 'done' || state === 'stopped'

/** Whether nothing of a task is under way since it, or all of the run, is held. */
const isResting = ({ state, isPaused, doing }: TaskRecord): boolean =>
  state === 'runs' ? isPaused || doing === HELD : state === 'waits' && isPaused

/** As a person is shown it. */
export const statusOf = (record: TaskRecord): RunStatus['tasks'][number] => ({
  id: record.shape.id,
  title: record.shape.title,
  state: isResting(record) ? 'paused' : record.state,
  attempt: record.attempt,
  doing: record.state === 'runs' ? record.doing : '',
  words: record.words,
  dependsOn: waitsFor(record),
  ...(record.head && { head: record.head }),
  ...(record.question && { question: record.question }),
})
