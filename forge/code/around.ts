/** The syntax around a range of a text, for a selection that grows step by step. */
import type { Node, Tree } from '@vscode/tree-sitter-wasm'
import type { TextRange } from './facts.ts'

/** At most this many ranges are given around one: deeper ones are in generated code. */
const MAX_AROUND = 400

/** For each range, what is around it in the syntax, the smallest first; each is larger than the one before it. */
export const aroundIn = ({ rootNode }: Tree, ranges: readonly TextRange[]): TextRange[][] =>
  ranges.map(range => aroundOne(rootNode, range))

function aroundOne(root: Node, range: TextRange): TextRange[] {
  const [line, column, toLine, toColumn] = range
  const [from, to] = [
    { row: line - 1, column },
    { row: toLine - 1, column: toColumn },
  ]
  const found: TextRange[] = []
  let last = range
  const add = (next: TextRange) => {
    if (!isLarger(next, last)) return
    found.push(next)
    last = next
  }
  let node: Node | null = root.descendantForPosition(from, to)
  for (; node && found.length < MAX_AROUND; node = node.parent) {
    const inner = withinBrackets(node)
    if (inner) add(inner)
    add(rangeOf(node))
  }
  return found
}

const rangeOf = ({ startPosition, endPosition }: Node): TextRange => [
  startPosition.row + 1,
  startPosition.column,
  endPosition.row + 1,
  endPosition.column,
]

const BRACKETS = new Map([
  ['{', '}'],
  ['(', ')'],
  ['[', ']'],
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
])

/** The range between the brackets or quotes that a node begins and ends with. */
function withinBrackets(node: Node): TextRange | undefined {
  const [first, last] = [node.firstChild, node.lastChild]
  if (!first || !last || first.id === last.id || BRACKETS.get(first.type) !== last.type) return undefined
  const { endPosition: start } = first
  const { startPosition: end } = last
  return [start.row + 1, start.column, end.row + 1, end.column]
}

/** Whether a range contains another one and more. */
function isLarger(range: TextRange, other: TextRange): boolean {
  const [starts, ends] = [before(range, other, 0), before(other, range, 2)]
  return starts <= 0 && ends <= 0 && (starts < 0 || ends < 0)
}

/** The order of two places: negative if that of `one` comes first. `at`: 0 for the starts, 2 for the ends. */
const before = (one: TextRange, other: TextRange, at: 0 | 2): number =>
  one[at] - other[at] || (at === 0 ? one[1] - other[1] : one[3] - other[3])
