/**
 * What a merge has where nothing was in conflict, in files in which git could not merge some lines: beside its conflicts
 * a file should be as git's own merge has it.
 */
import { patchOf } from './git/diffs.ts'
import type { Oid, Path } from './git/repository.ts'
import type { Scratch } from './git/scratch.ts'

/** Lines of a file, from 1 on: those between and with the markers of a conflict. */
type Lines = { first: number; last: number }

/** How many lines next to a conflict may change with it: what encloses it, or a comma. */
const MAX_NEIGHBOURS = 3
/** How much of all differences is read, and the largest file that is compared. What is beyond counts as changed. */
const COMPARED = { bytes: 64 << 20, biggestFile: '8m' }

/** Where git's own merge of two commits has marked conflicts in a file; none where it has not. */
export function conflictLines(bytes: Uint8Array, ours: Oid, theirs: Oid): Lines[] {
  const [begins, ends] = [new RegExp(`^<+ ${ours}(:|\\r?$)`), new RegExp(`^>+ ${theirs}(:|\\r?$)`)]
  const found: Lines[] = []
  // Where both sides renamed a file, a conflict may be inside of another one, with shorter markers. The beginning of one
  // can be in a side's own text, since it names a commit that is known before: without an end it is none.
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

/** How many characters a marker has. */
const sizeOf = (marker: string): number => marker.search(/[^<>]/)

/** A file with conflicts; `number` is its name in the two trees that are compared. */
export type MarkedFile = { path: Path; number: number; conflicts: readonly Lines[] }

/** Those files of which the second tree has other lines than the first, not only where the first has conflicts. */
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
  // The last one that was read may be cut.
  if (patch.cut) sections.delete(Math.max(...sections.keys()))
  const isChanged = ({ number, conflicts }: MarkedFile) => !isWithin(sections.get(number) ?? '', conflicts)
  return files.filter(isChanged).map(({ path }) => path)
}

/** Whether all hunks of a file's difference are about conflicts. */
function isWithin(section: string, conflicts: readonly Lines[]): boolean {
  const hunks = [...section.matchAll(/^@@ -(\d+)(?:,(\d+))? \+/gm)]
  const isAboutConflicts = ([, start, count = '1']: RegExpExecArray) => {
    const [first, lines] = [Number(start), Number(count)]
    // Without lines of its own a hunk stands behind its first line.
    const last = first + Math.max(lines - 1, 0)
    const met = conflicts.filter(it => first <= it.last && last >= it.first - (lines === 0 ? 1 : 0))
    const inside = met.map(it => Math.min(last, it.last) - Math.max(first, it.first) + 1)
    return met.length > 0 && lines - inside.reduce((sum, some) => sum + some, 0) <= MAX_NEIGHBOURS
  }
  return hunks.length > 0 && hunks.every(isAboutConflicts)
}
