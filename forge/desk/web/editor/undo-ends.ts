/**
 * Where the undo of an open file's editor ends. What the server has changed is not undone here: the desk's own undo
 * does that. So the history of typing is dropped where conflicts begin or end to be shown, where the server opens or
 * resolves one, and where it takes back what was typed.
 */
import { undoDepth } from '@codemirror/commands'
import type { ChangeSet, EditorState } from '@codemirror/state'
import { conflictsOf } from './conflict-editor.ts'
import { type Adjustable, emptyHistory, historyOf } from './editor.ts'
import type { FileViews } from './file-views.ts'
import { touchesTyped } from './typed-ranges.ts'

/** The numbers of the open conflicts, in one text. */
const numbersOfOpen = (state: EditorState): string =>
  conflictsOf(state)
    .open.map(({ number }) => number)
    .join()

export class UndoEnds {
  readonly #views: Pick<FileViews, 'state' | 'dispatch'>
  readonly #adjustable: Adjustable
  #isCut = false

  constructor(views: Pick<FileViews, 'state' | 'dispatch'>, adjustable: Adjustable) {
    this.#views = views
    this.#adjustable = adjustable
  }

  /** Whether there were edits to undo when the history was ended. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Lets the undo of the editor end here. */
  endHere(): void {
    this.#isCut ||= undoDepth(this.#views.state as EditorState) > 0
    this.#views.dispatch({ effects: this.#adjustable.history.reconfigure(emptyHistory()) })
  }

  /** Makes edits that are not the user's. If the text is the same in the end, what was typed can still be undone. */
  keepOver(edit: () => void): void {
    const before = this.#views.state as EditorState
    edit()
    if ((this.#views.state as EditorState).doc.eq(before.doc))
      this.#views.dispatch({ effects: this.#adjustable.history.reconfigure(historyOf(before)) })
  }

  /**
   * Takes edits of the server. Where they open or resolve a conflict, undo ends: the undo of a choice made here would
   * put the conflict beside the one that is there already.
   */
  endAtConflicts(take: () => void): void {
    const before = numbersOfOpen(this.#views.state as EditorState)
    take()
    if (numbersOfOpen(this.#views.state as EditorState) !== before) this.endHere()
  }

  /**
   * Lets undo end before a change of the server, such as a discard, that takes back edits made here: the undo of one
   * that is taken back already would make a text that the file never had.
   */
  endWhereTakenBack(changes: ChangeSet): void {
    if (touchesTyped(this.#views.state as EditorState, changes)) this.endHere()
  }
}
