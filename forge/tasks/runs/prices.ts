/** Costs of requests: the price of a model, the most that a request can cost, and the resulting limits of a run. */
import { many } from '../../../core/text.ts'
import { type Price, type Rates, ratesFor } from '../../ai/price.ts'
import { isLoopback, providerOf, type Settings } from '../../ai/settings.ts'
import type { Limits } from '../contract.ts'

/** The most tokens and US dollars that a request can use. */
export type RequestEstimate = { tokens: number; cost: number }

/**
 * The assumed price, per million tokens, of OpenRouter's models that neither FORGE_PRICES nor the list of models has:
 * more than nearly all of them cost. OpenRouter reports the cost of each request, and only that counts then.
 */
const UNKNOWN: Price = { input: 20, output: 100, cacheRead: 20, cacheWrite: 25 }

/**
 * What a model costs, by the user's settings or the list of models; undefined where that is unknown. A server on this
 * machine costs nothing. A server elsewhere may be a gateway to a paid provider, so its price is unknown.
 */
export function priceOf(model: string, settings: Settings): Price | undefined {
  const known = settings.price(model)
  if (known) return known
  const provider = providerOf(model)
  if (provider === 'openrouter') return UNKNOWN
  const endpoint = provider === undefined ? undefined : settings.endpoint(provider)
  const isFree = endpoint?.provider === 'openai' && isLoopback(endpoint.address)
  return isFree ? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } : undefined
}

/** Whether a model's price is assumed until its provider reports the costs of requests. */
export const isAssumed = (model: string, settings: Settings): boolean =>
  !settings.hasSetPrice(model) && providerOf(model) === 'openrouter'

/** The models without a known price, without repetitions. */
const unpricedOf = (models: readonly string[], settings: Settings): string[] =>
  [...new Set(models)].filter(model => !priceOf(model, settings))

/** What the user has to set before a limit in dollars can be enforced; undefined where it can be. */
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

/** The default limits: in dollars, or, where costs are unknown, in requests. */
const DEFAULT_BUDGET = { cost: 5, requests: 200 }

/**
 * The limits of a run in dollars and requests, with defaults where the user has set none. `words`: says so where
 * dollars can't be the limit.
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

/** The price of a request in a batch, as a share of the normal price. */
const BATCH_SHARE = 0.5
/** The price of writing a token into Anthropic's cache for an hour, as a multiple of the price of sending it. */
const HOUR_SHARE = 2

/** The price of a model's requests in batches. Their cache marks last an hour, for which Anthropic charges more. */
export function batchPriceOf(model: string, settings: Settings): Price | undefined {
  const price = priceOf(model, settings)
  if (!price) return undefined
  const { long } = price
  const inBatches = ({ input, output, cacheRead, cacheWrite }: Rates): Rates => ({
    input: input * BATCH_SHARE,
    output: output * BATCH_SHARE,
    cacheRead: cacheRead * BATCH_SHARE,
    cacheWrite:
      BATCH_SHARE * (providerOf(model) === 'anthropic' ? Math.max(cacheWrite, HOUR_SHARE * input) : cacheWrite),
  })
  return { ...inBatches(price), ...(long && { long: { ...inBatches(long), above: long.above } }) }
}

/** The most that a request can use: without any cache, and with the longest answer. */
export function requestEstimateOf(
  tokens: { input: number; output: number },
  price: Price | undefined,
): RequestEstimate {
  const { input = 0, output = 0, cacheWrite = 0 } = price ? ratesFor(price, tokens.input) : {}
  const cost = (tokens.input * Math.max(input, cacheWrite) + tokens.output * output) / 1_000_000
  return { tokens: tokens.input + tokens.output, cost }
}
