/** A desk with the models in its settings: what is sent to them, and what must not be. */
import { expect, test } from 'bun:test'
import * as v from 'valibot'
import { SetModels } from '../../../../forge/desk/chat/models.ts'
import { questions } from '../../../../forge/desk/contract/contract.ts'
import { beginsWith, ModelServer, type Provider, type Turn } from '../../../doubles/model-server.ts'
import { ask, makeDesk, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { makePlace, until } from '../../../support/repository.ts'
import { modelsOf, ScriptedModel, write } from '../../../support/scripted-model.ts'
import { openTestDesk } from '../../../support/served.ts'

const onMain = { kind: 'branch', branch: 'main' } as const

async function makeWire(provider: Provider, turns: Turn[]) {
  const server = await ModelServer.start(turns)
  const models = new SetModels({ ...server.environment(provider), XDG_CONFIG_HOME: '/nowhere' })
  const desk = await makeDesk({ files: { 'a.txt': 'one\n', 'AGENTS.md': 'Be brief.\n' }, models })
  const run = async (text: string) => {
    await desk.work.chat.turns.send('main', text)
    await until(async () => (await ask(desk.work, 'conversation', { at: onMain })).turn?.state !== 'running')
    return await ask(desk.work, 'conversation', { at: onMain })
  }
  const close = async () => {
    await desk[Symbol.asyncDispose]()
    await server.stop()
  }
  return { server, desk, run, [Symbol.asyncDispose]: close }
}

for (const provider of ['anthropic', 'openrouter', 'openai'] as const)
  test(`two turns with a restart between them are one chain of requests, by ${provider}`, async () => {
    await using wire = await makeWire(provider, [
      { text: 'I write it.', calls: [write('a.txt', 'two\n'), write('b.txt', 'new\n')] },
      { calls: [{ name: 'get_lines', arguments: { path: 'a.txt', from: 1, to: 1 } }] },
      { text: 'Done.' },
      { text: 'Write b' },
      { calls: [write('b.txt', 'newer\n')] },
      { text: 'Done again.' },
      { text: 'Write b anew' },
    ])
    await wire.run('Write b.')
    await wire.desk.restart()
    const said = await wire.run('Write it anew.')
    expect(said.turn).toBeUndefined()
    expect(await wire.desk.git('log', '--format=%s', 'main')).toBe('Write b anew\nWrite b\nBegin')
    const heard = wire.server.requests.flatMap(it => (it.heard ? [it.heard] : []))
    expect(heard).toHaveLength(7)
    const broken = heard.flatMap((it, at) =>
      at > 0 && heard[at - 1] && !beginsWith(it, heard[at - 1] ?? it) ? [at] : [],
    )
    expect(broken).toEqual([])
    expect(said.usage.input).toBeGreaterThan(0)
  }, 120_000)

test('a stream cut off inside a call runs no part of it, and the key is nowhere', async () => {
  await using wire = await makeWire('openai', [])
  wire.server.play(() => ({ calls: [write('a.txt', 'two\n')], cut: { at: 330, how: 'reset' } }))
  await wire.desk.work.chat.turns.send('main', 'Write it.')
  await until(async () => wire.server.requests.length > 0)
  wire.desk.work.chat.turns.stop('main')
  await until(async () => (await ask(wire.desk.work, 'conversation', { at: onMain })).turn?.state !== 'running')
  expect(await textOf(wire.desk.work, 'main', 'a.txt')).toBe('one\n')
  await wire.desk.work.chat.turns.end('main', true)
  const everything = await wire.desk.git('log', '-p', '--all', '--format=%B')
  expect(everything + JSON.stringify(wire.desk.news)).not.toContain(wire.server.key)
}, 120_000)

test('a key that the provider rejects is reported with what to do, and nothing is lost', async () => {
  await using wire = await makeWire('anthropic', [{ status: 401 }])
  const said = await wire.run('Write it.')
  expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringContaining('ANTHROPIC_API_KEY') })
  expect(said.items).toMatchObject([
    { kind: 'user', text: 'Write it.' },
    { kind: 'end', how: 'failed' },
  ])
}, 120_000)

test('a window starts a turn, receives its progress, and may be closed meanwhile', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { 'a.txt': 'one\n', 'b.txt': 'b\n' })
  const gate = Promise.withResolvers<void>()
  const model = new ScriptedModel((_, count) => {
    if (count === 1) return { text: 'I write it.', calls: [write('a.txt', 'two\n')] }
    return count === 2 ? { text: 'Done. ', until: gate.promise } : { text: 'Write a' }
  })
  await using desk = await openTestDesk(place.path, { models: modelsOf(model) })
  const window = await desk.window()
  await window.ask({ ask: 'set context', branch: 'main', path: 'b.txt', isWhole: true })
  await window.ask({ ask: 'open', at: onMain, path: 'a.txt' })
  const { turn = '' } = v.parse(
    questions.send.reply,
    await window.ask({ ask: 'send', branch: 'main', text: 'Write a.' }),
  )
  await window.heard('turn', ({ news }) => news.is === 'text' && news.delta === 'Done. ' && news.turn === turn)
  await window.heard(
    'replaced',
    ({ file }) => file.kind === 'text' && file.readOnly !== undefined && file.text === 'two\n',
  )
  await window[Symbol.asyncDispose]()
  gate.resolve()
  await using other = await desk.window()
  const ask = async () => v.parse(questions.conversation.reply, await other.ask({ ask: 'conversation', at: onMain }))
  await until(async () => (await ask()).turn === undefined)
  expect((await ask()).items.at(-1)).toMatchObject({ kind: 'end', commit: { subject: 'Write a' } })
  const circles = async () => v.parse(questions.folder.reply, await other.ask({ ask: 'folder', at: onMain, path: '' }))
  await until(async () => (await circles()).some(({ context }) => context === 'whole'))
  expect((await circles()).map(({ name, context }) => `${name} ${context}`)).toContain('b.txt whole')
  expect(
    v.parse(questions['undo turn'].reply, await other.ask({ ask: 'undo turn', branch: 'main', turn })).refs,
  ).toContain('refs/heads/main')
  expect(await place.git('show', 'main:a.txt')).toBe('one')
}, 120_000)

test('a file in the AI’s context stays there under its new path when it or its folder is renamed, and after the undo', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { 'a.txt': 'one\n', 'lib/b.txt': 'b\n', 'lib/c.txt': 'c\n' })
  const model = new ScriptedModel(() => ({ text: 'Nothing to do.' }))
  await using desk = await openTestDesk(place.path, { models: modelsOf(model) })
  await using window = await desk.window()
  const ask = async () => v.parse(questions.conversation.reply, await window.ask({ ask: 'conversation', at: onMain }))
  const isContext = (...paths: string[]) =>
    until(async () => (await ask()).context.files.map(({ path }) => path).join() === paths.join())
  const move = (from: string, to: string) => window.ask({ ask: 'move', branch: 'main', moves: [{ from, to }] })
  await window.ask({ ask: 'set context', branch: 'main', path: 'lib/b.txt', isWhole: true })
  await isContext('lib/b.txt')
  await move('lib', 'src')
  await isContext('src/b.txt')
  await window.ask({ ask: 'undo', branch: 'main' })
  await isContext('lib/b.txt')
  await window.ask({ ask: 'send', branch: 'main', text: 'Is there something to do?' })
  await until(async () => (await ask()).items.at(-1)?.kind === 'end' && (await ask()).turn === undefined)
  await move('lib/b.txt', 'd.txt')
  await isContext('d.txt')
  await window.ask({ ask: 'save', branch: 'main', paths: 'all' })
  await isContext('d.txt')
}, 120_000)
