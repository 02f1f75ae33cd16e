/** Prices of models, and what a request costs by them. */
import type { Usage } from './request.ts'

/** US dollars per million tokens: sent, answered, read from the cache, written to the cache. */
export type Rates = { input: number; output: number; cacheRead: number; cacheWrite: number }

/** The rates of a model. `long`: those of requests with more than `above` tokens of input, where they differ. */
export type Price = Rates & { long?: Rates & { above: number } }

/** The rates of a request with this many tokens of input. */
export const ratesFor = (price: Price, input: number): Rates =>
  price.long && input > price.long.above ? price.long : price

/** Adds the cost to a usage, from the price, where the provider reported none. */
export function withCost(usage: Usage, price: Price | undefined): Usage {
  if (usage.cost !== undefined || !price) return usage
  const { input, output, cacheRead, cacheWrite } = usage
  const rates = ratesFor(price, input)
  const plain = (input - cacheRead - cacheWrite) * rates.input + output * rates.output
  return { ...usage, cost: (plain + cacheRead * rates.cacheRead + cacheWrite * rates.cacheWrite) / 1_000_000 }
}
