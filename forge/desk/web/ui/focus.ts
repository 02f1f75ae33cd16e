/** Focus management: after an action, the focus is where the work continues, and never lost. */
import { signal } from '@preact/signals'
import { isNothingFocused, typing } from './typing.ts'

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
  /** The versions of a file that was in conflict as a whole, or its names. */
  | 'versions'
  | 'list'
  | 'message'
  /** The message field of the chat beside the editor. */
  | 'docked message'
  /** The button in the status bar that changes the indentation. */
  | 'indentation'
  /** The button in the status bar that changes the line endings. */
  | 'line endings'
  | 'search field'
  /** The field that searches a history. */
  | 'history search'
  | 'diffs'
  /** The field that filters the changed files of a review. */
  | 'changed files filter'
  | 'file tab'
  | 'branch tab'
  | 'explorer'
  | 'conflicted files'
  /** The button that finishes a merge. */
  | 'finish'
  /** The end of the list of a merge's files: its message, and the buttons that end it. */
  | 'end of merge'
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
]
/** The places to focus while nothing in the content can have the focus. */
const TABS: readonly PlaceName[] = ['file tab', 'branch tab']

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

  /** Whether the element at a place has the focus, or something in it. */
  hasFocus(name: PlaceName): boolean {
    return this.find(name)?.contains(document.activeElement) === true
  }

  /**
   * Focuses the text field with this label, or else the content in the middle. Returns false if nothing there can have
   * the focus, such as while it loads.
   */
  focusContent(field?: string): boolean {
    return (field !== undefined && focusField(field)) || CONTENT.some(name => this.focus(name))
  }

  /** Focuses the tab of what is shown. */
  focusTab(): void {
    TABS.some(name => this.focus(name))
  }
}

/** Where a tab has its text fields: its content, and the status bar. Not in dialogs, menus and the rows of tabs. */
const WORK = 'main, .status'

/** Knows which text field of a tab is in use, by its label: the field is a new element when its tab is shown again. */
export class FieldInUse {
  #last: Element | undefined

  /** Begins to listen to where the focus goes. */
  listen(): void {
    window.addEventListener('focusin', ({ target }) => {
      if (target instanceof Element && target.closest(WORK)) this.#last = target
    })
  }

  /** The label of the text field that had the focus last; undefined if something else had it, such as an editor. */
  get label(): string | undefined {
    const field = this.#last?.isConnected && this.#last.matches('input, textarea') ? this.#last : undefined
    return field?.getAttribute('aria-label') ?? undefined
  }
}

/** Focuses the text field with a label. Returns false if there is none, or several. */
function focusField(label: string): boolean {
  const fields = [...document.querySelectorAll<HTMLElement>(`:is(${WORK}) :is(input, textarea)`)]
  const [field, ...others] = fields.filter(it => it.getAttribute('aria-label') === label)
  if (others.length > 0) return false
  field?.focus()
  return field !== undefined && document.activeElement === field
}

/** Text fields, and editors. */
const TEXT = 'input, textarea, [contenteditable="true"]'

/**
 * A wish for the focus by something that may be shown later, such as the editor of a file that is loading. It is open
 * until it is given, or until the user puts the focus elsewhere: what is typed then must not end up in that editor.
 */
export class FocusWish {
  /** Increases with each wish, so that what gets the focus is rendered. */
  readonly made = signal(0)
  /** The label of the text field that is to get the focus, if there is one. */
  field: string | undefined
  #from: Element | null = null
  #listening: AbortController | undefined

  get isOpen(): boolean {
    return this.#listening !== undefined && !typing.isInterrupted
  }

  make(field?: string): void {
    this.end()
    this.field = field
    this.#from = document.activeElement
    const listening = new AbortController()
    const options = { signal: listening.signal, capture: true }
    window.addEventListener('pointerdown', () => this.end(), options)
    window.addEventListener('keydown', event => this.#isElsewhere(event) && this.end(), options)
    this.#listening = listening
    this.made.value++
  }

  /** Called when the focus is given, and where an action moves it elsewhere. */
  end(): void {
    this.#listening?.abort()
    this.#listening = undefined
    this.field = undefined
  }

  /** Whether a key moves the focus, or is typed into another field than the one that had the focus at the wish. */
  #isElsewhere({ key, target }: KeyboardEvent): boolean {
    if (key === 'Tab') return true
    // The field of a dialog is gone: the browser has chosen the one that has the focus now.
    if (!this.#from?.isConnected || target === this.#from) return false
    return target instanceof Element && target.matches(TEXT)
  }
}

/**
 * Whether the focused element has left the page, so that the focus can be given to another. Not while a field is gone
 * that was being typed in: the rest of the sentence would go there.
 */
export function isFocusLost(): boolean {
  return isNothingFocused() && !typing.isInterrupted
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
