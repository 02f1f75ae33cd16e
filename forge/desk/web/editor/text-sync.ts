/**
 * Keeps the text of an open file in step with the server. Edits are sent as they are typed, with the protocol of
 * @codemirror/collab: the server numbers them, and each window applies them in that order.
 *
 * - Edits are kept until the server confirms them by sending them back. At most one message is on its way.
 * - Where this window and the server may have different texts (after a break of the connection, after an edit that does
 *   not fit, or where the news of accepted edits is late), the file is loaded again. Its text is adopted: what the
 *   server lacks of the unconfirmed edits (see server-text.ts) is put on top of it, and sent.
 * - Edits that are refused stay in the text, and are sent again when something changes. A single edit that can never be
 *   accepted is taken out into a box.
 * - What is typed after a save was asked for is sent only when that save has ended: the server saves all that it has.
 * - What the server changes is not in the history of undo, and ends it where it touches what was typed.
 */
import { collab, getClientID, getSyncedVersion, receiveUpdates, sendableUpdates } from '@codemirror/collab'
import { ChangeSet, EditorSelection, type EditorState, type Extension, type Text, Transaction } from '@codemirror/state'
import type { Signal } from '@preact/signals'
import type { Edit } from '../../contract/branches.ts'
import { afterTyped, DESK_CLIENT, insertsBehindLastLine, typedAfter } from '../../contract/concurrent-edits.ts'
import { insertedBy } from '../../contract/editable-text.ts'
import { baseName, named } from '../ui/names.ts'
import { type Connection, Disconnected } from '../ui/socket.ts'
import type { Composition } from './composition.ts'
import type { Adjustable } from './editor.ts'
import type { FileConflicts } from './file-conflicts.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'
import { withoutVoidChoices } from './pending-choices.ts'
import { refuse } from './refused-text.ts'
import { ServerText, type TextFile, type UnsentEdits } from './server-text.ts'
import { withSteadyCursor } from './steady-cursor.ts'
import { changesBetween, textOf } from './text-changes.ts'
import type { UndoEnds } from './undo-ends.ts'

type Update = { clientID: string; changes: ChangeSet }

/** Time to wait for the news of an accepted edit before the file is loaded again, in milliseconds. */
const TELL_TIMEOUT_MS = 2_000
/** Delay before refused edits and those typed since are sent again, in milliseconds. */
const SEND_AGAIN_MS = 2_000
/** At most this many characters in the edits of one message; a single edit may have more. */
const MAX_CHARACTERS_SENT = 1 << 20

/** Typed text did not reach the server; the message says why. */
class NotSent extends Error {}

/** The file whose text it is. */
interface SyncedFile extends FilePath {
  /** Why edits can't be kept at the moment. */
  readonly problem: Signal<string | undefined>
  /** Loads the file again. */
  ask: () => Promise<void>
}

interface SyncOwner {
  connection: Connection
  file: SyncedFile
  views: Pick<FileViews, 'state' | 'all' | 'dispatch'>
  adjustable: Adjustable
  composition: Composition
  undo: UndoEnds
  conflicts: Pick<FileConflicts, 'areShown' | 'lookForMarkers'>
  /** Called when text was typed that the server does not have yet, and when it has all of it. */
  onTyped: () => void
}

export class TextSync {
  readonly #owner: SyncOwner
  readonly #server = new ServerText()
  #isSending = false
  /** The server refused the edits: nothing is sent until something changes. */
  #isRefused = false
  /** The file was loaded again since the server has another text than the edits are for, and has taken none since. */
  #isLoadedAgain = false
  /** The server refused one of the edits in a message: the edits are then sent one by one, to find out which. */
  #isOneByOne = false
  /** Whether the collaboration extension is being replaced: then no edits are sent. */
  #isAdopting = false
  /** Whether edits that the server may have lost when it ended are sent again, and are not confirmed yet. */
  #isCatchingUp = false
  /** The version of the text after all edits that the server has accepted; news of them may still be on its way. */
  #awaited = 0
  #waiting: { resolve: () => void; reject?: (why: NotSent) => void; isOfSave?: boolean }[] = []
  /** The saves that run or wait: the last edit that belongs to each. Those behind that are sent when it has ended. */
  #saves: { last: Transaction | undefined }[] = []
  #retry: ReturnType<typeof setTimeout> | undefined
  /**
   * How often the connection had broken when the file was last opened: after a break, the server no longer knows that
   * this window has the file open.
   */
  #openedAfterBreaks = 0
  #isClosed = false

  constructor(owner: SyncOwner) {
    this.#owner = owner
  }

  get #state(): EditorState | undefined {
    return this.#owner.views.state
  }

  /** The server's text according to all that was received. */
  get confirmed(): Text {
    return this.#server.confirmed
  }

  /** Whether some edits have not reached the server. */
  get isUnsettled(): boolean {
    // A file of a commit sends nothing.
    return this.#owner.file.at.kind === 'branch' && this.#state !== undefined && sendableUpdates(this.#state).length > 0
  }

  /** Whether the connection broke since the file was opened: nothing is sent until it is opened again. */
  get isFromBeforeBreak(): boolean {
    return this.#openedAfterBreaks < this.#owner.connection.breaks
  }

  /** What has not reached the server; undefined for none. */
  get unsent(): UnsentEdits | undefined {
    return this.isUnsettled ? this.#server.unsentIn(this.#state as EditorState) : undefined
  }

  // --- Loading

  /** Records that the server has opened the file for this window. */
  opened(): void {
    this.#openedAfterBreaks = this.#owner.connection.breaks
  }

  /**
   * Called when the file is loaded: refused edits are sent again. While it is read-only, they would be refused again:
   * they are not sent, and the message stays.
   */
  loaded(isReadOnly: boolean): void {
    if (!isReadOnly || !this.#isRefused) this.#owner.file.problem.value = undefined
    this.#isRefused = this.#isRefused && isReadOnly
  }

  /** Begins with the text of a file that is loaded first. */
  start(file: TextFile): void {
    this.#server.start(file)
    this.#awaited = file.version
  }

  /** The extension of the editor by which a text is numbered from a version on. */
  collaboration(startVersion: number): Extension {
    // A new client id each time, so that edits from before a break are not confused with those after it.
    return this.#owner.file.at.kind === 'commit' ? [] : collab({ startVersion, clientID: crypto.randomUUID() })
  }

  /** Compares with the text of the file that is loaded again, and adopts that if it is another one. */
  compare(file: TextFile): void {
    const state = this.#state as EditorState
    const theirs = textOf(file.text)
    const isKnown = file.version === getSyncedVersion(state) && theirs.eq(this.#server.confirmed)
    const isAsKnown = isKnown && !this.#server.typedIn(state).isApart
    if (isAsKnown) this.#awaited = file.version
    else this.#adopt(theirs, file.version, this.#isCatchingUp || this.#server.isOfOtherRun(file))
    this.#server.setWritten(file)
  }

  /** Continues from the server's text, and adds the edits of this window that the server does not have. */
  #adopt(theirs: Text, version: number, mayHaveLost: boolean): void {
    const { undo } = this.#owner
    const state = this.#state as EditorState
    const lacking = this.#server.lackingIn(theirs, state, mayHaveLost)
    this.#isCatchingUp = mayHaveLost && !lacking.empty
    undo.endWhereTakenBack(changesBetween(state.doc, lacking.apply(theirs)))
    undo.endAtConflicts(() => undo.keepOver(() => this.#goOnFrom(theirs, version, lacking)))
  }

  /**
   * Continues from a text of the server, with a change on top that is to be sent. `selected`: the selection after that,
   * if it is known; otherwise it is found by comparing the texts.
   */
  #goOnFrom(theirs: Text, version: number, lacking: ChangeSet, selected?: EditorSelection): void {
    const { views, adjustable } = this.#owner
    const state = this.#state as EditorState
    const target = lacking.apply(theirs)
    const isSame = target.eq(state.doc)
    const unsent = sendableUpdates(state)
    const waiting = this.#saves.filter(save => unsent.some(({ origin }) => origin === save.last))
    // Where others have changed the text, what was typed before and after the mark of a save is one edit from here on.
    const { before } = this.#server.typedIn(state)
    const ends = waiting.map(({ last }) => (isSame ? textUpTo(last, before, unsent) : target))
    this.#isAdopting = true
    const selection = selected ?? (isSame ? state.selection : state.selection.map(changesBetween(state.doc, target)))
    views.dispatch({ effects: adjustable.collaboration.reconfigure([]) })
    if (!theirs.eq(state.doc)) {
      views.dispatch({
        changes: changesBetween(state.doc, theirs),
        annotations: [Transaction.addToHistory.of(false), Transaction.remote.of(true)],
        filter: false,
      })
    }
    const { confirmed } = this.#server
    if (!theirs.eq(confirmed)) this.#server.confirm(theirs, changesBetween(confirmed, theirs))
    this.#awaited = version
    this.#isSending = false
    views.dispatch({ effects: adjustable.collaboration.reconfigure(this.collaboration(version)) })
    this.#isAdopting = false
    const goTo = (text: Text) => {
      const { doc } = this.#state as EditorState
      if (text.eq(doc)) return
      const changes = doc.eq(theirs) && text.eq(target) ? lacking : changesBetween(doc, text)
      const annotations = Transaction.addToHistory.of(false)
      views.dispatch({ changes, selection: inside(selection, text), annotations, filter: false })
    }
    // Each save that waits gets its last edit anew. Those behind the first of them are sent when it has ended.
    const saves = this.#saves
    for (const save of saves) if (!waiting.includes(save)) save.last = undefined
    const [running] = saves
    if (running && waiting.includes(running)) this.#saves = []
    for (const [at, save] of waiting.entries()) {
      goTo(ends[at] ?? target)
      save.last = this.#lastEdit
      this.#saves = saves
    }
    goTo(target)
  }

  // --- Receiving

  /** Applies edits numbered by the server, this window's among them. The first leads from `version` to the next one. */
  receive(version: number, edits: Edit[]): void {
    const { file, views, composition, conflicts } = this.#owner
    const { state } = views
    if (!state) return
    const known = getSyncedVersion(state) - version
    if (known < 0) {
      file.ask()
      return
    }
    if (known >= edits.length) return
    const own = getClientID(state)
    const isOthers = edits.slice(known).some(({ client }) => client !== own)
    // Another window may send again what this one does, too: what is still lacking is found out anew.
    if (isOthers && this.#isCatchingUp) {
      file.ask()
      return
    }
    if (isOthers && composition.isHeldBack('text', () => file.ask())) return
    const before = state.doc
    try {
      const updates = edits.slice(known).map(({ client, changes }) => {
        return { clientID: client, changes: ChangeSet.fromJSON(changes) }
      })
      withSteadyCursor(isOthers ? views.all : [], () => {
        if (!isOthers || !this.isUnsettled) this.#takeUpdates(updates)
        else
          for (const update of updates)
            if (update.clientID === own || !this.#takeBesideTyped(update.changes)) this.#takeUpdates([update])
      })
      if (isOthers) conflicts.lookForMarkers(before)
    } catch {
      // The edits do not fit this text: the file is loaded again.
      file.ask()
      return
    }
    this.push()
  }

  #takeUpdates(updates: readonly Update[]): void {
    const { views, undo, conflicts } = this.#owner
    for (const { changes } of updates) this.#server.confirm(changes.apply(this.#server.confirmed), changes)
    // One by one where there are conflicts: another window may have opened one and resolved it again.
    const isOfDesk = updates.some(({ clientID }) => clientID === DESK_CLIENT)
    const steps = !conflicts.areShown && !isOfDesk ? [updates] : updates.map(update => [update])
    for (const step of steps)
      undo.endAtConflicts(() => {
        const receive = () => receiveUpdates(this.#state as EditorState, step)
        if (isOfDesk) undo.endWhereTakenBack(receive().changes)
        views.dispatch(receive())
      })
  }

  /**
   * Applies a change that can't just be moved onto what was typed meanwhile, and returns whether it is one: lines
   * inserted behind the last line, which has no line end, so that what was typed stays before them; or the resolution
   * of a conflict for which another side was chosen here, whose choice is left out.
   */
  #takeBesideTyped(changes: ChangeSet): boolean {
    const { undo } = this.#owner
    const state = this.#state as EditorState
    const { confirmed } = this.#server
    const theirs = changes.apply(confirmed)
    const version = getSyncedVersion(state) + 1
    const kept = withoutVoidChoices(sendableUpdates(state), confirmed, changes)
    if (kept) {
      this.#goOnFrom(theirs, version, typedAfter(changes, kept))
      // The undo of the choice would insert its markers again.
      undo.endHere()
      return true
    }
    if (!insertsBehindLastLine(changes)) return false
    const { typed } = this.#server.typedIn(state)
    const selection = state.selection.map(afterTyped(changes, typed))
    undo.endAtConflicts(() => this.#goOnFrom(theirs, version, typedAfter(changes, typed), selection))
    return true
  }

  // --- Sending

  /** After an edit: sends it at once, or after a delay together with refused ones. */
  typed(): void {
    const { file, onTyped } = this.#owner
    if (file.at.kind === 'branch' && !this.#isAdopting && this.isUnsettled) onTyped()
    if (!this.#isRefused || !this.isUnsettled) this.push()
    else this.#later(SEND_AGAIN_MS, () => this.sendAgain())
  }

  /** Sends the edits that can be sent now, and repeats that until the server has all of them. */
  async push(): Promise<void> {
    const { connection, file, onTyped } = this.#owner
    const { at, path } = file
    const state = this.#state
    if (at.kind === 'commit' || !state || this.#isClosed || this.#isAdopting) return
    const pending = sendableUpdates(state)
    if (pending.length === 0) {
      this.#isOneByOne = false
      this.#isCatchingUp = false
      onTyped()
      for (const { resolve } of this.#waiting.splice(0)) resolve()
      return
    }
    const sendable = this.#sendable
    if (sendable.length === 0) {
      for (const { resolve, isOfSave } of this.#waiting) if (isOfSave) resolve()
      this.#waiting = this.#waiting.filter(({ isOfSave }) => !isOfSave)
      return
    }
    const version = getSyncedVersion(state)
    const isWaiting = this.#isSending || this.#isRefused || this.isFromBeforeBreak || version < this.#awaited
    if (isWaiting || !connection.isUp.peek()) return
    const edits = this.#isOneByOne ? sendable.slice(0, 1) : fitting(sendable)
    this.#isSending = true
    try {
      const { accepted, refused, isOfOtherText } = await connection.ask('edit', {
        branch: at.branch,
        path,
        version,
        edits: edits.map(({ clientID, changes }) => ({ client: clientID, changes: changes.toJSON() })),
      })
      file.problem.value = undefined
      this.#isSending = false
      if (isOfOtherText) {
        await this.#loadAgain(refused ?? '')
        return
      }
      this.#isLoadedAgain = false
      if (refused === undefined) {
        // The server will send these edits back as news; if it has not accepted them yet, first those of other windows.
        this.#awaited = Math.max(this.#awaited, version + (accepted ? edits.length : 1))
        this.#askLater()
      } else if (edits.length === 1) this.#takeOut(refused)
      else this.#isOneByOne = true
    } catch (error) {
      this.#isSending = false
      // Not reported: after a break the file is loaded on reconnecting, and after a rename the edits are sent again.
      const isUnderOldName = path !== file.path || at !== file.at
      if (!(error instanceof Disconnected || isUnderOldName)) this.refuse((error as Error).message)
    }
    this.push()
  }

  /**
   * Loads the file since the server has another text than this window: what was typed is moved onto that, and sent.
   * If that was of no use, the edits count as refused.
   */
  async #loadAgain(why: string): Promise<void> {
    if (this.#isLoadedAgain) {
      this.refuse(why)
      return
    }
    this.#isLoadedAgain = true
    await this.#owner.file.ask()
  }

  /**
   * Loads the file again if the server's news does not come in time; edits that the server lacks are then sent again.
   */
  #askLater(): void {
    const { connection, file } = this.#owner
    this.#forgetLater()
    this.#later(TELL_TIMEOUT_MS, () => {
      if (this.isUnsettled && connection.isUp.peek()) file.ask()
    })
  }

  #forgetLater(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  /** Schedules an action, unless one is scheduled already. */
  #later(milliseconds: number, run: () => void): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      if (!this.#isClosed) run()
    }, milliseconds)
  }

  // --- Refusals

  /** Records that edits are refused now, for example because an AI works in the branch. */
  refuse(why: string): void {
    const { file } = this.#owner
    this.#isRefused = true
    file.problem.value = why
    this.#forgetLater()
    const name = named(baseName(file.path))
    const error = new NotSent(`What was typed last in ${name} was not accepted by the desk. ${why}`)
    for (const { reject } of this.#waiting) reject?.(error)
    this.#waiting = this.#waiting.filter(({ reject }) => !reject)
  }

  /** Takes the first unsent edit, which can't be accepted, out of the text and into a box at its position. */
  #takeOut(why: string): void {
    const { views, composition } = this.#owner
    if (composition.isHeldBack('refusal', () => this.sendAgain())) {
      this.#isRefused = true
      return
    }
    const state = this.#state as EditorState
    const [first, ...rest] = sendableUpdates(state)
    if (!first) return
    // The edits after the refused one stay; their positions are changed to those without the refused text.
    const { confirmed } = this.#server
    let undoing = first.changes.invert(confirmed)
    let others = ChangeSet.empty(confirmed.length)
    for (const { changes } of rest) {
      others = others.compose(changes.map(undoing))
      undoing = undoing.map(changes, true)
    }
    let at = 0
    first.changes.iterChangedRanges(from => {
      at = from
    })
    const refused = { at: others.mapPos(at, 1), text: insertedBy(first.changes), why, isTakenOut: true }
    this.#goOnFrom(confirmed, getSyncedVersion(state), others)
    views.dispatch({ effects: refuse.of(refused) })
  }

  /** Sends refused edits again, on request or because something has changed. */
  sendAgain(): void {
    const couldNotOpen = this.#isRefused && this.isFromBeforeBreak
    this.#isRefused = false
    if (couldNotOpen) this.#owner.file.ask()
    else this.push()
  }

  // --- Waiting for the server, and saves

  /** Resolves when the server has all edits, however often it refuses them before. */
  async sent(): Promise<void> {
    if (this.isUnsettled) await new Promise<void>(resolve => this.#waiting.push({ resolve }))
  }

  /**
   * Sends all edits, or those that belong to a save which was begun (`isOfSave`), refused ones once more. Resolves when
   * the server has them. Rejects with {@link NotSent} if it refuses some.
   */
  settled(isOfSave: boolean): Promise<void> {
    if (!this.isUnsettled || (isOfSave && this.#sendable.length === 0)) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ resolve, reject, isOfSave })
    this.sendAgain()
    return promise
  }

  /**
   * Begins a save of the current text. Later edits are sent only after the save, or the server would save them, too.
   * The returned function ends the save.
   */
  markForSave(): () => void {
    const mark = { last: this.#lastEdit }
    this.#saves.push(mark)
    return () => {
      this.#saves.splice(this.#saves.indexOf(mark), 1)
      this.push()
    }
  }

  get #lastEdit(): Transaction | undefined {
    return this.isUnsettled ? sendableUpdates(this.#state as EditorState).at(-1)?.origin : undefined
  }

  /** The edits to send now: while a save runs, only those that belong to it. */
  get #sendable(): ReturnType<typeof sendableUpdates> {
    const pending = sendableUpdates(this.#state as EditorState)
    const [save] = this.#saves
    return save ? pending.slice(0, pending.findIndex(({ origin }) => origin === save.last) + 1) : pending
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
  }
}

/** The first edits, as many as fit in one message. */
function fitting<Edit extends { changes: ChangeSet }>(edits: readonly Edit[]): readonly Edit[] {
  let characters = 0
  const end = edits.findIndex(({ changes }, index) => {
    characters += insertedBy(changes).length
    return index > 0 && characters > MAX_CHARACTERS_SENT
  })
  return end < 0 ? edits : edits.slice(0, end)
}

/** The text `before` with the edits up to one of them. */
function textUpTo(last: Transaction | undefined, before: Text, edits: ReturnType<typeof sendableUpdates>): Text {
  const upToLast = edits.slice(0, edits.findIndex(({ origin }) => origin === last) + 1)
  return upToLast.reduce((text, { changes }) => changes.apply(text), before)
}

function inside(selection: EditorSelection, text: Text): EditorSelection {
  const ranges = selection.ranges.map(({ anchor, head }) => {
    return EditorSelection.range(Math.min(anchor, text.length), Math.min(head, text.length))
  })
  return EditorSelection.create(ranges, selection.mainIndex)
}
