/**
 * What is known of models by their names: windows, prices and abilities, from a dated copy of models.dev's list
 * (models.json, made anew by `make models`). The user's settings take precedence over it.
 */
import list from './models.json' with { type: 'json' }
import type { Price } from './price.ts'

/** US dollars per million tokens: sent, answered, read from the cache, written to the cache. */
export type ListedPrice = [input: number, output: number, cacheRead: number, cacheWrite: number]

/** What a model can do: call tools, hold to a JSON schema, think before it answers, answer in batches. */
export type Ability = 'tools' | 'schema' | 'thinking' | 'batch'

/** A model as models.json has it. `window` and `output` (the longest answer) in tokens. */
export type ListedModel = {
  window: number
  output?: number
  price?: ListedPrice
  long?: { above: number; price: ListedPrice }
  can: Ability[]
  /** The names of its thinking efforts, where it knows several. */
  efforts?: string[]
}

/** When the copy was made, as YYYY-MM-DD. */
export const LIST_DATE: string = list.date

const MODELS = new Map(Object.entries(list.models as unknown as Record<string, ListedModel>))

/** A model by its name, such as anthropic/NAME; undefined where the list does not know it. */
export const listedModel = (name: string): ListedModel | undefined => MODELS.get(name) ?? MODELS.get(withoutRoute(name))

/** An OpenRouter name without its route, as in `openrouter/vendor/name:nitro`. Free models are listed by that name. */
const withoutRoute = (name: string): string =>
  name.startsWith('openrouter/') ? name.replace(/:(?:nitro|floor|online|exacto)$/, '') : name

/** The price of a model by the list; undefined where it is not known. */
export function listedPrice(name: string): Price | undefined {
  const { price, long } = listedModel(name) ?? {}
  if (!price) return undefined
  return { ...ratesOf(price), ...(long && { long: { above: long.above, ...ratesOf(long.price) } }) }
}

const ratesOf = ([input, output, cacheRead, cacheWrite]: ListedPrice) => ({ input, output, cacheRead, cacheWrite })
