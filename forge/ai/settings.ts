/**
 * Settings: which models can be asked, with which keys, and the limits of a turn. They are read from the environment
 * and from forge.env in the user's configuration folder, and parsed once. Keys leave this file only for their own
 * provider, and as the list of values to black out.
 */

import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { xdgFolder } from '../../core/folders.ts'
import { visible } from '../../core/text.ts'
import type { TurnLimits } from './budget.ts'

type Environment = Record<string, string | undefined>

export type Provider = 'anthropic' | 'openrouter' | 'openai'

const ADDRESSES: Record<Provider, string> = {
  anthropic: 'https://api.anthropic.com/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  openai: 'https://api.openai.com/v1',
}

/** A shorter value is not blacked out: it could be any word. */
const MIN_SECRET_CHARS = 8

const Key = v.pipe(v.string(), v.regex(/^[\x21-\x7e]*$/, 'may have no blanks and only ASCII signs'))
const Address = v.pipe(
  v.string(),
  v.regex(
    /^https?:\/\/[A-Za-z0-9._~:/[\]-]+$/,
    'must be a plain http or https address, without user, query or fragment',
  ),
  v.url('is not a valid address'),
  v.transform(address => address.replace(/\/+$/, '')),
)
const NAME = /^(?:anthropic\/[\w.:@-]+|openrouter\/[\w.~-]+\/[\w.:@-]+|openai\/[\w.:@-]+(?:\/[\w.:@-]+)*)$/
const FORMS = 'anthropic/NAME, openrouter/VENDOR/NAME or openai/NAME'
const Name = v.pipe(v.string(), v.regex(NAME, `must be ${FORMS}`))
const Names = v.pipe(
  v.string(),
  v.transform(text => text.split(',').map(name => name.trim())),
  v.transform(names => names.filter(Boolean)),
  v.array(v.pipe(v.string(), v.regex(NAME, `must be names such as ${FORMS}, with commas between them`))),
)

const whole = (least: number, most: number) => {
  const words = `must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, words),
    v.transform(Number),
    v.minValue(least, words),
    v.maxValue(most, words),
  )
}
const Dollars = v.pipe(
  v.string(),
  v.regex(/^\d{1,6}(?:\.\d{1,4})?$/, 'must be an amount in US dollars, such as 2.50'),
  v.transform(Number),
  v.check(dollars => dollars > 0, 'must be more than 0 US dollars'),
)

/** How capable a model has to be, from low to high. Work names a tier; the user sets its models. */
export const TIERS = ['classification', 'summarization', 'generation', 'reasoning'] as const
export type Tier = (typeof TIERS)[number]

/** US dollars per million tokens: sent, answered, read from the cache, written to the cache. */
export type Price = { input: number; output: number; cacheRead: number; cacheWrite: number }

/** `MODEL=PRICES`, divided at the last `=`. */
const PRICE = /^(?<name>[^=\s]+)=(?<amounts>\d{1,5}(?:\.\d{1,6})?(?:\/\d{1,5}(?:\.\d{1,6})?){1,3})$/
const Prices = v.pipe(
  v.string(),
  v.transform(text => text.split(',').map(price => price.trim())),
  v.transform(prices => prices.filter(Boolean).map(priceOf)),
  v.array(v.tuple([v.pipe(v.string(), v.regex(NAME)), v.custom<Price>(price => price !== undefined)])),
)

function priceOf(text: string): [name: string, price: Price | undefined] {
  const { name = '', amounts = '' } = PRICE.exec(text)?.groups ?? {}
  const [input, output, cacheRead = input, cacheWrite = input] = amounts.split('/').map(Number)
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined)
    return [name, undefined]
  return [name, { input, output, cacheRead, cacheWrite }]
}

const OnOff = v.pipe(
  v.picklist(['on', 'off'], 'must be on or off'),
  v.transform(text => text === 'on'),
)

const SettingsSchema = v.strictObject({
  ANTHROPIC_API_KEY: v.optional(Key),
  ANTHROPIC_BASE_URL: v.optional(Address),
  OPENROUTER_API_KEY: v.optional(Key),
  OPENROUTER_BASE_URL: v.optional(Address),
  OPENAI_API_KEY: v.optional(Key),
  OPENAI_BASE_URL: v.optional(Address),
  FORGE_MODEL: v.optional(Name),
  FORGE_MODELS: v.optional(Names, ''),
  FORGE_TURN_STEPS: v.optional(whole(1, 1000), '100'),
  FORGE_TURN_MINUTES: v.optional(whole(1, 1440), '30'),
  /** Enforced where prices are known: OpenRouter reports costs, for others FORGE_PRICES is needed. */
  FORGE_TURN_COST: v.optional(Dollars, '5'),
  /** Whether the checks of FORGE.md run after a turn, where commands are allowed. */
  FORGE_TURN_CHECKS: v.optional(OnOff, 'on'),
  FORGE_PRICES: v.optional(Prices, ''),
  FORGE_WINDOW: v.optional(whole(4096, 100_000_000)),
  FORGE_TIER_REASONING: v.optional(Names, ''),
  FORGE_TIER_GENERATION: v.optional(Names, ''),
  FORGE_TIER_SUMMARIZATION: v.optional(Names, ''),
  FORGE_TIER_CLASSIFICATION: v.optional(Names, ''),
})
type Parsed = v.InferOutput<typeof SettingsSchema>

/** A provider's address and key. The user's own server may need no key. */
export type Endpoint = { provider: Provider; address: string; key?: string }

/** All settings. Printed, sent or logged, it shows no key. */
export class Settings {
  readonly #parsed: Parsed

  constructor(
    parsed: Parsed,
    /** The path of forge.env as the user knows it, for messages. */
    readonly file: string,
  ) {
    this.#parsed = parsed
  }

  /** The default model, for branches without one of their own. */
  get model(): string | undefined {
    return this.#parsed.FORGE_MODEL
  }

  /** All models to choose from, the default one first. */
  get models(): string[] {
    return [...new Set([...(this.model ? [this.model] : []), ...this.#parsed.FORGE_MODELS])]
  }

  /**
   * The models of a tier, in order of preference. Where the tier is not set, those of the next higher one that is, else
   * of the next lower one, else the default model; empty where there is none.
   */
  modelsOf(tier: Tier): string[] {
    const at = TIERS.indexOf(tier)
    const order = [...TIERS.slice(at), ...TIERS.slice(0, at).reverse()]
    const names = order.map(it => this.#tier(it)).find(it => it.length > 0) ?? []
    return names.length > 0 ? names : this.model ? [this.model] : []
  }

  /** The next higher tier with other models; undefined where there is none. */
  tierAbove(tier: Tier): Tier | undefined {
    const own = this.modelsOf(tier).join()
    return TIERS.slice(TIERS.indexOf(tier) + 1).find(it => this.modelsOf(it).join() !== own)
  }

  get limits(): TurnLimits {
    const { FORGE_TURN_STEPS: steps, FORGE_TURN_MINUTES: minutes, FORGE_TURN_COST: cost } = this.#parsed
    return { steps, seconds: minutes * 60, cost }
  }

  /** Whether the checks of FORGE.md run after a turn that changed files, where commands are allowed. */
  get checksAfterTurn(): boolean {
    return this.#parsed.FORGE_TURN_CHECKS
  }

  /** A model's price, where the user has set one. */
  price(name: string): Price | undefined {
    return new Map(this.#parsed.FORGE_PRICES).get(name)
  }

  /** The window in tokens to assume for unknown models, where it is set. */
  get window(): number | undefined {
    return this.#parsed.FORGE_WINDOW
  }

  /** A provider's address and key; undefined where the key is missing. */
  endpoint(provider: Provider): Endpoint | undefined {
    const { key, address } = this.given(provider)
    if (!key && !(provider === 'openai' && address)) return undefined
    return { provider, address: address ?? ADDRESSES[provider], ...(key && { key }) }
  }

  /**
   * Why a model can't be asked, as one line that says what to set; undefined where it can. Without a name: the default
   * model.
   */
  missing(name = this.model): string | undefined {
    const where = `in the environment or in ${this.file}`
    if (name === undefined)
      return `To ask a model, set FORGE_MODEL (${FORMS}) and its key, such as ANTHROPIC_API_KEY, ${where}.`
    const provider = providerOf(name)
    if (!provider) return `The model ${visible(name)} is none that can be asked: choose ${FORMS}.`
    if (this.endpoint(provider)) return undefined
    const other = provider === 'openai' ? ' (or OPENAI_BASE_URL for a server of your own)' : ''
    return `To ask ${visible(name)}, set ${provider.toUpperCase()}_API_KEY${other} ${where}.`
  }

  /** The values that must never be written or shown anywhere. */
  get secrets(): string[] {
    const { ANTHROPIC_API_KEY: anthropic, OPENROUTER_API_KEY: openrouter, OPENAI_API_KEY: openai } = this.#parsed
    return [anthropic, openrouter, openai].flatMap(key => (key && key.length >= MIN_SECRET_CHARS ? [key] : []))
  }

  toJSON(): object {
    const keys = (['anthropic', 'openrouter', 'openai'] as const).filter(provider => this.given(provider).key)
    return { file: this.file, model: this.model, models: this.models, limits: this.limits, keys }
  }

  [inspect.custom](): string {
    return `Settings ${JSON.stringify(this)}`
  }

  #tier(tier: Tier): string[] {
    const parsed = this.#parsed
    const names: Record<Tier, string[]> = {
      classification: parsed.FORGE_TIER_CLASSIFICATION,
      summarization: parsed.FORGE_TIER_SUMMARIZATION,
      generation: parsed.FORGE_TIER_GENERATION,
      reasoning: parsed.FORGE_TIER_REASONING,
    }
    return [...new Set(names[tier])]
  }

  private given(provider: Provider): { key: string | undefined; address: string | undefined } {
    const parsed = this.#parsed
    switch (provider) {
      case 'anthropic':
        return { key: parsed.ANTHROPIC_API_KEY, address: versioned(parsed.ANTHROPIC_BASE_URL) }
      case 'openrouter':
        return { key: parsed.OPENROUTER_API_KEY, address: parsed.OPENROUTER_BASE_URL }
      case 'openai':
        return { key: parsed.OPENAI_API_KEY, address: parsed.OPENAI_BASE_URL }
    }
  }
}

/**
 * Anthropic's address with its version. Anthropic's own programs expect it without, others with it: both are accepted.
 */
const versioned = (address: string | undefined): string | undefined =>
  address === undefined || /\/v\d+$/.test(address) ? address : `${address}/v1`

/** The provider in a model's name; undefined where it has none. */
export function providerOf(name: string): Provider | undefined {
  if (!NAME.test(name)) return undefined
  const [provider] = name.split('/')
  return provider === 'anthropic' || provider === 'openrouter' || provider === 'openai' ? provider : undefined
}

/** The path of forge.env. */
export const settingsFile = (env: Environment): string =>
  join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge', 'forge.env')

/**
 * Reads the settings. The environment overrides forge.env, which need not exist. @throws Failure with a sentence for
 * each wrong setting, without its value, or because other users can read the file.
 */
export async function readSettings(env: Environment): Promise<Settings> {
  const file = settingsFile(env)
  const shown = visible(file)
  const inFile = await readEnvFile(file, shown)
  const names = Object.keys(SettingsSchema.entries)
  const inEnvironment = Object.fromEntries(Object.entries(env).filter(([name, value]) => names.includes(name) && value))
  const parsed = v.safeParse(SettingsSchema, { ...inFile, ...inEnvironment })
  if (parsed.success) return new Settings(parsed.output, shown)
  const complaints = parsed.issues.map(issue => complaint(issue, inEnvironment, shown))
  throw new Failure(complaints.join(' '))
}

const PRICES =
  'must be prices such as anthropic/NAME=4/20/0.2/5, with commas between them: US dollars for a million tokens sent, answered, read from the cache and written to it'

/** A sentence about a wrong setting. It never has the value, which may be a key. */
function complaint(issue: v.BaseIssue<unknown>, inEnvironment: object, file: string): string {
  const name = visible(String(issue.path?.[0]?.key ?? ''))
  if (name === 'FORGE_PRICES')
    return `${name} ${name in inEnvironment ? 'in the environment' : `in ${file}`} ${PRICES}.`
  if (issue.type === 'strict_object') return `${name} in ${file} is no setting that the forge knows: remove it.`
  return `${name} ${name in inEnvironment ? 'in the environment' : `in ${file}`} ${issue.message}.`
}

async function readEnvFile(file: string, shown: string): Promise<Record<string, string>> {
  try {
    const { mode } = await stat(file)
    if (mode & 0o077) throw new Failure(`Others can read ${shown}, which is for your keys: chmod 600 it.`)
    return parseEnvFile(await readFile(file, 'utf8'), shown)
  } catch (error) {
    if (error instanceof Failure) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return {}
    throw new Failure(`${shown} can't be read (${code}): check its owner and mode.`)
  }
}

/**
 * Parses lines of `NAME=value`. Comments, empty lines and values, a leading `export` and quotes around a value are
 * accepted.
 */
function parseEnvFile(text: string, file: string): Record<string, string> {
  const settings: Record<string, string> = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, quoted, plain] = /^\s*(?:export\s+)?([A-Za-z_]\w*)=(?:(["'].*["'])|(.*?))\s*$/.exec(line) ?? []
    if (!name) throw new Failure(`Line ${index + 1} of ${file} is not NAME=value: correct or remove it.`)
    const value = quoted ? quoted.replace(/^(["'])(.*)\1$/, '$2') : (plain ?? '')
    if (value) settings[name] = value
  }
  return settings
}
