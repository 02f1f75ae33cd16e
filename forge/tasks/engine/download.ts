#!/usr/bin/env bun
/**
 * Downloads the Temporal server into a folder: download.ts FOLDER. Temporal's SDK downloads when it starts a server, so
 * one is started and ended at once. It runs as a process, since nothing else can stop a hanging download.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { SERVER_VERSION } from './versions.ts'

const YEARS = 10 * 365 * 24 * 3600 * 1000

const folder = Bun.argv[2]
if (!folder) throw new Error('Say into which folder: download.ts FOLDER')
try {
  const runtime = Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) })
  const server = await runtime.createEphemeralServer({
    type: 'dev-server',
    exe: {
      type: 'cached-download',
      downloadDir: folder,
      version: SERVER_VERSION,
      ttl: YEARS,
      sdkName: 'sdk-typescript',
      sdkVersion: '1.24.0',
    },
    namespace: 'default',
    ip: '127.0.0.1',
    port: null,
    uiPort: null,
    dbFilename: null,
    ui: false,
    log: { format: 'pretty', level: 'error' },
    extraArgs: [],
  })
  await runtime.shutdownEphemeralServer(server)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
process.exit(0)
