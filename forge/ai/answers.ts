/** Assembles an answer from the parts of its stream. Tool calls are given only with the whole answer. */
import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import * as v from 'valibot'
import { parseJson } from './json.ts'
import type { ModelTarget, Note } from './prompt.ts'
import type { CallBlock, ModelAnswer, Progress, ReasoningBlock, TextBlock, Usage } from './request.ts'

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>
type PendingCall = { id: string; name: string; text: string; isWhole: boolean; note?: Note }

/** The deltas of tool calls in a chunk of chat completions. */
const ChunkSchema = v.looseObject({
  choices: v.array(
    v.looseObject({
      delta: v.nullish(
        v.looseObject({
          tool_calls: v.nullish(
            v.array(
              v.looseObject({
                index: v.nullish(v.number()),
                id: v.nullish(v.string()),
                function: v.nullish(v.looseObject({ name: v.nullish(v.string()), arguments: v.nullish(v.string()) })),
              }),
            ),
          ),
        }),
      ),
    }),
  ),
})

/** An answer while it streams in. `taken`: ids of earlier calls, which the calls of this answer must not repeat. */
export class Assembly {
  private readonly blocks: (TextBlock | ReasoningBlock)[] = []
  private readonly open = new Map<string, TextBlock | ReasoningBlock>()
  private readonly calls: PendingCall[] = []
  private readonly openCalls = new Map<string, PendingCall>()
  private finish: Finish | undefined

  constructor(
    private readonly target: ModelTarget,
    private readonly taken: Set<string>,
    private readonly onProgress: (progress: Progress) => void,
  ) {}

  /** The answer's text so far. */
  get text(): string {
    return this.blocks.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('')
  }

  /** Whether the model gave a reason for its end. Without one, the stream was cut. */
  get isWhole(): boolean {
    const { raw, unified } = this.finish?.finishReason ?? {}
    return raw !== undefined && raw !== 'error' && unified !== 'error' && unified !== 'interrupted'
  }

  take(part: LanguageModelV4StreamPart): void {
    if (part.type === 'finish') this.finish = part
    if (this.target.provider === 'openrouter') this.takeRaw(part)
    else this.takeCall(part)
    this.takeWords(part)
  }

  /** The whole answer; call only where {@link isWhole}. `estimated` gives the usage where the provider reports none. */
  answer(estimated: () => Usage): ModelAnswer {
    const reason = this.finish?.finishReason.unified
    const isCalling = reason !== 'length' && reason !== 'content-filter'
    const calls = isCalling ? this.wholeCalls() : []
    const end =
      reason === 'length' ? 'length' : reason === 'content-filter' ? 'refused' : calls.length ? 'calls' : 'done'
    const blocks = [...this.withDetails(), ...calls].filter(isWorthKeeping)
    return { blocks, end, usage: this.usage() ?? estimated() }
  }

  private takeWords(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
        this.begin(part.id, { type: 'text', text: '' })
        break
      case 'text-delta':
        this.add(part.id, part.delta)
        break
      case 'reasoning-start':
        this.begin(part.id, { type: 'reasoning', text: '' })
        this.note(part.id, part.providerMetadata)
        break
      case 'reasoning-delta':
        this.note(part.id, part.providerMetadata)
        this.add(part.id, part.delta)
        break
      case 'reasoning-end':
        this.note(part.id, part.providerMetadata)
    }
  }

  private takeCall(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'tool-input-start':
        this.beginCall(part.id, part.id, part.toolName)
        break
      case 'tool-input-delta':
        this.addToCall(part.id, part.delta)
        break
      case 'tool-call':
        this.endCall(part.toolCallId, part.input, part.providerMetadata)
    }
  }

  private begin(id: string, block: TextBlock | ReasoningBlock): void {
    this.blocks.push(block)
    this.open.set(id, block)
  }

  private add(id: string, delta: string): void {
    const block = this.open.get(id)
    if (!block || !delta) return
    block.text += delta
    this.onProgress({ type: block.type, delta })
  }

  private note(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const block = this.open.get(id)
    const { signature, redactedData } = metadata?.anthropic ?? {}
    if (block?.type !== 'reasoning') return
    // Reasoning of an OpenAI-compatible server has no signature, but is sent back to its model as well.
    block.provider = {
      model: this.target.name,
      ...(block.provider as Note | undefined),
      ...(typeof signature === 'string' && { signature }),
      ...(typeof redactedData === 'string' && { redactedData }),
    } satisfies Note
  }

  private beginCall(key: string, id: string, name: string): void {
    const unique = id && !this.taken.has(id) ? id : `call_${crypto.randomUUID()}`
    this.taken.add(unique)
    const call = { id: unique, name, text: '', isWhole: false }
    this.calls.push(call)
    this.openCalls.set(key, call)
    this.onProgress({ type: 'call', id: unique, name })
  }

  private addToCall(key: string, delta: string): void {
    const call = this.openCalls.get(key)
    if (!call || !delta) return
    call.text += delta
    this.onProgress({ type: 'arguments', id: call.id, delta })
  }

  private endCall(key: string, input: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const call = this.openCalls.get(key)
    if (!call) return
    const { thoughtSignature } = metadata?.openaiCompatible ?? {}
    call.text = input
    call.isWhole = true
    if (typeof thoughtSignature === 'string') call.note = { model: this.target.name, thoughtSignature }
  }

  /**
   * OpenRouter's provider of the AI SDK gives empty arguments for a call whose arguments are no JSON. So its calls are
   * read from the raw chunks, and are complete when the answer is.
   */
  private takeRaw(part: LanguageModelV4StreamPart): void {
    if (part.type !== 'raw') return
    const parsed = v.safeParse(ChunkSchema, part.rawValue)
    const deltas = parsed.success ? (parsed.output.choices[0]?.delta?.tool_calls ?? []) : []
    for (const { index, id, function: called } of deltas) {
      const last = called?.name ? this.calls.length : this.calls.length - 1
      const key = String(index ?? last)
      if (!this.openCalls.has(key)) this.beginCall(key, id ?? '', called?.name ?? '')
      this.addToCall(key, called?.arguments ?? '')
      const call = this.openCalls.get(key)
      if (call) call.isWhole = true
    }
  }

  private wholeCalls(): CallBlock[] {
    return this.calls
      .filter(call => call.isWhole)
      .map(({ id, name, text, note }) => ({
        type: 'call',
        id,
        name,
        arguments: argumentsOf(text),
        ...(note && { provider: note }),
      }))
  }

  /**
   * The blocks with the reasoning details of OpenRouter, which have to be sent back. They come only at the end of the
   * answer, even where it has no reasoning text: then a block without text is added for them.
   */
  private withDetails(): (TextBlock | ReasoningBlock)[] {
    const parsed = v.safeParse(DetailsSchema, this.finish?.providerMetadata?.openrouter)
    if (!parsed.success || parsed.output.reasoning_details.length === 0) return this.blocks
    const note: Note = { model: this.target.name, details: structuredClone(parsed.output.reasoning_details) }
    const thought = this.blocks.find(block => block.type === 'reasoning')
    if (!thought) return [{ type: 'reasoning', text: '', provider: note }, ...this.blocks]
    return this.blocks.map(block => (block === thought ? { ...thought, provider: note } : block))
  }

  /** The answer's usage, which each provider counts in its own way; undefined where it reports none. */
  private usage(): Usage | undefined {
    const told: LanguageModelV4Usage | undefined = this.finish?.usage
    const input = count(told?.inputTokens.total)
    const output = count(told?.outputTokens.total)
    if (!told || (input === 0 && output === 0)) return undefined
    const cacheRead = Math.min(input, count(told.inputTokens.cacheRead))
    const written = count(told.inputTokens.cacheWrite) || writtenBy(told.raw)
    const cost = costOf(this.finish?.providerMetadata?.openrouter, told.raw)
    return {
      input,
      output,
      cacheRead,
      cacheWrite: Math.min(input - cacheRead, written),
      ...(cost !== undefined && { cost }),
    }
  }
}

const DetailsSchema = v.looseObject({ reasoning_details: v.array(v.record(v.string(), v.unknown())) })

/** Fields by which OpenAI-compatible proxies for Anthropic's models report the tokens written to the cache. */
const RawSchema = v.looseObject({
  cache_creation_input_tokens: v.nullish(v.number()),
  prompt_tokens_details: v.nullish(v.looseObject({ cache_write_tokens: v.nullish(v.number()) })),
  is_byok: v.nullish(v.boolean()),
})

function writtenBy(raw: unknown): number {
  const parsed = v.safeParse(RawSchema, raw)
  if (!parsed.success) return 0
  return count(parsed.output.prompt_tokens_details?.cache_write_tokens ?? parsed.output.cache_creation_input_tokens)
}

const CostSchema = v.looseObject({
  usage: v.looseObject({
    cost: v.pipe(v.number(), v.finite(), v.minValue(0)),
    costDetails: v.optional(v.looseObject({ upstreamInferenceCost: v.optional(v.number()) })),
  }),
})

/**
 * What OpenRouter charged, in US dollars, plus what the model's maker charged where the user's own key is used there.
 */
function costOf(metadata: unknown, raw: unknown): number | undefined {
  const parsed = v.safeParse(CostSchema, metadata)
  if (!parsed.success) return undefined
  const { cost, costDetails } = parsed.output.usage
  const owns = v.safeParse(RawSchema, raw)
  return owns.success && owns.output.is_byok ? cost + Math.max(0, costDetails?.upstreamInferenceCost ?? 0) : cost
}

/** A number of tokens as a provider reports it; 0 where it is missing or not a finite number. */
const count = (told: number | null | undefined): number =>
  told !== undefined && told !== null && Number.isFinite(told) ? Math.max(0, Math.round(told)) : 0

const isWorthKeeping = (block: TextBlock | ReasoningBlock | CallBlock): boolean =>
  block.type === 'call' || block.text !== '' || (block.type === 'reasoning' && hasMore(block.provider))

const hasMore = (provider: unknown): boolean =>
  typeof provider === 'object' && provider !== null && Object.keys(provider).length > 1

/**
 * The parsed arguments of a call. Empty text means no arguments; text that is no JSON is kept as a string, which the
 * tool then refuses.
 */
function argumentsOf(text: string): unknown {
  if (!text.trim()) return {}
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
