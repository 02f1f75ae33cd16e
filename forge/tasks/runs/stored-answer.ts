/** An answer as it is kept: its text, its model, and what it took. */
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
  /** The step that paid for it: another one that asks the same gets it for nothing. */
  step: v.string(),
  model: v.string(),
  /** Which work it was, and of which tier, for statistics: what was kept long ago does not say so. */
  kind: v.optional(v.string()),
  tier: v.optional(v.picklist(TIERS)),
  /** The version of the prompt that it answers. */
  prompt: v.optional(v.number()),
  task: v.optional(v.string()),
  attempt: v.optional(v.number()),
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

/** What is kept of an answer: no more of it is read again than this. */
export function storedAnswer(
  asked: Pick<StoredAnswer, 'key' | 'step' | 'model' | 'kind' | 'tier' | 'prompt' | 'task' | 'attempt'>,
  { end, usage, blocks }: ModelAnswer,
): StoredAnswer {
  const plain = blocks.map(block => {
    if (block.type !== 'call') return { type: block.type, text: block.text }
    return { type: block.type, id: block.id, name: block.name, arguments: block.arguments }
  })
  const { key, step, model, kind, tier, prompt, task, attempt } = asked
  return {
    ...{ key, step, model },
    kind,
    tier,
    prompt,
    task,
    attempt,
    ...{ end, usage, blocks: plain },
  }
}

export function parseStoredAnswer(bytes: Buffer): StoredAnswer {
  const { usage, ...rest } = v.parse(StoredAnswer, JSON.parse(bytes.toString()))
  const { cost, ...counts } = usage
  return { ...rest, usage: { ...counts, cost } }
}

export const spentOf = ({ input, output, cost = 0 }: Usage): Spent => ({ requests: 1, input, output, cost })
