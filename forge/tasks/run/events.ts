/** The events of a run and the commands that follow from them: the interface between the decisions and the workflow. */
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
 * Why nothing can go on until a person has mended it: a limit of the run, a model that does not answer (no key, no
 * credit …), or the machine (a full disk, a missing engine). What was done is kept; it is begun again where it was.
 */
export type Halt = { why: 'budget' | 'model' | 'machine'; words: string; limit?: keyof Omit<Limits, 'tasks' | 'depth'> }

/** How an attempt at a task ended. What only some outcomes have is undefined with all others. */
export type TaskEnd = {
  outcome: Outcome
  words: string
  spent: Spent
  halt?: Halt
  /** With success: the commit that passed, and the one that it was checked against. */
  head?: Oid
  from?: Oid
  /** With a failure: why, for the next attempt and for a person. */
  report?: Reference
  /** With blocked_on_human. */
  question?: Reference
  /** With that: all is done but the checks, which can't be run yet. The same attempt goes on when they can. */
  isUnchecked?: boolean
  /** With new_tasks_discovered: what was discovered. */
  parsed?: Reference
  /** With blocked_on_sibling. */
  sibling?: string
}

/** One attempt at a task. */
export type TaskInput = TaskPlace & {
  plan: Reference
  shape: TaskShape
  tier: TaskShape['tier']
  /** The run's base, and the results of what the task waits for, in the order in which they are merged into it. */
  base: Oid
  results: Oid[]
  /** Levels of sub-agents. */
  depth: number
  above: TiersAbove
  /** Reports of attempts that failed, and what a person answered. */
  about: Reference[]
  /** It has passed before, by other checks than the plan has now: only these are run, on that commit. */
  recheck?: { from: Oid; head: Oid }
}

/** A linted plan, with all of its tasks. */
export type LintedTasks = Omit<Linted, 'tasks'> & { tasks: TaskShape[] }

/** What each work comes to. */
export type Worked =
  | {
      of: 'begin'
      plan?: Reference
      answers: PersonAnswer[]
      passed?: PassedBefore[]
      facts: Reference[]
      used: number
      above?: TiersAbove
    }
  | { of: 'lint'; linted: LintedTasks }
  | { of: 'ask'; result: StepResult; spent: Spent }
  | { of: 'keep'; reference: Reference }
  | { of: 'remember' }
  | { of: 'finish'; finished: Finished }
  | { of: 'judge'; commit?: Oid; report: Reference; words: string }

/** What a report to a person is about. */
export type Matter = { task: TaskId } | { hold: string } | { question: number }

export type Event =
  | { is: 'begun' }
  | { is: 'worked'; id: number; what: Worked }
  /** Without `halt` it was cancelled. */
  | { is: 'not worked'; id: number; halt?: Halt }
  | { is: 'ended'; task: TaskId; attempt: number; end: TaskEnd; raises: number }
  | { is: 'not ended'; task: TaskId; attempt: number; halt?: Halt }
  | { is: 'reported'; matter: Matter; report: Reference }
  | { is: 'journal lost' }
  /** Time has gone by. */
  | { is: 'time' }
  /** The history is long: nothing new is begun until all has ended that is under way. */
  | { is: 'drain' }
  | PersonSaid

/** What a person says. */
export type PersonSaid =
  | { is: 'decided'; decision: Decision }
  | { is: 'answered'; task: TaskId | ''; answer: Reference }
  /** A change of the plan is being checked, until the same with `isOver`. */
  | { is: 'mending'; isOver: boolean }
  | { is: 'mended'; plan: GoodPlan; answered?: { task: TaskId; answer: Reference } }
  | { is: 'replan'; answer: Reference }
  | { is: 'paused'; task?: TaskId }
  | { is: 'resumed'; task?: TaskId }
  | { is: 'stopped'; task?: TaskId }
  | { is: 'raised'; limits: Partial<Limits> }

/** What is to be done. Nothing of it is waited for: what comes of it is an event. */
export type RunCommand =
  | { do: 'note'; line: NewJournalLine }
  | { do: 'work'; id: number; what: TaskWork }
  | { do: 'start'; input: TaskInput; raises: number }
  | { do: 'hold'; task: TaskId; isHeld: boolean; number: number }
  | { do: 'cancel'; task: TaskId }
  | { do: 'cancel work' }
  | { do: 'report'; matter: Matter; words: string; evidence: Reference[]; task?: TaskId; resume?: string }
