/**
 * Keys typed while a file is loading. They are kept in order with the jumps that were asked for before them, such as to
 * a line, and are inserted at the cursor once the text is there; where it can't be edited, they are dropped.
 */
import type { FileViews } from './file-views.ts'

type ViewsToTypeIn = Pick<FileViews, 'state' | 'dispatch' | 'followCursor'>

export class EarlyKeys {
  readonly #views: ViewsToTypeIn
  /** `go`: the jump in the file that was asked for before the keys. */
  #early: { go?: () => void; keys: string }[] = []

  constructor(views: ViewsToTypeIn) {
    this.#views = views
  }

  /** Keeps a key typed while the file is loading. Returns whether it was kept. */
  type(key: string): boolean {
    if (this.#views.state) return false
    const keys = this.#early.at(-1)?.keys ?? ''
    if (key === 'Backspace' && keys !== '') this.#keep(keys.slice(0, -1))
    else if (key === 'Enter') this.#keep(`${keys}\n`)
    else if (key.length === 1) this.#keep(keys + key)
    else return false
    return true
  }

  #keep(keys: string): void {
    this.#early.push({ ...this.#early.pop(), keys })
  }

  /** Keeps a jump, to be made before keys typed later. */
  keepJump(go: () => void): void {
    this.#early.push({ go, keys: '' })
  }

  /** Makes the jumps and inserts the keys at the cursor, unless the file is read-only or locked. */
  insert(isLocked: boolean): void {
    const early = this.#early.splice(0)
    if (early.length === 0 || !this.#views.state) return
    this.#views.followCursor()
    for (const { go, keys } of early) {
      go?.()
      const { state } = this.#views
      if (keys === '' || state.readOnly || isLocked) continue
      this.#views.dispatch({ ...state.replaceSelection(keys), userEvent: 'input.type', scrollIntoView: true })
    }
  }
}
