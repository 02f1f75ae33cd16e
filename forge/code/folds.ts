/** The parts of a text that an editor can fold, by its syntax. */
import type { Node, Tree, TreeCursor } from '@vscode/tree-sitter-wasm'
import type { TextRange } from './facts.ts'

/** At most this many nodes are visited, and this many folds are given. */
const MAX_NODES = 500_000
const MAX_FOLDS = 20_000

const OPENING = new Set(['{', '(', '[', '<', '${', '#{', '#('])
const CLOSING = new Set(['}', ')', ']', '>'])
/** Words that end a block, in languages without brackets around it. */
const ENDS = new Set(['end', 'done', 'fi', 'esac', 'endif', 'endfor', 'endwhile', 'endforeach', 'endswitch', '#endif'])
/** Nodes without a closing word, which are folded from their first line's end to their own end. */
const BLOCKS = /^(?:block|match_block|case_clause|switch_case|expression_case|default_case|communication_case)$/

/**
 * The folds, in the order of their starts. Between brackets, a fold is what is between them; a block without brackets
 * is folded from the end of the line that it belongs to.
 */
export function foldsIn(tree: Tree, text: string): TextRange[] {
  const lines = text.split('\n')
  const folds: TextRange[] = []
  const cursor = tree.walk()
  try {
    for (let visited = 0; visited < MAX_NODES && folds.length < MAX_FOLDS; visited++) {
      const fold = foldAt(cursor, lines)
      if (fold) folds.push(fold)
      const isLong = cursor.endPosition.row > cursor.startPosition.row
      if (isLong && cursor.gotoFirstChild()) continue
      if (!goToNext(cursor)) break
    }
  } finally {
    cursor.delete()
  }
  return folds
}

/** Goes to the next node that is not below the current one. */
function goToNext(cursor: TreeCursor): boolean {
  while (!cursor.gotoNextSibling()) if (!cursor.gotoParent()) return false
  return true
}

/** The fold of the node at a cursor. */
function foldAt(cursor: TreeCursor, lines: readonly string[]): TextRange | undefined {
  const { startPosition: start, endPosition: end, nodeType: type } = cursor
  if (!cursor.nodeIsNamed) return undefined
  if (end.row === start.row) return BLOCKS.test(type) ? blockFold(cursor.currentNode, lines) : undefined
  if (/comment/.test(type)) return [start.row + 1, lengthOf(lines, start.row), end.row + 1, end.column]
  const { currentNode: node } = cursor
  const [first, last] = [node.firstChild, node.lastChild]
  if (first && last && last.startPosition.row > first.endPosition.row) {
    const [opened, closed] = [first.endPosition, last.startPosition]
    if (OPENING.has(first.type) && CLOSING.has(last.type))
      return [opened.row + 1, opened.column, closed.row + 1, closed.column]
    // A block that begins in the middle of a line, as after `do`, is folded from the end of that line, too.
    if (ENDS.has(last.type)) return [start.row + 1, lengthOf(lines, start.row), closed.row + 1, closed.column]
  }
  return BLOCKS.test(type) && !(first && OPENING.has(first.type)) ? blockFold(node, lines) : undefined
}

/** The fold of a block without brackets: from the end of the line above it to its own end. */
function blockFold(node: Node, lines: readonly string[]): TextRange | undefined {
  const { startPosition: start, endPosition: end, previousSibling: before } = node
  const header = before && !before.isNamed ? before.endPosition.row : start.row
  // The last line of a block may be followed by empty ones that are part of it.
  let row = end.column === 0 ? end.row - 1 : end.row
  while (row > header && (lines[row] ?? '').trim() === '') row--
  return row > header ? [header + 1, lengthOf(lines, header), row + 1, lengthOf(lines, row)] : undefined
}

const lengthOf = (lines: readonly string[], row: number): number => (lines[row] ?? '').replace(/\r$/, '').length
