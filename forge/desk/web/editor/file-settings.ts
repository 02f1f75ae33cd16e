/**
 * The user's settings in the editor of an open file: word wrap, closing brackets, sticky lines, and the indentation,
 * which the user can also choose for the file alone, and which .editorconfig and the text tell otherwise (see
 * indentation.ts). Only what is different is reconfigured, since that costs a new layout.
 */
import { indentUnit } from '@codemirror/language'
import { EditorState, type Extension, type StateEffect } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Indentation } from '../../contract/desk.ts'
import type { EditorConfig } from '../../contract/reading.ts'
import type { SettingValues } from '../../contract/settings.ts'
import type { Connection } from '../ui/socket.ts'
import { type Adjustable, CLOSING, type EditorSettings, NOT_CLOSING, NOT_WRAPPED } from './editor.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'
import { indentationOf } from './indentation.ts'
import { NO_STICKY_LINES, STICKY_LINES } from './sticky-lines.ts'

/** What the user has chosen for all files. */
export interface UserChoices {
  isWrapped: ReadonlySignal<boolean>
  settings: ReadonlySignal<SettingValues>
}

type InitialSettings = Pick<EditorSettings, 'isWrapped' | 'closesBrackets' | 'hasStickyLines' | 'indentation'>

export class FileSettings {
  /** What an indentation is, such as `Spaces: 4`. */
  readonly indent = signal('')
  readonly #connection: Connection
  readonly #file: FilePath
  readonly #views: Pick<FileViews, 'state' | 'reconfigure'>
  readonly #adjustable: Adjustable
  readonly #choices: UserChoices
  /** What .editorconfig says about the indentation of the file; empty until it has been loaded. */
  #editorConfig: EditorConfig = {}
  /** The indentation that the user has chosen for the file; undefined: it is detected. */
  chosenIndentation: Indentation | undefined

  constructor(
    connection: Connection,
    file: FilePath,
    views: Pick<FileViews, 'state' | 'reconfigure'>,
    adjustable: Adjustable,
    choices: UserChoices,
  ) {
    this.#connection = connection
    this.#file = file
    this.#views = views
    this.#adjustable = adjustable
    this.#choices = choices
  }

  /** The settings of a new editor with a text. */
  initial(text: string): InitialSettings {
    return {
      isWrapped: this.#choices.isWrapped.peek(),
      closesBrackets: this.#closesBrackets,
      hasStickyLines: this.#hasStickyLines,
      indentation: this.#indentationOf(text),
    }
  }

  get #closesBrackets(): boolean {
    return this.#choices.settings.peek()['editor.closeBrackets'] ?? true
  }

  get #hasStickyLines(): boolean {
    return this.#choices.settings.peek()['editor.stickyScroll'] ?? true
  }

  #indentationOf(text: string): Extension {
    return indentationOf(this.#file.path, text, {
      chosen: this.chosenIndentation,
      config: this.#editorConfig,
      tabSize: this.#choices.settings.peek()['editor.tabSize'],
    })
  }

  /** Loads what .editorconfig says about the indentation, and applies it. */
  async loadEditorConfig(): Promise<void> {
    const { at, path } = this.#file
    try {
      this.#editorConfig = await this.#connection.ask('editor config', { at, path })
    } catch {
      // Without an answer, the indentation detected in the text stays.
      return
    }
    this.apply()
  }

  /** Applies the settings to the editor. */
  apply(): void {
    const { state } = this.#views
    if (!state) return
    const { brackets, indentation, sticky } = this.#adjustable
    const closing = this.#closesBrackets ? CLOSING : NOT_CLOSING
    const before = state.facet(indentUnit) + state.tabSize
    const wanted = this.#indentationOf(state.doc.toString())
    const after = EditorState.create({ extensions: wanted })
    const effects: StateEffect<unknown>[] = []
    if (after.facet(indentUnit) + after.tabSize !== before) effects.push(indentation.reconfigure(wanted))
    if (brackets.get(state) !== closing) effects.push(brackets.reconfigure(closing))
    const stickyLines = this.#hasStickyLines ? STICKY_LINES : NO_STICKY_LINES
    if (sticky.get(state) !== stickyLines) effects.push(sticky.reconfigure(stickyLines))
    if (effects.length > 0) this.#views.reconfigure(effects)
  }

  /** Wraps long lines, or not. */
  wrap(isWrapped: boolean): void {
    const { state } = this.#views
    const { wrapping } = this.#adjustable
    const wanted = isWrapped ? EditorView.lineWrapping : NOT_WRAPPED
    if (state && wrapping.get(state) !== wanted) this.#views.reconfigure(wrapping.reconfigure(wanted))
  }

  /** The width of an indentation, and whether the Tab key inserts spaces. */
  get indentation(): { tabSize: number; usesSpaces: boolean } {
    const { state } = this.#views
    const unit = state?.facet(indentUnit) ?? '  '
    return { tabSize: unit === '\t' ? (state?.tabSize ?? 4) : unit.length, usesSpaces: unit !== '\t' }
  }

  /** Tells how the text is indented. */
  say(): void {
    const { tabSize, usesSpaces } = this.indentation
    this.indent.value = `${usesSpaces ? 'Spaces' : 'Tab width'}: ${tabSize}`
  }
}
