/** The commit message that is written for the next save of a branch, also of one without a tab. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { keepText, keptText } from './kept.ts'
import { textKey } from './texts-of-places.ts'

/** The channel on which the windows of a browser tell each other the messages that saves have used. */
const CHANNEL = 'used commit messages'

interface Used {
  place: string
  message: string
}

export class SaveMessage {
  readonly #text: Signal<string | undefined>
  #place: string

  /** `place`: a key that identifies the branch or commit, and its repository. */
  constructor(place: string) {
    this.#place = place
    this.#text = signal(keptText(this.#key) || undefined)
  }

  get place(): string {
    return this.#place
  }

  get #key(): string {
    return textKey('commit message in', this.#place)
  }

  /** Follows the branch to its new name; what the browser keeps has moved already. */
  moveTo(place: string): void {
    this.#place = place
  }

  /** The edited message, kept in the browser until it is used; undefined: the server's. */
  get text(): ReadonlySignal<string | undefined> {
    return this.#text
  }

  write(message: string | undefined): void {
    this.#text.value = message
    keepText(this.#key, message ?? '')
  }

  /** Called when a save has used a message: it is dropped in all windows, but not what was typed in one since. */
  used(message: string): void {
    this.drop(message)
    const channel = new BroadcastChannel(CHANNEL)
    channel.postMessage({ place: this.#place, message } satisfies Used)
    channel.close()
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

/** Drops each message that another window has used. `messages`: those of the open branches. */
export function dropUsedMessages(messages: () => SaveMessage[]): void {
  new BroadcastChannel(CHANNEL).onmessage = ({ data }: MessageEvent<Used>) => {
    const open = messages().find(({ place }) => place === data.place)
    // The browser keeps the message of a branch without a tab, too.
    const message = open ?? new SaveMessage(data.place)
    message.drop(data.message)
  }
}
