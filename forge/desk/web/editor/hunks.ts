/** Converts the chunks of @codemirror/merge to differing lines. */
import type { Chunk } from '@codemirror/merge'
import type { Text } from '@codemirror/state'

/** Lines of text A replaced by lines of text B: from 0, `to` exclusive. */
export interface Hunk {
  fromA: number
  toA: number
  fromB: number
  toB: number
}

/**
 * The differing lines of a chunk. A chunk at the end of a text without a final line end includes the last unchanged
 * line, which is left out here.
 */
export function hunkOf(one: Text, other: Text, chunk: Chunk): Hunk {
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
