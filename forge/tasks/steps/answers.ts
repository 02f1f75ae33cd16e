/**
 * What a model may answer in a step, by the step's kind. Every answer ends in one of six signals; the rest depends on
 * it. The schema is given to the model as the parameters of its only tool, `answer`.
 */
import * as v from 'valibot'
import { TaskId } from '../../formats/tasks-json.ts'
import type { StepKind } from '../contract.ts'
import { Plan, TIERS } from '../plan/schema.ts'

const Words = (most: number) => v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(most))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000))

/** One change of one file. Edits of a file are applied in the order in which they come. */
export const FileEdit = v.variant('kind', [
  v.object({ kind: v.literal('replace'), path: Path, search: v.string(), replace: v.string() }),
  v.object({ kind: v.literal('write'), path: Path, content: v.string(), executable: v.optional(v.boolean()) }),
  v.object({ kind: v.literal('delete'), path: Path }),
  v.object({ kind: v.literal('rename'), path: Path, to: Path }),
])
export type FileEdit = v.InferOutput<typeof FileEdit>

/** A question to a model that has no part in the work: its answer is a text, never a commit. */
const SubAgentWish = v.object({
  id: TaskId,
  asks: Words(8000),
  files: v.optional(v.pipe(v.array(Path), v.maxLength(100)), []),
  tier: v.optional(v.picklist(TIERS), 'generation'),
})

const words = v.pipe(Words(2000), v.description('What was done and why, or what is in the way, in a few sentences.'))

/** The ends of a step that are the same for all kinds. */
const ENDS = [
  v.object({ signal: v.literal('failure_retryable'), words }),
  v.object({ signal: v.literal('failure_terminal'), words }),
  v.object({
    signal: v.literal('new_tasks_discovered'),
    words,
    discovered: v.pipe(v.array(v.object({ title: Words(120), why: Words(2000) })), v.minLength(1), v.maxLength(20)),
  }),
  v.object({ signal: v.literal('blocked_on_human'), words, question: Words(4000) }),
  v.object({ signal: v.literal('blocked_on_sibling'), words, sibling: TaskId }),
] as const

const fan_out = v.optional(v.pipe(v.array(SubAgentWish), v.maxLength(1000)), [])
const success = v.literal('success')

/** Breaks a task into steps, which are done in this order. */
const Outline = v.object({
  signal: success,
  words,
  steps: v.pipe(
    v.array(v.object({ does: Words(4000), files: v.optional(v.pipe(v.array(Path), v.maxLength(100)), []) })),
    v.minLength(1),
    v.maxLength(20),
  ),
})
/** With `fan_out`, nothing is changed yet: the step is asked again with what its sub-agents have found. */
const Implement = v.object({ signal: success, words, edits: v.pipe(v.array(FileEdit), v.maxLength(500)), fan_out })
const Artifact = v.object({ signal: success, words, text: v.pipe(v.string(), v.maxLength(200_000)), fan_out })
const Review = v.object({
  signal: success,
  words,
  verdict: v.picklist(['good', 'bad']),
  findings: v.pipe(v.array(v.object({ path: v.optional(Path), says: Words(2000) })), v.maxLength(50)),
})
const PlanAnswer = v.object({ signal: success, words, plan: Plan })
const CheckPlan = v.object({
  signal: success,
  words,
  /** Undefined: the plan is still right. */
  plan: v.optional(Plan),
})

/** The schema of each kind's answer. */
export const ANSWERS = {
  plan: v.variant('signal', [PlanAnswer, ...ENDS]),
  outline: v.variant('signal', [Outline, ...ENDS]),
  implement: v.variant('signal', [Implement, ...ENDS]),
  resolve: v.variant('signal', [Implement, ...ENDS]),
  artifact: v.variant('signal', [Artifact, ...ENDS]),
  summarise: v.variant('signal', [Artifact, ...ENDS]),
  review: v.variant('signal', [Review, ...ENDS]),
  'check plan': v.variant('signal', [CheckPlan, ...ENDS]),
} as const satisfies Record<StepKind, v.GenericSchema>

export type AnswerOf<Kind extends StepKind> = v.InferOutput<(typeof ANSWERS)[Kind]>
