/** A receiver of traces by the OpenTelemetry protocol (OTLP over HTTP, as JSON) that keeps what it gets. */

export type ReceivedSpan = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Record<string, unknown>
}

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
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      this.paths.push(new URL(request.url).pathname)
      const body = await request.text()
      this.bodies.push(body)
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

  #keep({ resourceSpans }: Sent): void {
    for (const { scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans) {
          const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, plain(value)]))
          this.spans.push({ ...span, attributes })
        }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }
}

function plain({ stringValue, intValue, doubleValue, arrayValue }: Value): unknown {
  if (arrayValue) return arrayValue.values.map(plain)
  return stringValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue))
}
