/** Turns of an AI on the desk: one commit with code and conversation, or Keep and Discard. */

import { expect, test } from 'bun:test'
import * as v from 'valibot'
import { ModelError } from '../../../../forge/ai/request.ts'
import { addUsage, NO_USAGE } from '../../../../forge/ai/session.ts'
import { openFile } from '../../../../forge/desk/branches/places.ts'
import { Conversation } from '../../../../forge/desk/contract/chat.ts'
import { News } from '../../../../forge/desk/contract/news.ts'
import type { Work } from '../../../../forge/desk/work.ts'
import { ask, conflictsIn, type Desk, edit, makeDesk, textOf } from '../../../support/desk.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, type Script, ScriptedModel, write } from '../../../support/scripted-model.ts'

const onBranch = (branch = 'main') => ({ kind: 'branch', branch }) as const

async function makeChat(script: Script, files: Record<string, string> = { 'a.txt': 'one\n' }) {
  const model = new ScriptedModel(script)
  const desk = await makeDesk({ files, models: modelsOf(model) })
  return { model, desk, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() }
}

/** The message of a promise's error. (Bun's own `rejects` sometimes never returns.) */
const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it was done',
    error => String(error.message),
  )

const turnIn = async (work: Work, branch = 'main') => (await ask(work, 'conversation', { at: onBranch(branch) })).turn

/** The files that the context of the AI has as a whole. */
const contextIn = async (work: Work): Promise<string[]> =>
  (await ask(work, 'conversation', { at: onBranch() })).context.files.map(({ path }) => path)

/** Waits until no turn runs in a branch: it has ended, or waits for an answer. */
async function untilEnded({ work, news }: Desk, branch = 'main'): Promise<Conversation> {
  await until(async () => (await turnIn(work, branch))?.state !== 'running')
  for (const said of news) v.parse(News, said)
  // The reply matches the page's schema.
  return v.parse(Conversation, await ask(work, 'conversation', { at: onBranch(branch) }))
}

async function run(desk: Desk, text = 'Please.', branch = 'main'): Promise<Conversation> {
  await desk.work.chat.turns.send(branch, text)
  return await untilEnded(desk, branch)
}

const endIn = ({ items }: Conversation) => items.findLast(item => item.kind === 'end')

test('a turn is one commit with code, conversation and message', async () => {
  await using chat = await makeChat([
    { text: 'I write it.', calls: [write('a.txt', 'two\n'), write('b.txt', 'new\n')] },
    { text: 'Done.' },
    { text: 'Count further\n\nOne was not enough.' },
  ])
  const { desk, model } = chat
  const said = await run(desk, 'Count further, please.')
  expect(said.turn).toBeUndefined()
  expect(await desk.git('log', '--format=%s|%an|%b', '-1')).toBe(
    `Count further|Ada|One was not enough.\n\nForge-Model: openai/scripted\nForge-Turn: ${endIn(said)?.turn}`,
  )
  expect(await desk.git('diff', '--name-status', 'HEAD~1', 'HEAD')).toBe(
    'A\t.forge/.gitattributes\nA\t.forge/session.json\nM\ta.txt\nA\tb.txt',
  )
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await desk.git('for-each-ref', 'refs/forge/turns')).toBe('')
  expect(model.requests).toHaveLength(3)
  const kinds = said.items.map(item => (item.kind === 'call' ? `${item.call.title} ${item.call.state}` : item.kind))
  expect(kinds).toEqual(['user', 'text', 'write_file a.txt done', 'write_file b.txt done', 'text', 'end'])
  const { commit } = endIn(said) ?? {}
  expect(commit).toMatchObject({ subject: 'Count further', canUndo: true })
  expect(commit?.files).toEqual([
    { path: 'a.txt', status: 'changed', added: 1, deleted: 1 },
    { path: 'b.txt', status: 'added', added: 1, deleted: 0 },
  ])
})

test('a message that does not fit into the window of the model is refused before anything is sent or written', async () => {
  const model = new ScriptedModel([{ text: 'Read.' }], 32_768)
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models: modelsOf(model) })
  const log = 'A line of a log.\n'.repeat(6_500)
  expect(await refusal(desk.work.chat.turns.send('main', log))).toBe(
    'This message is too long for openai/scripted (about 30,695 tokens of the 32,768 of its window, of which a part is for instructions and the answer): shorten it, or save its text as a file of the branch.',
  )
  expect(await turnIn(desk.work)).toBeUndefined()
  expect(await desk.git('for-each-ref', 'refs/forge/turns')).toBe('')
  expect(model.requests).toEqual([])
  expect((await run(desk, log.slice(0, 60_000))).turn).toBeUndefined()
  expect(model.requests).toHaveLength(1)
})

test('the commit of a turn lists a renamed file as such, among others', async () => {
  const rename = { name: 'rename_file', arguments: { from: 'a.txt', to: 'folder/b.txt' } }
  const script = [{ calls: [rename, write('c.txt', 'new\n'), write('z.txt', 'z\n')] }, { text: 'Done.' }]
  await using chat = await makeChat(script, { 'a.txt': 'one\ntwo\n', 'c.txt': 'c\n' })
  expect(endIn(await run(chat.desk))?.commit?.files).toEqual([
    { path: 'c.txt', status: 'changed', added: 1, deleted: 1 },
    { path: 'folder/b.txt', status: 'renamed', added: 0, deleted: 0 },
    { path: 'z.txt', status: 'added', added: 1, deleted: 0 },
  ])
})

test('a turn that changes nothing commits only the conversation', async () => {
  await using chat = await makeChat([{ text: 'It is a text.' }])
  const said = await run(chat.desk, 'What is in a.txt?\nTell me.')
  expect(chat.model.requests).toHaveLength(1)
  expect(await chat.desk.git('log', '--format=%s', '-1')).toBe('chat: What is in a.txt?')
  expect(endIn(said)?.commit?.files).toEqual([])
  expect((await chat.desk.work.describeBranches())[0]).toMatchObject({ session: true })
})

test('while a turn runs its branch is read-only, and shows what the AI writes', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([
    { calls: [write('a.txt', 'two\n'), write('not-open.txt', 'new\n')] },
    { text: 'Now I think', until: gate.promise },
  ])
  const { work, git, news } = chat.desk
  await git('branch', 'other')
  const editor = await edit(work, 'main', 'a.txt')
  await work.chat.turns.send('main', 'Please.')
  await until(async () => (await textOf(work, 'main', 'a.txt')) === 'two\n')
  await until(() => news.some(it => it.say === 'turn' && it.news.is === 'text'))
  const file = await openFile(work.branches, onBranch(), 'a.txt')
  expect(file).toMatchObject({ readOnly: expect.stringContaining('The AI is at work in main') })
  const busy = 'The AI is at work in main'
  expect(await refusal(editor.type('x'))).toContain(busy)
  expect(await refusal(ask(work, 'save', { branch: 'main', paths: 'all' }))).toContain(busy)
  expect(await refusal(ask(work, 'new file', { branch: 'main', path: 'c.txt' }))).toContain(busy)
  expect(await refusal(ask(work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'c.txt' }] }))).toContain(busy)
  expect(await refusal(ask(work, 'delete', { branch: 'main', paths: ['a.txt'] }))).toContain(busy)
  expect(await refusal(ask(work, 'discard', { branch: 'main', paths: ['a.txt'] }))).toContain(busy)
  expect(await refusal(work.renameBranch('main', 'trunk'))).toContain(busy)
  expect(await refusal(work.chat.turns.send('main', 'And this.'))).toContain(busy)
  const there = await edit(work, 'other', 'a.txt')
  await there.type('more\n')
  const why = await refusal(ask(work, 'drafts onto', { branch: 'other', to: 'main' }))
  expect(why).toContain('The AI is at work in main')
  const isOver = () => chat.desk.news.some(it => it.say === 'refusal over' && why.endsWith(it.words))
  await ask(work, 'save', { branch: 'other', paths: 'all' })
  expect((await work.describeBranches()).map(({ name, turn }) => [name, turn])).toEqual([
    ['main', 'running'],
    ['other', undefined],
  ])
  // What it has changed is listed, in files that no window has open, too.
  const changed = async () => (await work.describeBranches()).find(({ name }) => name === 'main')?.changedByAi
  expect(await changed()).toEqual(['a.txt', 'not-open.txt'])
  expect((await ask(work, 'conversation', { at: onBranch() })).items.at(-1)).toMatchObject({
    kind: 'text',
    text: 'Now I ',
  })
  expect(isOver()).toBe(false)
  gate.resolve()
  await untilEnded(chat.desk)
  await until(isOver)
  expect(await openFile(work.branches, onBranch(), 'a.txt')).toMatchObject({
    text: 'two\n',
    saved: 'two\n',
    readOnly: undefined,
  })
  expect(await git('show', 'main:a.txt')).toBe('two')
  expect(await changed()).toBeUndefined()
})

test('unsaved edits prevent a turn', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }])
  await (await edit(chat.desk.work, 'main', 'a.txt')).type('typed\n')
  expect(await refusal(chat.desk.work.chat.turns.send('main', 'Please.'))).toContain('a.txt in main is not saved')
  expect(chat.model.requests).toEqual([])
  await ask(chat.desk.work, 'save', { branch: 'main', paths: 'all' })
  await run(chat.desk)
  expect(chat.model.requests).toHaveLength(1)
})

test('two branches have turns at the same time', async () => {
  const gate = Promise.withResolvers<void>()
  let open = 0
  await using chat = await makeChat(request => {
    const words = JSON.stringify(request.messages)
    const branch = words.includes('in other') ? 'other' : 'main'
    if (words.includes(`Wrote ${branch}.txt`)) return { text: `Do it in ${branch}` }
    if (++open === 2) gate.resolve()
    return { calls: [write(`${branch}.txt`, 'text\n')], until: gate.promise }
  })
  const { desk } = chat
  await desk.git('branch', 'other')
  await Promise.all([
    desk.work.chat.turns.send('main', 'Do it in main'),
    desk.work.chat.turns.send('other', 'Do it in other'),
  ])
  await Promise.all([untilEnded(desk, 'main'), untilEnded(desk, 'other')])
  expect(await desk.git('show', 'main:main.txt')).toBe('text')
  expect(await desk.git('show', 'other:other.txt')).toBe('text')
  expect(await desk.git('ls-tree', '--name-only', 'other')).not.toContain('main.txt')
})

const ENDS: { name: string; script: Script; how: string; words: string }[] = [
  {
    name: 'an error of the provider',
    script: [
      { calls: [write('a.txt', 'two\n')] },
      { text: 'Then I', error: new ModelError('rate', 'Too many requests: wait for 20 seconds, and send it again.') },
    ],
    how: 'failed',
    words: 'wait for 20 seconds',
  },
  {
    name: 'an error that nobody foresaw',
    script: [{ calls: [write('a.txt', 'two\n')] }, { error: new TypeError('x is undefined') }],
    how: 'failed',
    words: 'not expected: x is undefined',
  },
  {
    name: 'a refusal',
    script: [{ calls: [write('a.txt', 'two\n')] }, { text: 'No.', end: 'refused' }],
    how: 'failed',
    words: 'refused',
  },
  {
    name: 'calls for ever',
    script: () => ({ calls: [write('a.txt', 'two\n')] }),
    how: 'limit',
    words: '12 steps',
  },
  {
    name: 'calls of tools that are none',
    script: (_, count) => ({ calls: [count === 1 ? write('a.txt', 'two\n') : { name: 'launch' }] }),
    how: 'limit',
    words: '8 times in a row',
  },
  {
    name: 'an answer that is cut',
    script: [{ calls: [write('a.txt', 'two\n')] }, { text: 'And so on and', end: 'length' }],
    how: 'limit',
    words: 'longer than an answer can be',
  },
  {
    name: 'money',
    script: () => ({ calls: [write('a.txt', 'two\n')], cost: 2 }),
    how: 'limit',
    words: '$5.00',
  },
]

for (const { name, script, how, words } of ENDS)
  test(`${name}: the changes wait, and are kept as drafts or discarded`, async () => {
    await using chat = await makeChat(script)
    const { desk } = chat
    const before = await desk.git('rev-parse', 'main')
    const said = await run(desk)
    expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringContaining(words), files: ['a.txt'] })
    expect(endIn(said)).toMatchObject({ how, words: expect.stringContaining(words) })
    expect(await desk.git('rev-parse', 'main')).toBe(before)
    expect(await refusal(desk.work.chat.turns.send('main', 'Go on.'))).toContain('keep or discard')
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
    await desk.work.chat.turns.end('main', false)
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('one\n')
    expect(await desk.git('rev-parse', 'main')).toBe(before)
    expect((await ask(desk.work, 'conversation', { at: onBranch() })).items).toEqual([])
    // Discarding a turn can be undone.
    await desk.work.undo()
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
    await desk.work.chat.turns.end('main', true)
    expect((await desk.work.describeBranches())[0]).toMatchObject({ drafts: ['a.txt'] })
    expect(await desk.git('show', 'main:a.txt')).toBe('one')
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
    expect(endIn(await ask(desk.work, 'conversation', { at: onBranch() }))).toMatchObject({
      how,
      commit: { files: [] },
    })
    expect(await desk.git('for-each-ref', 'refs/forge/turns')).toBe('')
    // Keeping a turn can be undone, too.
    await desk.work.undo()
    expect(await turnIn(desk.work)).toMatchObject({ state: 'unfinished', files: ['a.txt'] })
    expect((await desk.work.describeBranches())[0]).toMatchObject({ drafts: [], changedByAi: ['a.txt'], tip: before })
    await desk.work.redo()
    expect((await desk.work.describeBranches())[0]).toMatchObject({ drafts: ['a.txt'] })
    expect(await turnIn(desk.work)).toBeUndefined()
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
  })

test('a save that is asked for as soon as the drafts of Keep are shown saves them', async () => {
  await using chat = await makeChat([
    { calls: [write('a.txt', 'two\n')] },
    { error: new ModelError('key', 'The key was refused.') },
  ])
  const { desk } = chat
  await run(desk)
  const saved = Promise.withResolvers<unknown>()
  const tell = desk.news.push.bind(desk.news)
  desk.news.push = (...said) => {
    if (said.some(({ say }) => say === 'branch'))
      saved.resolve(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))
    return tell(...said)
  }
  await Promise.all([desk.work.chat.turns.end('main', true), saved.promise])
  expect(await desk.git('show', 'main:a.txt')).toBe('two')
  expect((await desk.work.describeBranches())[0]).toMatchObject({ drafts: [] })
})

test('after a failed turn that changed nothing the files can be edited and saved, also after a restart', async () => {
  await using chat = await makeChat([{ error: new ModelError('key', 'The key was refused.') }])
  const { desk } = chat
  const said = await run(desk)
  expect(said.turn).toMatchObject({ state: 'unfinished', words: 'The key was refused.', files: [] })
  await (await edit(desk.work, 'main', 'a.txt')).type('typed\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toBe('one\ntyped')
  expect(await refusal(desk.work.renameBranch('main', 'other'))).toContain('keep or discard')

  await desk.restart()
  expect(await turnIn(desk.work)).toMatchObject({ state: 'unfinished', files: [] })
  await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
  await desk.work.chat.turns.end('main', true)
  expect(await turnIn(desk.work)).toBeUndefined()
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('one\ntyped\nmore\n')
  expect(endIn(await ask(desk.work, 'conversation', { at: onBranch() }))).toMatchObject({ how: 'failed' })
})

test('a stopped turn keeps the answer so far', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'I wonder', until: never }])
  const { work, news } = chat.desk
  await work.chat.turns.send('main', 'Please.')
  await until(() => news.some(it => it.say === 'turn' && it.news.is === 'text'))
  work.chat.turns.stop('main')
  const said = await untilEnded(chat.desk)
  expect(said.turn).toMatchObject({ state: 'unfinished', words: 'You stopped it.' })
  expect(said.items.slice(-2)).toMatchObject([
    { kind: 'text', text: 'I wonder' },
    { kind: 'end', how: 'stopped' },
  ])
})

test('a turn that is stopped while its commit message is written waits, and is not committed', async () => {
  const script = [{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }, { text: 'Subject', until: never }]
  await using chat = await makeChat(script, { 'a.txt': 'one\n' })
  const { model, desk } = chat
  const tip = await desk.git('rev-parse', 'main')
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => model.requests.length === 3)
  desk.work.chat.turns.stop('main')
  const said = await untilEnded(desk)
  expect(said.turn).toMatchObject({ state: 'unfinished', words: 'You stopped it.', files: ['a.txt'] })
  expect(await desk.git('rev-parse', 'main')).toBe(tip)
})

const never = new Promise<void>(() => undefined)

const SILENT: Record<string, Script> = {
  'an empty answer': [{}],
  'an answer that is only thought': [{ reasoning: 'I wonder' }],
  'an empty answer after a look at a file': [{ calls: [{ name: 'get_lines', arguments: { path: 'a.txt' } }] }, {}],
}
for (const [what, script] of Object.entries(SILENT))
  test(`a turn with ${what} has failed, and is not asked again`, async () => {
    await using chat = await makeChat(script)
    const said = await run(chat.desk)
    const words = 'The model’s answer was empty: send the message again, or choose another model.'
    expect(endIn(said)).toMatchObject({ how: 'failed', words })
    expect(said.turn).toMatchObject({ state: 'unfinished', words })
    expect(chat.model.requests).toHaveLength(script.length)
    expect(await chat.desk.git('log', '--format=%s')).toBe('Begin')
  })

test('a turn that has changed files is committed, also where the model’s last answer is empty', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, {}])
  expect(endIn(await run(chat.desk))).toMatchObject({ how: 'done', commit: { subject: 'Do what was asked' } })
})

test('without a message from the model, the commit is named after its changes', async () => {
  await using chat = await makeChat([
    { calls: [write('a.txt', 'two\n')] },
    { text: 'Done.' },
    { error: new ModelError('overloaded', 'It is overloaded.') },
  ])
  const said = await run(chat.desk)
  expect(endIn(said)).toMatchObject({ how: 'done', commit: { subject: 'edit: a.txt' } })
})

test('a branch that moves during a turn keeps its new commits, with the turn on top', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.', until: gate.promise }])
  const { desk } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(async () => (await textOf(desk.work, 'main', 'a.txt')) === 'two\n')
  await commitElsewhere(desk, 'b.txt', 'theirs\n')
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.turn).toBeUndefined()
  expect(await desk.git('show', 'main:a.txt')).toBe('two')
  expect(await desk.git('show', 'main:b.txt')).toBe('theirs')
  expect(await desk.git('log', '--format=%s', '-2', 'main')).toBe('Do what was asked\nElsewhere')
})

test('a turn in conflict with new commits waits for a decision', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.', until: gate.promise }])
  const { desk } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(async () => (await textOf(desk.work, 'main', 'a.txt')) === 'two\n')
  await commitElsewhere(desk, 'a.txt', 'theirs\n')
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringContaining('was moved meanwhile') })
  expect(await desk.git('show', 'main:a.txt')).toBe('theirs')
  await desk.work.chat.turns.end('main', true)
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([
    { path: 'a.txt', base: 'one\n', draft: 'two\n', tip: 'theirs\n' },
  ])
})

test('nothing is lost if a branch is deleted during its turn', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.', until: gate.promise }])
  const { desk } = chat
  await desk.git('branch', 'other')
  await desk.work.chat.turns.send('other', 'Please.')
  await until(async () => (await textOf(desk.work, 'other', 'a.txt')) === 'two\n')
  await desk.git('branch', '-D', 'other')
  gate.resolve()
  const said = await untilEnded(desk, 'other')
  expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringContaining('was deleted') })
  await desk.restart()
  expect(await turnIn(desk.work, 'other')).toMatchObject({ state: 'unfinished', files: ['a.txt'] })
  await ask(desk.work, 'restore branch', { branch: 'other' })
  await desk.work.chat.turns.end('other', true)
  expect(await textOf(desk.work, 'other', 'a.txt')).toBe('two\n')
})

test('a turn sent under the old name of a branch runs in the renamed one', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ text: 'Now I think', until: gate.promise }])
  const { work, git } = chat.desk
  await git('branch', 'old')
  await textOf(work, 'old', 'a.txt')
  await work.renameBranch('old', 'new')
  await work.chat.turns.send('old', 'Please.')
  expect((await work.describeBranches()).map(({ name, turn }) => [name, turn])).toEqual([
    ['main', undefined],
    ['new', 'running'],
  ])
  expect(await refusal(work.chat.turns.send('new', 'And this.'))).toContain('The AI is at work in new')
  gate.resolve()
  await untilEnded(chat.desk, 'new')
  expect(await git('log', '--format=%s', '-1', 'new')).toBe('chat: Please.')
})

test('undoing the creation of a branch is refused while an AI works in it', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ text: 'Now I think', until: gate.promise }])
  const { work, git } = chat.desk
  const base = await git('rev-parse', 'main')
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await ask(work, 'drafts elsewhere', { branch: 'main', from: base, to: 'mine' })
  const [made] = await ask(work, 'operations', { from: 0, count: 1 })
  await ask(work, 'discard', { branch: 'mine', paths: ['a.txt'] })
  await work.chat.turns.send('mine', 'Please.')
  expect(await refusal(work.undo(made?.id))).toContain('The AI is at work in mine')
  expect(await git('rev-parse', 'mine')).toBe(base)
  gate.resolve()
  await untilEnded(chat.desk, 'mine')
})

test.each([
  ['', false],
  [' while no desk runs', true],
])(
  'a turn that waits goes with its branch where git branch -m renames it%s, and can be kept there',
  async (_, isAway) => {
    await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
    const { desk } = chat
    await run(desk)
    if (isAway) await desk.work[Symbol.asyncDispose]()
    await desk.git('branch', '-m', 'main', 'trunk')
    if (isAway) await desk.restart()
    else await desk.work.look()
    expect(desk.news).toContainEqual({ say: 'renamed', branch: 'main', to: 'trunk' })
    expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/turns')).toBe('refs/forge/turns/trunk')
    expect((await ask(desk.work, 'conversation', { at: onBranch('trunk') })).turn).toMatchObject({
      state: 'unfinished',
      files: ['a.txt'],
    })
    expect(await openFile(desk.work.branches, onBranch('trunk'), 'a.txt')).toMatchObject({
      text: 'two\n',
      readOnly: expect.stringContaining('in trunk did not end well'),
    })
    await desk.work.chat.turns.end('trunk', true)
    expect(await desk.work.draftsIn('trunk')).toEqual(['a.txt'])
    expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/turns')).toBe('')
    await desk.work.undo(undefined, 'trunk')
    await desk.work.chat.turns.end('trunk', false)
    await desk.work.renameBranch('trunk', 'main')
    expect(await desk.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
  },
)

const turnRefs = ({ git }: Desk) => git('for-each-ref', '--format=%(refname)', 'refs/forge/turns')

test.each([
  'trunk',
  // Git can't have refs of both names at the same time.
  'main/new',
])(
  'a turn that runs goes on under the new name %s where git branch -m renames its branch, and ends there',
  async to => {
    const gate = Promise.withResolvers<void>()
    await using chat = await makeChat([
      { calls: [write('a.txt', 'two\n')] },
      { text: 'Now I think', until: gate.promise, calls: [write('b.txt', 'new\n')] },
      { text: 'Done.' },
      { text: 'Count further' },
    ])
    const { desk } = chat
    const { work, git } = desk
    await work.chat.turns.send('main', 'Please.')
    await until(async () => (await textOf(work, 'main', 'a.txt')) === 'two\n')
    await git('branch', '-m', 'main', to)
    await work.look()
    expect(desk.news).toContainEqual({ say: 'renamed', branch: 'main', to })
    expect(await turnRefs(desk)).toBe(`refs/forge/turns/${to}`)
    expect((await work.describeBranches()).map(({ name, turn }) => [name, turn])).toEqual([[to, 'running']])
    expect(await openFile(work.branches, onBranch(to), 'a.txt')).toMatchObject({
      text: 'two\n',
      readOnly: expect.stringContaining(`The AI is at work in ${to}`),
    })
    expect(await refusal(work.undo(undefined, to))).toContain(`The AI is at work in ${to}`)
    gate.resolve()
    const said = await untilEnded(desk, to)
    expect(said.turn).toBeUndefined()
    expect(await git('log', '--format=%s', '-1', to)).toBe('Count further')
    expect(await git('show', `${to}:b.txt`)).toBe('new')
    expect(await turnRefs(desk)).toBe('')
    await (await edit(work, to, 'a.txt')).type('typed\n')
    await ask(work, 'discard', { branch: to, paths: ['a.txt'] })
    await work.chat.undoTurn(to, endIn(said)?.turn ?? '')
    expect(await git('show', `${to}:a.txt`)).toBe('one')
  },
)

test('a turn whose branch git branch -m renames while it runs can be stopped there, and kept', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { until: new Promise(() => undefined) }])
  const { desk } = chat
  const { work, git } = desk
  await work.chat.turns.send('main', 'Please.')
  await until(async () => (await textOf(work, 'main', 'a.txt')) === 'two\n')
  await git('branch', '-m', 'main', 'trunk')
  await work.look()
  work.chat.turns.stop('trunk')
  expect((await untilEnded(desk, 'trunk')).turn).toMatchObject({ state: 'unfinished', files: ['a.txt'] })
  await work.chat.turns.end('trunk', true)
  expect(await work.draftsIn('trunk')).toEqual(['a.txt'])
  expect(await turnRefs(desk)).toBe('')
})

test('a turn that ends just when git branch -m renames its branch is committed under the new name', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.', until: gate.promise }])
  const { desk } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => chat.model.requests.length === 2)
  await desk.git('branch', '-m', 'main', 'trunk')
  gate.resolve()
  await until(() => desk.news.some(({ say }) => say === 'renamed'))
  expect((await untilEnded(desk, 'trunk')).turn).toBeUndefined()
  expect(await desk.git('show', 'trunk:a.txt')).toBe('two')
})

test('a turn writes its steps while git branch -m renames its branch again and again', async () => {
  const renames = 12
  let isRenamed = false
  const model = new ScriptedModel((_, count) =>
    isRenamed ? { text: 'Done.' } : { calls: [write('a.txt', `${count}\n`)] },
  )
  const models = modelsOf(model, { limits: { steps: 1000, seconds: 300, cost: 5 } })
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models })
  await desk.work.chat.turns.send('main', 'Please.')
  for (let at = 0; at < renames; at++) {
    const before = model.requests.length
    await desk.git('branch', '-m', `name-${at}`)
    await desk.work.look()
    await until(() => model.requests.length > before)
    expect(await turnRefs(desk)).toBe(`refs/forge/turns/name-${at}`)
  }
  isRenamed = true
  expect((await untilEnded(desk, `name-${renames - 1}`)).turn).toBeUndefined()
  expect(await turnRefs(desk)).toBe('')
  expect(desk.news.filter(({ say }) => say === 'notice')).toEqual([])
})

test('a branch whose turn another desk has ended can be edited again', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
  const { desk } = chat
  await run(desk)
  await desk.work.chat.turns.in('main')?.done
  await desk.git('update-ref', '-d', 'refs/forge/turns/main')
  expect(await refusal(desk.work.chat.turns.end('main', true))).toContain('refs/forge/turns/main')
  expect(await turnIn(desk.work)).toBeUndefined()
  await (await edit(desk.work, 'main', 'a.txt')).type('typed\n')
})

/** A commit by another program that adds or changes a file, without a checkout. */
async function commitElsewhere({ git, path }: Desk, file: string, content: string, branch = 'main') {
  const blob = (await Bun.$`printf %s ${content} | git -C ${path} hash-object -w --stdin`.text()).trim()
  const env = { ...process.env, GIT_INDEX_FILE: `${path}/.git/elsewhere` }
  await Bun.$`git -C ${path} read-tree ${branch}`.env(env).quiet()
  await Bun.$`git -C ${path} update-index --add --cacheinfo 100644,${blob},${file}`.env(env).quiet()
  const tree = (await Bun.$`git -C ${path} write-tree`.env(env).text()).trim()
  const commit = await git('commit-tree', tree, '-p', branch, '-m', 'Elsewhere')
  await git('update-ref', `refs/heads/${branch}`, commit)
}

test('undo reverts a turn, and redo restores it', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }])
  const { desk } = chat
  const said = await run(desk)
  await desk.work.chat.undoTurn('main', endIn(said)?.turn ?? '')
  expect(await desk.git('show', 'main:a.txt')).toBe('one')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('one\n')
  expect((await ask(desk.work, 'conversation', { at: onBranch() })).items).toEqual([])
  expect((await desk.work.describeBranches())[0]?.drafts).toEqual([])
  await desk.work.redo()
  expect(await desk.git('show', 'main:a.txt')).toBe('two')
})

test('undo of a turn that was kept takes its changes out of the drafts, and the turn waits again', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
  const { desk } = chat
  await run(desk)
  await desk.work.chat.turns.end('main', true)
  const kept = endIn(await ask(desk.work, 'conversation', { at: onBranch() }))
  expect(kept).toMatchObject({ commit: { files: [], canUndo: true } })
  expect(await desk.work.draftsIn('main')).toEqual(['a.txt'])
  await desk.work.chat.undoTurn('main', kept?.turn ?? '')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
  expect(await turnIn(desk.work)).toMatchObject({ state: 'unfinished' })
  await desk.work.chat.turns.end('main', false)
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('one\n')
  expect(await desk.work.draftsIn('main')).toEqual([])
})

test('the discard of a turn is what Undo takes back in its branch, unless there is another turn', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
  const { desk, model } = chat
  const undoIn = (branch: string) => ask(desk.work, 'undo', { branch })
  await run(desk)
  await desk.work.chat.turns.end('main', false)
  expect((await desk.work.undoableInBranches()).get('main')).toMatchObject({
    undo: 'discard what scripted did in main',
  })
  await undoIn('main')
  expect(await turnIn(desk.work)).toMatchObject({ state: 'unfinished', files: ['a.txt'] })
  await ask(desk.work, 'redo', { branch: 'main' })
  expect(await turnIn(desk.work)).toBeUndefined()
  model.play([{ calls: [write('a.txt', 'three\n')] }, { error: new Error('It broke') }])
  await run(desk)
  expect(await refusal(undoIn('main'))).toBe(
    'There is another turn of the AI in main: nothing was undone. Wait until it has ended, or keep or discard it first.',
  )
})

test('a file that a kept turn has renamed is one renamed draft: it is saved with both of its paths', async () => {
  const lines = 'one\ntwo\nthree\nfour\nfive\nsix\n'
  const rename = { name: 'rename_file', arguments: { from: 'a.txt', to: 'b.txt' } }
  await using chat = await makeChat([{ calls: [rename] }, { error: new Error('It broke') }], {
    'a.txt': lines,
    'c.txt': 'c\n',
  })
  const { work, git, news } = chat.desk
  await edit(work, 'main', 'a.txt')
  const renames = () => news.flatMap(it => (it.say === 'renamed file' ? [`${it.from} ${it.to}`] : []))
  const info = async () => (await work.describeBranches())[0]
  expect((await run(chat.desk)).turn).toMatchObject({ files: ['a.txt', 'b.txt'], renamed: ['a.txt'] })
  expect((await info())?.changedByAi).toEqual(['b.txt'])
  await work.chat.turns.end('main', true)
  expect((await info())?.drafts).toEqual(['b.txt'])
  expect(renames()).toEqual(['a.txt b.txt'])
  await (await edit(work, 'main', 'b.txt')).type('typed\n')
  await (await edit(work, 'main', 'c.txt')).type('typed\n')

  // What was typed since is there again after an undo and a redo, and the rename still is one.
  const undone = await ask(work, 'undo', { branch: 'main' })
  expect(undone.words).toContain('what was typed in b.txt, c.txt is kept')
  expect(await textOf(work, 'main', 'b.txt')).toBe(lines)
  expect(renames().at(-1)).toBe('a.txt b.txt')
  await ask(work, 'redo', { branch: 'main' })
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'b.txt')).toBe(`${lines}typed\n`)
  expect((await info())?.drafts).toEqual(['b.txt', 'c.txt'])

  await ask(work, 'save', { branch: 'main', paths: ['b.txt'] })
  expect(await git('log', '-1', '--format=%s', '-M', '--name-status', 'main')).toMatch(
    /^rename: a.txt → b.txt\n\nR\d+\ta.txt\tb.txt$/,
  )
})

test('what a turn has cost stays in the sum when the turn is discarded or undone', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
  const { desk, model } = chat
  // The usage of all turns is without that of a waiting one.
  const usageIn = ({ usage, turn }: Conversation) => addUsage(usage, turn?.usage ?? NO_USAGE)
  const usage = async () => usageIn(await ask(desk.work, 'conversation', { at: onBranch() }))
  const first = usageIn(await run(desk))
  expect(first.input).toBeGreaterThan(0)
  await desk.work.chat.turns.end('main', false)
  expect(await usage()).toEqual(first)
  await desk.work.undo()
  await until(async () => (await turnIn(desk.work)) !== undefined)
  expect(await usage()).toEqual(first)
  await desk.work.chat.turns.end('main', false)
  model.play([{ text: 'Done.' }])
  const both = await run(desk)
  expect(both.usage.input).toBeGreaterThan(first.input)
  await desk.work.chat.undoTurn('main', endIn(both)?.turn ?? '')
  expect(await usage()).toEqual(both.usage)
  await desk.restart()
  expect(await usage()).toEqual(both.usage)
  await desk.work.renameBranch('main', 'renamed')
  expect((await ask(desk.work, 'conversation', { at: onBranch('renamed') })).usage).toEqual(both.usage)
})

test('of a kept turn whose commit was moved outside the desk, undo says that the commit has no file', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { error: new Error('It broke') }])
  const { desk } = chat
  await run(desk)
  await desk.work.chat.turns.end('main', true)
  const { turn = '' } = endIn(await ask(desk.work, 'conversation', { at: onBranch() })) ?? {}
  await commitElsewhere(desk, 'b.txt', 'b')
  await desk.work.look()
  expect(await refusal(desk.work.chat.undoTurn('main', turn))).toContain('has only the conversation')
})

test('a turn is undone without a new commit while its commit is the newest one, however it became that', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }], { 'a.txt': 'one\n' })
  const { desk } = chat
  const before = await desk.git('rev-parse', 'main')
  const turn = endIn(await run(desk))?.turn ?? ''
  const after = await desk.git('rev-parse', 'main')
  await desk.work.chat.undoTurn('main', turn)
  await ask(desk.work, 'redo', { branch: 'main' })
  expect(await desk.git('rev-parse', 'main')).toBe(after)
  await desk.work.chat.undoTurn('main', turn)
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  await ask(desk.work, 'redo', { branch: 'main' })
  // A later commit, which is undone.
  await (await edit(desk.work, 'main', 'a.txt')).type('more\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await ask(desk.work, 'undo', { branch: 'main' })
  await ask(desk.work, 'discard', { branch: 'main', paths: ['a.txt'] })
  await desk.work.chat.undoTurn('main', turn)
  expect(await desk.git('rev-parse', 'main')).toBe(before)
})

test('a turn with later work on top is reverted by a commit, if possible', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }], {
    'a.txt': 'one\n',
    'b.txt': 'b\n',
  })
  const { desk } = chat
  const turn = endIn(await run(desk))?.turn ?? ''
  await (await edit(desk.work, 'main', 'b.txt')).type('more\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await (await edit(desk.work, 'main', 'b.txt')).type('typed\n')
  await desk.work.chat.undoTurn('main', turn)
  expect(await desk.git('log', '--format=%s', '-1', 'main')).toBe('Undo: Do what was asked')
  expect(await desk.git('show', 'main:a.txt')).toBe('one')
  expect(await textOf(desk.work, 'main', 'b.txt')).toBe('b\nmore\ntyped\n')
  expect(endIn(await ask(desk.work, 'conversation', { at: onBranch() }))).toMatchObject({
    commit: { canUndo: false, why: 'It was taken back.' },
  })
  expect(await refusal(desk.work.chat.undoTurn('main', turn))).toContain('taken back already')
})

test('a turn whose lines were changed since is not reverted', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }])
  const { desk } = chat
  const turn = endIn(await run(desk))?.turn ?? ''
  await (await edit(desk.work, 'main', 'a.txt')).type('three\n', 0, 4)
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const before = await desk.git('rev-parse', 'main')
  expect(await refusal(desk.work.chat.undoTurn('main', turn))).toContain(
    'Later work has changed the same places in a.txt',
  )
  expect(await desk.git('rev-parse', 'main')).toBe(before)
})

test('the refusal to revert a turn names the first of many files that were changed since', async () => {
  const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
  await using chat = await makeChat(
    [{ calls: names.map(name => write(name, 'two\n')) }, { text: 'Done.' }],
    Object.fromEntries(names.map(name => [name, 'one\n'])),
  )
  const { desk } = chat
  const turn = endIn(await run(desk))?.turn ?? ''
  for (const name of names) await (await edit(desk.work, 'main', name)).type('three\n', 0, 4)
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await refusal(desk.work.chat.undoTurn('main', turn))).toBe(
    'Later work has changed the same places in a.txt, b.txt, c.txt and 1 more: nothing was undone. Undo that first, or ask for it in the chat.',
  )
})

test('a commit has the conversation up to it, and a branch from there continues it', async () => {
  await using chat = await makeChat([{ text: 'First.' }, { text: 'Second.' }, { text: 'Third.' }])
  const { desk } = chat
  await run(desk, 'One?')
  const commit = await desk.git('rev-parse', 'main')
  await run(desk, 'Two?')
  const then = await ask(desk.work, 'conversation', { at: { kind: 'commit', commit } })
  expect(then.items.flatMap(item => (item.kind === 'user' ? [item.text] : []))).toEqual(['One?'])
  expect(endIn(then)).toMatchObject({ commit: { oid: commit, canUndo: false } })
  await ask(desk.work, 'new branch', { branch: 'fork', from: commit })
  const said = await run(desk, 'Three?', 'fork')
  expect(said.items.flatMap(item => (item.kind === 'user' ? [item.text] : []))).toEqual(['One?', 'Three?'])
  expect(JSON.stringify(chat.model.requests.at(-1)?.messages)).toContain('First.')
  expect(JSON.stringify(chat.model.requests.at(-1)?.messages)).not.toContain('Second.')
})

test('a desk closed during a turn has it again, and sends no request by itself', async () => {
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'I wonder', until: never }])
  const { desk, model } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => desk.news.some(it => it.say === 'turn' && it.news.is === 'text'))
  await desk.restart()
  expect(await turnIn(desk.work)).toMatchObject({
    state: 'unfinished',
    words: 'The desk was closed while it ran.',
    files: ['a.txt'],
  })
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('two\n')
  expect(model.requests).toHaveLength(2)
})

test('secrets are in no commit', async () => {
  await using chat = await makeChat([
    { text: 'It is sk-secret.', calls: [{ name: 'nothing', arguments: ['sk-secret'] }] },
  ])
  await run(chat.desk, 'Use sk-secret.')
  expect(await chat.desk.git('show', 'main:.forge/session.json')).toContain('[secret]')
  expect(await chat.desk.git('log', '-p', '--all', '--format=%B')).not.toContain('sk-secret')
})

test('a merge by plain git keeps the conversation of the target branch', async () => {
  await using chat = await makeChat(() => ({ text: 'Yes.' }))
  const { desk } = chat
  await run(desk, 'Zero?')
  await desk.git('branch', 'other')
  await run(desk, 'One?')
  await run(desk, 'Two?', 'other')
  const own = await desk.git('rev-parse', 'main:.forge/session.json')
  await desk.git('merge', '-q', '-m', 'Merge', 'other')
  expect(await desk.git('rev-parse', 'main:.forge/session.json')).toBe(own)
})

test('the chosen context and model survive a restart, and apply to the next turn', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }])
  const { desk } = chat
  await desk.work.chat.setContext('main', 'a.txt', true)
  await desk.work.chat.chooseModel('main', 'openai/scripted')
  await desk.restart()
  await run(desk)
  expect(JSON.stringify(chat.model.requests[0]?.messages)).toContain('one\\n')
  expect(await desk.git('show', 'main:.forge/session.json')).toContain('"a.txt"')
})

test('the context that was chosen for a message is chosen again after the undo of its turn, also after a restart', async () => {
  await using chat = await makeChat([{ calls: [write('b.txt', 'new\n')] }, { text: 'Done.' }, { text: 'Add b' }])
  const { desk } = chat
  await desk.work.chat.setContext('main', 'a.txt', true)
  const said = await run(desk)
  await until(() => desk.work.chat.choices.wishesIn('main').whole['a.txt'] === undefined)
  const work = await desk.restart()
  await work.chat.undoTurn('main', endIn(said)?.turn ?? '')
  await until(async () => (await contextIn(work)).includes('a.txt'))
})

test('the context that was chosen for a message is chosen again where its turn is the last operation that is undone', async () => {
  await using chat = await makeChat([{ calls: [write('b.txt', 'new\n')] }, { text: 'Done.' }, { text: 'Add b' }])
  const { work } = chat.desk
  await work.chat.setContext('main', 'a.txt', true)
  await run(chat.desk)
  await until(() => work.chat.choices.wishesIn('main').whole['a.txt'] === undefined)
  expect((await work.undo(undefined, 'main')).withoutTurn).toBe('main')
  await until(async () => (await contextIn(work)).includes('a.txt'))
  expect((await work.redo('main')).withoutTurn).toBeUndefined()
})

test('the context that was chosen for a message is chosen still when its turn is discarded', async () => {
  await using chat = await makeChat([{ error: new ModelError('key', 'The key was refused.') }])
  const { work } = chat.desk
  await work.chat.setContext('main', 'a.txt', true)
  await run(chat.desk)
  await work.chat.turns.end('main', false)
  await until(async () => (await contextIn(work)).includes('a.txt'))
})

test('choices in a branch stay with it when it is renamed, also when that is undone', async () => {
  await using chat = await makeChat([])
  const { work, git } = chat.desk
  await git('branch', 'old')
  await work.chat.setContext('old', 'a.txt', true)
  await work.renameBranch('old', 'new')
  expect(work.chat.choices.wishesIn('new').whole).toEqual({ 'a.txt': true })
  await work.undo()
  expect(work.chat.choices.wishesIn('old').whole).toEqual({ 'a.txt': true })
  await work.redo()
  expect(work.chat.choices.wishesIn('new').whole).toEqual({ 'a.txt': true })
  expect(work.chat.choices.wishesIn('old').whole).toEqual({})
})

test('choices in a branch go with it where git branch -m renames it', async () => {
  await using chat = await makeChat([])
  const { work, git } = chat.desk
  await git('branch', 'old')
  await work.look()
  await work.chat.setContext('old', 'a.txt', true)
  await work.chat.choices.chooseModel('old', 'openai/other')
  await git('branch', '-m', 'old', 'new')
  await work.look()
  expect((await ask(work, 'conversation', { at: onBranch('new') })).model).toBe('openai/other')
  expect(work.chat.choices.wishesIn('new')).toEqual({ model: 'openai/other', whole: { 'a.txt': true } })
  expect(work.chat.choices.wishesIn('old')).toEqual({ whole: {} })
})

test('in an empty repository, a turn makes the first commit', async () => {
  const model = new ScriptedModel([{ calls: [write('a.txt', 'one\n')] }, { text: 'Done.' }])
  await using desk = await makeDesk({ models: modelsOf(model) })
  await run(desk)
  expect(await desk.git('show', 'main:a.txt')).toBe('one')
  await desk.work.undo()
  expect(await desk.git('for-each-ref', 'refs/heads')).toBe('')
})

test('without a key the chat says what to set, and the rest works', async () => {
  const model = new ScriptedModel([])
  const missing = 'Set ANTHROPIC_API_KEY.'
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, models: modelsOf(model, { missing: () => missing }) })
  expect(await ask(desk.work, 'conversation', { at: onBranch() })).toMatchObject({ missing, items: [] })
  expect(await refusal(desk.work.chat.turns.send('main', 'Please.'))).toContain(missing)
  await (await edit(desk.work, 'main', 'a.txt')).type('typed\n')
  expect((await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit).toBeString()
})

// --- Tools of the repository ---

const SHOUT = `export const schema = {
  name: 'shout',
  description: 'Writes a file in capitals.',
  properties: { path: { type: 'string' } },
  required: ['path'],
}
export async function execute(vfs, { path }) {
  await vfs.writeFile(path, (await vfs.readFile(path)).toUpperCase())
  return 'It is loud now.'
}
`
const shout = { name: 'shout', arguments: { path: 'a.txt' } }

test('a tool of the repository waits for approval, and asks only once', async () => {
  await using chat = await makeChat([{ calls: [shout] }, { text: 'Done.' }, { text: 'Shout' }], {
    'a.txt': 'one\n',
    'tools/shout.ts': SHOUT,
  })
  const { desk } = chat
  const said = await run(desk)
  expect(said.turn).toMatchObject({ state: 'waits' })
  expect((await desk.work.describeBranches())[0]).toMatchObject({ turn: 'waits' })
  const [question] = said.approvals
  expect(question).toMatchObject({ path: 'tools/shout.ts', source: SHOUT })
  expect(said.items.at(-1)).toMatchObject({ kind: 'call', call: { id: question?.call, state: 'waits' } })
  expect(() => desk.work.chat.turns.approve('main', 'tools/shout.ts', '0'.repeat(40), true)).toThrow('look at it again')
  desk.work.chat.turns.approve('main', 'tools/shout.ts', question?.oid ?? '', true)
  await until(async () => (await turnIn(desk.work)) === undefined)
  expect(await desk.git('show', 'main:a.txt')).toBe('ONE')
  expect(await desk.git('diff', '--name-only', 'main~1', 'main')).toContain('.forge/approved_tools.json')
  chat.model.play([{ calls: [shout] }, { text: 'Done.' }])
  expect((await run(desk)).turn).toBeUndefined()
}, 120_000)

test('a tool that is not approved does not run, and the model is told', async () => {
  await using chat = await makeChat([{ calls: [shout] }, { text: 'Then not.' }], {
    'a.txt': 'one\n',
    'tools/shout.ts': SHOUT,
  })
  const { desk } = chat
  const { approvals } = await run(desk)
  desk.work.chat.turns.approve('main', 'tools/shout.ts', approvals[0]?.oid ?? '', false)
  await until(async () => (await turnIn(desk.work)) === undefined)
  const { items } = await ask(desk.work, 'conversation', { at: onBranch() })
  expect(items.find(item => item.kind === 'call')).toMatchObject({
    call: { state: 'failed', result: expect.stringContaining('has not approved') },
  })
  expect(await desk.git('show', 'main:a.txt')).toBe('one')
}, 120_000)

// --- A stranger's conversation ---

test('an unreadable conversation is kept beside a new one, with a notice', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }], { 'a.txt': 'one\n', '.forge/session.json': '{"version": 99' })
  const { desk } = chat
  const before = await ask(desk.work, 'conversation', { at: onBranch() })
  expect(before.items).toMatchObject([{ kind: 'note', isBad: true }])
  const said = await run(desk)
  expect(said.items.map(({ kind }) => kind)).toEqual(['user', 'text', 'end'])
  expect(await desk.git('show', 'main:.forge/session-unreadable-1.json')).toBe('{"version": 99')
})

test('a model’s commit message can’t forge a trailer, nor mention or link anything', async () => {
  const message = `Make it\u0007 good [skip ci] ${'and long '.repeat(20)}\n\nSince.\n\nForge-Turn: other\nSigned-off-by: Eve`
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }, { text: message }])
  const said = await run(chat.desk)
  const whole = await chat.desk.git('log', '--format=%B', '-1')
  expect(whole.split('\n')[0]?.length).toBeLessThanOrEqual(72)
  expect(whole).not.toMatch(/\p{Cc}(?<!\n)|\[skip ci\]|Eve|other/u)
  expect(endIn(said)?.commit?.subject).toStartWith('Make it')
})

test('the explorer shows how the AI’s context contains each file', async () => {
  await using chat = await makeChat([], { 'a.txt': 'one\n', 'b.txt': 'two\n' })
  const { work } = chat.desk
  await work.chat.setContext('main', 'a.txt', true)
  await until(async () => (await work.chat.conversations.circlesIn('main', ['a.txt'])).size > 0)
  expect([...(await work.chat.conversations.circlesIn('main', ['a.txt', 'b.txt']))]).toEqual([
    ['a.txt', 'whole'],
    ['b.txt', 'summary'],
  ])
  expect((await ask(work, 'conversation', { at: onBranch() })).context).toMatchObject({
    of: 200_000,
    files: [{ path: 'a.txt' }],
  })
})

test('a model named only by a stranger’s conversation is not used', async () => {
  const session = { version: 1, model: 'openai/dear', active_files: [], messages: [] }
  await using chat = await makeChat([{ text: 'Yes.' }], {
    'a.txt': 'one\n',
    '.forge/session.json': JSON.stringify(session),
  })
  const { work } = chat.desk
  expect(await ask(work, 'conversation', { at: onBranch() })).toMatchObject({ model: 'openai/scripted' })
  await work.chat.chooseModel('main', 'openai/dear')
  expect(await ask(work, 'conversation', { at: onBranch() })).toMatchObject({ model: 'openai/dear' })
})

test('without a name for commits in git’s configuration, no request is sent', async () => {
  const model = new ScriptedModel([{ text: 'Yes.' }])
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.useConfigOnly', GIT_CONFIG_VALUE_0: 'true' }
  await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models: modelsOf(model), env })
  expect(await refusal(desk.work.chat.turns.send('main', 'Please.'))).toContain('git config')
  expect(model.requests).toEqual([])
  expect(await openFile(desk.work.branches, onBranch(), 'a.txt')).toMatchObject({ readOnly: undefined })
})

test('commands are off until the user allows them for this repository', async () => {
  await using chat = await makeChat([])
  const { work } = chat.desk
  expect((await ask(work, 'conversation', { at: onBranch() })).commands).toEqual({ isAllowed: false })
  await work.chat.allowCommands(true)
  await chat.desk.restart()
  expect((await ask(chat.desk.work, 'conversation', { at: onBranch() })).commands).toMatchObject({ isAllowed: true })
  await chat.desk.work.chat.allowCommands(false)
  expect((await ask(chat.desk.work, 'conversation', { at: onBranch() })).commands).toEqual({ isAllowed: false })
})
