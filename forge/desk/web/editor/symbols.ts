/**
 * The symbols of a file (functions, classes, headings) and what can be folded in it, as the desk's server finds them.
 * While the text is edited, they move with it, until the server has answered for the new text.
 */
import { codeFolding, foldService } from '@codemirror/language'
import {
  type EditorState,
  type Extension,
  RangeSet,
  RangeValue,
  StateEffect,
  StateField,
  type Text,
} from '@codemirror/state'
import type { FileStructure, LineRange } from '../../contract/code.ts'

export interface CodeSymbol {
  name: string
  kind: string
  /** The number of symbols that contain this one. */
  depth: number
  /** The offset of the symbol's first line in the text, and of the end of its last one. */
  from: number
  to: number
  /** The offset of its name. */
  at: number
}

/** Symbols that are parts of others, and too small to have a history of their own. */
const SMALL = /^(?:variable|constant|field|heading|key)$/

class SymbolRange extends RangeValue {
  constructor(
    readonly name: string,
    readonly kind: string,
    readonly depth: number,
    /** The offset of the name from the start of the symbol's first line. */
    readonly nameAfter: number,
  ) {
    super()
  }
}

class Fold extends RangeValue {}
const FOLD = new Fold()

interface Structure {
  symbols: RangeSet<SymbolRange>
  folds: RangeSet<Fold>
}

/** Sets the symbols and folds of the text, as the server gave them for it. */
export const setStructure = StateEffect.define<FileStructure>()

const NO_STRUCTURE: Structure = { symbols: RangeSet.empty, folds: RangeSet.empty }

const structure = StateField.define<Structure>({
  create: () => NO_STRUCTURE,
  update(value, transaction) {
    let next = value
    if (transaction.docChanged) {
      next = { symbols: value.symbols.map(transaction.changes), folds: value.folds.map(transaction.changes) }
    }
    for (const effect of transaction.effects) {
      if (effect.is(setStructure)) next = placed(effect.value, transaction.newDoc)
    }
    return next
  },
})

/** The structure of a text in offsets. Places that the text does not have are moved into it. */
function placed({ symbols, folds }: FileStructure, doc: Text): Structure {
  const symbolRanges = symbols.map(({ name, kind, depth, line, column, start, end }) => {
    const from = offsetOf(doc, start, 0)
    const to = Math.max(from, offsetOf(doc, end, Number.POSITIVE_INFINITY))
    return new SymbolRange(name, kind, depth, offsetOf(doc, line, column) - from).range(from, to)
  })
  const foldRanges = folds.flatMap(fold => {
    const { from, to } = rangeOf(doc, fold)
    return from < to ? [FOLD.range(from, to)] : []
  })
  return { symbols: RangeSet.of(symbolRanges, true), folds: RangeSet.of(foldRanges, true) }
}

/** A range of lines and columns in offsets. */
export function rangeOf(doc: Text, [line, column, toLine, toColumn]: LineRange): { from: number; to: number } {
  return { from: offsetOf(doc, line, column), to: offsetOf(doc, toLine, toColumn) }
}

/** The line, from 1, and the column of an offset. */
export function placeOf(doc: Text, at: number): [line: number, column: number] {
  const { number, from } = doc.lineAt(at)
  return [number, at - from]
}

function offsetOf(doc: Text, line: number, column: number): number {
  const { from, length } = doc.line(Math.max(1, Math.min(line, doc.lines)))
  return from + Math.max(0, Math.min(column, length))
}

/** The extension that keeps the structure, and folds by it; without it, by the language of the editor. */
export function structured(): Extension {
  return [structure, foldService.of(foldFrom), codeFolding()]
}

/** Whether two states have different symbols and folds. */
export function isStructureNew(before: EditorState, after: EditorState): boolean {
  return before.field(structure, false) !== after.field(structure, false)
}

/** The largest fold that begins in a line and ends after it. */
function foldFrom(state: EditorState, lineStart: number, lineEnd: number): { from: number; to: number } | null {
  let largest: { from: number; to: number } | null = null
  state.field(structure, false)?.folds.between(lineStart, lineEnd, (from, to) => {
    if (from < lineStart || to <= lineEnd) return
    if (!largest || to > largest.to) largest = { from, to }
  })
  return largest
}

/** The symbols around a position, the outermost first. */
export function symbolsAt(state: EditorState, at: number): CodeSymbol[] {
  const found: CodeSymbol[] = []
  state.field(structure, false)?.symbols.between(at, at, (from, to, value) => {
    found.push(symbolOf(from, to, value))
  })
  found.sort((one, other) => one.depth - other.depth || one.at - other.at)
  // Of several beside each other in one line, the last one that begins before the position.
  const byDepth = new Map<number, CodeSymbol>()
  for (const symbol of found) if (symbol.at <= at || !byDepth.has(symbol.depth)) byDepth.set(symbol.depth, symbol)
  return [...byDepth.values()]
}

/** The innermost function, class or type around a position. */
export function definitionAt(state: EditorState, at: number): CodeSymbol | undefined {
  return symbolsAt(state, at).findLast(({ kind }) => !SMALL.test(kind))
}

/** All symbols of a text in their order. */
export function symbolsOf(state: EditorState): CodeSymbol[] {
  const found: CodeSymbol[] = []
  const cursor = state.field(structure, false)?.symbols.iter()
  for (; cursor?.value; cursor.next()) found.push(symbolOf(cursor.from, cursor.to, cursor.value))
  return found.sort((one, other) => one.from - other.from || one.depth - other.depth || one.at - other.at)
}

function symbolOf(from: number, to: number, { name, kind, depth, nameAfter }: SymbolRange): CodeSymbol {
  return { name, kind, depth, from, to, at: Math.min(to, from + nameAfter) }
}
