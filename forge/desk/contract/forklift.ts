/** What the page can ask about Forklift: its runs, and starting it. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { Branch, Count } from './values.ts'

export const ForkliftRun = v.object({
  run: v.string(),
  /** The outcome in one word, such as stuck; `words` says it in a line. */
  end: v.picklist(['merged', 'nothing', 'stuck', 'timed out', 'refused', 'failed', 'running']),
  words: v.string(),
  started: v.number(),
  /** An address at the fork's own host. */
  pullRequest: v.optional(v.string()),
  /** Whether the run can be opened as a branch with a waiting merge. */
  canOpen: v.boolean(),
  /** The branch as which the run is open; for a run by hand, the branch that it published. */
  branch: v.optional(Branch),
  /** Whether the run had no agent: it judged and published a merge made by hand. */
  isByHand: v.boolean(),
})
export type ForkliftRun = v.InferOutput<typeof ForkliftRun>

export const Forklift = v.object({
  /** Why there is nothing to show, for example that this is no fork. */
  missing: v.optional(v.string()),
  /** owner/name of upstream, its branch, and how many commits it is ahead as last fetched. */
  upstream: v.optional(v.object({ name: v.string(), branch: v.string(), ahead: Count })),
  /** The runs of this fork, newest first. */
  runs: v.array(ForkliftRun),
  /** Whether a run started on this desk is running. */
  isRunning: v.boolean(),
  /** The output of the run that this desk started last, and its exit code once it has ended. */
  said: v.optional(
    v.object({
      /** The branch that the run publishes; undefined for a merge run. */
      branch: v.optional(Branch),
      lines: v.array(v.string()),
      end: v.optional(Count),
    }),
  ),
})
export type Forklift = v.InferOutput<typeof Forklift>

export const forkliftQuestions = {
  forklift: repeatable({}, Forklift),
  /** Starts a run. Its output comes as news. */
  'run forklift': question({}, Nothing),
  'stop forklift': question({}, Nothing),
  /** Opens a run as a branch. */
  'open run': question({ run: v.pipe(v.string(), v.maxLength(400)) }, v.object({ branch: Branch })),
  /** Starts `forklift --publish BRANCH`. Its output comes as news. */
  publish: question({ branch: Branch }, Nothing),
}
