/**
 * Requests of every kind through a third party's gateway (LiteLLM's proxy), in front of the scripted server: what the
 * gateway's own parsers accept and pass on. Run by `make test-gateway`.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BatchableModel, type LineResult, NoBatches } from '../../../forge/ai/batches/batches.ts'
import { openModel } from '../../../forge/ai/providers.ts'
import type { Request } from '../../../forge/ai/request.ts'
import { ModelServer, type Turn } from '../../doubles/model-server.ts'
import { ask, HASTY, requestOf, settingsOf, user } from './models.ts'

const LITELLM = process.env.LITELLM ?? join(import.meta.dir, '../../../.tools/litellm/bin/litellm')
const NEVER = new AbortController().signal
const MINUTES = 3 * 60_000

/** A request with everything that a step's request has. */
const REQUEST: Request = {
  ...requestOf(user('Say “hello” ✓')),
  system: [{ type: 'text', text: 'You work on a branch.', mark: '5m' }],
  mustCall: true,
  output: 3000,
}
const TURN: Turn = { text: 'Hello.', calls: [{ name: 'write_file', arguments: { path: 'ä', content: '“x”\n' } }] }

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  if (!address || typeof address === 'string') throw new Error('There is no port.')
  return address.port
}

let server: ModelServer
let gateway: Bun.Subprocess
let folder: string
let address: string

beforeAll(async () => {
  server = await ModelServer.start(() => TURN)
  folder = await mkdtemp(join(tmpdir(), 'forge-gateway-'))
  const upstream = (name: string, model: string, base: string) => ({
    model_name: name,
    litellm_params: { model, api_base: base, api_key: server.key },
  })
  const config = {
    model_list: [
      upstream('scripted', 'openai/scripted', server.base('openai')),
      upstream('claude-scripted', 'anthropic/claude-scripted', server.base('anthropic')),
    ],
    files_settings: [{ custom_llm_provider: 'openai', api_base: server.base('openai'), api_key: server.key }],
    general_settings: { master_key: server.key },
  }
  // JSON is YAML.
  await writeFile(join(folder, 'config.yaml'), JSON.stringify(config))
  const port = await freePort()
  address = `http://127.0.0.1:${port}`
  gateway = Bun.spawn([LITELLM, '--config', 'config.yaml', '--host', '127.0.0.1', '--port', `${port}`], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_TELEMETRY: 'False',
      ANTHROPIC_API_BASE: server.base('anthropic').replace(/\/v1$/, ''),
      ANTHROPIC_API_KEY: server.key,
      OPENAI_API_BASE: server.base('openai'),
      OPENAI_API_KEY: server.key,
    },
    stdio: ['ignore', Bun.file(join(folder, 'log')), Bun.file(join(folder, 'log.err'))],
  })
  for (;;) {
    const isReady = await fetch(`${address}/health/liveliness`).then(
      it => it.ok,
      () => false,
    )
    if (isReady) break
    if (gateway.exitCode !== null) throw new Error(await Bun.file(join(folder, 'log.err')).text())
    await Bun.sleep(200)
  }
}, MINUTES)
afterAll(async () => {
  gateway.kill('SIGKILL')
  await gateway.exited
  await server.stop()
  if (process.env.KEEP_LOG)
    console.log(await Bun.file(join(folder, 'log')).text(), await Bun.file(join(folder, 'log.err')).text())
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => {
  server.requests.length = 0
  server.batches.reset()
})

type Format = 'anthropic' | 'openai'

const open = async (format: Format): Promise<BatchableModel> => {
  const settings: Record<string, string> = {
    openai: { OPENAI_BASE_URL: `${address}/v1`, OPENAI_API_KEY: server.key },
    anthropic: { ANTHROPIC_BASE_URL: `${address}/anthropic`, ANTHROPIC_API_KEY: server.key },
  }[format]
  const name = format === 'openai' ? 'openai/scripted' : 'anthropic/claude-scripted'
  return openModel(name, await settingsOf(settings), HASTY)
}

describe.each(['anthropic', 'openai'] as const)('%s', format => {
  test('a request that has to call a tool, with thinking, comes back as an answer', async () => {
    for (const more of [{}, { thinking: 'low' as const }]) {
      const { answer, error } = await ask(await open(format), { ...REQUEST, ...more })
      if (!answer) throw error
      expect(answer.end).toBe('calls')
      expect(answer.blocks.at(-1)).toMatchObject({ name: 'write_file', arguments: { path: 'ä', content: '“x”\n' } })
    }
  })

  test('batches are submitted, looked at, listed, read and cancelled, as far as the gateway has them', async () => {
    const { batches } = await open(format)
    if (!batches) throw new Error('There are no batches.')
    const { service } = batches
    const line = await batches.line(REQUEST)
    const id = await service.submit('one', [{ id: 'a', ...line }], NEVER)
    while ((await service.look(id, NEVER)).is === 'under way') await Bun.sleep(50)
    const results: LineResult[] = []
    for await (const result of service.results(id, NEVER)) results.push(result)
    expect(results.map(it => it.id)).toEqual(['a'])
    const answer = await batches.answer(REQUEST, results[0]?.body ?? '')
    expect(answer.blocks.at(-1)).toMatchObject({ name: 'write_file', arguments: { path: 'ä', content: '“x”\n' } })
    expect(server.batches.lines.map(({ body }) => body)).toEqual([line.body])
    const sought = { name: 'one', count: 1, newest: '', at: Date.now(), not: [] }
    const found = await service.find(sought, NEVER).catch(error => {
      if (!(error instanceof NoBatches)) throw error
    })
    expect(found?.id ?? id).toBe(id)
    server.batches.script = { delay: 60_000 }
    const other = await service.submit('two', [{ id: 'b', ...line }], NEVER)
    await service.cancel(other, NEVER)
    while ((await service.look(other, NEVER)).is === 'under way') await Bun.sleep(50)
  })
})
