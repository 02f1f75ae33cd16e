/**
 * What waits for the end of an input method's composition in an open file. Until then the text around it must stay, or
 * the editor loses the composition's place and breaks.
 */
import type { FileViews } from './file-views.ts'

/** Milliseconds from the end of an input method's composition until CodeMirror has processed it: it waits 50 ms. */
const COMPOSITION_END_MS = 100

export class Composition {
  readonly #views: Pick<FileViews, 'all'>
  /** The actions that wait, by kind. */
  readonly #held = new Map<'text' | 'extension' | 'refusal' | 'server', () => void>()
  #isClosed = false

  constructor(views: Pick<FileViews, 'all'>) {
    this.#views = views
  }

  /**
   * Whether the user is composing text (by an input method). `act` is then run after the composition, unless a later
   * action of the same kind replaces it.
   */
  isHeldBack(kind: 'text' | 'extension' | 'refusal' | 'server', act: () => void): boolean {
    if (!this.#views.all.some(view => view.composing)) return false
    this.#held.set(kind, act)
    return true
  }

  /** Called at the end of a composition: runs what waited for it, once CodeMirror has processed the text. */
  ended(): void {
    setTimeout(() => this.#runHeld(), COMPOSITION_END_MS)
  }

  #runHeld(): void {
    if (this.#isClosed) return
    const held = [...this.#held.values()]
    this.#held.clear()
    for (const act of held) act()
  }

  close(): void {
    this.#isClosed = true
  }
}
