/** A text that a person is writing, which the browser keeps until it is used. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { keep, kept } from './composer-state.ts'

export class KeptText {
  readonly #key: string
  readonly #text

  /** `key`: identifies what the text is for, and its repository. */
  constructor(key: string) {
    this.#key = key
    this.#text = signal(kept(key))
  }

  get text(): ReadonlySignal<string> {
    return this.#text
  }

  write(text: string): void {
    this.#text.value = text
    keep(this.#key, text)
  }
}
