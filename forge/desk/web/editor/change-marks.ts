/** Marks beside the lines that differ from the branch's last commit, and the command that goes to the next one. */
import { Chunk } from '@codemirror/merge'
import {
  type EditorState,
  type Extension,
  type RangeSet,
  RangeSetBuilder,
  StateEffect,
  StateField,
  Text,
  type TransactionSpec,
} from '@codemirror/state'
import { EditorView, GutterMarker, gutter } from '@codemirror/view'
import type { Hunk } from '../../contract/line-diff.ts'
import { BY_LINES } from './by-lines.ts'
import { goToLine } from './gutter-clicks.ts'
import { hunksOf } from './hunks.ts'

const MAX_MARKS = 20_000

export interface ChangedLines {
  added: number
  deleted: number
}

interface Changes {
  saved: Text
  chunks: readonly Chunk[]
  hunks: readonly Hunk[]
  markers: RangeSet<GutterMarker>
  counts: ChangedLines
}

class Mark extends GutterMarker {
  override readonly elementClass: string

  constructor(elementClass: string) {
    super()
    this.elementClass = elementClass
  }
}

const ADDED = new Mark('mark-added')
const CHANGED = new Mark('mark-changed')
const DELETED = new Mark('mark-deleted')
const DELETED_ABOVE = new Mark('mark-deleted-above')

/** Sets the text of the last commit, which the document is compared with. */
export const setSaved = StateEffect.define<Text>()

const changes = StateField.define<Changes>({
  create: state => compare(Text.empty, state.doc),
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setSaved)) return compare(effect.value, transaction.newDoc)
    }
    if (!transaction.docChanged) return value
    const { saved, chunks } = value
    return describe(
      saved,
      transaction.newDoc,
      Chunk.updateB(chunks, saved, transaction.newDoc, transaction.changes, BY_LINES),
    )
  },
})

function compare(saved: Text, doc: Text): Changes {
  return describe(saved, doc, Chunk.build(saved, doc, BY_LINES))
}

function describe(saved: Text, doc: Text, chunks: readonly Chunk[]): Changes {
  const builder = new RangeSetBuilder<GutterMarker>()
  const hunks = chunks.flatMap(chunk => hunksOf(saved, doc, chunk)).map(hunk => withoutEnd(saved, doc, hunk))
  const counts = { added: 0, deleted: 0 }
  let marks = 0
  for (const hunk of hunks) {
    counts.added += hunk.toB - hunk.fromB
    counts.deleted += hunk.toA - hunk.fromA
    if (marks > MAX_MARKS) continue
    marks += markLines(builder, doc, hunk)
  }
  // Git does not count the empty line after a final line end. The hunks may have matched it with a real line, so the
  // counts are corrected here.
  const missing = linesIn(doc) - linesIn(saved) - (counts.added - counts.deleted)
  if (missing > 0) counts.added += missing
  else counts.deleted -= missing
  return { saved, chunks, hunks, markers: builder.finish(), counts }
}

/** The number of lines as git counts them. */
const linesIn = (text: Text): number => text.lines - (isEmptyAt(text, text.lines) ? 1 : 0)

/** Leaves the empty line after the last line end out of a hunk, unless it is the only difference. */
function withoutEnd(saved: Text, doc: Text, hunk: Hunk): Hunk {
  const { fromA, toA, fromB, toB } = hunk
  if (toA === saved.lines && toA > fromA && toB > fromB && isEmptyAt(saved, toA)) return { ...hunk, toA: toA - 1 }
  if (toB === doc.lines && toB > fromB && toA > fromA && isEmptyAt(doc, toB)) return { ...hunk, toB: toB - 1 }
  return hunk
}

function isEmptyAt(text: Text, number: number): boolean {
  return text.line(number).length === 0
}

function markLines(builder: RangeSetBuilder<GutterMarker>, doc: Text, { fromA, toA, fromB, toB }: Hunk): number {
  if (fromB === toB) {
    const line = doc.line(Math.max(1, fromB))
    builder.add(line.from, line.from, fromB === 0 ? DELETED_ABOVE : DELETED)
    return 1
  }
  const mark = fromA === toA ? ADDED : CHANGED
  for (let number = fromB + 1; number <= toB; number++) {
    const { from } = doc.line(number)
    builder.add(from, from, mark)
  }
  return toB - fromB
}

export function changeMarks(saved: Text): Extension {
  return [
    changes.init(state => compare(saved, state.doc)),
    gutter({
      class: 'cm-marks',
      renderEmptyElements: true,
      markers: view => view.state.field(changes).markers,
      domEventHandlers: { mousedown: goToLine },
    }),
  ]
}

export function countsOf(state: EditorState): ChangedLines {
  return state.field(changes, false)?.counts ?? { added: 0, deleted: 0 }
}

export function isDifferent(state: EditorState): boolean {
  return (state.field(changes, false)?.chunks.length ?? 0) > 0
}

/** The number of a line in the text of the last commit; undefined if the line differs from that. */
export function savedLineOf(state: EditorState, line: number): number | undefined {
  const hunks = state.field(changes, false)?.hunks ?? []
  let shift = 0
  for (const { toA, fromB, toB } of hunks) {
    if (line <= fromB) break
    if (line <= toB) return undefined
    shift = toA - toB
  }
  return line + shift
}

/**
 * Makes the edit that restores the selected lines as in the last commit. Where lines were added, or replaced by as many
 * others, only the selected ones are restored; any other change is discarded as a whole. Undefined if no selected line
 * differs.
 */
export function discardChanges(state: EditorState): TransactionSpec | undefined {
  const { saved, hunks } = state.field(changes, false) ?? { saved: Text.empty, hunks: [] }
  const { doc } = state
  const { from, to } = state.selection.main
  const [first, last] = [doc.lineAt(from).number - 1, doc.lineAt(to)]
  // A selection of whole lines ends at the start of the next one.
  const end = last.from === to && to > from ? last.number - 1 : last.number
  const edits = hunks.flatMap(hunk => {
    const isDeletion = hunk.fromB === hunk.toB
    // Deleted lines belong to the selection if it contains the line above or below them.
    const isMet = isDeletion ? hunk.fromB >= first && hunk.fromB <= end : hunk.fromB < end && hunk.toB > first
    return isMet ? [replacement(saved, doc, selectedPart(hunk, first, end))] : []
  })
  return edits.length === 0 ? undefined : { changes: edits, userEvent: 'input.discard', scrollIntoView: true }
}

/**
 * The part of a hunk inside the lines `first` to `end` (exclusive), or the whole hunk if its lines do not correspond
 * one to one.
 */
function selectedPart(hunk: Hunk, first: number, end: number): Hunk {
  const { fromA, toA, fromB, toB } = hunk
  const [from, to] = [Math.max(fromB, first), Math.min(toB, end)]
  if (fromA === toA && fromB < toB) return { fromA, toA, fromB: from, toB: to }
  if (toA - fromA !== toB - fromB) return hunk
  return { fromA: fromA + from - fromB, toA: fromA + to - fromB, fromB: from, toB: to }
}

/** The edit that replaces the lines of a hunk by the saved ones. */
function replacement(saved: Text, doc: Text, { fromA, toA, fromB, toB }: Hunk) {
  const lines = Array.from({ length: toA - fromA }, (_, at) => saved.line(fromA + at + 1).text)
  const startOf = (line: number) => (line < doc.lines ? doc.line(line + 1).from : doc.length)
  if (fromB === toB) {
    // After the last line, which has no line end, the deleted lines need a line end before them.
    if (fromB >= doc.lines) return { from: doc.length, to: doc.length, insert: `\n${lines.join('\n')}` }
    return { from: startOf(fromB), to: startOf(fromB), insert: lines.map(line => `${line}\n`).join('') }
  }
  const to = doc.line(toB).to
  if (lines.length > 0) return { from: startOf(fromB), to, insert: lines.join('\n') }
  // Added lines are removed with the line end after them, or, at the end of the text, with the one before them.
  if (toB < doc.lines) return { from: startOf(fromB), to: startOf(toB), insert: '' }
  return { from: Math.max(0, startOf(fromB) - 1), to, insert: '' }
}

/** Moves the cursor to the next change below its line, or else to the first change of the text. */
export function nextChange(state: EditorState): TransactionSpec | undefined {
  const hunks = state.field(changes, false)?.hunks ?? []
  const { doc } = state
  const line = doc.lineAt(state.selection.main.head).number
  const hunk = hunks.find(({ fromB }) => fromB >= line) ?? hunks[0]
  if (!hunk) return undefined
  const at = doc.line(Math.min(hunk.fromB + 1, doc.lines)).from
  return { selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) }
}
