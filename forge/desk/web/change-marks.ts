/** Marks beside the lines that are different from the branch's last commit, and the way from one to the next. */
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

// A bound on the work of one comparison: beyond it, the differences are coarser.
const DIFF = { scanLimit: 500, timeout: 50 }
const MOST_MARKS = 20_000

export interface Counts {
  added: number
  deleted: number
}

interface Changes {
  saved: Text
  chunks: readonly Chunk[]
  markers: RangeSet<GutterMarker>
  counts: Counts
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

/** The text of the last commit is another one. */
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
      Chunk.updateB(chunks, saved, transaction.newDoc, transaction.changes, DIFF),
    )
  },
})

function compare(saved: Text, doc: Text): Changes {
  return describe(saved, doc, Chunk.build(saved, doc, DIFF))
}

function describe(saved: Text, doc: Text, chunks: readonly Chunk[]): Changes {
  const builder = new RangeSetBuilder<GutterMarker>()
  const counts = { added: 0, deleted: 0 }
  let marks = 0
  for (const chunk of chunks) {
    counts.added += linesIn(doc, chunk.fromB, chunk.toB)
    counts.deleted += linesIn(saved, chunk.fromA, chunk.toA)
    if (marks > MOST_MARKS) continue
    marks += markLines(builder, doc, chunk, saved.length === 0)
  }
  return { saved, chunks, markers: builder.finish(), counts }
}

function linesIn(text: Text, from: number, to: number): number {
  if (from === to || text.length === 0) return 0
  return text.lineAt(Math.min(to - 1, text.length)).number - text.lineAt(from).number + 1
}

function markLines(builder: RangeSetBuilder<GutterMarker>, doc: Text, chunk: Chunk, isNew: boolean): number {
  if (chunk.fromB === chunk.toB) {
    const at = Math.min(chunk.fromB, doc.length)
    const line = doc.lineAt(Math.max(0, at - 1))
    builder.add(line.from, line.from, at === 0 ? DELETED_ABOVE : DELETED)
    return 1
  }
  const first = doc.lineAt(chunk.fromB).number
  const count = linesIn(doc, chunk.fromB, chunk.toB)
  const mark = isNew || chunk.fromA === chunk.toA ? ADDED : CHANGED
  for (let number = first; number < first + count; number++) {
    const { from } = doc.line(number)
    builder.add(from, from, mark)
  }
  return count
}

export function changeMarks(saved: Text): Extension {
  return [
    changes.init(state => compare(saved, state.doc)),
    gutter({ class: 'cm-marks', renderEmptyElements: true, markers: view => view.state.field(changes).markers }),
  ]
}

export function countsOf(state: EditorState): Counts {
  return state.field(changes, false)?.counts ?? { added: 0, deleted: 0 }
}

export function isDifferent(state: EditorState): boolean {
  return (state.field(changes, false)?.chunks.length ?? 0) > 0
}

/** The place of the next change after the cursor, or of the first one. */
export function nextChange(state: EditorState): TransactionSpec | undefined {
  const chunks = state.field(changes, false)?.chunks ?? []
  const { head } = state.selection.main
  const chunk = chunks.find(({ fromB }) => fromB > head) ?? chunks[0]
  if (!chunk) return undefined
  const at = Math.min(chunk.fromB, state.doc.length)
  return { selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) }
}
