/** What models answer in steps, well and badly, and what they are told. */
import { expect, test } from 'bun:test'
import type { ModelAnswer } from '../../../../forge/ai/request.ts'
import { readAnswer } from '../../../../forge/tasks/steps/receive.ts'

const text = (words: string, end: ModelAnswer['end'] = 'done') => ({
  blocks: [{ type: 'text' as const, text: words }],
  end,
})
const call = (sent: unknown, name = 'answer') => ({
  blocks: [{ type: 'call' as const, id: 'c1', name, arguments: sent }],
  end: 'calls' as const,
})
const GOOD = { signal: 'success', words: 'Done.', edits: [{ kind: 'delete', path: 'a.txt' }] }

test.each([
  ['a call', call({ answer: GOOD })],
  ['a call without the property around it', call(GOOD)],
  ['a call with its JSON as a string', call(JSON.stringify({ answer: GOOD }))],
  ['a call with the answer as a string', call({ answer: JSON.stringify(GOOD) })],
  ['a call with the list as a string', call({ answer: { ...GOOD, edits: JSON.stringify(GOOD.edits) } })],
  ['a text that is the JSON', text(JSON.stringify({ answer: GOOD }))],
  ['a text with one fence', text(`Here it is:\n\`\`\`json\n${JSON.stringify(GOOD, undefined, 2)}\n\`\`\`\nBye.`)],
])('%s is an answer', (_, answer) => {
  expect(readAnswer('implement', answer).parsed).toMatchObject({ ...GOOD, fan_out: [] })
})

test.each([
  ['cut', text('{"answer": {"si', 'length'), /was cut, .*answer shorter/],
  ['empty', text('  '), /was empty: call the tool answer once/],
  ['prose', text('I would rather talk about it.'), /is not the JSON of answer: call the tool/],
  ['refused', text('', 'refused'), /refused/],
  ['another tool', call({ path: 'x' }, 'write_file'), /no tool write_file: the only one is answer/],
  ['a list', call([1]), /no JSON object/],
  ['no edits', call({ answer: { signal: 'success', words: 'x' } }), /answer\.edits is missing/],
  ['no signal', call({ answer: { words: 'x' } }), /answer\.signal is missing/],
  [
    'a wrong edit',
    call({ answer: { signal: 'success', words: 'x', edits: [{ kind: 'replace', path: 7, search: '', replace: '' }] } }),
    /answer\.edits\[0\]\.path must be string, and was 7\. Send all of it again/,
  ],
  ['no words', call({ answer: { ...GOOD, words: '' } }), /answer\.words is empty/],
])('%s is none, and the model is told why', (_, answer, words) => {
  const read = readAnswer('implement', answer)
  expect(read).toMatchObject({ words: expect.stringMatching(words), isConfused: false })
})

test('two answers at once are none', () => {
  const both = { blocks: [...call(GOOD).blocks, ...call(GOOD).blocks], end: 'calls' as const }
  expect(readAnswer('implement', both).words).toMatch(/2 calls of the tool answer: call it once/)
})

test('a signal that nobody knows is for a person to look at', () => {
  const read = readAnswer('implement', call({ answer: { signal: 'almost', words: 'Nearly.' } }))
  expect(read).toMatchObject({ isConfused: true, words: expect.stringContaining('the signal "almost"') })
})

test('each of the six signals is read', () => {
  const ends = [
    { signal: 'failure_retryable' },
    { signal: 'failure_terminal' },
    { signal: 'new_tasks_discovered', discovered: [{ title: 'One', why: 'It is missing.' }] },
    { signal: 'blocked_on_human', question: 'Which?' },
    { signal: 'blocked_on_sibling', sibling: 'parser' },
    GOOD,
  ]
  for (const end of ends)
    expect(readAnswer('implement', call({ answer: { words: 'x', ...end } })).parsed).toMatchObject(end)
})
