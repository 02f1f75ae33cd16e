/** The commit message that is written for the next save of a branch, also of one without a tab. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { keepText, keptText } from './kept.ts'
import { textKey } from './texts-of-places.ts'

export class SaveMessage {
  readonly #text: Signal<string | undefined>
  #key: string

  /** `place`: a key that identifies the branch or commit, and its repository. */
  constructor(place: string) {
    this.#key = textKey('commit message in', place)
    this.#text = signal(keptText(this.#key) || undefined)
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

  /** Takes the message that the browser keeps, unless another one is being written. */
  restore(): void {
    this.#text.value ??= keptText(this.#key) || undefined
  }
}
