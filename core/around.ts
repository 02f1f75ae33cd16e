/**
 * Finds changes beside conflicts: in a file with conflicts, the lines outside of them should be as git's own merge has
 * them.
 */
import { patchOf } from './git/diffs.ts'
import type { Oid, Path } from './git/repository.ts'
import type { Scratch } from './git/scratch.ts'

/** A range of lines of a file, counted from 1: a conflict with its marker lines. */
type Lines = { first: number; last: number }

/** At most this many lines next to a conflict may change with it, such as an enclosing bracket or a comma. */
const MAX_NEIGHBOURS = 3
/**
 * At most this many bytes of the differences are read, and files up to this size compared; what is beyond counts as
 * changed.
 */
const COMPARED = { bytes: 64 << 20, biggestFile: '8m' }

/** Finds the conflicts that git's own merge of two commits marked in a file. */
export function conflictLines(bytes: Uint8Array, ours: Oid, theirs: Oid): Lines[] {
  const [begins, ends] = [new RegExp(`^<+ ${ours}(:|\\r?$)`), new RegExp(`^>+ ${theirs}(:|\\r?$)`)]
  const found: Lines[] = []
  // Where both sides renamed a file, a conflict may be inside of another one, with shorter markers. A side's own text
  // may contain a beginning marker, since the commit that it names was known before: without an end it does not count.
  const begun: { first: number; size: number }[] = []
  for (const [at, line] of Buffer.from(bytes).toString('latin1').split('\n').entries()) {
    if (line.startsWith('<') && begins.test(line)) begun.push({ first: at + 1, size: sizeOf(line) })
    else if (line.startsWith('>') && ends.test(line)) {
      const outer = begun.findLastIndex(({ size }) => size === sizeOf(line))
      const first = begun[outer]?.first
      if (first === undefined) continue
      begun.splice(outer)
      while ((found.at(-1)?.first ?? 0) > first) found.pop()
      found.push({ first, last: at + 1 })
    }
  }
  return found
}

/** The length of a marker, in characters. */
const sizeOf = (marker: string): number => marker.search(/[^<>]/)

/** A file with conflicts. In the two trees that are compared, its name is `number`. */
export type MarkedFile = { path: Path; number: number; conflicts: readonly Lines[] }

/** Gives the files whose lines outside of the conflicts differ between the two trees. */
export async function changedAround(
  scratch: Scratch,
  [automatic, result]: [Oid, Oid],
  files: MarkedFile[],
): Promise<Path[]> {
  const { bytes: limit, biggestFile } = COMPARED
  const patch = await patchOf(scratch, automatic, result, { context: 0, limit, biggestFile })
  const [, ...parts] = patch.text.split(/^diff --git a\/(\d+) b\/\d+\n/m)
  const sections = new Map<number, string>()
  for (let at = 0; at < parts.length; at += 2) sections.set(Number(parts[at]), parts[at + 1] ?? '')
  // The last section may be incomplete.
  if (patch.cut) sections.delete(Math.max(...sections.keys()))
  const isChanged = ({ number, conflicts }: MarkedFile) => !isWithin(sections.get(number) ?? '', conflicts)
  return files.filter(isChanged).map(({ path }) => path)
}

/** Whether all hunks of a file's difference lie in or next to conflicts. */
function isWithin(section: string, conflicts: readonly Lines[]): boolean {
  const hunks = [...section.matchAll(/^@@ -(\d+)(?:,(\d+))? \+/gm)]
  const isAboutConflicts = ([, start, count = '1']: RegExpExecArray) => {
    const [first, lines] = [Number(start), Number(count)]
    // A hunk that only adds lines has no old lines: it stands after line `first`.
    const last = first + Math.max(lines - 1, 0)
    const met = conflicts.filter(it => first <= it.last && last >= it.first - (lines === 0 ? 1 : 0))
    const inside = met.map(it => Math.min(last, it.last) - Math.max(first, it.first) + 1)
    return met.length > 0 && lines - inside.reduce((sum, some) => sum + some, 0) <= MAX_NEIGHBOURS
  }
  return hunks.length > 0 && hunks.every(isAboutConflicts)
}
