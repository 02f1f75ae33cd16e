/** Where the focus goes: after an action it is where a person goes on, and never nowhere. */

/** What can be led to, by what it is. Several may be in the page, such as two lists; the one that came last counts. */
export type PlaceName =
  /** What the view in the middle is about: a list of commits, the tasks of a run, a conflict. */
  | 'home'
  /** A chat or a file that is still on its way: it keeps what is typed. */
  | 'coming'
  | 'editor'
  | 'list'
  | 'message'
  | 'search field'
  | 'diffs'
  | 'file tab'
  | 'branch tab'
  | 'explorer'
  | 'conflicted files'
  | 'runs'
  | 'approval'
  | 'model'
  | 'refs'
  | 'commit'

/** What has the focus in each kind of content, the most wanted first. */
const CONTENT: readonly PlaceName[] = [
  'home',
  'coming',
  'editor',
  'list',
  'message',
  'search field',
  'diffs',
  'file tab',
  'branch tab',
]

/** The elements at these places, which name themselves while they are in the page: see usePlace. */
export class FocusPlaces {
  readonly #elements = new Map<PlaceName, Set<HTMLElement>>()

  /** An element is at some places, until what this gives is called. */
  add(element: HTMLElement, names: readonly PlaceName[]): () => void {
    for (const name of names) this.#elements.set(name, (this.#elements.get(name) ?? new Set()).add(element))
    return () => {
      for (const name of names) this.#elements.get(name)?.delete(element)
    }
  }

  /** The element at a place, if one is there. */
  find(name: PlaceName): HTMLElement | undefined {
    return [...(this.#elements.get(name) ?? [])].at(-1)
  }

  /** Gives an element the focus, if one is there that can have it. */
  focus(name: PlaceName): boolean {
    const element = this.find(name)
    element?.focus()
    return element !== undefined && document.activeElement === element
  }

  /** Gives the focus to what is shown in the middle. */
  focusContent(): void {
    CONTENT.some(name => this.focus(name))
  }
}

/** Whether what had the focus is no more. */
export function isFocusLost(): boolean {
  const { activeElement } = document
  return activeElement === null || activeElement === document.body
}
