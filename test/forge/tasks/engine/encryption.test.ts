/** Encryption: what the server stores can't be read without the key, and a wrong or missing key is one sentence. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import {
  namespaceOf,
  queryRun,
  standingOf,
  startRun,
  updateRun,
  workflowIdOf,
} from '../../../../forge/tasks/engine/client.ts'
import { openConverter, verifyKey } from '../../../../forge/tasks/engine/encryption.ts'
import { replay } from '../../../../forge/tasks/engine/replay.ts'
import { openServerPlace } from '../../../../forge/tasks/engine/server.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { until } from '../../../support/world.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forge-encryption-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const keyFile = async (name: string, ...letters: string[]): Promise<string> => {
  const path = join(folder, name)
  const lines = letters.map(letter => Buffer.alloc(32, letter).toString('base64'))
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  return path
}
const converterFor = async (path: string) => await openConverter({ FORGE_PAYLOAD_KEY: path, XDG_CONFIG_HOME: folder })

describe.skipIf(hasNoTemporal)('with a key,', () => {
  let temporal: TestTemporal
  let bundle = ''
  beforeAll(async () => {
    temporal = await startTemporal({ FORGE_PAYLOAD_KEY: await keyFile('team', 'a') })
    bundle = join(temporal.folder, 'flows.js')
    await writeBundle(bundle, join(import.meta.dir, 'flows/flows.ts'), true)
  }, 60_000)
  afterAll(() => temporal[Symbol.asyncDispose](), 60_000)

  /** All that the server has written to its disk. */
  const stored = async (): Promise<string> => {
    const place = await openServerPlace(temporal.env)
    const names = (await readdir(place.folder)).filter(name => name.includes('.db'))
    const files = await Promise.all(names.map(name => readFile(join(place.folder, name), 'latin1')))
    return files.join('')
  }

  test('the server has no word of inputs, results, answers, updates and failures, and histories replay', async () => {
    const ask = async ({ task }: { task: string }): Promise<string> => {
      if (task === 'SECRET-FAILING') throw new Error('SECRET-FAILURE')
      return 'SECRET-RESULT'
    }
    await using worker = await workOn(temporal, { bundle, activities: { ask } })
    const { client } = temporal
    const run = await startRun(client, worker.queue, { run: 'hidden', wish: 'SECRET-WISH' })
    expect(await run.result()).toBe('SECRET-RESULT')
    const start = { taskQueue: worker.queue, workflowId: workflowIdOf('told') }
    const told = await client.workflow.start('waits', start)
    expect(await queryRun<string>(client, 'told', 'status')).toBe('waits')
    expect(await refusedBy(updateRun(client, 'told', 'answer', ['']))).toThrow(
      'An empty answer is none: say something.',
    )
    await updateRun(client, 'told', 'answer', ['SECRET-ANSWER'])
    expect(await told.result()).toBe('SECRET-ANSWER')
    const failing = { ...start, workflowId: workflowIdOf('failing'), args: [{ task: 'SECRET-FAILING' }] }
    const failed = await client.workflow.start('fails', failing)
    await failed.result().catch(() => undefined)
    expect(await standingOf(client, 'failing')).toEqual({ is: 'failed', words: 'Activity task failed' })

    const text = await stored()
    expect(text).toContain('forge-run-hidden')
    expect(text).toContain('A256GCM')
    expect(text).not.toContain('SECRET')
    expect(text).not.toContain('An empty answer')

    const ids = ['hidden', 'told', 'failing'].map(workflowIdOf)
    const recorded = ids.map(async workflowId => {
      const history = await client.workflow.getHandle(workflowId).fetchHistory()
      return { workflowId, history: JSON.parse(historyToJSON(history)) }
    })
    const converter = temporal.server.converter
    expect(await replay(await Promise.all(recorded), bundle, converter)).toEqual([])
  }, 60_000)

  test('another key, and none, are told of before anything is done', async () => {
    await using worker = await workOn(temporal, { bundle })
    const { client, connection, server } = temporal
    const start = { taskQueue: worker.queue, workflowId: workflowIdOf('kept'), args: ['SECRET'] }
    await client.workflow.start('waits', start)
    const { queue } = worker
    const isListed = async () => {
      for await (const _ of client.workflow.list({ query: `TaskQueue = '${queue}'` })) return true
      return false
    }
    await until('it is listed', isListed)

    const [other, none] = await Promise.all([
      converterFor(await keyFile('other', 'b')),
      openConverter({ ...temporal.env, FORGE_PAYLOAD_KEY: '' }),
    ])
    const wrong =
      /^The data of this run on the Temporal server is encrypted with another key \(\w+\) than that of FORGE_PAYLOAD_KEY \(\w+\): use the team's key file\.$/
    const missing =
      /^The data of this run on the Temporal server is encrypted: set FORGE_PAYLOAD_KEY to the team's key file\.$/
    for (const [converter, words] of [
      [other, wrong],
      [none, missing],
    ] as const) {
      const place = { server: { ...server, converter }, queue }
      expect(await refusedBy(verifyKey(connection, place))).toThrow(words)
      const stranger = new Client({ connection, ...namespaceOf(place.server) })
      expect(await refusedBy(queryRun(stranger, 'kept', 'status'))).toThrow(words)
      expect(await refusedBy(workOn({ ...temporal, server: place.server }, { bundle, queue }))).toThrow(words)
    }

    // After a change of the key, the new file has the old one as well.
    const both = await converterFor(await keyFile('both', 'c', 'a'))
    await verifyKey(connection, { server: { ...server, converter: both }, queue })
    expect(await queryRun<string>(client, 'kept', 'status')).toBe('waits')
  }, 60_000)
})

test('a key file that can’t be used is told of in a sentence', async () => {
  const refused = async (path: string) => await refusedBy(converterFor(path))
  expect(await refused('team.key')).toThrow('FORGE_PAYLOAD_KEY is team.key: it has to be an absolute path.')
  expect(await refused(join(folder, 'none'))).toThrow(/^FORGE_PAYLOAD_KEY is .*none, which can't be read \(ENOENT\): /)
  const short = await keyFile('short', '')
  await writeFile(short, 'c2hvcnQ=\n')
  expect(await refused(short)).toThrow(/, which has to have 32 bytes in base64 on each line\. To make one: /)
  const open = await keyFile('open', 'a')
  await chmod(open, 0o644)
  expect(await refused(open)).toThrow(/, which other users can read: chmod 600 it/)
})
