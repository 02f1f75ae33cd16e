/**
 * An open file. Edits are sent as they are typed, with the protocol of @codemirror/collab: the server numbers them, and
 * each window applies them in that order. Edits are kept until the server confirms them: after a break of the
 * connection, or if the server has lost some, they are sent again.
 */
import { collab, getClientID, getSyncedVersion, receiveUpdates, sendableUpdates } from '@codemirror/collab'
import { undoDepth } from '@codemirror/commands'
import { indentUnit } from '@codemirror/language'
import { diff } from '@codemirror/merge'
import { closeSearchPanel, searchPanelOpen } from '@codemirror/search'
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
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Edit, File } from '../../contract/branches.ts'
import { afterTyped, DESK_CLIENT, insertsBehindLastLine, typedAfter } from '../../contract/concurrent-edits.ts'
import type { Indentation } from '../../contract/desk.ts'
import { type Form, insertedBy, type LineEnd, lineEndOf } from '../../contract/editable-text.ts'
import type { Abilities, LanguageState, Problem, TextChange } from '../../contract/language.ts'
import { DRAFT_SIDE } from '../../contract/merging.ts'
import type { Blame, BlamedCommit, EditorConfig } from '../../contract/reading.ts'
import type { SettingValues } from '../../contract/settings.ts'
import type { At } from '../../contract/values.ts'
import type { FocusWish } from '../ui/focus.ts'
import {
  isColourable,
  isLanguage,
  type LanguageName,
  languageOf,
  loadNamed,
  MAX_COLOURED_LENGTH,
} from '../ui/languages.ts'
import { baseName, named } from '../ui/names.ts'
import type { Connection } from '../ui/socket.ts'
import { Disconnected } from '../ui/socket.ts'
import {
  blameGutter,
  commitOfLine,
  type LineCommits,
  lineCommits,
  numberInCommit,
  type OpenBlamed,
} from './blame-gutter.ts'
import { byLines } from './by-lines.ts'
import {
  type ChangedLines,
  countsOf,
  discardChanges,
  isDifferent,
  nextChange,
  savedLineOf,
  setSaved,
} from './change-marks.ts'
import { commentTokensOf } from './comment-tokens.ts'
import {
  type ConflictStart,
  type ConflictsOfFile,
  conflictsOf,
  enterConflictAtCursor,
  enterOpenAtCursor,
  lineInEditor,
  lineInFile,
  moveToConflict,
  shownCursor,
} from './conflict-editor.ts'
import { type CursorPlace, cursorIn, cursorPlaceOf } from './cursor-line.ts'
import {
  Adjustable,
  CLOSING,
  editorExtensions,
  emptyHistory,
  NOT_CLOSING,
  NOT_WRAPPED,
  WORD_COMPLETION,
} from './editor.ts'
import { indentationOf } from './indentation.ts'
import {
  changesOf,
  type LanguageQuestions,
  languageTools,
  serverCompletion,
  showProblems,
  tips,
} from './language-tools.ts'
import type { LineEdit } from './line-edits.ts'
import { withoutVoidChoices } from './pending-choices.ts'
import { byteForm, isAboutRefusedText, refuse, refusedTextOf } from './refused-text.ts'
import { lineAtHeight, scrollToLine } from './scrolled-line.ts'
import { showHeadAtCursor, withSteadyCursor } from './steady-cursor.ts'
import { NO_STICKY_LINES, STICKY_LINES } from './sticky-lines.ts'
import { type CodeSymbol, definitionAt, setStructure, symbolsAt, symbolsOf } from './symbols.ts'
import { SyntaxSelection } from './syntax-selection.ts'
import { repeatIn, type TwoViews, undoOfTwoViews } from './two-views.ts'
import { touchesTyped } from './typed-ranges.ts'

type Update = { clientID: string; changes: ChangeSet }
type TextFile = Extract<File, { kind: 'text' }>

/** At most this many earlier texts of the server are kept, to detect that it has lost edits. */
const MAX_EARLIER_TEXTS = 200
/** Time to wait for the news of an accepted edit before the file is loaded again, in milliseconds. */
const TELL_TIMEOUT_MS = 2_000
/** Delay before refused edits and those typed since are sent again, in milliseconds. */
const SEND_AGAIN_MS = 2_000
/** Milliseconds from the end of an input method's composition until CodeMirror has processed it: it waits 50 ms. */
const COMPOSITION_END_MS = 100
/** The server writes confirmed edits within a second. This is longer, in milliseconds. */
const WRITTEN_MS = 5_000
/** At most this many characters in the edits of one message; a single edit may have more. */
const MAX_CHARACTERS_SENT = 1 << 20
/** The symbols of a text are asked for after this many milliseconds without an edit. */
const STRUCTURE_DELAY_MS = 300
/** A conflict's first marker, which may be longer. */
const FIRST_MARKER = /^<{7}/
/**
 * The first marker of a conflict that is not one of a draft with its branch: in a draft's conflict, the user may be
 * typing, and what is typed belongs to the draft's side, which is shown soon.
 */
const FIRST_MARKER_OF_STEP = new RegExp(`^<{7}(?!<* ${DRAFT_SIDE}$)`)
/** A longer word, in characters, is no name. */
const MAX_NAME_CHARS = 400
/** Files of Ruby and Elixir, where the name of a function may end in a question or an exclamation mark. */
const NAMES_WITH_MARKS = /\.(?:rb|rake|gemspec|exs?)$|(?:^|\/)(?:Rake|Gem)file$/

const NOTHING_MORE = { key: '', extension: [], merge: '' }

/** Typed text did not reach the server; the message says why. */
export class NotSent extends Error {}

export interface Cursor {
  /** The cursor's line in the file: of an open conflict above it, only our lines count. */
  line: number
  column: number
  /** The selected characters of all cursors, and the number of cursors. */
  selected: number
  cursors: number
}

/**
 * The first visible line, from 1, and as its decimals the part of it that is out of view (undefined: the beginning of
 * the text), and the cursor's place in the text.
 */
export interface Place extends CursorPlace {
  firstLine?: number | undefined
}

/**
 * The place in a file; `other`: that in the other half of a split, if the file is in both. `indentation`, `language`:
 * what the user has chosen for the file.
 */
export interface Position extends Place {
  other?: Place
  indentation?: Indentation | undefined
  language?: string | undefined
}

/** A position to open a file at. `text`: that of the cursor, if the file may have another one. */
export interface LeftPosition extends Position {
  text?: Text | undefined
}

type FirstCursor = CursorPlace & Pick<LeftPosition, 'text'>

/** The place of a cursor in a text, also if it was left in another version of it (`text`). */
function placeIn(doc: Text, { text, ...place }: FirstCursor): number {
  return text ? Math.min(changesBetween(text, doc).mapPos(place.cursor), doc.length) : cursorIn(doc, place)
}

export interface EditorChoices {
  nonce: string
  isWrapped: Signal<boolean>
  settings: ReadonlySignal<SettingValues>
  /** Called when text was typed that the server does not have yet, and when it has all of it. */
  onTyped: (file: OpenFile) => void
}

/** Text that the server has not confirmed, with the texts before it, each as a change of the one before. */
export interface Unsent {
  form: Form
  /** The oldest text. */
  start: string
  /** Changes as JSON (see ChangeSet): the last one leads to the text with all that was typed. */
  steps: unknown[]
}

export class OpenFile {
  readonly #at: Signal<At>
  readonly #path: Signal<string>
  /** The server's answer; its text is that of the moment of opening. */
  readonly file = signal<File | undefined>(undefined)
  /** Why the file could not be opened, or why edits can't be kept at the moment. */
  readonly problem = signal<string | undefined>(undefined)
  readonly counts = signal<ChangedLines>({ added: 0, deleted: 0 })
  /** Whether the file, or its path, differs from the last commit. */
  readonly isDraft = signal(false)
  readonly cursor = signal<Cursor>({ line: 1, column: 1, selected: 0, cursors: 1 })
  /** What an indentation is, such as `Spaces: 4`. */
  readonly indent = signal('')
  /** The language by which the text is coloured. */
  readonly languageName = signal<LanguageName>('Plain text')
  /** Of a file with mixed line ends: those that its text has now. */
  readonly mixedLineEnds = signal<LineEnd>('mixed')
  /** Increases when the text has changed. */
  readonly edits = signal(0)
  /** Increases when the server has told the symbols of the text. */
  readonly structures = signal(0)
  /** The functions, classes or headings around the cursor, the outermost first. */
  readonly symbols = signal<CodeSymbol[]>([])
  /** The commit of the cursor's line in a blame; undefined for an unsaved line, null without a blame. */
  readonly blamed = signal<BlamedCommit | undefined | null>(null)
  /** In a branch with a waiting merge: the file's open and resolved conflicts. */
  readonly conflicts = signal<ConflictsOfFile>({ open: [], settled: [], strays: [], left: 0, all: 0 })
  /** Whether conflict markers have come into the text that are not shown as conflicts yet, nor known to be none. */
  readonly hasUnknownMarkers = signal(false)
  /** Whether some of these markers are those of a merge: the text is read-only, since typing would break them. */
  #isHeldByMarkers = false
  /** The state of the file's language server; undefined where there is none for such files, or not asked yet. */
  readonly language = signal<LanguageState | undefined>(undefined)
  /** How many problems the language server has found, of errors and warnings. */
  readonly problemCounts = signal({ errors: 0, warnings: 0 })
  /** Increases when the server has opened the file for this window. */
  readonly opens = signal(0)
  state: EditorState | undefined
  /** Keys typed while the file was loading; `go`: the jump in the file that was asked for before them. */
  #early: { go?: () => void; keys: string }[] = []
  /** Whether the cursor is where these keys were inserted, so that the first view has to scroll to it. */
  #isAtEarly = false
  /** Called for a click on a name with Ctrl held; the cursor is at the name. */
  onDefinition: (() => void) | undefined
  /** Called for the key that comments lines, where the comments of the file's language are not known. */
  onNoComments: (() => void) | undefined
  /** Called for an undo that does nothing since the history of edits was ended, as where conflicts began. */
  onUndoCut: (() => void) | undefined
  /** Whether there were edits to undo when the history was ended. */
  #isUndoCut = false
  readonly #selecting = new SyntaxSelection()
  /** The value of {@link edits} for which the symbols were asked last. */
  #structuredEdits = -1
  #structureTimer: ReturnType<typeof setTimeout> | undefined
  /** The question for the symbols that waits until the text is sent. */
  #structuring: Promise<void> | undefined

  readonly #connection: Connection
  readonly #choices: EditorChoices
  readonly #adjustable = new Adjustable()
  #first: FirstCursor
  /** What .editorconfig says about the indentation of the file; empty until it has been loaded. */
  #editorConfig: EditorConfig = {}
  /** The indentation that the user has chosen for the file. */
  #chosenIndentation: Indentation | undefined
  /** The language that the user has chosen for the file. */
  #chosenLanguage: LanguageName | undefined
  #conflictWanted: { by: 1 | -1; wish: FocusWish } | undefined
  #blame: LineCommits | undefined
  #view: EditorView | undefined
  /** The second view, while the file is in both halves of a split. */
  #second: EditorView | undefined
  /** The view that had the focus last. */
  #here: EditorView | undefined
  /** The first visible line, from 1, with the part of it that is out of view. */
  #firstLine: number
  /** The first visible line of the second view. */
  #secondFirstLine = 1
  /** From the last session, if the file was in both halves: the places in the half with the focus and in the other. */
  #kept: { here?: Place; other?: Place }
  /** The place of the view with the focus, until it is known whether the other view is closed with it. */
  #left: { selection: EditorSelection; firstLine: number } | undefined
  /** The server's text according to all that was received. */
  #confirmed = Text.empty
  /** The text that the server has on the disk, while it can't write newer ones there. */
  #written: Text | undefined
  /** The texts before that, the oldest first, each with the change that leads from it to the next, and when it did. */
  #earlier: { text: Text; next: ChangeSet; until: number }[] = []
  #isSending = false
  /** The server refused the edits: nothing is sent until something changes. */
  #isRefused = false
  /** The file was loaded again since the server has another text than the edits are for, and has taken none since. */
  #isLoadedAgain = false
  /** The server refused one of the edits in a message: the edits are then sent one by one, to find out which. */
  #isOneByOne = false
  /** Whether the collaboration extension is being replaced: then no edits are sent. */
  #isAdopting = false
  /** The version of the text after all edits that the server has accepted; news of them may still be on its way. */
  #awaited = 0
  #waiting: { resolve: () => void; reject?: (why: NotSent) => void; isOfSave?: boolean }[] = []
  /** The saves that run or wait: the last edit that belongs to each. Those behind that are sent when it has ended. */
  #saves: { last: Transaction | undefined }[] = []
  #form: Form | undefined
  /** The text that `mixedLineEnds` was found in. */
  #lineEndsOf: Text | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  /**
   * How often the connection had broken when the file was last opened: after a break, the server no longer knows that
   * this window has the file open.
   */
  #openedAfterBreaks = 0
  #isClosed = false
  /**
   * What waits for the end of an input method's composition, by kind. Until then the text around it must stay, or the
   * editor loses the composition's place and breaks.
   */
  readonly #held = new Map<'text' | 'extension' | 'refusal' | 'server', () => void>()
  #isLocked = false
  #hasServer = false
  /** Additional extensions, with the key that identifies them, and that of the merge that they are about. */
  #more: { key: string; extension: Extension; merge: string } = NOTHING_MORE

  constructor(connection: Connection, choices: EditorChoices, at: At, path: string, position: LeftPosition) {
    const { other, indentation, language, text, ...here } = position
    this.#chosenIndentation = indentation
    // Another version of the desk may have kept a language that this one does not know.
    this.#chosenLanguage = language !== undefined && isLanguage(language) ? language : undefined
    this.#kept = other ? { here, other } : {}
    this.#firstLine = position.firstLine ?? 1
    this.#first = { cursor: position.cursor, cursorLine: position.cursorLine, text }
    this.#connection = connection
    this.#choices = choices
    this.#at = signal(at)
    this.#path = signal(path)
  }

  get at(): At {
    return this.#at.value
  }

  get path(): string {
    return this.#path.value
  }

  /** Follows the rename of the branch. After a break nothing is sent before the file is loaded. */
  moveToBranch(branch: string): void {
    this.#at.value = { kind: 'branch', branch }
    if (!this.isFromBeforeBreak) this.sendAgain()
  }

  /** Follows a rename. `isAfterBreak`: the connection broke, so nothing is sent before the file is loaded. */
  moveTo(path: string, isAfterBreak: boolean): void {
    this.#path.value = path
    this.#structuredEdits = -1
    this.#askStructureLater()
    if (!isAfterBreak) {
      this.sendAgain()
      this.#indent()
    }
    if (this.state) void this.#colour()
  }

  /**
   * Loads the file: on opening, and when its branch has a new commit. After a break the server may have lost confirmed
   * edits.
   */
  async ask(isAfterBreak = false): Promise<void> {
    try {
      const file = await this.#connection.ask('open', { at: this.at, path: this.path })
      if (this.#isClosed) return
      this.#openedAfterBreaks = this.#connection.breaks
      this.take(file, isAfterBreak)
      this.opens.value++
    } catch (error) {
      if (error instanceof Disconnected) return
      const why = String((error as Error).message)
      if (this.isUnsettled) this.#refused(why)
      else this.problem.value = why
    }
  }

  /** Resolves when the file is loaded, or can't be. */
  async opened(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = effect(() => {
      if (this.file.value !== undefined || this.problem.value !== undefined) resolve()
    })
    await promise
    stop()
  }

  /** Applies the server's answer. */
  take(file: File, isAfterBreak = false): void {
    if (file.kind !== 'text' && this.isUnsettled) {
      this.#refused(`${named(baseName(this.path))} ${file.kind === 'nothing' ? 'was deleted' : 'is no text any more'}.`)
      return
    }
    // While the file is read-only, its refused edits would be refused again: they are not sent, and the message stays.
    const isHeld = file.kind === 'text' && file.readOnly !== undefined
    if (!isHeld || !this.#isRefused) this.problem.value = undefined
    this.#isRefused = this.#isRefused && isHeld
    if (this.state && file.kind === 'text' && this.#isHeldBack('text', () => this.ask())) return
    const before = this.state?.doc
    if (file.kind !== 'text') this.state = undefined
    else if (this.state) withSteadyCursor(this.#views, () => this.#compare(file, isAfterBreak))
    else this.#start(file)
    this.file.value = file
    if (file.kind === 'text') this.#lookForMarkers(before)
    this.#takeEarly()
    if (file.kind === 'text') this.#say()
    else {
      this.isDraft.value = false
      this.symbols.value = []
      this.blamed.value = null
    }
    this.#push()
  }

  /** Applies edits numbered by the server, this window's among them. The first leads from `version` to the next one. */
  receive(version: number, edits: Edit[]): void {
    if (!this.state) return
    const known = getSyncedVersion(this.state) - version
    if (known < 0) {
      this.ask()
      return
    }
    if (known >= edits.length) return
    const own = getClientID(this.state)
    const isOthers = edits.slice(known).some(({ client }) => client !== own)
    if (isOthers && this.#isHeldBack('text', () => this.ask())) return
    const before = this.state.doc
    try {
      const updates = edits.slice(known).map(({ client, changes }) => {
        return { clientID: client, changes: ChangeSet.fromJSON(changes) }
      })
      withSteadyCursor(isOthers ? this.#views : [], () => {
        if (!isOthers || !this.isUnsettled) this.#takeUpdates(updates)
        else
          for (const update of updates)
            if (update.clientID === own || !this.#takeBesideTyped(update.changes)) this.#takeUpdates([update])
      })
      if (isOthers) this.#lookForMarkers(before)
    } catch {
      // The edits do not fit this text: the file is loaded again.
      this.ask()
      return
    }
    this.#push()
  }

  #takeUpdates(updates: readonly Update[]): void {
    for (const { changes } of updates) this.#confirm(changes.apply(this.#confirmed), changes)
    // One by one where there are conflicts: another window may have opened one and resolved it again.
    const isOfDesk = updates.some(({ clientID }) => clientID === DESK_CLIENT)
    const steps = this.#more.merge === '' && !isOfDesk ? [updates] : updates.map(update => [update])
    for (const step of steps)
      this.#endUndoAtConflicts(() => {
        const receive = () => receiveUpdates(this.state as EditorState, step)
        if (isOfDesk) this.#endUndoWhereTakenBack(receive().changes)
        this.dispatch(receive())
      })
  }

  /**
   * Applies a change that can't just be moved onto what was typed meanwhile, and returns whether it is one: lines
   * inserted behind the last line, which has no line end, so that what was typed stays before them; or the resolution
   * of a conflict for which another side was chosen here, whose choice is left out.
   */
  #takeBesideTyped(changes: ChangeSet): boolean {
    const state = this.state as EditorState
    const theirs = changes.apply(this.#confirmed)
    const version = getSyncedVersion(state) + 1
    const kept = withoutVoidChoices(sendableUpdates(state), this.#confirmed, changes)
    if (kept) {
      this.#goOnFrom(theirs, version, typedAfter(changes, kept))
      // The undo of the choice would insert its markers again.
      this.#endUndo(this.state as EditorState)
      return true
    }
    if (!insertsBehindLastLine(changes)) return false
    const typed = this.#unconfirmed
    const selection = state.selection.map(afterTyped(changes, typed))
    this.#endUndoAtConflicts(() => this.#goOnFrom(theirs, version, typedAfter(changes, typed), selection))
    return true
  }

  /** What was typed on top of the server's text, as one change. */
  get #unconfirmed(): ChangeSet {
    return this.#typedOn.typed
  }

  /**
   * What was typed and not confirmed, and the text that it was typed into: the server's, unless the shown text has come
   * apart from that (`isApart`).
   */
  get #typedOn(): { before: Text; typed: ChangeSet; isApart: boolean } {
    const { doc } = this.state as EditorState
    const pending = sendableUpdates(this.state as EditorState)
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
   * Sends all edits, refused ones once more. Resolves when the server has them. Rejects with {@link NotSent} if it
   * refuses some.
   */
  settled(): Promise<void> {
    return this.#settled(false)
  }

  /** Like {@link settled}, but for the edits that belong to a save which was begun. */
  settledForSave(): Promise<void> {
    return this.#settled(true)
  }

  #settled(isOfSave: boolean): Promise<void> {
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
      this.#push()
    }
  }

  get #lastEdit(): Transaction | undefined {
    return this.isUnsettled ? sendableUpdates(this.state as EditorState).at(-1)?.origin : undefined
  }

  /** The edits to send now: while a save runs, only those that belong to it. */
  get #sendable(): ReturnType<typeof sendableUpdates> {
    const pending = sendableUpdates(this.state as EditorState)
    const [save] = this.#saves
    return save ? pending.slice(0, pending.findIndex(({ origin }) => origin === save.last) + 1) : pending
  }

  /** Resolves when the server has all edits, however often it refuses them before. */
  async sent(): Promise<void> {
    if (this.isUnsettled) await new Promise<void>(resolve => this.#waiting.push({ resolve }))
  }

  /** Sends refused edits again, on request or because something has changed. */
  sendAgain(): void {
    const couldNotOpen = this.#isRefused && this.isFromBeforeBreak
    this.#isRefused = false
    if (couldNotOpen) this.ask(true)
    else this.#push()
  }

  /** Whether the file is deleted, and its unsaved text is only shown: a save or an edit restores the file with it. */
  get isKeptDeleted(): boolean {
    const file = this.file.value
    return file?.kind === 'text' && file.deleted?.isRestored === false
  }

  /** Whether a box with refused text is still in the editor. */
  get hasRefusedText(): boolean {
    return this.state !== undefined && refusedTextOf(this.state).length > 0
  }

  /** Whether the connection broke since the file was opened: nothing is sent until it is opened again. */
  get isFromBeforeBreak(): boolean {
    return this.#openedAfterBreaks < this.#connection.breaks
  }

  /** Whether some edits have not reached the server. */
  get isUnsettled(): boolean {
    // A file of a commit sends nothing.
    return this.at.kind === 'branch' && this.state !== undefined && sendableUpdates(this.state).length > 0
  }

  /** The text that has not reached the server, for the browser to keep; undefined for none. */
  get unsent(): Unsent | undefined {
    if (!this.isUnsettled || !this.#form) return undefined
    // After a crash the server has one of the texts of the last moments before it.
    const last = this.#earlier.at(-1)?.until ?? 0
    const { before, typed, isApart } = this.#typedOn
    const earlier = isApart ? [] : this.#earlier.filter(({ until }) => until > last - WRITTEN_MS)
    const start = earlier[0]?.text ?? before
    const steps = [...earlier.map(({ next }) => next), typed]
    return { form: this.#form, start: start.toString(), steps: steps.map(step => step.toJSON()) }
  }

  dispatch(spec: TransactionSpec): void {
    if (this.#view) {
      this.#view.dispatch(spec)
      return
    }
    if (!this.state) return
    const { doc } = this.state
    // A transaction is applied unchanged, as a view applies it. A new one with the same changes would pass the filter
    // for typed text, which keeps conflict markers that the server has removed.
    this.state = (spec instanceof Transaction ? spec : this.state.update(spec)).state
    if (this.state.doc !== doc) this.edits.value++
    this.#say()
  }

  /**
   * Makes a view of this file. A second one, in the other half of a split, begins where the first one is. `isHere`:
   * whether it is in the half with the focus.
   */
  makeView(parent: HTMLElement, isHere: boolean): EditorView {
    const state = this.state as EditorState
    const kept = this.#kept[isHere ? 'here' : 'other']
    delete this.#kept[isHere ? 'here' : 'other']
    const selection = kept ? { anchor: cursorIn(state.doc, kept) } : state.selection
    const isSecond = this.#view !== undefined
    const firstLine = kept ? (kept.firstLine ?? 1) : this.#firstLine
    const shown = state.update({ selection, effects: isSecond ? this.#asSecond() : [] }).state
    const view = new EditorView({ parent, state: shown })
    if (isSecond) {
      this.#second = view
      this.#secondFirstLine = firstLine
      if (searchPanelOpen(view.state)) closeSearchPanel(view)
    } else {
      this.#view = view
      this.state = view.state
      this.#firstLine = firstLine
      this.#wrap(this.#choices.isWrapped.peek())
    }
    if (isHere) this.lookAt(view)
    this.#goToWantedConflict()
    this.#askStructureLater(0)
    const isAtEarly = this.#isAtEarly
    this.#isAtEarly = false
    if (isAtEarly) view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main, { y: 'center' }) })
    else scrollToLine(view, firstLine)
    return view
  }

  /** What turns the first view's state into that of the second one. */
  #asSecond(): StateEffect<unknown>[] {
    const { history, collaboration, listener } = this.#adjustable
    const listen = EditorView.updateListener.of(update => {
      if (this.#view) repeatIn(this.#view, update, isAboutRefusedText)
      if (update.selectionSet) this.#say()
    })
    return [history.reconfigure([]), collaboration.reconfigure([]), listener.reconfigure(listen)]
  }

  /** Records which of two views has the focus: the cursor and actions are those of that view. */
  lookAt(view: EditorView): void {
    this.#here = view
    this.#say()
  }

  get #views(): EditorView[] {
    return [this.#view, this.#second].filter(view => view !== undefined)
  }

  /** Both views, while the file is in both halves of a split. */
  get #both(): TwoViews | undefined {
    return this.#view && this.#second && { first: this.#view, second: this.#second }
  }

  /** The state of the view that had the focus last. */
  get #hereState(): EditorState | undefined {
    return this.#second && this.#here === this.#second ? this.#second.state : this.state
  }

  #dispatchHere(spec: TransactionSpec): void {
    if (this.#second && this.#here === this.#second) this.#second.dispatch(spec)
    else this.dispatch(spec)
  }

  /** Changes the configuration of all views. */
  #reconfigure(effects: StateEffect<unknown> | readonly StateEffect<unknown>[]): void {
    this.dispatch({ effects })
    this.#second?.dispatch({ effects })
  }

  /** Keeps a key typed while the file is loading. Returns whether it was kept. */
  typeEarly(key: string): boolean {
    if (this.state) return false
    const keys = this.#early.at(-1)?.keys ?? ''
    if (key === 'Backspace' && keys !== '') this.#typeEarly(keys.slice(0, -1))
    else if (key === 'Enter') this.#typeEarly(`${keys}\n`)
    else if (key.length === 1) this.#typeEarly(keys + key)
    else return false
    return true
  }

  #typeEarly(keys: string): void {
    this.#early.push({ ...this.#early.pop(), keys })
  }

  /** Runs `go`, which moves the cursor; in a file that is loading, once it has loaded, and before keys typed later. */
  goWhenOpened(go: () => void): void {
    if (this.state) go()
    else if (this.file.peek() === undefined) this.#early.push({ go, keys: '' })
  }

  /** Inserts the keys typed while the file was loading at the cursor, unless the file is read-only. */
  #takeEarly(): void {
    if (this.#isHeldByMarkers) return
    const early = this.#early.splice(0)
    if (early.length === 0 || !this.state) return
    this.#isAtEarly = !this.#view
    delete this.#kept.here
    for (const { go, keys } of early) {
      go?.()
      if (keys === '' || this.state.readOnly || this.#isLocked) continue
      this.dispatch({ ...this.state.replaceSelection(keys), userEvent: 'input.type', scrollIntoView: true })
    }
  }

  /** Removes a view, which is then destroyed. The second view takes the place of the first one. */
  hide(view: EditorView): void {
    const { first, second } = this.#both ?? {}
    if (first && second) {
      if (view === this.#here) this.#leave(view)
      if (view === first) this.#promote(second)
      this.#second = undefined
      this.#here = this.#view
      return
    }
    this.#view = undefined
    this.#here = undefined
    if (!this.#left || !this.state) return
    this.state = this.state.update({ selection: this.#left.selection }).state
    this.#firstLine = this.#left.firstLine
  }

  /** If both views are removed at once, the place of the one with the focus is kept. */
  #leave(view: EditorView): void {
    const firstLine = view === this.#second ? this.#secondFirstLine : this.#firstLine
    this.#left = { selection: view.state.selection, firstLine }
    queueMicrotask(() => {
      this.#left = undefined
    })
  }

  /** Makes the second view the first one: it gets the history, and sends changes. */
  #promote(second: EditorView): void {
    const { selection } = second.state
    const place = second.scrollSnapshot()
    this.#view = second
    this.#firstLine = this.#secondFirstLine
    second.setState((this.state as EditorState).update({ selection }).state)
    this.state = second.state
    second.dispatch({ effects: place })
  }

  /**
   * Records the first visible line of a view. Read on scrolling rather than on leaving, where it would force a layout
   * of the next view.
   */
  scrolled(view: EditorView): void {
    const firstLine = lineAtHeight(view, view.scrollDOM.scrollTop)
    if (view === this.#second) this.#secondFirstLine = firstLine
    else if (view === this.#view) this.#firstLine = firstLine
  }

  /** The first lines, the cursors and what was chosen for the file, to restore after a restart. */
  get position(): Position {
    const chosen = {
      ...(this.#chosenIndentation && { indentation: this.#chosenIndentation }),
      ...(this.#chosenLanguage && { language: this.#chosenLanguage }),
    }
    const { cursor, cursorLine } = this.state ? cursorPlaceOf(this.state) : this.#first
    const first = { firstLine: this.#firstLine, cursor, cursorLine }
    if (!this.#second) return { ...first, ...chosen }
    const second = { firstLine: this.#secondFirstLine, ...cursorPlaceOf(this.#second.state) }
    return this.#here === this.#second ? { ...second, other: first, ...chosen } : { ...first, other: second, ...chosen }
  }

  /** The position of the half with the focus, with its text: to open the same file at in another branch. */
  get leftPosition(): LeftPosition {
    const { other, ...here } = this.position
    return { ...here, text: this.state?.doc }
  }

  /** Goes to the position that another branch's version of the file was left at. */
  goToLeft({ firstLine = 1, cursor, cursorLine, text }: LeftPosition): void {
    if (!this.#view) this.#firstLine = firstLine
    const place = { cursor, cursorLine, text }
    if (this.state) this.goToPlace(placeIn(this.state.doc, place))
    else this.#first = place
  }

  /** Shows the commits beside the lines (`open`: shows one of them); undefined hides them. */
  showBlame(blame: Blame | undefined, open: OpenBlamed): void {
    this.#blame = blame && lineCommits(blame)
    if (!this.state) return
    const shown = this.#blame ? blameGutter(this.#blame, open) : []
    this.#reconfigure(this.#adjustable.blame.reconfigure(shown))
  }

  /** Gives the editor the tools of a language server; undefined takes them away, with the problems. */
  showServer(server: { can: Abilities; questions: LanguageQuestions } | undefined): void {
    if (!server && !this.#hasServer) return
    if (!this.state || this.#isHeldBack('server', () => this.showServer(server))) return
    const tools = server ? [languageTools(server.can, server.questions), tips] : []
    const completion = server?.can.completes ? serverCompletion(server.can, server.questions) : WORD_COMPLETION
    this.#hasServer = server !== undefined
    if (!server) this.#showProblems([])
    const { server: tooling, completion: completing } = this.#adjustable
    this.#reconfigure([tooling.reconfigure(tools), completing.reconfigure(completion)])
  }

  /** Whether the editor has the tools of a language server. */
  get hasServer(): boolean {
    return this.#hasServer
  }

  /** Shows the problems that a language server has found in a version of the text. */
  takeProblems(version: number, problems: readonly Problem[]): void {
    const { state } = this
    if (!state || this.at.kind === 'commit' || this.language.peek()?.is !== 'ready') return
    // The places are those of the server's text: what is typed since, and has not reached it, comes on top. Problems of
    // an older text are replaced soon, and the editor moves the shown ones meanwhile.
    if (version === getSyncedVersion(state)) this.#showProblems(problems)
  }

  #showProblems(problems: readonly Problem[]): void {
    if (!this.state) return
    const count = (wanted: Problem['severity']) => problems.filter(({ severity }) => severity === wanted).length
    this.problemCounts.value = { errors: count('error'), warnings: count('warning') }
    const typed = sendableUpdates(this.state).map(({ changes }) => changes)
    const shown = showProblems(this.state, this.#confirmed, typed, problems)
    if (shown) this.dispatch(shown)
    const second = this.#second && showProblems(this.#second.state, this.#confirmed, typed, problems)
    if (second) this.#second?.dispatch(second)
  }

  /** Runs a command of the editor, such as going to the next problem. */
  run(command: (view: EditorView) => unknown): void {
    const view = this.#second && this.#here === this.#second ? this.#second : this.#view
    if (view) command(view)
  }

  /** The state of the view in the half with the focus. */
  get stateHere(): EditorState | undefined {
    return this.#hereState
  }

  /** The width of an indentation, and whether the Tab key inserts spaces. */
  get indentation(): { tabSize: number; usesSpaces: boolean } {
    const unit = this.state?.facet(indentUnit) ?? '  '
    return { tabSize: unit === '\t' ? (this.state?.tabSize ?? 4) : unit.length, usesSpaces: unit !== '\t' }
  }

  /** Sets the indentation that the user has chosen; undefined: the one detected again. Existing text is not changed. */
  indentBy(chosen: Indentation | undefined): void {
    this.#chosenIndentation = chosen
    this.adjust()
  }

  /** Sets the language that the user has chosen; undefined: the one detected again. */
  async colourAs(chosen: LanguageName | undefined): Promise<void> {
    this.#chosenLanguage = chosen
    await this.#colour()
  }

  /** The language that the name of the file, or its first line, tells. */
  get detectedLanguage(): LanguageName {
    return languageOf(this.path, this.state?.doc)
  }

  /**
   * Makes changes that a language server proposed for a version of the text, as one step of Undo typing. Returns
   * whether they fit: not if something was typed since.
   */
  makeChanges(version: number, changes: readonly TextChange[]): boolean {
    const { state } = this
    if (!state || state.readOnly || this.at.kind === 'commit') return false
    if (version !== getSyncedVersion(state) || sendableUpdates(state).length > 0) return false
    const made = changesOf(state.doc, changes)
    if (!made) return false
    this.dispatch({ changes: made, userEvent: 'input.proposed', scrollIntoView: true })
    return true
  }

  set isWrapped(isWrapped: boolean) {
    this.#wrap(isWrapped)
  }

  /** Makes the file read-only while an AI works in its branch. */
  set isLocked(isLocked: boolean) {
    this.#isLocked = isLocked
    this.#adjustReadOnly()
  }

  #adjustReadOnly(): void {
    const file = this.file.peek()
    if (!this.state || file?.kind !== 'text' || this.state.readOnly === this.#isReadOnly(file)) return
    const readOnly = EditorState.readOnly.of(this.#isReadOnly(file))
    this.#reconfigure(this.#adjustable.readOnly.reconfigure(readOnly))
  }

  #isReadOnly(file: TextFile): boolean {
    return this.at.kind === 'commit' || file.readOnly !== undefined || this.#isLocked || this.#isHeldByMarkers
  }

  /** Waits for the conflicts of markers that are in the text now, but were not before. */
  #lookForMarkers(before: Text | undefined): void {
    if (this.at.kind === 'commit' || !this.state) return
    const { doc } = this.state
    const hasMarkers = this.#more.key === '' && hasLine(doc, FIRST_MARKER)
    if (hasMarkers && before && hasLine(before, FIRST_MARKER)) return
    this.hasUnknownMarkers.value = hasMarkers
    this.#isHeldByMarkers = hasMarkers && hasLine(doc, FIRST_MARKER_OF_STEP)
    this.#adjustReadOnly()
  }

  /** Called when the markers in the text are known to be no conflicts: they are text like any other. */
  knowMarkers(): void {
    this.hasUnknownMarkers.value = false
    this.#isHeldByMarkers = false
    this.#adjustReadOnly()
    this.#takeEarly()
  }

  /** Goes to a line by its number beside the text, from 1: of an open conflict above it, only our lines count. */
  goToShownLine(line: number, column: number): void {
    const state = this.#hereState
    if (state) this.goTo(lineInEditor(state, line), [column, column])
  }

  /** Goes to a match: its line in the whole text, from 1, and the range within it. */
  goTo(line: number, range?: [number, number]): void {
    if (!this.state) return
    const { doc } = this.state
    const { from, length } = doc.line(Math.max(1, Math.min(line, doc.lines)))
    const [start, end] = (range ?? [0, 0]).map(at => from + Math.min(at, length)) as [number, number]
    this.#dispatchHere({
      selection: { anchor: start, head: end },
      effects: EditorView.scrollIntoView(start, { y: 'center' }),
    })
  }

  goToPlace(at: number): void {
    if (!this.state) return
    const anchor = Math.min(at, this.state.doc.length)
    this.#dispatchHere({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
  }

  /** The name that is selected or at the cursor; undefined where there is none. */
  nameAtCursor(): string | undefined {
    const state = this.#hereState
    if (!state) return undefined
    const { from, to, head } = state.selection.main
    const word = from === to ? state.wordAt(head) : { from, to }
    if (!word || word.to - word.from > MAX_NAME_CHARS) return undefined
    const [name, next] = [state.sliceDoc(word.from, word.to), state.sliceDoc(word.to, word.to + 2)]
    const mark = NAMES_WITH_MARKS.test(this.path) ? (/^[?!](?!=)/.exec(next)?.[0] ?? '') : ''
    return /^[\p{L}\p{N}_$]+[?!]?$/u.test(name) ? name + mark : undefined
  }

  /**
   * Adds extensions to the editor, such as a merge's conflicts. Does nothing if those of the same key are there.
   * `merge`: a key of the merge or of the drafts' conflict that they are about; empty for none.
   */
  extend(key: string, merge: string, make: () => Extension): void {
    if (!this.state || key === this.#more.key) return
    if (this.#isHeldBack('extension', () => this.extend(key, merge, make))) return
    // Undo stops where conflicts began to be shown, and where they ended: markers that it brought back would be text.
    if (merge !== this.#more.merge) this.#endUndo(this.state)
    const isNew = this.#more.merge === ''
    this.#more = { key, extension: make(), merge }
    // Before the conflicts are drawn: they are drawn as those of a text that can be edited.
    this.#lookForMarkers(undefined)
    const { more } = this.#adjustable
    withSteadyCursor(this.#views, () => this.#reconfigure(more.reconfigure(this.#more.extension)))
    this.#takeEarly()
    this.#say()
    if (isNew) this.run(enterConflictAtCursor)
    this.#goToWantedConflict()
  }

  /** Lets the undo of the editor end here. */
  #endUndo(state: EditorState): void {
    this.#isUndoCut ||= undoDepth(state) > 0
    this.dispatch({ effects: this.#adjustable.history.reconfigure(emptyHistory()) })
  }

  /**
   * Takes edits of the server. Where they open or resolve a conflict, undo ends: the undo of a choice made here would
   * put the conflict beside the one that is there already.
   */
  #endUndoAtConflicts(take: () => void): void {
    const before = numbersOfOpen(this.state as EditorState)
    take()
    const state = this.state as EditorState
    if (numbersOfOpen(state) !== before) this.#endUndo(state)
  }

  /**
   * Lets undo end before a change of the server, such as a discard, that takes back edits made here: the undo of one
   * that is taken back already would make a text that the file never had.
   */
  #endUndoWhereTakenBack(changes: ChangeSet): void {
    const state = this.state as EditorState
    if (touchesTyped(state, changes)) this.#endUndo(state)
  }

  /** Goes to the next or previous conflict. Returns false if there is none in that direction. */
  goToConflict(by: 1 | -1, start: ConflictStart): boolean {
    const view = this.#here ?? this.#view
    return view !== undefined && moveToConflict(view, by, start)
  }

  /**
   * Goes to the first (1) or last (-1) conflict and focuses it, as soon as the editor shows conflicts, while the wish
   * for the focus is open.
   */
  enterConflicts(by: 1 | -1, wish: FocusWish): void {
    this.#conflictWanted = undefined
    if (!wish.isOpen) return
    if (this.goToConflict(by, 'edge')) wish.end()
    else this.#conflictWanted = { by, wish }
  }

  #goToWantedConflict(): void {
    const wanted = this.#conflictWanted
    // In the next frame, since the opening editor takes the focus itself.
    if (wanted) requestAnimationFrame(() => this.enterConflicts(wanted.by, wanted.wish))
  }

  /** All functions, classes or headings of the file, as far as the server has told them. */
  allSymbols(): CodeSymbol[] {
    return this.state ? symbolsOf(this.state) : []
  }

  /**
   * The selected lines, or those of the function around the cursor, by their numbers in the last commit; `name`: that
   * of the function. Undefined if there is no function, or if none of the lines is saved.
   */
  linesInCommit(of: 'selection' | 'function'): { from: number; to: number; name?: string } | undefined {
    const state = this.#hereState
    if (!state) return undefined
    const { main } = state.selection
    const around = of === 'function' ? definitionAt(state, main.head) : undefined
    if (of === 'function' && !around) return undefined
    const { from, to } = around ?? main
    const [first, end] = [state.doc.lineAt(from), state.doc.lineAt(to)]
    // A selection of whole lines ends at the start of the next one. After the last line end, git has no line.
    const isOutside =
      (end.from === to && end.number > first.number) || (end.number === state.doc.lines && end.length === 0)
    const last = isOutside ? end.number - 1 : end.number
    const saved: number[] = []
    for (let line = first.number; line <= last; line++) saved.push(...[savedLineOf(state, line) ?? []].flat())
    const [begin, finish] = [saved[0], saved.at(-1)]
    if (begin === undefined || finish === undefined) return undefined
    return { from: begin, to: finish, ...(around && { name: around.name }) }
  }

  /** Discards the changes at the selected lines. Returns whether there are any. */
  discardChanges(): boolean {
    const state = this.#hereState
    const edit = state && !state.readOnly ? discardChanges(state) : undefined
    if (edit) this.#dispatchHere(edit)
    return edit !== undefined
  }

  /** Makes an edit at the cursor of the half with the focus. Returns false if there is nothing to change. */
  change(edit: LineEdit): boolean {
    const state = this.#hereState
    const spec = state && !state.readOnly ? edit(state) : undefined
    if (spec) this.#dispatchHere(spec)
    return spec !== undefined
  }

  /** The text as it is shown; undefined if the file is no text or not loaded. */
  get text(): Text | undefined {
    return this.state?.doc
  }

  /** Replaces the text by one edit of the parts that differ. Returns false if it is not `before` any more. */
  replaceText(before: Text, text: string): boolean {
    if (!this.state?.doc.eq(before) || this.state.readOnly) return false
    const changes = changesBetween(before, textOf(text))
    if (!changes.empty) this.dispatch({ changes, userEvent: 'input.format' })
    return true
  }

  /** The number that the cursor's line has in its commit of the blame. */
  get blamedLine(): number {
    const state = this.#hereState
    if (!state || !this.#blame) return 1
    return numberInCommit(state, this.#blame, state.doc.lineAt(state.selection.main.head).number)
  }

  goToNextChange(): void {
    const state = this.#hereState
    const change = state && nextChange(state)
    if (change) this.#dispatchHere(change)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#structureTimer)
    if (this.#connection.isUp.peek()) this.#connection.ask('close', { at: this.at, path: this.path }).catch(() => {})
  }

  #start(file: TextFile): void {
    this.#confirmed = textOf(file.text)
    this.#form = { lineEnd: file.lineEnd, bom: file.bom }
    this.#earlier = []
    this.#written = file.written === undefined ? undefined : textOf(file.written)
    this.#awaited = file.version
    this.#hasServer = false
    this.#more = NOTHING_MORE
    const isReadOnly = this.#isReadOnly(file)
    this.state = EditorState.create({
      doc: this.#confirmed,
      selection: { anchor: this.#firstCursor },
      extensions: [
        editorExtensions({
          nonce: this.#choices.nonce,
          saved: this.at.kind === 'commit' ? undefined : textOf(file.saved ?? ''),
          isReadOnly,
          isWrapped: this.#choices.isWrapped.peek(),
          closesBrackets: this.#choices.settings.peek()['editor.closeBrackets'] ?? true,
          hasStickyLines: this.#choices.settings.peek()['editor.stickyScroll'] ?? true,
          onDefinition: view => {
            this.lookAt(view)
            this.onDefinition?.()
          },
          onExpand: view => this.#expand(view),
          onShrink: view => this.#selecting.shrink(view),
          comments: () => commentTokensOf(this.path),
          onNoComments: () => this.onNoComments?.(),
          indentation: this.#indentation(file.text),
          form: this.at.kind === 'commit' ? undefined : this.#form,
          collaboration: this.#collaboration(file.version),
          adjustable: this.#adjustable,
        }),
        this.#adjustable.more.of(this.#more.extension),
        EditorView.domEventHandlers({
          // The browser puts the cursor at the start of the text. CodeMirror puts it back, but a key may be faster.
          focus: (_, view) => view.focus(),
          compositionend: () => {
            setTimeout(() => this.#afterComposition(), COMPOSITION_END_MS)
          },
        }),
        undoOfTwoViews(() => this.#both, {
          onDone: view => {
            if (!enterOpenAtCursor(view)) showHeadAtCursor(view)
          },
          onNothing: () => {
            if (this.#isUndoCut) this.onUndoCut?.()
          },
        }),
        this.#adjustable.listener.of(
          EditorView.updateListener.of(update => {
            this.state = update.state
            if (this.#second) repeatIn(this.#second, update, isAboutRefusedText)
            if (update.docChanged) this.edits.value++
            if (update.docChanged || update.selectionSet || update.transactions.length > 0) this.#say()
            if (update.docChanged) {
              this.#typed()
              this.#askStructureLater()
            }
          }),
        ),
      ],
    })
    void this.#colour()
    this.#indent()
  }

  get #firstCursor(): number {
    return placeIn(this.#confirmed, this.#first)
  }

  #indentation(text: string): Extension {
    return indentationOf(this.path, text, {
      chosen: this.#chosenIndentation,
      config: this.#editorConfig,
      tabSize: this.#choices.settings.peek()['editor.tabSize'],
    })
  }

  /** Loads what .editorconfig says about the indentation, and applies it. */
  async #indent(): Promise<void> {
    const { at, path } = this
    try {
      this.#editorConfig = await this.#connection.ask('editor config', { at, path })
    } catch {
      // Without an answer, the indentation detected in the text stays.
      return
    }
    this.adjust()
  }

  /** Applies the user's settings. */
  adjust(): void {
    if (!this.state) return
    const { brackets, indentation } = this.#adjustable
    const closing = (this.#choices.settings.peek()['editor.closeBrackets'] ?? true) ? CLOSING : NOT_CLOSING
    const before = this.state.facet(indentUnit) + this.state.tabSize
    const wanted = this.#indentation(this.state.doc.toString())
    const after = EditorState.create({ extensions: wanted })
    const effects: StateEffect<unknown>[] = []
    if (after.facet(indentUnit) + after.tabSize !== before) effects.push(indentation.reconfigure(wanted))
    if (brackets.get(this.state) !== closing) effects.push(brackets.reconfigure(closing))
    const sticky = (this.#choices.settings.peek()['editor.stickyScroll'] ?? true) ? STICKY_LINES : NO_STICKY_LINES
    if (this.#adjustable.sticky.get(this.state) !== sticky) effects.push(this.#adjustable.sticky.reconfigure(sticky))
    if (effects.length > 0) this.#reconfigure(effects)
  }

  /** Colours the text by the language of the file, unless that would take too long, and names the language. */
  async #colour(): Promise<void> {
    const { path } = this
    const chosen = this.#chosenLanguage
    const name = chosen ?? this.detectedLanguage
    const isColoured = this.state !== undefined && isColourable(this.state.doc)
    const language = isColoured ? await loadNamed(name) : undefined
    // Another one may have been chosen, or the file renamed, meanwhile.
    if (chosen !== this.#chosenLanguage || path !== this.path) return
    this.languageName.value = name
    if (isColoured) this.#reconfigure(this.#adjustable.language.reconfigure(language ?? []))
  }

  /** Resolves once the symbols and folds are those of the text, or can't be had. */
  structured(): Promise<void> {
    return this.#askStructure()
  }

  #askStructureLater(delayMs = STRUCTURE_DELAY_MS): void {
    clearTimeout(this.#structureTimer)
    this.#structureTimer = setTimeout(() => this.#askStructure(), delayMs)
  }

  /** Asks for the symbols and folds of the text, unless it has them. */
  async #askStructure(): Promise<void> {
    const isLarge = !this.state || this.state.doc.length > MAX_COLOURED_LENGTH
    if (isLarge || this.#isClosed || this.edits.peek() === this.#structuredEdits) return
    // All questions that wait until the text is sent are one: without the desk there would be one for each pause.
    this.#structuring ??= this.#takeStructure()
    await this.#structuring
  }

  async #takeStructure(): Promise<void> {
    try {
      await this.sent()
      this.#structuring = undefined
      const { at, path } = this
      const edits = this.edits.peek()
      const structure = await this.#connection.ask('file structure', { at, path })
      // After another edit, it is asked for again.
      if (this.#isClosed || edits !== this.edits.peek() || path !== this.path) return
      this.#structuredEdits = edits
      this.#reconfigure(setStructure.of(structure))
      this.structures.value++
    } catch {
      // Without an answer, what was known of the text before stays; after the next edit it is asked for again.
    }
  }

  #expand(view: EditorView): void {
    const { at, path } = this
    this.#selecting.expand(view, async ranges => {
      await this.sent()
      return await this.#connection.ask('syntax around', { at, path, ranges })
    })
  }

  #wrap(isWrapped: boolean): void {
    const { wrapping } = this.#adjustable
    const wanted = isWrapped ? EditorView.lineWrapping : NOT_WRAPPED
    if (this.state && wrapping.get(this.state) !== wanted) this.#reconfigure(wrapping.reconfigure(wanted))
  }

  #collaboration(startVersion: number) {
    // A new client id each time, so that edits from before a break are not confused with those after it.
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
    this.#reconfigure(effects)
    if (this.at.kind === 'commit') return
    const theirs = textOf(file.text)
    const isKnown = file.version === getSyncedVersion(state) && theirs.eq(this.#confirmed)
    const isAsKnown = isKnown && !this.#typedOn.isApart
    if (isAsKnown) this.#awaited = file.version
    else this.#adopt(theirs, file.version, isAfterBreak)
    this.#written = file.written === undefined ? undefined : textOf(file.written)
  }

  /** Continues from the server's text, and adds the edits of this window that the server does not have. */
  #adopt(theirs: Text, version: number, isAfterBreak: boolean): void {
    const { doc } = this.state as EditorState
    const lacking = this.#lackingIn(theirs, isAfterBreak)
    this.#endUndoWhereTakenBack(changesBetween(doc, lacking.apply(theirs)))
    this.#endUndoAtConflicts(() => this.#goOnFrom(theirs, version, lacking))
  }

  /**
   * Continues from a text of the server, with a change on top that is to be sent. `selected`: the selection after that,
   * if it is known; otherwise it is found by comparing the texts.
   */
  #goOnFrom(theirs: Text, version: number, lacking: ChangeSet, selected?: EditorSelection): void {
    const state = this.state as EditorState
    const target = lacking.apply(theirs)
    const unsent = new Set(sendableUpdates(state).map(({ origin }) => origin))
    this.#isAdopting = true
    const selection =
      selected ?? (target.eq(state.doc) ? state.selection : state.selection.map(changesBetween(state.doc, target)))
    this.dispatch({ effects: this.#adjustable.collaboration.reconfigure([]) })
    if (!theirs.eq(state.doc)) {
      this.dispatch({
        changes: changesBetween(state.doc, theirs),
        annotations: [Transaction.addToHistory.of(false), Transaction.remote.of(true)],
        filter: false,
      })
    }
    if (!theirs.eq(this.#confirmed)) this.#confirm(theirs, changesBetween(this.#confirmed, theirs))
    this.#awaited = version
    this.#isSending = false
    this.dispatch({ effects: this.#adjustable.collaboration.reconfigure(this.#collaboration(version)) })
    this.#isAdopting = false
    // What was typed before and after the mark of a save is one edit now: of a save that waits for some of it.
    const saves = this.#saves
    const waiting = new Set(saves.filter(({ last }) => last !== undefined && unsent.has(last)))
    const [running] = saves
    if (running && waiting.has(running)) this.#saves = []
    if (!lacking.empty) {
      const annotations = Transaction.addToHistory.of(false)
      this.dispatch({ changes: lacking, selection: inside(selection, target), annotations, filter: false })
    }
    for (const save of saves) save.last = waiting.has(save) ? this.#lastEdit : undefined
    this.#saves = saves
  }

  /** The change that adds to the server's text the edits of this window that the server does not have. */
  #lackingIn(theirs: Text, isAfterBreak: boolean): ChangeSet {
    const { doc } = this.state as EditorState
    if (theirs.eq(doc)) return ChangeSet.empty(doc.length)
    const { before, typed, isApart } = this.#typedOn
    const isBehind = () => (isAfterBreak && this.#hadBefore(theirs)) || this.#isOnTheWay(theirs)
    if (!isApart && isBehind()) return changesBetween(theirs, doc)
    if (typed.empty) return ChangeSet.empty(theirs.length)
    const change = changesBetween(before, theirs)
    const kept = isApart ? undefined : withoutVoidChoices(sendableUpdates(this.state as EditorState), before, change)
    return typedAfter(change, kept ?? typed)
  }

  /** Whether the server already had the text `theirs` before: then it has lost the edits made after that. */
  #hadBefore(theirs: Text): boolean {
    const texts = [this.#confirmed, ...(this.#written ? [this.#written] : []), ...this.#earlier.map(({ text }) => text)]
    return texts.some(text => text.eq(theirs))
  }

  /** Whether the server's text is the confirmed text with the first of the unconfirmed edits, one or several. */
  #isOnTheWay(theirs: Text): boolean {
    let text = this.#confirmed
    for (const { changes } of sendableUpdates(this.state as EditorState)) {
      text = changes.apply(text)
      if (text.eq(theirs)) return true
    }
    return false
  }

  /** Records the server's text. `change`: how it came from the one before. */
  #confirm(text: Text, change: ChangeSet): void {
    this.#earlier.push({ text: this.#confirmed, next: change, until: Date.now() })
    if (this.#earlier.length > MAX_EARLIER_TEXTS) this.#earlier.shift()
    this.#confirmed = text
  }

  async #push(): Promise<void> {
    const { at, path } = this
    if (at.kind === 'commit' || !this.state || this.#isClosed || this.#isAdopting) return
    const pending = sendableUpdates(this.state)
    if (pending.length === 0) {
      this.#isOneByOne = false
      this.#choices.onTyped(this)
      for (const { resolve } of this.#waiting.splice(0)) resolve()
      return
    }
    const sendable = this.#sendable
    if (sendable.length === 0) {
      for (const { resolve, isOfSave } of this.#waiting) if (isOfSave) resolve()
      this.#waiting = this.#waiting.filter(({ isOfSave }) => !isOfSave)
      return
    }
    const version = getSyncedVersion(this.state)
    const isWaiting = this.#isSending || this.#isRefused || this.isFromBeforeBreak || version < this.#awaited
    if (isWaiting || !this.#connection.isUp.peek()) return
    const edits = this.#isOneByOne ? sendable.slice(0, 1) : fitting(sendable)
    this.#isSending = true
    try {
      const { accepted, refused, isOfOtherText } = await this.#connection.ask('edit', {
        branch: at.branch,
        path,
        version,
        edits: edits.map(({ clientID, changes }) => ({ client: clientID, changes: changes.toJSON() })),
      })
      this.problem.value = undefined
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
      const isUnderOldName = path !== this.path || at !== this.at
      if (!(error instanceof Disconnected || isUnderOldName)) this.#refused((error as Error).message)
    }
    this.#push()
  }

  /**
   * Loads the file since the server has another text than this window: what was typed is moved onto that, and sent.
   * If that was of no use, the edits count as refused.
   */
  async #loadAgain(why: string): Promise<void> {
    if (this.#isLoadedAgain) {
      this.#refused(why)
      return
    }
    this.#isLoadedAgain = true
    await this.ask()
  }

  /** Records that edits are refused now, for example because an AI works in the branch. */
  #refused(why: string): void {
    this.#isRefused = true
    this.problem.value = why
    this.#forgetLater()
    const name = named(baseName(this.path))
    const error = new NotSent(`What was typed last in ${name} was not accepted by the desk. ${why}`)
    for (const { reject } of this.#waiting) reject?.(error)
    this.#waiting = this.#waiting.filter(({ reject }) => !reject)
  }

  /** Takes the first unsent edit, which can't be accepted, out of the text and into a box at its position. */
  #takeOut(why: string): void {
    if (this.#isHeldBack('refusal', () => this.sendAgain())) {
      this.#isRefused = true
      return
    }
    const state = this.state as EditorState
    const [first, ...rest] = sendableUpdates(state)
    if (!first) return
    // The edits after the refused one stay; their positions are changed to those without the refused text.
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

  /**
   * Whether the user is composing text (by an input method). `act` is then run after the composition, unless a later
   * action of the same kind replaces it.
   */
  #isHeldBack(kind: 'text' | 'extension' | 'refusal' | 'server', act: () => void): boolean {
    if (!this.#view?.composing && !this.#second?.composing) return false
    this.#held.set(kind, act)
    return true
  }

  #afterComposition(): void {
    if (this.#isClosed) return
    const held = [...this.#held.values()]
    this.#held.clear()
    for (const act of held) act()
  }

  /** After an edit: sends it at once, or after a delay together with refused ones. */
  #typed(): void {
    if (this.at.kind === 'branch' && !this.#isAdopting && this.isUnsettled) this.#choices.onTyped(this)
    if (!this.#isRefused || !this.isUnsettled) this.#push()
    else this.#later(SEND_AGAIN_MS, () => this.sendAgain())
  }

  /**
   * Loads the file again if the server's news does not come in time; edits that the server lacks are then sent again.
   */
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

  /** Schedules an action, unless one is scheduled already. */
  #later(milliseconds: number, run: () => void): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      if (!this.#isClosed) run()
    }, milliseconds)
  }

  /** Whether the lines end otherwise than in the last commit. A text of one line has no line end. */
  get #hasOtherLineEnds(): boolean {
    const { value: shown } = this.file
    if (shown?.kind !== 'text' || shown.savedLineEnd === undefined) return false
    return shown.lineEnd !== shown.savedLineEnd && (this.state?.doc.lines ?? 1) > 1
  }

  #sayCursor({ selection: { ranges } }: EditorState, place: Pick<Cursor, 'line' | 'column'>): void {
    const selected = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    const cursor = { ...place, selected, cursors: ranges.length }
    const was = this.cursor.peek()
    const isSame = was.line === cursor.line && was.column === cursor.column
    if (!isSame || was.selected !== selected || was.cursors !== cursor.cursors) this.cursor.value = cursor
  }

  /** Mixed line ends are part of the text, and change with it. */
  #sayMixedLineEnds(doc: Text): void {
    const { value: shown } = this.file
    if (shown?.kind !== 'text' || shown.lineEnd !== 'mixed' || doc === this.#lineEndsOf) return
    this.#lineEndsOf = doc
    this.mixedLineEnds.value = lineEndOf(doc.toString())
  }

  #say(): void {
    if (!this.state) return
    const counts = countsOf(this.state)
    const before = this.counts.peek()
    if (counts.added !== before.added || counts.deleted !== before.deleted) this.counts.value = counts
    const { value: shown } = this.file
    const isNewPath = shown?.kind === 'text' && shown.isNewPath === true
    const isDraft = isNewPath || isDifferent(this.state) || this.#hasOtherLineEnds
    this.isDraft.value = this.at.kind === 'branch' && isDraft
    const here = this.#hereState ?? this.state
    const head = shownCursor(here)
    const line = here.doc.lineAt(head)
    this.#sayCursor(here, { line: lineInFile(here, line.number), column: head - line.from + 1 })
    this.#sayMixedLineEnds(here.doc)
    const { tabSize, usesSpaces } = this.indentation
    this.indent.value = `${usesSpaces ? 'Spaces' : 'Tab width'}: ${tabSize}`
    this.conflicts.value = conflictsOf(this.state)
    this.blamed.value = this.#blame ? commitOfLine(here, this.#blame, line.number) : null
    const symbols = symbolsAt(here, head)
    const isSame =
      symbols.map(({ name }) => name).join('\0') ===
      this.symbols
        .peek()
        .map(({ name }) => name)
        .join('\0')
    if (!isSame) this.symbols.value = symbols
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

/** Whether a line of a text matches a pattern. */
function hasLine(text: Text, pattern: RegExp): boolean {
  for (const line of text.iterLines()) if (pattern.test(line)) return true
  return false
}

/** The numbers of the open conflicts, in one text. */
const numbersOfOpen = (state: EditorState): string =>
  conflictsOf(state)
    .open.map(({ number }) => number)
    .join()

function textOf(text: string): Text {
  return Text.of(text.split('\n'))
}

/** Limits of one comparison of characters (to scan, milliseconds); beyond them whole lines differ. */
const DIFF = byLines({ scanLimit: 500, timeout: 100 })

function changesBetween(from: Text, to: Text): ChangeSet {
  const before = from.toString()
  const after = to.toString()
  const changes = diff(before, after, DIFF).map(({ fromA, toA, fromB, toB }) => {
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
