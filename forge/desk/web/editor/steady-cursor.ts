/** Keeps the line of the cursor where it is in the window while something else than the user's input moves the text. */
import { EditorView, type Rect, ViewPlugin } from '@codemirror/view'
import { conflictsOf } from './conflict-editor.ts'
import { mostHeightOfSticky } from './sticky-lines.ts'

/**
 * Runs an update that the user did not make, such as edits from the server or blocks for conflicts. In each view in
 * which the cursor is visible, its line stays at its height; in a conflict, it goes down as far as the top of the
 * conflict's box needs to be visible.
 */
export function withSteadyCursor(views: readonly EditorView[], update: () => void): void {
  // A notice may be there already, while the observer has not run yet.
  for (const view of views) view.plugin(steadyInWindow)?.follow()
  const heights = views.map(heightOfCursor)
  const before = views.map(({ state }) => state)
  update()
  views.forEach((view, index) => {
    const height = heights[index]
    if (height === undefined || view.state === before[index]) return
    const { head } = view.state.selection.main
    const yMargin = Math.max(height, heightBelowHead(view) ?? height)
    view.dispatch({ effects: EditorView.scrollIntoView(head, { y: 'start', yMargin }) })
    // This read makes CodeMirror scroll now: in the next frame, the editor may have another height, as below a notice.
    cursorOf(view)
  })
}

/**
 * Scrolls to the top of the conflict's box, or to the bar of the resolved conflict, at the cursor if only the cursor is
 * visible, as after an undo.
 */
export function showHeadAtCursor(view: EditorView): void {
  const wanted = heightBelowHead(view)
  const height = heightOfCursor(view)
  if (wanted === undefined || height === undefined || height >= wanted) return
  const { head } = view.state.selection.main
  view.dispatch({ effects: EditorView.scrollIntoView(head, { y: 'start', yMargin: wanted }) })
}

/** The pixels from the top of the visible text to the cursor; undefined if the cursor is not visible. */
function heightOfCursor(view: EditorView): number | undefined {
  const cursor = cursorOf(view)
  const { top, bottom } = view.scrollDOM.getBoundingClientRect()
  if (!cursor || cursor.top < top || cursor.bottom > bottom) return undefined
  return cursor.top - top - marginOf(view)
}

/**
 * The pixels from the top of a conflict's box to the cursor in it, or from the bar of a resolved one to the cursor in
 * its first line; undefined if the cursor is in neither, or so far down that they can't both be visible.
 */
function heightBelowHead(view: EditorView): number | undefined {
  const { doc, selection } = view.state
  const { head } = selection.main
  const { open, settled } = conflictsOf(view.state)
  const isInConflict = open.some(({ region: { from, to } }) => from <= head && head <= to)
  const isBelowBar = settled.some(({ from }) => from === doc.lineAt(head).from)
  const cursor = isInConflict || isBelowBar ? cursorOf(view) : null
  if (!cursor) return undefined
  const box = view.documentTop + view.lineBlockAt(head).top
  const isFitting = cursor.bottom - box <= view.scrollDOM.clientHeight - marginOf(view)
  return isFitting ? cursor.top - box : undefined
}

const cursorOf = (view: EditorView): Rect | null => view.coordsAtPos(view.state.selection.main.head)

/** The height of what covers the top of the text, such as sticky lines. */
const marginOf = (view: EditorView): number =>
  Math.max(0, ...view.state.facet(EditorView.scrollMargins).map(margin => margin(view)?.top ?? 0))

/**
 * Keeps the head of a conflict's box in view where the box is too tall to be centered: with room for sticky lines,
 * which may come after the box.
 */
export const headOfCenteredBox = EditorView.scrollHandler.of((view, { head }, { y }) => {
  const conflict = y === 'center' ? conflictsOf(view.state).open.find(({ region }) => region.from === head) : undefined
  const box = conflict && view.dom.querySelector(`[data-conflict="${conflict.number}"]`)?.getBoundingClientRect()
  if (!box) return false
  const { scrollDOM } = view
  const room = mostHeightOfSticky(view)
  if (box.height + 2 * room <= scrollDOM.clientHeight) return false
  scrollDOM.scrollTop += box.top - scrollDOM.getBoundingClientRect().top - room
  return true
})

/** Where an editor and its visible text are in the window, in pixels from the top. */
interface Edges {
  editor: number
  top: number
  bottom: number
}

function edgesOf({ dom, scrollDOM }: EditorView): Edges {
  const { top, bottom } = scrollDOM.getBoundingClientRect()
  return { editor: dom.getBoundingClientRect().top, top, bottom }
}

class SteadyInWindow {
  readonly #view: EditorView
  readonly #observer = new ResizeObserver(() => this.follow())
  #edges: Edges

  constructor(view: EditorView) {
    this.#view = view
    this.#edges = edgesOf(view)
    this.#observer.observe(view.dom)
  }

  destroy(): void {
    this.#observer.disconnect()
  }

  /** Follows the editor, if it has another place in the window. Observed after a layout, before it is painted. */
  follow(): void {
    const view = this.#view
    const before = this.#edges
    const edges = edgesOf(view)
    this.#edges = edges
    const moved = edges.editor - before.editor
    const cursor = moved === 0 ? null : cursorOf(view)
    if (!cursor) return
    const [top, bottom] = [cursor.top - moved, cursor.bottom - moved]
    if (top < before.top || bottom > before.bottom) return
    const highest = edges.top + (heightBelowHead(view) ?? -marginOf(view)) + marginOf(view)
    const wanted = Math.max(highest, Math.min(top, edges.bottom - (bottom - top)))
    view.scrollDOM.scrollTop += cursor.top - wanted
  }
}

/** Scrolls by the height of a notice that appears or goes above the editor, if the cursor is visible. */
export const steadyInWindow = ViewPlugin.fromClass(SteadyInWindow)
