/** What of forge/ai the desk has in use for one repository. It is loaded when it is first needed. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Session } from '../../ai/session.ts'
import type { Summaries } from '../../ai/summaries.ts'
import type { Choices } from './choices.ts'
import type { Models } from './models.ts'
import { TurnTools } from './turn-tools.ts'

export type AiOptions = {
  /** The desk's folder of state for the repository. */
  state: string
  /** The user's folder of settings for the forge. */
  config: string
  models: Models
}

export class Ai implements AsyncDisposable {
  readonly tools: TurnTools
  #summaries: Promise<Summaries> | undefined

  constructor(
    readonly objects: Objects,
    readonly options: AiOptions,
  ) {
    this.tools = new TurnTools(options.config, options.state)
  }

  get models(): Models {
    return this.options.models
  }

  /**
   * The model that a conversation goes on with. A stranger's may name any, at this person's cost: those count that the
   * settings name, or that the person has chosen here.
   */
  modelOf({ model }: Session, { models: chosen }: Choices): string | undefined {
    const { names, usual } = this.models
    return model !== undefined && (names.includes(model) || chosen.includes(model)) ? model : usual
  }

  /** Throws a {@link Failure} where a model is none that could be asked. */
  async verifyModel(name: string): Promise<void> {
    await this.models.look()
    const missing = this.models.names.includes(name) ? undefined : this.models.missing(name)
    if (missing !== undefined) throw new Failure(missing)
  }

  /** The summaries of files, which are kept by their blobs. */
  summaries(): Promise<Summaries> {
    this.#summaries ??= import('../../ai/summaries.ts').then(({ openSummaries }) =>
      openSummaries(this.objects, { folder: this.options.state }),
    )
    return this.#summaries
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tools[Symbol.asyncDispose]()
    if (this.#summaries) (await this.#summaries)[Symbol.dispose]()
  }
}
