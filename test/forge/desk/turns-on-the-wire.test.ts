/** A desk with the models that its settings name: what goes over the wire, and what must not. */
import { expect, test } from 'bun:test'
import { SetModels } from '../../../forge/desk/models.ts'
import { beginsWith, ModelServer, type Provider, type Turn } from '../../doubles/model-server.ts'
import { makeDesk, textOf } from '../../support/desk.ts'
import { until } from '../../support/repository.ts'
import { write } from '../../support/scripted-model.ts'

const onMain = { kind: 'branch', branch: 'main' } as const

async function makeWire(provider: Provider, turns: Turn[]) {
  const server = await ModelServer.start(turns)
  const models = new SetModels({ ...server.environment(provider), XDG_CONFIG_HOME: '/nowhere' })
  const desk = await makeDesk({ files: { 'a.txt': 'one\n', 'AGENTS.md': 'Be brief.\n' }, models })
  const run = async (text: string) => {
    await desk.work.send('main', text)
    await until(async () => (await desk.work.conversation(onMain)).turn?.state !== 'running')
    return await desk.work.conversation(onMain)
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
  }, 30_000)

test('a stream that is cut inside of a call runs nothing of it, and the key is nowhere', async () => {
  await using wire = await makeWire('openai', [])
  wire.server.play(() => ({ calls: [write('a.txt', 'two\n')], cut: { at: 330, how: 'reset' } }))
  await wire.desk.work.send('main', 'Write it.')
  await until(async () => wire.server.requests.length > 0)
  wire.desk.work.stopTurn('main')
  await until(async () => (await wire.desk.work.conversation(onMain)).turn?.state !== 'running')
  expect(await textOf(wire.desk.work, 'main', 'a.txt')).toBe('one\n')
  await wire.desk.work.endTurn('main', true)
  const everything = await wire.desk.git('log', '-p', '--all', '--format=%B')
  expect(everything + JSON.stringify(wire.desk.news)).not.toContain(wire.server.key)
}, 30_000)

test('a key that the provider does not know is said with what to do, and nothing is lost', async () => {
  await using wire = await makeWire('anthropic', [{ status: 401 }])
  const said = await wire.run('Write it.')
  expect(said.turn).toMatchObject({ state: 'unfinished', words: expect.stringContaining('ANTHROPIC_API_KEY') })
  expect(said.items).toMatchObject([
    { kind: 'user', text: 'Write it.' },
    { kind: 'end', how: 'failed' },
  ])
}, 30_000)
