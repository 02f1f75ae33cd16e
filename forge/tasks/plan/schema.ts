/**
 * The schema of a plan: what must be true in the end, and the tasks for that. A model writes a plan, the linter checks
 * it, a person reads and may edit it. The same schema is given to the model and documented in docs/plan.md.
 */
import * as v from 'valibot'
import { type PlanAssertion, TaskId } from '../../formats/tasks-json.ts'

const Words = (most: number) => v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(most))
const AssertionId = v.pipe(v.string(), v.regex(/^A[0-9]{1,3}$/, 'must be A and a number'))
const Glob = v.pipe(v.string(), v.nonEmpty(), v.maxLength(300))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000))
const Command = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(2000))

/** A command that has to succeed, in the root folder, in the container. */
export const Check = v.object({
  command: v.pipe(
    Command,
    v.description(
      'A shell command that ends with 0 where all is well. It begins with the files as committed, and finds nothing ' +
        'that another command wrote: what it needs built, it builds itself.',
    ),
  ),
  seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3600), v.description('It is ended after so long.')),
    300,
  ),
})
export type Check = v.InferOutput<typeof Check>

/** Something that must be true in the end, and how that is checked. */
export const Assertion = v.object({
  id: v.pipe(AssertionId, v.description('A1, A2, and so on: by this, tasks claim it.')),
  says: v.pipe(Words(1000), v.description('What must be true, as one sentence.')),
  how: v.pipe(
    v.variant('kind', [
      v.object({ kind: v.literal('command'), ...Check.entries }),
      v.object({
        kind: v.literal('review'),
        question: v.pipe(Words(2000), v.description('What a reviewer is asked.')),
      }),
    ]),
    v.description('A command that shows it; a review only where no command can.'),
  ),
})
export type Assertion = v.InferOutput<typeof Assertion>

export const TIERS = ['classification', 'summarization', 'generation', 'reasoning'] as const

/** The names of the ready-made checks. Which programs such a check runs depends on the repository's files. */
export const READY_MADE = ['typescript', 'python', 'tests', 'citations', 'complete', 'format'] as const

export const Task = v.object({
  id: v.pipe(TaskId, v.description('By this, other tasks name it.')),
  title: v.pipe(Words(120), v.description('What it does, in a few words.')),
  objective: v.pipe(
    v.object({
      behaviour: v.pipe(Words(8000), v.description('What is to be done, for somebody who has read nothing else.')),
      outputs: v.pipe(v.array(Path), v.maxLength(200), v.description('Files that are there, or changed, in the end.')),
      acceptance: v.pipe(
        v.array(Words(1000)),
        v.maxLength(50),
        v.description('What must hold when it is done, a sentence each.'),
      ),
    }),
    v.description('What it has to bring about.'),
  ),
  claims: v.pipe(v.array(AssertionId), v.maxLength(50), v.description('The assertions that this task makes true.')),
  boundaries: v.pipe(
    v.object({
      write: v.pipe(
        v.array(Glob),
        v.maxLength(100),
        v.description('Files that it may write. Empty: not known, so that nothing else runs beside it.'),
      ),
      never: v.optional(
        v.pipe(
          v.array(Glob),
          v.maxLength(100),
          v.description('Files that it must not touch, though `write` fits them.'),
        ),
        [],
      ),
    }),
    v.description('Where it may work. A change outside of it fails the attempt.'),
  ),
  context: v.optional(
    v.pipe(
      v.object({
        files: v.optional(
          v.pipe(
            v.array(Path),
            v.maxLength(200),
            v.description('Code that has to be read: short files whole, of long ones what `behaviour` names.'),
          ),
          [],
        ),
        tests: v.optional(
          v.pipe(v.array(Path), v.maxLength(100), v.description('Tests that show how it is tested.')),
          [],
        ),
        documents: v.optional(
          v.pipe(v.array(Path), v.maxLength(50), v.description('Texts that say how it has to be.')),
          [],
        ),
        playbooks: v.optional(
          v.pipe(
            v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(60))),
            v.maxLength(5),
            v.description('Names of lessons of earlier runs that it needs, of those that are told here.'),
          ),
        ),
      }),
      v.description('What it has to know: its model sees nothing else.'),
    ),
    {},
  ),
  validation: v.optional(
    v.pipe(
      v.object({
        checks: v.optional(
          v.pipe(
            v.array(v.union([v.picklist(READY_MADE), Check])),
            v.maxLength(50),
            v.description('What must end well before it is done: ready-made checks, and commands.'),
          ),
          [],
        ),
        reviews: v.optional(
          v.pipe(
            v.array(Words(2000)),
            v.maxLength(10),
            v.description(
              'Questions about the result to models of two providers. A task that writes code has one that its commands ' +
                "can't answer.",
            ),
          ),
          [],
        ),
      }),
      v.description('What decides whether it is done; its own model does not.'),
    ),
    {},
  ),
  depends_on: v.optional(
    v.pipe(v.array(TaskId), v.maxLength(100), v.description('Tasks whose results it begins with.')),
    [],
  ),
  tier: v.optional(
    v.pipe(v.picklist(TIERS), v.description('How capable its model must be; which one that is, the settings say.')),
    'generation',
  ),
  recursion: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(0),
      v.maxValue(5),
      v.description('Levels of sub-agents that it may ask.'),
    ),
    0,
  ),
  size: v.optional(
    v.pipe(
      v.picklist(['small', 'medium', 'large']),
      v.description('A small one is done in one step, without an outline; so is a file with its test.'),
    ),
    'medium',
  ),
})
export type Task = v.InferOutput<typeof Task>

export const Plan = v.object({
  title: v.pipe(Words(120), v.description('What it is about, in a few words.')),
  summary: v.pipe(Words(8000), v.description('How it is done and why so, for the person who approves it.')),
  contract: v.pipe(
    v.array(Assertion),
    v.minLength(1),
    v.maxLength(200),
    v.description('What must be true in the end. Each assertion is claimed by exactly one task.'),
  ),
  tasks: v.pipe(v.array(Task), v.minLength(1), v.maxLength(1000), v.description('In any order.')),
})
export type Plan = v.InferOutput<typeof Plan>

/** The assertions of a plan, how each is checked, and whose task it is. */
export const contractOf = ({ contract, tasks }: Plan): PlanAssertion[] =>
  contract.map(({ id, says, how }) => ({
    id,
    says,
    how: how.kind === 'command' ? how.command : how.question,
    isReview: how.kind === 'review',
    task: tasks.find(task => task.claims.includes(id))?.id ?? '',
  }))
