/**
 * Converts a request to the AI SDK's form for one provider: with cache marks where the provider uses them, and always
 * the same bytes for the same request.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import * as v from 'valibot'
import type {
  CallBlock,
  Mark,
  ReasoningBlock,
  Request,
  RequestMessage,
  ResultBlock,
  TextBlock,
  Thinking,
} from './request.ts'
import type { Provider } from './settings.ts'

/**
 * The provider's own data of an answer, which it wants back unchanged, and the model that it is from, as no other can
 * use it. Only fields in this schema are sent to a provider, since a session may be untrusted.
 */
const NoteSchema = v.object({
  model: v.string(),
  signature: v.optional(v.string()),
  redactedData: v.optional(v.string()),
  details: v.optional(v.array(v.record(v.string(), v.unknown()))),
  thoughtSignature: v.optional(v.string()),
})
export type Note = v.InferOutput<typeof NoteSchema>

/** The model that a request is for. `name`: as the user writes it. */
export type ModelTarget = { name: string; provider: Provider }

/** The request with every cache mark's lifetime set to one hour. */
export function withHourMarks(request: Request): Request {
  const hour = <Block extends { mark?: Mark }>(block: Block): Block => (block.mark ? { ...block, mark: '1h' } : block)
  const messages = request.messages.map((message): RequestMessage => {
    if (message.role === 'user') return { ...message, blocks: message.blocks.map(hour) }
    if (message.role === 'tool') return { ...message, blocks: message.blocks.map(hour) }
    return { ...message, blocks: message.blocks.map(block => (block.type === 'text' ? hour(block) : block)) }
  })
  return { ...request, system: request.system.map(hour), messages }
}

/** The options of one call: prompt, tools, the maximum of output tokens, and the thinking effort. */
export function callOptions(request: Request, target: ModelTarget): LanguageModelV4CallOptions {
  return {
    prompt: [
      ...systemMessages(request.system, target),
      ...request.messages.flatMap(message => messagesOf(message, target)),
    ],
    tools: request.tools.map(({ name, description, parameters }) => ({
      type: 'function',
      name,
      description,
      inputSchema: parameters,
    })),
    maxOutputTokens: request.output,
    ...(request.mustCall && { toolChoice: { type: 'required' } }),
    ...thinkingOptions(request.thinking, target),
  }
}

/** The options for the thinking effort. OpenRouter's provider of the AI SDK does not know the common option. */
function thinkingOptions(
  effort: Thinking | undefined,
  target: ModelTarget,
): Pick<LanguageModelV4CallOptions, 'reasoning' | 'providerOptions'> {
  if (!effort) return {}
  if (target.provider === 'openrouter') return { providerOptions: { openrouter: { reasoning: { effort } } } }
  return { reasoning: effort }
}

/** The system messages. Templates of some local models accept only one, without parts. */
function systemMessages(system: readonly TextBlock[], target: ModelTarget): LanguageModelV4Prompt {
  const blocks = system.filter(hasWords)
  if (target.provider === 'openai') return blocks.length ? [{ role: 'system', content: joined(blocks) }] : []
  return blocks.map(({ text, mark }) => ({ role: 'system', content: text.toWellFormed(), ...marked(mark, target) }))
}

function messagesOf(message: RequestMessage, target: ModelTarget): LanguageModelV4Message[] {
  switch (message.role) {
    case 'user':
      return userMessages(message.blocks.filter(hasWords), target)
    case 'assistant': {
      const parts = message.blocks.flatMap(block => assistantParts(block, target))
      // Providers refuse a message that ends with reasoning.
      const content = parts.slice(0, parts.findLastIndex(part => part.type !== 'reasoning') + 1)
      return content.length ? [{ role: 'assistant', content }] : []
    }
    case 'tool':
      return [{ role: 'tool', content: message.blocks.map(block => resultPart(block, target)) }]
  }
}

function userMessages(blocks: readonly TextBlock[], target: ModelTarget): LanguageModelV4Message[] {
  if (blocks.length === 0) return []
  if (target.provider === 'openai') return [{ role: 'user', content: [{ type: 'text', text: joined(blocks) }] }]
  const content = blocks.map(({ text, mark }) => ({
    type: 'text' as const,
    text: text.toWellFormed(),
    ...marked(mark, target),
  }))
  return [{ role: 'user', content }]
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

function assistantParts(block: TextBlock | ReasoningBlock | CallBlock, target: ModelTarget): AssistantPart[] {
  switch (block.type) {
    case 'text':
      return hasWords(block) ? [{ type: 'text', text: block.text.toWellFormed(), ...marked(block.mark, target) }] : []
    case 'reasoning': {
      const options = handedBack(noteOf(block.provider, target), target)
      return options ? [{ type: 'reasoning', text: block.text, ...options }] : []
    }
    case 'call':
      return [
        {
          type: 'tool-call',
          toolCallId: idFor(block.id, target),
          toolName: toolName(block.name),
          input: argumentsObject(block.arguments),
          ...handedBack(noteOf(block.provider, target), target),
        },
      ]
  }
}

function resultPart(block: ResultBlock, target: ModelTarget): LanguageModelV4ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId: idFor(block.id, target),
    toolName: toolName(block.name),
    output: { type: block.isError ? 'error-text' : 'text', value: block.text.toWellFormed() || '(nothing)' },
    ...marked(block.mark, target),
  }
}

/** Whether a block has more than blanks: providers refuse blank text. */
const hasWords = (block: TextBlock): boolean => block.text.trim() !== ''

const joined = (blocks: readonly TextBlock[]): string => blocks.map(({ text }) => text.toWellFormed()).join('\n\n')

type Options = { providerOptions?: SharedV4ProviderOptions }

/**
 * The option for a cache mark. OpenRouter's provider reads Anthropic's marks. OpenAI and compatible servers have none:
 * they cache by themselves.
 */
function marked(mark: Mark | undefined, target: ModelTarget): Options {
  if (!mark || target.provider === 'openai') return {}
  const cacheControl = mark === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' }
  return { providerOptions: { anthropic: { cacheControl } } }
}

function noteOf(provider: unknown, target: ModelTarget): Note | undefined {
  const parsed = v.safeParse(NoteSchema, provider)
  return parsed.success && parsed.output.model === target.name ? parsed.output : undefined
}

/** The provider's own data for reasoning or a call; undefined where the provider would refuse it. */
function handedBack(note: Note | undefined, target: ModelTarget): Options | undefined {
  if (!note) return undefined
  const { signature, redactedData, details, thoughtSignature } = note
  switch (target.provider) {
    case 'anthropic':
      if (signature !== undefined) return { providerOptions: { anthropic: { signature } } }
      return redactedData === undefined ? undefined : { providerOptions: { anthropic: { redactedData } } }
    case 'openrouter':
      // A deep copy by way of JSON, which loses nothing: the data came as JSON.
      return details && { providerOptions: { openrouter: { reasoning_details: JSON.parse(JSON.stringify(details)) } } }
    case 'openai':
      return thoughtSignature === undefined ? {} : { providerOptions: { google: { thoughtSignature } } }
  }
}

/** An id in the characters that Anthropic accepts; other servers send ids with more. */
const idFor = (id: string, target: ModelTarget): string =>
  target.provider === 'anthropic' ? id.replace(/[^a-zA-Z0-9_-]/g, '_') || '_' : id

/** A valid tool name for one that a model made up, which would make all further requests invalid. */
const toolName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || '_'

/**
 * The arguments of a call as an object, since providers accept nothing else. The tool has refused any other value; here
 * it is put into the field `sent`, so that the model sees what it sent.
 */
function argumentsObject(sent: unknown): unknown {
  const clean = wellFormed(sent)
  return typeof clean === 'object' && clean !== null && !Array.isArray(clean) ? clean : { sent: clean }
}

/** A value without lone surrogates: these are valid in JSON, but providers refuse them. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), wellFormed(inner)]))
}

/**
 * A body for OpenRouter with each text as a part of a list. The AI SDK's provider writes an unmarked lone text as a
 * string, so that bytes would change with the mark; and it puts a tool result's mark beside the content, where
 * OpenRouter ignores it or hangs.
 */
export function withContentParts(body: string): string {
  const parsed = v.safeParse(BodySchema, JSON.parse(body))
  if (!parsed.success) return body
  const messages = parsed.output.messages.map(message => {
    if (message.role !== 'user' && message.role !== 'tool') return message
    const { content, cache_control, ...rest } = message
    if (typeof content !== 'string') return message
    return { ...rest, content: [{ type: 'text', text: content, ...(cache_control ? { cache_control } : {}) }] }
  })
  return JSON.stringify({ ...parsed.output, messages })
}

const BodySchema = v.looseObject({
  messages: v.array(v.looseObject({ role: v.string(), content: v.unknown(), cache_control: v.optional(v.unknown()) })),
})
