/** The commit message that is written for the next save of a branch, also of one without a tab. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { keepText, keptText } from './kept.ts'
import { textKey } from './texts-of-places.ts'
import { tellUsed } from './used-texts.ts'

export class SaveMessage {
  readonly #text: Signal<string | undefined>
  #key: string
  /** The last use of a message by a save of this window. */
  #lastUse: { message: string } | undefined

  /** `place`: a key that identifies the branch or commit, and its repository. */
  constructor(place: string) {
    this.#key = textKey('commit message in', place)
    this.#text = signal(keptText(this.#key) || undefined)
  }

  /** The key at which the browser keeps the message. */
  get key(): string {
    return this.#key
  }

  /** Follows the branch to its new name; what the browser keeps has moved already. */
  moveTo(place: string): void {
    this.#key = textKey('commit message in', place)
  }

  /** The edited message, kept in the browser until it is used; undefined: the server's. */
  get text(): ReadonlySignal<string | undefined> {
    return this.#text
  }

  write(message: string | undefined): void {
    this.#text.value = message
    keepText(this.#key, message ?? '')
  }

  /**
   * Fixes the current message for a save, which may run later. Returns a function that gives the message; undefined if
   * an earlier save has used it meanwhile.
   */
  forSave(): () => string | undefined {
    const message = this.#text.peek()?.trim()
    const before = this.#lastUse
    return () => (this.#lastUse !== before && this.#lastUse?.message === message ? undefined : message)
  }

  /** Called when a save has used a message: it is dropped in all windows, but not what was typed in one since. */
  used(message: string): void {
    this.#lastUse = { message }
    this.drop(message)
    tellUsed(this.#key, message)
  }

  /** Drops a message, unless another one is being written. */
  drop(message: string): void {
    if (this.#text.peek()?.trim() === message) this.write(undefined)
  }

  /** Takes the message that the browser keeps, unless another one is being written. */
  restore(): void {
    this.#text.value ??= keptText(this.#key) || undefined
  }
}
