/** Models at the scripted server, opened as the forge opens them, and requests for them. */
import type { Patience } from '../../../forge/ai/ask.ts'
import { openModel } from '../../../forge/ai/providers.ts'
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type Progress,
  type Request,
  type RequestMessage,
} from '../../../forge/ai/request.ts'
import { readSettings, type Settings } from '../../../forge/ai/settings.ts'
import type { ModelServer, Provider } from '../../doubles/model-server.ts'

export const PROVIDERS: Provider[] = ['anthropic', 'openrouter', 'openai']

/** Hardly any delay between retries, but as many retries as in production. */
export const HASTY: Partial<Patience> = { silence: 20, firstPause: 0.002, longestPause: 0.01 }

/** Settings from these variables alone, without a forge.env. */
export const settingsOf = (environment: Record<string, string>): Promise<Settings> =>
  readSettings({ XDG_CONFIG_HOME: '/nowhere/at/all', ...environment })

export async function openScripted(
  server: ModelServer,
  provider: Provider,
  patience: Partial<Patience> = {},
): Promise<Model> {
  const environment = server.environment(provider)
  return openModel(environment.FORGE_MODEL ?? '', await settingsOf(environment), { ...HASTY, ...patience })
}

export const user = (text: string): RequestMessage => ({ role: 'user', blocks: [{ type: 'text', text }] })

export const requestOf = (...messages: RequestMessage[]): Request => ({
  tools: [
    {
      name: 'write_file',
      description: 'Writes a file.',
      parameters: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' } } },
    },
  ],
  system: [{ type: 'text', text: 'You work on a branch.' }],
  messages: messages.length ? messages : [user('Say hello.')],
  output: 1000,
})

/** The result of a request: the answer or the error, and all progress. */
export type Asked = { answer?: ModelAnswer; error?: unknown; progress: Progress[] }

export async function ask(model: Model, request: Request = requestOf(), signal?: AbortSignal): Promise<Asked> {
  const progress: Progress[] = []
  const options = {
    signal: signal ?? new AbortController().signal,
    onProgress: (news: Progress) => progress.push(news),
  }
  try {
    return { answer: await model.ask(request, options), progress }
  } catch (error) {
    return { error, progress }
  }
}

/** The error of a request; fails where there is an answer. */
export function troubleOf({ answer, error }: Asked): ModelError {
  if (error instanceof ModelError) return error
  throw new Error(`It should have ended with an error of the model, not with ${JSON.stringify(answer) ?? error}.`)
}

export const calls = (answer: ModelAnswer | undefined) => (answer?.blocks ?? []).filter(block => block.type === 'call')

export const textOf = (answer: ModelAnswer | undefined): string =>
  (answer?.blocks ?? []).map(block => (block.type === 'text' ? block.text : '')).join('')
