/**
 * Asks Anthropic why its cache missed: the provider compares a request with an earlier one that the request names.
 * Other providers have nothing like this.
 */
import * as v from 'valibot'
import type { Request } from './request.ts'

/** The id of the last answer is remembered for at most this many conversations. */
const MAX_CONVERSATIONS = 100

const StartSchema = v.looseObject({
  type: v.literal('message_start'),
  message: v.looseObject({
    id: v.string(),
    diagnostics: v.nullish(
      v.looseObject({ cache_miss_reason: v.nullish(v.looseObject({ type: v.nullish(v.string()) })) }),
    ),
  }),
})

const WORDS: Record<string, string> = {
  model_changed: 'the model is another one than before',
  system_changed: 'the beginning of the conversation changed',
  tools_changed: 'the tools changed',
  messages_changed: 'an earlier part of the conversation changed',
}

/** Remembers the id of the last answer of each conversation, so that the next request can ask why its cache missed. */
export class Misses {
  private readonly answers = new Map<string, string>()

  /** A function that adds the id of the last answer to a request's body. */
  asking(request: Request): (body: string) => string {
    const previous = this.answers.get(keyOf(request)) ?? null
    return body => `${body.slice(0, -1)},"diagnostics":${JSON.stringify({ previous_message_id: previous })}}`
  }

  /** Reads an event of an answer. Gives the reason for a cache miss where the event has one. */
  hear(request: Request, event: unknown): string | undefined {
    const parsed = v.safeParse(StartSchema, event)
    if (!parsed.success) return undefined
    const { id, diagnostics } = parsed.output.message
    const key = keyOf(request)
    this.answers.delete(key)
    this.answers.set(key, id)
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= MAX_CONVERSATIONS) break
      this.answers.delete(oldest)
    }
    return WORDS[diagnostics?.cache_miss_reason?.type ?? '']
  }
}

/** A key for the conversation: a hash of its first message. */
function keyOf({ messages }: Request): string {
  const [first] = messages
  return String(Bun.hash(JSON.stringify(first?.blocks.map(block => ('text' in block ? block.text : '')))))
}
