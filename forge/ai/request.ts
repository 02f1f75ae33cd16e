/**
 * Requests and answers of models, independent of providers. The code that packs requests, sends them and acts on
 * answers shares these types.
 */
import { Failure } from '../../core/failure.ts'

/** The lifetime of the provider's cache for everything before the mark. */
export type Mark = '5m' | '1h'

export type TextBlock = { type: 'text'; text: string; mark?: Mark }

/** A model's reasoning. `provider`: data that its provider may want back unchanged while tools are called. */
export type ReasoningBlock = { type: 'reasoning'; text: string; provider?: unknown }

/**
 * A tool call. `arguments`: the parsed JSON, or what the model sent, as a string, where that is no JSON. The tool
 * validates it.
 */
export type CallBlock = { type: 'call'; id: string; name: string; arguments: unknown; provider?: unknown }

export type ResultBlock = { type: 'result'; id: string; name: string; text: string; isError: boolean; mark?: Mark }

export type RequestMessage =
  | { role: 'user'; blocks: TextBlock[] }
  | { role: 'assistant'; blocks: (TextBlock | ReasoningBlock | CallBlock)[] }
  | { role: 'tool'; blocks: ResultBlock[] }

/** `parameters`: the JSON Schema of an object. */
export type ToolDescription = { name: string; description: string; parameters: Record<string, unknown> }

export type Thinking = 'low' | 'medium' | 'high' | 'xhigh'

/** A complete request. A provider reads it in the order tools, system, messages. */
export type Request = {
  tools: readonly ToolDescription[]
  system: readonly TextBlock[]
  messages: readonly RequestMessage[]
  /** The most tokens that the answer may have, reasoning included. */
  output: number
  /** Whether the answer has to call a tool. Omitted for providers without that option. */
  mustCall?: boolean
  /**
   * How much the model should think before it answers; undefined: the provider's default. Omitted for providers without
   * that option.
   */
  thinking?: Thinking
}

/** In tokens. `input`: everything sent; of it, `cacheRead` came from the cache, and `cacheWrite` was written to it. */
export type Usage = {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** US dollars, where known. */
  cost?: number
}

export type ModelAnswer = {
  blocks: (TextBlock | ReasoningBlock | CallBlock)[]
  /** `length`: cut at the maximum of output tokens; a call that was incomplete then is left out. */
  end: 'done' | 'calls' | 'length' | 'refused'
  usage: Usage
  /** Why the provider's cache missed, where the provider says so. */
  miss?: string
}

/** Events of an answer while it streams in. */
export type Progress =
  | { type: 'text'; delta: string }
  | { type: 'reasoning'; delta: string }
  | { type: 'call'; id: string; name: string }
  | { type: 'arguments'; id: string; delta: string }
  /** The request is sent again after `seconds`, because of `words`: the answer so far is void. */
  | { type: 'again'; words: string; seconds: number }
  /** The pause of `again` is over: the request is sent. */
  | { type: 'resent' }

/** A model that can be asked. */
export interface Model {
  /** The name as the user writes it: anthropic/NAME, openrouter/VENDOR/NAME, openai/NAME, SERVER/NAME. */
  readonly name: string
  /** The most tokens of a request and its answer together. */
  readonly window: number
  /**
   * Sends a request, with a bounded number of retries. Throws a {@link ModelError}, or the signal's reason. The answer
   * contains only calls that the model sent completely.
   */
  ask(
    request: Request,
    options: { signal: AbortSignal; onProgress: (progress: Progress) => void },
  ): Promise<ModelAnswer>
}

/**
 * Why a model gave no answer. `key`: the key is missing or refused. `credit`: no money left. `rate`: too many requests.
 * `cut`: the stream broke off. `too long`: the request exceeds the window. `broken`: the response is not an answer of a
 * model.
 */
export type ModelTrouble =
  | 'key'
  | 'credit'
  | 'rate'
  | 'overloaded'
  | 'cut'
  | 'too long'
  | 'no such model'
  | 'refused'
  | 'unreachable'
  | 'broken'

/**
 * A sentence with two endings. `what`: what happened. `inChat`: what to do about it in the chat. `inRun`: the same for
 * a run of tasks, which has no input for messages.
 */
export type Sentence = { what: string; inChat: string; inRun: string }

/**
 * A model gave no answer. The message says what happened and what to do, for the chat; `inRun` is the same for a run of
 * tasks.
 */
export class ModelError extends Failure {
  /** What happened, without what to do. */
  readonly what: string
  readonly inRun: string

  constructor(
    readonly trouble: ModelTrouble,
    words: string | Sentence,
    /** Seconds after which to retry, where the provider says so. */
    readonly retryAfter?: number,
    /** The text of the answer before it broke off. */
    readonly text: string = '',
    /** What the provider says, as the end of a sentence; '' where it says nothing. */
    readonly said: string = '',
  ) {
    super(typeof words === 'string' ? words : `${words.what}${words.inChat}`)
    this.what = typeof words === 'string' ? words : words.what
    this.inRun = typeof words === 'string' ? words : `${words.what}${words.inRun}`
  }
}
