/** The events of a run and the commands that follow from them: the interface between decisions and workflow. */
import type {
  Finished,
  Limits,
  Linted,
  NewJournalLine,
  Oid,
  Outcome,
  PassedBefore,
  PersonAnswer,
  Reference,
  Spent,
  StepResult,
  TaskId,
  TaskPlace,
  TaskShape,
} from '../contract.ts'
import type { Decision, GoodPlan, TaskWork } from './state.ts'
import type { TiersAbove } from './tiers.ts'

/**
 * Why nothing can continue until the user has fixed it: a limit of the run, a model that does not answer (no key, no
 * credit …), or the machine (a full disk, no container engine). Finished work is kept, and the rest continues where it
 * was.
 */
export type Halt = { why: 'budget' | 'model' | 'machine'; words: string; limit?: keyof Omit<Limits, 'tasks' | 'depth'> }

/** How an attempt at a task ended. Fields for only some outcomes are undefined otherwise. */
export type TaskEnd = {
  outcome: Outcome
  words: string
  spent: Spent
  halt?: Halt
  /** With the outcome `success`: `head` is the commit that passed, `from` the commit it was checked against. */
  head?: Oid
  from?: Oid
  /** With a failure as outcome: the report, for the next attempt and the user. */
  report?: Reference
  /** With the outcome `blocked_on_human`: the question. */
  question?: Reference
  /** With a question: all is done but the checks, which can't be run yet. The same attempt continues when they can. */
  isUnchecked?: boolean
  /** With the outcome `new_tasks_discovered`: the discovery. */
  parsed?: Reference
  /** With the outcome `blocked_on_sibling`: the task that this one waits for. */
  sibling?: string
}

/** The input of one attempt at a task. */
export type TaskInput = TaskPlace & {
  plan: Reference
  shape: TaskShape
  tier: TaskShape['tier']
  /** The run's base, and the results of the task's dependencies, in the order of merging. */
  base: Oid
  results: Oid[]
  /** How many levels of sub-agents the attempt's steps may still ask for. */
  depth: number
  inBatch?: boolean
  above: TiersAbove
  /** Reports of failed attempts, and answers of the user. */
  about: Reference[]
  /** A commit that has passed other checks than the plan has now: only the checks are run again. */
  recheck?: { from: Oid; head: Oid }
}

/** A linted plan with all of its tasks. */
export type LintedTasks = Omit<Linted, 'tasks'> & { tasks: TaskShape[] }

/** The results of what the run does itself, such as planning and merging, by kind. */
export type Worked =
  | {
      of: 'begin'
      plan?: Reference
      answers: PersonAnswer[]
      passed?: PassedBefore[]
      facts: Reference[]
      used: number
      above?: TiersAbove
      learns?: boolean
    }
  | { of: 'lint'; linted: LintedTasks }
  | { of: 'ask'; result: StepResult; spent: Spent }
  | { of: 'keep'; reference: Reference }
  | { of: 'remember' }
  | { of: 'finish'; finished: Finished }
  | { of: 'judge'; commit?: Oid; report: Reference; words: string }

/** What a report for the user is about. */
export type Matter = { task: TaskId } | { hold: string } | { question: number }

export type Event =
  | { is: 'begun' }
  | { is: 'worked'; id: number; what: Worked }
  /** What the run itself did, such as planning, failed; without `halt` it was cancelled. */
  | { is: 'not worked'; id: number; halt?: Halt }
  | { is: 'ended'; task: TaskId; attempt: number; end: TaskEnd; raises: number }
  | { is: 'not ended'; task: TaskId; attempt: number; halt?: Halt }
  | { is: 'reported'; matter: Matter; report: Reference }
  | { is: 'journal lost' }
  /** A timer has fired: limits of time may be reached. */
  | { is: 'time' }
  /**
   * A workflow of the run has begun to wait for answers to requests in batches (`isAway`), or waits for none any more.
   * The run's minutes are not counted meanwhile. `number`: goes up with each event of a flow, as they may arrive out of
   * order.
   */
  | { is: 'away'; flow: string; task?: TaskId; isAway: boolean; number: number }
  /**
   * The workflow's history is long: nothing new is begun until everything under way has ended and a new history begins.
   */
  | { is: 'drain' }
  | PersonSaid

/** What the user tells a run: a decision, an answer, a changed plan or limit, or to pause, resume or stop. */
export type PersonSaid =
  | { is: 'decided'; decision: Decision }
  | { is: 'answered'; task: TaskId | ''; answer: Reference }
  /** A change of the plan is being checked, until the same event with `isOver`. */
  | { is: 'mending'; isOver: boolean }
  | { is: 'mended'; plan: GoodPlan; answered?: { task: TaskId; answer: Reference } }
  | { is: 'replan'; answer: Reference }
  | { is: 'paused'; task?: TaskId }
  | { is: 'resumed'; task?: TaskId }
  | { is: 'stopped'; task?: TaskId }
  | { is: 'raised'; limits: Partial<Limits> }

/** A command to carry out. It is not awaited: its result is an event. */
export type RunCommand =
  | { do: 'note'; line: NewJournalLine }
  | { do: 'work'; id: number; what: TaskWork }
  | { do: 'start'; input: TaskInput; raises: number }
  | { do: 'hold'; task: TaskId; isHeld: boolean; number: number }
  | { do: 'cancel'; task: TaskId }
  | { do: 'cancel work' }
  | { do: 'report'; matter: Matter; words: string; evidence: Reference[]; task?: TaskId; resume?: string }
