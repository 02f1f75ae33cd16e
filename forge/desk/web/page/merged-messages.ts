/** Merges what two windows have made of the same commit message, so that neither loses what was typed in it. */
import { commonEnds } from '../ui/kept-selection.ts'

/** A part of a text, and what replaces it. */
type Change = { from: number; to: number; insert: string }

/**
 * The text with what both windows have made of `base`: `theirs` and `own`. Changes of different places are both made.
 * Where both have changed the same place, the lines of both stay, one below the other, and `hasBoth` is true.
 */
export function mergedMessage(base: string, theirs: string, own: string): { text: string; hasBoth: boolean } {
  const as = (text: string) => ({ text, hasBoth: false })
  if (own === base) return as(theirs)
  if (theirs === base) return as(own)
  const [their, mine] = [changeFrom(base, theirs), changeFrom(base, own)]
  if (mine.to < their.from) return as(afterBoth(base, mine, their))
  if (their.to < mine.from) return as(afterBoth(base, their, mine))
  // One text goes on with the other: it was typed after that, but the answer to that was lost.
  if (mine.from === their.from && mine.to === their.to) {
    if (mine.insert.startsWith(their.insert)) return as(own)
    if (their.insert.startsWith(mine.insert)) return as(theirs)
  }
  // One window types on at the end of a line, below which the lines of the other one are.
  if (mine.to === their.from && their.insert.startsWith('\n')) return as(afterBoth(base, mine, their))
  if (their.to === mine.from && mine.insert.startsWith('\n')) return as(afterBoth(base, their, mine))
  return { text: linesOfBoth(theirs, own), hasBoth: true }
}

/** The change from one text to another: all that is between their common beginning and their common end. */
function changeFrom(before: string, after: string): Change {
  const { start, end } = commonEnds(before, after)
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}

/** A text after two changes, of which the second one begins where the first one ends, or later. */
const afterBoth = (text: string, first: Change, second: Change): string =>
  text.slice(0, first.from) + first.insert + text.slice(first.to, second.from) + second.insert + text.slice(second.to)

/** The lines that two texts begin and end with, and between those the other lines of the first and of the second. */
function linesOfBoth(first: string, second: string): string {
  const [one, other] = [first.split('\n'), second.split('\n')]
  const { start, end } = commonEnds(one, other)
  const between = [one, other]
    .map(lines => lines.slice(start, lines.length - end))
    .filter(lines => lines.join('') !== '')
  return [...one.slice(0, start), ...between.flat(), ...one.slice(one.length - end)].join('\n')
}
