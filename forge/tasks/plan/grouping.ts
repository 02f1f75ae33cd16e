/** Groups files that belong together, by links of different weight, within bounds. */

/** Files that are resolved together. `bytes`: how much of them has to be read and answered. */
export type Unit = { paths: readonly string[]; bytes: number }
/** How strongly two units, by their indexes, belong together. */
export type Link = { one: number; other: number; weight: number }

/** The bounds of a group. A unit that is larger by itself is a group of its own. */
export type GroupBounds = { files: number; bytes: number }

/**
 * Joins units along their links, the strongest first, then those of a folder and of neighbouring folders while there is
 * room. Gives the indexes of each group, ordered by path; the same input always gives the same groups.
 */
export function groupUnits(units: readonly Unit[], links: readonly Link[], bounds: GroupBounds): number[][] {
  const groups = units.map((unit, at) => ({ units: [at], files: unit.paths.length, bytes: unit.bytes }))
  const groupOf = groups.map(group => group)
  const join = (one: number, other: number): void => {
    const [into, from] = [groupOf[one], groupOf[other]]
    if (!into || !from || into === from) return
    if (into.files + from.files > bounds.files || into.bytes + from.bytes > bounds.bytes) return
    into.units.push(...from.units)
    into.files += from.files
    into.bytes += from.bytes
    for (const at of from.units) groupOf[at] = into
  }
  for (const { one, other } of summed(links)) join(one, other)
  const order = [...units.keys()].sort((a, b) => compare(nameOf(units[a]), nameOf(units[b])))
  // Neighbours by path are mostly of one folder.
  const byFolder = [...Map.groupBy(order, at => folderOf(nameOf(units[at]))).values()]
  for (const folder of byFolder) for (const [at, unit] of folder.entries()) join(folder[at - 1] ?? unit, unit)
  for (const [at, unit] of order.entries()) join(order[at - 1] ?? unit, unit)
  const seen = new Set(order.map(at => groupOf[at]))
  return [...seen].map(group => (group?.units ?? []).sort((a, b) => compare(nameOf(units[a]), nameOf(units[b]))))
}

/** The links between the same two units as one, the strongest first; equal ones in their order. */
function summed(links: readonly Link[]): Link[] {
  const all = new Map<string, Link>()
  for (const { one, other, weight } of links) {
    const [a, b] = one < other ? [one, other] : [other, one]
    const key = `${a} ${b}`
    all.set(key, { one: a, other: b, weight: (all.get(key)?.weight ?? 0) + weight })
  }
  return [...all.values()].sort((a, b) => b.weight - a.weight || a.one - b.one || a.other - b.other)
}

const nameOf = (unit: Unit | undefined): string => unit?.paths[0] ?? ''
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
