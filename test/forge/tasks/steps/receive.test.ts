/** Good and bad answers of models in steps, and the complaints about them. */
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
/** Several calls in one response. */
const calls = (...sent: [name: string, sent: unknown][]) => ({
  blocks: sent.map(([name, it], at) => ({ type: 'call' as const, id: `c${at}`, name, arguments: it })),
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
  [
    'edits alone',
    call({ path: 'x', content: '' }, 'write_file'),
    /1 edit and no call of answer.*Send all edits and answer in one response/,
  ],
  [
    'a tool that a step does not have',
    call({ path: 'x' }, 'run_command'),
    /no tool run_command here: there are search_replace, .* and answer/,
  ],
  ['a list', call([1]), /no JSON object/],
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

const FINE = { answer: { signal: 'success', words: 'Done.' } }

test('edits are calls of their own, in their order, and the answer stands behind them', () => {
  const edits = [{ search: '\\d+', replace: '\\w+' }]
  const answer = calls(
    ['search_replace', { path: 'a.txt', edits }],
    ['write_file', { path: 'new.sh', content: '#!/bin/sh\n', executable: true }],
    ['append_to_file', { path: 'log.md', content: '- One more.' }],
    ['rename_file', { from: 'b.txt', to: 'c.txt' }],
    ['delete_file', { path: 'd.txt' }],
    ['answer', FINE],
  )
  expect(readAnswer('implement', answer).parsed).toMatchObject({
    signal: 'success',
    edits: [
      { kind: 'replace', path: 'a.txt', search: '\\d+', replace: '\\w+' },
      { kind: 'write', path: 'new.sh', content: '#!/bin/sh\n', executable: true },
      { kind: 'append', path: 'log.md', content: '- One more.' },
      { kind: 'rename', path: 'b.txt', to: 'c.txt' },
      { kind: 'delete', path: 'd.txt' },
    ],
  })
})

test('a call with wrong arguments is told by its number and name, and nothing is changed', () => {
  const answer = calls(['delete_file', { path: 'a.txt' }], ['write_file', { path: 'b.txt' }], ['answer', FINE])
  expect(readAnswer('implement', answer)).toMatchObject({
    words: expect.stringContaining('Call 2 (write_file): The argument content is missing.'),
    isConfused: false,
  })
})

test('a planner looks at something by calls that read; a plan that was sent along does not count', () => {
  const looking = calls(['grep', { text: 'parse' }], ['get_lines', { path: 'a.ts' }], ['answer', { answer: {} }])
  expect(readAnswer('plan', looking)).toMatchObject({
    parsed: { signal: 'success', looks: [{ name: 'grep' }, { name: 'get_lines', arguments: { path: 'a.ts' } }] },
    words: 'It looks at 2 places before it plans.',
  })
  expect(readAnswer('implement', looking).words).toContain('There is no tool grep here')
})

test('a good verdict with an answer that is not fine is sent back', () => {
  const verdict = (how: string, answer: string) =>
    call({
      answer: { signal: 'success', words: 'Read.', verdict: how, answers: [{ question: 'Q1', answer, why: 'So.' }] },
    })
  expect(readAnswer('review', verdict('good', 'fine')).parsed).toMatchObject({ verdict: 'good', findings: [] })
  expect(readAnswer('review', verdict('bad', 'problem')).parsed).toMatchObject({ verdict: 'bad' })
  expect(readAnswer('review', verdict('good', 'unclear')).words).toContain(
    'The verdict is good, and Q1 is answered "unclear"',
  )
})

test('two answers at once are none', () => {
  const both = { blocks: [...call(GOOD).blocks, ...call(GOOD).blocks], end: 'calls' as const }
  expect(readAnswer('implement', both).words).toMatch(/2 calls of the tool answer: call it once/)
})

test('an unknown signal is for a person to look at', () => {
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
