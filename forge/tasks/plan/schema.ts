/**
 * A plan: what must be true in the end, and the tasks that make it so. A model writes one, the linter checks it, a person
 * reads and may edit it. The same schema is given to the model, and stands in docs/plan.md.
 */
import * as v from 'valibot'

const Words = (most: number) => v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(most))
const Id = v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be lower case letters, digits and dashes'))
const AssertionId = v.pipe(v.string(), v.regex(/^A[0-9]{1,3}$/, 'must be A and a number'))
const Glob = v.pipe(v.string(), v.nonEmpty(), v.maxLength(300))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000))
const Command = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(2000))

/** A command that has to end well, in the top folder, in the container. */
export const Check = v.object({
  command: v.pipe(Command, v.description('A shell command that ends with 0 where all is well.')),
  seconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3600)), 300),
})
export type Check = v.InferOutput<typeof Check>

/** One thing that must be true in the end, and how anybody can see that it is. */
export const Assertion = v.object({
  id: AssertionId,
  says: v.pipe(Words(1000), v.description('What must be true, as one sentence.')),
  how: v.pipe(
    v.variant('kind', [
      v.object({ kind: v.literal('command'), ...Check.entries }),
      v.object({ kind: v.literal('review'), question: Words(2000) }),
    ]),
    v.description('A command that shows it; a review only where no command can.'),
  ),
})
export type Assertion = v.InferOutput<typeof Assertion>

export const TIERS = ['classification', 'summarization', 'generation', 'reasoning'] as const

/** Checks that need not be spelled out: which programs they run, the repository's own files say. */
export const READY_MADE = ['typescript', 'python', 'tests', 'citations', 'complete', 'format'] as const

export const Task = v.object({
  id: Id,
  title: Words(120),
  objective: v.object({
    behaviour: v.pipe(Words(8000), v.description('What is to be done, for somebody who has read nothing else.')),
    outputs: v.pipe(v.array(Path), v.maxLength(200), v.description('Files that are there, or changed, in the end.')),
    acceptance: v.pipe(v.array(Words(1000)), v.maxLength(50)),
  }),
  claims: v.pipe(v.array(AssertionId), v.maxLength(50), v.description('The assertions that this task makes true.')),
  boundaries: v.object({
    write: v.pipe(
      v.array(Glob),
      v.maxLength(100),
      v.description('Files that it may write. Empty: not known, so that nothing else runs beside it.'),
    ),
    never: v.optional(v.pipe(v.array(Glob), v.maxLength(100)), []),
  }),
  context: v.optional(
    v.object({
      files: v.optional(v.pipe(v.array(Path), v.maxLength(200)), []),
      types: v.optional(v.pipe(v.array(Words(200)), v.maxLength(100)), []),
      tests: v.optional(v.pipe(v.array(Path), v.maxLength(100)), []),
      playbooks: v.optional(v.pipe(v.array(Words(200)), v.maxLength(5)), []),
      documents: v.optional(v.pipe(v.array(Path), v.maxLength(50)), []),
    }),
    {},
  ),
  validation: v.optional(
    v.object({
      checks: v.optional(v.pipe(v.array(v.union([v.picklist(READY_MADE), Check])), v.maxLength(50)), []),
      reviews: v.optional(v.pipe(v.array(Words(2000)), v.maxLength(10)), []),
    }),
    {},
  ),
  depends_on: v.optional(v.pipe(v.array(Id), v.maxLength(100)), []),
  tier: v.optional(v.picklist(TIERS), 'generation'),
  recursion: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(5)), 0),
  size: v.optional(v.picklist(['small', 'medium', 'large']), 'medium'),
})
export type Task = v.InferOutput<typeof Task>

export const Plan = v.object({
  title: Words(120),
  summary: v.pipe(Words(8000), v.description('How it is done and why so, for the person who approves it.')),
  contract: v.pipe(v.array(Assertion), v.minLength(1), v.maxLength(200)),
  tasks: v.pipe(v.array(Task), v.minLength(1), v.maxLength(1000)),
})
export type Plan = v.InferOutput<typeof Plan>
