/** Traces: what a collector receives of a run, and that nothing is sent without configuration. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { isMeasured, metricsOf } from '../../../../forge/tasks/engine/metrics.ts'
import { isTraced, TellsFailures } from '../../../../forge/tasks/engine/telemetry.ts'
import { TraceReceiver } from '../../../doubles/otlp.ts'
import { until } from '../../../support/repository.ts'
import { hasNoTemporal, startTemporal, type TestTemporal } from '../../../support/temporal.ts'

describe.skipIf(hasNoTemporal)('a run', () => {
  let temporal: TestTemporal
  let bundle = ''
  beforeAll(async () => {
    temporal = await startTemporal()
    bundle = join(temporal.folder, 'flows.js')
    await writeBundle(bundle, join(import.meta.dir, 'flows/flows.ts'))
  }, 60_000)
  afterAll(() => temporal[Symbol.asyncDispose]())

  /** Does a run, which ends when something has been received. Gives the lines that it printed. */
  async function traced(variables: Record<string, string>, hasReceived = () => true): Promise<string[]> {
    const command = [process.execPath, join(import.meta.dir, 'traced-run.ts'), temporal.address, bundle]
    const env = { ...temporal.env, ...variables }
    const child = Bun.spawn(command, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    await until(hasReceived)
    child.stdin.end()
    const words = await child.stdout.text()
    expect(await child.exited).toBe(0)
    return words.trim().split('\n')
  }

  test('is one trace: run, workflow, activity and the request to the model, without a word of what was said', async () => {
    await using receiver = new TraceReceiver()
    const [answer] = await traced({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
    })
    expect(answer).toBe('SECRET-ANSWER')
    expect(new Set(receiver.paths)).toEqual(new Set(['/v1/traces']))
    const requests = receiver.spans.filter(({ name }) => name === 'chat a-model')
    const [failed, good] = requests
    expect(requests.length).toBe(2)
    expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(good && receiver.pathOf(good)).toEqual([
      'StartWorkflow:forgeRun',
      'RunWorkflow:forgeRun',
      'StartChildWorkflow:task',
      'RunWorkflow:task',
      'StartActivity:ask',
      'RunActivity:ask',
      'chat a-model',
    ])
    expect(good?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.system': 'anthropic',
      'gen_ai.request.model': 'a-model',
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.model': 'a-model-2',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 34,
      'forge.run': expect.stringMatching(/^traced-/),
      'forge.task': 'one',
    })
    expect(failed?.attributes['error.type']).toBe('Error')
    expect(
      receiver.spans.filter(({ name }) => name === 'RunActivity:ask').map(it => it.attributes['forge.task']),
    ).toEqual(['one', 'one'])
    expect(receiver.span('RunWorkflow:forgeRun').attributes['forge.run']).toMatch(/^traced-/)
    expect(receiver.bodies.join()).not.toContain('SECRET')
  }, 60_000)

  test('is measured: slots, waits, and the requests to models with their tokens and cost', async () => {
    await using receiver = new TraceReceiver()
    const variables = {
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b,x-other=1',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    }
    // The last thing that is counted.
    await traced(variables, () => receiver.points.has('forge_model_cost'))
    expect(new Set(receiver.paths)).toEqual(new Set(['/v1/metrics']))
    expect([receiver.headers[0]?.get('x-team'), receiver.headers[0]?.get('x-other')]).toEqual(['a b', '1'])
    const model = { 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'a-model' }
    const told = (name: string) => receiver.points.get(name)?.map(({ value, attributes }) => ({ value, ...attributes }))
    expect(told('forge_model_requests')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ value: 1, sent: 'now', 'error.type': 'overloaded', ...model }),
        expect.objectContaining({ value: 1, sent: 'now', ...model }),
      ]),
    )
    const tokens = told('forge_model_tokens')?.map(it => [
      (it as Record<string, unknown>)['gen_ai.token.type'],
      it.value,
    ])
    expect(Object.fromEntries(tokens ?? [])).toEqual({ input: 10, cache_read: 2, output: 34 })
    expect(told('forge_model_cost')).toEqual([expect.objectContaining({ value: 0.25, sent: 'now', ...model })])
    // Most requests cost cents: the library's own bounds begin at 50.
    const [{ bounds = [] } = {}] = receiver.points.get('forge_model_cost') ?? []
    expect(bounds.filter(it => it < 1).length).toBeGreaterThan(5)
    expect(told('temporal_worker_task_slots_available')).toContainEqual(
      expect.objectContaining({ worker_type: 'ActivityWorker', task_queue: 'traced' }),
    )
    expect(receiver.resource).toMatchObject({ 'service.name': 'forge' })
    expect(told('temporal_activity_schedule_to_start_latency')).not.toEqual([])
    expect(receiver.bodies.join()).not.toContain('SECRET')
  }, 60_000)

  test('is sent as protobuf where nothing else is said', async () => {
    await using receiver = new TraceReceiver()
    await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    const sent = receiver.bodies.join('')
    expect(sent).toContain('chat a-model')
    expect(sent).not.toContain('SECRET')
  }, 60_000)

  test('sends nothing where no variable asks for it, or one forbids it', async () => {
    await using receiver = new TraceReceiver()
    await traced({})
    await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SDK_DISABLED: 'true' })
    expect(receiver.bodies).toEqual([])
  }, 60_000)
})

test('a receiver that does not answer is told of, once until it answers again, and without its address', () => {
  const said: string[] = []
  let refuses = true
  const error = Object.assign(new Error('connect to https://key@collector'), { code: 'ECONNREFUSED' })
  const next = {
    export: (_: unknown, done: (result: object) => void) => done(refuses ? { code: 1, error } : { code: 0 }),
  }
  const exporter = new TellsFailures(next as unknown as SpanExporter, line => said.push(line))
  const send = () => exporter.export([], () => undefined)
  send()
  send()
  refuses = false
  send()
  expect(said).toEqual([expect.stringMatching(/^Traces can't be sent \(ECONNREFUSED\)/), 'Traces are sent again.'])
  expect(said.join()).not.toContain('key@')
})

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
])('with %p, traces are asked for: %p', (env, isAsked) => {
  expect(isTraced(env)).toBe(isAsked)
})

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
  [{ OTEL_METRICS_EXPORTER: 'otlp' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_METRICS_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
])('with %p, metrics are asked for: %p', (env, isAsked) => {
  expect(isMeasured(env)).toBe(isAsked)
})

test('metrics go to the address that the variables name, by HTTP or gRPC', () => {
  const sentTo = (env: Record<string, string>) => (metricsOf(env) as { otel: object }).otel
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }
  expect(sentTo(endpoint)).toMatchObject({ url: 'http://collector:4318/v1/metrics', http: true })
  const grpc = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  expect(sentTo(grpc)).toMatchObject({ url: 'http://collector:4317', http: false })
  expect(() => metricsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'key@collector' })).toThrow(
    'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address: correct it, or set OTEL_METRICS_EXPORTER=none.',
  )
})
