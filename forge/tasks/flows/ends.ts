/** What flows give to and take from each other: how a step, a fan-out and an attempt at a task begin and end. */
import type {
  LimitName,
  Oid,
  Outcome,
  Reference,
  Spent,
  StepInput,
  StepResult,
  SubAgent,
  TaskPlace,
  TaskShape,
} from '../contract.ts'

/**
 * Why nothing can go on until a person has mended it: a limit of the run, a model that does not answer (no key, no
 * credit …), or the machine (a full disk, a missing engine). What was done is kept; it is begun again where it was.
 */
export type Halt = { why: 'budget' | 'model' | 'machine'; words: string; limit?: LimitName }

/** A step ends by the model's word, or is halted. `spent` counts its sub-agents too. */
export type StepEnd = { halt?: undefined; result: StepResult; spent: Spent } | { halt: Halt; spent: Spent }
export type StepFlow = (input: StepInput) => Promise<StepEnd>

/** What became of one sub-agent: what it found, or its words where it found nothing. */
export type SubAgentEnd = { artifact: Reference; isGood: boolean; words: string }

/** `ended` is by the sub-agent's place in `agents`: it is what a new history begins with. */
export type FanOutInput = {
  parent: StepInput
  agents: SubAgent[]
  ended: [number, SubAgentEnd][]
  spent: Spent
  isHeld: boolean
}
/**
 * `ended` has all sub-agents in the order in which they were asked for, unless it was halted or nobody understands one.
 */
export type FanOutEnd = { ended: SubAgentEnd[]; spent: Spent; halt?: Halt; confused?: string }
export type FanOutFlow = (input: FanOutInput) => Promise<FanOutEnd>

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
  /** Reports of attempts that failed, and what a person answered. */
  about: Reference[]
}

/** How an attempt ended. What only some outcomes have is undefined with all others. */
export type TaskEnd = {
  outcome: Outcome
  words: string
  spent: Spent
  halt?: Halt
  /** With success: the commit that passed. */
  head?: Oid
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
export type TaskFlow = (input: TaskInput) => Promise<TaskEnd>

/** What a task does that waits until it is no longer held: nothing of it is under way. */
export const HELD = 'is held'

/** What a task tells its run while it is under way. */
export type Told = { task: string; attempt: number; doing: string; spent: Spent }

export const NOTHING: Spent = { requests: 0, input: 0, output: 0, cost: 0 }

/** Both together. */
export const added = (a: Spent, b: Spent): Spent => ({
  requests: a.requests + b.requests,
  input: a.input + b.input,
  output: a.output + b.output,
  cost: a.cost + b.cost,
})
