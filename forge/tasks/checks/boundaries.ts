/**
 * Whether an attempt kept within its boundaries, by the diff of its commits. A change outside fails the attempt and is
 * reported; nothing is silently reverted.
 */
import { changesIn } from '../../../core/git/diffs.ts'
import { asText, type Entry, type Path } from '../../../core/git/repository.ts'
import { isLockFile, steersAgents, steersCi, steersPackages } from '../../../core/steering.ts'
import { visiblePath } from '../../../core/text.ts'
import { FORGE_MD } from '../../ai/forge-md.ts'
import { speakOf } from '../plan/files.ts'
import { fits, type Glob, plain, readGlob } from '../plan/globs.ts'
import type { Task } from '../plan/schema.ts'

/** Globs as in a plan; see plan/globs.ts. */
type Boundaries = Task['boundaries']

/** Files that tell git how to treat other files. */
const OF_GIT = /(^|\/)\.git(attributes|modules|ignore|keep)?(\/|$)/i

const KINDS: Record<string, string> = { '120000': 'a link', '160000': 'a submodule' }

/**
 * The changes outside the boundaries in a difference of two trees (`diffTrees`): a sentence for each path, sorted by
 * path.
 */
export function findViolations(difference: string, boundaries: Boundaries): string[] {
  const isWithin = boundaryOf(boundaries)
  return [...changesIn(difference)].flatMap(([path, before, after]) => {
    const why = isWithin(path, before, after)
    return why === undefined ? [] : [`${visiblePath(path)} ${why}`]
  })
}

/** As {@link findViolations} for several tasks together: a change within the boundaries of one of them is fine. */
export function findViolationsOfAll(difference: string, boundaries: readonly Boundaries[]): string[] {
  const areWithin = boundaries.map(boundaryOf)
  return [...changesIn(difference)].flatMap(([path, before, after]) => {
    const whys = areWithin.map(isWithin => isWithin(path, before, after))
    const [only] = whys
    const why = whys.length === 1 && only !== undefined ? only : 'is outside of what any of the tasks may change'
    return whys.includes(undefined) ? [] : [`${visiblePath(path)} ${why}`]
  })
}

/**
 * A function that gives why a change is outside the boundaries, as the end of a sentence; undefined where it is within.
 */
export function boundaryOf({ write, never }: Boundaries) {
  const may = globsOf(write)
  const mustNot = globsOf(never)
  const named = new Set(write.map(plain))
  return (path: Path, before: Entry, after: Entry): string | undefined => {
    const text = asText(path)
    if (mustNot.some(glob => fits(glob, text))) return 'is among what the task must never touch'
    if (write.length > 0 && !may.some(glob => fits(glob, text))) return 'is outside of what the task may write'
    // A glob that matches one of the special files below (links, CI, lock files …) does not permit changing it: the
    // file has to be named exactly.
    if (named.has(text)) return undefined
    const kind = after && KINDS[after.mode]
    if (kind && before?.mode !== after.mode) return `became ${kind}, and is not named in the boundaries`
    if (kind || (before && KINDS[before.mode])) return 'is a link or a submodule, and is not named in the boundaries'
    if (before && after && before.mode !== after.mode)
      return `changed its mode (${before.mode} to ${after.mode}), and is not named in the boundaries`
    if (OF_GIT.test(path)) return 'tells git what to do, and is not named in the boundaries'
    if (steersAgents(path)) return 'steers agents or editors, and is not named in the boundaries'
    if (steersPackages(path)) return 'steers what packages are installed and run, and is not named in the boundaries'
    if (text === FORGE_MD) return 'lists the checks of this repository, and is not named in the boundaries'
    if (speakOf(may, text)) return undefined
    if (steersCi(path)) return 'steers CI, and is not named in the boundaries'
    if (isLockFile(path)) return 'is a lock file, and is not named in the boundaries'
    return undefined
  }
}

/** Globs that the linter would refuse match nothing. */
const globsOf = (texts: readonly string[]): Glob[] => texts.map(readGlob).filter(glob => typeof glob !== 'string')
