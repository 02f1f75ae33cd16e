/** The models and the limits of turns. Without a key for a model, everything but the chat works. */
import { Failure } from '../../../core/failure.ts'
import type { TurnLimits } from '../../ai/budget.ts'
import type { Model } from '../../ai/request.ts'
import { blackOut } from '../../ai/secrets.ts'
import type { Clean } from '../../ai/session.ts'
import type { Settings } from '../../ai/settings.ts'

export interface Models {
  /** The models that can be chosen; the default comes first, if there is one. */
  readonly names: readonly string[]
  /** The default model, for branches that have chosen none. */
  readonly usual: string | undefined
  readonly limits: TurnLimits
  /** Whether the checks of FORGE.md run after a turn, if commands are allowed. */
  readonly checksAfterTurn: boolean
  /** Why the settings can't be used, as a sentence; undefined if all are valid. */
  readonly wrong: string | undefined
  /** Reads the settings again if they have changed. */
  look(): Promise<void>
  /** Why a model (the default if none is named) can't be used: what to set, in one line; undefined if it can. */
  missing(name?: string): string | undefined
  /** The size of a model's window for a request and its answer, in tokens; 0 if unknown. */
  windowOf(name: string): Promise<number>
  /** Opens a model. Throws a {@link Failure} if it can't be used. */
  open(name: string): Promise<Model>
  /** Redacts what looks like a secret, and the keys of the models. */
  readonly clean: Clean
}

/** The models of a desk that is opened without any. */
export const NO_MODELS: Models = {
  names: [],
  usual: undefined,
  limits: { steps: 0, seconds: 0, cost: 0 },
  checksAfterTurn: false,
  wrong: undefined,
  look: async () => undefined,
  missing: () => NOT_THERE,
  windowOf: async () => 0,
  open: async () => {
    throw new Failure(NOT_THERE)
  },
  clean: text => blackOut(text, []),
}

const NOT_THERE = 'This desk was opened without models.'

type Environment = Record<string, string | undefined>

/** The models of the environment and of forge.env, which may change while the desk runs. */
export class SetModels implements Models {
  #settings: Settings | undefined
  wrong: string | undefined

  constructor(readonly env: Environment) {}

  async look(): Promise<void> {
    try {
      const { readSettings } = await import('../../ai/settings.ts')
      this.#settings = await readSettings(this.env)
      this.wrong = undefined
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.wrong = error.message
    }
  }

  get names(): readonly string[] {
    return this.#settings?.models ?? []
  }

  get usual(): string | undefined {
    return this.#settings?.model
  }

  get limits(): TurnLimits {
    return this.#settings?.limits ?? NO_MODELS.limits
  }

  get checksAfterTurn(): boolean {
    return this.#settings?.checksAfterTurn ?? NO_MODELS.checksAfterTurn
  }

  missing(name = this.usual): string | undefined {
    return this.wrong ?? (this.#settings ? this.#settings.missing(name) : NOT_THERE)
  }

  async windowOf(name: string): Promise<number> {
    return this.missing(name) === undefined ? (await this.open(name)).window : 0
  }

  async open(name: string): Promise<Model> {
    const missing = this.missing(name)
    if (!this.#settings || missing !== undefined) throw new Failure(missing ?? NOT_THERE)
    const { openModel } = await import('../../ai/providers.ts')
    return await openModel(name, this.#settings)
  }

  readonly clean = (text: string): string => blackOut(text, this.#settings?.secrets ?? [])
}
