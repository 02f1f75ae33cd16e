/**
 * Merge conflicts in the editor: each is shown as a block with both sides instead of its markers; a resolved one has a
 * line above it with Undo; the rest of the file can be edited. Markers can't be edited: a conflict is resolved only by
 * choosing.
 */
import { indentUnit } from '@codemirror/language'
import {
  EditorSelection,
  type EditorState,
  EditorState as EditorStates,
  type Extension,
  findClusterBreak,
  Prec,
  type Range,
  RangeSet,
  type SelectionRange,
  StateField,
  type Text,
  type Transaction,
  type TransactionSpec,
} from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  gutterLineClass,
  keymap,
  lineNumbers,
  type Rect,
  runScopeHandlers,
  WidgetType,
} from '@codemirror/view'
import { type ComponentChild, h, render } from 'preact'
import { type ConflictLines, lineInOurs } from '../../contract/conflict-lines.ts'
import { BEFORE_CHANGE, ENDS_CHANGED_IN_MERGE } from '../../contract/merging.ts'
import { abortedByInput, isFocusLost } from '../ui/focus.ts'
import { setSaved } from './change-marks.ts'
import { ConflictBox, SettledBox } from './conflict-box.tsx'
import { coloursAroundConflicts } from './conflict-language.ts'
import {
  type ConflictRegion,
  endOf,
  type FinalNewlines,
  parseConflicts,
  placesAfter,
  type SideChoice,
  type StrayMark,
  settling,
  wordsOfSettled,
} from './conflict-regions.ts'
import { editableRanges } from './find-panel.tsx'
import { CHOICE } from './pending-choices.ts'

export interface ConflictSettings {
  path: string
  /** The length of a conflict marker, in characters. */
  mark: number
  /** The text with markers, as the merge left it. Resolved conflicts are found by comparing with it. */
  marked: Text
  /**
   * Whether `marked` is the text in the last commit: when the branch has a new commit, the text there replaces
   * `marked`.
   */
  isSaved: boolean
  ends: FinalNewlines
  names: { ours: string; base: string; theirs: string }
  /** What waits, as a noun: `the cherry-pick`. */
  noun: string
  /**
   * The name of the model that resolved conflicts, and the text that it made of the file. `before`: the text without
   * what it resolved.
   */
  by: { model: string; text: string; before: string | undefined } | undefined
  /** Asks the AI to resolve one of the open conflicts, by its index from 0. */
  askAi: ((only: number) => void) | undefined
  /** Called when the number of conflicts left changes. */
  onCount: () => void
}

/** To focus a block that is not drawn yet, waits for it at most this many frames. */
const MAX_FRAMES_TO_DRAW = 20

/** An open conflict, and its number among all of the file, from 1. */
export interface OpenConflict {
  region: ConflictRegion
  number: number
}

/** A resolved conflict: its two sides, and the range of the resolution. */
interface SettledConflict {
  region: ConflictRegion
  lines: string
  number: number
  from: number
  to: number
  words: string
  /** The name of the model whose resolution it still has. */
  by: string | undefined
}

export interface ConflictsOfFile {
  open: OpenConflict[]
  settled: SettledConflict[]
  strays: StrayMark[]
  /** The number of conflicts left, as the server counts them: also those of which some marker lines are left. */
  left: number
  all: number
}

interface Shown extends ConflictsOfFile {
  settings: ConflictSettings
  ofModel: OfModel
  marked: string
  /** The sides of each conflict when it was last open, with what was typed into ours, by its number. */
  lastOpen: ReadonlyMap<number, ConflictRegion>
  places: readonly PlaceInOurs[]
  decorations: DecorationSet
}

/** Where a cursor is in our side of an open conflict, and where that side begins and ends. */
interface PlaceInOurs {
  region: ConflictRegion
  from: number
  to: number
  at: number
}

const NONE: ConflictsOfFile = { open: [], settled: [], strays: [], left: 0, all: 0 }

const shown = StateField.define<Shown | undefined>({
  create: () => undefined,
  update(value, transaction) {
    if (!value) return value
    const saved = transaction.effects.find(effect => effect.is(setSaved))
    const marked = saved && value.settings.isSaved ? (saved.value as Text).toString() : value.marked
    const { newDoc, newSelection } = transaction
    if (!transaction.docChanged && marked === value.marked) {
      const places = placesInOurs(newDoc, newSelection, value.open)
      if (areSame(places, value.places)) return value
      return { ...value, places, decorations: decorationsFor(value.settings, value, newDoc, places) }
    }
    const lastOpen = marked === value.marked ? value.lastOpen : undefined
    const ofModel = marked === value.marked ? value.ofModel : ofModelIn(value.settings, marked)
    const next = show(value.settings, marked, ofModel, newDoc, newSelection, lastOpen)
    if (next.left !== value.left) value.settings.onCount()
    return next
  },
  provide: field => [
    EditorView.decorations.from(field, value => value?.decorations ?? Decoration.none),
    EditorView.atomicRanges.of(view => openRanges(view.state)),
  ],
})

export function conflictsOf(state: EditorState): ConflictsOfFile {
  return state.field(shown, false) ?? NONE
}

/** The offset of the shown cursor: in an open conflict, it is shown in our side. */
export function shownCursor(state: EditorState): number {
  const { main } = state.selection
  return placeInOurs(state.doc, main, conflictsOf(state).open)?.at ?? main.head
}

/** Converts a line number of the editor to one of our side of the file: see {@link lineInOurs}. */
export function lineInFile(state: EditorState, line: number): number {
  return lineInOurs(openLines(state), line)
}

/** The lines of each open conflict, computed as they are asked for. */
function* openLines(state: EditorState): Iterable<ConflictLines> {
  const { doc } = state
  for (const { region } of conflictsOf(state).open) {
    const [first, last] = [doc.lineAt(region.from).number, doc.lineAt(region.to).number]
    yield { first, last, ours: linesIn(region.ours) }
  }
}

/** Converts a line number of our side of the file to one of the editor: the inverse of {@link lineInFile}. */
export function lineInEditor(state: EditorState, line: number): number {
  let hidden = 0
  for (const { first, last, ours } of openLines(state)) {
    if (line < first - hidden) break
    // Our lines follow the first marker.
    if (line < first - hidden + ours) return line + hidden + 1
    hidden += last - first + 1 - ours
  }
  return line + hidden
}

/** The text with our side of each open conflict in its place, without markers. */
export function textWithOurs(state: EditorState): string {
  const text = state.doc.toString()
  let at = 0
  let ours = ''
  for (const { region } of conflictsOf(state).open) {
    ours += text.slice(at, region.from) + region.ours
    // The line end of the last marker goes with it.
    at = region.to + 1
  }
  return ours + text.slice(at)
}

const linesIn = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

/** The line number in the gutter; empty beside an open conflict. */
function numberBeside(line: number, state: EditorState): string {
  const { doc } = state
  // The editor also asks for the widest number, which may be higher than any line's.
  if (line > doc.lines) return String(line)
  const { from } = doc.line(line)
  const isInConflict = conflictsOf(state).open.some(({ region }) => from >= region.from && from <= region.to)
  return isInConflict ? '' : String(lineInFile(state, line))
}

export function conflictExtension(settings: ConflictSettings): Extension {
  return [
    coloursAroundConflicts(settings.path, settings.mark),
    EditorView.editorAttributes.of({ class: 'has-conflicts' }),
    EditorView.editorAttributes.compute(['selection', shown], state => ({ class: isAtBox(state) ? 'at-box' : '' })),
    shown.init(({ doc, selection }) => {
      const marked = settings.marked.toString()
      return show(settings, marked, ofModelIn(settings, marked), doc, selection)
    }),
    EditorStates.changeFilter.of(marksAreNotTyped),
    EditorStates.transactionFilter.of(passBox),
    editableRanges.of(isOutsideConflicts),
    EditorView.domEventHandlers({ beforeinput: typeOnInOurs, paste: pasteInOurs, focus: leaveBox }),
    Prec.high(
      keymap.of([
        { key: 'Enter', run: breakLineInOurs },
        { key: 'Tab', run: view => insertInOurs(view, () => view.state.facet(indentUnit)) },
        { key: 'Backspace', run: deleteInOurs },
      ]),
    ),
    lineNumbers({ formatNumber: numberBeside }),
    mendedGutters,
    EditorView.updateListener.of(({ view, geometryChanged }) => {
      if (geometryChanged) fitBoxes(view)
    }),
  ]
}

// --- State ---

function show(
  settings: ConflictSettings,
  marked: string,
  ofModel: OfModel,
  doc: Text,
  selection: EditorSelection,
  before: ReadonlyMap<number, ConflictRegion> = new Map(),
): Shown {
  const found = read(settings, marked, ofModel, doc.toString(), before)
  const lastOpen = new Map([...before, ...found.open.map(({ number, region }) => [number, region] as const)])
  const places = placesInOurs(doc, selection, found.open)
  return {
    ...found,
    settings,
    marked,
    ofModel,
    lastOpen,
    places,
    decorations: decorationsFor(settings, found, doc, places),
  }
}

/** The texts by which a model has resolved conflicts, by their numbers. */
type OfModel = ReadonlyMap<number, string>

function ofModelIn(settings: ConflictSettings, marked: string): OfModel {
  const { text, before } = settings.by ?? {}
  if (text === undefined) return new Map()
  const resolvedIn = (of: string) =>
    new Map(
      read(settings, marked, new Map(), of, new Map()).settled.map(({ number, from, to }) => [
        number,
        of.slice(from, to),
      ]),
    )
  const others = before === undefined ? new Map() : resolvedIn(before)
  return new Map([...resolvedIn(text)].filter(([number, words]) => others.get(number) !== words))
}

function read(
  { mark, by }: ConflictSettings,
  marked: string,
  ofModel: OfModel,
  text: string,
  lastOpen: ReadonlyMap<number, ConflictRegion>,
): ConflictsOfFile {
  const { regions, strays } = parseConflicts(text, mark)
  const original = parseConflicts(marked, mark).regions
  const places = placesAfter(marked, original, text)
  const isOpenIn = (place: { from: number; to: number }) =>
    [...regions, ...strays].some(({ from, to }) => from < place.to && to > place.from)
  const settled = places.flatMap((place, index): SettledConflict[] => {
    const region = original[index]
    if (!region || isOpenIn(place)) return []
    const number = index + 1
    const now = text.slice(place.from, place.to)
    const words = wordsOfSettled(lastOpen.get(number) ?? region, now)
    const lines = marked.slice(region.from, endOf(marked, region))
    return [{ region, lines, number, ...place, words, by: ofModel.get(number) === now ? by?.model : undefined }]
  })
  const all = Math.max(original.length, regions.length + settled.length)
  let last = 0
  const open = regions.map((region): OpenConflict => {
    // Where much of the text was replaced, several are found at one place: their sides and their order tell them apart.
    const found = places.flatMap(({ from, to }, at) => (at >= last && region.from < to && region.to > from ? [at] : []))
    const isSame = (at: number) => original[at]?.base === region.base && original[at]?.theirs === region.theirs
    const place = found.find(isSame) ?? found[0]
    last = place !== undefined && regions.length <= original.length ? place + 1 : last + 1
    return { region, number: last }
  })
  return { open, settled, strays, left: regions.length + unfinishedIn(strays), all }
}

/** The number of conflicts of which some marker lines are left: the most marker lines of one kind. */
function unfinishedIn(strays: readonly StrayMark[]): number {
  const counts = ['<', '|', '=', '>'].map(sign => strays.filter(stray => stray.sign === sign).length)
  return Math.max(...counts)
}

function decorationsFor(
  settings: ConflictSettings,
  { open, settled, strays, all }: ConflictsOfFile,
  doc: Text,
  places: readonly PlaceInOurs[],
) {
  const ranges: Range<Decoration>[] = []
  for (const { region, number } of open) {
    const cursors = places.flatMap(place => (place.region === region ? [place.at - place.from] : []))
    const widget = new OpenWidget(settings, region, number, all, cursors)
    ranges.push(Decoration.replace({ widget, block: true }).range(region.from, region.to))
  }
  for (const conflict of settled) {
    const line = doc.lineAt(conflict.from)
    // A conflict that was resolved to no text, at the end of a file without a final line end, has no line of its own.
    const isLineStart = line.from === conflict.from
    const widget = new SettledWidget(settings, conflict, all)
    ranges.push(Decoration.widget({ widget, block: true, side: isLineStart ? -1 : 1 }).range(conflict.from))
    for (const start of lineStarts(doc, conflict)) ranges.push(Decoration.line({ class: 'mended' }).range(start))
  }
  for (const { from } of strays) ranges.push(Decoration.line({ class: 'stray-mark' }).range(from))
  return Decoration.set(ranges, true)
}

/** The offsets at which the lines of a resolution begin. */
function* lineStarts(doc: Text, { from, to }: SettledConflict): Iterable<number> {
  for (let at = from; at < to; at = doc.lineAt(at).to + 1) yield doc.lineAt(at).from
}

const MENDED = new (class extends GutterMarker {
  override elementClass = 'mended'
})()

/** Marks the lines of resolutions in the gutters, too. */
const mendedGutters = gutterLineClass.compute([shown], state => {
  const starts = conflictsOf(state).settled.flatMap(conflict => [...lineStarts(state.doc, conflict)])
  return RangeSet.of(
    starts.map(start => MENDED.range(start)),
    true,
  )
})

function isOutsideConflicts(state: EditorState, from: number, to: number): boolean {
  return conflictsOf(state).open.every(({ region }) => to < region.from || from > region.to)
}

function openRanges(state: EditorState) {
  const { open } = conflictsOf(state)
  return Decoration.set(open.map(({ region: { from, to } }) => Decoration.mark({}).range(from, to)))
}

/** Rejects edits that would change a marker, the text between markers, or the line ends around them. */
function marksAreNotTyped(transaction: Transaction): readonly number[] | boolean {
  const { open } = conflictsOf(transaction.startState)
  // Choosing a side may change markers. (Undo and edits from the server bypass transaction filters.)
  if (open.length === 0 || transaction.isUserEvent(CHOICE) || transaction.isUserEvent(TYPED_IN_OURS)) return true
  // Half of a move would leave a marker or a line twice.
  const { changes } = transaction
  const isMove = transaction.isUserEvent('move')
  if (isMove && open.some(({ region: { from, to } }) => changes.touchesRange(from, to))) return false
  return open.flatMap(({ region: { from, to } }) => [from - 1, to + 1])
}

const TYPED_IN_OURS = 'input.type.ours'

/**
 * Continues typing in our side if an update has put conflict markers around the line being typed in: the cursor can't
 * enter a conflict otherwise. At the box of a conflict, where no cursor is visible, nothing is typed: the browser would
 * insert it into the line below. Returns whether the event is handled.
 */
function typeOnInOurs(event: InputEvent, view: EditorView): boolean {
  const { data, inputType } = event
  if (inputType !== 'insertText' || !data) return false
  if (!insertInOurs(view, () => data) && !isAtBox(view.state)) return false
  event.preventDefault()
  return true
}

function isAtBox(state: EditorState): boolean {
  const { empty, head } = state.selection.main
  return empty && conflictsOf(state).open.some(({ region: { from, to } }) => head >= from && head < to)
}

/**
 * The text gets the focus: a cursor at the box of a conflict, where it is not visible, moves to the line before it,
 * from which the key of the next conflict leads back. Nothing scrolls: the focus may come by a click. Returns that the
 * event is not handled.
 */
function leaveBox(_: FocusEvent, { state, dispatch }: EditorView): false {
  const { main, ranges } = state.selection
  const anchor = ranges.length === 1 ? besideBox(state, main, -1) : undefined
  if (anchor !== undefined) dispatch({ selection: { anchor } })
  return false
}

/** A key that moves a cursor to the box of a conflict, where it is not visible, moves it past that. */
function passBox(transaction: Transaction): TransactionSpec | readonly TransactionSpec[] {
  const { startState, newSelection, docChanged } = transaction
  if (docChanged || !transaction.isUserEvent('select')) return transaction
  const { ranges, mainIndex } = newSelection
  const before = startState.selection
  const moved = ranges.map((range, at) => {
    const { head } = before.ranges[at] ?? before.main
    const beside = besideBox(startState, range, range.head < head ? -1 : 1)
    return beside === undefined ? range : EditorSelection.cursor(beside)
  })
  if (moved.every((range, at) => range === ranges[at])) return transaction
  return [transaction, { selection: EditorSelection.create(moved, mainIndex), sequential: true }]
}

/**
 * The end of the line before the box of a conflict that a cursor is at, or the start of the line after it, the one in
 * the given direction if there is one. Undefined if the cursor is at no box, or is visible in our side.
 */
function besideBox(state: EditorState, cursor: SelectionRange, direction: 1 | -1): number | undefined {
  const { open } = conflictsOf(state)
  const { empty, head } = cursor
  const box = open.find(({ region: { from, to } }) => empty && head >= from && head <= to)
  if (!box || placeInOurs(state.doc, cursor, open)) return undefined
  const { from, to } = box.region
  const sides = direction === 1 ? [to + 1, from - 1] : [from - 1, to + 1]
  return sides.find(at => at >= 0 && at <= state.doc.length && isOutsideConflicts(state, at, at))
}

function pasteInOurs(event: ClipboardEvent, view: EditorView): boolean {
  const text = event.clipboardData?.getData('text/plain').replaceAll('\r\n', '\n')
  if (!text || !insertInOurs(view, () => text)) return false
  event.preventDefault()
  return true
}

/** Begins a new line at each cursor, with the indentation of its line. Returns whether one is in our side. */
function breakLineInOurs(view: EditorView): boolean {
  return insertInOurs(view, at => {
    const line = view.state.doc.lineAt(at)
    const [indentation] = line.text.slice(0, at - line.from).match(/^[ \t]*/) ?? ['']
    return `\n${indentation}`
  })
}

/** Inserts a text at each cursor. Returns whether one is in our side of an open conflict. */
function insertInOurs(view: EditorView, textAt: (at: number) => string): boolean {
  return editInOurs(view, ({ from, to }, place) => {
    const text = textAt(from)
    // A side without a line gets one.
    const insert = place?.region.ours === '' ? `${text}\n` : text
    return { from, to, insert, cursor: from + text.length }
  })
}

/** Deletes the character before each cursor. Returns whether one is in our side of an open conflict. */
function deleteInOurs(view: EditorView): boolean {
  const { doc } = view.state
  return editInOurs(view, ({ from, to }, place) => {
    const start = place?.from ?? Math.max(0, doc.lineAt(from).from - 1)
    const isCharacter = from === to && from > start
    const before = isCharacter ? findClusterBreak(doc.sliceString(start, from), from - start, false) + start : from
    return { from: before, to, insert: '', cursor: before }
  })
}

/** An edit at a cursor, and where the cursor is after it. */
interface EditAtCursor {
  from: number
  to: number
  insert: string
  cursor: number
}

/**
 * Makes an edit at each cursor or selection, if a cursor is in our side of an open conflict: what is typed with several
 * cursors is typed at all of them. Returns whether one is there.
 */
function editInOurs(
  view: EditorView,
  editAt: (selected: { from: number; to: number }, place: PlaceInOurs | undefined) => EditAtCursor,
): boolean {
  const { state } = view
  const value = state.field(shown, false)
  if (!value || value.places.length === 0 || state.readOnly) return false
  const edits = state.changeByRange(range => {
    const place = placeInOurs(state.doc, range, value.open)
    const { cursor, ...changes } = editAt(place ? { from: place.at, to: place.at } : range, place)
    // At the box of a conflict, where no cursor is visible, and over one nothing is edited.
    const isFree = place !== undefined || isOutsideConflicts(state, changes.from, changes.to)
    return isFree ? { changes, range: EditorSelection.cursor(cursor) } : { range }
  })
  view.dispatch({ ...edits, userEvent: TYPED_IN_OURS, scrollIntoView: true })
  return true
}

function placesInOurs(doc: Text, { ranges }: EditorSelection, open: OpenConflict[]): PlaceInOurs[] {
  return ranges.map(range => placeInOurs(doc, range, open)).filter(place => place !== undefined)
}

function areSame(places: readonly PlaceInOurs[], others: readonly PlaceInOurs[]): boolean {
  return places.length === others.length && places.every(({ at }, index) => at === others[index]?.at)
}

function placeInOurs(doc: Text, { head, empty }: SelectionRange, open: OpenConflict[]): PlaceInOurs | undefined {
  const inside = open.find(({ region }) => head > region.from && head < region.to)
  if (!empty || !inside) return undefined
  const { region } = inside
  const from = doc.lineAt(region.from).to + 1
  const to = Math.max(from, from + region.ours.length - 1)
  return { region, from, to, at: Math.min(Math.max(head, from), to) }
}

// --- Actions ---

/** Resolves a conflict and goes to the next one. */
function choose(view: EditorView, number: number, choice: SideChoice): void {
  const value = view.state.field(shown, false)
  const conflict = value?.open.find(it => it.number === number)
  if (!value || !conflict || view.state.readOnly) return
  const text = view.state.doc.toString()
  const edit = settling(text, conflict.region, choice, value.settings.ends)
  view.dispatch({ changes: edit, selection: { anchor: edit.from }, userEvent: CHOICE, scrollIntoView: true })
  const { open } = conflictsOf(view.state)
  const next = open.find(({ region }) => region.from >= edit.from) ?? open[0]
  if (!next) {
    focusBlock(view, `[data-settled="${number}"]`)
    return
  }
  showConflict(view, next)
  goneTo.set(view, next.number)
}

/** The conflict that the last choice in a view has gone to, until the user goes on from there. */
const goneTo = new WeakMap<EditorView, number>()

/** Reopens a resolved conflict. */
function change(view: EditorView, number: number): void {
  const conflict = conflictsOf(view.state).settled.find(it => it.number === number)
  if (!conflict || view.state.readOnly) return
  const { from, to, lines } = conflict
  // If the last line of the file lost its line end, it is added, since markers need a line of their own.
  const isBehindText = from > 0 && view.state.doc.sliceString(from - 1, from) !== '\n'
  const isBeforeText = to < view.state.doc.length && !lines.endsWith('\n')
  const insert = `${isBehindText ? '\n' : ''}${lines}${isBeforeText ? '\n' : ''}`
  view.dispatch({ changes: { from, to, insert }, userEvent: CHOICE })
  const again = conflictsOf(view.state).open.find(({ region }) => region.from >= from)
  if (again) showConflict(view, again)
}

/**
 * Where going to a conflict begins: at the cursor, ending at the last conflict or wrapping around, or at the start of
 * the file (or at its end, to go backwards).
 */
export type ConflictStart = 'cursor' | 'cursor, wrapping' | 'edge'

/**
 * Goes to the next (1) or previous (-1) open conflict. Returns false if there is none. A choice has gone to the next
 * conflict already: the first step forwards stays there, so that no conflict is skipped.
 */
export function moveToConflict(view: EditorView, by: 1 | -1, start: ConflictStart): boolean {
  const { open } = conflictsOf(view.state)
  const focused = focusedNumber(view)
  const current = focused ?? numberAtCursor(view, open)
  const at = open.findIndex(({ number }) => number === current)
  const isThere = by === 1 && focused !== undefined && goneTo.get(view) === focused
  goneTo.delete(view)
  const head = view.state.selection.main.head
  const behind = open.findIndex(({ region }) => region.from >= head)
  const nextOfCursor = behind < 0 ? open.length : behind
  const step = isThere ? 0 : by
  const next = at >= 0 ? at + step : by === 1 ? nextOfCursor : nextOfCursor - 1
  const edge = open.at(by === 1 ? 0 : -1)
  const conflict = start === 'edge' ? edge : (open[next] ?? (start === 'cursor, wrapping' ? edge : undefined))
  if (conflict) showConflict(view, conflict)
  return conflict !== undefined
}

function focusedNumber(view: EditorView): number | undefined {
  const box = document.activeElement?.closest<HTMLElement>('[data-conflict]')
  return box && view.dom.contains(box) ? Number(box.dataset.conflict) : undefined
}

/** The conflict that was shown last in a view. */
const shownLast = new WeakMap<EditorView, number>()

/** The conflict that was shown last, if the cursor is still there and its block has lost the focus to a button. */
function numberAtCursor(view: EditorView, open: readonly OpenConflict[]): number | undefined {
  // From the text, one goes to the conflict at the cursor first.
  if (view.hasFocus) return undefined
  const { head } = view.state.selection.main
  const there = open.find(({ region, number }) => region.from === head && number === shownLast.get(view))
  return there?.number
}

/** Scrolls to a conflict and focuses its block, so that its keys work. */
function showConflict(view: EditorView, { region, number }: OpenConflict): void {
  shownLast.set(view, number)
  view.dispatch({
    selection: { anchor: region.from },
    effects: EditorView.scrollIntoView(region.from, { y: 'center' }),
  })
  focusBlock(view, `[data-conflict="${number}"]`)
}

/**
 * Focuses the block of a merge's conflict that has come up at the cursor, as by the undo of an abort: the cursor would
 * not be visible, and the block's keys would be typed into the text.
 */
export function enterConflictAtCursor(view: EditorView): void {
  // In a draft's conflict, the user may be typing.
  if (view.state.field(shown, false)?.settings.isSaved) enterOpenAtCursor(view)
}

/** Focuses the block of the open conflict at the cursor, as after an undo. Returns whether there is one. */
export function enterOpenAtCursor(view: EditorView): boolean {
  const { main } = view.state.selection
  const conflict = conflictsOf(view.state).open.find(({ region }) => region.from === main.head)
  if (!conflict || !main.empty || !view.hasFocus) return false
  showConflict(view, conflict)
  return true
}

function focusBlock(view: EditorView, selector: string): void {
  const { activeElement: before } = document
  // If the focus has moved elsewhere meanwhile, it stays there.
  const isHere = () => document.activeElement === before || view.dom.contains(document.activeElement)
  const focus = (frames: number) => {
    if (!isHere()) return
    const box = view.dom.querySelector<HTMLElement>(selector)
    if (box) box.focus({ preventScroll: true })
    // A distant conflict is drawn only after scrolling, and a new view only after layout: tried again in the next
    // frame.
    else if (frames > 0) requestAnimationFrame(() => focus(frames - 1))
  }
  focus(MAX_FRAMES_TO_DRAW)
}

// --- Drawing ---

/** Makes the blocks as wide as the visible part of the text, and keeps them there, however long its lines are. */
export function fitBoxes(view: EditorView): void {
  view.requestMeasure({
    key: 'width of conflicts',
    read: () => {
      const gutters = view.contentDOM.getBoundingClientRect().left - leftOf(view.scrollDOM)
      return { gutters, width: view.scrollDOM.clientWidth - gutters }
    },
    write: ({ gutters, width }) => {
      const { style } = view.dom
      style.setProperty('--box-left', `${gutters}px`)
      const fitting = `${Math.max(200, Math.floor(width))}px`
      if (style.getPropertyValue('--box-width') === fitting) return
      style.setProperty('--box-width', fitting)
      // Another width gives the blocks another height. Only a pending request makes CodeMirror measure its lines again.
      view.requestMeasure({ read: () => undefined })
    },
  })
}

/** The left edge of a scroller's content, independent of the scroll position. */
function leftOf(scroller: HTMLElement): number {
  return scroller.getBoundingClientRect().left - scroller.scrollLeft
}

/**
 * Focuses the block that has taken the place of a conflict's; if none does, as after a save, the text. A block may be
 * drawn some frames later: until then, what is typed goes into the text, and the focus stays where a key or a click
 * has put it.
 */
function focusInstead(editor: Element, number: number): void {
  const used = abortedByInput()
  const text = editor.querySelector<HTMLElement>('.cm-content')
  const find = () => editor.querySelector<HTMLElement>(`[data-conflict="${number}"], [data-settled="${number}"]`)
  const look = (frames: number) => {
    const isHere = isFocusLost() || (document.activeElement === text && !used.signal.aborted)
    const block = find()
    const next = block ?? text
    if (isHere) next?.focus({ preventScroll: true })
    const isComing = !block && frames > 0 && editor.querySelector('.conflict-host') !== null
    if (isHere && isComing && !used.signal.aborted) requestAnimationFrame(() => look(frames - 1))
    else used.abort()
  }
  // At once after the update that removes the block: a key that comes before the next frame is typed, too, and one that
  // chooses a side is not.
  queueMicrotask(() => {
    const next = find() ?? text
    if (isFocusLost()) next?.focus({ preventScroll: true })
  })
  requestAnimationFrame(() => look(MAX_FRAMES_TO_DRAW))
}

abstract class Block extends WidgetType {
  /** The number of the conflict, from 1. */
  protected abstract readonly number: number
  protected abstract content(view: EditorView): ComponentChild

  override toDOM(view: EditorView): HTMLElement {
    const box = document.createElement('div')
    box.className = 'conflict-host'
    fitBoxes(view)
    render(this.content(view), box)
    return box
  }

  override updateDOM(box: HTMLElement, view: EditorView): boolean {
    render(this.content(view), box)
    return true
  }

  /** Passes the focus of the block on to the block or the text that takes its place. */
  override destroy(box: HTMLElement): void {
    const editor = box.contains(document.activeElement) ? box.closest('.cm-editor') : null
    render(null, box)
    if (editor) focusInstead(editor, this.number)
  }

  /** Tells CodeMirror to ignore all events in the block, which handles them. */
  override ignoreEvent(): boolean {
    return true
  }

  /**
   * Gives the height of the cursor in our side, or of the block without one, and the block's left edge, so that going
   * to it does not scroll the text sideways.
   */
  override coordsAt(box: HTMLElement): Rect {
    const whole = box.getBoundingClientRect()
    const [left, right] = [whole.left, whole.left]
    const cursor = box.querySelector('.side-cursor')
    const side = cursor?.closest('pre')?.getBoundingClientRect()
    if (!cursor || !side) return { left, right, top: whole.top, bottom: whole.bottom }
    // A long side scrolls by itself: a cursor outside of what it shows would scroll the text beyond its end.
    const { top: at, height } = cursor.getBoundingClientRect()
    const top = Math.max(side.top, Math.min(at, side.bottom - height))
    return { left, right, top, bottom: top + height }
  }
}

class OpenWidget extends Block {
  constructor(
    readonly settings: ConflictSettings,
    readonly region: ConflictRegion,
    readonly number: number,
    readonly all: number,
    /** Where cursors are in our side, as offsets in its text. */
    readonly cursors: readonly number[],
  ) {
    super()
  }

  override get estimatedHeight(): number {
    const lines = (text: string) => text.split('\n').length
    return 90 + 18 * Math.max(lines(this.region.ours), lines(this.region.theirs))
  }

  override eq(other: OpenWidget): boolean {
    const { ours, base, theirs } = this.region
    const isSame = ours === other.region.ours && base === other.region.base && theirs === other.region.theirs
    const isAtSame = this.number === other.number && this.all === other.all
    const areCursorsSame = this.cursors.join() === other.cursors.join()
    return isSame && isAtSame && areCursorsSame && this.settings === other.settings
  }

  protected override content(view: EditorView): ComponentChild {
    const { settings, region, number, all, cursors } = this
    const { askAi, names, noun } = settings
    const isOfUpdate = ENDS_CHANGED_IN_MERGE.test(view.state.doc.sliceString(region.from, region.to))
    // Our side may have lines of theirs that the step merges without a conflict since its update.
    const namesOfUpdate = {
      ours: `${names.ours} after the update`,
      base: BEFORE_CHANGE,
      theirs: `changed in this ${noun}`,
    }
    return h(ConflictBox, {
      path: settings.path,
      region,
      number,
      of: all,
      names: isOfUpdate ? namesOfUpdate : names,
      cursors: view.state.readOnly ? [] : cursors,
      choose: choice => choose(view, number, choice),
      askAi: askAi && (() => askAi(conflictsOf(view.state).open.findIndex(open => open.number === number))),
      leave: () => view.focus(),
      handOn: event => handOn(view, event),
    })
  }
}

class SettledWidget extends Block {
  protected readonly number: number

  constructor(
    readonly settings: ConflictSettings,
    readonly conflict: SettledConflict,
    readonly all: number,
  ) {
    super()
    this.number = conflict.number
  }

  override get estimatedHeight(): number {
    return 26
  }

  override eq(other: SettledWidget): boolean {
    const { number, words, by } = this.conflict
    const isSame = number === other.conflict.number && words === other.conflict.words && by === other.conflict.by
    return isSame && this.all === other.all && this.settings === other.settings
  }

  protected override content(view: EditorView): ComponentChild {
    const { number, words, by } = this.conflict
    return h(SettledBox, {
      words: by === undefined ? words : `${words}, by ${by}`,
      number,
      of: this.all,
      isByAi: by !== undefined,
      change: () => change(view, number),
      leave: () => view.focus(),
      handOn: event => handOn(view, event),
    })
  }
}

/** Moves the focus from a block to the text and runs the editor's command of a key. Returns whether it has one. */
function handOn(view: EditorView, event: KeyboardEvent): boolean {
  view.focus()
  return runScopeHandlers(view, event, 'editor')
}
