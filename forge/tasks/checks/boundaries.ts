/**
 * Whether an attempt kept within its boundaries: read from the diff of its commits, never from what a model says. What
 * goes beyond them fails the attempt, and is told; nothing is quietly put back.
 */
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import { asBytes, type Entry, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { steersAgents, steersCi } from '../../../core/steering.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Task } from '../plan/schema.ts'

/** Globs as a plan has them, from the top of the repository; a folder's name stands for all that is in it. */
export type Boundaries = Task['boundaries']

/** Files that package managers write: a change of one is a change of what runs, wherever the files themselves lie. */
const LOCK_FILES =
  /(^|\/)(bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|deno\.lock|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock|Gemfile\.lock|composer\.lock|mix\.lock|gradle\.lockfile|Package\.resolved|flake\.lock)$/i
/** What tells git how to treat other files. */
const OF_GIT = /(^|\/)\.git(attributes|modules|ignore|keep)?(\/|$)/i

const KINDS: Record<string, string> = { '120000': 'a link', '160000': 'a submodule' }

/**
 * What in the diff of two commits is not within the boundaries: a sentence for each path, in the order of the paths.
 */
export async function findViolations(
  repository: Repository,
  { base, head, boundaries }: { base: Oid; head: Oid; boundaries: Boundaries },
): Promise<string[]> {
  const isWithin = boundaryOf(boundaries)
  const output = await diffTrees(repository, base, head)
  return [...changesIn(output)].flatMap(([path, before, after]) => {
    const why = isWithin(path, before, after)
    return why === undefined ? [] : [`${visiblePath(path)} ${why}`]
  })
}

/** Why a change is not within the boundaries, as the end of a sentence; undefined where it is. */
export function boundaryOf({ write, never }: Boundaries) {
  const mayWrite = matcherOf(write)
  const mustNot = matcherOf(never)
  const named = new Set(write.map(asBytes))
  return (path: Path, before: Entry, after: Entry): string | undefined => {
    if (mustNot(path)) return 'is among what the task must never touch'
    if (write.length > 0 && !mayWrite(path)) return 'is outside of what the task may write'
    // A pattern that happens to match such a file is no permission for it: only its name is.
    if (named.has(path)) return undefined
    const kind = after && KINDS[after.mode]
    if (kind && before?.mode !== after.mode) return `became ${kind}, and is not named in the boundaries`
    if (kind || (before && KINDS[before.mode])) return 'is a link or a submodule, and is not named in the boundaries'
    if (before && after && before.mode !== after.mode)
      return `changed its mode (${before.mode} to ${after.mode}), and is not named in the boundaries`
    if (OF_GIT.test(path)) return 'tells git what to do, and is not named in the boundaries'
    if (steersCi(path)) return 'steers CI, and is not named in the boundaries'
    if (steersAgents(path)) return 'steers agents or editors, and is not named in the boundaries'
    if (LOCK_FILES.test(path)) return 'is a lock file, and is not named in the boundaries'
    return undefined
  }
}

/** Whether a path is one of these, below one of these, or matches one of these globs. */
export function matcherOf(globs: readonly string[]): (path: Path) => boolean {
  const wanted = globs.map(text => {
    const plain = asBytes(text.replace(/^\.?\/+/, '').replace(/\/+$/, ''))
    const glob = new Bun.Glob(plain)
    return (path: Path) => plain === '.' || path === plain || path.startsWith(`${plain}/`) || glob.match(path)
  })
  return path => wanted.some(matches => matches(path))
}
