/**
 * Divides a text that a grammar can't read as a whole into pieces, each of one or a few definitions at the top of the
 * file, so that a construct which the grammar does not know costs only the piece that it is in.
 */
import type { Node, Range } from '@vscode/tree-sitter-wasm'
import type { CodeFacts } from './facts.ts'

/** The share of a text that must be in errors at its top before it is divided. */
const MIN_ERROR_SHARE = 0.2
const MAX_PIECES = 3_000

/** Whether much of a text has no syntax tree. */
export const isMostlyError = (root: Node): boolean =>
  root.hasError && errorsAt(root.isError ? [root] : root.children) > MIN_ERROR_SHARE * lengthOf(root)

/** How much of a text has no syntax tree, in UTF-16 units: what of it is in errors, at any depth. */
export function errorChars(root: Node): number {
  let sum = 0
  // Not by recursion: a stranger's text may be nested very deeply.
  const cursor = root.walk()
  try {
    for (;;) {
      const { currentNode: node } = cursor
      if (node.isError) sum += lengthOf(node)
      else if (node.hasError && cursor.gotoFirstChild()) continue
      while (!cursor.gotoNextSibling()) if (!cursor.gotoParent()) return sum
    }
  } finally {
    cursor.delete()
  }
}

const errorsAt = (nodes: readonly (Node | null)[]): number =>
  nodes.reduce((sum, it) => sum + (it?.isError ? lengthOf(it) : 0), 0)

const lengthOf = ({ startIndex, endIndex }: Node): number => endIndex - startIndex

/** The pieces, each from a line that is not indented, after an empty line or the end of a block. */
export function piecesOf(text: string): Range[] {
  const pieces: Range[] = []
  let start = { startIndex: 0, startPosition: { row: 0, column: 0 } }
  let [at, row, isAfterEnd] = [0, 0, false]
  for (const line of text.split('\n')) {
    if (isAfterEnd && /^[A-Za-z_@#]/.test(line) && pieces.length < MAX_PIECES) {
      const end = { row, column: 0 }
      pieces.push({ ...start, endIndex: at, endPosition: end })
      start = { startIndex: at, startPosition: end }
    }
    isAfterEnd = line.trim() === '' || /^[}\])]/.test(line)
    at += line.length + 1
    row++
  }
  const last = text.slice(text.lastIndexOf('\n') + 1)
  pieces.push({ ...start, endIndex: text.length, endPosition: { row: row - 1, column: last.length } })
  return pieces
}

/** The facts of a whole text, of those of its pieces. */
export function joined(parts: readonly CodeFacts[]): CodeFacts {
  const definitions: CodeFacts['definitions'] = []
  for (const part of parts) {
    const before = definitions.length
    for (const { inside, ...rest } of part.definitions)
      definitions.push({ ...rest, ...(inside !== undefined && { inside: before + inside }) })
  }
  const all = (kind: 'references' | 'imports' | 'reexports') => [...new Set(parts.flatMap(part => part[kind]))]
  return { definitions, references: all('references'), imports: all('imports'), reexports: all('reexports') }
}
