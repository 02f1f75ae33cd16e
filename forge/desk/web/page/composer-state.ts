/** The message being written to the AI of a branch. The browser keeps it until it is sent. */
import { signal } from '@preact/signals'
import { FocusWish } from '../ui/focus.ts'
import { keep, keepText, kept, keptText } from './kept.ts'
import { textKey } from './texts-of-places.ts'

export class ComposerState {
  readonly text = signal('')
  /** Whether the message was written while a turn runs: it is sent when the turn has ended well. */
  readonly isQueued = signal(false)
  readonly isSending = signal(false)
  /** Increases with each message sent from here: the list then scrolls to the answer. */
  readonly sent = signal(0)
  /** Why the message could not be sent, as a sentence, until it is changed or sent again, or this is dismissed. */
  readonly refusal = signal<string | undefined>(undefined)
  /** The turn that failed or was stopped and whose message is in the field again. */
  returned: string | undefined
  /** Escape was pressed once: pressing it again stops the turn. */
  readonly isStopNear = signal(false)
  /** Whether the chat was opened on request. It then shows the settings to make if there is no model. */
  readonly isWanted = signal(false)
  /** Requests the focus for the message field. */
  readonly focusWish = new FocusWish()

  #key: string

  /** `place`: a key that identifies the branch and its repository. */
  constructor(place: string) {
    this.#key = textKey('message to', place)
    this.restore()
  }

  /** Goes on with the message that the browser keeps, unless one is being written. */
  restore(): void {
    const text = keptText(this.#key)
    if (text === '' || this.text.peek() !== '') return
    this.text.value = text
    // Only the window that has queued the message sends it.
    this.isQueued.value = kept(this.#queuedKey, () => sessionStorage) !== ''
    this.isWanted.value = true
  }

  /** Follows the branch to its new name; what the browser keeps has moved already. */
  moveTo(place: string): void {
    const isQueued = this.isQueued.peek()
    this.queue(false)
    this.#key = textKey('message to', place)
    this.queue(isQueued)
  }

  get #queuedKey(): string {
    return `queued ${this.#key}`
  }

  write(text: string): void {
    this.text.value = text
    this.refusal.value = undefined
    keepText(this.#key, text)
  }

  /** Queues the message, or takes it out of the queue; the queue outlasts a reload. */
  queue(isQueued: boolean): void {
    this.isQueued.value = isQueued
    keep(this.#queuedKey, isQueued ? 'yes' : '', () => sessionStorage)
  }

  focus(): void {
    this.isWanted.value = true
    this.focusWish.make()
  }
}
