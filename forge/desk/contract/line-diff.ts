/** Compares two texts by their lines, as git does, also long ones with changes far from each other. */
import { diffArrays } from 'diff'

/** Lines of text A replaced by lines of text B: from 0, `to` exclusive. */
export interface Hunk {
  fromA: number
  toA: number
  fromB: number
  toB: number
}

/** More lines than this, on both sides together, are first split at lines that both texts have once. */
const MAX_LINES = 1_000
/** Lines without such a place are compared up to this number of changes. */
const MAX_EDITS = 1_000

/**
 * The range of the lines from..to after some changes. Text inserted directly before or after them is not part of it.
 */
export function placeAfter(
  { from, to }: { from: number; to: number },
  changes: readonly Hunk[],
): { from: number; to: number } {
  let [before, behind] = [from, to]
  for (const { fromA, toA, fromB, toB } of changes) {
    if (toA <= from) {
      before = from + toB - toA
      behind = to + toB - toA
    } else if (fromA < to) {
      if (fromA <= from) before = fromB
      behind = toA >= to ? toB : to + toB - toA
    }
  }
  return { from: before, to: Math.max(before, behind) }
}

/** The lines of a text, each with its line end. */
export const linesOf = (text: string): string[] => text.split(/(?<=\n)/)

/** Where each line begins, and the end of the last one. */
export function startsOf(lines: readonly string[]): number[] {
  const starts = [0]
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length)
  return starts
}

/** The lines that differ, in their order. */
export function differingLines(one: readonly string[], other: readonly string[]): Hunk[] {
  const found: Hunk[] = []
  const waiting: Hunk[] = [{ fromA: 0, toA: one.length, fromB: 0, toB: other.length }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const hunk = trimmed(one, other, next)
    const [countA, countB] = [hunk.toA - hunk.fromA, hunk.toB - hunk.fromB]
    if (countA === 0 && countB === 0) continue
    const anchors = countA + countB > MAX_LINES ? anchorsIn(one, other, hunk) : []
    if (anchors.length > 0) waiting.push(...between(anchors, hunk).reverse())
    else if (countA === 0 || countB === 0) found.push(hunk)
    else found.push(...comparedLines(one, other, hunk))
  }
  return found
}

/** A hunk without the equal lines at its start and its end. */
function trimmed(one: readonly string[], other: readonly string[], hunk: Hunk): Hunk {
  let { fromA, toA, fromB, toB } = hunk
  while (fromA < toA && fromB < toB && one[fromA] === other[fromB]) {
    fromA++
    fromB++
  }
  while (fromA < toA && fromB < toB && one[toA - 1] === other[toB - 1]) {
    toA--
    toB--
  }
  return { fromA, toA, fromB, toB }
}

/** What differs in a hunk, by the shortest list of changes; the whole hunk if there are too many. */
function comparedLines(one: readonly string[], other: readonly string[], hunk: Hunk): Hunk[] {
  const [linesA, linesB] = [one.slice(hunk.fromA, hunk.toA), other.slice(hunk.fromB, hunk.toB)]
  const changes = diffArrays(linesA, linesB, { maxEditLength: MAX_EDITS })
  if (!changes) return [hunk]
  const hunks: Hunk[] = []
  let [atA, atB] = [hunk.fromA, hunk.fromB]
  let current: Hunk | undefined
  for (const { added, removed, count } of changes) {
    if (!added && !removed) {
      atA += count
      atB += count
      current = undefined
      continue
    }
    if (!current) {
      current = { fromA: atA, toA: atA, fromB: atB, toB: atB }
      hunks.push(current)
    }
    if (removed) {
      atA += count
      current.toA = atA
    } else {
      atB += count
      current.toB = atB
    }
  }
  return hunks
}

/** Lines of both texts that are the same one. */
type Anchor = { a: number; b: number }

/** The hunks between lines that are the same. */
function between(anchors: readonly Anchor[], { fromA, toA, fromB, toB }: Hunk): Hunk[] {
  const hunks: Hunk[] = []
  let [atA, atB] = [fromA, fromB]
  for (const { a, b } of anchors) {
    hunks.push({ fromA: atA, toA: a, fromB: atB, toB: b })
    atA = a + 1
    atB = b + 1
  }
  hunks.push({ fromA: atA, toA, fromB: atB, toB })
  return hunks
}

/**
 * The lines that each text has once, as many of them as are in the same order in both: those of a patience diff.
 * Without such lines, all lines of the shorter text, if the longer one differs from it by insertions alone that are too
 * many to be compared.
 */
function anchorsIn(one: readonly string[], other: readonly string[], hunk: Hunk): Anchor[] {
  const { fromA, toA, fromB, toB } = hunk
  const [onceA, onceB] = [linesOnce(one, fromA, toA), linesOnce(other, fromB, toB)]
  const shared: Anchor[] = []
  for (const [line, a] of onceA) {
    const b = onceB.get(line)
    if (b !== undefined) shared.push({ a, b })
  }
  const anchors = longestRising(shared)
  const [countA, countB] = [toA - fromA, toB - fromB]
  if (anchors.length > 0 || Math.abs(countA - countB) <= MAX_EDITS) return anchors
  if (countA > countB) return linesWithin(one, other, hunk)
  const swapped = { fromA: fromB, toA: toB, fromB: fromA, toB: toA }
  return linesWithin(other, one, swapped).map(({ a, b }) => ({ a: b, b: a }))
}

/** Where the lines of text B are in text A; empty if A does not have all of them in their order. */
function linesWithin(one: readonly string[], other: readonly string[], { fromA, toA, fromB, toB }: Hunk): Anchor[] {
  const anchors: Anchor[] = []
  let b = fromB
  for (let a = fromA; a < toA && b < toB; a++) if (one[a] === other[b]) anchors.push({ a, b: b++ })
  return b === toB ? anchors : []
}

/** The lines that are there once, with their places, in their order. */
function linesOnce(lines: readonly string[], from: number, to: number): Map<string, number> {
  const places = new Map<string, number>()
  const often = new Set<string>()
  for (let at = from; at < to; at++) {
    const line = lines[at] ?? ''
    if (places.has(line)) often.add(line)
    else places.set(line, at)
  }
  for (const line of often) places.delete(line)
  return places
}

/** The longest part of a list, sorted by `a`, in which `b` rises, too. */
function longestRising(anchors: readonly Anchor[]): Anchor[] {
  /** The index of the anchor with the lowest `b` among the ends of all rising lists of a length. */
  const ends: number[] = []
  const before: (number | undefined)[] = []
  for (const [at, { b }] of anchors.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((anchors[ends[middle] ?? 0]?.b ?? 0) < b) low = middle + 1
      else high = middle
    }
    before.push(ends[low - 1])
    ends[low] = at
  }
  const rising: Anchor[] = []
  for (let at = ends.at(-1); at !== undefined; at = before[at]) {
    const anchor = anchors[at]
    if (anchor) rising.push(anchor)
  }
  return rising.reverse()
}
