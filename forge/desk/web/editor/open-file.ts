/**
 * An open file. What is typed goes to the server as it is typed, by the protocol of @codemirror/collab: edits are
 * numbered by the server, each window applies all of them in that order. Nothing typed is forgotten before the server
 * has confirmed it: after a break, or when the server has another text altogether, what it lacks is sent again.
 */
import { collab, getSyncedVersion, receiveUpdates, sendableUpdates } from '@codemirror/collab'
import { diff } from '@codemirror/merge'
import {
  ChangeSet,
  EditorSelection,
  EditorState,
  type Extension,
  type StateEffect,
  Text,
  Transaction,
  type TransactionSpec,
} from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect, type Signal, signal } from '@preact/signals'
import type { Edit, File } from '../../contract/branches.ts'
import { type Form, insertedBy } from '../../contract/editable-text.ts'
import type { Blame, BlamedCommit } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import { loadLanguage, MAX_COLOURED_LENGTH } from '../ui/languages.ts'
import { baseName, named } from '../ui/names.ts'
import type { Connection } from '../ui/socket.ts'
import { Disconnected } from '../ui/socket.ts'
import { blameGutter, commitOfLine, type LineCommits, lineCommits } from './blame-gutter.ts'
import { type ChangedLines, countsOf, isDifferent, nextChange, setSaved } from './change-marks.ts'
import { type ConflictsOfFile, conflictsOf, lineInFile, moveToConflict } from './conflict-editor.ts'
import { Adjustable, editorExtensions, indentationOf, NOT_WRAPPED } from './editor.ts'
import { byteForm, refuse, refusedTextOf } from './refused-text.ts'
import { type CodeSymbol, symbolsAt, symbolsOf } from './symbols.ts'

type TextFile = Extract<File, { kind: 'text' }>

/** Texts that the server had, which are remembered to know which of its edits it has lost. */
const MAX_EARLIER_TEXTS = 200
/** Milliseconds after which the file is asked for, where the server has not told an edit that it accepted. */
const TELL_TIMEOUT_MS = 2_000
/** Milliseconds after which what was typed since the server refused it is sent, together with that. */
const SEND_AGAIN_MS = 2_000
/** Characters in the edits of one message; a single edit may have more. */
const MAX_CHARACTERS_SENT = 1 << 20

/** Something typed is not with the server, and why. */
export class NotSent extends Error {}

export interface Cursor {
  /** In the file: of a conflict that is left above it, only the lines of our side count. */
  line: number
  column: number
}

export interface EditorChoices {
  nonce: string
  isWrapped: Signal<boolean>
}

export class OpenFile {
  readonly at: At
  #path: string
  /** What the server said is there; its text is only what it was when it was opened. */
  readonly file = signal<File | undefined>(undefined)
  /** Why it could not be opened, or why what is typed can't be kept at the moment. */
  readonly problem = signal<string | undefined>(undefined)
  readonly counts = signal<ChangedLines>({ added: 0, deleted: 0 })
  /** Whether the text is another one than in the last commit. */
  readonly isDraft = signal(false)
  readonly cursor = signal<Cursor>({ line: 1, column: 1 })
  /** The functions, classes or headings that the cursor is in, the outermost first. */
  readonly symbols = signal<CodeSymbol[]>([])
  /** The commit of the cursor's line while the file is blamed; undefined for one that is not saved, null where it is not. */
  readonly blamed = signal<BlamedCommit | undefined | null>(null)
  /** In a branch that is merging: the conflicts of the file, what is left of them and what is settled. */
  readonly conflicts = signal<ConflictsOfFile>({ open: [], settled: [], strays: [], all: 0 })
  /** Where the window was scrolled to, in pixels. */
  top: number
  state: EditorState | undefined
  /** What was typed while it was being opened. */
  #early = ''

  readonly #connection: Connection
  readonly #choices: EditorChoices
  readonly #adjustable = new Adjustable()
  readonly #firstCursor: number
  #conflictWanted: 1 | -1 | undefined
  #blame: LineCommits | undefined
  #view: EditorView | undefined
  /** The text as the server has it, by all that is known, and what it was before that. */
  #confirmed = Text.empty
  #earlier: Text[] = []
  #isSending = false
  /** The server has refused what is typed, as it is: nothing is sent before something is different. */
  #isRefused = false
  /** An edit among those of the last message was refused: which one, is found out by sending them one by one. */
  #isOneByOne = false
  /** The collaboration is taken out and put in again: nothing is sent meanwhile. */
  #isAdopting = false
  /** The version that the edits under way lead to, once the server has accepted them. */
  #awaited = 0
  #waiting: { resolve: () => void; reject?: (why: NotSent) => void }[] = []
  #form: Form | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  /** How often the connection had broken when the file was opened last: the server forgets what a window has open. */
  #openedAfterBreaks = 0
  #isClosed = false
  #isLocked = false
  /** What else the editor shows, and what it is known by. */
  #more: { key: string; extension: Extension } = { key: '', extension: [] }

  constructor(
    connection: Connection,
    choices: EditorChoices,
    at: At,
    path: string,
    position: { top: number; cursor: number },
  ) {
    this.top = position.top
    this.#firstCursor = position.cursor
    this.#connection = connection
    this.#choices = choices
    this.at = at
    this.#path = path
  }

  get path(): string {
    return this.#path
  }

  /** It has another name, and is open under that. `isAfterBreak`: it is asked for before anything is sent. */
  moveTo(path: string, isAfterBreak: boolean): void {
    this.#path = path
    if (!isAfterBreak) this.sendAgain()
    if (this.state && this.state.doc.length < MAX_COLOURED_LENGTH) this.#colour()
  }

  /**
   * Asks for the file: at first, and when its branch has another commit. After a break the server may have lost what
   * it had confirmed.
   */
  async ask(isAfterBreak = false): Promise<void> {
    try {
      const file = await this.#connection.ask('open', { at: this.at, path: this.path })
      if (this.#isClosed) return
      this.#openedAfterBreaks = this.#connection.breaks
      this.take(file, isAfterBreak)
    } catch (error) {
      if (error instanceof Disconnected) return
      const why = String((error as Error).message)
      if (this.isUnsettled) this.#refused(why)
      else this.problem.value = why
    }
  }

  /** Resolves when it is there, or can't be. */
  async opened(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = effect(() => {
      if (this.file.value !== undefined || this.problem.value !== undefined) resolve()
    })
    await promise
    stop()
  }

  /** The file as the server has it now. */
  take(file: File, isAfterBreak = false): void {
    // While nobody may write to it, what was refused would be refused again.
    const isHeld = file.kind === 'text' && file.readOnly !== undefined
    if (!isHeld || !this.#isRefused) this.problem.value = undefined
    this.#isRefused = this.#isRefused && isHeld
    if (file.kind !== 'text') this.state = undefined
    else if (this.state) this.#compare(file, isAfterBreak)
    else this.#start(file)
    this.file.value = file
    this.#takeEarly()
    if (file.kind === 'text') this.#say()
    else this.isDraft.value = false
    this.#push()
  }

  /** Edits that the server has numbered, our own among them: the first leads from `version` to the next. */
  receive(version: number, edits: Edit[]): void {
    if (!this.state) return
    const known = getSyncedVersion(this.state) - version
    if (known < 0) {
      this.ask()
      return
    }
    if (known >= edits.length) return
    try {
      const updates = edits.slice(known).map(({ client, changes }) => {
        return { clientID: client, changes: ChangeSet.fromJSON(changes) }
      })
      for (const { changes } of updates) this.#confirm(changes.apply(this.#confirmed))
      this.dispatch(receiveUpdates(this.state, updates))
    } catch {
      // They do not fit our text: theirs is asked for.
      this.ask()
      return
    }
    this.#push()
  }

  /**
   * Resolves when the server has all that was typed; it is sent once more where it was refused. Rejects with
   * {@link NotSent} where the server refuses it.
   */
  settled(): Promise<void> {
    if (!this.isUnsettled) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ resolve, reject })
    this.sendAgain()
    return promise
  }

  /** Resolves when the server has all that was typed, however often it refuses it before. */
  async sent(): Promise<void> {
    if (this.isUnsettled) await new Promise<void>(resolve => this.#waiting.push({ resolve }))
  }

  /** Sends what the server has refused: a person wants it, or something is different now. */
  sendAgain(): void {
    const couldNotOpen = this.#isRefused && this.isFromBeforeBreak
    this.#isRefused = false
    if (couldNotOpen) this.ask(true)
    else this.#push()
  }

  /** Whether a text that could not be taken still stands in the editor. */
  get hasRefusedText(): boolean {
    return this.state !== undefined && refusedTextOf(this.state).length > 0
  }

  /** Whether the connection broke since it was opened: nothing is sent before it is opened again. */
  get isFromBeforeBreak(): boolean {
    return this.#openedAfterBreaks < this.#connection.breaks
  }

  /** Whether something typed is not yet with the server. */
  get isUnsettled(): boolean {
    return this.state !== undefined && sendableUpdates(this.state).length > 0
  }

  dispatch(spec: TransactionSpec): void {
    if (this.#view) {
      this.#view.dispatch(spec)
      return
    }
    if (!this.state) return
    this.state = this.state.update(spec).state
    this.#say()
  }

  /** The view was made with the state of this file. */
  show(view: EditorView): void {
    this.#view = view
    this.#goToWantedConflict()
    this.#wrap(this.#choices.isWrapped.peek())
    const { top } = this
    // Where it is already.
    if (top === 0) return
    view.requestMeasure({
      read: () => {},
      write: () => {
        view.scrollDOM.scrollTop = top
      },
    })
  }

  /** A key of somebody who types on while the file is just coming. Answers whether it is kept for it. */
  typeEarly(key: string): boolean {
    if (this.state) return false
    if (key === 'Backspace' && this.#early !== '') this.#early = this.#early.slice(0, -1)
    else if (key === 'Enter') this.#early += '\n'
    else if (key.length === 1) this.#early += key
    else return false
    return true
  }

  /** What was typed early comes in where the cursor is; nothing does where nobody could type. */
  #takeEarly(): void {
    const text = this.#early
    this.#early = ''
    if (text === '' || !this.state || this.state.readOnly || this.#isLocked) return
    this.dispatch({ ...this.state.replaceSelection(text), userEvent: 'input.type', scrollIntoView: true })
  }

  hide(): void {
    this.#view = undefined
  }

  /**
   * Its view was scrolled. Where to, is asked then, and not when it goes: the browser would have to lay out what comes
   * instead of it first, and once more when all of that is there.
   */
  scrolled(): void {
    if (this.#view) this.top = Math.round(this.#view.scrollDOM.scrollTop)
  }

  focus(): void {
    this.#view?.focus()
  }

  /** Where the window is now, to be there again after a restart. */
  get position(): { top: number; cursor: number } {
    return { top: this.top, cursor: this.state?.selection.main.head ?? 0 }
  }

  /** Shows the commits beside the lines; `open` shows one of them. Undefined hides them. */
  showBlame(blame: Blame | undefined, open: (commit: BlamedCommit) => void): void {
    this.#blame = blame && lineCommits(blame)
    if (!this.state) return
    const shown = this.#blame ? blameGutter(this.#blame, open) : []
    this.dispatch({ effects: this.#adjustable.blame.reconfigure(shown) })
  }

  set isWrapped(isWrapped: boolean) {
    this.#wrap(isWrapped)
  }

  /** While an AI works in the branch, nobody else writes to its files. */
  set isLocked(isLocked: boolean) {
    this.#isLocked = isLocked
    const file = this.file.peek()
    if (!this.state || file?.kind !== 'text' || this.state.readOnly === this.#isReadOnly(file)) return
    const readOnly = EditorState.readOnly.of(this.#isReadOnly(file))
    this.dispatch({ effects: this.#adjustable.readOnly.reconfigure(readOnly) })
  }

  #isReadOnly(file: TextFile): boolean {
    return this.at.kind === 'commit' || file.readOnly !== undefined || this.#isLocked
  }

  /** Goes to a place that was found: a line, counted from one, and where in it. */
  goTo(line: number, range?: [number, number]): void {
    if (!this.state) return
    const { doc } = this.state
    const { from, length } = doc.line(Math.max(1, Math.min(line, doc.lines)))
    const [start, end] = (range ?? [0, 0]).map(at => from + Math.min(at, length)) as [number, number]
    this.dispatch({
      selection: { anchor: start, head: end },
      effects: EditorView.scrollIntoView(start, { y: 'center' }),
    })
  }

  goToPlace(at: number): void {
    if (!this.state) return
    const anchor = Math.min(at, this.state.doc.length)
    this.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
  }

  /** Shows something else in the editor: conflicts of a merge. What has the same key is there already. */
  extend(key: string, make: () => Extension): void {
    if (!this.state || key === this.#more.key) return
    this.#more = { key, extension: make() }
    this.dispatch({ effects: this.#adjustable.more.reconfigure(this.#more.extension) })
    this.#say()
    this.#goToWantedConflict()
  }

  /** Also before the editor is there, or shows conflicts: then it goes there as soon as it does. */
  goToConflict(by: 1 | -1): void {
    const view = this.#view
    const isShown = view !== undefined && conflictsOf(view.state).open.length > 0
    this.#conflictWanted = isShown ? undefined : by
    if (isShown) moveToConflict(view, by)
  }

  #goToWantedConflict(): void {
    const by = this.#conflictWanted
    // When all that comes with the editor is done: what else would give it the focus, too.
    if (by !== undefined) requestAnimationFrame(() => this.goToConflict(by))
  }

  /** All functions, classes or headings of the file. */
  allSymbols(): CodeSymbol[] {
    return this.state ? symbolsOf(this.state) : []
  }

  goToNextChange(): void {
    const change = this.state && nextChange(this.state)
    if (change) this.dispatch(change)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    if (this.#connection.isUp.peek()) this.#connection.ask('close', { at: this.at, path: this.path }).catch(() => {})
  }

  #start(file: TextFile): void {
    this.#confirmed = textOf(file.text)
    this.#form = { lineEnd: file.lineEnd, bom: file.bom }
    this.#earlier = []
    this.#awaited = file.version
    this.#more = { key: '', extension: [] }
    const isReadOnly = this.#isReadOnly(file)
    this.state = EditorState.create({
      doc: this.#confirmed,
      selection: { anchor: Math.min(this.#firstCursor, this.#confirmed.length) },
      extensions: [
        editorExtensions({
          nonce: this.#choices.nonce,
          saved: this.at.kind === 'commit' ? undefined : textOf(file.saved ?? ''),
          isReadOnly,
          isWrapped: this.#choices.isWrapped.peek(),
          form: this.at.kind === 'commit' ? undefined : this.#form,
          collaboration: this.#collaboration(file.version),
          adjustable: this.#adjustable,
        }),
        indentationOf(file.text),
        this.#adjustable.more.of(this.#more.extension),
        EditorView.updateListener.of(update => {
          this.state = update.state
          if (update.docChanged || update.selectionSet || update.transactions.length > 0) this.#say()
          if (update.docChanged) this.#typed()
        }),
      ],
    })
    if (file.text.length < MAX_COLOURED_LENGTH) this.#colour()
  }

  async #colour(): Promise<void> {
    const language = await loadLanguage(this.path)
    if (!language) this.dispatch({ effects: this.#adjustable.language.reconfigure([]) })
    else this.dispatch({ effects: this.#adjustable.language.reconfigure(language) })
  }

  #wrap(isWrapped: boolean): void {
    const { wrapping } = this.#adjustable
    const wanted = isWrapped ? EditorView.lineWrapping : NOT_WRAPPED
    if (this.state && wrapping.get(this.state) !== wanted) this.dispatch({ effects: wrapping.reconfigure(wanted) })
  }

  #collaboration(startVersion: number) {
    // A name of its own each time: edits of before a break are not taken for those of after it.
    return this.at.kind === 'commit' ? [] : collab({ startVersion, clientID: crypto.randomUUID() })
  }

  #compare(file: TextFile, isAfterBreak: boolean): void {
    const state = this.state as EditorState
    const effects: StateEffect<unknown>[] = [setSaved.of(textOf(file.saved ?? ''))]
    const isReadOnly = this.#isReadOnly(file)
    if (isReadOnly !== state.readOnly) {
      effects.push(this.#adjustable.readOnly.reconfigure(EditorState.readOnly.of(isReadOnly)))
    }
    if (this.#form && (file.lineEnd !== this.#form.lineEnd || file.bom !== this.#form.bom)) {
      this.#form = { lineEnd: file.lineEnd, bom: file.bom }
      effects.push(this.#adjustable.form.reconfigure(byteForm.of(this.#form)))
    }
    this.dispatch({ effects })
    if (this.at.kind === 'commit') return
    const theirs = textOf(file.text)
    const isAsKnown = file.version === getSyncedVersion(state) && theirs.eq(this.#confirmed)
    if (isAsKnown) this.#awaited = file.version
    else this.#adopt(theirs, file.version, isAfterBreak)
  }

  /** Goes on from the server's text, and types again on top of it what the server lacks. */
  #adopt(theirs: Text, version: number, isAfterBreak: boolean): void {
    this.#goOnFrom(theirs, version, this.#lackingIn(theirs, isAfterBreak))
  }

  /** Goes on from a text that the server has, with a change on top of it that is to be sent. */
  #goOnFrom(theirs: Text, version: number, lacking: ChangeSet): void {
    const state = this.state as EditorState
    const target = lacking.apply(theirs)
    this.#isAdopting = true
    const selection = target.eq(state.doc) ? state.selection : state.selection.map(changesBetween(state.doc, target))
    this.dispatch({ effects: this.#adjustable.collaboration.reconfigure([]) })
    if (!theirs.eq(state.doc)) {
      this.dispatch({
        changes: changesBetween(state.doc, theirs),
        annotations: [Transaction.addToHistory.of(false), Transaction.remote.of(true)],
        filter: false,
      })
    }
    this.#confirm(theirs)
    this.#awaited = version
    this.#isSending = false
    this.dispatch({ effects: this.#adjustable.collaboration.reconfigure(this.#collaboration(version)) })
    this.#isAdopting = false
    if (!lacking.empty) {
      const annotations = Transaction.addToHistory.of(false)
      this.dispatch({ changes: lacking, selection: inside(selection, target), annotations, filter: false })
    }
  }

  /** What of our text is to be done to the server's: all that was typed and is not in it. */
  #lackingIn(theirs: Text, isAfterBreak: boolean): ChangeSet {
    const { doc } = this.state as EditorState
    const pending = sendableUpdates(this.state as EditorState)
    if (theirs.eq(doc)) return ChangeSet.empty(doc.length)
    const isBehind = isAfterBreak && this.#hadBefore(theirs)
    if (isBehind || this.#isOnTheWay(theirs)) return changesBetween(theirs, doc)
    if (pending.length === 0) return ChangeSet.empty(theirs.length)
    const typed = pending.reduce((all, { changes }) => all.compose(changes), ChangeSet.empty(this.#confirmed.length))
    return typed.map(changesBetween(this.#confirmed, theirs))
  }

  /** Whether the server had this text once: then it has lost what came after it. */
  #hadBefore(theirs: Text): boolean {
    return this.#confirmed.eq(theirs) || this.#earlier.some(text => text.eq(theirs))
  }

  /** Whether the server has some of the edits that were under way. */
  #isOnTheWay(theirs: Text): boolean {
    let text = this.#confirmed
    for (const { changes } of sendableUpdates(this.state as EditorState)) {
      text = changes.apply(text)
      if (text.eq(theirs)) return true
    }
    return false
  }

  #confirm(text: Text): void {
    this.#earlier.push(this.#confirmed)
    if (this.#earlier.length > MAX_EARLIER_TEXTS) this.#earlier.shift()
    this.#confirmed = text
  }

  async #push(): Promise<void> {
    if (this.at.kind === 'commit' || !this.state || this.#isClosed || this.#isAdopting) return
    const pending = sendableUpdates(this.state)
    if (pending.length === 0) {
      this.#isOneByOne = false
      for (const { resolve } of this.#waiting.splice(0)) resolve()
      return
    }
    const version = getSyncedVersion(this.state)
    const isWaiting = this.#isSending || this.#isRefused || this.isFromBeforeBreak || version < this.#awaited
    if (isWaiting || !this.#connection.isUp.peek()) return
    const { path } = this
    const edits = this.#isOneByOne ? pending.slice(0, 1) : fitting(pending)
    this.#isSending = true
    try {
      const { accepted, refused } = await this.#connection.ask('edit', {
        branch: this.at.branch,
        path,
        version,
        edits: edits.map(({ clientID, changes }) => ({ client: clientID, changes: changes.toJSON() })),
      })
      this.problem.value = undefined
      this.#isSending = false
      if (refused === undefined) {
        // Either ours or those of others come by themselves now.
        this.#awaited = Math.max(this.#awaited, version + (accepted ? edits.length : 1))
        this.#askLater()
      } else if (edits.length === 1) this.#takeOut(refused)
      else this.#isOneByOne = true
    } catch (error) {
      this.#isSending = false
      // After a break the file is asked for when the desk is there again.
      const isUnderOldName = path !== this.path
      if (!(error instanceof Disconnected || isUnderOldName)) this.#refused((error as Error).message)
    }
    this.#push()
  }

  /** Nothing can be typed in the file now: an AI is at work in its branch, for example. */
  #refused(why: string): void {
    this.#isRefused = true
    this.problem.value = why
    this.#forgetLater()
    const name = named(baseName(this.path))
    const error = new NotSent(`What was typed last in ${name} was not accepted by the desk. ${why}`)
    for (const { reject } of this.#waiting) reject?.(error)
    this.#waiting = this.#waiting.filter(({ reject }) => !reject)
  }

  /** The first edit that was to be sent can't be in the text: it comes out of it, into a box at its place. */
  #takeOut(why: string): void {
    const state = this.state as EditorState
    const [first, ...rest] = sendableUpdates(state)
    if (!first) return
    // What was typed after the refused text stays, moved to where it stands without that text.
    let undoing = first.changes.invert(this.#confirmed)
    let others = ChangeSet.empty(this.#confirmed.length)
    for (const { changes } of rest) {
      others = others.compose(changes.map(undoing))
      undoing = undoing.map(changes, true)
    }
    let at = 0
    first.changes.iterChangedRanges(from => {
      at = from
    })
    const refused = { at: others.mapPos(at, 1), text: insertedBy(first.changes), why, isTakenOut: true }
    this.#goOnFrom(this.#confirmed, getSyncedVersion(state), others)
    this.dispatch({ effects: refuse.of(refused) })
  }

  /** A person types on: that is sent at once, or a little later with what was refused before. */
  #typed(): void {
    if (!this.#isRefused || !this.isUnsettled) this.#push()
    else this.#later(SEND_AGAIN_MS, () => this.sendAgain())
  }

  /** Where the server's word does not come, the file is asked for, and what it lacks is sent again. */
  #askLater(): void {
    this.#forgetLater()
    this.#later(TELL_TIMEOUT_MS, () => {
      if (this.isUnsettled && this.#connection.isUp.peek()) this.ask()
    })
  }

  #forgetLater(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  /** Unless something is to be done later already. */
  #later(milliseconds: number, run: () => void): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      if (!this.#isClosed) run()
    }, milliseconds)
  }

  #say(): void {
    if (!this.state) return
    const counts = countsOf(this.state)
    const before = this.counts.peek()
    if (counts.added !== before.added || counts.deleted !== before.deleted) this.counts.value = counts
    this.isDraft.value = this.at.kind === 'branch' && isDifferent(this.state)
    const { head } = this.state.selection.main
    const line = this.state.doc.lineAt(head)
    const cursor = { line: lineInFile(this.state, line.number), column: head - line.from + 1 }
    const was = this.cursor.peek()
    if (was.line !== cursor.line || was.column !== cursor.column) this.cursor.value = cursor
    this.conflicts.value = conflictsOf(this.state)
    this.blamed.value = this.#blame ? commitOfLine(this.state, this.#blame, line.number) : null
    const symbols = symbolsAt(this.state, head)
    const isSame =
      symbols.map(({ name }) => name).join('\0') ===
      this.symbols
        .peek()
        .map(({ name }) => name)
        .join('\0')
    if (!isSame) this.symbols.value = symbols
  }
}

/** As many edits, from the first on, as one message should have. */
function fitting<Edit extends { changes: ChangeSet }>(edits: readonly Edit[]): readonly Edit[] {
  let characters = 0
  const end = edits.findIndex(({ changes }, index) => {
    characters += insertedBy(changes).length
    return index > 0 && characters > MAX_CHARACTERS_SENT
  })
  return end < 0 ? edits : edits.slice(0, end)
}

function textOf(text: string): Text {
  return Text.of(text.split('\n'))
}

function changesBetween(from: Text, to: Text): ChangeSet {
  const before = from.toString()
  const after = to.toString()
  const changes = diff(before, after, { scanLimit: 500, timeout: 100 }).map(({ fromA, toA, fromB, toB }) => {
    return { from: fromA, to: toA, insert: to.slice(fromB, toB) }
  })
  return ChangeSet.of(changes, from.length)
}

function inside(selection: EditorSelection, text: Text): EditorSelection {
  const ranges = selection.ranges.map(({ anchor, head }) => {
    return EditorSelection.range(Math.min(anchor, text.length), Math.min(head, text.length))
  })
  return EditorSelection.create(ranges, selection.mainIndex)
}
