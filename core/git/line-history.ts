/** The history of some lines of a file, by `git log -L`. */
import { Failure } from '../failure.ts'
import { asText, isOid, type Oid, type Path, type Repository } from './repository.ts'
import { GitError, run } from './run.ts'

/** Lines of a file, from 1, both included. */
export type Lines = { from: number; to: number }
/** A commit that changed the lines, the path of their file in that commit, and the hunks of its patch. */
export type LinesChange = { oid: Oid; path: Path | undefined; hunks: PatchHunk[] }
/**
 * A hunk of a patch. `before` and `after`: the numbers of its first line in the old and the new file, from 1. `lines`:
 * as in git's patch, without the hunk header.
 */
export type PatchHunk = { before: number; after: number; lines: string[] }

/** At most this many commits are given, the newest. */
export const MAX_COMMITS = 200
const [HISTORY_SECONDS, MAX_OUTPUT_BYTES] = [60, 32 << 20]
/** At most this many lines of a patch are kept, and this many characters of each. */
const [MAX_PATCH_LINES, MAX_LINE_CHARS] = [2_000, 500]

/**
 * The commits that changed some lines of a file, newest first, across renames and moves of the lines. Throws a {@link
 * Failure} where the file has no such lines, or where it takes too long.
 */
export async function lineHistory(
  repository: Repository,
  commit: Oid,
  path: Path,
  { from, to }: Lines,
  signal?: AbortSignal,
): Promise<LinesChange[]> {
  if (!isOid(repository.format, commit)) throw new Error(`${JSON.stringify(commit)} is no full object id`)
  const where = signal ? { ...repository, signal } : repository
  const how = ['--no-ext-diff', '--no-textconv', '--no-color', '--format=%x00%H%x00', `--max-count=${MAX_COMMITS}`]
  const args = ['-c', 'core.quotePath=false', 'log', ...how, `-L${from},${to}:${asText(path)}`, commit, '--']
  const bounds = { seconds: HISTORY_SECONDS, memory: Number.POSITIVE_INFINITY, output: MAX_OUTPUT_BYTES }
  try {
    const { stdout } = await run(where, args, { bounds })
    return parse(stdout.toString('latin1'))
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    if (error.ending.bound) throw new Failure(`git log -L took more than ${HISTORY_SECONDS} s, and was ended.`)
    if (/has only \d+ lines/.test(error.stderr)) throw new Failure('The file has no such lines in the last commit.')
    if (/There is no path|no such path/.test(error.stderr))
      throw new Failure('The file is not in the last commit: it has no history yet.')
    throw error
  }
}

/** Parses the repeated `NUL id NUL` and the patch after it. */
function parse(printed: string): LinesChange[] {
  const parts = printed.split(/^\0([0-9a-f]{40,64})\0$/m)
  const found: LinesChange[] = []
  for (let at = 1; at < parts.length; at += 2) {
    const patch = parts[at + 1] ?? ''
    const [, path] = /^\+\+\+ b\/(.*)$/m.exec(patch) ?? []
    found.push({ oid: parts[at] ?? '', path, hunks: hunksOf(patch) })
  }
  return found
}

function hunksOf(patch: string): PatchHunk[] {
  const hunks: PatchHunk[] = []
  let left = MAX_PATCH_LINES
  for (const line of patch.split('\n')) {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? []
    if (before !== undefined) hunks.push({ before: Number(before), after: Number(after), lines: [] })
    else if (/^[ +-]/.test(line) && left-- > 0) hunks.at(-1)?.lines.push(asText(line).slice(0, MAX_LINE_CHARS))
  }
  return hunks
}
