// The requests that the model may be sent: a table of allowed fields and values for each of the four APIs that
// OpenCode's providers use. Everything else is refused: other models, several answers, and whatever a provider would
// store, fetch or run on its own side (files, earlier answers by their id, searches, code, addresses of images).
//
// The tables contain what OpenCode 1.18 was seen to send, and what its SDKs can build.

export const MAX_TOKENS = 65_536 // OpenCode asks for up to 63,999 tokens, thinking included
// Anthropic beta features that OpenCode's provider uses. Others would let Anthropic fetch, store or run something, or
// cost more.
export const BETAS = [
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'pdfs-2024-09-25',
  'structured-outputs-2025-11-13',
]
// A JSON body nested more deeply, or with more values, is refused: within the size limit it could still make the parser
// use a hundred times as much memory.
const MAX_DEPTH = 100
const MAX_VALUES = 1_000_000

// --- allowed values: each function gives the path of an invalid value, or undefined ---

const is = test => (value, place) => (test(value) ? undefined : place)
const anything = () => undefined // schemas and arguments of tools: only the model reads them
const string = is(value => typeof value === 'string')
const number = is(value => typeof value === 'number')
const boolean = is(value => typeof value === 'boolean')
const exactly = (...values) => is(value => values.includes(value))
// Some servers take 0 for "no limit".
const tokens = is(value => Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS)
const tokensOrNone = is(value => Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS)
const inlineData = is(value => typeof value === 'string' && value.startsWith('data:'))
const orNull = shape => (value, place) => (value === null ? undefined : shape(value, place))
const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value)

const list = shape => (value, place) => {
  if (!Array.isArray(value)) return place
  for (const [at, item] of value.entries()) {
    const wrong = shape(item, `${place}[${at}]`)
    if (wrong) return wrong
  }
}

const textOr = shape => (value, place) => (typeof value === 'string' ? undefined : shape(value, place))

const fields =
  (shapes, ...needed) =>
  (value, place) => {
    if (!isObject(value)) return place
    for (const name of needed) if (!Object.hasOwn(value, name)) return `${place}.${name}`
    for (const [name, inner] of Object.entries(value)) {
      const wrong = Object.hasOwn(shapes, name) ? shapes[name](inner, `${place}.${name}`) : `${place}.${name}`
      if (wrong) return wrong
    }
  }

/** An object of one of several types, named by its `type` field. */
const kinds = table => {
  const shapes = new Map(
    Object.entries(table).map(([type, inner]) => [type, fields({ type: string, cache_control, ...inner })]),
  )
  return (value, place) => (shapes.get(value?.type) ?? (() => `${place}.type`))(value, place)
}

const cache_control = fields({ type: exactly('ephemeral'), ttl: exactly('5m') })
const sampling = { temperature: number, top_p: number, top_k: number, seed: number }
const functionChoice = textOr(fields({ type: exactly('function'), name: string, function: fields({ name: string }) }))

// --- the four APIs: a table for each, for one model -------------------------------

/** The Chat Completions API of OpenAI and of compatible servers. */
const chat = model => {
  const part = kinds({
    text: { text: string },
    image_url: { image_url: fields({ url: inlineData, detail: string }) },
    input_audio: { input_audio: fields({ data: string, format: string }) },
    file: { file: fields({ filename: string, file_data: inlineData }) },
  })
  const call = fields({
    id: string,
    type: exactly('function'),
    function: fields({ name: string, arguments: string }),
    extra_content: fields({ google: fields({ thought_signature: string }) }),
  })
  const message = fields({
    role: exactly('system', 'developer', 'user', 'assistant', 'tool'),
    content: orNull(textOr(list(part))),
    name: string,
    tool_calls: list(call),
    tool_call_id: string,
    reasoning_content: orNull(string),
    reasoning: orNull(string),
    reasoning_details: anything,
    cache_control,
  })
  const tool = fields({
    type: exactly('function'),
    function: fields({ name: string, description: string, parameters: anything, strict: orNull(boolean) }),
    cache_control,
  })
  const thinking = { enable_thinking: boolean, thinking_mode: string }
  const shape = fields(
    {
      model: exactly(model),
      messages: list(message),
      tools: list(tool),
      tool_choice: functionChoice,
      parallel_tool_calls: boolean,
      stream: boolean,
      stream_options: fields({ include_usage: boolean }),
      n: exactly(1),
      store: exactly(false),
      max_tokens: tokens,
      max_completion_tokens: tokens,
      ...sampling,
      frequency_penalty: number,
      presence_penalty: number,
      stop: textOr(list(string)),
      response_format: fields({ type: string, json_schema: anything }),
      reasoning_effort: string,
      verbosity: string,
      thinking: fields({ type: string, budget_tokens: tokens, clear_thinking: boolean }),
      enable_thinking: boolean,
      chat_template_args: fields(thinking),
      chat_template_kwargs: fields(thinking),
      prompt_cache_key: string,
    },
    'model',
  )
  return (body, place) => shape(body, place) ?? bounded(body, place, 'max_tokens', 'max_completion_tokens')
}

/** The Messages API of Anthropic. */
const messages = model => {
  const source = kinds({
    base64: { media_type: string, data: string },
    text: { media_type: string, data: string },
  })
  const image = { source }
  const document = { source, title: orNull(string), context: orNull(string), citations: fields({ enabled: boolean }) }
  const block = kinds({
    text: { text: string },
    thinking: { thinking: string, signature: string },
    redacted_thinking: { data: string },
    tool_use: { id: string, name: string, input: anything, caller: fields({ type: exactly('direct') }) },
    tool_result: {
      tool_use_id: string,
      content: textOr(list(kinds({ text: { text: string }, image, document }))),
      is_error: boolean,
    },
    image,
    document,
  })
  const tool = fields({
    type: exactly('custom'),
    name: string,
    description: string,
    input_schema: anything,
    cache_control,
    strict: boolean,
    eager_input_streaming: boolean,
  })
  return fields(
    {
      model: exactly(model),
      max_tokens: tokens,
      system: textOr(list(block)),
      messages: list(fields({ role: exactly('user', 'assistant'), content: textOr(list(block)) })),
      tools: list(tool),
      tool_choice: fields({ type: string, name: string, disable_parallel_tool_use: boolean }),
      stream: boolean,
      ...sampling,
      stop_sequences: list(string),
      thinking: fields({ type: string, budget_tokens: tokens, display: string }),
      output_config: fields({ effort: string }),
      cache_control,
    },
    'model',
    'max_tokens',
  )
}

/** The Responses API of OpenAI. It stores responses unless the request says otherwise. */
const responses = model => {
  const part = kinds({
    input_text: { text: string },
    output_text: { text: string, annotations: list(anything), logprobs: anything },
    refusal: { refusal: string },
    input_image: { image_url: inlineData, detail: string },
    input_file: { filename: string, file_data: inlineData },
  })
  const known = { id: string, status: string }
  const message = fields({
    ...known,
    type: exactly('message'),
    role: exactly('system', 'developer', 'user', 'assistant'),
    content: textOr(list(part)),
    phase: orNull(string),
  })
  const item = kinds({
    reasoning: {
      ...known,
      summary: list(kinds({ summary_text: { text: string } })),
      encrypted_content: orNull(string),
    },
    function_call: { ...known, call_id: string, name: string, arguments: string },
    function_call_output: { ...known, call_id: string, output: textOr(list(part)) },
  })
  const tool = fields({
    type: exactly('function'),
    name: string,
    description: string,
    parameters: anything,
    strict: orNull(boolean),
  })
  return fields(
    {
      model: exactly(model),
      input: textOr(list((value, place) => ('role' in Object(value) ? message : item)(value, place))),
      instructions: string,
      max_output_tokens: tokens,
      store: exactly(false),
      stream: boolean,
      ...sampling,
      tools: list(tool),
      tool_choice: functionChoice,
      parallel_tool_calls: boolean,
      text: fields({ verbosity: string }),
      truncation: exactly('auto', 'disabled'),
      reasoning: fields({ effort: string, summary: string }),
      include: list(exactly('reasoning.encrypted_content')),
      prompt_cache_key: string,
    },
    'model',
    'max_output_tokens',
    'store',
  )
}

/** The API of Google's models. The model's name is in the path. */
const google = () => {
  const inline = { inlineData: fields({ mimeType: string, data: string }) }
  const part = fields({
    text: string,
    thought: boolean,
    thoughtSignature: string,
    ...inline,
    functionCall: fields({ id: string, name: string, args: anything }),
    functionResponse: fields({ id: string, name: string, response: anything, parts: list(fields(inline)) }),
  })
  const content = fields({ role: exactly('user', 'model'), parts: list(part) })
  const declaration = fields({ name: string, description: string, parameters: anything })
  return fields(
    {
      contents: list(content),
      systemInstruction: content,
      tools: list(fields({ functionDeclarations: list(declaration) })),
      toolConfig: fields({ functionCallingConfig: fields({ mode: string, allowedFunctionNames: list(string) }) }),
      generationConfig: fields(
        {
          candidateCount: exactly(1),
          maxOutputTokens: tokens,
          temperature: number,
          topP: number,
          topK: number,
          seed: number,
          stopSequences: list(string),
          thinkingConfig: fields({ includeThoughts: boolean, thinkingLevel: string, thinkingBudget: tokensOrNone }),
        },
        'maxOutputTokens',
      ),
    },
    'generationConfig',
  )
}

const bounded = (body, place, ...names) =>
  names.some(name => Object.hasOwn(body, name)) ? undefined : `${place}.${names[0]}`

// --- a request ----------------------------------------------------------------

/**
 * The rules for requests to `model`: chat completions only, or all four APIs (`speaksAll`, for OpenCode's own
 * provider). Gives a function of method, path and body that returns the request to send, or the reason for refusing it.
 */
export function rulesFor(model, speaksAll) {
  const routes = new Map([['/chat/completions', { key: 'authorization', shape: chat(model) }]])
  if (speaksAll) {
    routes.set('/messages', { key: 'x-api-key', shape: messages(model) })
    routes.set('/responses', { key: 'authorization', shape: responses(model) })
    routes.set(`/models/${model}:streamGenerateContent?alt=sse`, { key: 'x-goog-api-key', shape: google() })
  }
  return (method, path, bytes) => {
    const route = method === 'POST' ? routes.get(path) : undefined
    if (!route) return { refusal: 'this path is not the model' }
    const body = parse(bytes)
    if (body === undefined) return { refusal: 'the body is no JSON of a usual shape' }
    const wrong = route.shape(body, 'body')
    if (wrong) return { refusal: `the model may not be asked with this: ${wrong.slice(0, 200)} (${model} only)` }
    // Serialised again: if a field occurs twice, another parser might use the value that was not checked.
    return { path, key: route.key, body: Buffer.from(JSON.stringify(body)) }
  }
}

function parse(bytes) {
  if (isTangled(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

const [QUOTE, BACKSLASH, COMMA] = Buffer.from('"\\,')
const OPENING = new Set(Buffer.from('[{'))
const CLOSING = new Set(Buffer.from(']}'))

function isTangled(bytes) {
  let depth = 0
  let values = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA) values++
    else if (OPENING.has(byte)) {
      values++
      depth++
    } else if (CLOSING.has(byte)) depth--
    if (depth > MAX_DEPTH || values > MAX_VALUES) return true
  }
  return false
}
