/** Suggestions for a mistyped word. */

/**
 * The word nearest to a mistyped one, by wrong, missing, additional or swapped letters; undefined where none is near.
 */
export function nearestTo(word: string, words: readonly string[]): string | undefined {
  // In a short word, two wrong letters make another word.
  const most = word.length < 5 ? 1 : 2
  const near = words.map(it => ({ it, off: distance(word, it) })).filter(({ off }) => off <= most)
  return near.sort((one, other) => one.off - other.off)[0]?.it
}

function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= one.length; i++) {
    rows[i] = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const isTurned = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const ways = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1)]
      rows[i]?.push(Math.min(...ways, isTurned ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY))
    }
  }
  return at(one.length, other.length)
}
