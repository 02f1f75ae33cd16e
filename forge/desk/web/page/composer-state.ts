/** The message being written to the AI of a branch. The browser keeps it until it is sent. */
import { type Signal, signal } from '@preact/signals'
import { keep, kept } from './kept.ts'

export class ComposerState {
  readonly text: Signal<string>
  /** Whether the message was written while a turn runs: it is sent when the turn has ended well. */
  readonly isQueued: Signal<boolean>
  readonly isSending = signal(false)
  /** Increases with each message sent from here: the list then scrolls to the answer. */
  readonly sent = signal(0)
  /** Why the message could not be sent. */
  readonly problem = signal<string | undefined>(undefined)
  /** Escape was pressed once: pressing it again stops the turn. */
  readonly isStopNear = signal(false)
  /** Whether the chat was opened on request. It then shows the settings to make if there is no model. */
  readonly isWanted: Signal<boolean>
  /** Increases when the field should get the focus. */
  readonly focusWanted = signal(0)
  /** The last value of `focusWanted` that has been acted upon. */
  focusGiven = 0

  readonly #key: string
  readonly #queuedKey: string

  /** `place`: a key that identifies the branch and its repository. */
  constructor(place: string) {
    this.#key = `message to ${place}`
    this.text = signal(kept(this.#key))
    this.#queuedKey = `queued ${this.#key}`
    // Only the window that has queued the message sends it.
    this.isQueued = signal(this.text.peek() !== '' && kept(this.#queuedKey, () => sessionStorage) !== '')
    this.isWanted = signal(this.text.peek() !== '')
  }

  write(text: string): void {
    this.text.value = text
    this.problem.value = undefined
    keep(this.#key, text)
  }

  /** Queues the message, or takes it out of the queue; the queue outlasts a reload. */
  queue(isQueued: boolean): void {
    this.isQueued.value = isQueued
    keep(this.#queuedKey, isQueued ? 'yes' : '', () => sessionStorage)
  }

  focus(): void {
    this.isWanted.value = true
    this.focusWanted.value++
  }
}
