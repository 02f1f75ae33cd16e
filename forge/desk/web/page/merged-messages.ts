/** Merges what two windows have made of the same commit message, so that neither loses what was typed in it. */
import { presentableDiff } from '@codemirror/merge'
import { differingLines, linesOf } from '../../contract/line-diff.ts'

/** A part of a text, and what replaces it. */
type Change = { from: number; to: number; insert: string }

/**
 * The text with what both windows have made of `base`: `theirs` and `own`. Changes of different places are all made.
 * Where both have changed the same words, the lines of both stay, one below the other, and `hasBoth` is true.
 */
export function mergedMessage(base: string, theirs: string, own: string): { text: string; hasBoth: boolean } {
  const typed = changesBetween(base, own)
  const their = changesBetween(base, theirs).filter(change => !typed.some(it => goesOnWith(it, change)))
  const mine = typed.filter(change => !their.some(it => goesOnWith(it, change)))
  // These two texts differ only where both windows have changed the same words.
  const one = withChanges(base, [...their, ...mine.filter(change => !isOfSameWords(change, their))])
  const other = withChanges(base, [...mine, ...their.filter(change => !isOfSameWords(change, mine))])
  return one === other ? { text: one, hasBoth: false } : { text: linesOfBoth(one, other), hasBoth: true }
}

/**
 * The changes from one text to another, line by line: a window may have changed several lines that the other one has
 * not changed.
 */
function changesBetween(before: string, after: string): Change[] {
  const [lines, newLines] = [linesOf(before), linesOf(after)]
  const changes: Change[] = []
  let [line, at] = [0, 0]
  for (const { fromA, toA, fromB, toB } of differingLines(lines, newLines)) {
    at += lines.slice(line, fromA).join('').length
    line = toA
    const [old, renewed] = [lines.slice(fromA, toA), newLines.slice(fromB, toB)]
    const isEachChanged = old.length === renewed.length
    const pairs = isEachChanged ? old.map((it, index) => [it, renewed[index]]) : [[old.join(''), renewed.join('')]]
    for (const [one = '', other = ''] of pairs) {
      for (const { fromA: from, toA: to, fromB, toB } of presentableDiff(one, other))
        changes.push({ from: at + from, to: at + to, insert: other.slice(fromB, toB) })
      at += one.length
    }
  }
  return changes
}

/** Whether a change continues another one: the desk has its beginning, but the answer that said so was lost. */
const goesOnWith = (change: Change, other: Change): boolean =>
  change.from === other.from && change.to === other.to && change.insert.startsWith(other.insert)

/** Whether a change replaces words that one of the others replaces, too, or is beside it in its line. */
function isOfSameWords(change: Change, others: readonly Change[]): boolean {
  return others.some(other => {
    if (change.insert === '' && other.insert === '') return false
    const [first, second] = inOrder([change, other]) as [Change, Change]
    if (first.to !== second.from) return first.to > second.from
    // One window types on at the end of a line, and the other one has made a line below it, or above it.
    return !second.insert.startsWith('\n') && !first.insert.endsWith('\n')
  })
}

/** A text after changes of it. They don't overlap, unless they delete the same words. */
function withChanges(text: string, changes: readonly Change[]): string {
  let [changed, at] = ['', 0]
  for (const { from, to, insert } of inOrder(changes)) {
    changed += text.slice(at, Math.max(at, from)) + insert
    at = Math.max(at, to)
  }
  return changed + text.slice(at)
}

/** Changes by their places; of those at the same place a new line below is the last one, and one above the first. */
function inOrder(changes: readonly Change[]): Change[] {
  const rank = ({ insert }: Change) => (insert.startsWith('\n') ? 1 : insert.endsWith('\n') ? -1 : 0)
  return changes.toSorted((one, other) => one.from - other.from || one.to - other.to || rank(one) - rank(other))
}

/** The lines of two texts: those that both have once, the others of the first one above those of the second. */
function linesOfBoth(first: string, second: string): string {
  const [one, other] = [first.split('\n'), second.split('\n')]
  const lines: string[] = []
  let at = 0
  for (const { fromA, toA, fromB, toB } of differingLines(one, other)) {
    const both = [one.slice(fromA, toA), other.slice(fromB, toB)]
    lines.push(...one.slice(at, fromA), ...both.filter(it => it.join('') !== '').flat())
    at = toA
  }
  return [...lines, ...one.slice(at)].join('\n')
}
