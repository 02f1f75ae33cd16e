/**
 * Metrics of a worker by OpenTelemetry, where its usual variables request them: slots, waits and failures, as the
 * library of Temporal counts them, and requests to models with their tokens and cost. Without those variables nothing
 * is counted or sent. They have names and numbers only. What a worker counted since its last export is lost when it
 * ends: the library sends nothing then.
 */
import type { MetricMeter } from '@temporalio/common'
import type { MetricsExporterConfig } from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import type { Usage } from '../../ai/request.ts'

type Environment = Record<string, string | undefined>

/** Milliseconds between two exports, as OpenTelemetry has it. */
const EXPORT_INTERVAL_MS = 60_000

/** The bounds for the costs of requests, in US dollars: the library's own are for milliseconds. */
const COST_BOUNDS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]
const COST = 'forge_model_cost'

/** A header's name, and its value encoded as in an address. */
const HEADER = /^([!#$%&'*+.^`|~\w-]+)=(.*)$/

/** Whether the variables request metrics. */
export function isMeasured(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  const exporter = env.OTEL_METRICS_EXPORTER || undefined
  if (exporter !== undefined) return exporter.split(',').some(name => name.trim() === 'otlp')
  return Boolean(env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT)
}

/**
 * The settings of the metrics for the library's runtime, by OpenTelemetry's variables; undefined where none are
 * requested. @throws Failure where a variable has no address.
 */
export function metricsOf(env: Environment): MetricsExporterConfig | undefined {
  if (!isMeasured(env)) return undefined
  const protocol = env.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL
  const http = protocol !== 'grpc'
  const interval = Number(env.OTEL_METRIC_EXPORT_INTERVAL)
  return {
    attachServiceName: false,
    globalTags: { 'service.name': env.OTEL_SERVICE_NAME || 'forge' },
    otel: {
      url: urlOf(env, http),
      http,
      headers: headersOf(env.OTEL_EXPORTER_OTLP_METRICS_HEADERS || env.OTEL_EXPORTER_OTLP_HEADERS || ''),
      histogramBucketOverrides: { [COST]: COST_BOUNDS },
      metricsExportInterval: interval > 0 ? interval : EXPORT_INTERVAL_MS,
      temporality:
        env.OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE?.toLowerCase() === 'delta' ? 'delta' : 'cumulative',
    },
  }
}

function urlOf(env: Environment, http: boolean): string {
  const own = env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT || `http://localhost:${http ? 4318 : 4317}`
  const url = own || (http ? `${base.replace(/\/+$/, '')}/v1/metrics` : base)
  // The address may have a key in it, so it is not quoted.
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new Failure(
      `${own ? 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT'} is no http or https address: correct it, or set OTEL_METRICS_EXPORTER=none.`,
    )
  return url
}

function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap(pair => {
    const [, name, value = ''] = HEADER.exec(pair.trim()) ?? []
    return name === undefined ? [] : [[name, decoded(value)] as const]
  })
  return Object.fromEntries(pairs)
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** A request to a model that has ended. `error`: the name of its failure. */
export type CountedRequest = {
  model: string
  provider: string
  sent: 'now' | 'batch'
  error?: string
  usage?: Usage
}

/** Counts a request to a model. `meter`: that of the activity, which does nothing where no metrics are requested. */
export function countRequest(meter: MetricMeter, { model, provider, sent, error, usage }: CountedRequest): void {
  const tags = { 'gen_ai.provider.name': provider, 'gen_ai.request.model': model }
  const own = meter.withTags(tags)
  const requests = own.createCounter('forge_model_requests', '{request}', 'Requests to models that have ended')
  requests.add(1, { sent, ...(error !== undefined && { 'error.type': error }) })
  if (!usage) return
  const tokens = own.createCounter('forge_model_tokens', '{token}', 'Tokens of requests to models, by type')
  const { input: all, output, cacheRead: cache_read, cacheWrite: cache_write, cost } = usage
  const input = all - cache_read - cache_write
  for (const [type, count] of Object.entries({ input, output, cache_read, cache_write }))
    if (count > 0) tokens.add(Math.round(count), { 'gen_ai.token.type': type })
  if (cost === undefined) return
  own.createHistogram(COST, 'float', 'USD', 'Cost of requests to models').record(cost, { sent })
}
