/**
 * An open file: what the page uses of it, and the parts that it is made of. Each part has a file of its own, which says
 * at its head what always holds in it, and knows of the others only what its constructor gets.
 *
 * - text-sync.ts keeps the text in step with the server, by what server-text.ts knows of the server's text.
 * - file-views.ts has the state of the text, its views, cursors and scroll positions; early-keys.ts the keys that are
 *   typed while the file is loading; composition.ts what waits for an input method.
 * - file-conflicts.ts has the conflicts; undo-ends.ts says where the undo of typing ends.
 * - file-syntax.ts has the symbols and folds, file-colours.ts the language of the colours, file-settings.ts the
 *   indentation and the user's settings, server-tools.ts what a language server offers.
 *
 * Here is what concerns several of them: loading, the extensions of the editor, when the text is read-only, and what is
 * told to the page after each change (`#say`).
 */
import { EditorState, type Extension, type StateEffect, type Text } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Edit, File } from '../../contract/branches.ts'
import type { Indentation } from '../../contract/desk.ts'
import type { Form, LineEnd } from '../../contract/editable-text.ts'
import type { Abilities, LanguageState, Problem, TextChange } from '../../contract/language.ts'
import type { Blame, BlamedCommit } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import type { FocusWish } from '../ui/focus.ts'
import type { LanguageName } from '../ui/languages.ts'
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
import { type ChangedLines, countsOf, discardChanges, isDifferent, nextChange, setSaved } from './change-marks.ts'
import { commentTokensOf } from './comment-tokens.ts'
import { Composition } from './composition.ts'
import {
  type ConflictStart,
  type ConflictsOfFile,
  enterOpenAtCursor,
  lineInEditor,
  lineInFile,
  shownCursor,
} from './conflict-editor.ts'
import { lineEndsNow } from './crlf.ts'
import { EarlyKeys } from './early-keys.ts'
import { Adjustable, editorExtensions } from './editor.ts'
import { FileColours } from './file-colours.ts'
import { FileConflicts } from './file-conflicts.ts'
import { FileSettings, type UserChoices } from './file-settings.ts'
import { FileSyntax } from './file-syntax.ts'
import { FileViews, type Places, type TextOfPlace } from './file-views.ts'
import type { LanguageQuestions } from './language-tools.ts'
import type { LineEdit } from './line-edits.ts'
import { linesInCommit } from './lines-in-commit.ts'
import { declarationAtCursor, nameAtCursor } from './name-at-cursor.ts'
import { byteForm, refusedTextOf } from './refused-text.ts'
import type { TextFile, UnsentEdits } from './server-text.ts'
import { ServerTools } from './server-tools.ts'
import { showHeadAtCursor, withSteadyCursor } from './steady-cursor.ts'
import type { CodeSymbol } from './symbols.ts'
import { changesBetween, textOf } from './text-changes.ts'
import { TextSync } from './text-sync.ts'
import { undoOfTwoViews } from './two-views.ts'
import { UndoEnds } from './undo-ends.ts'

export interface Cursor {
  /** The cursor's line in the file: of an open conflict above it, only our lines count. */
  line: number
  column: number
  /** The selected characters of all cursors, and the number of cursors. */
  selected: number
  cursors: number
}

/** The place in a file, and what the user has chosen for it: `indentation`, `language`. */
export interface Position extends Places {
  indentation?: Indentation | undefined
  language?: string | undefined
}

/** A position to open a file at. */
export type LeftPosition = Position & TextOfPlace

export interface EditorChoices extends UserChoices {
  nonce: string
  /** Called when text was typed that the server does not have yet, and when it has all of it. */
  onTyped: (file: OpenFile) => void
}

/** What was typed and is not confirmed, with the form of the file. */
export interface Unsent extends UnsentEdits {
  form: Form
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
  /** Increases when the text has changed. */
  readonly edits = signal(0)
  /** The commit of the cursor's line in a blame; undefined for an unsaved line, null without a blame. */
  readonly blamed = signal<BlamedCommit | undefined | null>(null)
  /** The state of the file's language server; undefined where there is none for such files, or not asked yet. */
  readonly language = signal<LanguageState | undefined>(undefined)
  /** Increases when the server has opened the file for this window. */
  readonly opens = signal(0)
  /** Called for a click on a name with Ctrl held; the cursor is at the name. */
  onDefinition: (() => void) | undefined
  /** Called for the key that comments lines, where the comments of the file's language are not known. */
  onNoComments: (() => void) | undefined
  /** Called for an undo that does nothing since the history of edits was ended, as where conflicts began. */
  onUndoCut: (() => void) | undefined

  readonly #connection: Connection
  readonly #choices: EditorChoices
  readonly #adjustable = new Adjustable()
  readonly #views: FileViews
  readonly #earlyKeys: EarlyKeys
  readonly #composition: Composition
  readonly #undo: UndoEnds
  readonly #conflicts: FileConflicts
  readonly #sync: TextSync
  readonly #syntax: FileSyntax
  readonly #colours: FileColours
  readonly #settings: FileSettings
  readonly #serverTools: ServerTools
  /** Of a file with mixed line ends, where they are part of the text: those that it has now. */
  readonly #mixedLineEnds = signal<LineEnd>('mixed')
  #blame: LineCommits | undefined
  #form: Form | undefined
  #isClosed = false
  #isLocked = false

  constructor(connection: Connection, choices: EditorChoices, at: At, path: string, position: LeftPosition) {
    const { indentation, language, ...places } = position
    this.#views = new FileViews(places, this.#adjustable, {
      onEdit: () => this.edits.value++,
      onChange: () => this.#say(),
    })
    this.#earlyKeys = new EarlyKeys(this.#views)
    this.#composition = new Composition(this.#views)
    this.#undo = new UndoEnds(this.#views, this.#adjustable)
    const editor = {
      file: this,
      views: this.#views,
      adjustable: this.#adjustable,
      composition: this.#composition,
      undo: this.#undo,
    }
    this.#conflicts = new FileConflicts({
      ...editor,
      onHeld: () => this.#adjustReadOnly(),
      onKnown: () => this.#takeEarly(),
      onShown: () => this.#say(),
    })
    const onTyped = () => choices.onTyped(this)
    this.#sync = new TextSync({ ...editor, connection, conflicts: this.#conflicts, onTyped })
    this.#syntax = new FileSyntax(connection, this, this.#views)
    this.#colours = new FileColours(this, this.#views, this.#adjustable, language)
    this.#settings = new FileSettings(connection, this, this.#views, this.#adjustable, choices)
    this.#settings.chosenIndentation = indentation
    this.#serverTools = new ServerTools({ ...editor, confirmed: () => this.#sync.confirmed })
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

  /** The state of the text; undefined until the file is loaded, and if it is no text. */
  get state(): EditorState | undefined {
    return this.#views.state
  }

  /** Follows the rename of the branch. After a break nothing is sent before the file is loaded. */
  moveToBranch(branch: string): void {
    this.#at.value = { kind: 'branch', branch }
    if (!this.isFromBeforeBreak) this.sendAgain()
  }

  /** Follows a rename. `isAfterBreak`: the connection broke, so nothing is sent before the file is loaded. */
  moveTo(path: string, isAfterBreak: boolean): void {
    this.#path.value = path
    this.#syntax.moved()
    if (!isAfterBreak) {
      this.sendAgain()
      void this.#settings.loadEditorConfig()
    }
    if (this.state) void this.#colours.colour()
  }

  close(): void {
    this.#isClosed = true
    this.#composition.close()
    this.#sync.close()
    this.#syntax.close()
    if (this.#connection.isUp.peek()) this.#connection.ask('close', { at: this.at, path: this.path }).catch(() => {})
  }

  // --- Loading

  /** Loads the file: on opening, after a break, and when its branch has a new commit. */
  async ask(): Promise<void> {
    try {
      const file = await this.#connection.ask('open', { at: this.at, path: this.path })
      if (this.#isClosed) return
      this.#sync.opened()
      this.take(file)
      this.opens.value++
    } catch (error) {
      if (error instanceof Disconnected) return
      const why = String((error as Error).message)
      if (this.isUnsettled) this.#sync.refuse(why)
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
  take(file: File): void {
    if (file.kind !== 'text' && this.isUnsettled) {
      this.#sync.refuse(
        `${named(baseName(this.path))} ${file.kind === 'nothing' ? 'was deleted' : 'is no text any more'}.`,
      )
      return
    }
    this.#sync.loaded(file.kind === 'text' && file.readOnly !== undefined)
    if (this.state && file.kind === 'text' && this.#composition.isHeldBack('text', () => this.ask())) return
    const before = this.state?.doc
    if (file.kind !== 'text') this.#views.begin(undefined)
    else if (this.state) withSteadyCursor(this.#views.all, () => this.#compare(file))
    else this.#start(file)
    this.file.value = file
    if (file.kind === 'text') this.#conflicts.lookForMarkers(before)
    this.#takeEarly()
    if (file.kind === 'text') this.#say()
    else {
      this.isDraft.value = false
      this.#syntax.symbols.value = []
      this.blamed.value = null
    }
    this.#sync.push()
  }

  #start(file: TextFile): void {
    this.#sync.start(file)
    const { confirmed } = this.#sync
    this.#form = { lineEnd: file.lineEnd, bom: file.bom }
    this.#serverTools.start()
    const isReadOnly = this.#isReadOnly(file)
    const state = EditorState.create({
      doc: confirmed,
      selection: { anchor: this.#views.firstCursorIn(confirmed) },
      extensions: [
        editorExtensions({
          nonce: this.#choices.nonce,
          saved: this.at.kind === 'commit' ? undefined : textOf(file.saved ?? ''),
          isReadOnly,
          onDefinition: view => {
            this.lookAt(view)
            this.onDefinition?.()
          },
          onExpand: view => this.#syntax.expand(view),
          onShrink: view => this.#syntax.shrink(view),
          comments: () => commentTokensOf(this.path),
          onNoComments: () => this.onNoComments?.(),
          ...this.#settings.initial(file.text),
          form: this.at.kind === 'commit' ? undefined : this.#form,
          collaboration: this.#sync.collaboration(file.version),
          adjustable: this.#adjustable,
        }),
        this.#conflicts.start(),
        EditorView.domEventHandlers({
          // The browser puts the cursor at the start of the text. CodeMirror puts it back, but a key may be faster.
          focus: (_, view) => view.focus(),
          compositionend: () => {
            this.#composition.ended()
          },
        }),
        undoOfTwoViews(() => this.#views.both, {
          onDone: view => {
            if (!enterOpenAtCursor(view)) showHeadAtCursor(view)
          },
          onNothing: () => {
            if (this.#undo.isCut) this.onUndoCut?.()
          },
        }),
        this.#views.followed(update => {
          if (update.docChanged) this.edits.value++
          if (update.docChanged || update.selectionSet || update.transactions.length > 0) this.#say()
          if (update.docChanged) {
            this.#sync.typed()
            this.#syntax.askLater()
          }
        }),
      ],
    })
    this.#views.begin(state)
    void this.#colours.colour()
    void this.#settings.loadEditorConfig()
  }

  #compare(file: TextFile): void {
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
    this.#views.reconfigure(effects)
    if (this.at.kind === 'branch') this.#sync.compare(file)
  }

  // --- The text, in step with the server

  /** The text as it is shown; undefined if the file is no text or not loaded. */
  get text(): Text | undefined {
    return this.state?.doc
  }

  /** Replaces the text by one edit of the parts that differ. Returns false if it is not `before` any more. */
  replaceText(before: Text, text: string): boolean {
    if (!this.state?.doc.eq(before) || this.state.readOnly) return false
    const changes = changesBetween(before, textOf(text))
    if (!changes.empty) this.#views.dispatch({ changes, userEvent: 'input.format' })
    return true
  }

  /** Applies edits numbered by the server, this window's among them. The first leads from `version` to the next one. */
  receive(version: number, edits: Edit[]): void {
    this.#sync.receive(version, edits)
  }

  /** Sends all edits, refused ones once more. Resolves when the server has them. Rejects if it refuses some. */
  settled(): Promise<void> {
    return this.#sync.settled(false)
  }

  /** Like {@link settled}, but for the edits that belong to a save which was begun. */
  settledForSave(): Promise<void> {
    return this.#sync.settled(true)
  }

  /**
   * Begins a save of the current text. Later edits are sent only after the save, or the server would save them, too.
   * The returned function ends the save.
   */
  markForSave(): () => void {
    return this.#sync.markForSave()
  }

  /** Resolves when the server has all edits, however often it refuses them before. */
  sent(): Promise<void> {
    return this.#sync.sent()
  }

  /** Sends refused edits again, on request or because something has changed. */
  sendAgain(): void {
    this.#sync.sendAgain()
  }

  /** Whether the connection broke since the file was opened: nothing is sent until it is opened again. */
  get isFromBeforeBreak(): boolean {
    return this.#sync.isFromBeforeBreak
  }

  /** Whether some edits have not reached the server. */
  get isUnsettled(): boolean {
    return this.#sync.isUnsettled
  }

  /** The text that has not reached the server, for the browser to keep; undefined for none. */
  get unsent(): Unsent | undefined {
    const edits = this.#sync.unsent
    return edits && this.#form && { form: this.#form, ...edits }
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

  // --- Views, their cursors, and edits at the cursor

  /** Makes a view of this file. `isHere`: whether it is in the half with the focus. */
  makeView(parent: HTMLElement, isHere: boolean): EditorView {
    const isFirst = this.#views.first === undefined
    const view = this.#views.make(parent, isHere)
    if (isFirst) this.#settings.wrap(this.#choices.isWrapped.peek())
    if (isHere) this.lookAt(view)
    this.#conflicts.goToWanted()
    this.#syntax.askLater(0)
    this.#views.scrollToPlace(view)
    return view
  }

  /** Records which of two views has the focus: the cursor and actions are those of that view. */
  lookAt(view: EditorView): void {
    this.#views.lookAt(view)
  }

  /** Removes a view, which is then destroyed. */
  hide(view: EditorView): void {
    this.#views.hide(view)
  }

  /** Records the first visible line of a view. */
  scrolled(view: EditorView): void {
    this.#views.scrolled(view)
  }

  /** Runs a command of the editor, such as going to the next problem. */
  run(command: (view: EditorView) => unknown): void {
    this.#views.run(command)
  }

  /** The state of the view in the half with the focus. */
  get stateHere(): EditorState | undefined {
    return this.#views.stateHere
  }

  /** Keeps a key typed while the file is loading. Returns whether it was kept. */
  typeEarly(key: string): boolean {
    return this.#earlyKeys.type(key)
  }

  /** Runs `go`, which moves the cursor; in a file that is loading, once it has loaded, and before keys typed later. */
  goWhenOpened(go: () => void): void {
    if (this.state) {
      this.#views.followCursor()
      go()
    } else if (this.file.peek() === undefined) this.#earlyKeys.keepJump(go)
  }

  /** Inserts the keys typed while the file was loading at the cursor, unless the file is read-only. */
  #takeEarly(): void {
    if (!this.#conflicts.isHeld) this.#earlyKeys.insert(this.#isLocked)
  }

  /** The first lines, the cursors and what was chosen for the file, to restore after a restart. */
  get position(): Position {
    const { chosenIndentation } = this.#settings
    const { chosen } = this.#colours
    return {
      ...this.#views.places,
      ...(chosenIndentation && { indentation: chosenIndentation }),
      ...(chosen && { language: chosen }),
    }
  }

  /** The position of the half with the focus, with its text: to open the same file at in another branch. */
  get leftPosition(): LeftPosition {
    const { other, ...here } = this.position
    return { ...here, text: this.state?.doc }
  }

  /** Goes to the position that another branch's version of the file was left at. */
  goToLeft(left: LeftPosition): void {
    this.#views.goToLeft(left)
  }

  /** Goes to a line by its number beside the text, from 1: of an open conflict above it, only our lines count. */
  goToShownLine(line: number, column: number): void {
    const state = this.stateHere
    if (state) this.goTo(lineInEditor(state, line), [column, column])
  }

  /** Goes to a match: its line in the whole text, from 1, and the range within it. */
  goTo(line: number, range?: [number, number]): void {
    this.#views.goTo(line, range)
  }

  /** Goes to an offset of the text. */
  goToPlace(at: number): void {
    this.#views.goToPlace(at)
  }

  goToNextChange(): void {
    const state = this.stateHere
    const change = state && nextChange(state)
    if (change) this.#views.dispatchHere(change)
  }

  /** Discards the changes at the selected lines. Returns whether there are any. */
  discardChanges(): boolean {
    const state = this.stateHere
    const edit = state && !state.readOnly ? discardChanges(state) : undefined
    if (edit) this.#views.dispatchHere(edit)
    return edit !== undefined
  }

  /** Makes an edit at the cursor of the half with the focus. Returns false if there is nothing to change. */
  change(edit: LineEdit): boolean {
    const state = this.stateHere
    const spec = state && !state.readOnly ? edit(state) : undefined
    if (spec) this.#views.dispatchHere(spec)
    return spec !== undefined
  }

  /** The name that is selected or at the cursor; undefined where there is none. */
  nameAtCursor(): string | undefined {
    const state = this.stateHere
    return state && nameAtCursor(state, this.path)
  }

  /** The place in the function around the cursor that declares the variable or parameter there, if it is one. */
  async declarationAtCursor(): ReturnType<typeof declarationAtCursor> {
    await this.#colours.coloured()
    const state = this.stateHere
    return state && (await declarationAtCursor(state))
  }

  /**
   * The selected lines, or those of the function around the cursor, by their numbers in the last commit; `name`: that
   * of the function. Undefined if there is no function, or if none of the lines is saved.
   */
  linesInCommit(of: 'selection' | 'function'): { from: number; to: number; name?: string } | undefined {
    const state = this.stateHere
    return state && linesInCommit(state, of)
  }

  // --- Conflicts, and when the text is read-only

  /** In a branch with a waiting merge: the file's open and resolved conflicts. */
  get conflicts(): ReadonlySignal<ConflictsOfFile> {
    return this.#conflicts.found
  }

  /** Whether conflict markers have come into the text that are not shown as conflicts yet, nor known to be none. */
  get hasUnknownMarkers(): ReadonlySignal<boolean> {
    return this.#conflicts.hasUnknownMarkers
  }

  /**
   * Adds extensions to the editor, such as a merge's conflicts. Does nothing if those of the same key are there.
   * `merge`: a key of the merge or of the drafts' conflict that they are about; empty for none.
   */
  extend(key: string, merge: string, make: () => Extension): void {
    this.#conflicts.extend(key, merge, make)
  }

  /** Called when the markers in the text are known to be no conflicts: they are text like any other. */
  knowMarkers(): void {
    this.#conflicts.knowMarkers()
  }

  /** Goes to the next or previous conflict. Returns false if there is none in that direction. */
  goToConflict(by: 1 | -1, start: ConflictStart): boolean {
    return this.#conflicts.goTo(by, start)
  }

  /**
   * Goes to the first (1) or last (-1) conflict and focuses it, as soon as the editor shows conflicts, while the wish
   * for the focus is open.
   */
  enterConflicts(by: 1 | -1, wish: FocusWish): void {
    this.#conflicts.enter(by, wish)
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
    this.#views.reconfigure(this.#adjustable.readOnly.reconfigure(readOnly))
  }

  #isReadOnly(file: TextFile): boolean {
    return this.at.kind === 'commit' || file.readOnly !== undefined || this.#isLocked || this.#conflicts.isHeld
  }

  // --- Structure, colours, settings

  /** The functions, classes or headings around the cursor, the outermost first. */
  get symbols(): ReadonlySignal<CodeSymbol[]> {
    return this.#syntax.symbols
  }

  /** Increases when the server has told the symbols of the text. */
  get structures(): ReadonlySignal<number> {
    return this.#syntax.structures
  }

  /** All functions, classes or headings of the file, as far as the server has told them. */
  allSymbols(): CodeSymbol[] {
    return this.#syntax.all()
  }

  /** Resolves once the symbols and folds are those of the text, or can't be had. */
  structured(): Promise<void> {
    return this.#syntax.ask()
  }

  /** The language by which the text is coloured. */
  get languageName(): ReadonlySignal<LanguageName> {
    return this.#colours.name
  }

  /** The language that the name of the file, or its first line, tells. */
  get detectedLanguage(): LanguageName {
    return this.#colours.detected
  }

  /** Sets the language that the user has chosen; undefined: the one detected again. */
  colourAs(chosen: LanguageName | undefined): Promise<void> {
    return this.#colours.choose(chosen)
  }

  /** What an indentation is, such as `Spaces: 4`. */
  get indent(): ReadonlySignal<string> {
    return this.#settings.indent
  }

  /** The width of an indentation, and whether the Tab key inserts spaces. */
  get indentation(): { tabSize: number; usesSpaces: boolean } {
    return this.#settings.indentation
  }

  /** Sets the indentation that the user has chosen; undefined: the one detected again. Existing text is not changed. */
  indentBy(chosen: Indentation | undefined): void {
    this.#settings.chosenIndentation = chosen
    this.#settings.apply()
  }

  set isWrapped(isWrapped: boolean) {
    this.#settings.wrap(isWrapped)
  }

  /** Applies the user's settings. */
  adjust(): void {
    this.#settings.apply()
  }

  // --- The language server, and the blame

  /** Whether the editor has the tools of a language server. */
  get hasServer(): boolean {
    return this.#serverTools.hasServer
  }

  /** How many problems the language server has found, of errors and warnings. */
  get problemCounts(): ReadonlySignal<{ errors: number; warnings: number }> {
    return this.#serverTools.problemCounts
  }

  /** Gives the editor the tools of a language server; undefined takes them away, with the problems. */
  showServer(server: { can: Abilities; questions: LanguageQuestions } | undefined): void {
    this.#serverTools.show(server)
  }

  /** Shows the problems that a language server has found in a version of the text. */
  takeProblems(version: number, problems: readonly Problem[]): void {
    this.#serverTools.takeProblems(version, problems)
  }

  /**
   * Makes changes that a language server proposed for a version of the text, as one step of Undo typing. Returns
   * whether they fit: not if something was typed since.
   */
  makeChanges(version: number, changes: readonly TextChange[]): boolean {
    return this.#serverTools.makeChanges(version, changes)
  }

  /** Shows the commits beside the lines (`open`: shows one of them); undefined hides them. */
  showBlame(blame: Blame | undefined, open: OpenBlamed): void {
    this.#blame = blame && lineCommits(blame)
    if (!this.state) return
    const shown = this.#blame ? blameGutter(this.#blame, open) : []
    this.#views.reconfigure(this.#adjustable.blame.reconfigure(shown))
  }

  /** The number that the cursor's line has in its commit of the blame. */
  get blamedLine(): number {
    const state = this.stateHere
    if (!state || !this.#blame) return 1
    return numberInCommit(state, this.#blame, state.doc.lineAt(state.selection.main.head).number)
  }

  // --- What is told to the page

  #say(): void {
    if (!this.state) return
    const counts = countsOf(this.state)
    const before = this.counts.peek()
    if (counts.added !== before.added || counts.deleted !== before.deleted) this.counts.value = counts
    const { value: shown } = this.file
    const isNewPath = shown?.kind === 'text' && shown.isNewPath === true
    const isDraft = isNewPath || isDifferent(this.state) || this.#hasOtherLineEnds
    this.isDraft.value = this.at.kind === 'branch' && isDraft
    const here = this.stateHere ?? this.state
    const head = shownCursor(here)
    const line = here.doc.lineAt(head)
    this.#sayCursor(here, { line: lineInFile(here, line.number), column: head - line.from + 1 })
    this.#mixedLineEnds.value = here.field(lineEndsNow, false) ?? 'mixed'
    this.#settings.say()
    this.#conflicts.say(this.state)
    this.blamed.value = this.#blame ? commitOfLine(here, this.#blame, line.number) : null
    this.#syntax.sayAt(here, head)
  }

  #sayCursor({ selection: { ranges } }: EditorState, place: Pick<Cursor, 'line' | 'column'>): void {
    const selected = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    const cursor = { ...place, selected, cursors: ranges.length }
    const was = this.cursor.peek()
    const isSame = was.line === cursor.line && was.column === cursor.column
    if (!isSame || was.selected !== selected || was.cursors !== cursor.cursors) this.cursor.value = cursor
  }

  /** The line ends of the text; undefined if the file is no text or not loaded. */
  get lineEnd(): LineEnd | undefined {
    const { value: shown } = this.file
    if (shown?.kind !== 'text') return undefined
    return shown.lineEnd === 'mixed' ? this.#mixedLineEnds.value : shown.lineEnd
  }

  /** Whether the lines end otherwise than in the last commit. A text of one line has no line end. */
  get #hasOtherLineEnds(): boolean {
    const { value: shown } = this.file
    if (shown?.kind !== 'text' || shown.savedLineEnd === undefined) return false
    return shown.lineEnd !== shown.savedLineEnd && (this.state?.doc.lines ?? 1) > 1
  }
}
