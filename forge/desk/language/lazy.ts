/** The language servers of a desk, whose modules are loaded with the first question, which keeps its start short. */
import type { Path } from '../../../core/git/repository.ts'
import { isSwitchedOn } from '../../ai/switches.ts'
import type { WorkInProgressVfs } from '../../vfs.ts'
import { languageQuestions } from '../contract/language.ts'
import type { News } from '../contract/news.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import type { Languages, LanguagesOptions } from './languages.ts'

type LanguageHandlers = Handlers<typeof languageQuestions, Window>

export class LazyLanguages implements AsyncDisposable {
  #opening: Promise<{ languages: Languages; handlers: LanguageHandlers }> | undefined
  #languages: Languages | undefined

  constructor(readonly options: LanguagesOptions) {}

  async #open() {
    this.#opening ??= Promise.all([import('./languages.ts'), import('./handlers.ts')]).then(
      ([{ Languages }, { languageHandlers }]) => {
        const languages = new Languages(this.options)
        this.#languages = languages
        return { languages, handlers: languageHandlers(languages) }
      },
    )
    return await this.#opening
  }

  /** The handlers of the questions to language servers. */
  get handlers(): LanguageHandlers {
    const names = Object.keys(languageQuestions) as (keyof LanguageHandlers)[]
    const handler = (name: keyof LanguageHandlers) => async (fields: never, window: Window) =>
      await (await this.#open()).handlers[name](fields, window)
    return Object.fromEntries(names.map(name => [name, handler(name)])) as unknown as LanguageHandlers
  }

  /** Takes notice of news that the desk sends to windows. */
  hear(news: News): void {
    this.#languages?.hear(news)
  }

  /** Whether servers are switched on, and can run here. */
  async canRun(): Promise<boolean> {
    if (!this.#languages && !(await isSwitchedOn(this.options.state, 'language-servers-are-on'))) return false
    return await (await this.#open()).languages.canRun()
  }

  /** Finds the problems of files as they are in `vfs`. */
  async problemsIn(branch: string, vfs: WorkInProgressVfs, paths: readonly Path[], signal: AbortSignal) {
    return await (await this.#open()).languages.problemsIn(branch, vfs, paths, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#opening) await (await this.#opening).languages[Symbol.asyncDispose]()
  }
}
