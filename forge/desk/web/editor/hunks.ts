/** Which lines of two texts differ, made from the places that @codemirror/merge finds. */
import type { Chunk } from '@codemirror/merge'
import type { Text } from '@codemirror/state'

/** Lines of one text that became lines of another: counted from 0, `to` is the first one behind. */
export interface Hunk {
  fromA: number
  toA: number
  fromB: number
  toB: number
}

/**
 * The lines of a chunk that differ. A chunk at the end of a text takes the last unchanged line with it where no line
 * end stands behind that: such a line is left out.
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

/** How many lines begin before a place. */
export function lineIndex(text: Text, at: number): number {
  if (text.length === 0 && at === 0) return 0
  return at > text.length ? text.lines : text.lineAt(at).number - 1
}

function lineAt(text: Text, index: number): string {
  return text.line(index + 1).text
}
