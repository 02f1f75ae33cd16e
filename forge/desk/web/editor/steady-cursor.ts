/** Keeps the line of the cursor where it is in the window while something else than the user's input moves the text. */
import { EditorView, ViewPlugin } from '@codemirror/view'

/**
 * Runs an update that the user did not make, such as edits from the server or blocks for conflicts. In each view in
 * which the cursor is visible, its line stays at its height.
 */
export function withSteadyCursor(views: readonly EditorView[], update: () => void): void {
  // A notice may be there already, while the observer has not run yet.
  for (const view of views) view.plugin(steadyInWindow)?.follow()
  const heights = views.map(heightOfCursor)
  const before = views.map(({ state }) => state)
  update()
  views.forEach((view, index) => {
    const yMargin = heights[index]
    if (yMargin === undefined || view.state === before[index]) return
    const { head } = view.state.selection.main
    view.dispatch({ effects: EditorView.scrollIntoView(head, { y: 'start', yMargin }) })
  })
}

/** The pixels from the top of the visible text to the cursor; undefined if the cursor is not visible. */
function heightOfCursor(view: EditorView): number | undefined {
  const cursor = view.coordsAtPos(view.state.selection.main.head)
  const { top, bottom } = view.scrollDOM.getBoundingClientRect()
  if (!cursor || cursor.top < top || cursor.bottom > bottom) return undefined
  const margins = view.state.facet(EditorView.scrollMargins).map(margin => margin(view)?.top ?? 0)
  return cursor.top - top - Math.max(0, ...margins)
}

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
    const cursor = moved === 0 ? null : view.coordsAtPos(view.state.selection.main.head)
    if (!cursor) return
    const [top, bottom] = [cursor.top - moved, cursor.bottom - moved]
    if (top < before.top || bottom > before.bottom) return
    const wanted = Math.max(edges.top, Math.min(top, edges.bottom - (bottom - top)))
    view.scrollDOM.scrollTop += cursor.top - wanted
  }
}

/** Scrolls by the height of a notice that appears or goes above the editor, if the cursor is visible. */
export const steadyInWindow = ViewPlugin.fromClass(SteadyInWindow)
