/** What a person writes to the AI of a branch: kept in this browser until it is sent. */
import { type Signal, signal } from '@preact/signals'

export class ComposerState {
  readonly text: Signal<string>
  /** Written while a turn runs, and to be sent when it has ended well. */
  readonly isQueued = signal(false)
  readonly isSending = signal(false)
  /** How many messages were sent from here: after each, its answer is what one wants to see. */
  readonly sent = signal(0)
  /** Why it was not sent. */
  readonly problem = signal<string | undefined>(undefined)
  /** Escape was pressed once: again, and the turn is stopped. */
  readonly isStopNear = signal(false)
  /** Whether the person has asked for the chat: without a model it says then what to set. */
  readonly isWanted: Signal<boolean>
  /** Counts up when the field is to have the focus, and how many of these it has had. */
  readonly focusWanted = signal(0)
  focusGiven = 0

  readonly #key: string

  /** `place` tells this branch from others, also from those of other repositories. */
  constructor(place: string) {
    this.#key = `message to ${place}`
    this.text = signal(kept(this.#key))
    this.isWanted = signal(this.text.peek() !== '')
  }

  write(text: string): void {
    this.text.value = text
    this.problem.value = undefined
    keep(this.#key, text)
  }

  focus(): void {
    this.isWanted.value = true
    this.focusWanted.value++
  }
}

/** What this browser keeps may be gone, full or forbidden: then it is not kept. */
export function kept(key: string): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

export function keep(key: string, words: string): void {
  try {
    if (words === '') localStorage.removeItem(key)
    else localStorage.setItem(key, words)
  } catch {
    // It is still in the page.
  }
}
