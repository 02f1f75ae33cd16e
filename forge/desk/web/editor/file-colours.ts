/**
 * The language by which the text of an open file is coloured: the one that the user has chosen, or the one that its
 * name or its first line tells. Colours are loaded, and are left out of texts that would take too long.
 */
import { signal } from '@preact/signals'
import { isColourable, isLanguage, type LanguageName, languageOf, loadNamed } from '../ui/languages.ts'
import type { Adjustable } from './editor.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'

export class FileColours {
  /** The language by which the text is coloured. */
  readonly name = signal<LanguageName>('Plain text')
  readonly #file: FilePath
  readonly #views: Pick<FileViews, 'state' | 'reconfigure'>
  readonly #adjustable: Adjustable
  /** The language that the user has chosen for the file. */
  #chosen: LanguageName | undefined
  #colouring: Promise<void> = Promise.resolve()

  constructor(
    file: FilePath,
    views: Pick<FileViews, 'state' | 'reconfigure'>,
    adjustable: Adjustable,
    chosen: string | undefined,
  ) {
    this.#file = file
    this.#views = views
    this.#adjustable = adjustable
    // Another version of the desk may have kept a language that this one does not know.
    this.#chosen = chosen !== undefined && isLanguage(chosen) ? chosen : undefined
  }

  get chosen(): LanguageName | undefined {
    return this.#chosen
  }

  /** Sets the language that the user has chosen; undefined: the one detected again. */
  async choose(chosen: LanguageName | undefined): Promise<void> {
    this.#chosen = chosen
    await this.colour()
  }

  /** The language that the name of the file, or its first line, tells. */
  get detected(): LanguageName {
    return languageOf(this.#file.path, this.#views.state?.doc)
  }

  /** Colours the text by the language of the file, unless that would take too long, and names the language. */
  async colour(): Promise<void> {
    this.#colouring = this.#colour()
    await this.#colouring
  }

  /** Resolves when the text has its language, or can't have one: until then its syntax is not known. */
  async coloured(): Promise<void> {
    await this.#colouring
  }

  async #colour(): Promise<void> {
    const { path } = this.#file
    const { state } = this.#views
    const chosen = this.#chosen
    const name = chosen ?? this.detected
    const isColoured = state !== undefined && isColourable(state.doc)
    const language = isColoured ? await loadNamed(name) : undefined
    // Another one may have been chosen, or the file renamed, meanwhile.
    if (chosen !== this.#chosen || path !== this.#file.path) return
    this.name.value = name
    if (isColoured) this.#views.reconfigure(this.#adjustable.language.reconfigure(language ?? []))
  }
}
