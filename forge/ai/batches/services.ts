/** Which batch interface the address of a model has. */
import type { ModelEndpoint } from '../errors.ts'
import { type Endpoint, providerOf, type Settings } from '../settings.ts'
import type { BatchService } from './batches.ts'

type BatchFormat = 'anthropic' | 'openai' | 'mistral'

/**
 * The format of a provider's batches; undefined where it is known to have none. Servers with OpenAI's format are
 * assumed to have OpenAI's batches: one that has none refuses when it is asked.
 */
function batchFormatOf({ provider, address, name }: Endpoint): BatchFormat | undefined {
  if (provider === 'openrouter') return undefined
  if (provider === 'anthropic') return 'anthropic'
  return name === 'mistral' || /(^|\.)mistral\.ai$/.test(new URL(address).hostname) ? 'mistral' : 'openai'
}

/** Whether requests to a model can be sent in batches, as far as its provider is known. */
export function hasBatches(name: string, settings: Settings): boolean {
  const provider = providerOf(name)
  const endpoint = provider === undefined ? undefined : settings.endpoint(provider)
  return endpoint !== undefined && batchFormatOf(endpoint) !== undefined
}

/** Opens the batch interface of a model; undefined where its provider has none. `id`: the model's name there. */
export async function openBatches(
  endpoint: Endpoint,
  asked: ModelEndpoint,
  id: string,
): Promise<BatchService | undefined> {
  const { key = '' } = endpoint
  switch (batchFormatOf(endpoint)) {
    case 'anthropic': {
      const { AnthropicBatches } = await import('./anthropic.ts')
      return new AnthropicBatches(asked, key)
    }
    case 'openai': {
      const { OpenAiBatches } = await import('./openai.ts')
      return new OpenAiBatches(asked, key)
    }
    case 'mistral': {
      const { MistralBatches } = await import('./mistral.ts')
      return new MistralBatches(asked, key, id)
    }
    default:
      return undefined
  }
}
