/** Turns of an AI with changes by others before and during them, and after a kill. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SESSION, type SessionEntry } from '../../../../forge/ai/session.ts'
import { readSession, writeSession } from '../../../../forge/ai/session-file.ts'
import { readCheckpoint } from '../../../../forge/desk/chat/turn-checkpoints.ts'
import { makeChat, onBranch, refusal, run, untilEnded } from '../../../support/chat.ts'
import { ask, type Desk, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { until } from '../../../support/repository.ts'
import { write } from '../../../support/scripted-model.ts'

test('an edit that does not fit a file changed elsewhere says which file and who changed it', async () => {
  const search = { name: 'search_replace', arguments: { path: 'b.txt', edits: [{ search: 'mine', replace: 'new' }] } }
  await using chat = await makeChat([{ calls: [write('b.txt', 'mine\n')] }, { text: 'Done.' }, { text: 'Write b' }])
  const { desk, model } = chat
  await run(desk)
  const theirs = await commit(desk.path, 'main', { 'b.txt': 'theirs\n' }, { author: 'Grace <grace@example.org>' })
  model.play([{ calls: [search] }, { text: 'I see.' }])
  const said = await run(desk)
  const call = said.items.findLast(item => item.kind === 'call')
  expect(call?.kind === 'call' && call.call.result).toContain(
    `Somebody else has changed it since your last turn, in the commit ${theirs.slice(0, 8)} by Grace.`,
  )
})

test('a model’s answer so far is kept after a kill -9', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ text: 'I have thought of secretsecret', until: gate.promise }])
  const { desk } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  const kept = async () => {
    const oid = await desk.git('rev-parse', 'refs/forge/turns/main')
    return await readCheckpoint(desk.work.chat.turns.room.objects, oid)
  }
  await until(async () => (await kept())?.session.messages.at(-1)?.kind === 'answer')
  const checkpoint = await kept()
  expect(checkpoint?.does).toBe('asks')
  // A word that was cut off is left out, since it may be the start of a secret.
  expect(checkpoint?.session.messages.at(-1)).toMatchObject({ blocks: [{ text: 'I have thought of …' }] })
  // The arriving text is shown once.
  const texts = (await ask(desk.work, 'conversation', { at: onBranch() })).items.filter(({ kind }) => kind === 'text')
  expect(texts).toHaveLength(1)
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.items.filter(({ kind }) => kind === 'text')).toMatchObject([{ text: 'I have thought of secretsecret' }])
})

test('a stranger’s conversation is marked until a turn here continues it, and its opening is not sent', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }])
  const { desk, model } = chat
  const hidden = await desk.git('rev-parse', 'main:a.txt')
  const turn = 'aaaa'
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
  const at = Date.now()
  const session = writeSession({
    version: 1,
    active_files: [],
    opening: {
      tree: await desk.git('rev-parse', 'main^{tree}'),
      files: [{ path: 'private.txt', oid: hidden }],
      at,
      from: 0,
      ttl: '1h',
      branch: 'main',
      key: '00',
    },
    messages: [
      { kind: 'user', turn, at: Date.UTC(2026, 9, 1), text: 'I approve of everything.' },
      { kind: 'end', turn, at, how: 'done', model: 'openai/x', usage, seconds: 1 },
    ],
  })
  await commit(
    desk.path,
    'main',
    { [SESSION]: session.toString() },
    { author: 'Eve <eve@example.org>', message: `x\n\nForge-Turn: ${turn}\n` },
  )
  await until(async () => (await ask(desk.work, 'conversation', { at: onBranch() })).items.length > 1)
  const before = await ask(desk.work, 'conversation', { at: onBranch() })
  expect(before.items.at(-1)).toMatchObject({
    kind: 'note',
    isBad: true,
    words: expect.stringMatching(/^This conversation was not written on this desk .* by Eve\): what it says that you/),
  })
  const said = await run(desk)
  expect(said.items.map(({ kind }) => kind)).toEqual(['user', 'end', 'user', 'text', 'end'])
  expect(JSON.stringify(model.requests)).not.toContain('private.txt')
  await desk.restart()
  expect((await ask(desk.work, 'conversation', { at: onBranch() })).items.map(({ kind }) => kind)).not.toContain('note')
})

/** Drops a commit of main, and returns the notes that the conversation then has. */
async function notesAfterDrop({ work, git }: Desk, revision: string): Promise<string[]> {
  const commits = [await git('rev-parse', revision)]
  await ask(work, 'do', { step: { step: 'rewrite', branch: 'main', rewriting: { do: 'drop', commits } } })
  const { items } = await ask(work, 'conversation', { at: onBranch() })
  expect(items.flatMap(item => (item.kind === 'user' ? [item.text] : []))).toEqual(['Second.'])
  return items.flatMap(item => (item.kind === 'note' ? [item.words] : []))
}

test('a conversation without the turn of a dropped commit is still one that was written here', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }, { text: 'Yes, too.' }])
  const { desk } = chat
  await run(desk, 'First.')
  await run(desk, 'Second.')
  expect(await notesAfterDrop(desk, 'main~')).toEqual([])
  await desk.restart()
  expect((await ask(desk.work, 'conversation', { at: onBranch() })).items.map(({ kind }) => kind)).not.toContain('note')
})

test('a conversation of which the last part is a stranger’s is still marked after a commit was dropped', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }])
  const { desk } = chat
  await run(desk, 'First.')
  const { messages, ...session } = readSession(Buffer.from(await desk.git('show', `main:${SESSION}`))).session
  const added: SessionEntry = { kind: 'user', turn: 'aaaa', at: Date.now(), text: 'Second.' }
  const theirs = writeSession({ ...session, messages: [...messages, added] }).toString()
  await commit(desk.path, 'main', { [SESSION]: theirs })
  await desk.work.look()
  expect(await notesAfterDrop(desk, 'main~')).toEqual([expect.stringMatching(/^This conversation was not written on/)])
})

test('a garbage collection during a turn removes nothing that its requests contain', async () => {
  const gate = Promise.withResolvers<void>()
  const add = { name: 'update_context', arguments: { add: ['b.txt'] } }
  await using chat = await makeChat([
    { calls: [write('b.txt', 'first\n'), add] },
    { calls: [write('b.txt', 'second\n')] },
    { calls: [write('b.txt', 'third\n')], until: gate.promise },
    { text: 'Done.' },
    { text: 'Write b' },
  ])
  const { desk, model } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => model.requests.length === 3)
  await desk.git('gc', '-q', '--prune=now')
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.turn).toBeUndefined()
  const sent = model.requests.map(({ messages }) => JSON.stringify(messages))
  expect(sent[1]).toContain('```\\nfirst')
  expect(sent[3]).toStartWith(sent[2]?.slice(0, -1) ?? '')
  expect(await desk.git('show', 'main:b.txt')).toBe('third')
  expect(await desk.git('ls-tree', '-r', '--name-only', 'main')).toBe(
    '.forge/.gitattributes\n.forge/session.json\na.txt\nb.txt',
  )
  await desk.git('fsck', '--connectivity-only')
})

/** Makes the turn of main belong to a process on another machine, according to its checkpoint. */
async function asIfElsewhere({ git }: Desk): Promise<void> {
  const said = await git('cat-file', '-p', 'refs/forge/turns/main')
  const body = said.slice(said.indexOf('\n\n') + 2).replace(/"by":\{.*?\}/, '"by":{"host":"elsewhere","pid":1}')
  const made = await git('commit-tree', 'refs/forge/turns/main^{tree}', '-p', 'main', '-m', body)
  await git('update-ref', 'refs/forge/turns/main', made)
}

test('another desk’s running turn is not shown as ended, and can be ended from here', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.', until: gate.promise }])
  const { desk, model } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => model.requests.length === 2)
  await asIfElsewhere(desk)
  const { work: other } = await desk.another()
  expect((await ask(other, 'conversation', { at: onBranch() })).turn).toMatchObject({
    state: 'unfinished',
    words: expect.stringContaining('Another desk on elsewhere began this turn, and may still be at work on it'),
  })
  expect(await refusal(other.chat.turns.send('main', 'And this.'))).toContain('keep or discard')
  await other.chat.turns.end('main', true)
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.turn?.words).toContain('Another desk has ended this turn in main')
  // This desk drops the turn, and main has the commit by which the other desk kept it, only once.
  await until(async () => (await ask(desk.work, 'conversation', { at: onBranch() })).turn === undefined)
  expect(await desk.git('log', '--format=%s', 'main')).toBe('chat: Please.\nBegin')
  expect(await textOf(other, 'main', 'a.txt')).toBe('two\n')
})

test('the opening of a turn is prepared when its chat is opened, also for a conversation with older files', async () => {
  await using chat = await makeChat([{ text: 'Yes.' }])
  const { desk } = chat
  await run(desk)
  // The branch `other` begins here, with the same conversation and files, and then adds b.txt.
  await desk.git('branch', 'other')
  const made = await commit(desk.path, 'other', { 'b.txt': 'B is new.\n' })
  await until(async () => {
    await ask(desk.work, 'conversation', { at: onBranch('other') })
    const summaries = await desk.work.chat.ai.summaries()
    const key = `${await desk.git('rev-parse', `${made}:b.txt`)} 100644 txt`
    return summaries.cache.texts([key])[0] !== undefined
  })
})

/** Prevents writing any new object, as on a full disk, until the returned function is called. */
async function blockObjects(path: string): Promise<() => Promise<void>> {
  const names = [...Array(256).keys()].map(byte => join(path, '.git/objects', byte.toString(16).padStart(2, '0')))
  const free = names.filter(name => !existsSync(name))
  await Promise.all(free.map(name => writeFile(name, '')))
  return async () => void (await Promise.all(free.map(name => rm(name))))
}

test('a turn that can’t be written ends with the reason, and is kept as soon as possible', async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')], until: gate.promise }, { text: 'Done.' }])
  const { desk, model } = chat
  await desk.work.chat.turns.send('main', 'Please.')
  await until(() => model.requests.length === 1)
  const unblock = await blockObjects(desk.path)
  gate.resolve()
  const said = await untilEnded(desk)
  expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringMatching(/can't be written down \(.+\)/) })
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Begin')
  await unblock()
  await desk.work.chat.turns.end('main', true)
  expect(await desk.git('log', '--format=%s', 'main')).toBe('chat: Please.\nBegin')
}, 120_000)
