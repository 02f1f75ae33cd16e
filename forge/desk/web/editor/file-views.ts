/**
 * The text of an open file in its views: none while the file is not shown, one, or two while it is in both halves of a
 * split. Their cursors and scroll positions are here, and what is left of them when a view is gone.
 *
 * - The state of the file is that of the first view, also of the last one that was removed. Only the first view has the
 *   history of undo and reports its changes to the server; the second one repeats the changes of the first, and the
 *   other way round (see two-views.ts). If the first view is removed, the second one takes its place.
 * - Actions apply to the view that had the focus last.
 * - A scroll position is the first visible line, since the same pixels are other lines with another width.
 */
import { closeSearchPanel, searchPanelOpen } from '@codemirror/search'
import {
  type EditorSelection,
  type EditorState,
  type Extension,
  type StateEffect,
  type Text,
  Transaction,
  type TransactionSpec,
} from '@codemirror/state'
import { EditorView, type ViewUpdate } from '@codemirror/view'
import { type CursorPlace, cursorIn, cursorPlaceOf } from './cursor-line.ts'
import type { Adjustable } from './editor.ts'
import { isAboutRefusedText } from './refused-text.ts'
import { lineAtHeight, scrollToLine } from './scrolled-line.ts'
import { changesBetween } from './text-changes.ts'
import { repeatIn, type TwoViews } from './two-views.ts'

/**
 * The first visible line, from 1, and as its decimals the part of it that is out of view (undefined: the beginning of
 * the text), and the cursor's place in the text.
 */
export interface Place extends CursorPlace {
  firstLine?: number | undefined
}

/** The place in a file; `other`: that in the other half of a split, if the file is in both. */
export interface Places extends Place {
  other?: Place
}

/** The text that a place was left in, if the file may have another one. */
export interface TextOfPlace {
  text?: Text | undefined
}

type FirstCursor = CursorPlace & TextOfPlace

interface ViewsOwner {
  /** Called when the text has changed while it has no view. */
  onEdit: () => void
  /** Called when the state or the cursor has changed in another way than by an update of the first view. */
  onChange: () => void
}

/** The place of a cursor in a text, also if it was left in another version of it (`text`). */
function placeIn(doc: Text, { text, ...place }: FirstCursor): number {
  return text ? Math.min(changesBetween(text, doc).mapPos(place.cursor), doc.length) : cursorIn(doc, place)
}

export class FileViews {
  #state: EditorState | undefined
  #first: FirstCursor
  #view: EditorView | undefined
  /** The second view, while the file is in both halves of a split. */
  #second: EditorView | undefined
  /** The view that had the focus last. */
  #here: EditorView | undefined
  /** The first visible line, from 1, with the part of it that is out of view. */
  #firstLine: number
  /** The first visible line of the second view. */
  #secondFirstLine = 1
  /** From the last session, if the file was in both halves: the places in the half with the focus and in the other. */
  #kept: { here?: Place; other?: Place }
  /** Whether the view that is made first scrolls to the cursor, which was moved while the file was not shown. */
  #isAtCursor = false
  /** The place of the view with the focus, until it is known whether the other view is closed with it. */
  #left: { selection: EditorSelection; firstLine: number } | undefined
  readonly #adjustable: Adjustable
  readonly #owner: ViewsOwner

  constructor({ other, text, ...here }: Places & TextOfPlace, adjustable: Adjustable, owner: ViewsOwner) {
    this.#kept = other ? { here, other } : {}
    this.#firstLine = here.firstLine ?? 1
    this.#first = { cursor: here.cursor, cursorLine: here.cursorLine, text }
    this.#adjustable = adjustable
    this.#owner = owner
  }

  /** The state of the text; undefined until it is loaded, and if the file is no text. */
  get state(): EditorState | undefined {
    return this.#state
  }

  /** Begins with the state of a text that is loaded first; undefined: the file is no text any more. */
  begin(state: EditorState | undefined): void {
    this.#state = state
  }

  /** Where the cursor is to be in a text that is loaded first. */
  firstCursorIn(doc: Text): number {
    return placeIn(doc, this.#first)
  }

  /** The extension of the first view that follows its updates; then `onUpdate` is called. */
  followed(onUpdate: (update: ViewUpdate) => void): Extension {
    return this.#adjustable.listener.of(
      EditorView.updateListener.of(update => {
        this.#state = update.state
        if (this.#second) repeatIn(this.#second, update, isAboutRefusedText)
        onUpdate(update)
      }),
    )
  }

  get all(): EditorView[] {
    return [this.#view, this.#second].filter(view => view !== undefined)
  }

  /** The first view. */
  get first(): EditorView | undefined {
    return this.#view
  }

  /** Both views, while the file is in both halves of a split. */
  get both(): TwoViews | undefined {
    return this.#view && this.#second && { first: this.#view, second: this.#second }
  }

  /** The view that had the focus last; the first one, if none had it. */
  get here(): EditorView | undefined {
    return this.#here ?? this.#view
  }

  /** The state of the view that had the focus last. */
  get stateHere(): EditorState | undefined {
    return this.#second && this.#here === this.#second ? this.#second.state : this.state
  }

  dispatch(spec: TransactionSpec): void {
    if (this.#view) {
      this.#view.dispatch(spec)
      return
    }
    if (!this.state) return
    const { doc } = this.state
    // A transaction is applied unchanged, as a view applies it. A new one with the same changes would pass the filter
    // for typed text, which keeps conflict markers that the server has removed.
    this.#state = (spec instanceof Transaction ? spec : this.state.update(spec)).state
    if (this.state.doc !== doc) this.#owner.onEdit()
    this.#owner.onChange()
  }

  /** Dispatches in the view that had the focus last. */
  dispatchHere(spec: TransactionSpec): void {
    if (this.#second && this.#here === this.#second) this.#second.dispatch(spec)
    else this.dispatch(spec)
  }

  /** Changes the configuration of all views. */
  reconfigure(effects: StateEffect<unknown> | readonly StateEffect<unknown>[]): void {
    this.dispatch({ effects })
    this.#second?.dispatch({ effects })
  }

  /** Runs a command of the editor in the view that had the focus last. */
  run(command: (view: EditorView) => unknown): void {
    const view = this.#second && this.#here === this.#second ? this.#second : this.#view
    if (view) command(view)
  }

  /**
   * Makes a view of the file. A second one, in the other half of a split, begins where the first one is. `isHere`:
   * whether it is in the half with the focus.
   */
  make(parent: HTMLElement, isHere: boolean): EditorView {
    const state = this.state as EditorState
    const kept = this.#kept[isHere ? 'here' : 'other']
    delete this.#kept[isHere ? 'here' : 'other']
    const selection = kept ? { anchor: cursorIn(state.doc, kept) } : state.selection
    const isSecond = this.#view !== undefined
    const firstLine = kept ? (kept.firstLine ?? 1) : this.#firstLine
    const shown = state.update({ selection, effects: isSecond ? this.#asSecond() : [] }).state
    const view = new EditorView({ parent, state: shown })
    if (isSecond) {
      this.#second = view
      this.#secondFirstLine = firstLine
      if (searchPanelOpen(view.state)) closeSearchPanel(view)
    } else {
      this.#view = view
      this.#state = view.state
      this.#firstLine = firstLine
    }
    return view
  }

  /** What turns the first view's state into that of the second one. */
  #asSecond(): StateEffect<unknown>[] {
    const { history, collaboration, listener } = this.#adjustable
    const listen = EditorView.updateListener.of(update => {
      if (this.#view) repeatIn(this.#view, update, isAboutRefusedText)
      if (update.selectionSet) this.#owner.onChange()
    })
    return [history.reconfigure([]), collaboration.reconfigure([]), listener.reconfigure(listen)]
  }

  /** Records which of two views has the focus: the cursor and actions are those of that view. */
  lookAt(view: EditorView): void {
    this.#here = view
    this.#owner.onChange()
  }

  /** Scrolls a new view to its first line, or to the cursor after {@link followCursor}. */
  scrollToPlace(view: EditorView): void {
    const isAtCursor = this.#isAtCursor
    this.#isAtCursor = false
    if (isAtCursor) view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main, { y: 'center' }) })
    else scrollToLine(view, view === this.#second ? this.#secondFirstLine : this.#firstLine)
  }

  /** Called where the cursor is about to be moved: a file without a view is then shown there, not where it was left. */
  followCursor(): void {
    this.#isAtCursor = this.#view === undefined
    delete this.#kept.here
  }

  /** Removes a view, which is then destroyed. The second view takes the place of the first one. */
  hide(view: EditorView): void {
    const { first, second } = this.both ?? {}
    if (first && second) {
      if (view === this.#here) this.#leave(view)
      if (view === first) this.#promote(second)
      this.#second = undefined
      this.#here = this.#view
      return
    }
    this.#view = undefined
    this.#here = undefined
    if (!this.#left || !this.state) return
    this.#state = this.state.update({ selection: this.#left.selection }).state
    this.#firstLine = this.#left.firstLine
  }

  /** If both views are removed at once, the place of the one with the focus is kept. */
  #leave(view: EditorView): void {
    const firstLine = view === this.#second ? this.#secondFirstLine : this.#firstLine
    this.#left = { selection: view.state.selection, firstLine }
    queueMicrotask(() => {
      this.#left = undefined
    })
  }

  /** Makes the second view the first one: it gets the history, and sends changes. */
  #promote(second: EditorView): void {
    const { selection } = second.state
    const place = second.scrollSnapshot()
    this.#view = second
    this.#firstLine = this.#secondFirstLine
    second.setState((this.state as EditorState).update({ selection }).state)
    this.#state = second.state
    second.dispatch({ effects: place })
  }

  /**
   * Records the first visible line of a view. Read on scrolling rather than on leaving, where it would force a layout
   * of the next view.
   */
  scrolled(view: EditorView): void {
    const firstLine = lineAtHeight(view, view.scrollDOM.scrollTop)
    if (view === this.#second) this.#secondFirstLine = firstLine
    else if (view === this.#view) this.#firstLine = firstLine
  }

  /** The first lines and the cursors, to restore after a restart. */
  get places(): Places {
    const { cursor, cursorLine } = this.state ? cursorPlaceOf(this.state) : this.#first
    const first = { firstLine: this.#firstLine, cursor, cursorLine }
    if (!this.#second) return first
    const second = { firstLine: this.#secondFirstLine, ...cursorPlaceOf(this.#second.state) }
    return this.#here === this.#second ? { ...second, other: first } : { ...first, other: second }
  }

  /** Goes to a match: its line in the whole text, from 1, and the range within it. */
  goTo(line: number, range?: [number, number]): void {
    if (!this.state) return
    const { doc } = this.state
    const { from, length } = doc.line(Math.max(1, Math.min(line, doc.lines)))
    const [start, end] = (range ?? [0, 0]).map(at => from + Math.min(at, length)) as [number, number]
    this.dispatchHere({
      selection: { anchor: start, head: end },
      effects: EditorView.scrollIntoView(start, { y: 'center' }),
    })
  }

  /** Goes to an offset of the text. */
  goToPlace(at: number): void {
    if (!this.state) return
    const anchor = Math.min(at, this.state.doc.length)
    this.dispatchHere({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
  }

  /** Goes to the place that another version of the file was left at. */
  goToLeft({ firstLine = 1, cursor, cursorLine, text }: Place & TextOfPlace): void {
    if (!this.#view) this.#firstLine = firstLine
    const place = { cursor, cursorLine, text }
    if (this.state) this.goToPlace(placeIn(this.state.doc, place))
    else this.#first = place
  }
}
