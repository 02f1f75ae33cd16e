/** What two texts have in common, from their ends. */

/** How many characters, or items, two texts or lists have in common at their start, and at their end behind that. */
export function commonEnds(one: ArrayLike<string>, other: ArrayLike<string>): { start: number; end: number } {
  const shorter = Math.min(one.length, other.length)
  let start = 0
  while (start < shorter && one[start] === other[start]) start++
  let end = 0
  while (end < shorter - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++
  return { start, end }
}
