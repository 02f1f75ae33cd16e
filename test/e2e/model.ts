// A scripted model that speaks the streaming chat completions API with tool calls, as OpenCode's provider expects.

type Call = { tool: string; input: Record<string, unknown> }
/** One answer of the model: its text, and the tools it calls. Without a call the agent's turn ends. */
export type Turn = { say?: string; calls?: Call[] }
/**
 * Replaces answers by: a status, an HTML page, no answer, a beginning without an end, endless calls, or a cut answer.
 */
export type Misbehaviour = number | 'html' | 'never' | 'stall' | 'loop' | 'cut'

export type Script = Turn[] | Misbehaviour

export const bash = (command: string, timeout = 60_000): Call => ({
  tool: 'bash',
  input: { command, timeout, description: 'a step of the script' },
})
export const edit = (filePath: string, oldString: string, newString: string): Call => ({
  tool: 'edit',
  input: { filePath, oldString, newString },
})
export const read = (filePath: string): Call => ({ tool: 'read', input: { filePath } })
export const write = (filePath: string, content: string): Call => ({ tool: 'write', input: { filePath, content } })

type Message = { role: string; content: unknown; tool_calls?: unknown[] }
type Request = { path: string; authorization: string | null; messages: Message[]; model: string }

const encode = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: object, finish: string | null = null) =>
  encode({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })

/** The stream of a turn in chat completions. */
export function* answer(turn: Turn) {
  yield chunk({ role: 'assistant', content: '' })
  if (turn.say) yield chunk({ content: turn.say })
  for (const [index, { tool, input }] of (turn.calls ?? []).entries()) {
    const call = { index, id: `call_${crypto.randomUUID()}`, type: 'function' }
    yield chunk({ tool_calls: [{ ...call, function: { name: tool, arguments: '' } }] })
    yield chunk({ tool_calls: [{ index, function: { arguments: JSON.stringify(input) } }] })
  }
  yield chunk({}, turn.calls ? 'tool_calls' : 'stop')
  yield encode({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [],
    usage: { prompt_tokens: 100, completion_tokens: 7 },
  })
  yield 'data: [DONE]\n\n'
}

const stream = (parts: Iterable<string>, open = false) =>
  new Response(
    new ReadableStream({
      async start(controller) {
        for (const part of parts) {
          controller.enqueue(new TextEncoder().encode(part))
          await Bun.sleep(1)
        }
        if (!open) controller.close()
      },
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  )

function misbehave(how: Misbehaviour): Response | Promise<Response> {
  if (typeof how === 'number') return Response.json({ error: { message: `scripted ${how}` } }, { status: how })
  switch (how) {
    case 'html':
      return new Response('<html><body>Log in, please</body></html>', { headers: { 'content-type': 'text/html' } })
    case 'never':
      return new Promise(() => {})
    case 'stall':
      return stream([chunk({ role: 'assistant', content: 'Let me' })], true)
    case 'cut':
      return stream([chunk({ role: 'assistant', content: 'Let me' }), chunk({}, 'length')])
    case 'loop':
      return stream(answer({ calls: [bash('true')] }))
  }
}

/** Starts a server that answers turn by turn: a request shows how many turns there were before. */
export function startModel(hostname: string, script: Script) {
  const requests: Request[] = []
  const server = Bun.serve({
    hostname,
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { messages, model } = (await request.json()) as { messages: Message[]; model: string }
      const path = new URL(request.url).pathname
      requests.push({ path, authorization: request.headers.get('authorization'), messages, model })
      if (!Array.isArray(script)) return misbehave(script)
      const given = messages.filter(message => message.role === 'assistant').length
      return stream(answer(script[given] ?? { say: 'Done.' }))
    },
  })
  return {
    url: `http://${hostname}:${server.port}/v1`,
    port: server.port,
    requests,
    /** The results of the agent's tools, in order, which show what was attempted and how it ended. */
    toolResults: () =>
      (requests.at(-1)?.messages ?? [])
        .filter(message => message.role === 'tool')
        .map(message => String(message.content)),
    stop: () => server.stop(true),
  }
}
