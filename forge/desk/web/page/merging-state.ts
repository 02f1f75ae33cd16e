/** A merge, rebase or cherry-pick that waits in a branch for its conflicts to be resolved. */
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import * as v from 'valibot'
import type { ConflictFile, Merging, MergingFile } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import { FocusWish } from '../ui/focus.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'
import { isOfOtherWindow, keepText, keptText, parsedAs } from './kept.ts'
import { mergedMessage } from './merged-messages.ts'
import { textKey } from './texts-of-places.ts'
import { holdLock, isLocked } from './window-locks.ts'

/** Delay after a change before the state is loaded again, in milliseconds. */
const ASK_AFTER_MS = 120
/** The time from one sending of the message to the next while it is typed, in milliseconds. */
const SEND_AFTER_MS = 300

/**
 * What the browser keeps of a message: the merged commit that it is for, the message that it was made of, and the one
 * that was sent last without an answer.
 */
const Kept = v.object({ theirs: v.string(), before: v.string(), sent: v.optional(v.string()), message: v.string() })
type Kept = v.InferOutput<typeof Kept>

/** The merge that waits in a tab's branch; the value is null if none does. */
export class MergingState extends ServerValue<Merging | null> {
  /** The sides of the files in conflict loaded so far. */
  readonly files = signal<ReadonlyMap<string, ConflictFile>>(new Map())
  readonly #message = signal<string | undefined>(undefined)
  #messageKey: string
  /** The last message of the server that this window knows: {@link message} is an edited version of it. */
  #before = ''
  /** Whether the server may not have {@link message} yet: no other one replaces it here until then. */
  #isUnsent = false
  /** The message that was sent last, until it is answered: the server may have it. */
  #sent: string | undefined
  /** What the browser had kept of the message when the merge was loaded first. */
  #kept: Kept | undefined
  /** Releases the lock by which other windows know that this one has an unsent message. */
  #release: (() => void) | undefined
  #sendTimer: ReturnType<typeof setTimeout> | undefined
  /** Resolves when the message that is being sent has arrived, with all that was typed by then. */
  #sending: Promise<void> | undefined
  /** Whether the side bar shows the explorer (true) or the conflicts (false); undefined: the default. */
  readonly showsExplorer = signal<boolean | undefined>(undefined)
  /** Whether Finish or Abort is running. */
  readonly isEnding = signal(false)
  /** What comes after the merge, as a button of its last notice: the push for which it was pulled. */
  next: { words: string; run: () => void } | undefined

  /** The file being opened in which to go to a conflict next: forwards from the cursor (1) or backwards (-1). */
  goingTo: { path: string; by: 1 | -1 } | undefined
  /** Requests the focus for the conflict of {@link goingTo}. */
  readonly focusWish = new FocusWish()
  /** The file of which a version was chosen by key: the way to change it has the focus next. */
  choseAt: string | undefined

  readonly #connection: Connection
  readonly #say: (words: string) => void
  #branch: string | undefined
  /**
   * What the loaded sides of conflicts belong to: a merge at another commit has other sides, and so has a file while
   * its draft is in conflict, and when that becomes another conflict, as by an undo.
   */
  #step = ''
  /** The commit that is merged. */
  #theirs = ''

  /** `place`: a key that identifies the branch or commit, and its repository. `say`: shows news. */
  constructor(connection: Connection, at: At, place: string, say: (words: string) => void) {
    super(() => this.#askNow(), { delayMs: ASK_AFTER_MS })
    this.#connection = connection
    this.#say = say
    this.#branch = branchIn(at)
    this.#messageKey = textKey('message of a merge in', place)
  }

  async #askNow(): Promise<Merging | null> {
    if (this.#branch === undefined) return null
    const merging = await this.#connection.ask('merging', { branch: this.#branch })
    if (merging && merging.theirsCommit !== this.#theirs) this.#kept = await this.#findKept()
    return merging
  }

  /** The message that the browser keeps. That of another window which exists is left to it: it sends what it has. */
  async #findKept(): Promise<Kept | undefined> {
    const isOfOther = isOfOtherWindow(this.#messageKey)
    // Read before it is asked for the lock, which a window takes with the first key.
    const text = keptText(this.#messageKey)
    return isOfOther && (await isLocked(this.#messageKey)) ? undefined : parsedAs(Kept, text)
  }

  /** Follows the branch to its new name. `place`: as in the constructor. */
  moveTo(at: At, place: string): void {
    this.#branch = branchIn(at)
    this.#releaseLock()
    this.#messageKey = textKey('message of a merge in', place)
    // An answer about the old name could be that no merge waits there.
    this.stop()
    this.touch()
    const message = this.#message.peek()
    if (this.#isUnsent && message !== undefined) this.writeMessage(message)
  }

  /** The commit message that was typed in this window; undefined: that of the server is shown. */
  get message(): ReadonlySignal<string | undefined> {
    return this.#message
  }

  /** Changes the message, and sends it soon. Until the server has it, the browser keeps it. */
  writeMessage(message: string | undefined): void {
    this.#message.value = message
    this.#isUnsent = message !== undefined
    if (message === undefined) this.#sent = undefined
    this.#keepMessage()
    if (message === undefined) return
    // Does not wait for a pause in typing: another window may finish the merge meanwhile.
    this.#sendTimer ??= setTimeout(() => {
      this.#sendTimer = undefined
      // What can't be sent stays in the browser, and is sent again with the next key, after a reload and with Finish.
      this.sendMessage().catch(() => {})
    }, SEND_AFTER_MS)
  }

  /** Keeps the message in the browser while the server may not have it. */
  #keepMessage(): void {
    const [theirs, before, sent] = [this.#theirs, this.#before, this.#sent]
    const message = this.#message.peek() ?? ''
    const kept: Kept = { theirs, before, message, ...(sent !== undefined && { sent }) }
    keepText(this.#messageKey, this.#isUnsent ? JSON.stringify(kept) : '')
    if (this.#isUnsent) this.#release ??= holdLock(this.#messageKey)
    else this.#releaseLock()
  }

  #releaseLock(): void {
    this.#release?.()
    this.#release = undefined
  }

  /**
   * Resolves when the server has what is typed by now, merged with what other windows have made of the message. Throws
   * if it can't be sent.
   */
  async sendMessage(): Promise<void> {
    // One at a time: the next one is made of what the server has then.
    while (this.#sending) await this.#sending.catch(() => {})
    this.#sending = this.#sendUntilKept().finally(() => {
      this.#sending = undefined
    })
    await this.#sending
  }

  async #sendUntilKept(): Promise<void> {
    for (;;) {
      const [branch, theirs, before, wanted] = [this.#branch, this.#theirs, this.#before, this.#message.peek()]
      if (wanted === undefined || !this.#isUnsent || branch === undefined || theirs === '') return
      // A message whose answer was lost is sent again first: what was typed since may be made of it, or of `before`.
      const message = this.#sent ?? wanted
      this.#sent = message
      this.#keepMessage()
      const { message: kept } = await this.#connection.ask('keep merging message', { branch, theirs, before, message })
      const typed = this.#message.peek()
      // Another commit is merged by now, or the message was used.
      if (theirs !== this.#theirs) return
      this.#sent = undefined
      if (kept === undefined || typed === undefined) return
      if (kept !== message) {
        this.#mergeMessage(kept, message, typed)
        continue
      }
      this.#before = kept
      this.#isUnsent = typed !== kept
      this.#keepMessage()
      // What was typed meanwhile is sent soon.
      if (message === wanted) return
    }
  }

  /** Merges what was typed here with what another window has made of the same message, or of the one that was sent. */
  #mergeMessage(theirs: string, sent: string, typed: string): void {
    const hasSent = mergedMessage(this.#before, theirs, sent).text === theirs
    const { text, hasBoth } = mergedMessage(hasSent ? sent : this.#before, theirs, typed)
    this.#before = theirs
    this.#message.value = text
    this.#keepMessage()
    if (hasBoth) this.#say('Another window changed the same lines of the commit message: it has the lines of both now')
  }

  /** Goes to the first (1) or last (-1) conflict of a file once the editor shows it. A click elsewhere cancels this. */
  goTo(path: string, by: 1 | -1): void {
    this.goingTo = { path, by }
    this.focusWish.make()
  }

  /**
   * Whether the focus is requested for a conflict of a file that is not drawn yet. The text is not focused meanwhile,
   * since it would take the key that chooses a side as typed.
   */
  isGoingTo(path: string | undefined): boolean {
    return path !== undefined && this.goingTo?.path === path && this.focusWish.isOpen
  }

  /** The merge that waits, as soon as the server has answered; null if there is none. */
  async known(): Promise<Merging | null> {
    const { promise, resolve } = Promise.withResolvers<Merging | null>()
    const stop = effect(() => {
      const { value } = this.latest
      if (value !== undefined) resolve(value)
    })
    try {
      return await promise
    } finally {
      stop()
    }
  }

  /** Called when the branch has no waiting merge: forgets the message of one that another program has aborted. */
  forgetMessage(): void {
    if (this.latest.peek()) return
    this.#theirs = ''
    if (this.#message.peek() !== undefined || keptText(this.#messageKey) !== '') this.writeMessage(undefined)
  }

  protected override take(merging: Merging | null): void {
    const isOfDraft = (file: MergingFile) => file.isOfDraft || file.marked !== undefined
    const ofDrafts = merging?.files.filter(isOfDraft).map(({ path, marked }) => [path, marked]) ?? []
    const step = merging ? JSON.stringify([merging.oursCommit, merging.theirsCommit, ...ofDrafts]) : ''
    if (step !== this.#step) {
      this.#step = step
      this.files.value = new Map()
    }
    // A message is that of one merged commit, also when the merge is made anew.
    if (merging && merging.theirsCommit !== this.#theirs) {
      this.#theirs = merging.theirsCommit
      const own = this.#kept?.theirs === this.#theirs ? this.#kept : undefined
      this.#before = own?.before ?? merging.message
      this.#sent = own?.sent
      this.writeMessage(own?.message)
    } else if (merging && !this.#isUnsent && merging.message !== this.#message.peek()) {
      this.#before = merging.message
      this.#message.value = undefined
    }
    super.take(merging)
    if (merging) return
    this.next = undefined
    this.forgetMessage()
  }

  /** Loads the sides of a file in conflict. */
  async askFor(path: string): Promise<void> {
    const step = this.#step
    if (this.#branch === undefined || this.files.peek().has(path)) return
    try {
      const file = await this.#connection.ask('conflict', { branch: this.#branch, path })
      // The conflict has become another one meanwhile.
      if (step !== this.#step) return await this.askFor(path)
      this.files.value = new Map(this.files.peek()).set(path, file)
    } catch (error) {
      this.problem.value = (error as Error).message
    }
  }
}

const branchIn = (at: At): string | undefined => (at.kind === 'branch' ? at.branch : undefined)
