/** Focus management: after an action, the focus is where the work continues, and never lost. */

/**
 * The names of the places in the page that actions can focus. If several elements have the same name, such as two
 * lists, the last one registered is focused.
 */
export type PlaceName =
  /** The main element of a view: a list of commits, the tasks of a run, a conflict. */
  | 'home'
  /** A chat or a file that is still loading. It keeps the keys that are typed until then. */
  | 'coming'
  | 'editor'
  /** The versions of a file that was in conflict as a whole. */
  | 'versions'
  | 'list'
  | 'message'
  /** The button in the status bar that changes the indentation. */
  | 'indentation'
  /** The button in the status bar that changes the line endings. */
  | 'line endings'
  | 'search field'
  /** The field that searches a history. */
  | 'history search'
  | 'diffs'
  | 'file tab'
  | 'branch tab'
  | 'explorer'
  | 'conflicted files'
  /** The button that finishes a merge. */
  | 'finish'
  | 'runs'
  | 'approval'
  | 'model'
  | 'refs'
  | 'commit'

/** The places to focus in the content, in order of preference. */
const CONTENT: readonly PlaceName[] = [
  'home',
  'coming',
  'editor',
  'versions',
  'list',
  'message',
  'search field',
  'diffs',
  'file tab',
  'branch tab',
]

/** The elements that can be focused, by the name of their place. They register themselves: see usePlace. */
export class FocusPlaces {
  readonly #elements = new Map<PlaceName, Set<HTMLElement>>()

  /** Registers an element under the names of some places, such as `editor`. Returns a function that removes it. */
  add(element: HTMLElement, names: readonly PlaceName[]): () => void {
    for (const name of names) this.#elements.set(name, (this.#elements.get(name) ?? new Set()).add(element))
    return () => {
      for (const name of names) this.#elements.get(name)?.delete(element)
    }
  }

  /** The element at a place, if there is one. */
  find(name: PlaceName): HTMLElement | undefined {
    return [...(this.#elements.get(name) ?? [])].at(-1)
  }

  /** Focuses the element at a place. Returns false if there is none, or it can't be focused. */
  focus(name: PlaceName): boolean {
    const element = this.find(name)
    element?.focus()
    return element !== undefined && document.activeElement === element
  }

  /** Focuses the content in the middle. */
  focusContent(): void {
    CONTENT.some(name => this.focus(name))
  }
}

/** Whether the focused element has left the page. */
export function isFocusLost(): boolean {
  const { activeElement } = document
  return activeElement === null || activeElement === document.body
}

/** A controller that the next key or click of the user aborts. Abort it when that does not matter any more. */
export function abortedByInput(): AbortController {
  const controller = new AbortController()
  const options = { signal: controller.signal, capture: true }
  for (const kind of ['keydown', 'pointerdown']) window.addEventListener(kind, () => controller.abort(), options)
  return controller
}

/**
 * Moves the focus from a clicked row to its list, which handles the keys: a row that kept the focus would still have
 * the ring after the selection has moved on. Not before the button is released: that would end a drag of the row.
 */
export function keepFocusInList({ currentTarget }: { currentTarget: HTMLElement }): void {
  const { activeElement } = document
  const isInRow = activeElement?.matches('[role="option"]') === true && currentTarget.contains(activeElement)
  if (isInRow && currentTarget.tabIndex === 0) currentTarget.focus({ preventScroll: true })
}
