/**
 * The schemas of answers by the kind of step. Each answer ends in one of six signals, on which its other fields depend.
 * A model is offered only the signals of its kind; others are accepted as well.
 */
import * as v from 'valibot'
import { TaskId } from '../../formats/tasks-json.ts'
import type { Signal, StepKind } from '../contract.ts'
import { AUDIENCES, MAX_LESSON } from '../lessons/lesson.ts'
import { Plan, TIERS } from '../plan/schema.ts'
import { DOMAINS } from '../runs/domains.ts'
import { TAKES } from '../runs/merging.ts'

const Words = (most: number) => v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(most))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000))

/** A change of one file, from a call of a tool. Edits of a file are applied in order. */
export const FileEdit = v.variant('kind', [
  v.object({ kind: v.literal('replace'), path: Path, search: v.string(), replace: v.string() }),
  v.object({ kind: v.literal('write'), path: Path, content: v.string(), executable: v.optional(v.boolean()) }),
  v.object({ kind: v.literal('append'), path: Path, content: v.string() }),
  v.object({ kind: v.literal('delete'), path: Path }),
  v.object({ kind: v.literal('rename'), path: Path, to: Path }),
])
export type FileEdit = v.InferOutput<typeof FileEdit>

/** A call of a reading tool by a planner. */
export type LookCall = { name: string; arguments: unknown }

/** A question to a sub-agent: its answer is a text, never a commit. */
const SubAgentWish = v.object({
  id: TaskId,
  asks: Words(8000),
  files: v.optional(v.pipe(v.array(Path), v.maxLength(100)), []),
  tier: v.optional(v.picklist(TIERS), 'generation'),
})

const words = v.pipe(Words(2000), v.description('What was done and why, or what is in the way, in a few sentences.'))
const needs = v.pipe(
  v.array(Path),
  v.maxLength(20),
  v.description('Files that you need whole and that are not here: the step is asked again with them.'),
)

/** The schemas of the signals other than success, by which a step of any kind can end. */
const ENDS = [
  v.object({ signal: v.literal('failure_retryable'), words, needs: v.optional(needs, []) }),
  v.object({ signal: v.literal('failure_terminal'), words }),
  v.object({
    signal: v.literal('new_tasks_discovered'),
    words,
    discovered: v.pipe(v.array(v.object({ title: Words(120), why: Words(2000) })), v.minLength(1), v.maxLength(20)),
  }),
  v.object({ signal: v.literal('blocked_on_human'), words, question: Words(4000) }),
  v.object({ signal: v.literal('blocked_on_sibling'), words, sibling: TaskId }),
] as const

const fan_out = v.pipe(v.array(SubAgentWish), v.maxLength(1000))
const success = v.literal('success')

/** Divides a task into steps, which are done in this order. */
const Outline = v.object({
  signal: success,
  words,
  steps: v.pipe(
    v.array(v.object({ does: Words(4000), files: v.optional(v.pipe(v.array(Path), v.maxLength(100)), []) })),
    v.minLength(1),
    v.maxLength(20),
  ),
})
/** Edits are separate calls of tools, so the schema that a model is shown has none. */
const edits = v.pipe(v.array(FileEdit), v.maxLength(500))
/** With `fan_out`, nothing is changed yet: the step is asked again with its sub-agents' findings. */
const Change = { signal: success, words }
/** Resolutions of conflicts that have an id: M1 for one with markers, C1 for one without. */
const Resolutions = v.pipe(
  v.array(
    v.object({
      id: v.pipe(v.string(), v.regex(/^[MC][0-9]{1,6}$/, 'must be M or C and a number')),
      take: v.optional(
        v.pipe(
          v.picklist(TAKES),
          v.description('A side as it is; both, ours first; or that nothing stays. Of C1 …: one of the choices told.'),
        ),
      ),
      text: v.optional(
        v.pipe(
          v.string(),
          v.maxLength(200_000),
          v.description('In place of `take`, for M1 …: what replaces all from <<<<<<< to >>>>>>>.'),
        ),
      ),
    }),
  ),
  v.maxLength(2000),
  v.description('One for each conflict with an id. Leave it out where conflicts have none.'),
)
export type Resolution = v.InferOutput<typeof Resolutions>[number]
const Text = { signal: success, words, text: v.pipe(v.string(), v.maxLength(200_000)) }
const Review = v.object({
  signal: success,
  words,
  verdict: v.picklist(['good', 'bad']),
  answers: v.optional(
    v.pipe(
      v.array(v.object({ question: Words(20), answer: v.picklist(['fine', 'problem', 'unclear']), why: Words(1000) })),
      v.maxLength(50),
      v.description('One for each question that is put to you, by its name (Q1, A3).'),
    ),
    [],
  ),
  findings: v.optional(
    v.pipe(
      v.array(v.object({ path: v.optional(Path), says: Words(2000) })),
      v.maxLength(50),
      v.description('With a bad verdict: what has to change. Leave it out where all is good.'),
    ),
    [],
  ),
})
/** Lessons for later runs. What a lesson may say is verified where it is kept. */
const Extract = v.object({
  signal: success,
  words,
  lessons: v.pipe(
    v.array(
      v.object({
        id: v.pipe(
          Words(60),
          v.description('Two to five words in lower case with hyphens; of a lesson that is told here, its own.'),
        ),
        title: v.pipe(Words(MAX_LESSON.title), v.description('When it helps, in a few words.')),
        says: v.pipe(Words(MAX_LESSON.says), v.description('What helps, in one to three sentences.')),
        for: v.pipe(
          v.array(v.picklist(AUDIENCES)),
          v.minLength(1),
          v.description('`plan`: whoever plans tasks; `change`: whoever changes files.'),
        ),
        domain: v.optional(v.pipe(v.picklist(DOMAINS), v.description('Leave it out where it holds for any.'))),
        tier: v.optional(v.pipe(v.picklist(TIERS), v.description('Leave it out where it holds for any.'))),
        error: v.optional(
          v.pipe(Words(MAX_LESSON.error), v.description('Words of the failure, where it is about one.')),
        ),
      }),
    ),
    v.maxLength(5),
    v.description('None where nothing was learned that holds for other tasks.'),
  ),
})
/** Which signal an answer meant whose own one is unknown. */
const Classify = v.object({
  signal: success,
  words,
  meant: v.picklist([
    'success',
    'failure_retryable',
    'failure_terminal',
    'new_tasks_discovered',
    'blocked_on_human',
    'blocked_on_sibling',
    'unclear',
  ] satisfies (Signal | 'unclear')[]),
})
const PlanAnswer = v.object({ signal: success, words, plan: Plan })
const CheckPlan = v.object({
  signal: success,
  words,
  /** The new plan; undefined if the model finds that the present plan is still right. */
  plan: v.optional(Plan),
})

const WITH_EDITS = v.variant('signal', [
  v.object({ ...Change, edits: v.optional(edits, []), fan_out: v.optional(fan_out, []) }),
  ...ENDS,
])
const WITH_RESOLUTIONS = v.variant('signal', [
  v.object({
    ...Change,
    edits: v.optional(edits, []),
    conflicts: v.optional(Resolutions, []),
    fan_out: v.optional(fan_out, []),
  }),
  ...ENDS,
])
const WITH_TEXT = v.variant('signal', [v.object({ ...Text, fan_out: v.optional(fan_out, []) }), ...ENDS])

/** The schema of each kind's answer. */
export const ANSWERS = {
  plan: v.variant('signal', [PlanAnswer, ...ENDS]),
  outline: v.variant('signal', [Outline, ...ENDS]),
  implement: WITH_EDITS,
  resolve: WITH_RESOLUTIONS,
  artifact: WITH_TEXT,
  summarise: WITH_TEXT,
  review: v.variant('signal', [Review, ...ENDS]),
  'check plan': v.variant('signal', [CheckPlan, ...ENDS]),
  extract: v.variant('signal', [Extract, ...ENDS]),
  classify: v.variant('signal', [Classify, ...ENDS]),
} as const satisfies Record<StepKind, v.GenericSchema>

/** A planner's answer that reads files first, instead of giving a plan. */
export type LookAnswer = { signal: 'success'; words: string; looks: LookCall[] }
type Planning = 'plan' | 'check plan'
export type AnswerOf<Kind extends StepKind> =
  | v.InferOutput<(typeof ANSWERS)[Kind]>
  | (Kind extends Planning ? LookAnswer : never)

/** The signals that each kind of step is offered. */
export const SIGNALS: Record<StepKind, readonly Signal[]> = {
  plan: ['success', 'failure_terminal', 'blocked_on_human'],
  'check plan': ['success', 'blocked_on_human'],
  outline: [
    'success',
    'failure_retryable',
    'failure_terminal',
    'new_tasks_discovered',
    'blocked_on_human',
    'blocked_on_sibling',
  ],
  implement: [
    'success',
    'failure_retryable',
    'failure_terminal',
    'new_tasks_discovered',
    'blocked_on_human',
    'blocked_on_sibling',
  ],
  resolve: ['success', 'failure_retryable', 'blocked_on_human'],
  artifact: ['success', 'failure_retryable'],
  review: ['success', 'failure_retryable'],
  summarise: ['success', 'failure_retryable'],
  extract: ['success'],
  classify: ['success'],
}

/** Kinds whose models may ask for more files, and are then asked again. */
const MAY_NEED: readonly StepKind[] = ['outline', 'implement', 'resolve', 'review', 'artifact']

/** The schema that a model is shown: with the signals of its kind, and with sub-agents only where it may ask them. */
export function offeredSchema(kind: StepKind, { subAgents }: { subAgents: boolean }): v.GenericSchema {
  const change = subAgents ? v.object({ ...Change, fan_out: v.optional(fan_out) }) : v.object(Change)
  const text = subAgents ? v.object({ ...Text, fan_out: v.optional(fan_out) }) : v.object(Text)
  const done: Record<StepKind, v.GenericSchema> = {
    plan: PlanAnswer,
    'check plan': CheckPlan,
    outline: Outline,
    implement: change,
    resolve: v.object({ ...Change, conflicts: v.optional(Resolutions) }),
    artifact: text,
    summarise: v.object(Text),
    review: Review,
    extract: Extract,
    classify: Classify,
  }
  const ends = ENDS.filter(({ entries }) => SIGNALS[kind].includes(entries.signal.literal)).map(end =>
    end.entries.signal.literal === 'failure_retryable' && !MAY_NEED.includes(kind)
      ? v.object({ signal: v.literal('failure_retryable'), words })
      : end,
  )
  return v.union([done[kind], ...ends])
}
