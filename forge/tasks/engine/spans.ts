/**
 * The spans of activities in a trace. Without the OTEL_ variables they do nothing. They never contain text of prompts,
 * answers or files: only names, numbers and times.
 */
import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = () => trace.getTracer('forge')

/** A request, in the terms of OpenTelemetry's conventions for generative AI. */
type ModelRequest = {
  /** The operation of the request. */
  operation: 'chat' | 'text_completion' | 'embeddings'
  /** The provider: anthropic, openai, openrouter. */
  provider: string
  model: string
  /** The most tokens of the answer. */
  maxTokens?: number
  /** The request's run, task and step. */
  run?: string
  task?: string
  step?: string
}

/** What a span says about an answer. */
export type AnswerFacts = {
  model?: string
  id?: string
  finish?: string
  input?: number
  output?: number
  cost?: number
}

/** Adds the facts of an answer to the span. */
type TellAnswer = (answer: AnswerFacts) => void

/** Runs one request to a model in a span. An error is recorded by its name only: its message may have content in it. */
export async function withModelSpan<T>(request: ModelRequest, ask: (tell: TellAnswer) => Promise<T>): Promise<T> {
  const attributes = known({
    'gen_ai.operation.name': request.operation,
    'gen_ai.provider.name': request.provider,
    // The earlier name of the provider's attribute in OpenTelemetry's conventions.
    'gen_ai.system': request.provider,
    'gen_ai.request.model': request.model,
    'gen_ai.request.max_tokens': request.maxTokens,
    'forge.run': request.run,
    'forge.task': request.task,
    'forge.step': request.step,
  })
  const name = `${request.operation} ${request.model}`
  return await tracer().startActiveSpan(name, { kind: SpanKind.CLIENT, attributes }, async span => {
    try {
      return await ask(answer => span.setAttributes(answered(answer)))
    } catch (error) {
      fail(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

const answered = ({ model, id, finish, input, output, cost }: AnswerFacts): Attributes =>
  known({
    'gen_ai.response.model': model,
    'gen_ai.response.id': id,
    'gen_ai.response.finish_reasons': finish === undefined ? undefined : [finish],
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
    'forge.cost': cost,
  })

const known = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))

function fail(span: Span, error: unknown): void {
  span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
  span.setStatus({ code: SpanStatusCode.ERROR })
}
