/**
 * Traces by OpenTelemetry, where its usual variables request them: run, workflow, activity and model request in one
 * trace. Without those variables nothing is loaded or sent. Traces have only names, numbers and times; anything that
 * could contain text of a prompt, an answer, a file or an error is removed here.
 */
import type { Context, TextMapPropagator } from '@opentelemetry/api'
import type { ExportResult } from '@opentelemetry/core'
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { WorkflowClientInterceptor } from '@temporalio/client'
import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker'

type Environment = Record<string, string | undefined>
type Sinks = InjectedSinks<{ exporter: { export(spans: unknown[]): void } }>

/** The interceptors for client and worker. */
export type Telemetry = AsyncDisposable & {
  client: WorkflowClientInterceptor[]
  activity: ActivityInterceptorsFactory[]
  sinks: Sinks
}

/** Workflows always trace; without a collector, their spans are dropped. */
const NO_TELEMETRY: Telemetry = {
  client: [],
  activity: [],
  sinks: { exporter: { export: { fn: () => undefined } } },
  [Symbol.asyncDispose]: async () => undefined,
}

/** Whether the variables request traces. */
export function isTraced(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  const exporter = env.OTEL_TRACES_EXPORTER || undefined
  if (exporter !== undefined) return exporter.split(',').some(name => name.trim() === 'otlp')
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT)
}

/**
 * Starts tracing. The exporter itself reads its settings (address, headers) from the process's variables. Disposing of
 * it sends the remaining spans; a receiver that does not answer delays only briefly, and `say` is called once until it
 * answers again.
 */
export async function startTelemetry(
  env: Environment,
  say: (line: string) => void = () => undefined,
): Promise<Telemetry> {
  if (!isTraced(env)) return NO_TELEMETRY
  const [api, trace, resources, { AsyncLocalStorageContextManager }, temporal, exporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/context-async-hooks'),
    import('@temporalio/interceptors-opentelemetry'),
    openExporter(env),
  ])
  const named = resources.detectResourcesSync({ detectors: [resources.envDetectorSync] })
  const resource = new resources.Resource({ 'service.name': 'forge' }).merge(named)
  const processor = new OnlyNamesAndNumbers(new trace.BatchSpanProcessor(new TellsFailures(exporter, say)))
  const provider = new trace.BasicTracerProvider({ resource, spanProcessors: [processor] })
  const propagator: TextMapPropagator = new (await import('@opentelemetry/core')).W3CTraceContextPropagator()
  provider.register({ contextManager: new AsyncLocalStorageContextManager(), propagator })
  // The exporter's own messages may contain a key in its address, so they must not get into a log; TellsFailures
  // reports what matters.
  api.diag.disable()
  const sink = temporal.makeWorkflowExporter(processor, resource)
  return {
    client: [new temporal.OpenTelemetryWorkflowClientInterceptor()],
    activity: [context => ({ inbound: new temporal.OpenTelemetryActivityInboundInterceptor(context) })],
    sinks: { exporter: sink } as unknown as Sinks,
    [Symbol.asyncDispose]: async () => {
      const late = Bun.sleep(LAST_WORDS)
      await Promise.race([provider.shutdown().catch(() => undefined), late])
      api.trace.disable()
      api.context.disable()
      api.propagation.disable()
    },
  }
}

/** Milliseconds for sending the last spans. */
const LAST_WORDS = 5000

async function openExporter(env: Environment): Promise<SpanExporter> {
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf'
  switch (protocol) {
    case 'grpc':
      return new (await import('@opentelemetry/exporter-trace-otlp-grpc')).OTLPTraceExporter()
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter()
    default:
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter()
  }
}

/** Reports that traces can't be sent, with the code only, as the address may contain a key. */
export class TellsFailures implements SpanExporter {
  #isFailing = false

  constructor(
    private readonly next: SpanExporter,
    private readonly say: (line: string) => void,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.next.export(spans, result => {
      const { error } = result
      const isFailing = result.code !== 0
      if (isFailing && !this.#isFailing)
        this.say(
          `Traces can't be sent (${codeOf(error)}), and are dropped until that is mended: check ` +
            'OTEL_EXPORTER_OTLP_ENDPOINT, its headers, and what listens there.',
        )
      if (!isFailing && this.#isFailing) this.say('Traces are sent again.')
      this.#isFailing = isFailing
      done(result)
    })
  }

  forceFlush(): Promise<void> {
    return this.next.forceFlush?.() ?? Promise.resolve()
  }

  shutdown(): Promise<void> {
    return this.next.shutdown()
  }
}

/** The code of a failure, such as ECONNREFUSED or 401; its message may contain an address. */
function codeOf(error: Error | undefined): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'number' || (typeof code === 'string' && /^\w{1,40}$/.test(code))) return String(code)
  }
  return 'no answer'
}

/** The attributes that are sent; all others of the interceptors (memos, failures, results) are removed. */
const TOLD = /^(gen_ai\.|forge\.|error\.type$|workflow_id$|run_id$|activity_id$)/

/** Removes all text from spans before they are sent, and adds run and task to those of workflows. */
class OnlyNamesAndNumbers implements SpanProcessor {
  constructor(private readonly next: SpanProcessor) {}

  onStart(span: Span, context: Context): void {
    this.next.onStart(span, context)
  }

  onEnd(span: ReadableSpan): void {
    const told = Object.entries(span.attributes).filter(([name]) => TOLD.test(name))
    const attributes = { ...ofWorkflow(span.attributes), ...Object.fromEntries(told) }
    const status = { code: span.status.code }
    // Methods of a span need the span itself as `this`.
    const spanContext = () => span.spanContext()
    this.next.onEnd(Object.assign(Object.create(span), { attributes, status, events: [], links: [], spanContext }))
  }

  forceFlush(): Promise<void> {
    return this.next.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.next.shutdown()
  }
}

/** The run and task of a workflow, from the information that the interceptors pass on. */
function ofWorkflow(info: Record<string, unknown>): Record<string, string> {
  const { workflowId, runId, searchAttributes } = info
  if (typeof workflowId !== 'string') return {}
  const found = (name: string): string | undefined => {
    const values = (searchAttributes as Record<string, unknown> | undefined)?.[name]
    return Array.isArray(values) && typeof values[0] === 'string' ? values[0] : undefined
  }
  const run = found('forgeRun')
  const task = found('forgeTask')
  return {
    workflow_id: workflowId,
    run_id: String(runId),
    ...(run && { 'forge.run': run }),
    ...(task && { 'forge.task': task }),
  }
}
