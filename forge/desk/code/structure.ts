/** The symbols of a file and what can be folded in it, by its syntax or, without a grammar, by its lines. */
import type { Path } from '../../../core/git/repository.ts'
import type { Definition } from '../../code/facts.ts'
import { grammarOfText } from '../../code/languages.ts'
import { factsByLines, lineLanguageOf } from '../../code/line-facts.ts'
import { type LineName, namesByLines } from '../../code/line-names.ts'
import type { CodeReader } from '../../code/reader.ts'
import type { FileStructure, FileSymbol, LineRange } from '../contract/code.ts'

export async function structureOf(code: CodeReader, path: Path, text: string): Promise<FileStructure> {
  if (!grammarOfText(path, text)) {
    if (lineLanguageOf(path) !== undefined)
      return { symbols: symbolsOf(factsByLines(path, text).definitions), folds: [] }
    const lines = text.split('\n').length
    return { symbols: symbolsOfLines(namesByLines(path, text), lines), folds: [] }
  }
  const known = await code.structureOf(path, text)
  if (!known) return { symbols: [], folds: [] }
  return { symbols: symbolsOf(known.facts.definitions), folds: known.folds.map((fold): LineRange => [...fold]) }
}

function symbolsOf(definitions: readonly Definition[]): FileSymbol[] {
  const depths: number[] = []
  return definitions.map(({ name, kind, inside, signature, line, column, start, end }) => {
    const depth = inside === undefined ? 0 : (depths[inside] ?? 0) + 1
    depths.push(depth)
    // A block of methods has no name of its own: its head tells which one it is.
    return { name: kind === 'impl' ? signature : name, kind, depth, line, column, start, end }
  })
}

/** A name ends before the next one that is not inside it. */
function symbolsOfLines(names: readonly LineName[], lines: number): FileSymbol[] {
  const symbols = names.map(({ name, kind, depth, line, column }): FileSymbol => {
    return { name, kind, depth, line, column, start: line, end: lines }
  })
  const open: FileSymbol[] = []
  for (const symbol of symbols) {
    while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= symbol.depth) {
      const ended = open.pop()
      if (ended) ended.end = Math.max(ended.start, symbol.start - 1)
    }
    open.push(symbol)
  }
  return symbols
}
