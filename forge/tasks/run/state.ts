/** The state of a run between two events. It is plain data: a new history begins with it, and tests can make one up. */
import type {
  Finished,
  Gathered,
  LimitName,
  Limits,
  Oid,
  PassedBefore,
  PersonAnswer,
  Reference,
  RunEnd,
  RunInput,
  Spent,
  StepInput,
  TaskId,
  TaskResult,
  TaskShape,
  TaskState,
  Tier,
} from '../contract.ts'
import type { TaskNode } from './graph.ts'
import { ALL_TIERS, type TiersAbove } from './tiers.ts'

/** At most this many attempts at a task before it halts and asks. */
export const ATTEMPTS = 2
/** At most this many references are given to an attempt: the newest reports and answers. */
const MAX_ABOUT = 12

export type TaskRecord = {
  shape: TaskShape
  /** The state of the task, whether it is paused or not. */
  state: Exclude<TaskState, 'paused' | 'failed'>
  isPaused: boolean
  /** Whether the workflow of one of the task's attempts is running, even if only to end after the task was stopped. */
  isOut: boolean
  /** Whether the attempt's workflow was last told to begin nothing new. */
  isHeld: boolean
  /** The number of the last attempt; 0: none. */
  attempt: number
  /** The plan of the last attempt. */
  plan?: Reference
  /** Whether the last attempt was interrupted from outside, and is repeated under its number. */
  isAgain: boolean
  /** The number of failed attempts. `mayFail`: at most this many may fail; an answer of the user adds one. */
  failures: number
  mayFail: number
  tier: Tier
  /** Whether the task was stopped only because a dependency was. */
  isGivenUp: boolean
  /** Reports of failures and answers of the user, for the next attempt. */
  about: Reference[]
  /** Dependencies beyond the plan, which attempts have found out. */
  siblings: TaskId[]
  /** The number of questions that the task has asked. `discoveries`: how often it has questioned the plan. */
  questions: number
  discoveries: number
  /** Whether the end of the task's first attempt has been counted (see {@link RunRecord.counted}). */
  isCounted: boolean
  words: string
  /** Usage of the last attempt; that of earlier ones is in the run's own `spent`. */
  spent?: Spent
  /** `head`: the commit that passed. `from`: the commit it was checked against. */
  head?: Oid
  from?: Oid
  /** Whether the task's checks in the plan have changed since it passed: its commit is only checked again. */
  isRechecked?: boolean
  question?: Reference
}

/**
 * Why the run begins nothing new, other than by a pause. A hold lasts until the user resumes the run, answers, or
 * raises a limit.
 */
export type Hold = {
  why: 'budget' | 'model' | 'machine' | 'degraded' | 'confused'
  state: 'paused' | 'asks' | 'out of budget'
  words: string
  question?: Reference
  /** With `why` budget: the limit that was reached. */
  limit?: LimitName
  /** The task that caused the hold. */
  task?: TaskId
}

/** A reason to check the plan again. `parsed`: a task's answer that says what the plan lacks. */
export type Doubt =
  | { why: 'discovered' | 'blocked'; task: TaskId; words: string; parsed?: Reference }
  | { why: 'passed' | 'failures'; words: string }
  | { why: 'asked'; words: string; answer: Reference }
  | { why: 'contract'; words: string; answer: Reference; evidence: Reference[] }

/** A plan that the linter accepts. */
export type GoodPlan = { plan: Reference; tasks: TaskShape[]; widens: string[]; changes: string[] }

/** Why there is no plan or result. `isLacking`: something has to be fixed, and no answer is needed. */
export type Stuck = { words: string; evidence: Reference[]; isLacking?: boolean }

/** A question of the run itself to the user. `proposal`: the plan that waits for approval. */
export type RunQuestion = {
  about: 'plan' | 'approval' | 'result'
  count: number
  words: string
  proposal?: GoodPlan
  /** The report that explains the question to the user. */
  report?: Reference
}

/** The user's decision on a question of the run. */
export type Decision = { is: 'answer'; answer: Reference } | { is: 'approve'; plan: GoodPlan } | { is: 'resume' }

/** A planning in progress, of a first plan or of a change. */
export type Planning = {
  kind: 'plan' | 'check plan'
  doubts: Doubt[]
  /**
   * What the planner is told: the wish; for a check also the present plan, findings and their summary; later, the
   * user's answers, each after the plan that it is about.
   */
  wish: Reference[]
  /** What the planner has looked at, a reference for each round; undefined in runs begun by an older version. */
  looked?: Reference[]
  /** Complaints about the planner's last proposals. */
  told: Reference[]
  /** How many plans the planner has proposed since the last answer of the user. */
  tries: number
  /** The last sentence about a proposed plan, by the model or by this program. */
  words: string
  /** The plan being linted. `by`: who made it; `before`: it was approved before the run was submitted again. */
  linted?: { by: 'model' | 'person' | 'before'; plan: Reference; step: string }
  /** The approved plan, while the approval is being stored. */
  approved?: GoodPlan
}

/** What the run asks a model in a step of its own, such as planning. */
type StepWish = Pick<StepInput, 'kind' | 'base' | 'about' | 'tier'> & Partial<Pick<StepInput, 'choice'>>

/** Work of the run itself, not of a task. After a halt it is done again, so each kind must be repeatable. */
export type TaskWork =
  | { do: 'begin' }
  | { do: 'lint'; plan: Reference; standing: Standings }
  | { do: 'ask'; step: string; wish: StepWish }
  | { do: 'keep'; step: string; kind: string; words: string }
  | { do: 'remember'; kind: 'approval' | 'answer'; what: PersonAnswer }
  | { do: 'finish'; results: TaskResult[]; resolved?: Oid }
  | { do: 'judge'; attempt: number; ours: Oid; theirs: Oid; resolved: Oid }
export type Standings = { id: TaskId; is: 'done' | 'under way' | 'stopped' }[]

/** The ending of a run while it is under way: merging results and checking the contract. */
export type Finishing = {
  /** The number of conflicts so far. `tries`: requests to resolve the current one. */
  number: number
  tries: number
  resolved?: Oid
  conflict?: { head: Oid; about: Reference[]; words: string } & NonNullable<Gathered['conflicts']>
  review?: {
    finished: Finished
    answers: { isAccepted: boolean; words: string; parsed?: Reference }[]
    isLast: boolean
  }
  /** The problem that the user is asked about; undefined while none is. */
  stuck?: Stuck
}

export type RunRecord = {
  input: RunInput
  /**
   * A new id whenever the run is submitted, also after the server has lost it: part of the ids of journal lines that
   * are written only once.
   */
  life: string
  lines: number
  limits: Limits
  /** How often the user has changed limits. */
  raises: number
  /** Usage of the run's own steps, and of all attempts at tasks except the last one at each task. */
  spent: Spent
  /** Milliseconds of work until `since`, the time at which the current work began. */
  used: number
  since?: number
  tasks: TaskRecord[]
  /** The current plan. `shown`: the plan that the user is shown; before the first approval there is no `plan` yet. */
  plan?: Reference
  shown?: Reference
  /** The linter's complaints about the last plan. */
  complaints: string[]
  /** Facts found when the run began. `above`: for each tier, the next higher tier that has another model. */
  facts: Reference[]
  above: TiersAbove
  /** Whether lessons are drawn from the run when it has ended. */
  learns?: boolean
  /** How many plans were requested of a model. It numbers those steps: a repeated one has the same id. */
  proposals: number
  doubts: Doubt[]
  planning?: Planning
  finishing?: Finishing
  /** What the run does itself, such as planning or merging; one thing at a time. */
  work?: { id: number; what: TaskWork; isUnderWay: boolean }
  works: number
  question?: RunQuestion
  /**
   * The number of questions, so that a question has the same number when it is asked again after the server has lost
   * everything.
   */
  questions: number
  remembered: PersonAnswer[]
  /** The tasks that passed before the server lost the run. */
  passedBefore?: PassedBefore[]
  hold?: Hold
  isPaused: boolean
  /** Tasks whose first attempt has ended, and how many of these failed. */
  counted: { ended: number; failed: number }
  /**
   * At least this many first attempts have to end before the plan is checked again for failures; undefined: the
   * default.
   */
  degradedAfter?: number
  /** Tasks that passed since the plan was last checked. `failures`: reports of those that failed. */
  passed: number
  failures: Reference[]
  /** The number of changes of the plan by the user that are being checked: nothing is begun meanwhile. */
  mending: number
  /** The number of the last signal that told attempts to be held or to go on. */
  told: number
  /** The flows that wait, or have waited, for answers from batches; undefined in runs begun by an older version. */
  away?: { flow: string; task?: TaskId; isAway: boolean; number: number }[]
  isDraining: boolean
  isStopping: boolean
  ending?: RunEnd
}

export const NOTHING_SPENT: Spent = { requests: 0, input: 0, output: 0, cost: 0 }

export const newRun = (input: RunInput, life: string): RunRecord => ({
  input,
  life,
  lines: 0,
  limits: input.limits,
  raises: 0,
  spent: NOTHING_SPENT,
  used: 0,
  tasks: [],
  complaints: [],
  facts: [],
  above: ALL_TIERS,
  proposals: 0,
  doubts: [],
  works: 0,
  questions: 0,
  remembered: [],
  isPaused: false,
  counted: { ended: 0, failed: 0 },
  passed: 0,
  failures: [],
  mending: 0,
  told: 0,
  isDraining: false,
  isStopping: false,
})

export const newRecord = (shape: TaskShape): TaskRecord => ({
  shape,
  state: 'waits',
  isPaused: false,
  isOut: false,
  isHeld: false,
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
  words: '',
})

/** All dependencies of a task, without repetitions. */
export const waitsFor = ({ shape, siblings }: TaskRecord): TaskId[] => [...new Set([...shape.dependsOn, ...siblings])]

export const nodeOf = (record: TaskRecord): TaskNode => ({ id: record.shape.id, waitsFor: waitsFor(record) })

/** Whether a new plan has to leave the task as it is. */
export const isFrozen = ({ state, isOut }: TaskRecord): boolean => state === 'done' || isOut

export const isOver = ({ state, isOut }: TaskRecord): boolean => (state === 'done' || state === 'stopped') && !isOut

/**
 * Whether the task waits without a question, until something outside of the run is fixed; then it continues where it
 * was.
 */
export const isLacking = ({ state, isAgain }: TaskRecord): boolean => (state === 'runs' || state === 'asks') && isAgain

/** The newest of the references (to reports and answers) that an attempt is given, without repetitions. */
export const newest = (about: Reference[]): Reference[] =>
  [...new Map(about.map(it => [it.oid, it])).values()].slice(-MAX_ABOUT)

export const added = (a: Spent, b: Spent | undefined): Spent =>
  b
    ? {
        requests: a.requests + b.requests,
        input: a.input + b.input,
        output: a.output + b.output,
        cost: a.cost + b.cost,
      }
    : a
