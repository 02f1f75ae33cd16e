/**
 * Opens models of the providers by name. The AI SDK is loaded with the first model, so that programs which use none do
 * not load it.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Patience } from './ask.ts'
import type { BatchableModel } from './batches/batches.ts'
import { openBatches } from './batches/services.ts'
import type { Fetch } from './endpoint.ts'
import { listedModel } from './model-list.ts'
import { ModelError } from './request.ts'
import { type Endpoint, providerOf, type Settings } from './settings.ts'

/**
 * Opens a model by its name: anthropic/NAME, openrouter/VENDOR/NAME, openai/NAME, or SERVER/NAME. Sends nothing. The
 * model can be kept while the settings stay the same, and can be asked concurrently. @throws ModelError where a key or
 * the model is not configured.
 */
export async function openModel(
  name: string,
  settings: Settings,
  patience: Partial<Patience> = {},
): Promise<BatchableModel> {
  const provider = providerOf(name)
  const endpoint = provider && settings.endpoint(provider)
  if (!endpoint) throw new ModelError(provider ? 'key' : 'no such model', settings.missing(name) ?? 'No model is set.')
  const id = name.slice(name.indexOf('/') + 1)
  const [open, { AskedModel, DEFAULT_PATIENCE }] = await Promise.all([languageModel(endpoint, id), import('./ask.ts')])
  const { provider: format, address, name: server } = endpoint
  const asked = { name, provider: format, server, address, secrets: settings.secrets }
  // A local model may process the prompt for minutes before its first byte.
  const usual = isOwnServer(endpoint) ? { ...DEFAULT_PATIENCE, silence: 900 } : DEFAULT_PATIENCE
  return new AskedModel({
    asked,
    window: windowOf(name, endpoint, settings),
    open,
    price: settings.price(name),
    patience: { ...usual, ...patience },
    isAtAnthropic: new URL(endpoint.address).hostname === 'api.anthropic.com',
    service: await openBatches(endpoint, asked, id),
  })
}

type Open = (fetch: Fetch) => LanguageModelV4

async function languageModel({ provider, address, key }: Endpoint, id: string): Promise<Open> {
  const apiKey = key ?? ''
  switch (provider) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return fetch => createAnthropic({ baseURL: address, apiKey, fetch })(id)
    }
    case 'openrouter': {
      const { createOpenRouter } = await import('@openrouter/ai-sdk-provider')
      return fetch =>
        createOpenRouter({ baseURL: address, apiKey, fetch, compatibility: 'strict' }).chat(id, {
          usage: { include: true },
        })
    }
    case 'openai': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const options = {
        name: 'openaiCompatible',
        baseURL: address,
        includeUsage: true,
        ...(key && { apiKey: key }),
        ...(!isOwnServer({ provider, address }) && { transformRequestBody: withNewName }),
      }
      return fetch => createOpenAICompatible({ ...options, fetch })(id)
    }
  }
}

/** Renames max_tokens: OpenAI's newer models refuse that name, which all other servers know. */
function withNewName({ max_tokens, ...body }: Record<string, unknown>): Record<string, unknown> {
  return { ...body, max_completion_tokens: max_tokens }
}

const isOwnServer = ({ provider, address }: Endpoint): boolean =>
  provider === 'openai' && new URL(address).hostname !== 'api.openai.com'

/** The windows, in tokens, of models that are newer than the list of models; the first match counts. */
const WINDOWS: readonly [RegExp, number][] = [
  [/claude-(?:opus|sonnet)-4[.-][6-9]/, 1_000_000],
  [/claude-[a-z]+-(?:[5-9]|\d\d)(?!\d)/, 1_000_000],
  [/claude/, 200_000],
  [/gpt-4\.1/, 1_000_000],
  [/gpt-4/, 128_000],
  [/gpt-5/, 400_000],
  [/gemini-(?:2\.5|[3-9])/, 1_000_000],
]
const USUAL_WINDOW = 200_000
/** The assumed window, in tokens, of models on the user's own server. */
const OWN_WINDOW = 32_768

/**
 * The window of a model in tokens: as configured, else by the list of models, else judged by its name. A model on a
 * server of the user's own may be run with a smaller one than its maker's, so the list counts only for servers that
 * have a provider's name.
 */
function windowOf(name: string, endpoint: Endpoint, settings: Settings): number {
  const set = settings.window(name)
  if (set !== undefined) return set
  const isOwn = isOwnServer(endpoint)
  const listed = isOwn && !endpoint.name ? undefined : listedModel(name)
  if (listed) return listed.window
  if (isOwn) return OWN_WINDOW
  const [, known] = WINDOWS.find(([pattern]) => pattern.test(name)) ?? []
  return known ?? USUAL_WINDOW
}
