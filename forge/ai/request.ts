/**
 * What is said to a model and what it answers, in words that no provider owns: what packs a request, what sends it and
 * what acts on its answer meet here.
 */
import { Failure } from '../../core/failure.ts'

/** For how long the provider is asked to keep everything up to here. */
export type Mark = '5m' | '1h'

export type TextBlock = { type: 'text'; text: string; mark?: Mark }

/**
 * What a model thought aloud. Some want it back byte for byte while they call tools: `provider` is theirs alone, and is
 * handed back as it came.
 */
export type ReasoningBlock = { type: 'reasoning'; text: string; provider?: unknown }

/**
 * A tool that the model wants to be run. `arguments` is what it sent, parsed; where that was no JSON, a string. It is
 * checked by the tool.
 */
export type CallBlock = { type: 'call'; id: string; name: string; arguments: unknown; provider?: unknown }

export type ResultBlock = { type: 'result'; id: string; name: string; text: string; isError: boolean; mark?: Mark }

export type RequestMessage =
  | { role: 'user'; blocks: TextBlock[] }
  | { role: 'assistant'; blocks: (TextBlock | ReasoningBlock | CallBlock)[] }
  | { role: 'tool'; blocks: ResultBlock[] }

/** `parameters` is a JSON Schema of an object. */
export type ToolDescription = { name: string; description: string; parameters: Record<string, unknown> }

export type Thinking = 'low' | 'medium' | 'high'

/** One request, whole: the order in which a provider reads it is tools, system, messages. */
export type Request = {
  tools: readonly ToolDescription[]
  system: readonly TextBlock[]
  messages: readonly RequestMessage[]
  /** The most tokens that the answer may have, thoughts included. */
  output: number
  /** Whether the answer has to call a tool. A provider without that choice is asked without it. */
  mustCall?: boolean
  /** How much the model should think before it answers; undefined: as the provider has it. As with `mustCall`. */
  thinking?: Thinking
}

/** In tokens. `input` is all that was sent; of that, `cacheRead` came from the cache and `cacheWrite` went into it. */
export type Usage = {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** In US dollars, where the provider tells. */
  cost?: number
}

export type ModelAnswer = {
  blocks: (TextBlock | ReasoningBlock | CallBlock)[]
  /** `length`: it was cut at the most tokens; what it called then is not among the blocks. */
  end: 'done' | 'calls' | 'length' | 'refused'
  usage: Usage
  /** Why the provider's cache did not hold, where it says so. */
  miss?: string
}

/** What is to be seen of an answer while it comes. */
export type Progress =
  | { type: 'text'; delta: string }
  | { type: 'reasoning'; delta: string }
  | { type: 'call'; id: string; name: string }
  | { type: 'arguments'; id: string; delta: string }
  /** The request is sent again after `seconds`, and why: what came of it so far no longer counts. */
  | { type: 'again'; words: string; seconds: number }

/** A model that can be asked. */
export interface Model {
  /** As a person writes it: anthropic/NAME, openrouter/VENDOR/NAME, openai/NAME. */
  readonly name: string
  /** How many tokens a request and its answer may have together. */
  readonly window: number
  /**
   * Sends a request; what is worth it is tried again, with patience and a bound. Throws a {@link ModelError}, or the
   * signal's reason. Nothing is called by half: a call is in the answer only where the model sent it whole.
   */
  ask(
    request: Request,
    options: { signal: AbortSignal; onProgress: (progress: Progress) => void },
  ): Promise<ModelAnswer>
}

/**
 * Why a model gave no answer. `key`: it knows none, or not this one. `credit`: there is no money left. `rate`: too many
 * requests. `cut`: the stream ended in the middle. `too long`: the request is larger than the window. `broken`: it
 * answered in a form that is no answer of a model.
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
 * A sentence whose end depends on where it is read: `what` happened, and what to do about it in a chat, and in a run,
 * where nobody sends messages.
 */
export type Sentence = { what: string; inChat: string; inRun: string }

/**
 * A model gave no answer. The message is a sentence for the person in a chat: what happened and what to do; `inRun` is
 * the same for a run of the tasks.
 */
export class ModelError extends Failure {
  readonly inRun: string

  constructor(
    readonly trouble: ModelTrouble,
    words: string | Sentence,
    /** After how many seconds it may be tried again, where the provider says so. */
    readonly retryAfter?: number,
    /** What came before it broke, in so far as it was text. */
    readonly text: string = '',
  ) {
    super(typeof words === 'string' ? words : `${words.what}${words.inChat}`)
    this.inRun = typeof words === 'string' ? words : `${words.what}${words.inRun}`
  }
}
