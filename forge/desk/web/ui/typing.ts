/**
 * Notices when a text field leaves the page while it is typed in, for example since another window has aborted the
 * merge whose message it was. What is typed next must not go into whatever gets the focus then, such as the code.
 */
import { isTypingKey } from './keys.ts'

/** For so long after a letter, in milliseconds, the next one may be on its way. */
const NEXT_LETTER = 2_000

type TextField = HTMLInputElement | HTMLTextAreaElement

export class Typing {
  /** Called with the text of a field that is gone, and called again with each letter typed since; not for passwords. */
  onInterrupted: ((text: string) => void) | undefined
  /** Called when the user stops typing: by a key that types nothing. */
  onEnd: (() => void) | undefined
  #field: TextField | undefined
  /** When the field was typed in last, in milliseconds. */
  #at = 0
  /** What the field had, and what was typed since, if it is gone. */
  #text: string | undefined

  /** Whether the field that was typed in is gone, and the user has not stopped typing yet. */
  get isInterrupted(): boolean {
    const isGone = this.#field?.isConnected === false && this.#isNow
    return (isGone || this.#text !== undefined) && isNothingFocused()
  }

  /** Whether the user is typing in a field: if it leaves the page, the focus must not go elsewhere. */
  isIn(field: Element): boolean {
    return this.#field === field && this.#isNow
  }

  /** Whether the next letter may be on its way. */
  get #isNow(): boolean {
    return performance.now() - this.#at < NEXT_LETTER
  }

  /** Begins to listen, ahead of the commands: a key with Ctrl is no letter. */
  listen(): void {
    const options = { capture: true }
    window.addEventListener('input', event => this.#typed(event), options)
    window.addEventListener('keydown', event => this.#pressed(event), options)
    window.addEventListener('pointerdown', () => this.forget(), options)
    new MutationObserver(() => this.#lookForField()).observe(document.body, { childList: true, subtree: true })
  }

  #typed({ target }: Event): void {
    if (!(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement)) return
    this.forget()
    this.#field = target
    this.#at = performance.now()
  }

  #pressed(event: KeyboardEvent): void {
    if (!this.isInterrupted) {
      // Enter, Escape or a command may close the field as the user wants it.
      if (event.key === 'Enter' || !(isTypingKey(event) || isModifier(event))) this.forget()
      return
    }
    if (isModifier(event)) return
    if (isTypingKey(event)) {
      event.preventDefault()
      this.#report(textAfter(this.#text ?? '', event.key))
      return
    }
    this.forget()
    if (event.key !== 'Tab') this.onEnd?.()
  }

  #lookForField(): void {
    if (this.#text === undefined && this.#field && this.isInterrupted) this.#report(this.#field.value)
  }

  #report(text: string): void {
    this.#text = text
    if (text.trim() !== '' && this.#field?.type !== 'password') this.onInterrupted?.(text)
  }

  /** Called before a field leaves the page, if another field with its text takes its place and gets the focus. */
  forget(): void {
    this.#field = undefined
    this.#text = undefined
  }
}

function textAfter(text: string, key: string): string {
  if (key === 'Backspace') return text.slice(0, -1)
  return text + (key === 'Enter' ? '\n' : key)
}

const isModifier = ({ key }: KeyboardEvent): boolean => ['Shift', 'AltGraph', 'CapsLock', 'Dead'].includes(key)

/** Whether no element of the page has the focus. */
export function isNothingFocused(): boolean {
  const { activeElement } = document
  return activeElement === null || activeElement === document.body
}

/** The typing in this window. */
export const typing = new Typing()
