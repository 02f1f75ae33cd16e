/** An answer as it is stored: its text, model and usage. */
import * as v from 'valibot'
import type { ModelAnswer, Usage } from '../../ai/request.ts'
import type { Spent } from '../contract.ts'
import { TIERS } from '../plan/schema.ts'

const UsageSchema = v.object({
  input: v.number(),
  output: v.number(),
  cacheRead: v.number(),
  cacheWrite: v.number(),
  cost: v.optional(v.number()),
})
const StoredAnswer = v.object({
  key: v.string(),
  /** The step that paid for the answer; others with the same request get it for free. */
  step: v.string(),
  model: v.string(),
  /** The kind of step and its tier, for statistics; undefined in old answers. */
  kind: v.optional(v.string()),
  tier: v.optional(v.picklist(TIERS)),
  /** The version of the prompt. */
  prompt: v.optional(v.number()),
  task: v.optional(v.string()),
  attempt: v.optional(v.number()),
  /** US dollars that were saved because the answer came in a batch. */
  saved: v.optional(v.number()),
  end: v.picklist(['done', 'calls', 'length', 'refused']),
  usage: UsageSchema,
  blocks: v.array(
    v.variant('type', [
      v.object({ type: v.literal('text'), text: v.string() }),
      v.object({ type: v.literal('reasoning'), text: v.string() }),
      v.object({ type: v.literal('call'), id: v.string(), name: v.string(), arguments: v.unknown() }),
    ]),
  ),
})
export type StoredAnswer = Omit<v.InferOutput<typeof StoredAnswer>, 'usage'> & { usage: Usage }

/** The part of an answer that is stored. */
export function storedAnswer(
  asked: Pick<StoredAnswer, 'key' | 'step' | 'model' | 'kind' | 'tier' | 'prompt' | 'task' | 'attempt' | 'saved'>,
  { end, usage, blocks }: ModelAnswer,
): StoredAnswer {
  const plain = blocks.map(block => {
    if (block.type !== 'call') return { type: block.type, text: block.text }
    return { type: block.type, id: block.id, name: block.name, arguments: block.arguments }
  })
  const { key, step, model, kind, tier, prompt, task, attempt, saved } = asked
  return {
    ...{ key, step, model },
    kind,
    tier,
    prompt,
    task,
    attempt,
    ...(saved !== undefined && { saved }),
    ...{ end, usage, blocks: plain },
  }
}

export function parseStoredAnswer(bytes: Buffer): StoredAnswer {
  const { usage, ...rest } = v.parse(StoredAnswer, JSON.parse(bytes.toString()))
  const { cost, ...counts } = usage
  return { ...rest, usage: { ...counts, cost } }
}

export const spentOf = ({ input, output, cost = 0 }: Usage): Spent => ({ requests: 1, input, output, cost })
