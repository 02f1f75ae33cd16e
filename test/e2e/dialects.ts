// The three other APIs that OpenCode's own provider uses, besides the chat completions of model.ts: how a scripted turn
// looks in each, with thinking, and how many earlier turns a request contains.
import type { Turn } from './model.ts'

const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`

function* anthropic({ say = '', calls = [] }: Turn) {
  const usage = { input_tokens: 100, output_tokens: 1 }
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null, usage }
  yield event({ type: 'message_start', message } as never)
  const blocks: [object, ...object[]][] = [
    [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'hm' },
      { type: 'signature_delta', signature: 'c2ln' },
    ],
    [
      { type: 'text', text: '' },
      { type: 'text_delta', text: say },
    ],
    ...calls.map(({ tool, input }): [object, object] => [
      { type: 'tool_use', id: `toolu_${crypto.randomUUID()}`, name: tool, input: {}, caller: { type: 'direct' } },
      { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    ]),
  ]
  for (const [index, [content_block, ...deltas]] of blocks.entries()) {
    yield event({ type: 'content_block_start', index, content_block } as never)
    for (const delta of deltas) yield event({ type: 'content_block_delta', index, delta } as never)
    yield event({ type: 'content_block_stop', index } as never)
  }
  const delta = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null }
  yield event({ type: 'message_delta', delta, usage: { output_tokens: 7 } } as never)
  yield event({ type: 'message_stop' })
}

function* openai({ say = '', calls = [] }: Turn) {
  const response = { id: 'resp', object: 'response', created_at: 1, model: 'm', output: [], incomplete_details: null }
  yield event({ type: 'response.created', response } as never)
  const items: [object, object][] = [
    [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'ZW5j' },
      { summary: [{ type: 'summary_text', text: 'hm' }] },
    ],
    [
      { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [], phase: 'commentary' },
      { status: 'completed', content: [{ type: 'output_text', text: say, annotations: [] }] },
    ],
    ...calls.map(({ tool, input }): [object, object] => [
      { type: 'function_call', id: `fc_${crypto.randomUUID()}`, call_id: `call_${crypto.randomUUID()}`, name: tool },
      { status: 'completed', arguments: JSON.stringify(input) },
    ]),
  ]
  for (const [output_index, [begun, ended]] of items.entries()) {
    yield event({ type: 'response.output_item.added', output_index, item: { arguments: '', ...begun } } as never)
    if (output_index === 1) {
      const delta = { item_id: 'msg_1', output_index, content_index: 0, delta: say }
      yield event({ type: 'response.output_text.delta', ...delta } as never)
    }
    yield event({ type: 'response.output_item.done', output_index, item: { ...begun, ...ended } } as never)
  }
  const usage = { input_tokens: 100, output_tokens: 7, total_tokens: 107 }
  yield event({ type: 'response.completed', response: { ...response, status: 'completed', usage } } as never)
}

function* google({ say = '', calls = [] }: Turn) {
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 7, totalTokenCount: 107 }
  const chunk = (parts: object[], end = {}) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts, role: 'model' }, index: 0, ...end }], usageMetadata })}\n\n`
  yield chunk([{ text: 'hm', thought: true }])
  yield chunk([{ text: say }])
  const functionCalls = calls.map(({ tool, input }) => ({ functionCall: { name: tool, args: input } }))
  yield chunk(
    functionCalls.map(part => ({ ...part, thoughtSignature: 'c2ln' })),
    { finishReason: 'STOP' },
  )
}

type Asked = { messages?: Said[]; input?: Said[]; contents?: Said[] }
type Said = { role?: string }

/** The dialect of an answer, by the end of the request's path. */
export const dialects: Record<string, (turn: Turn) => Iterable<string>> = {
  '/messages': anthropic,
  '/responses': openai,
  ':streamGenerateContent': google,
}

export const turnsGiven = ({ messages, input, contents }: Asked): number =>
  (messages ?? input ?? contents ?? []).filter(({ role }) => role === 'assistant' || role === 'model').length
