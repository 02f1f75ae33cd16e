/** Our own Temporal server: found, started once, found again, and ended; pages in a browser get no answer. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmod, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '@temporalio/client'
import { connect, prepareNamespace } from '../../../../forge/tasks/engine/client.ts'
import { connectTo, endOurServer, openServer } from '../../../../forge/tasks/engine/engine.ts'
import { findServer, lookForServer } from '../../../../forge/tasks/engine/find.ts'
import { isProcessAlive } from '../../../../forge/tasks/engine/processes.ts'
import { findRunning, openServerPlace } from '../../../../forge/tasks/engine/server.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { hasNoTemporal, homeIn } from '../../../support/temporal.ts'

type Environment = Record<string, string | undefined>

let folder = ''
let env: Environment = {}
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'forge-server-')))
  env = await homeIn(folder)
})
afterEach(async () => {
  await endOurServer(env)
  await rm(folder, { recursive: true, force: true })
})

const quiet = () => undefined
/** A path without a server: one installed by `make` is not used here. */
const NOT_INSTALLED = '/nowhere/temporal'
const program = async (name: string, script: string): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

describe('a server is found', () => {
  test('where TEMPORAL_ADDRESS names one, whatever else is there', async () => {
    const found = await findServer(
      { ...env, TEMPORAL_ADDRESS: 'fleet.example:7233', TEMPORAL_NAMESPACE: 'ours' },
      quiet,
    )
    expect(found).toMatchObject({ kind: 'theirs', address: 'fleet.example:7233', namespace: 'ours' })
  })

  test('by the profile of temporal.toml', async () => {
    const lines = ['[profile.cloud]', 'address = "cloud.example:7233"', 'namespace = "n.1"', 'api_key = "k"']
    await writeFile(env.TEMPORAL_CONFIG_FILE ?? '', lines.join('\n'))
    const found = await findServer({ ...env, TEMPORAL_PROFILE: 'cloud' }, quiet)
    expect(found).toMatchObject({ kind: 'theirs', address: 'cloud.example:7233', options: { apiKey: 'k', tls: true } })
  })

  test('not by a profile that is not there', async () => {
    expect(await refusedBy(findServer({ ...env, TEMPORAL_PROFILE: 'none' }, quiet))).toThrow(
      /^Temporal's configuration can't be used \(.*none.*\): check TEMPORAL_PROFILE/,
    )
  })

  test('by FORGE_TEMPORAL_BIN, which must be a program', async () => {
    const path = await program('mine', 'exit 0')
    const named = { ...env, FORGE_TEMPORAL_BIN: path }
    expect(await findServer(named, quiet)).toEqual({ kind: 'ours', path, how: 'FORGE_TEMPORAL_BIN' })
    await chmod(path, 0o644)
    expect(await refusedBy(findServer(named, quiet))).toThrow(/^FORGE_TEMPORAL_BIN is .*mine, which is no program: /)
  })

  test('on PATH, but not in a folder that depends on where the command is called', async () => {
    const path = await program('temporal', 'exit 0')
    const without = { ...env, FORGE_TEMPORAL_BIN: undefined }
    expect(await lookForServer({ ...without, PATH: `.:${folder}` })).toEqual({ kind: 'ours', path, how: 'on PATH' })
    expect(await lookForServer({ ...without, PATH: '.:' }, NOT_INSTALLED)).toBeUndefined()
  })

  test('where make has installed it', async () => {
    const path = await program('temporal', 'exit 0')
    const without = { ...env, FORGE_TEMPORAL_BIN: undefined, PATH: '' }
    const found = { kind: 'ours', path, how: 'installed by make' } as const
    expect(await findServer(without, quiet, path)).toEqual(found)
    expect(await lookForServer(without, path)).toEqual(found)
  })

  test('by a download, which is kept', async () => {
    const script = join(folder, 'download.ts')
    const lines = [
      "import { writeFile } from 'node:fs/promises'",
      "await writeFile(Bun.argv[2] + '/temporal-v1', '', { mode: 0o755 })",
    ]
    await writeFile(script, lines.join('\n'))
    const without = { ...env, FORGE_TEMPORAL_BIN: undefined, PATH: '', FORGE_TEMPORAL_DOWNLOAD: script }
    const said: string[] = []
    const found = await findServer(without, line => said.push(line), NOT_INSTALLED)
    expect(found).toMatchObject({ kind: 'ours', how: 'downloaded' })
    expect(said).toEqual([expect.stringMatching(/^Downloading Temporal v\d.* 45 MB/)])
    await writeFile(script, 'process.exit(1)')
    expect(await findServer(without, quiet, NOT_INSTALLED)).toEqual(found)
  })

  test('nowhere: it is said how to get one', async () => {
    const script = join(folder, 'download.ts')
    await writeFile(script, "console.error('no way to temporal.download'); process.exit(1)")
    const without = { ...env, FORGE_TEMPORAL_BIN: undefined, PATH: '', FORGE_TEMPORAL_DOWNLOAD: script }
    expect(await refusedBy(findServer(without, quiet, NOT_INSTALLED))).toThrow(
      /^There is no Temporal server, .* \(no way to temporal\.download\)\. Install one .*brew install.*releas.*go install/,
    )
  })
})

describe('a server that refuses the operator service, as the Cloud does,', () => {
  const server = { address: 'cloud.example:7233', namespace: 'team', options: {} }
  const refuses = () => Promise.reject(Object.assign(new Error('Request unauthorized.'), { code: 7 }))
  const connectionWith = (operatorService: object) =>
    ({
      workflowService: { describeNamespace: async () => ({ config: {} }) },
      operatorService,
    }) as unknown as Connection
  const attributes = ['forgeRun', 'forgeTask']

  test('is worked with all the same: it may well have what it does not tell', async () => {
    const connection = connectionWith({ listSearchAttributes: refuses, addSearchAttributes: refuses })
    const warning = await prepareNamespace(connection, server, { isOurs: false, attributes })
    expect(warning?.isCertain).toBe(false)
    expect(warning?.words).toContain('does not say which search attributes it has (Request unauthorized.)')
  })

  test('and has none gets a warning with the command that adds them', async () => {
    const listSearchAttributes = async () => ({ customAttributes: { forgeRun: 2 } })
    const connection = connectionWith({ listSearchAttributes, addSearchAttributes: refuses })
    const warning = await prepareNamespace(connection, server, { isOurs: false, attributes })
    expect(warning?.isCertain).toBe(true)
    expect(warning?.words).toEndWith('temporal operator search-attribute create --name forgeTask --type Keyword')
  })
})

describe.skipIf(hasNoTemporal)('our own server', () => {
  test('is started by one of many commands at once, and found by all', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => openServer(env, { start: true })))
    expect(new Set(servers.map(({ address }) => address)).size).toBe(1)
    expect(new Set(servers.map(({ running }) => running?.process.pid)).size).toBe(1)
  }, 60_000)

  test('is not started unless a command needs it', async () => {
    expect(await refusedBy(openServer(env, { start: false }))).toThrow(
      'No Temporal server runs here: start one with forge up.',
    )
  })

  test('is started again at the same port after it was killed, and has what it had', async () => {
    const first = await openServer(env, { start: true })
    await (await connectTo(first)).close()
    process.kill(first.running?.process.pid ?? 0, 'SIGKILL')
    await untilGone(first.running)
    const second = await openServer(env, { start: true })
    expect(second.address).toBe(first.address)
    expect(second.running?.process.pid).not.toBe(first.running?.process.pid)
    await (await connectTo(second)).close()
  }, 60_000)

  test('is not taken for another process that has its number', async () => {
    const place = await openServerPlace(env)
    const { running } = await openServer(env, { start: true })
    const record = JSON.parse(await readFile(place.record, 'utf8'))
    await writeFile(place.record, JSON.stringify({ ...record, process: { ...record.process, pid: process.pid } }))
    expect(await findRunning(place)).toBeUndefined()
    // Restores the record, by which the clean-up finds the server and ends it.
    await writeFile(place.record, JSON.stringify(record))
    expect((await findRunning(place))?.process).toEqual(running?.process as never)
  }, 60_000)

  test('keeps finished runs for a month, and knows by what they are found', async () => {
    const server = await openServer(env, { start: true })
    const connection = await connectTo(server)
    const { namespace } = server
    const { config } = await connection.workflowService.describeNamespace({ namespace })
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600)
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining(['forgeRun', 'forgeTask', 'forgeState']))
    await connection.close()
  }, 60_000)

  test('gets no key, and its files are the user’s alone', async () => {
    const place = await openServerPlace(env)
    const { running } = await openServer({ ...env, ANTHROPIC_API_KEY: 'sk-SECRET' }, { start: true })
    if (process.platform === 'linux')
      expect(await readFile(`/proc/${running?.process.pid}/environ`, 'utf8')).not.toContain('SECRET')
    const modes = await Promise.all(
      [place.folder, place.record, place.log].map(async path => (await stat(path)).mode & 0o77),
    )
    expect(modes).toEqual([0, 0, 0])
  }, 60_000)

  test.skipIf(process.platform !== 'linux')(
    'answers no page of a browser',
    async () => {
      const { running } = await openServer(env, { start: true })
      const ports = await portsOf(running?.process.pid ?? 0)
      expect(ports.length).toBeGreaterThan(1)
      const ask = async (port: number): Promise<string> => {
        // Some ports never answer; the one that does may be slow on a busy machine.
        const response = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces`, {
          signal: AbortSignal.timeout(10_000),
        })
        return `${response.status} ${await response.text()}`
      }
      const answers = await Promise.all(ports.map(port => ask(port).catch(() => 'nothing')))
      expect(answers.filter(answer => answer.startsWith('200'))).toEqual([])
      expect(answers.filter(answer => answer.startsWith('403 '))).toHaveLength(1)
      expect(answers.join()).not.toContain('namespaceInfo')
    },
    60_000,
  )

  test('says why it did not start', async () => {
    const broken = await program(
      'broken',
      'case $1 in --version) echo "temporal version 1 (Server 1.2.3)";; *) echo "Error: no such thing"; exit 1;; esac',
    )
    expect(await refusedBy(openServer({ ...env, FORGE_TEMPORAL_BIN: broken }, { start: true }))).toThrow(
      /^The Temporal server \(.*broken\) did not start: Error: no such thing\. All that it said is in .*server\.log\.$/,
    )
    const other = await program('other', 'echo "some other program"')
    expect(await refusedBy(openServer({ ...env, FORGE_TEMPORAL_BIN: other }, { start: true }))).toThrow(
      /other does not say that it is Temporal with a server in it/,
    )
  }, 60_000)
})

describe('a server that can’t be used', () => {
  const options = { tls: false as const }

  test('no server listens there', async () => {
    expect(await refusedBy(connect({ address: '127.0.0.1:1', namespace: 'n', options }))).toThrow(
      /^No Temporal server answers at 127\.0\.0\.1:1 \(.*ECONNREFUSED.*\): check that it runs, and TEMPORAL_ADDRESS/,
    )
  })

  test('something else listens there', async () => {
    await using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('hello') })
    expect(await refusedBy(connect({ address: `127.0.0.1:${other.port}`, namespace: 'n', options }))).toThrow(
      /Temporal server/,
    )
  }, 30_000)
})

async function untilGone(server: { process: { pid: number; began: string } } | undefined): Promise<void> {
  while (server && (await isProcessAlive(server.process))) await Bun.sleep(10)
}

/** The ports at which a process listens. */
async function portsOf(pid: number): Promise<number[]> {
  const sockets = new Set<string>()
  for (const name of await Array.fromAsync(new Bun.Glob('*').scan({ cwd: `/proc/${pid}/fd`, onlyFiles: false }))) {
    const { readlink } = await import('node:fs/promises')
    const [, inode] = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${pid}/fd/${name}`).catch(() => '')) ?? []
    if (inode) sockets.add(inode)
  }
  const lines = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).trim().split('\n').slice(1)
  return lines
    .map(line => line.trim().split(/\s+/))
    .filter(fields => fields[3] === '0A' && sockets.has(fields[9] ?? ''))
    .map(fields => Number.parseInt(fields[1]?.split(':')[1] ?? '', 16))
}
