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
import { listedPrice } from './model-list.ts'
import type { Price } from './price.ts'
import type { Thinking } from './request.ts'

export type { Price } from './price.ts'

type Environment = Record<string, string | undefined>

/** The formats in which models are asked. Servers named by the user speak that of openai. */
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
const NAME =
  /^(?:anthropic\/[\w.:@-]+|openrouter\/[\w.~-]+\/[\w.:@-]+|(?!(?:anthropic|openrouter)\/)[a-z][a-z0-9-]*\/[\w.:@-]+(?:\/[\w.:@-]+)*)$/
const FORMS = 'anthropic/NAME, openrouter/VENDOR/NAME or openai/NAME'
/** Stands for all models where a setting names one. */
const ALL = '*'
const NAME_OR_ALL = new RegExp(`${NAME.source}|^[${ALL}]$`)
/** The setting of a named server with OpenAI's format. */
const ENDPOINT = /^FORGE_ENDPOINT_([A-Z][A-Z0-9_]{0,40})$/
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

const positive = (words: string, most: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,5}(?:\.\d{1,4})?$/, words),
    v.transform(Number),
    v.check(it => it > 0 && it <= most, words),
  )
const Hours = positive('must be a number of hours, at most 48', 48)
const Seconds = positive('must be a number of seconds, at most 3600', 3600)

/**
 * How capable a model has to be, from low to high. Each kind of work asks for a tier; the user sets which models a tier
 * has.
 */
export const TIERS = ['classification', 'summarization', 'generation', 'reasoning'] as const
export type Tier = (typeof TIERS)[number]

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

/** One window in tokens for all models, or a window for each of some models: `MODEL=TOKENS`. */
const Windows = v.pipe(
  v.string(),
  v.transform(text => text.split(',').map(window => window.trim())),
  v.transform(windows => windows.filter(Boolean).map(windowFrom)),
  v.array(v.tuple([v.pipe(v.string(), v.regex(NAME_OR_ALL)), v.pipe(v.number(), v.minValue(4096))])),
)

function windowFrom(text: string): [name: string, tokens: number] {
  const at = text.lastIndexOf('=')
  const tokens = text.slice(at + 1)
  return [at < 0 ? ALL : text.slice(0, at), /^\d{1,9}$/.test(tokens) ? Number(tokens) : 0]
}

const Effort = v.optional(
  v.picklist(['none', 'low', 'medium', 'high', 'xhigh'], 'must be none, low, medium, high or xhigh'),
)

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
  /**
   * US dollars. Enforced only where a request's cost is known: reported by the provider, or from FORGE_PRICES or the
   * list of models.
   */
  FORGE_TURN_COST: v.optional(Dollars, '5'),
  /** Whether the checks of FORGE.md run after a turn, where commands are allowed. */
  FORGE_TURN_CHECKS: v.optional(OnOff, 'on'),
  /** Whether runs of tasks learn from earlier ones. */
  FORGE_LESSONS: v.optional(OnOff, 'on'),
  /** Which part of a run's work this machine's own worker serves, or that it has none; by default all. */
  FORGE_WORKER: v.optional(v.picklist(['models', 'checks', 'none'], 'must be models, checks or none')),
  /** The path of a key file: what Temporal's server stores is encrypted with it. */
  FORGE_PAYLOAD_KEY: v.optional(v.string()),
  FORGE_PRICES: v.optional(Prices, ''),
  FORGE_BATCH: v.optional(v.picklist(['0', '1', 'work', 'all'], 'must be 0, 1 (the same as work) or all')),
  FORGE_BATCH_HOURS: v.optional(Hours, '25'),
  FORGE_BATCH_WINDOW: v.optional(Seconds, '20'),
  FORGE_WINDOW: v.optional(Windows, ''),
  FORGE_TIER_REASONING: v.optional(Names, ''),
  FORGE_TIER_GENERATION: v.optional(Names, ''),
  FORGE_TIER_SUMMARIZATION: v.optional(Names, ''),
  FORGE_TIER_CLASSIFICATION: v.optional(Names, ''),
  FORGE_THINKING_REASONING: Effort,
  FORGE_THINKING_GENERATION: Effort,
  FORGE_THINKING_SUMMARIZATION: Effort,
  FORGE_THINKING_CLASSIFICATION: Effort,
})
type Parsed = v.InferOutput<typeof SettingsSchema>

/**
 * A provider's address and key. The user's own server may need no key. `name`: of a server that the user has named by
 * FORGE_ENDPOINT_…, which speaks the format of `provider`.
 */
export type Endpoint = { provider: Provider; name?: string; address: string; key?: string }

/** The address and key of a server that the user has named. */
type Named = { address: string; key?: string }

/** All settings. Printed, sent or logged, it shows no key. */
export class Settings {
  readonly #parsed: Parsed

  readonly #named: ReadonlyMap<string, Named>

  constructor(
    parsed: Parsed,
    /** The path of forge.env as the user knows it, for messages. */
    readonly file: string,
    named: ReadonlyMap<string, Named> = new Map(),
  ) {
    this.#parsed = parsed
    this.#named = named
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

  /** The same settings with other models for some tiers. */
  withModels(models: Partial<Record<Tier, readonly string[]>>): Settings {
    const { classification, summarization, generation, reasoning } = models
    const parsed = {
      ...this.#parsed,
      ...(classification && { FORGE_TIER_CLASSIFICATION: [...classification] }),
      ...(summarization && { FORGE_TIER_SUMMARIZATION: [...summarization] }),
      ...(generation && { FORGE_TIER_GENERATION: [...generation] }),
      ...(reasoning && { FORGE_TIER_REASONING: [...reasoning] }),
    }
    return new Settings(parsed, this.file, this.#named)
  }

  get limits(): TurnLimits {
    const { FORGE_TURN_STEPS: steps, FORGE_TURN_MINUTES: minutes, FORGE_TURN_COST: cost } = this.#parsed
    return { steps, seconds: minutes * 60, cost }
  }

  /** Whether the checks of FORGE.md run after a turn that changed files, where commands are allowed. */
  get checksAfterTurn(): boolean {
    return this.#parsed.FORGE_TURN_CHECKS
  }

  /** Whether runs of tasks are given lessons of earlier ones, and add to them. */
  get learns(): boolean {
    return this.#parsed.FORGE_LESSONS
  }

  /** What this machine's own worker serves; undefined for all, `none` where it starts none by itself. */
  get worker(): 'models' | 'checks' | 'none' | undefined {
    return this.#parsed.FORGE_WORKER
  }

  /** The file with the keys that encrypt what Temporal's server stores; undefined where nothing is encrypted. */
  get payloadKey(): string | undefined {
    return this.#parsed.FORGE_PAYLOAD_KEY
  }

  /**
   * A model's price: as the user has set it, else by the list of models, where it is asked at its maker's own address.
   * A server elsewhere may be a gateway with prices of its own.
   */
  price(name: string): Price | undefined {
    const set = new Map(this.#parsed.FORGE_PRICES).get(name)
    if (set) return set
    const endpoint = this.endpoint(providerOf(name) ?? '')
    const isOwn = endpoint && (endpoint.name ? !isLoopback(endpoint.address) : isAtProvider(endpoint))
    return isOwn ? listedPrice(name) : undefined
  }

  /**
   * Which requests of runs are sent in batches (`sends`; undefined: none), unless a run sets it itself. `seconds`:
   * how long requests are gathered for one batch. `hours`: how long an answer is waited for.
   */
  get batch(): { sends: 'work' | 'all' | undefined; seconds: number; hours: number } {
    const { FORGE_BATCH: batch, FORGE_BATCH_WINDOW: seconds, FORGE_BATCH_HOURS: hours } = this.#parsed
    const sends = batch === 'all' ? 'all' : batch === '1' || batch === 'work' ? 'work' : undefined
    return { sends, seconds, hours }
  }

  /** Whether the user has set a model's price. */
  hasSetPrice(name: string): boolean {
    return new Map(this.#parsed.FORGE_PRICES).has(name)
  }

  /** A model's window in tokens, where the user has set it for that model or for all. */
  window(name: string): number | undefined {
    const windows = new Map(this.#parsed.FORGE_WINDOW)
    return windows.get(name) ?? windows.get(ALL)
  }

  /** How much a tier's models should think: `none` for not at all, undefined where the user has not set it. */
  thinking(tier: Tier): Thinking | 'none' | undefined {
    const parsed = this.#parsed
    const efforts: Record<Tier, Thinking | 'none' | undefined> = {
      classification: parsed.FORGE_THINKING_CLASSIFICATION,
      summarization: parsed.FORGE_THINKING_SUMMARIZATION,
      generation: parsed.FORGE_THINKING_GENERATION,
      reasoning: parsed.FORGE_THINKING_REASONING,
    }
    return efforts[tier]
  }

  /** The address and key of a provider, or of a named server; undefined where the key is missing. */
  endpoint(provider: string): Endpoint | undefined {
    const named = this.#named.get(provider)
    if (named) return { provider: 'openai', name: provider, ...named }
    if (!isProvider(provider)) return undefined
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
    if (!isProvider(provider))
      return `To ask ${visible(name)}, set ${settingOf(provider)}=https://… to the address of that server ${where}.`
    const other = provider === 'openai' ? ' (or OPENAI_BASE_URL for a server of your own)' : ''
    return `To ask ${visible(name)}, set ${provider.toUpperCase()}_API_KEY${other} ${where}.`
  }

  /** The values that must never be written or shown anywhere. */
  get secrets(): string[] {
    const { ANTHROPIC_API_KEY: anthropic, OPENROUTER_API_KEY: openrouter, OPENAI_API_KEY: openai } = this.#parsed
    const named = [...this.#named.values()].map(({ key }) => key)
    const keys = [anthropic, openrouter, openai, ...named]
    return keys.flatMap(key => (key && key.length >= MIN_SECRET_CHARS ? [key] : []))
  }

  toJSON(): object {
    const own = (['anthropic', 'openrouter', 'openai'] as const).filter(provider => this.given(provider).key)
    const keys = [...own, ...[...this.#named].flatMap(([name, { key }]) => (key ? [name] : []))]
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

/** The provider or the named server in a model's name; undefined where the name is not valid. */
export const providerOf = (name: string): string | undefined => (NAME.test(name) ? name.split('/')[0] : undefined)

const isProvider = (name: string): name is Provider => Object.hasOwn(ADDRESSES, name)

const isAtProvider = ({ provider, address }: Endpoint): boolean =>
  new URL(address).host === new URL(ADDRESSES[provider]).host

/** Whether an address is this machine, by its name alone. */
export function isLoopback(address: string): boolean {
  const { hostname } = new URL(address)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** The setting with the address of a named server. */
export const settingOf = (server: string): string => `FORGE_ENDPOINT_${server.toUpperCase().replaceAll('-', '_')}`

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
  const { servers, rest } = namedServers(env, inFile)
  const inEnvironment = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => (names.includes(name) || servers.has(name)) && value),
  )
  const parsed = v.safeParse(SettingsSchema, { ...rest, ...own(inEnvironment, names) })
  const complaints = parsed.success ? [] : parsed.issues.map(issue => complaint(issue, inEnvironment, shown))
  const named = new Map<string, Named>()
  for (const [setting, { address, key }] of servers) {
    const server = v.safeParse(v.object({ address: Address, key: v.optional(Key) }), { address, key: key?.value })
    if (server.success) {
      const { address: at, key: with_ } = server.output
      named.set(nameOfServer(setting), { address: at, ...(with_ && { key: with_ }) })
      continue
    }
    for (const issue of server.issues) {
      const isKey = issue.path?.[0]?.key === 'key'
      complaints.push(complaint({ ...issue, path: undefined }, inEnvironment, shown, isKey ? key?.name : setting))
    }
  }
  if (!parsed.success || complaints.length > 0) throw new Failure(complaints.join(' '))
  verifyServers(parsed.output, named, inEnvironment, shown)
  return new Settings(parsed.output, shown, named)
}

type Servers = Map<string, { address: string; key?: { name: string; value: string } | undefined }>

/**
 * The named servers by their settings, each with its key, and the other settings of forge.env. Of the environment, only
 * keys of named servers are read.
 */
function namedServers(env: Environment, inFile: Record<string, string>): { servers: Servers; rest: object } {
  const all = { ...inFile, ...Object.fromEntries(Object.entries(env).filter(([, value]) => value)) }
  const servers: Servers = new Map()
  const rest: Record<string, string> = { ...inFile }
  for (const [setting, address = ''] of Object.entries(all)) {
    const [, server] = ENDPOINT.exec(setting) ?? []
    if (!server) continue
    const name = `${server}_API_KEY`
    const value = all[name]
    servers.set(setting, { address, key: value ? { name, value } : undefined })
    delete rest[setting]
    if (!isProvider(server.toLowerCase())) delete rest[name]
  }
  return { servers, rest }
}

const own = (environment: Record<string, string | undefined>, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => names.includes(name)))

const nameOfServer = (setting: string): string => (ENDPOINT.exec(setting)?.[1] ?? '').toLowerCase().replaceAll('_', '-')

/** Throws a {@link Failure} where a setting names an unknown server, or a server has the name of a provider. */
function verifyServers(parsed: Parsed, named: ReadonlyMap<string, Named>, inEnvironment: object, file: string): void {
  const where = (setting: string) => (setting in inEnvironment ? 'in the environment' : `in ${file}`)
  for (const name of named.keys())
    if (isProvider(name))
      throw new Failure(
        `${settingOf(name)} ${where(settingOf(name))} has the name of a provider: use ${name.toUpperCase()}_BASE_URL.`,
      )
  for (const setting of ['FORGE_MODEL', 'FORGE_MODELS', ...TIERS.map(tier => `FORGE_TIER_${tier.toUpperCase()}`)]) {
    const names = [parsed[setting as keyof Parsed] ?? []].flat().filter(name => typeof name === 'string')
    const unknown = names.map(name => providerOf(name) ?? '').find(name => !isProvider(name) && !named.has(name))
    if (unknown === undefined) continue
    const servers = `, or SERVER/NAME with ${settingOf('server')}=https://…`
    throw new Failure(`${setting} ${where(setting)} must be ${FORMS}${servers}: there is no server of that name.`)
  }
}

const PRICES =
  'must be prices such as anthropic/NAME=4/20/0.2/5, with commas between them: US dollars for a million tokens sent, answered, read from the cache and written to it'

/** A sentence about a wrong setting. It never has the value, which may be a key. */
function complaint(issue: v.BaseIssue<unknown>, inEnvironment: object, file: string, setting?: string): string {
  const name = setting ?? visible(String(issue.path?.[0]?.key ?? ''))
  if (name === 'FORGE_WINDOW') {
    const where = name in inEnvironment ? 'in the environment' : `in ${file}`
    return `${name} ${where} must be a number of tokens from 4,096, or such numbers by model: NAME=32768, with commas.`
  }
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
