/** The message being written to the AI of a branch. The browser keeps it until it is sent. */
import { batch, signal } from '@preact/signals'
import { FocusWish } from '../ui/focus.ts'
import { keep, keepText, kept, keptText } from './kept.ts'
import { textKey } from './texts-of-places.ts'
import { tellUsed } from './used-texts.ts'
import { holdLock, isLocked } from './window-locks.ts'

export class ComposerState {
  readonly text = signal('')
  /** The message that is sent when the running turn has ended well; '' if there is none. */
  readonly queued = signal('')
  readonly isSending = signal(false)
  /** Increases with each message that the user sends from here, unless queued: the log then scrolls to the answer. */
  readonly sent = signal(0)
  /** Why the message could not be sent, as a sentence, until it is changed or sent again, or this is dismissed. */
  readonly refusal = signal<string | undefined>(undefined)
  /** The last turn that failed or was stopped and whose message was put back, also before a reload; '' if none was. */
  returned = ''
  /** The turn that was undone or discarded and whose message is in the field again. */
  readonly removed = signal<string | undefined>(undefined)
  /** Escape was pressed once: pressing it again stops the turn. */
  readonly isStopNear = signal(false)
  /** Whether the chat was opened on request. It then shows the settings to make if there is no model. */
  readonly isWanted = signal(false)
  /** Requests the focus for the message field. */
  readonly focusWish = new FocusWish()
  /** The last turn whose message this window has sent, also before a reload; '' if there is none. */
  sentTurn = ''

  #key: string

  /** `place`: a key that identifies the branch and its repository. */
  constructor(place: string) {
    this.#key = textKey('message to', place)
    this.returned = kept(this.#returnedKey, () => sessionStorage)
    this.sentTurn = kept(this.#sentKey, () => sessionStorage)
    if (this.sentTurn !== '') holdLock(SENDER + this.sentTurn)
    this.restore()
  }

  /** Goes on with the messages that the browser keeps, unless others are being written. */
  restore(): void {
    const all = keptText(this.#key)
    if (all === '' || this.text.peek() !== '' || this.queued.peek() !== '') return
    // Only the window that has queued a message sends it; other windows get it into the field.
    const queued = kept(this.#queuedKey, () => sessionStorage)
    const isFirst = queued !== '' && (all === queued || all.startsWith(`${queued}\n\n`))
    this.queued.value = isFirst ? queued : ''
    this.text.value = isFirst ? all.slice(queued.length + 2) : all
    this.isWanted.value = true
  }

  /** Follows the branch to its new name; the browser has moved the text to it already. */
  moveTo(place: string): void {
    for (const key of [this.#queuedKey, this.#sentKey, this.#returnedKey]) keep(key, '', () => sessionStorage)
    this.#key = textKey('message to', place)
    this.#keepQueue()
    keep(this.#sentKey, this.sentTurn, () => sessionStorage)
    keep(this.#returnedKey, this.returned, () => sessionStorage)
  }

  /** The key at which the browser keeps the messages. */
  get key(): string {
    return this.#key
  }

  get #queuedKey(): string {
    return `queued ${this.#key}`
  }

  get #sentKey(): string {
    return `turn of ${this.#key}`
  }

  get #returnedKey(): string {
    return `returned ${this.#key}`
  }

  /** Records that the message of a failed turn was put back: what becomes of it in the field is the user's choice. */
  hasReturned(turn: string): void {
    this.returned = turn
    keep(this.#returnedKey, turn, () => sessionStorage)
  }

  /** Records that this window has sent the message of a turn: it gets it back, if the turn fails. */
  hasSent(turn: string): void {
    this.sentTurn = turn
    keep(this.#sentKey, turn, () => sessionStorage)
    holdLock(SENDER + turn)
  }

  write(text: string): void {
    this.text.value = text
    this.refusal.value = undefined
    this.#keep()
  }

  /** Queues the message in the field, behind one that is queued already. */
  queue(): void {
    this.#set(inParagraphs(this.queued.peek(), this.text.peek()), '')
  }

  /** Takes the queued message back into the field, before what is being written there. */
  takeBack(): void {
    this.#set('', inParagraphs(this.queued.peek(), this.text.peek()))
  }

  /** Puts a message back into the field, before what is being written there, unless it begins the field already. */
  putBack(text: string): void {
    if (!this.#startsWith(text)) this.write(inParagraphs(text, this.text.peek()))
  }

  /** Whether the field has a message, alone or before another one. */
  #startsWith(text: string): boolean {
    return `${this.text.peek()}\n\n`.startsWith(`${text}\n\n`)
  }

  /**
   * Types a key into the message after `text`, the one that is to be sent. Backspace deletes from that message alone.
   */
  typeNext(text: string, key: string): void {
    const next = this.text.peek().slice(text.length).replace(/^\n\n/, '')
    this.write(inParagraphs(text, key === 'Backspace' ? next.slice(0, -1) : next + key))
  }

  /** Removes a message that is in the conversation by now, sent in another window or by Redo; a changed one stays. */
  drop(text: string): void {
    if (this.#startsWith(text)) this.write(this.text.peek().slice(text.length + 2))
  }

  beginSending(): void {
    this.isSending.value = true
    this.refusal.value = undefined
    this.#keepQueue()
  }

  /** Removes a message that was sent, in all windows. What was typed behind it meanwhile stays in the field. */
  removeSent(text: string): void {
    const now = this.text.peek()
    if (this.queued.peek() !== '') this.#set('', now)
    else if (now.startsWith(text)) this.#set('', now.slice(text.length).replace(/^\n\n/, ''))
    tellUsed(this.#key, text)
  }

  endSending(): void {
    this.isSending.value = false
    this.#keepQueue()
  }

  #set(queued: string, text: string): void {
    batch(() => {
      this.queued.value = queued
      this.text.value = text
    })
    this.#keep()
  }

  /** Keeps both messages as one text, so that neither is lost with the window. */
  #keep(): void {
    keepText(this.#key, inParagraphs(this.queued.peek(), this.text.peek()))
    this.#keepQueue()
  }

  /** Keeps the queue over a reload, but not while its message is being sent: a reload would send it again. */
  #keepQueue(): void {
    keep(this.#queuedKey, this.isSending.peek() ? '' : this.queued.peek(), () => sessionStorage)
  }

  focus(): void {
    this.isWanted.value = true
    this.focusWish.make()
  }
}

/** The name of a lock that the window which has sent a turn's message holds while it exists; the turn is appended. */
const SENDER = 'the sender of turn '

/** Whether a window which has sent a turn's message exists. */
export const isSenderThere = (turn: string): Promise<boolean> => isLocked(SENDER + turn)

const inParagraphs = (...texts: string[]): string => texts.filter(text => text !== '').join('\n\n')
