/**
 * What activities tell a trace. Without the OTEL_ variables all of this does nothing. Nothing of a prompt, an answer or
 * a file is ever told: names, numbers and times alone.
 */
import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = () => trace.getTracer('forge')

/** A request as the conventions for generative AI have it. */
type ModelRequest = {
  /** What kind of request: chat, embeddings … */
  operation: 'chat' | 'text_completion' | 'embeddings'
  /** The provider: anthropic, openai, openrouter. */
  provider: string
  model: string
  /** How long the answer may get. */
  maxTokens?: number
  /** Where in the run it belongs. */
  run?: string
  task?: string
  step?: string
}

/** What is known of an answer. */
export type AnswerFacts = {
  model?: string
  id?: string
  finish?: string
  input?: number
  output?: number
  cost?: number
}

/** Tells the trace what came back. */
type TellAnswer = (answer: AnswerFacts) => void

/** A span around one request to a model. An error ends it as one, by its name alone: its words may hold content. */
export async function withModelSpan<T>(request: ModelRequest, ask: (tell: TellAnswer) => Promise<T>): Promise<T> {
  const attributes = known({
    'gen_ai.operation.name': request.operation,
    'gen_ai.provider.name': request.provider,
    // By this name the conventions knew the provider before.
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
