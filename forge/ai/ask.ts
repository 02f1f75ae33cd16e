/**
 * Asks a model: one request, one answer, with retries where these make sense. Requests are repeated nowhere else: the
 * AI SDK's own loop, retries and tool calling are not used.
 */
import type {
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { Assembly } from './answers.ts'
import type { BatchableModel, BatchLine, BatchService, ModelBatches } from './batches/batches.ts'
import { type Fetch, ModelExchange } from './endpoint.ts'
import { cutShort, hostOf, isEndWithoutReason, type ModelEndpoint, passes, troubleOf } from './errors.ts'
import { tokensIn, tokensOf } from './fence.ts'
import { Misses } from './misses.ts'
import { type Price, withCost } from './price.ts'
import { callOptions, withContentParts, withHourMarks } from './prompt.ts'
import { type ModelAnswer, ModelError, type ModelTrouble, type Progress, type Request, type Usage } from './request.ts'

/** When a request is given up or retried. All times in seconds. */
export type Patience = {
  /** The stream is cut after this many seconds without a byte. */
  silence: number
  /** The pause before the first retry. It doubles with each retry, up to `longestPause`. */
  firstPause: number
  longestPause: number
  /** Where a provider asks for a longer pause than this, in seconds, the request is not tried again. */
  longestWait: number
  /** How many retries each kind of trouble gets. */
  again: Partial<Record<ModelTrouble, number>>
}

export const DEFAULT_PATIENCE: Patience = {
  silence: 240,
  firstPause: 2,
  longestPause: 60,
  longestWait: 300,
  // A cut answer has been paid for, and an unreachable server mostly stays so: few retries for these.
  again: { rate: 6, overloaded: 5, cut: 2, unreachable: 2 },
}

type Options = { signal: AbortSignal; onProgress: (progress: Progress) => void }

type AskedModelOptions = {
  asked: ModelEndpoint
  window: number
  /** Opens the AI SDK's model, which is to send its requests by the given fetch. */
  open: (fetch: Fetch) => LanguageModelV4
  patience: Patience
  /** The model's price, for providers that do not report costs. */
  price?: Price | undefined
  /** Whether the endpoint is Anthropic's own. Compatible servers refuse its newest options. */
  isAtAnthropic: boolean
  /** The batch interface of the provider; undefined where it has none. */
  service?: BatchService | undefined
}

/** A model that is asked through the AI SDK. */
export class AskedModel implements BatchableModel {
  readonly window: number
  readonly batches: ModelBatches | undefined
  /** Private (#), since it holds secrets, which must not show when this object is printed. */
  readonly #asked: ModelEndpoint
  private readonly open: AskedModelOptions['open']
  private readonly patience: Patience
  private readonly price: Price | undefined
  private readonly provider: SharedV4ProviderOptions
  private misses: Misses | undefined
  /** Options that this model has refused. Later requests omit them. */
  readonly #without = new Set<Choice>()

  constructor({ asked, window, open, patience, price, isAtAnthropic, service }: AskedModelOptions) {
    this.#asked = asked
    this.window = window
    this.batches = service && {
      service,
      line: request => this.#line(request),
      answer: (request, body) => this.#answerIn(request, body),
    }
    this.open = open
    this.patience = patience
    this.price = price
    this.misses = isAtAnthropic ? new Misses() : undefined
    this.provider = isAtAnthropic ? {} : { anthropic: { toolStreaming: false } }
  }

  get name(): string {
    return this.#asked.name
  }

  async ask(request: Request, { signal, onProgress }: Options): Promise<ModelAnswer> {
    // Each kind of trouble has its own retries: an answer that breaks off after a rate limit gets all of its own.
    const failed = new Map<ModelTrouble, number>()
    for (;;) {
      signal.throwIfAborted()
      const asked = this.#accepted(request)
      const answered = await this.askOnce(asked, { signal, onProgress })
      if (answered.answer) return answered.answer
      const { trouble } = answered
      if (this.isAboutMisses(trouble) || this.isAboutChoice(asked, trouble)) continue
      const before = failed.get(trouble.trouble) ?? 0
      failed.set(trouble.trouble, before + 1)
      const seconds = pauseAfter(trouble, before, this.patience)
      if (seconds === undefined) throw trouble
      onProgress({ type: 'again', words: againWords(trouble, this.#asked), seconds: Math.ceil(seconds) })
      await pause(seconds, signal)
      onProgress({ type: 'resent' })
    }
  }

  /** The request without the options (thinking, a required call) that this model has refused before. */
  #accepted({ thinking, mustCall, ...plain }: Request): Request {
    return {
      ...plain,
      ...(thinking && !this.#without.has('thinking') && { thinking }),
      ...(mustCall && !this.#without.has('mustCall') && { mustCall }),
    }
  }

  /**
   * The line of a batch for a request: what the AI SDK would send now, without streaming. Nothing is sent: the body is
   * taken from the SDK's call of its fetch function.
   */
  async #line(request: Request): Promise<BatchLine> {
    let line: BatchLine | undefined
    const capture = async (...[, init]: Parameters<Fetch>): Promise<Response> => {
      const betas = new Headers(init?.headers).get('anthropic-beta')?.split(',') ?? []
      line = { body: String(init?.body ?? ''), betas: betas.map(beta => beta.trim()).filter(Boolean) }
      throw new Error('Only the body of this request is needed')
    }
    const options = callOptions(this.#asBatched(this.#accepted(request)), this.#asked)
    const model = this.open(Object.assign(capture, { preconnect: fetch.preconnect }))
    try {
      await model.doGenerate(options)
    } catch (error) {
      if (!line) throw error
    }
    if (!line) throw new ModelError('broken', 'A request could not be written as a line of a batch.')
    return line
  }

  /** A batch may take longer than five minutes, so its requests ask Anthropic to cache what they share for an hour. */
  #asBatched(request: Request): Request {
    return this.#asked.provider === 'anthropic' ? withHourMarks(request) : request
  }

  /** Reads the answer in the body of a batch's result by the AI SDK, as if it were the response to a single request. */
  async #answerIn(request: Request, body: string): Promise<ModelAnswer> {
    const asked = this.#asked
    const replay = async (): Promise<Response> =>
      new Response(body, { status: 200, headers: { 'content-type': 'application/json' } })
    const assembly = new Assembly(asked, callIds(request), () => undefined)
    try {
      const model = this.open(Object.assign(replay, { preconnect: fetch.preconnect }))
      const generated = await model.doGenerate(callOptions(this.#asBatched(this.#accepted(request)), asked))
      for (const part of partsOfAnswer(generated)) assembly.take(part)
    } catch (error) {
      throw troubleOf(error, asked, { hasBegun: false, text: '' })
    }
    if (!assembly.isWhole) throw cutShort(asked, assembly.text)
    return assembly.answer(() => estimated(Buffer.byteLength(JSON.stringify(request)), assembly.text))
  }

  /** Sends the request once. Throws only the signal's reason; every other failure is returned. */
  private async askOnce(
    request: Request,
    { signal, onProgress }: Options,
  ): Promise<{ answer: ModelAnswer } | { answer?: never; trouble: ModelError }> {
    const asked = this.#asked
    const { misses } = this
    const rewrite = asked.provider === 'openrouter' ? withContentParts : misses?.asking(request)
    const line = new ModelExchange({ asked, silence: this.patience.silence, signal, rewrite })
    const assembly = new Assembly(asked, callIds(request), onProgress)
    try {
      let miss: string | undefined
      const { providerOptions, ...plain } = callOptions(request, asked)
      const options = {
        ...plain,
        providerOptions: { ...providerOptions, ...this.provider },
        abortSignal: signal,
        includeRawChunks: true,
      }
      const { stream } = await this.open(line.fetch).doStream(options)
      for await (const part of partsOf(stream, signal)) {
        if (part.type === 'error' && !isEndWithoutReason(part.error)) throw part.error
        assembly.take(part)
        if (part.type === 'raw') miss ??= misses?.hear(request, part.rawValue)
      }
      if (line.trouble) throw line.trouble
      if (!assembly.isWhole) throw cutShort(asked, assembly.text)
      const told = assembly.answer(() => estimated(line.sent, assembly.text))
      const answer = { ...told, usage: withCost(told.usage, this.price) }
      // Another conversation with the same beginning can cause a reported cache miss. It is ignored when at least half
      // of the input came from the cache.
      const isCacheHit = answer.usage.cacheRead >= answer.usage.input / 2
      return { answer: miss === undefined || isCacheHit ? answer : { ...answer, miss } }
    } catch (error) {
      signal.throwIfAborted()
      return { trouble: troubleOf(line.trouble ?? error, asked, { hasBegun: line.hasBegun, text: assembly.text }) }
    } finally {
      line.close()
    }
  }

  /** Tells whether the provider refused the field that asks for the reason of a cache miss. Later requests omit it. */
  private isAboutMisses({ trouble, message }: ModelError): boolean {
    if (!this.misses || trouble !== 'refused' || !/diagnostics/.test(message)) return false
    this.misses = undefined
    return true
  }

  /**
   * Tells whether a request was refused for an option that not every model knows, and marks that option to be omitted:
   * the one that the refusal names, or all of them where it names none.
   */
  private isAboutChoice({ thinking, mustCall }: Request, { trouble, message }: ModelError): boolean {
    const sent: Choice[] = [...(thinking ? (['thinking'] as const) : []), ...(mustCall ? (['mustCall'] as const) : [])]
    if (trouble !== 'refused' || sent.length === 0) return false
    const named = sent.filter(choice => CHOICE_WORDS[choice].test(message))
    if (named.length === 0 && !UNKNOWN_PARAMETER.test(message)) return false
    for (const choice of named.length > 0 ? named : sent) this.#without.add(choice)
    return true
  }
}

/** Request options that not every provider or model knows. */
type Choice = 'thinking' | 'mustCall'

/** Patterns that show that a provider's refusal is about an option of the request. */
const CHOICE_WORDS: Record<Choice, RegExp> = { thinking: /reasoning|thinking|effort/i, mustCall: /tool.?choice/i }

const UNKNOWN_PARAMETER = /parameter|argument|unrecognized|unknown|unsupported|not supported|not permitted|extra/i

/** The estimated usage, for servers that report none. `sent`: bytes; `text`: the answer. */
function estimated(sent: number, text: string): Usage {
  return { input: tokensOf(sent), output: tokensIn(text), cacheRead: 0, cacheWrite: 0 }
}

const callIds = (request: Request): Set<string> =>
  new Set(
    request.messages.flatMap(({ blocks }) =>
      blocks.flatMap((block: { type: string; id?: string }) => (block.type === 'call' && block.id ? [block.id] : [])),
    ),
  )

/** Converts an answer that was not streamed to the parts that a streamed answer would consist of. */
function* partsOfAnswer({
  content,
  finishReason,
  usage,
  providerMetadata,
}: LanguageModelV4GenerateResult): Generator<LanguageModelV4StreamPart> {
  for (const [at, part] of content.entries()) {
    const id = `${at}`
    const told = 'providerMetadata' in part && part.providerMetadata ? { providerMetadata: part.providerMetadata } : {}
    if (part.type === 'text' || part.type === 'reasoning') {
      yield { type: `${part.type}-start`, id, ...told }
      yield { type: `${part.type}-delta`, id, delta: part.text }
      yield { type: `${part.type}-end`, id, ...told }
    }
    if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName }
      yield part
    }
  }
  yield { type: 'finish', finishReason, usage, ...(providerMetadata && { providerMetadata }) }
}

/** Yields the parts of a stream. Throws the signal's reason as soon as it is aborted. */
async function* partsOf(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  signal: AbortSignal,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const reader = stream.getReader()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  aborted.promise.catch(() => {})
  try {
    signal.throwIfAborted()
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), aborted.promise])
      if (done) return
      yield value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    reader.cancel().catch(() => {})
  }
}

/** The seconds to wait before a retry; undefined where there is to be none. `failed`: retries for the same trouble. */
function pauseAfter(trouble: ModelError, failed: number, patience: Patience): number | undefined {
  if (!passes(trouble.trouble) || failed >= (patience.again[trouble.trouble] ?? 0)) return undefined
  const { retryAfter = 0 } = trouble
  if (retryAfter > patience.longestWait) return undefined
  const pause = Math.min(patience.longestPause, patience.firstPause * 2 ** failed)
  // Random, so that branches which were refused together do not all retry at the same moment.
  return Math.max(retryAfter, pause * (0.75 + Math.random() / 2))
}

function againWords(trouble: ModelError, asked: ModelEndpoint): string {
  const host = hostOf(asked.address)
  switch (trouble.trouble) {
    case 'rate':
      return `${host} takes no more requests for now`
    case 'overloaded':
      return `${trouble.what}${trouble.said}`
    case 'cut':
      return `The answer of ${host} broke off`
    default:
      return `${host} can't be reached`
  }
}

/** Waits. Throws the signal's reason when that is aborted. */
function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, seconds * 1000)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
}
