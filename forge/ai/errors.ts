/** Translates a provider's errors into one sentence for the user that says what to do. */
import { APICallError, InvalidResponseDataError } from '@ai-sdk/provider'
import * as v from 'valibot'
import { short, visible } from '../../core/text.ts'
import { ModelError, type ModelTrouble, type Sentence } from './request.ts'
import { type Provider, settingOf } from './settings.ts'

/**
 * The model that was asked, for error messages. `server`: the name of the user's own server, where it has one.
 * `secrets` are removed from everything that the provider says.
 */
export type ModelEndpoint = {
  name: string
  provider: Provider
  server?: string | undefined
  address: string
  secrets: readonly string[]
}

/** The settings with the key and the address of the endpoint. */
function settingsOf({ provider, server }: ModelEndpoint): { key: string; address: string } {
  const name = (server ?? provider).toUpperCase().replaceAll('-', '_')
  return { key: `${name}_API_KEY`, address: server === undefined ? `${name}_BASE_URL` : settingOf(server) }
}

/** A refusal by a provider: the HTTP status, its message, and the seconds after which to retry. */
type Refusal = { status: number; words: string; retryAfter?: number }

const BILLING: Record<string, string> = {
  'api.anthropic.com': 'https://platform.claude.com/settings/billing',
  'openrouter.ai': 'https://openrouter.ai/settings/credits',
  'api.openai.com': 'https://platform.openai.com/settings/organization/billing',
}

const NO_CREDIT =
  /credit balance|insufficient[ _](?:credits?|quota|balance|funds)|exceeded your current quota|out of credits/i
const CONTEXT_TOO_LONG =
  /prompt is too long|request too large|context[ _-]?(?:length|window|size|limit)|maximum context|too many (?:input )?tokens|input is too long/i
const NO_MODEL = /model[^.]{0,80}(?:not found|does not exist|not exist|not a valid)|no endpoints found|unknown model/i

/** The statuses by which a provider says that it is overloaded; others of 500 and more are faults. */
const OVERLOADED: ReadonlySet<number> = new Set([429, 503, 529])

/** The host of an address, with its port where that is not the default. Messages show nothing else of an address. */
export const hostOf = (address: string): string => new URL(address).host

/** The state of an answer when it broke off: whether it had begun, and its text so far. */
type Progressed = { hasBegun: boolean; text: string }

/** Converts whatever was thrown while a model was asked to a {@link ModelError}. */
export function troubleOf(error: unknown, asked: ModelEndpoint, { hasBegun, text }: Progressed): ModelError {
  if (error instanceof ModelError) {
    const { trouble, message, inRun, retryAfter } = error
    return new ModelError(trouble, { what: '', inChat: message, inRun }, retryAfter, error.text || text)
  }
  const refusal = refusalOf(error)
  if (refusal) return refused(refusal, asked, text)
  if (!isNetworkError(error)) return new ModelError('broken', brokenWords(asked), undefined, text)
  if (hasBegun) return cutShort(asked, text)
  const why = isUntrusted(error) ? ', as its certificate is not trusted here' : ''
  const sentence = `${hostOf(asked.address)} can't be reached${why}: check the network${ownAddress(asked)}.`
  return new ModelError('unreachable', sentence)
}

/** The error for a stream that ended before the answer did. */
export const cutShort = (asked: ModelEndpoint, text: string): ModelError =>
  new ModelError('cut', sendAgain(`The answer of ${hostOf(asked.address)} broke off in the middle`), undefined, text)

/** Whether an error is the AI SDK's for a stream that ended without a finish reason, i.e. was cut. */
export const isEndWithoutReason = (error: unknown): boolean =>
  InvalidResponseDataError.isInstance(error) && error.data === undefined

const brokenWords = (asked: ModelEndpoint): string =>
  `${hostOf(asked.address)} answered what is no answer of a model${ownAddress(asked, ': check')}.`

/** A reminder to check the address, where the user has set one. */
function ownAddress(asked: ModelEndpoint, word = ' and'): string {
  return BILLING[hostOf(asked.address)] ? '' : `${word} ${settingsOf(asked).address}`
}

/** Whether a trouble is temporary, so that a retry makes sense. */
export const passes = (trouble: ModelTrouble): boolean =>
  trouble === 'rate' || trouble === 'overloaded' || trouble === 'cut' || trouble === 'unreachable'

function refused({ status, words, retryAfter }: Refusal, asked: ModelEndpoint, text: string): ModelError {
  const trouble = troubleOfStatus(status, words, asked.provider)
  const sentence = sentenceOf(trouble, status, words, asked, retryAfter)
  return new ModelError(trouble, sentence, retryAfter, text, quoted(words, asked.secrets))
}

function troubleOfStatus(status: number, words: string, provider: Provider): ModelTrouble {
  if (status === 402 || ((status === 400 || status === 403 || status === 429) && NO_CREDIT.test(words))) return 'credit'
  if (status === 401) return 'key'
  // With 403, OpenRouter reports content flagged by its moderation; other providers report a bad key.
  if (status === 403) return provider === 'openrouter' && /flagged|moderation/i.test(words) ? 'refused' : 'key'
  if (status === 413 || (status < 500 && CONTEXT_TOO_LONG.test(words))) return 'too long'
  if (status === 404 || (status === 400 && NO_MODEL.test(words))) return 'no such model'
  if (status === 429) return 'rate'
  if (status === 408 || status >= 500) return 'overloaded'
  return status < 400 ? 'broken' : 'refused'
}

function sentenceOf(
  trouble: ModelTrouble,
  status: number,
  words: string,
  asked: ModelEndpoint,
  retryAfter: number | undefined,
): string | Sentence {
  const host = hostOf(asked.address)
  const name = visible(asked.name)
  const setting = settingsOf(asked)
  const said = quoted(words, asked.secrets)
  const again = retryAfter === undefined ? 'in a minute or two' : `in ${duration(retryAfter)}`
  switch (trouble) {
    case 'key':
      return status === 401
        ? then(`${host} does not take the key in ${setting.key}: set a valid one in forge.env`)
        : `The key in ${setting.key} may not use ${name}: allow it at ${host}, or choose another model.`
    case 'credit':
      return then(`There is no credit left for ${name}: add some at ${BILLING[host] ?? host}`)
    case 'rate':
      return sendAgain(`${host} takes no more requests for now`, ` ${again}`)
    case 'overloaded': {
      const how = ` ${again}, or choose another model`
      const { inChat, ...sentence } = sendAgain(
        `${host} ${OVERLOADED.has(status) ? 'is overloaded' : 'has a fault'} (${status})`,
        how,
      )
      // A run groups such troubles by their words, which a provider may number.
      return { ...sentence, inChat: `${said}${inChat}` }
    }
    case 'too long':
      return {
        what: '',
        inChat: `The conversation is too long for ${name}: take files out of the context, or begin a new one.`,
        inRun: `What a request has to say is too long for ${name}: give its task less context, or set a model with a larger window.`,
      }
    case 'no such model':
      return `${host} knows no model ${name}, or not with tools: choose another one${ownAddress(asked, ', or check')}${said}.`
    case 'broken':
      return `${host} sends requests on to another place, which is not followed: set ${setting.address} to the right one.`
    default: {
      const what = `${host} refuses the request (${status})${said}`
      return said === '' ? { what, inChat: ': choose another model, or say it in other words.', inRun: '.' } : what
    }
  }
}

/** The sentence for a temporary trouble. A run retries by itself. */
export const sendAgain = (what: string, how = ''): Sentence => ({
  what,
  inChat: `: send the message again${how}.`,
  inRun: '.',
})

/** The sentence for an error that the user has to fix before trying again. `what`: what to do. */
const then = (what: string): Sentence => ({ what, inChat: ', then send the message again.', inRun: '.' })

/** A provider's message for the user: short, on one line, without keys. */
function quoted(words: string, secrets: readonly string[]): string {
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), words).trim()
  return clean ? `; it says: ${short(visible(clean), 300)}` : ''
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.max(1, Math.ceil(seconds))} s`
  if (seconds < 2 * 3600) return `${Math.ceil(seconds / 60)} minutes`
  return `${Math.ceil(seconds / 3600)} hours`
}

/** An error event in a stream: the provider's own object, or the SDK's wrapper of it. */
const StreamErrorSchema = v.looseObject({
  message: v.optional(v.string(), ''),
  statusCode: v.optional(v.number()),
  code: v.optional(v.nullable(v.union([v.number(), v.string()]))),
  type: v.optional(v.nullable(v.string())),
})

/** What a provider refused; undefined for an error of another origin. */
function refusalOf(error: unknown): Refusal | undefined {
  if (APICallError.isInstance(error)) {
    if (error.statusCode === undefined || error.statusCode < 300) return undefined
    const words = /^\s*[{[]/.test(error.responseBody ?? '') ? error.message : ''
    const retryAfter = retryAfterOf(error.responseHeaders ?? {})
    return { status: error.statusCode, words, retryAfter }
  }
  const isErrorOfProvider = !(error instanceof Error) || 'statusCode' in error
  const parsed = v.safeParse(StreamErrorSchema, error)
  if (!isErrorOfProvider || !parsed.success) return undefined
  const { statusCode, code, type, message } = parsed.output
  const status = statusCode ?? (typeof code === 'number' ? code : statusOfWord(code ?? type ?? ''))
  return { status: status >= 400 && status < 600 ? status : 500, words: message }
}

/** The HTTP status for an error code, as OpenAI and compatible servers send it in streams. */
function statusOfWord(word: string): number {
  if (/insufficient_quota|billing/.test(word)) return 402
  if (/rate_limit/.test(word)) return 429
  if (/overloaded/.test(word)) return 529
  if (/invalid_request|context_length/.test(word)) return 400
  return /^\d{3}$/.test(word) ? Number(word) : 500
}

/**
 * The seconds until a retry, from the headers: HTTP's Retry-After (seconds or a date), OpenAI's in milliseconds, or
 * OpenRouter's reset time in milliseconds. Undefined where they say nothing usable.
 */
export function retryAfterOf(headers: Record<string, string>, now = Date.now()): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (milliseconds >= 0) return milliseconds / 1000
  const said = headers['retry-after']?.trim()
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN)
  if (!said) return reset > now ? (reset - now) / 1000 : undefined
  if (/^\d+(?:\.\d+)?$/.test(said)) return Number(said)
  const date = /^[A-Za-z]{3}/.test(said) ? Date.parse(said) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000)
}

const isUntrusted = (error: unknown): boolean =>
  error instanceof Error && (/certificate|self.signed/i.test(error.message) || isUntrusted(error.cause))

const CODES = /^(?:ECONN\w+|ConnectionRefused|ConnectionClosed|FailedToOpenSocket|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE)$/

function isNetworkError(error: unknown): boolean {
  if (APICallError.isInstance(error)) return error.statusCode === undefined || isNetworkError(error.cause)
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    CODES.test(code) ||
    /unable to connect|socket|certificate|tls|typo in the url/i.test(error.message) ||
    isNetworkError(error.cause)
  )
}
