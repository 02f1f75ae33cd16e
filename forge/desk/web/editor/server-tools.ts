/**
 * The language server of an open file in its editor: completion, tips and problems, and the changes that it proposes.
 * The server is asked by functions that are passed in (see language-tools.ts); this decides what fits the text.
 *
 * - An answer is about a version of the text on the desk's server. Problems of another version are dropped, and what
 *   was typed and is not confirmed is put on top of them; proposed changes are made only where nothing was typed since.
 * - Without a server, words are completed on request.
 */
import { getSyncedVersion, sendableUpdates } from '@codemirror/collab'
import type { Text } from '@codemirror/state'
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Abilities, LanguageState, Problem, TextChange } from '../../contract/language.ts'
import type { Composition } from './composition.ts'
import { type Adjustable, WORD_COMPLETION } from './editor.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'
import {
  changesOf,
  type LanguageQuestions,
  languageTools,
  serverCompletion,
  showProblems,
  tips,
} from './language-tools.ts'

/** The file that the language server is asked about. */
interface UnderstoodFile extends FilePath {
  /** The state of its language server; undefined where there is none for such files, or not asked yet. */
  readonly language: ReadonlySignal<LanguageState | undefined>
}

/** The editor of the file. */
interface ToolsOwner {
  file: UnderstoodFile
  views: Pick<FileViews, 'state' | 'both' | 'dispatch' | 'reconfigure'>
  adjustable: Adjustable
  composition: Composition
  /** The text that the desk's server has, according to all that was received. */
  confirmed: () => Text
}

export class ServerTools {
  /** How many problems the language server has found, of errors and warnings. */
  readonly problemCounts = signal({ errors: 0, warnings: 0 })
  #hasServer = false
  readonly #owner: ToolsOwner

  constructor(owner: ToolsOwner) {
    this.#owner = owner
  }

  /** Whether the editor has the tools of a language server. */
  get hasServer(): boolean {
    return this.#hasServer
  }

  /** Called for a new editor, which has no tools yet. */
  start(): void {
    this.#hasServer = false
  }

  /** Gives the editor the tools of a language server; undefined takes them away, with the problems. */
  show(server: { can: Abilities; questions: LanguageQuestions } | undefined): void {
    const { views, adjustable, composition } = this.#owner
    if (!server && !this.#hasServer) return
    if (!views.state || composition.isHeldBack('server', () => this.show(server))) return
    const tools = server ? [languageTools(server.can, server.questions), tips] : []
    const completion = server?.can.completes ? serverCompletion(server.can, server.questions) : WORD_COMPLETION
    this.#hasServer = server !== undefined
    if (!server) this.#showProblems([])
    const { server: tooling, completion: completing } = adjustable
    views.reconfigure([tooling.reconfigure(tools), completing.reconfigure(completion)])
  }

  /** Shows the problems that a language server has found in a version of the text. */
  takeProblems(version: number, problems: readonly Problem[]): void {
    const { file, views } = this.#owner
    const { state } = views
    if (!state || file.at.kind === 'commit' || file.language.peek()?.is !== 'ready') return
    // The places are those of the server's text: what is typed since, and has not reached it, comes on top. Problems of
    // an older text are replaced soon, and the editor moves the shown ones meanwhile.
    if (version === getSyncedVersion(state)) this.#showProblems(problems)
  }

  #showProblems(problems: readonly Problem[]): void {
    const { views, confirmed } = this.#owner
    if (!views.state) return
    const count = (wanted: Problem['severity']) => problems.filter(({ severity }) => severity === wanted).length
    this.problemCounts.value = { errors: count('error'), warnings: count('warning') }
    const typed = sendableUpdates(views.state).map(({ changes }) => changes)
    const shown = showProblems(views.state, confirmed(), typed, problems)
    if (shown) views.dispatch(shown)
    const second = views.both?.second
    const shownInSecond = second && showProblems(second.state, confirmed(), typed, problems)
    if (shownInSecond) second.dispatch(shownInSecond)
  }

  /**
   * Makes changes that a language server proposed for a version of the text, as one step of Undo typing. Returns
   * whether they fit: not if something was typed since.
   */
  makeChanges(version: number, changes: readonly TextChange[]): boolean {
    const { file, views } = this.#owner
    const { state } = views
    if (!state || state.readOnly || file.at.kind === 'commit') return false
    if (version !== getSyncedVersion(state) || sendableUpdates(state).length > 0) return false
    const made = changesOf(state.doc, changes)
    if (!made) return false
    views.dispatch({ changes: made, userEvent: 'input.proposed', scrollIntoView: true })
    return true
  }
}
