/** A scripted model in this process, for tests of turns. */
import type { CallBlock, Model, ModelAnswer, Progress, Request, Usage } from '../../forge/ai/request.ts'
import { NO_USAGE } from '../../forge/ai/session.ts'
import type { Models } from '../../forge/desk/chat/models.ts'

/** One answer: text, tool calls, or an error. Its parts are shown in this order. */
export type Step = {
  reasoning?: string
  text?: string
  /** More of the text, piece by piece. */
  pieces?: () => AsyncGenerator<string>
  /** Reports that the request is sent again after `seconds`, and that the text sent so far does not count. */
  again?: { words: string; seconds: number }
  /** When this promise settles, reports that the request was sent again. */
  resent?: Promise<unknown>
  calls?: { name: string; arguments?: unknown }[]
  end?: ModelAnswer['end']
  cost?: number
  usage?: Partial<Usage>
  /** Thrown after the text was sent. */
  error?: Error
  /** The answer ends when this promise settles, or when it is stopped. */
  until?: Promise<unknown>
}
export type Script = readonly Step[] | ((request: Request, count: number) => Step)

/** The commit message, where the script has no more steps. */
const MESSAGE = 'Do what was asked\n\nSince it was asked for.'

export class ScriptedModel implements Model {
  readonly name = 'openai/scripted'
  readonly requests: Request[] = []
  #ids = 0

  constructor(
    public script: Script,
    readonly window = 200_000,
  ) {}

  /** Plays this script from the next request on. */
  play(script: Script): void {
    this.script = script
    this.requests.length = 0
  }

  async ask(
    request: Request,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (progress: Progress) => void },
  ): Promise<ModelAnswer> {
    signal.throwIfAborted()
    this.requests.push(request)
    const count = this.requests.length
    const step =
      typeof this.script === 'function' ? this.script(request, count) : (this.script[count - 1] ?? { text: MESSAGE })
    if (step.reasoning) onProgress({ type: 'reasoning', delta: step.reasoning })
    if (step.text) onProgress({ type: 'text', delta: step.text })
    let text = step.text ?? ''
    for await (const delta of untilAborted(step.pieces?.(), signal)) {
      text += delta
      onProgress({ type: 'text', delta })
    }
    if (step.again) onProgress({ type: 'again', ...step.again })
    if (step.resent) {
      await Promise.race([step.resent, aborted(signal)])
      onProgress({ type: 'resent' })
    }
    if (step.until) await Promise.race([step.until, aborted(signal)])
    signal.throwIfAborted()
    if (step.error) throw step.error
    const calls = (step.calls ?? []).map(({ name, arguments: sent = {} }): CallBlock => {
      const id = `call-${++this.#ids}`
      onProgress({ type: 'call', id, name })
      return { type: 'call', id, name, arguments: sent }
    })
    return {
      blocks: [
        ...(step.reasoning ? [{ type: 'reasoning', text: step.reasoning } as const] : []),
        ...(text ? [{ type: 'text', text } as const] : []),
        ...calls,
      ],
      end: step.end ?? (calls.length > 0 ? 'calls' : 'done'),
      usage: {
        ...NO_USAGE,
        input: 100,
        output: 10,
        ...(step.cost !== undefined && { cost: step.cost }),
        ...step.usage,
      },
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** The pieces that come before the signal aborts. */
async function* untilAborted(pieces: AsyncGenerator<string> | undefined, signal: AbortSignal): AsyncGenerator<string> {
  while (pieces) {
    const next = await Promise.race([pieces.next(), aborted(signal)])
    if (!next || next.done) return
    yield next.value
  }
}

/** The models of a desk that only has this one. */
export const modelsOf = (model: Model, more: Partial<Models> = {}): Models => ({
  names: [model.name],
  usual: model.name,
  limits: { steps: 12, seconds: 60, cost: 5 },
  checksAfterTurn: true,
  wrong: undefined,
  missing: () => undefined,
  look: async () => undefined,
  windowOf: async () => model.window,
  open: async () => model,
  clean: text => text.replaceAll('sk-secret', '[secret]'),
  ...more,
})

export const write = (path: string, content: string) => ({ name: 'write_file', arguments: { path, content } })
