/** The parts of forge/ai that the desk uses for one repository, loaded on first use. */
import { Failure } from '../../../core/failure.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Session } from '../../ai/session.ts'
import type { Summaries } from '../../ai/summaries.ts'
import type { StartParser } from '../../code/reader.ts'
import type { LazyLanguages } from '../language/lazy.ts'
import type { Choices } from './choices.ts'
import type { Models } from './models.ts'
import { TurnTools } from './turn-tools.ts'

export type AiOptions = {
  /** The desk's state folder for the repository. */
  state: string
  /** The folder of the user's settings for the forge. */
  config: string
  models: Models
  languages: LazyLanguages
  /** How parsers of code are started. Default: with processes of their own. */
  startParser?: StartParser | undefined
}

export class Ai implements AsyncDisposable {
  readonly tools: TurnTools
  #summaries: Promise<Summaries> | undefined

  constructor(
    readonly objects: Objects,
    readonly options: AiOptions,
  ) {
    this.tools = new TurnTools(options.config, options.state, options.languages)
  }

  get models(): Models {
    return this.options.models
  }

  /**
   * The model of a conversation. A stranger's conversation may name any, at this user's cost, so only models in the
   * settings, or chosen here, are accepted.
   */
  modelOf({ model }: Session, { models: chosen }: Choices): string | undefined {
    const { names, usual } = this.models
    return model !== undefined && (names.includes(model) || chosen.includes(model)) ? model : usual
  }

  /** Throws a {@link Failure} if a model can't be used. */
  async verifyModel(name: string): Promise<void> {
    await this.models.look()
    const missing = this.models.names.includes(name) ? undefined : this.models.missing(name)
    if (missing !== undefined) throw new Failure(missing)
  }

  /** The summaries of files, cached by blob. */
  summaries(): Promise<Summaries> {
    this.#summaries ??= import('../../ai/summaries.ts').then(({ openSummaries }) =>
      openSummaries(this.objects, { folder: this.options.state, startParser: this.options.startParser }),
    )
    return this.#summaries
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tools[Symbol.asyncDispose]()
    if (this.#summaries) (await this.#summaries)[Symbol.dispose]()
  }
}
