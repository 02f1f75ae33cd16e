/** Refs whose names are typed in full: they come before all others that match the typed words. */
import { readable } from '../ui/names.ts'

/** The kinds of refs, in the order in which those of the same name come. */
const KINDS = ['branch', 'tag', 'remote branch'] as const
export type RefKind = (typeof KINDS)[number]
/** The rank of whatever is not typed in full. */
export const NOT_TYPED = 2 * KINDS.length

/**
 * The rank of a ref in a list that typed words narrow, the least first: a name that is typed in full, then one that
 * differs only in case, then all others. `names`: its names, as byte strings. Names of other kinds of things, such as
 * commits, are never typed in full.
 */
export function typedRank(words: string, kind: string, ...names: readonly string[]): number {
  const order = (KINDS as readonly string[]).indexOf(kind)
  if (order < 0) return NOT_TYPED
  const shown = names.map(readable)
  if (shown.includes(words)) return order
  const isInOtherCase = shown.some(name => name.toLowerCase() === words.toLowerCase())
  return isInOtherCase ? KINDS.length + order : NOT_TYPED
}

/** Sorts by rank; the order among those of the same rank stays. */
export function byRank<T>(items: readonly T[], rankOf: (item: T) => number): T[] {
  return items
    .map(item => ({ item, rank: rankOf(item) }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item)
}
