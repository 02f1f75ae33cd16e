/**
 * What is known of the server's text of an open file, and what of the shown text the server lacks. Nothing is sent or
 * shown from here: text-sync.ts does that.
 *
 * - The confirmed text is that of all edits which the server has numbered and this window has received. The shown text
 *   is the confirmed one with the unconfirmed edits on top. Where it is not, nothing that was typed may be lost: what
 *   differs counts as typed.
 * - The server writes confirmed edits to the disk within a second. One that has ended without that is started anew with
 *   an earlier text than the confirmed one, for which the earlier texts are kept (see lost-edits.ts).
 */
import { sendableUpdates } from '@codemirror/collab'
import { ChangeSet, type EditorState, Text } from '@codemirror/state'
import type { File } from '../../contract/branches.ts'
import { typedAfter } from '../../contract/concurrent-edits.ts'
import { cameFrom } from '../../contract/lost-edits.ts'
import { withoutVoidChoices } from './pending-choices.ts'
import { changesBetween, textOf } from './text-changes.ts'

export type TextFile = Extract<File, { kind: 'text' }>

/** At most this many earlier texts of the server are kept, to detect that it has lost edits. */
const MAX_EARLIER_TEXTS = 200
/** The server writes confirmed edits within a second. This is longer, in milliseconds. */
const WRITTEN_MS = 5_000

/** What was typed and not confirmed. */
interface Typed {
  /** The text that it was typed into: the server's, unless the shown text has come apart from that (`isApart`). */
  before: Text
  typed: ChangeSet
  isApart: boolean
}

/** Text that the server has not confirmed, with the texts before it, each as a change of the one before. */
export interface UnsentEdits {
  /** The oldest text. */
  start: string
  /** Changes as JSON (see ChangeSet): the last one leads to the text with all that was typed. */
  steps: unknown[]
}

export class ServerText {
  /** The server's text according to all that was received. */
  #confirmed = Text.empty
  /** The text that the server has on the disk, while it can't write newer ones there. */
  #written: Text | undefined
  /** The texts before that, the oldest first, each with the change that leads from it to the next, and when it did. */
  #earlier: { text: Text; next: ChangeSet; until: number }[] = []
  /** The run of the server that has sent the text last. */
  #run: string | undefined

  get confirmed(): Text {
    return this.#confirmed
  }

  /** Begins with the text of a file that is loaded first. */
  start(file: TextFile): void {
    this.#confirmed = textOf(file.text)
    this.#earlier = []
    this.setWritten(file)
  }

  /** Records what the server has on the disk, and in which run. */
  setWritten({ written, run }: TextFile): void {
    this.#written = written === undefined ? undefined : textOf(written)
    this.#run = run ?? this.#run
  }

  /** Whether the server was started anew since the text was sent last: it may have lost the last edits. */
  isOfOtherRun({ run }: TextFile): boolean {
    return run !== undefined && this.#run !== undefined && run !== this.#run
  }

  /** Records the server's text. `change`: how it came from the one before. */
  confirm(text: Text, change: ChangeSet): void {
    this.#earlier.push({ text: this.#confirmed, next: change, until: Date.now() })
    if (this.#earlier.length > MAX_EARLIER_TEXTS) this.#earlier.shift()
    this.#confirmed = text
  }

  /** What was typed in the shown text and not confirmed. */
  typedIn(state: EditorState): Typed {
    const { doc } = state
    const pending = sendableUpdates(state)
    const nothing = ChangeSet.empty(pending[0]?.changes.length ?? doc.length)
    const typed = pending.reduce((all, { changes }) => all.compose(changes), nothing)
    const leadsToShown = (text: Text) => text.length === typed.length && typed.apply(text).eq(doc)
    if (leadsToShown(this.#confirmed)) return { before: this.#confirmed, typed, isApart: false }
    const before = pending[0]?.origin.startState.doc ?? doc
    if (leadsToShown(before)) return { before, typed, isApart: true }
    // How it came apart is not known: all that differs counts as typed, so that nothing of it is lost.
    return { before: this.#confirmed, typed: changesBetween(this.#confirmed, doc), isApart: true }
  }

  /**
   * The change that adds to the server's text `theirs` the edits of this window that the server does not have.
   * `mayHaveLost`: whether confirmed edits may be among them, also those of other windows.
   */
  lackingIn(theirs: Text, state: EditorState, mayHaveLost: boolean): ChangeSet {
    const { doc } = state
    if (theirs.eq(doc)) return ChangeSet.empty(doc.length)
    const { before, typed, isApart } = this.typedIn(state)
    if (!isApart && this.#isOnTheWay(theirs, state)) return changesBetween(theirs, doc)
    const earlier = mayHaveLost && !isApart ? cameFrom(theirs, this.#maybeLost(), changesBetween) : undefined
    if (earlier) return typedAfter(earlier.change, changesBetween(earlier.text, doc))
    if (typed.empty) return ChangeSet.empty(theirs.length)
    const change = changesBetween(before, theirs)
    const kept = isApart ? undefined : withoutVoidChoices(sendableUpdates(state), before, change)
    return typedAfter(change, kept ?? typed)
  }

  /** Whether the server's text is the confirmed text with the first of the unconfirmed edits, one or several. */
  #isOnTheWay(theirs: Text, state: EditorState): boolean {
    let text = this.#confirmed
    for (const { changes } of sendableUpdates(state)) {
      text = changes.apply(text)
      if (text.eq(theirs)) return true
    }
    return false
  }

  /** The texts of which the server has had one when it ended, or has got one since from another window. */
  #maybeLost(): Text[] {
    const earlier = this.#maybeUnwritten().map(({ text }) => text)
    return [...(this.#written ? [this.#written] : []), ...earlier, this.#confirmed]
  }

  /** The texts of the last moments before the confirmed one: after a crash, the server has one of them. */
  #maybeUnwritten(): { text: Text; next: ChangeSet }[] {
    const last = this.#earlier.at(-1)?.until ?? 0
    return this.#earlier.filter(({ until }) => until > last - WRITTEN_MS)
  }

  /** What was typed, on top of the oldest text that the server may have after a crash. */
  unsentIn(state: EditorState): UnsentEdits {
    const { before, typed, isApart } = this.typedIn(state)
    const earlier = isApart ? [] : this.#maybeUnwritten()
    const start = earlier[0]?.text ?? before
    const steps = [...earlier.map(({ next }) => next), typed]
    return { start: start.toString(), steps: steps.map(step => step.toJSON()) }
  }
}
