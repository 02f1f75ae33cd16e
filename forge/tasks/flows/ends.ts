/** What flows pass to each other: the beginning and end of a step, a fan-out and an attempt. */
import type { List, Reference, Spent, StepInput, StepResult } from '../contract.ts'
import type { Halt, TaskEnd, TaskInput } from '../run/events.ts'

/**
 * The end of a step: a result, or a halt, after which nothing goes on until the user has fixed its cause. `spent`
 * includes what the step's sub-agents have spent.
 */
export type StepEnd = { halt?: undefined; result: StepResult; spent: Spent } | { halt: Halt; spent: Spent }

/** The result of one sub-agent. `artifact`: its findings, or, where it found nothing, the text of its answer. */
export type SubAgentEnd = { artifact: Reference; isGood: boolean; words: string }

/**
 * `agents`: the sub-agents. `ended`: where a new history continues a fan-out, a list of pairs: an index in `agents`,
 * and the result of that sub-agent.
 */
export type FanOutInput = { parent: StepInput; agents: List; ended?: List; spent: Spent; isHeld: boolean }

/** The end of a fan-out: the findings, unless it was halted or an answer of a sub-agent could not be classified. */
export type FanOutEnd = { spent: Spent } & (
  | { halt: Halt }
  | { confused: string }
  | {
      /** All sub-agents' findings, in the order of their questions: a list of references. */
      found: List
      /** For the model that asked: which sub-agents failed, and in which order the findings stand. */
      summary: Reference
      /** The result in a line for the journal. */
      brief: string
      /** How many sub-agents failed, as the end of a sentence; '' where none did. */
      failed: string
    }
)
export type FanOutFlow = (input: FanOutInput) => Promise<FanOutEnd>
export type AttemptFlow = (input: TaskInput) => Promise<TaskEnd>
