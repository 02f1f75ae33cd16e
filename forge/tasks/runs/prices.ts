/** What requests cost: the price of a model, what a request may take at most, and the limits that a run gets by that. */
import { many } from '../../../core/text.ts'
import type { Usage } from '../../ai/request.ts'
import { type Price, providerOf, type Settings } from '../../ai/settings.ts'
import type { Limits } from '../contract.ts'

/** What a request may take at most. */
export type RequestEstimate = { tokens: number; cost: number }

/**
 * What a million tokens of OpenRouter's models are taken for where FORGE_PRICES does not tell: more than nearly all of
 * them cost. It says after each request what that did cost, and only that counts then.
 */
const UNKNOWN: Price = { input: 20, output: 100, cacheRead: 20, cacheWrite: 25 }

/**
 * What a model costs at most, before it is asked; undefined where that is not known. A server on this machine costs
 * nothing. One anywhere else may be a gateway to a provider that is paid for: its price is not known.
 */
export function priceOf(model: string, settings: Settings): Price | undefined {
  const known = settings.price(model)
  if (known) return known
  const provider = providerOf(model)
  if (provider === 'openrouter') return UNKNOWN
  const endpoint = provider && settings.endpoint(provider)
  const isFree = provider === 'openai' && endpoint && isLoopback(new URL(endpoint.address).hostname)
  return isFree ? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } : undefined
}

/** Whether a host is this machine itself, by its name alone. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)

/** Whether the price of a model is one that is taken until its provider has said what its requests cost. */
export const isAssumed = (model: string, settings: Settings): boolean =>
  settings.price(model) === undefined && providerOf(model) === 'openrouter'

/** The models without a known price, each once. */
const unpricedOf = (models: readonly string[], settings: Settings): string[] =>
  [...new Set(models)].filter(model => !priceOf(model, settings))

/** What a person has to set before a limit in dollars can be held; undefined where it can be. */
export function missingPrice(models: readonly string[], settings: Settings, limits: Limits): string | undefined {
  if (limits.cost === undefined) return undefined
  const unknown = unpricedOf(models, settings)
  const [first] = unknown
  if (first === undefined) return undefined
  return (
    `A limit of $${limits.cost.toFixed(2)} can't be held, since the price of ${listed(unknown)} is not known: ` +
    `set FORGE_PRICES=${first}=INPUT/OUTPUT, in US dollars for a million tokens, in ${settings.file} or the ` +
    'environment, or run without a budget in dollars.'
  )
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** What may be spent where the person sets no limit: in dollars, or where these can't be counted, in requests. */
const DEFAULT_BUDGET = { cost: 5, requests: 200 }

/**
 * The limits of money and requests that a run gets, where the person has set none or one of them; `words` say so where
 * dollars can't be a limit.
 */
export function usualLimits(
  given: Pick<Limits, 'cost' | 'requests'>,
  models: readonly string[],
  settings: Settings,
): { limits: Pick<Limits, 'cost' | 'requests'>; words?: string } {
  if (given.cost !== undefined) return { limits: given }
  const unknown = unpricedOf(models, settings)
  const [first] = unknown
  if (first === undefined) return { limits: { ...given, cost: DEFAULT_BUDGET.cost } }
  const { requests = DEFAULT_BUDGET.requests } = given
  const words =
    `No limit in dollars holds, since the price of ${listed(unknown)} is not known: it stops after ` +
    `${many(requests, 'request')}. Set another with --requests, or FORGE_PRICES=${first}=INPUT/OUTPUT in ` +
    `${settings.file} for one in dollars.`
  return { limits: { requests }, words }
}

/** What was used with what it costs, by its price where the provider does not say. */
export function withCost(usage: Usage, price: Price | undefined): Usage {
  if (usage.cost !== undefined || !price) return usage
  const { input, output, cacheRead, cacheWrite } = usage
  const plain = (input - cacheRead - cacheWrite) * price.input + output * price.output
  return { ...usage, cost: (plain + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite) / 1_000_000 }
}

/** What a request may take at most: as if none of it were cached, and its answer as long as it may be. */
export function requestEstimateOf(
  tokens: { input: number; output: number },
  price: Price | undefined,
): RequestEstimate {
  const { input = 0, output = 0, cacheWrite = 0 } = price ?? {}
  const cost = (tokens.input * Math.max(input, cacheWrite) + tokens.output * output) / 1_000_000
  return { tokens: tokens.input + tokens.output, cost }
}
