#!/usr/bin/env bun
/**
 * Makes forge/ai/models.json anew: windows, prices and abilities of models, from models.dev's list. Run by `make
 * models`, with FROM=… for another source: the address or a file of its api.json, or a checkout of its repository.
 */
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import type { ListedModel, ListedPrice } from './model-list.ts'

const USUAL_SOURCE = 'https://models.dev/api.json'
const FILE = join(import.meta.dirname, 'models.json')
const REQUEST_TIMEOUT_MS = 60_000

/**
 * The providers to keep: those with a name of their own here, and those that speak OpenAI's format, which users name by
 * FORGE_ENDPOINT_….
 */
const PROVIDERS = [
  'anthropic',
  'openai',
  'openrouter',
  'mistral',
  'alibaba',
  'cerebras',
  'cohere',
  'deepinfra',
  'deepseek',
  'fireworks-ai',
  'google',
  'groq',
  'minimax',
  'moonshotai',
  'nebius',
  'nvidia',
  'ovhcloud',
  'perplexity',
  'scaleway',
  'togetherai',
  'xai',
  'zai',
]

/** The providers with a batch interface at half the price. The list itself does not say it. */
const WITH_BATCHES: readonly string[] = ['anthropic', 'openai', 'mistral']

const Cost = v.object({
  input: v.number(),
  output: v.number(),
  cache_read: v.optional(v.number()),
  cache_write: v.optional(v.number()),
})
type Cost = v.InferOutput<typeof Cost>

const SourceModel = v.object({
  tool_call: v.optional(v.boolean(), false),
  structured_output: v.optional(v.boolean(), false),
  reasoning: v.optional(v.boolean(), false),
  reasoning_options: v.optional(
    v.array(v.object({ type: v.string(), values: v.optional(v.array(v.nullable(v.string())), []) })),
    [],
  ),
  cost: v.optional(
    v.object({
      ...Cost.entries,
      context_over_200k: v.optional(Cost),
      tiers: v.optional(v.array(v.object({ ...Cost.entries, tier: v.object({ size: v.number() }) })), []),
    }),
  ),
  limit: v.object({ context: v.number(), output: v.optional(v.number(), 0) }),
  modalities: v.object({ input: v.array(v.string()), output: v.array(v.string()) }),
})
type SourceModel = v.InferOutput<typeof SourceModel>

const Source = v.record(v.string(), v.object({ models: v.record(v.string(), v.unknown()) }))

/** Makes the file from a source: an address, a file, or a checkout. Gives the number of models. */
export async function updateModels(source: string, file: string): Promise<number> {
  const { date, providers } = await readSource(source)
  const models = new Map<string, ListedModel>()
  for (const provider of PROVIDERS)
    for (const [id, json] of Object.entries(providers[provider]?.models ?? {})) {
      const parsed = v.safeParse(SourceModel, json)
      if (/embed/.test(id) || !parsed.success || !isForText(parsed.output)) continue
      models.set(`${provider}/${id}`, listed(provider, parsed.output))
    }
  if (models.size === 0)
    throw new Failure(`There are no models in ${source}: is it models.dev's api.json, or a checkout?`)
  const names = [...models.keys()].sort()
  const lines = names.map(name => `    ${JSON.stringify(name)}: ${JSON.stringify(models.get(name))}`)
  const head = `  "from": "models.dev",\n  "date": ${JSON.stringify(date)},\n  "models": {`
  await writeFile(file, `{\n${head}\n${lines.join(',\n')}\n  }\n}\n`)
  return models.size
}

const isForText = ({ modalities, limit }: SourceModel): boolean =>
  modalities.input.includes('text') && modalities.output.includes('text') && limit.context > 0

function listed(provider: string, model: SourceModel): ListedModel {
  const { cost, limit } = model
  const can: ListedModel['can'] = [
    ...(model.tool_call ? (['tools'] as const) : []),
    ...(model.structured_output ? (['schema'] as const) : []),
    ...(model.reasoning ? (['thinking'] as const) : []),
    ...(WITH_BATCHES.includes(provider) ? (['batch'] as const) : []),
  ]
  const efforts = model.reasoning_options.flatMap(({ type, values }) => (type === 'effort' ? values : []))
  const [over] = (cost?.tiers ?? []).toSorted((a, b) => a.tier.size - b.tier.size)
  const long = over ?? cost?.context_over_200k
  return {
    window: limit.context,
    ...(limit.output > 0 && { output: limit.output }),
    ...(cost && { price: pricesOf(cost) }),
    ...(long && { long: { above: over?.tier.size ?? 200_000, price: pricesOf(long) } }),
    can,
    ...(efforts.length > 0 && { efforts: efforts.filter(it => it !== null) }),
  }
}

const pricesOf = ({ input, output, cache_read = input, cache_write = input }: Cost): ListedPrice => [
  input,
  output,
  cache_read,
  cache_write,
]

// --- Sources

type Read = { date: string; providers: v.InferOutput<typeof Source> }

const today = (): string => new Date().toISOString().slice(0, 10)

async function readSource(source: string): Promise<Read> {
  if (/^https:\/\//.test(source)) {
    const response = await fetch(source, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    if (!response.ok) throw new Failure(`${source} answers ${response.status}: name another source by FROM=….`)
    return { date: today(), providers: v.parse(Source, await response.json()) }
  }
  const found = await stat(source).catch(() => undefined)
  if (!found)
    throw new Failure(`There is no ${source}: name an address, a file, or a checkout of models.dev by FROM=….`)
  if (found.isDirectory()) return await readCheckout(source)
  return { date: dateOf(found.mtime), providers: v.parse(Source, JSON.parse(await readFile(source, 'utf8'))) }
}

const dateOf = (time: Date): string => time.toISOString().slice(0, 10)

/**
 * Reads a checkout of models.dev. Each provider has a file for each of its models, which may extend a file in the
 * folder `models`.
 */
async function readCheckout(folder: string): Promise<Read> {
  const committed = Bun.spawnSync(['git', '-C', folder, 'log', '-1', '--format=%cs'])
  const date = committed.success ? committed.stdout.toString().trim() : today()
  const providers: Read['providers'] = {}
  for (const provider of PROVIDERS) {
    const own = join(folder, 'providers', provider, 'models')
    if (!existsSync(own)) continue
    const models: Record<string, unknown> = {}
    for await (const path of new Bun.Glob('**/*.toml').scan({ cwd: own, absolute: true, followSymlinks: true }))
      models[relative(own, path).slice(0, -'.toml'.length)] = await readModel(folder, path)
    providers[provider] = { models }
  }
  return { date, providers }
}

type Toml = Record<string, unknown>

async function readModel(folder: string, path: string): Promise<Toml> {
  const toml = Bun.TOML.parse(await readFile(path, 'utf8')) as Toml
  const { base_model: base, ...own } = toml
  if (typeof base !== 'string') return own
  return merged(await readModel(folder, join(folder, 'models', `${base}.toml`)), own)
}

const isTable = (value: unknown): value is Toml => typeof value === 'object' && value !== null && !Array.isArray(value)

function merged(base: Toml, over: Toml): Toml {
  const both = { ...base, ...over }
  for (const [key, value] of Object.entries(over)) {
    const below = base[key]
    if (isTable(below) && isTable(value)) both[key] = merged(below, value)
  }
  return both
}

if (import.meta.main) {
  try {
    const source = process.argv[2] || USUAL_SOURCE
    const count = await updateModels(source.startsWith('https://') ? source : resolve(source), FILE)
    console.log(`Wrote ${count.toLocaleString('en')} models to ${relative(process.cwd(), FILE)}.`)
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error)
    process.exit(1)
  }
}
