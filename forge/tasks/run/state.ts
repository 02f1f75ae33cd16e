/**
 * All that a run knows of itself between two events. It is plain data: a new history begins with it, and a test can make
 * one up.
 */
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

/** Attempts that a task has before it halts and asks. */
export const ATTEMPTS = 2
/** References that an attempt is told at most: the newest reports and answers. */
const MAX_ABOUT = 12

export type TaskRecord = {
  shape: TaskShape
  /** Without regard to a pause, which does not change what it is. */
  state: Exclude<TaskState, 'paused' | 'failed'>
  isPaused: boolean
  /** Whether an attempt's workflow is under way: one that was stopped may still be ending. */
  isOut: boolean
  /** Whether that workflow was told last to begin nothing new. */
  isHeld: boolean
  /** The number of the last attempt that was begun; 0: none. */
  attempt: number
  /** The plan by which that attempt works. */
  plan?: Reference
  /** Whether that attempt was interrupted from outside, and is done again under its number. */
  isAgain: boolean
  /** Attempts that failed, and how many may: a person's answer gives one more. */
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
  words: string
  /** What the last attempt has used; what those before it have used is counted by the run. */
  spent?: Spent
  /** What has passed, and the commit that it was checked against. */
  head?: Oid
  from?: Oid
  /** The plan's checks of it have changed since it passed: its commit is only checked again. */
  isRechecked?: boolean
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

/** Why the plan is looked at again. `parsed` is what a task has found. */
export type Doubt =
  | { why: 'discovered' | 'blocked'; task: TaskId; words: string; parsed?: Reference }
  | { why: 'passed' | 'failures'; words: string }
  | { why: 'asked'; words: string; answer: Reference }
  | { why: 'contract'; words: string; answer: Reference; evidence: Reference[] }

/** A plan that the linter lets through. */
export type GoodPlan = { plan: Reference; tasks: TaskShape[]; widens: string[]; changes: string[] }

/** Why there is no plan, or no result. `isLacking`: something has to be set right, and nothing to be answered. */
export type Stuck = { words: string; evidence: Reference[]; isLacking?: boolean }

/** A question of the run itself that waits for a person. `proposal` is the plan that waits for a yes. */
export type RunQuestion = {
  about: 'plan' | 'approval' | 'result'
  count: number
  words: string
  proposal?: GoodPlan
  /** What the person reads. */
  report?: Reference
}

/** What a person says to a question of the run. */
export type Decision = { is: 'answer'; answer: Reference } | { is: 'approve'; plan: GoodPlan } | { is: 'resume' }

/** A plan is being made, or looked at again. */
export type Planning = {
  kind: 'plan' | 'check plan'
  doubts: Doubt[]
  /** What the planner is told, whatever it has proposed. */
  wish: Reference[]
  /** What it has looked at, a reference for each round; a run that began with an older version has none. */
  looked?: Reference[]
  /** What is wrong with its last proposals. */
  told: Reference[]
  /** Proposals since a person has spoken. */
  tries: number
  /** What the last proposal's step has said. */
  words: string
  /** Whose plan is being linted. */
  linted?: { by: 'model' | 'person' | 'before'; plan: Reference; step: string }
  /** The plan that a person has said yes to, while that is written down. */
  approved?: GoodPlan
}

/** What a step of the run itself is asked. */
type StepWish = Pick<StepInput, 'kind' | 'base' | 'about' | 'tier'> & Partial<Pick<StepInput, 'choice'>>

/** Work of the run itself, not of a task. It is repeated after a halt, so each kind can be done twice. */
export type TaskWork =
  | { do: 'begin' }
  | { do: 'lint'; plan: Reference; standing: Standings }
  | { do: 'ask'; step: string; wish: StepWish }
  | { do: 'keep'; step: string; kind: string; words: string }
  | { do: 'remember'; kind: 'approval' | 'answer'; what: PersonAnswer }
  | { do: 'finish'; results: TaskResult[]; resolved?: Oid }
  | { do: 'judge'; attempt: number; ours: Oid; theirs: Oid; resolved: Oid }
export type Standings = { id: TaskId; is: 'done' | 'under way' | 'stopped' }[]

/** Results are being brought together, and the contract is checked. */
export type Finishing = {
  /** Conflicts that were met; and requests to resolve the present one. */
  number: number
  tries: number
  resolved?: Oid
  conflict?: { head: Oid; about: Reference[]; words: string } & NonNullable<Gathered['conflicts']>
  review?: {
    finished: Finished
    answers: { isAccepted: boolean; words: string; parsed?: Reference }[]
    isLast: boolean
  }
  /** What is wrong, while a person is asked. */
  stuck?: Stuck
}

export type RunRecord = {
  input: RunInput
  /** By this, lines of the journal at no fixed place differ from those of a life before this one. */
  life: string
  lines: number
  limits: Limits
  /** How often a person has set other limits. */
  raises: number
  /** What was used by steps of the run itself, and by attempts that others have followed. */
  spent: Spent
  /** Milliseconds in which something was under way, until `since`, since when the clock goes. */
  used: number
  since?: number
  tasks: TaskRecord[]
  /** The plan that holds, and the one that a person looks at: before the first yes there is no other. */
  plan?: Reference
  shown?: Reference
  /** What the linter said of the last plan. */
  complaints: string[]
  /** What was found out when the run began; and for each tier the next one that has another model. */
  facts: Reference[]
  above: TiersAbove
  /** Counted, so that the steps that propose have the same ids when they are done again. */
  proposals: number
  doubts: Doubt[]
  planning?: Planning
  finishing?: Finishing
  /** What the run itself does, one at a time. */
  work?: { id: number; what: TaskWork; isUnderWay: boolean }
  works: number
  question?: RunQuestion
  /** Counted, so that a question has the same number when it is asked again after the server has lost everything. */
  questions: number
  remembered: PersonAnswer[]
  /** What had passed before this life of the run. */
  passedBefore?: PassedBefore[]
  hold?: Hold
  isPaused: boolean
  /** Tasks whose first attempt has ended, and how many of these failed. */
  counted: { ended: number; failed: number }
  /** Of how many tasks these are at least before the plan is doubted; undefined: as at first. */
  degradedAfter?: number
  /** Tasks that passed since the plan was last looked at; reports of those that failed. */
  passed: number
  failures: Reference[]
  /** Changes of the plan by a person that are being checked: nothing is begun meanwhile. */
  mending: number
  /** The number of the last word about holding. */
  told: number
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

/** What a task waits for, each once. */
export const waitsFor = ({ shape, siblings }: TaskRecord): TaskId[] => [...new Set([...shape.dependsOn, ...siblings])]

export const nodeOf = (record: TaskRecord): TaskNode => ({ id: record.shape.id, waitsFor: waitsFor(record) })

/** Whether a new plan has to leave it as it is. */
export const isFrozen = ({ state, isOut }: TaskRecord): boolean => state === 'done' || isOut

export const isOver = ({ state, isOut }: TaskRecord): boolean => (state === 'done' || state === 'stopped') && !isOut

/** Whether it has nothing to ask, but lacks something from outside: it goes on where it was when that is set right. */
export const isLacking = ({ state, isAgain }: TaskRecord): boolean => (state === 'runs' || state === 'asks') && isAgain

/** The newest of what an attempt is told, each once. */
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
