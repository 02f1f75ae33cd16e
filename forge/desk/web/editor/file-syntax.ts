/**
 * What the server's parser says about the text of an open file: its symbols and folds, and what is around a selection.
 *
 * - A question is asked when the server has all that was typed. Symbols are asked for once the user has paused, and an
 *   answer is dropped if the text or the path has changed meanwhile: then it is asked again.
 * - Until there is an answer for the new text, the symbols known before move with the text (see symbols.ts).
 */
import type { EditorState } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import { type ReadonlySignal, signal } from '@preact/signals'
import { MAX_COLOURED_LENGTH } from '../ui/languages.ts'
import type { Connection } from '../ui/socket.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'
import { type CodeSymbol, setStructure, symbolsAt, symbolsOf } from './symbols.ts'
import { SyntaxSelection } from './syntax-selection.ts'

/** The symbols of a text are asked for after this many milliseconds without an edit. */
const STRUCTURE_DELAY_MS = 300

/** The file that is asked about. */
interface AskedFile extends FilePath {
  /** Increases when the text has changed. */
  readonly edits: ReadonlySignal<number>
  /** Resolves when the server has all edits. */
  sent: () => Promise<void>
}

export class FileSyntax {
  /** Increases when the server has told the symbols of the text. */
  readonly structures = signal(0)
  /** The functions, classes or headings around the cursor, the outermost first. */
  readonly symbols = signal<CodeSymbol[]>([])
  readonly #connection: Connection
  readonly #file: AskedFile
  readonly #views: Pick<FileViews, 'state' | 'reconfigure'>
  readonly #selecting = new SyntaxSelection()
  /** The value of {@link AskedFile.edits} for which the symbols were asked last. */
  #structuredEdits = -1
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The question for the symbols that waits until the text is sent. */
  #structuring: Promise<void> | undefined
  #isClosed = false

  constructor(connection: Connection, file: AskedFile, views: Pick<FileViews, 'state' | 'reconfigure'>) {
    this.#connection = connection
    this.#file = file
    this.#views = views
  }

  /** Follows a rename: the path may tell another language. */
  moved(): void {
    this.#structuredEdits = -1
    this.askLater()
  }

  /** Asks for the symbols and folds, unless this is called again before. */
  askLater(delayMs = STRUCTURE_DELAY_MS): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.ask(), delayMs)
  }

  /**
   * Asks for the symbols and folds of the text, unless it has them. Resolves once they are those of the text, or can't
   * be had.
   */
  async ask(): Promise<void> {
    const { state } = this.#views
    const isLarge = !state || state.doc.length > MAX_COLOURED_LENGTH
    if (isLarge || this.#isClosed || this.#file.edits.peek() === this.#structuredEdits) return
    // All questions that wait until the text is sent are one: without the desk there would be one for each pause.
    this.#structuring ??= this.#take()
    await this.#structuring
  }

  async #take(): Promise<void> {
    try {
      await this.#file.sent()
      this.#structuring = undefined
      const { at, path } = this.#file
      const edits = this.#file.edits.peek()
      const structure = await this.#connection.ask('file structure', { at, path })
      // After another edit, it is asked for again.
      if (this.#isClosed || edits !== this.#file.edits.peek() || path !== this.#file.path) return
      this.#structuredEdits = edits
      this.#views.reconfigure(setStructure.of(structure))
      this.structures.value++
    } catch {
      // Without an answer, what was known of the text before stays; after the next edit it is asked for again.
    }
  }

  /** Selects what is around the selection. */
  expand(view: EditorView): void {
    const { at, path } = this.#file
    this.#selecting.expand(view, async ranges => {
      await this.#file.sent()
      return await this.#connection.ask('syntax around', { at, path, ranges })
    })
  }

  /** Selects again what was selected before {@link expand}. */
  shrink(view: EditorView): void {
    this.#selecting.shrink(view)
  }

  /** All functions, classes or headings of the file, as far as the server has told them. */
  all(): CodeSymbol[] {
    const { state } = this.#views
    return state ? symbolsOf(state) : []
  }

  /** Tells the symbols around a position in a state of the text. */
  sayAt(state: EditorState, at: number): void {
    const symbols = symbolsAt(state, at)
    const namesOf = (of: readonly CodeSymbol[]) => of.map(({ name }) => name).join('\0')
    if (namesOf(symbols) !== namesOf(this.symbols.peek())) this.symbols.value = symbols
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}
