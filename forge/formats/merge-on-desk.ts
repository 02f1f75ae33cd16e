/**
 * A merge that a run of `forge resolve` has resolved in parts, for the desk, where a person finishes it: a commit at
 * {@link mergeRef}. Its parents are the two sides, its tree has what is resolved, and its message says the rest.
 */
import * as v from 'valibot'
import { RUNS, type RunId } from './tasks-json.ts'

const text = v.string()

const MergeOnDesk = v.object({
  run: text,
  /** The names of the two sides. */
  into: text,
  name: text,
  /** The message for the merge commit. */
  message: text,
  /** Files in conflicts that are open. */
  open: v.array(text),
  /** The models that have resolved files, by path. */
  by: v.record(text, text),
  /** The run of Forklift that it is from, and the time stamp in its name. `stuck`: the questions of its agent. */
  forklift: v.optional(v.object({ run: text, stamp: text, stuck: v.optional(text) })),
})
export type MergeOnDesk = v.InferOutput<typeof MergeOnDesk>

export const mergeRef = (run: RunId): string => `${RUNS}${run}/merge`

/** The branch as which the desk opens it. */
export const mergeBranch = ({ run, forklift }: MergeOnDesk): string =>
  forklift === undefined ? `merge-${run}` : `forklift-${forklift.stamp}`

export const mergeOnDeskMessage = (told: MergeOnDesk): string =>
  `Resolved in parts: ${told.run}\n\n${JSON.stringify(told)}\n`

/** Reads the message of such a commit; undefined for another one. */
export function readMergeOnDesk(message: string): MergeOnDesk | undefined {
  const json = message.split('\n\n').slice(1).join('\n\n')
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), MergeOnDesk), json)
  return parsed.success ? parsed.output : undefined
}

/** The output of `forge resolve --open RUN --json`. `left`: how many files are in open conflicts. */
export const OpenedMerge = v.object({ run: text, branch: text, left: v.number() })
export type OpenedMerge = v.InferOutput<typeof OpenedMerge>
