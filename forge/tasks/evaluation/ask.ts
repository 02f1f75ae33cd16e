/** Sends a stored request of an earlier run again: to another model, or with the current prompt. */

import { tokensIn } from '../../ai/fence.ts'
import { listedModel } from '../../ai/model-list.ts'
import type { Model, Request } from '../../ai/request.ts'
import type { Settings } from '../../ai/settings.ts'
import { PROMPT_VERSIONS, systemWords } from '../steps/prompts.ts'
import { type StoredRequest, thinkingFor } from '../steps/request.ts'
import { toolsFor } from '../steps/tools.ts'
import type { KeptRequest } from './kept.ts'

/** A stored request that is sent again. `key`: the hash of what is sent. `input`: its estimated tokens. */
export type Asking = { kept: KeptRequest; stored: StoredRequest; key: string; input: number }

/**
 * Builds the request for a model from a stored one. `isNow`: with the present prompt and tools instead of the stored
 * ones. Undefined where it does not fit into the model's window.
 */
export function askingOf(
  kept: KeptRequest,
  model: Pick<Model, 'name' | 'window'>,
  settings: Settings,
  { isNow }: { isNow: boolean },
): Asking | undefined {
  const { kind, tier, stored } = kept
  const { thinking: _, ...before } = stored.request
  const thinking = thinkingFor(settings, tier, model.name)
  const words = isNow ? asNow(kind, before) : before
  const input = tokensIn(JSON.stringify([words.tools, words.system, words.messages]))
  const longest = listedModel(model.name)?.output ?? before.output
  const output = Math.min(before.output, longest, model.window - input)
  if (output < 1024) return undefined
  const request: Request = { ...words, output, ...(thinking && { thinking }) }
  const prompt = isNow ? PROMPT_VERSIONS[kind] : stored.prompt
  const asked: StoredRequest = { ...stored, model: model.name, prompt, request }
  return { kept, stored: asked, key: keyOf(asked), input }
}

function asNow(kind: KeptRequest['kind'], request: Request): Request {
  const subAgents = JSON.stringify(request.tools).includes('fan_out')
  const [first, ...others] = request.system
  const text = systemWords(kind, { subAgents })
  return {
    ...request,
    tools: toolsFor(kind, { subAgents }),
    system: [{ ...first, type: 'text', text }, ...others],
  }
}

/** The key of a result: a hash of the model and of everything that is sent to it. */
const keyOf = ({ model, kind, request }: StoredRequest): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify({ model, kind, request })).digest('hex')
