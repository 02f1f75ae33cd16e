/**
 * A receiver of traces (as JSON) and metrics (as protobuf) by the OpenTelemetry protocol, OTLP over HTTP, that keeps
 * what it gets.
 */
import * as generated from '@opentelemetry/otlp-transformer/build/src/generated/root'

/** A point of a metric, with the sum of a histogram as its value, and its bounds. */
export type ReceivedPoint = {
  name: string
  unit: string
  value: number
  bounds?: number[]
  attributes: Record<string, unknown>
}

export type ReceivedSpan = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Record<string, unknown>
}

type Point = { attributes?: Attribute[]; asDouble?: number; asInt?: number; sum?: number; explicitBounds?: number[] }
type Points = { dataPoints?: Point[] }
type Measured = { name: string; unit: string; sum?: Points; gauge?: Points; histogram?: Points }
type SentMetrics = {
  resourceMetrics?: { resource?: { attributes?: Attribute[] }; scopeMetrics?: { metrics?: Measured[] }[] }[]
}

/** The decoder that OpenTelemetry generates from its schema; it comes without types. */
const { ExportMetricsServiceRequest } = (
  generated as unknown as {
    opentelemetry: {
      proto: {
        collector: { metrics: { v1: { ExportMetricsServiceRequest: { decode: (bytes: Uint8Array) => SentMetrics } } } }
      }
    }
  }
).opentelemetry.proto.collector.metrics.v1

type Value = {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  arrayValue?: { values: Value[] }
}
type Attribute = { key: string; value: Value }
type Sent = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes'> & { attributes: Attribute[] })[] }[]
  }[]
}

export class TraceReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = []
  /** The received bodies, unchanged. */
  readonly bodies: string[] = []
  readonly paths: string[] = []
  /** The points of the newest export of each metric, which is cumulative. */
  readonly points = new Map<string, ReceivedPoint[]>()
  readonly headers: Headers[] = []
  /** The attributes of the sender of metrics. */
  resource: Record<string, unknown> = {}
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      this.paths.push(new URL(request.url).pathname)
      this.headers.push(request.headers)
      const bytes = Buffer.from(await request.arrayBuffer())
      const body = bytes.toString()
      this.bodies.push(body)
      if (request.url.endsWith('/v1/metrics')) this.#measure(bytes)
      if (request.headers.get('content-type')?.startsWith('application/json')) this.#keep(JSON.parse(body))
      return Response.json({})
    },
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`
  }

  /** The span with a name. Throws where there is none, or more than one. */
  span(name: string): ReceivedSpan {
    const [span, ...more] = this.spans.filter(it => it.name === name)
    if (!span || more.length > 0) throw new Error(`${name}: ${more.length + (span ? 1 : 0)} of ${this.list()}`)
    return span
  }

  /** The names of a span and its ancestors. */
  pathOf(span: ReceivedSpan): string[] {
    const parent = this.spans.find(({ spanId }) => spanId === span.parentSpanId)
    return parent ? [...this.pathOf(parent), span.name] : [span.name]
  }

  list(): string {
    return this.spans.map(({ name }) => name).join(', ')
  }

  #measure(bytes: Buffer): void {
    for (const { resource, scopeMetrics } of ExportMetricsServiceRequest.decode(bytes).resourceMetrics ?? []) {
      this.resource = attributesOf(resource?.attributes)
      for (const { metrics } of scopeMetrics ?? [])
        for (const { name, unit, sum, gauge, histogram } of metrics ?? []) {
          const points = (sum ?? gauge ?? histogram)?.dataPoints ?? []
          // Numbers of 64 bits are objects.
          const numberIn = (it: Point) => Number((histogram ? it.sum : undefined) ?? it.asDouble ?? it.asInt)
          const received = points.map(it => ({
            name,
            unit,
            value: numberIn(it),
            ...(histogram && { bounds: it.explicitBounds ?? [] }),
            attributes: attributesOf(it.attributes),
          }))
          this.points.set(name, received)
        }
    }
  }

  #keep({ resourceSpans }: Sent): void {
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans) {
          this.spans.push({ ...span, attributes: attributesOf(span.attributes) })
        }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }
}

const attributesOf = (attributes: Attribute[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))

function plain({ stringValue, intValue, doubleValue, arrayValue }: Value): unknown {
  if (arrayValue) return arrayValue.values.map(plain)
  return stringValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue))
}
