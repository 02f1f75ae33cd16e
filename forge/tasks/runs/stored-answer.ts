/** An answer as it is stored: its text, model and usage. */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import type { ModelAnswer, Usage } from '../../ai/request.ts'
import type { Spent } from '../contract.ts'
import { TIERS } from '../plan/schema.ts'
import type { RunStore } from './store.ts'

/** What is negative would be given back to the budget. */
const Amount = v.pipe(v.number(), v.minValue(0))
const UsageSchema = v.object({
  input: Amount,
  output: Amount,
  cacheRead: Amount,
  cacheWrite: Amount,
  cost: v.optional(Amount),
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

/** Throws a {@link Failure} for what is no stored answer, as a hub may have brought it. */
export function parseStoredAnswer(bytes: Buffer): StoredAnswer {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), StoredAnswer), bytes.toString())
  if (!parsed.success) throw new Failure(`A stored answer can't be read (${visible(parsed.issues[0].message)}).`)
  const { usage, ...rest } = parsed.output
  const { cost, ...counts } = usage
  return { ...rest, usage: { ...counts, cost } }
}

/** All answers of a run. One that can't be read is left out, and does not hide the others. */
export async function allStoredAnswers(store: RunStore): Promise<StoredAnswer[]> {
  const stored = await store.all('answers')
  return stored.flatMap(bytes => {
    try {
      return [parseStoredAnswer(bytes)]
    } catch {
      return []
    }
  })
}

export const spentOf = ({ input, output, cost = 0 }: Usage): Spent => ({ requests: 1, input, output, cost })
