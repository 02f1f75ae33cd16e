/** Seeded random numbers, the same on every machine, for random histories. */

export type Random = {
  /** A random integer, at least 0 and less than the limit. */
  below: (limit: number) => number
  chance: (part: number) => boolean
  pick: <T>(list: readonly T[]) => T
}

/** A small seeded generator (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed * 0x9e3779b9
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, chance: part => next() < part, pick: list => list[below(list.length)] as (typeof list)[number] }
}
