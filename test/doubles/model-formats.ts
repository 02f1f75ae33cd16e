/**
 * The APIs of three model providers: Anthropic's messages, and the chat completions of OpenRouter and of servers
 * compatible with OpenAI. Requests are parsed and refused as by the provider; answers are written as streams.
 */
import type { CacheMark, Counted, Piece } from './model-cache.ts'

export type Provider = 'anthropic' | 'openrouter' | 'openai'

/** Arguments as an object, or as the exact text to send. */
export type ScriptedCall = { name: string; arguments: Record<string, unknown> | string; id?: string }

/** One answer of a model, in this order: reasoning, text, calls. */
export type Said = {
  reasoning?: string
  text?: string
  calls?: ScriptedCall[]
  /** Why the answer ended, where that does not follow from its content. */
  end?: 'done' | 'calls' | 'length' | 'refused' | 'error'
}

/** A request in terms common to all providers. */
export type Heard = {
  provider: Provider
  model: string
  tools: { name: string; description: string; parameters: Record<string, unknown> }[]
  system: string
  messages: {
    role: string
    text: string
    calls: { id: string; name: string; arguments: unknown }[]
    results: string[]
  }[]
  output: number
  pieces: Piece[]
  /**
   * The id of the earlier answer whose request Anthropic is asked to compare this one with; null in the first request.
   */
  previous?: string | null
}

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
type Fields = { [name: string]: Json }

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const fields = (value: unknown): Fields => (isFields(value) ? value : {})
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : [])
const word = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A request that a provider refuses; the message is the provider's. */
export class Refusal extends Error {}

/** Parses a request. Throws a {@link Refusal} where the provider would answer 400. */
export function hear(provider: Provider, body: Buffer, { isStreamed = true } = {}): Heard {
  const sent = fields(parsed(body.toString()))
  if (isStreamed && sent.stream !== true) throw new Refusal('This double only streams: set "stream" to true.')
  return provider === 'anthropic' ? hearMessages(sent) : hearCompletions(provider, sent)
}

function hearMessages(sent: Fields): Heard {
  const system = typeof sent.system === 'string' ? [{ type: 'text', text: sent.system }] : list(sent.system)
  const tools = list(sent.tools)
  const messages = list(sent.messages).map(message => ({ role: word(message.role), blocks: blocksOf(message.content) }))
  if (typeof sent.max_tokens !== 'number') throw new Refusal('max_tokens: Field required')
  if (messages[0]?.role !== 'user') throw new Refusal('messages: first message must use the "user" role')
  for (const [index, message] of messages.entries()) verifyBlocks(index, message, messages[index + 1])
  const pieces = [
    ...tools.map(tool => piece('tool', tool)),
    ...system.map(block => piece('system', block)),
    ...messages.flatMap(({ role, blocks }) => blocks.map(block => piece(role, block))),
  ]
  verifyMarks(pieces)
  return {
    provider: 'anthropic',
    model: word(sent.model),
    tools: tools.map(tool => ({
      name: word(tool.name),
      description: word(tool.description),
      parameters: fields(tool.input_schema),
    })),
    system: system.map(block => word(block.text)).join('\n'),
    messages: messages.map(({ role, blocks }) => ({
      role,
      text: blocks
        .filter(block => block.type === 'text')
        .map(block => word(block.text))
        .join('\n'),
      calls: blocks
        .filter(block => block.type === 'tool_use')
        .map(block => ({ id: word(block.id), name: word(block.name), arguments: block.input })),
      results: blocks.filter(block => block.type === 'tool_result').map(block => textOf(block.content)),
    })),
    output: sent.max_tokens,
    pieces,
    ...(isFields(sent.diagnostics) && { previous: word(sent.diagnostics.previous_message_id) || null }),
  }
}

const blocksOf = (content: unknown): Fields[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map(block => word(block.text))
        .join('\n')

type Message = { role: string; blocks: Fields[] }

function verifyBlocks(index: number, { role, blocks }: Message, next: Message | undefined): void {
  for (const [at, block] of blocks.entries()) {
    const place = `messages.${index}.content.${at}`
    if (block.type === 'text' && !word(block.text)) throw new Refusal('messages: text content blocks must be non-empty')
    if (block.type === 'thinking' && block.signature !== signatureOf(word(block.thinking)))
      throw new Refusal(`${place}: Invalid \`signature\` in \`thinking\` block`)
    if (block.type === 'tool_use' && !isFields(block.input))
      throw new Refusal(`${place}.tool_use.input: Input should be a valid dictionary`)
  }
  if (role !== 'assistant') return
  if (blocks.at(-1)?.type === 'thinking')
    throw new Refusal(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`)
  const asked = blocks.filter(block => block.type === 'tool_use').map(block => word(block.id))
  const answered = (next?.blocks ?? []).filter(block => block.type === 'tool_result').map(block => block.tool_use_id)
  const missing = asked.filter(id => !answered.includes(id))
  if (missing.length)
    throw new Refusal(
      `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}`,
    )
}

function verifyMarks(pieces: readonly Piece[]): void {
  const marks = pieces.map(({ mark }) => mark).filter(mark => mark !== undefined)
  if (marks.length > 4)
    throw new Refusal(`A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`)
  if (marks.includes('5m') && marks.lastIndexOf('1h') > marks.indexOf('5m'))
    throw new Refusal("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
  if (pieces.some(({ mark, bytes }) => mark && bytes.includes('"type":"text","text":""')))
    throw new Refusal('cache_control cannot be set for empty text blocks')
}

/** Anthropic's description of the first difference from the earlier request. */
function differenceOf(later: Heard, earlier: Heard | undefined): Json {
  if (!earlier) return { type: 'previous_message_not_found' }
  if (later.model !== earlier.model) return { type: 'model_changed' }
  const of = ({ pieces }: Heard, where: string) => pieces.filter(({ bytes }) => bytes.startsWith(`${where} `))
  const isSame = (where: string) => JSON.stringify(of(later, where)) === JSON.stringify(of(earlier, where))
  if (!isSame('tool')) return { type: 'tools_changed' }
  if (!isSame('system')) return { type: 'system_changed' }
  return beginsWith(later, earlier) ? null : { type: 'messages_changed', cache_missed_input_tokens: 1 }
}

/** Whether a request begins with all of an earlier one, byte for byte, in the order in which providers read. */
export function beginsWith(later: Heard, earlier: Heard): boolean {
  const bytes = ({ model, pieces }: Heard) => [model, ...pieces.map(piece => piece.bytes)].join('\n')
  return bytes(later).startsWith(`${bytes(earlier)}\n`)
}

/** A block as a provider caches it: its bytes without the cache mark (`cache_control`), and that mark. */
function piece(where: string, block: Fields): Piece {
  const { cache_control: control, ...kept } = block
  const bytes = `${where} ${JSON.stringify(kept)}`
  if (!isFields(control)) return { bytes }
  const mark: CacheMark = control.ttl === '1h' ? '1h' : '5m'
  return { bytes, mark }
}

function hearCompletions(provider: Provider, sent: Fields): Heard {
  const tools = list(sent.tools)
  const messages = list(sent.messages)
  verifyAnswered(messages)
  const pieces = [...tools.map(tool => piece('tool', tool)), ...messages.flatMap(piecesOfMessage)]
  const system = messages.filter(message => message.role === 'system')
  return {
    provider,
    model: word(sent.model),
    tools: tools.map(tool => {
      const { name, description, parameters } = fields(tool.function)
      return { name: word(name), description: word(description), parameters: fields(parameters) }
    }),
    system: system.map(message => textOf(message.content)).join('\n'),
    messages: messages
      .filter(message => message.role !== 'system')
      .map(message => ({
        role: word(message.role),
        text: message.role === 'tool' ? '' : textOf(message.content),
        calls: list(message.tool_calls).map(call => ({
          id: word(call.id),
          name: word(fields(call.function).name),
          arguments: parsed(word(fields(call.function).arguments)),
        })),
        results: message.role === 'tool' ? [textOf(message.content)] : [],
      })),
    output: Number(sent.max_tokens ?? sent.max_completion_tokens ?? 0),
    pieces,
  }
}

function verifyAnswered(messages: readonly Fields[]): void {
  for (const [index, message] of messages.entries()) {
    // The real provider would hang without an answer: the double refuses the request instead.
    if (message.role === 'tool' && message.cache_control)
      throw new Refusal(`messages[${index}]: cache_control belongs into a part of the content`)
    const asked = list(message.tool_calls).map(call => call.id)
    const after = messages.slice(index + 1)
    const until = after.findIndex(other => other.role !== 'tool')
    const answered = (until < 0 ? after : after.slice(0, until)).map(other => other.tool_call_id)
    const missing = asked.filter(id => !answered.includes(id ?? ''))
    if (missing.length)
      throw new Refusal(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(', ')}`,
      )
    const broken = list(message.tool_calls).some(call => !isFields(parsed(word(fields(call.function).arguments))))
    if (broken) throw new Refusal(`messages[${index}].tool_calls: arguments must be a JSON object`)
  }
}

/**
 * Splits a message into pieces: its content (if that is a list, each part of it, since parts can have cache marks),
 * then its other fields.
 */
function piecesOfMessage(message: Fields): Piece[] {
  const { content, ...rest } = message
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)
  const last = piece(word(message.role), rest)
  return [...parts.map(part => piece(word(message.role), part)), last]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Stands for a provider's signature on its model's reasoning. */
const signatureOf = (text: string): string => `sig-${Bun.hash(text).toString(36)}`

export const outputTokens = (said: Said): number =>
  Math.max(1, Math.ceil(JSON.stringify([said.reasoning, said.text, said.calls]).length / 3.6))

/** Prices of a provider that reports costs: dollars for a million tokens. */
const PRICES = { input: 4, output: 20, read: 0.2, '5m': 5, '1h': 8 }

function costOf(counted: Counted, output: number): number {
  const { input, read, write } = counted
  const plain = input - read - write['5m'] - write['1h']
  const all = plain * PRICES.input + read * PRICES.read + write['5m'] * PRICES['5m'] + write['1h'] * PRICES['1h']
  return (all + output * PRICES.output) / 1e6
}

const endOf = (said: Said): NonNullable<Said['end']> => said.end ?? (said.calls?.length ? 'calls' : 'done')

const ids = (said: Said): string[] =>
  (said.calls ?? []).map(call => call.id ?? `toolu_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`)

/** Splits text into small pieces, as models send it. */
const morsels = (text: string): string[] => text.match(/[\s\S]{1,12}/gu) ?? []

/** What is needed to write an answer: its id, earlier requests by their answers' ids, and whether usage is included. */
export type Making = { id: string; earlier: ReadonlyMap<string, Heard>; hasUsage: boolean }

/** The events of an answer, each as the text that is sent. */
export function eventsOf(heard: Heard, said: Said, counted: Counted, { id, earlier, hasUsage }: Making): string[] {
  return heard.provider === 'anthropic'
    ? messageEvents(heard, said, counted, { id, earlier })
    : completionEvents(heard, said, counted, hasUsage)
}

/** An answer as one JSON object, as batches have it. */
export function answerOf(heard: Heard, said: Said, { input, read, write }: Counted, id: string): string {
  const names = ids(said)
  const output = outputTokens(said)
  if (heard.provider !== 'anthropic') {
    const reasons = { done: 'stop', calls: 'tool_calls', length: 'length', refused: 'content_filter', error: 'error' }
    const calls = (said.calls ?? []).map((call, index) => ({
      ...{ id: names[index] ?? '', type: 'function' },
      function: { name: call.name, arguments: argumentsOf(call) },
    }))
    const message = {
      role: 'assistant',
      content: said.text ?? null,
      ...(said.reasoning !== undefined && { reasoning_content: said.reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    }
    const usage = { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: { cached_tokens: read } }
    const choices = [{ index: 0, message, finish_reason: reasons[endOf(said)] }]
    return JSON.stringify({ id, object: 'chat.completion', created: 1_763_800_000, model: heard.model, choices, usage })
  }
  const reasons = { done: 'end_turn', calls: 'tool_use', length: 'max_tokens', refused: 'refusal', error: 'error' }
  const thinking = said.reasoning ?? ''
  const content = [
    ...(said.reasoning === undefined ? [] : [{ type: 'thinking', thinking, signature: signatureOf(thinking) }]),
    ...(said.text ? [{ type: 'text', text: said.text }] : []),
    ...(said.calls ?? []).map((call, index) => ({
      ...{ type: 'tool_use', id: names[index] ?? '', name: call.name },
      input: typeof call.arguments === 'string' ? {} : call.arguments,
    })),
  ]
  const written = write['5m'] + write['1h']
  const usage = {
    input_tokens: input - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: write['5m'], ephemeral_1h_input_tokens: write['1h'] },
    output_tokens: output,
    service_tier: 'batch',
  }
  const end = { stop_reason: reasons[endOf(said)], stop_sequence: null, usage }
  return JSON.stringify({ id, type: 'message', role: 'assistant', model: heard.model, content, ...end })
}

const event = (data: Fields): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

function messageEvents(heard: Heard, said: Said, counted: Counted, making: Omit<Making, 'hasUsage'>): string[] {
  const { input, read, write } = counted
  const written = write['5m'] + write['1h']
  const usage: Fields = {
    input_tokens: input - read - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: write['5m'], ephemeral_1h_input_tokens: write['1h'] },
  }
  const { previous } = heard
  const diagnostics: Fields =
    previous === undefined
      ? {}
      : { diagnostics: previous && { cache_miss_reason: differenceOf(heard, making.earlier.get(previous)) } }
  const message = { id: making.id, type: 'message', role: 'assistant', model: heard.model, content: [], ...diagnostics }
  const open = {
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1, service_tier: 'standard' },
  }
  const blocks: { begin: Fields; deltas: Fields[] }[] = []
  if (said.reasoning !== undefined)
    blocks.push({
      begin: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...morsels(said.reasoning).map(thinking => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: signatureOf(said.reasoning) },
      ],
    })
  if (said.text)
    blocks.push({
      begin: { type: 'text', text: '' },
      deltas: morsels(said.text).map(text => ({ type: 'text_delta', text })),
    })
  const names = ids(said)
  for (const [index, call] of (said.calls ?? []).entries())
    blocks.push({
      begin: { type: 'tool_use', id: names[index] ?? '', name: call.name, input: {} },
      deltas: ['', ...morsels(argumentsOf(call))].map(json => ({ type: 'input_json_delta', partial_json: json })),
    })
  const reasons = { done: 'end_turn', calls: 'tool_use', length: 'max_tokens', refused: 'refusal', error: 'error' }
  return [
    event({ type: 'message_start', message: { ...message, ...open } }),
    event({ type: 'ping' }),
    ...blocks.flatMap(({ begin, deltas }, index) => [
      event({ type: 'content_block_start', index, content_block: begin }),
      ...deltas.map(delta => event({ type: 'content_block_delta', index, delta })),
      event({ type: 'content_block_stop', index }),
    ]),
    event({
      type: 'message_delta',
      delta: { stop_reason: reasons[endOf(said)], stop_sequence: null },
      usage: { ...usage, output_tokens: outputTokens(said) },
    }),
    event({ type: 'message_stop' }),
  ]
}

const argumentsOf = (call: ScriptedCall): string =>
  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)

function completionEvents(heard: Heard, said: Said, counted: Counted, hasUsage: boolean): string[] {
  const isRouter = heard.provider === 'openrouter'
  const base: Fields = {
    id: isRouter ? 'gen-scripted' : 'chatcmpl-scripted',
    ...(isRouter && { provider: 'Scripted' }),
    object: 'chat.completion.chunk',
    created: 1_763_800_000,
    model: heard.model,
  }
  const data = (rest: Fields) => `data: ${JSON.stringify({ ...base, ...rest })}\n\n`
  const chunk = (delta: Fields, finish: string | null = null) =>
    data({ choices: [{ index: 0, delta, finish_reason: finish, ...(isRouter && { native_finish_reason: finish }) }] })
  const names = ids(said)
  const isRefused = endOf(said) === 'refused'
  const reasons = { done: 'stop', calls: 'tool_calls', length: 'length', refused: 'content_filter', error: 'error' }
  const output = outputTokens(said)
  const usage: Fields = {
    prompt_tokens: counted.input,
    completion_tokens: output,
    total_tokens: counted.input + output,
    prompt_tokens_details: {
      cached_tokens: counted.read,
      ...(isRouter && { cache_write_tokens: counted.write['5m'] + counted.write['1h'] }),
    },
    completion_tokens_details: { reasoning_tokens: 0 },
    ...(isRouter && { cost: costOf(counted, output), is_byok: false }),
  }
  return [
    ...(isRouter ? [': OPENROUTER PROCESSING\n\n'] : []),
    chunk({ role: 'assistant', content: '' }),
    ...reasoningDeltas(isRouter, said.reasoning).map(delta => chunk(delta)),
    ...morsels(said.text ?? '').map(text => chunk(isRefused && !isRouter ? { refusal: text } : { content: text })),
    ...(isRouter ? [': OPENROUTER PROCESSING\n\n'] : []),
    ...(said.calls ?? []).flatMap((call, index) => [
      chunk({
        tool_calls: [{ index, id: names[index] ?? '', type: 'function', function: { name: call.name, arguments: '' } }],
      }),
      ...morsels(argumentsOf(call)).map(text => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    chunk(isRouter ? { role: 'assistant', content: '' } : {}, reasons[endOf(said)]),
    ...(hasUsage ? [data({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ]
}

function reasoningDeltas(isRouter: boolean, reasoning: string | undefined): Fields[] {
  if (reasoning === undefined) return []
  if (!isRouter) return morsels(reasoning).map(text => ({ reasoning_content: text }))
  const detail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 }
  return [
    ...morsels(reasoning).map(text => ({ reasoning: text, reasoning_details: [{ ...detail, text }] })),
    { reasoning_details: [{ ...detail, signature: signatureOf(reasoning) }] },
  ]
}

/** The body of an error response with a status. */
export function errorBody(provider: Provider, status: number, words: string): string {
  if (provider === 'anthropic') {
    const error = { type: KINDS[status] ?? 'api_error', message: words }
    return JSON.stringify({ type: 'error', error, request_id: 'req_scripted' })
  }
  if (provider === 'openrouter') return JSON.stringify({ error: { code: status, message: words } })
  return JSON.stringify({ error: { message: words, type: KINDS[status] ?? 'server_error', param: null, code: null } })
}

const KINDS: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

/** The providers' error messages by status, where their text matters. */
export const WORDS: Record<number, string> = {
  400: 'Invalid request',
  401: 'invalid x-api-key',
  402: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
  403: 'Your key does not have permission to use the specified resource.',
  404: 'model: not found',
  413: 'Request exceeds the maximum allowed number of bytes.',
  429: 'This request would exceed your rate limit.',
  500: 'Internal server error',
  529: 'Overloaded',
}

/** An error in the middle of a stream, after status 200. */
export function errorEvent(provider: Provider, status: number, words: string): string {
  if (provider === 'anthropic') return `event: error\ndata: ${errorBody(provider, status, words)}\n\n`
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error' }]
  const error = { code: status, message: words }
  return `data: ${JSON.stringify({ id: 'gen-scripted', object: 'chat.completion.chunk', error, choices })}\n\n`
}
