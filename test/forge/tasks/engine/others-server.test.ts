/**
 * Servers of others, by Temporal's own configuration: TLS, an API key, a namespace that is not `default`, and no
 * operator service. A real server, behind a frontend that demands all that.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { namespaceOf, startRun, type Warning } from '../../../../forge/tasks/engine/client.ts'
import { connectTo, openServer } from '../../../../forge/tasks/engine/engine.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { makeCertificates, type TestCertificates } from '../../../support/tls.ts'
import { PROJECT } from '../../../support/world.ts'

const hasNoOpenssl = !Bun.which('openssl')
if (hasNoOpenssl) console.error('openssl is not there: no server with TLS is tried.')

describe.skipIf(hasNoTemporal || hasNoOpenssl)('a server of others', () => {
  const API_KEY = 'key-SECRET-0123456789'
  let temporal: TestTemporal
  let certificates: TestCertificates
  let frontend: Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  let address = ''
  let bundle = ''
  beforeAll(async () => {
    temporal = await startTemporal()
    certificates = await makeCertificates(temporal.folder)
    const script = join(PROJECT, 'test/doubles/tls-frontend.ts')
    const { certificate, key } = certificates
    frontend = Bun.spawn([process.execPath, script, certificate, key, temporal.address], {
      env: { ...temporal.env, TEST_API_KEY: API_KEY },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { value } = await frontend.stdout.getReader().read()
    address = `localhost:${new TextDecoder().decode(value).trim()}`
    const workflowExecutionRetentionPeriod = msToTs('1 day')
    await temporal.connection.workflowService.registerNamespace({
      namespace: 'team.a1b2',
      workflowExecutionRetentionPeriod,
    })
    bundle = join(temporal.folder, 'flows.js')
    await writeBundle(bundle, join(import.meta.dir, 'flows/flows.ts'))
  }, 60_000)
  afterAll(async () => {
    frontend.kill()
    await temporal[Symbol.asyncDispose]()
  }, 60_000)

  /** The environment of a user with a profile of that server; `lines` replace those of the same name. */
  async function envOf(lines: Record<string, string> = {}) {
    const profile = { address, namespace: 'team.a1b2', api_key: API_KEY, ...lines }
    const { ca = certificates.authority, ...given } = profile as Record<string, string>
    const own = Object.entries(given).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    const tls = ['[profile.team.tls]', ...(ca ? [`server_ca_cert_path = ${JSON.stringify(ca)}`] : [])]
    const file = join(temporal.folder, 'team.toml')
    await writeFile(file, ['[profile.team]', ...own, ...tls, ''].join('\n'))
    return { ...temporal.env, TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'team' }
  }

  test('is worked with by its profile, with a warning about what it does not tell', async () => {
    const env = await envOf()
    const server = await openServer(env, { start: true })
    expect(server).toMatchObject({ address, namespace: 'team.a1b2' })
    const warnings: Warning[] = []
    const connection = await connectTo(server, warning => warnings.push(warning))
    try {
      expect(warnings).toEqual([{ words: expect.stringContaining('Request unauthorized.'), isCertain: false }])
      await using worker = await workOn({ ...temporal, server, env }, { bundle })
      const client = new Client({ connection, ...namespaceOf(server) })
      // The namespace has no search attributes of ours.
      const run = await startRun(client, worker.queue, { run: 'of-others' })
      expect(await run.result()).toBe('answered')
      expect(worker.log.join()).not.toContain('SECRET')
    } finally {
      await connection.close()
    }
  }, 60_000)

  test.each([
    [
      { api_key: 'another' },
      /^The Temporal server at .* does not accept this key or certificate \(.*Invalid API key\)\.$/,
    ],
    [
      { namespace: 'nobody' },
      /^The Temporal server at .* has no namespace nobody: set TEMPORAL_NAMESPACE, or create it\.$/,
    ],
    [{ ca: '' }, /^No secure connection to the Temporal server at .*: check TEMPORAL_TLS and its certificates\.$/],
    [{ address: '127.0.0.1:1' }, /^The address of the Temporal server is a number .* TEMPORAL_TLS_SERVER_NAME\.$/],
  ])('is not worked with where the profile has %p, and the sentence says why', async (lines, words) => {
    const begun = performance.now()
    expect(await refusedBy(connectTo(await openServer(await envOf(lines), { start: false })))).toThrow(words)
    expect(performance.now() - begun).toBeLessThan(9000)
  })
})
