/** Converts the chunks of @codemirror/merge, which differ by characters, to differing lines, as git counts them. */
import type { Chunk } from '@codemirror/merge'
import type { Text } from '@codemirror/state'
import { differingLines, type Hunk } from '../../contract/line-diff.ts'

/**
 * The differing lines of a chunk. A chunk at the end of a text without a final line end includes the last unchanged
 * line, which is left out here.
 */
export function hunksOf(one: Text, other: Text, chunk: Chunk): Hunk[] {
  return withoutCommonLines(one, other, hunkOf(one, other, chunk))
}

/** A hunk with more lines than this, on both sides together, is not split at its unchanged lines. */
const MAX_COMPARED_LINES = 400

/** Splits a hunk at the unchanged lines between its changes, which CodeMirror leaves in it where they are short. */
function withoutCommonLines(one: Text, other: Text, hunk: Hunk): Hunk[] {
  const { fromA, toA, fromB, toB } = hunk
  const [linesA, linesB] = [toA - fromA, toB - fromB]
  if (linesA === 0 || linesB === 0 || linesA + linesB > MAX_COMPARED_LINES) return [hunk]
  const lines = (text: Text, from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => lineAt(text, from + index))
  return differingLines(lines(one, fromA, toA), lines(other, fromB, toB)).map(it => ({
    fromA: fromA + it.fromA,
    toA: fromA + it.toA,
    fromB: fromB + it.fromB,
    toB: fromB + it.toB,
  }))
}

function hunkOf(one: Text, other: Text, chunk: Chunk): Hunk {
  let [fromA, fromB] = [lineIndex(one, chunk.fromA), lineIndex(other, chunk.fromB)]
  let [toA, toB] = [lineIndex(one, chunk.toA), lineIndex(other, chunk.toB)]
  while (fromA < toA && fromB < toB && lineAt(one, fromA) === lineAt(other, fromB)) {
    fromA++
    fromB++
  }
  while (fromA < toA && fromB < toB && lineAt(one, toA - 1) === lineAt(other, toB - 1)) {
    toA--
    toB--
  }
  return { fromA, toA, fromB, toB }
}

/** The number of lines that begin before a position. */
export function lineIndex(text: Text, at: number): number {
  if (text.length === 0 && at === 0) return 0
  return at > text.length ? text.lines : text.lineAt(at).number - 1
}

function lineAt(text: Text, index: number): string {
  return text.line(index + 1).text
}
