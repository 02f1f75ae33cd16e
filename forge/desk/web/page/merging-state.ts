/** A merge, rebase or cherry-pick that waits in a branch for its conflicts to be resolved. */
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import * as v from 'valibot'
import type { ConflictFile, Merging } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import { FocusWish } from '../ui/focus.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'
import { keepText, keptText, parsedAs } from './kept.ts'
import { mergedMessage } from './merged-messages.ts'
import { textKey } from './texts-of-places.ts'

/** Delay after a change before the state is loaded again, in milliseconds. */
const ASK_AFTER_MS = 120
/** The time from one sending of the message to the next while it is typed, in milliseconds. */
const SEND_AFTER_MS = 300

/** What the browser keeps of a message: the merged commit that it is for, and the message that it was made of. */
const Kept = v.object({ theirs: v.string(), before: v.string(), message: v.string() })
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
   * its draft is in conflict.
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
    return this.#branch === undefined ? null : await this.#connection.ask('merging', { branch: this.#branch })
  }

  /** Follows the branch to its new name. `place`: as in the constructor. */
  moveTo(at: At, place: string): void {
    this.#branch = branchIn(at)
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
    const kept: Kept = { theirs: this.#theirs, before: this.#before, message: this.#message.peek() ?? '' }
    keepText(this.#messageKey, this.#isUnsent ? JSON.stringify(kept) : '')
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
      const [branch, theirs, before, message] = [this.#branch, this.#theirs, this.#before, this.#message.peek()]
      if (message === undefined || !this.#isUnsent || branch === undefined || theirs === '') return
      const { message: kept } = await this.#connection.ask('keep merging message', { branch, theirs, before, message })
      const typed = this.#message.peek()
      // Another commit is merged by now, or the message was used.
      if (kept === undefined || typed === undefined || theirs !== this.#theirs) return
      if (kept !== message) {
        this.#mergeMessage(kept, typed)
        continue
      }
      this.#before = kept
      // What was typed meanwhile is sent soon.
      this.#isUnsent = typed !== kept
      this.#keepMessage()
      return
    }
  }

  /** Merges what was typed here with what another window has made of the same message. */
  #mergeMessage(theirs: string, typed: string): void {
    const { text, hasBoth } = mergedMessage(this.#before, theirs, typed)
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
    const ofDrafts = merging?.files.flatMap(({ path, isOfDraft }) => (isOfDraft ? [path] : [])) ?? []
    const step = merging ? JSON.stringify([merging.oursCommit, merging.theirsCommit, ...ofDrafts]) : ''
    if (step !== this.#step) {
      this.#step = step
      this.files.value = new Map()
    }
    // A message is that of one merged commit, also when the merge is made anew.
    if (merging && merging.theirsCommit !== this.#theirs) {
      this.#theirs = merging.theirsCommit
      const kept = parsedAs(Kept, keptText(this.#messageKey))
      const own = kept?.theirs === this.#theirs ? kept : undefined
      this.#before = own?.before ?? merging.message
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
      if (step === this.#step) this.files.value = new Map(this.files.peek()).set(path, file)
    } catch (error) {
      this.problem.value = (error as Error).message
    }
  }
}

const branchIn = (at: At): string | undefined => (at.kind === 'branch' ? at.branch : undefined)
