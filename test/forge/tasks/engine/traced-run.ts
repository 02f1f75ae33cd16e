/**
 * A run with the whole engine in one process, as OpenTelemetry's own variables require: traced-run.ts ADDRESS BUNDLE.
 * The activity's model is fake.
 */
import { metricMeter } from '@temporalio/activity'
import { Client } from '@temporalio/client'
import { connect, startRun } from '../../../../forge/tasks/engine/client.ts'
import { countRequest } from '../../../../forge/tasks/engine/metrics.ts'
import { withModelSpan } from '../../../../forge/tasks/engine/spans.ts'
import { startTelemetry } from '../../../../forge/tasks/engine/telemetry.ts'
import { hostWorker } from '../../../../forge/tasks/engine/worker.ts'

const [address = '', bundle = ''] = Bun.argv.slice(2)
const server = { address, namespace: 'forge', options: { tls: false as const } }
const end = new AbortController()

type Place = { run: string; task: string }
let requests = 0

async function ask({ run, task }: Place): Promise<string> {
  const request = { operation: 'chat', provider: 'anthropic', model: 'a-model', maxTokens: 100, run, task } as const
  return await withModelSpan(request, async tell => {
    requests++
    const counted = { model: 'a-model', provider: 'anthropic', sent: 'now' } as const
    if (requests === 1) {
      countRequest(metricMeter, { ...counted, error: 'overloaded' })
      throw new Error('The model said: SECRET-WORDS')
    }
    const usage = { input: 12, output: 34, cacheRead: 2, cacheWrite: 0, cost: 0.25 }
    countRequest(metricMeter, { ...counted, usage })
    tell({ model: 'a-model-2', input: 12, output: 34, finish: 'stop' })
    return 'SECRET-ANSWER'
  })
}

const ready = Promise.withResolvers<void>()
const worker = hostWorker({
  server,
  queue: 'traced',
  bundle,
  activities: { ask, wait: async () => '' },
  env: process.env,
  signal: end.signal,
  drain: new AbortController().signal,
  log: line => console.error(line),
  onReady: ready.resolve,
})
await Promise.race([ready.promise, worker])
{
  await using telemetry = await startTelemetry(process.env)
  const connection = await connect(server)
  const interceptors = { workflow: telemetry.client }
  const client = new Client({ connection, namespace: 'forge', interceptors })
  const handle = await startRun(client, 'traced', { run: `traced-${process.pid}`, wish: 'SECRET-WISH' })
  console.log(await handle.result())
  // What was counted since the last export is lost with the worker: the test says when it has all.
  await Bun.stdin.text()
  end.abort()
  await worker
  await connection.close()
}
process.exit(0)
