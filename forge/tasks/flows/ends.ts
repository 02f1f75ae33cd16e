/** What flows give to and take from each other: how a step, a fan-out and an attempt at a task begin and end. */
import type { List, Reference, Spent, StepInput, StepResult } from '../contract.ts'
import type { Halt, TaskEnd, TaskInput } from '../run/events.ts'

/** A step ends by the model's word, or is halted. `spent` counts its sub-agents too. */
export type StepEnd = { halt?: undefined; result: StepResult; spent: Spent } | { halt: Halt; spent: Spent }

/** What became of one sub-agent: what it found, or its words where it found nothing. */
export type SubAgentEnd = { artifact: Reference; isGood: boolean; words: string }

/** `ended` is a list of pairs, a sub-agent's place in `agents` and its end: it is what a new history begins with. */
export type FanOutInput = { parent: StepInput; agents: List; ended?: List; spent: Spent; isHeld: boolean }

/** How a fan-out ended: what was found, unless it was halted or an answer of a sub-agent could not be classified. */
export type FanOutEnd = { spent: Spent } & (
  | { halt: Halt }
  | { confused: string }
  | {
      /** What all of them found, in the order in which they were asked: a list of references. */
      found: List
      /** For the model that asked: which of them failed, and the order. */
      summary: Reference
      /** For the journal. */
      brief: string
      /** How many failed, as the end of a sentence; '' where none did. */
      failed: string
    }
)
export type FanOutFlow = (input: FanOutInput) => Promise<FanOutEnd>
export type AttemptFlow = (input: TaskInput) => Promise<TaskEnd>
