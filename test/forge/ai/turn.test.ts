/** The loop of a turn: what it runs, what it stores, and that it always ends. */
import { expect, test } from 'bun:test'
import { LimitReached } from '../../../forge/ai/budget.ts'
import { builtInTools } from '../../../forge/ai/built-in-tools.ts'
import { cleanMessage } from '../../../forge/ai/commit-message.ts'
import {
  NO_USAGE,
  newSession,
  type Session,
  type SessionEntry,
  usageOf,
  withAnswer,
  withEnd,
  withUser,
} from '../../../forge/ai/session.ts'
import { openSummaries } from '../../../forge/ai/summaries.ts'
import type { Tool } from '../../../forge/ai/tool.ts'
import { runTurn, type TurnEvent, type TurnMeans } from '../../../forge/ai/turn.ts'
import { WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'
import { type Script, ScriptedModel, write } from '../../support/scripted-model.ts'

type Kept = { does: string; kinds: string[]; files: string[] }

const kindsOf = ({ messages }: Session) => messages.map(({ kind }) => kind)

/** Runs a turn in a repository of one file, and gives all results. `before`: the conversation before it. */
async function play(
  script: Script,
  more: Partial<TurnMeans> = {},
  { before = newSession(), window = 200_000 }: { before?: Session; window?: number } = {},
) {
  await using place = await makePlace()
  const { objects, folder, path } = place
  using summaries = openSummaries(objects, { folder })
  const vfs = new WorkInProgressVfs(objects, await commit(path, 'main', { 'a.txt': 'one\n' }))
  const model = new ScriptedModel(script, window)
  const [kept, events]: [Kept[], TurnEvent[]] = [[], []]
  const session = await runTurn(before, {
    turn: 'turn-1',
    text: 'Please.',
    model,
    branch: 'main',
    vfs,
    tools: builtInTools(),
    sources: { objects, summaries },
    limits: { steps: 20, seconds: 20, cost: 5 },
    signal: new AbortController().signal,
    onEvent: event => events.push(event),
    checkpoint: async (so, does) => void kept.push({ does, kinds: kindsOf(so), files: [...vfs.changes.keys()] }),
    clean: text => text.replaceAll('sk-secret', '[secret]'),
    ...more,
  })
  const files = await Promise.all(
    (await vfs.listFiles('')).map(async it => [it.path, (await vfs.readFile(it.path)).toString()]),
  )
  const end = session.messages.at(-1) as Extract<SessionEntry, { kind: 'end' }>
  return { session, end, model, kept, events, files: Object.fromEntries(files) as Record<string, string> }
}

const results = ({ messages }: Session) =>
  messages.flatMap(entry => (entry.kind === 'result' ? [`${entry.name}: ${entry.isError ? 'error' : 'fine'}`] : []))

test('the time of a call is without that in which a person was waited for', async () => {
  const asking: Tool = {
    description: { name: 'asks', description: 'Asks a person.', parameters: { type: 'object' } },
    title: () => 'asks',
    run: async (_, room) => {
      await room.forPerson(() => Bun.sleep(1_500))
      return { text: 'Asked.', isError: false, words: 'asked' }
    },
  }
  const { session } = await play([{ calls: [{ name: 'asks' }] }, { text: 'Done.' }], { tools: [asking] })
  expect(session.messages.find(({ kind }) => kind === 'result')).toMatchObject({ name: 'asks', words: 'asked' })
  const [seconds = Number.NaN] = session.messages.flatMap(it => (it.kind === 'result' ? [it.seconds] : []))
  expect(seconds).toBeLessThan(1)
})

test('calls of one answer run in their order, and each step is kept before the next request', async () => {
  const { session, end, files, kept, model } = await play([
    {
      text: 'First.',
      calls: [write('b.txt', '1\n'), write('b.txt', '2\n'), { name: 'get_lines', arguments: { path: 'b.txt' } }],
    },
    { text: 'Done.' },
    { text: 'Write b\n\nIt was missing.' },
  ])
  expect(files).toEqual({ 'a.txt': 'one\n', 'b.txt': '2\n' })
  expect(end).toMatchObject({ how: 'done', message: 'Write b\n\nIt was missing.', usage: { input: 300, output: 30 } })
  expect(session.messages.find(entry => entry.kind === 'result' && entry.name === 'get_lines')).toMatchObject({
    text: expect.stringContaining('2'),
  })
  expect(kept.filter(({ does }) => does === 'asks')).toHaveLength(model.requests.length)
  expect(kept[1]).toMatchObject({ does: 'works', kinds: ['user', 'answer'] })
  // A checkpoint after a tool's result has the files that the tool has written.
  expect(kept.filter(({ kinds }) => kinds.at(-1) === 'result').every(({ files: so }) => so.includes('b.txt'))).toBe(
    true,
  )
})

test('the message of the commit is asked for at the end of the same chain of requests', async () => {
  const { model } = await play([{ calls: [write('b.txt', '1\n')] }, { text: 'Done.' }])
  const sent = model.requests.map(({ messages }) =>
    messages.map(it => JSON.stringify(it.blocks.map(({ ...block }) => block))),
  )
  const [, second = [], third = []] = sent
  expect(third.slice(0, second.length)).toEqual(second)
  expect(third.length).toBe(second.length + 2)
})

const failing = (...failed: string[]) => ({
  ...{ isGood: failed.length === 0, text: failed.map(it => `$ ${it}\n(it ended with 1)`).join('\n'), failed },
  words: failed.length === 0 ? '2 checks passed' : `failed: ${failed.join(', ')}`,
})

test('what fails of the checks is shown once when all is done, and these run again before the commit', async () => {
  const asked: (readonly string[] | undefined)[] = []
  const came = [failing('bun test'), failing()]
  const { session, end, model, events } = await play(
    [
      { calls: [write('b.txt', '1\n')] },
      { text: 'Done.' },
      { calls: [write('b.txt', '2\n')] },
      { text: 'Mended.' },
      { text: 'Write b' },
    ],
    {
      check: async (_, only) => {
        asked.push(only)
        return came.shift()
      },
    },
  )
  expect(asked).toEqual([undefined, ['bun test']])
  expect(kindsOf(session)).toEqual([
    ...(['user', 'answer', 'result', 'file', 'answer', 'checks'] as const),
    ...(['answer', 'result', 'file', 'answer', 'checks', 'end'] as const),
  ])
  const third = JSON.stringify(model.requests[2]?.messages.at(-1))
  expect(third).toContain('[The desk says:] The checks of FORGE.md were run on your changes, and these failed.')
  expect(third).toContain('$ bun test\\n(it ended with 1)')
  expect(end).toMatchObject({ how: 'done', message: 'Write b' })
  expect(events).toContainEqual(expect.objectContaining({ type: 'doing', words: 'Runs the checks of FORGE.md' }))
  // Each request begins with the one before it.
  const sent = model.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -3))
  for (const [at, it] of sent.entries()) if (at > 0) expect(it).toStartWith(sent[at - 1]?.slice(0, -20) ?? '?')
})

test('a model that can not mend what fails is not asked a third time, and the next turn knows of it', async () => {
  const { session, model } = await play(
    [{ calls: [write('b.txt', '1\n')] }, { text: 'Done.' }, { text: 'It was broken before.' }, { text: 'Write b' }],
    { check: async () => failing('bun test') },
  )
  expect(model.requests).toHaveLength(4)
  expect(session.messages.filter(({ kind }) => kind === 'checks')).toMatchObject([
    { isAgain: false },
    { isAgain: true },
  ])
  expect(JSON.stringify(model.requests[3]?.messages)).toContain('These checks of FORGE.md still failed')
})

test('no checks run where nothing has changed', async () => {
  let runs = 0
  const check = async () => {
    runs++
    return failing()
  }
  await play([{ text: 'It is fine.' }], { check })
  expect(runs).toBe(0)
})

test('wrong arguments, an unknown tool and a tool that throws are told to the model, and it goes on', async () => {
  const broken: Tool = {
    description: { name: 'broken', description: 'Throws.', parameters: { type: 'object' } },
    title: () => {
      throw new Error('no title')
    },
    run: async () => {
      throw new TypeError('undefined is no function')
    },
  }
  const { session, end } = await play(
    [
      { calls: [{ name: 'write_file', arguments: 'no object' }, { name: 'launch' }, { name: 'broken' }] },
      { text: 'Well.' },
    ],
    { tools: [...builtInTools(), broken] },
  )
  expect(results(session)).toEqual(['write_file: error', 'launch: error', 'broken: error'])
  expect(end).toMatchObject({ how: 'done' })
})

const ENDLESS: { name: string; script: Script; limits?: Partial<TurnMeans['limits']>; words: string; asked: number }[] =
  [
    { name: 'calls for ever', script: () => ({ calls: [write('b.txt', 'b')] }), words: '20 steps', asked: 20 },
    {
      name: 'calls only what is not there',
      script: () => ({ calls: [{ name: 'launch' }] }),
      words: '8 times',
      asked: 8,
    },
    {
      name: 'never ends an answer',
      script: () => ({ text: 'and', until: new Promise(() => undefined) }),
      limits: { seconds: 0.3 },
      words: 'limit of a turn',
      asked: 1,
    },
    {
      name: 'is too dear',
      script: () => ({ calls: [write('b.txt', 'b')], cost: 3 }),
      words: 'could cost more than $5.00',
      asked: 1,
    },
    {
      name: 'was too dear',
      script: () => ({ calls: [write('b.txt', 'b')], cost: 6 }),
      words: 'It has cost $6.00, more than $5.00',
      asked: 1,
    },
    { name: 'is cut each time', script: () => ({ text: 'and', end: 'length' }), words: 'was cut', asked: 1 },
  ]

for (const { name, script, limits, words, asked } of ENDLESS)
  test(`a model that ${name} comes to an ordinary end`, async () => {
    const { end, model, session } = await play(script, { limits: { steps: 20, seconds: 20, cost: 5, ...limits } })
    expect(end).toMatchObject({ kind: 'end', how: 'limit', words: expect.stringContaining(words) })
    expect(model.requests).toHaveLength(asked)
    const calls = session.messages.flatMap(entry => (entry.kind === 'answer' ? entry.blocks : []))
    expect(results(session)).toHaveLength(calls.filter(({ type }) => type === 'call').length)
  })

for (const { name, summary } of [
  { name: 'a summary', summary: 'It was long.' },
  { name: 'an empty summary', summary: '' },
])
  test(`what ${name} of the older part has cost counts in the turn, and in its limit of money`, async () => {
    const model = 'openai/scripted'
    const before = withEnd(
      withAnswer(
        withUser(newSession(), { turn: 'turn-0', at: 1, text: 'Tell me all.' }, String),
        {
          turn: 'turn-0',
          model,
          answer: { blocks: [{ type: 'text', text: 'word '.repeat(11_000) }], usage: NO_USAGE },
        },
        String,
      ),
      { turn: 'turn-0', at: 2, how: 'done', model, usage: NO_USAGE, seconds: 1 },
      String,
    )
    const paid = { usage: { input: 18_000, output: 20 }, cost: 2 }
    const script = [
      { text: summary, ...paid },
      { text: 'Done.', cost: 1 },
    ]
    const told = await play(script, {}, { before, window: 20_000 })
    expect(told.session.messages.some(({ kind }) => kind === 'summary')).toBe(summary !== '')
    expect(told.end).toMatchObject({ how: 'done', usage: { input: 18_100, output: 30, cost: 3 } })
    expect(usageOf(told.session)).toMatchObject({ input: 18_100, cost: 3 })
    const limited = await play(script, { limits: { steps: 20, seconds: 20, cost: 1 } }, { before, window: 20_000 })
    expect(limited.end).toMatchObject({ how: 'limit', words: expect.stringContaining('It has cost $2.00') })
    expect(limited.model.requests).toHaveLength(1)
  })

test('a turn that is stopped between two tools runs no other, and says so of each', async () => {
  const control = new AbortController()
  const { end, session, files } = await play([{ calls: [write('b.txt', 'b\n'), write('c.txt', 'c\n')] }], {
    signal: control.signal,
    onEvent: event => event.type === 'ran' && control.abort(new Error('You stopped it.')),
  })
  expect(end).toMatchObject({ how: 'stopped', words: 'You stopped it.' })
  expect(results(session)).toEqual(['write_file: fine', 'write_file: error'])
  expect(Object.keys(files)).toEqual(['a.txt', 'b.txt'])
})

test('where nothing can be kept any more, nothing more is asked', async () => {
  const { end, model } = await play(() => ({ calls: [write('b.txt', 'b\n')] }), {
    checkpoint: async () => {
      throw new LimitReached('The disk is full.')
    },
  })
  expect(end).toMatchObject({ words: 'The disk is full.' })
  expect(model.requests).toHaveLength(0)
})

test('secrets are used, and kept nowhere', async () => {
  const { session, files } = await play([
    { text: 'sk-secret', calls: [write('b.txt', 'sk-secret\n')] },
    { text: 'Done.' },
  ])
  expect(files['b.txt']).toBe('sk-secret\n')
  expect(JSON.stringify(session)).not.toContain('sk-secret')
})

test('messages of commits are what git expects', () => {
  expect(cleanMessage('  \n')).toBeUndefined()
  expect(cleanMessage('```\nAdd a lease\n```')).toBe('Add a lease')
  expect(cleanMessage('Add a lease\r\n\r\n\r\n\r\nSince it was missing.  \n')).toBe(
    'Add a lease\n\nSince it was missing.',
  )
  expect(cleanMessage('Add\u001b[31m it')).toBe('Add\\x1b[31m it')
  expect(cleanMessage('Add it\n\nCo-Authored-By: Eve <eve@example.org>\nForge-Model: none')).toBe('Add it')
  expect(cleanMessage('Add it [ci skip]\n\n***NO_CI***')).toBe('Add it (ci skip)\n\n(NO_CI)')
  const long = cleanMessage('word '.repeat(30)) ?? ''
  expect(long.split('\n')[0]?.length).toBeLessThanOrEqual(72)
  expect(long.replaceAll('\n', ' ')).toContain('word '.repeat(30).trimEnd())
})
