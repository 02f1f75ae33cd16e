/** An answer as it is kept: what came, from whom, and what it took. */
import * as v from 'valibot'
import type { Answer, Usage } from '../../ai/request.ts'
import type { Spent } from '../contract.ts'

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
  { key, step, model }: Pick<StoredAnswer, 'key' | 'step' | 'model'>,
  { end, usage, blocks }: Answer,
): StoredAnswer {
  const plain = blocks.map(block => {
    if (block.type !== 'call') return { type: block.type, text: block.text }
    return { type: block.type, id: block.id, name: block.name, arguments: block.arguments }
  })
  return { key, step, model, end, usage, blocks: plain }
}

export function parseStoredAnswer(bytes: Buffer): StoredAnswer {
  const { usage, ...rest } = v.parse(StoredAnswer, JSON.parse(bytes.toString()))
  const { cost, ...counts } = usage
  return { ...rest, usage: { ...counts, ...(cost !== undefined && { cost }) } }
}

export const NOTHING: Spent = { requests: 0, input: 0, output: 0, cost: 0 }

export const spentOf = ({ input, output, cost = 0 }: Usage): Spent => ({ requests: 1, input, output, cost })
