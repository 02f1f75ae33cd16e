/** Forklift beside the desk: its runs, and starting it. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { Branch, Count } from './values.ts'

export const ForkliftRun = v.object({
  run: v.string(),
  /** How it ended, or that it goes on: a word such as stuck, and a line. */
  end: v.picklist(['merged', 'nothing', 'stuck', 'timed out', 'refused', 'failed', 'running']),
  words: v.string(),
  started: v.number(),
  /** An address at the fork's own host. */
  pullRequest: v.optional(v.string()),
  /** Whether it can be opened as a branch in `merging`. */
  canOpen: v.boolean(),
  /** The branch that it is open as, where it is; of a run by hand, the one that it published. */
  branch: v.optional(Branch),
  /** No agent: it judged and published what a person merged. */
  isByHand: v.boolean(),
})
export type ForkliftRun = v.InferOutput<typeof ForkliftRun>

export const Forklift = v.object({
  /** Why there is nothing to show: no fork, for example. */
  missing: v.optional(v.string()),
  /** owner/name of upstream, its branch, and how many commits it is ahead as last fetched. */
  upstream: v.optional(v.object({ name: v.string(), branch: v.string(), ahead: Count })),
  /** The newest first. */
  runs: v.array(ForkliftRun),
  /** Whether this desk has one under way. */
  isRunning: v.boolean(),
  /** What the one that this desk started last has said, and its exit code, where it has ended. */
  said: v.optional(
    v.object({
      /** The branch that it publishes; else it is a run. */
      branch: v.optional(Branch),
      lines: v.array(v.string()),
      end: v.optional(Count),
    }),
  ),
})
export type Forklift = v.InferOutput<typeof Forklift>

export const forkliftQuestions = {
  forklift: repeatable({}, Forklift),
  /** What it prints comes as news. */
  'run forklift': question({}, Nothing),
  'stop forklift': question({}, Nothing),
  /** The branch that a run is opened as. */
  'open run': question({ run: v.pipe(v.string(), v.maxLength(400)) }, v.object({ branch: Branch })),
  /** Starts `forklift --publish BRANCH`; what it prints comes as news. */
  publish: question({ branch: Branch }, Nothing),
}
