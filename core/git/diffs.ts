/** Differences between two trees: by path, and as patches. */
import type { Entry, Oid, Path } from './repository.ts'
import { run, type Where } from './run.ts'

/** Runs `git diff-tree -r -z` between two trees or commits; {@link changesIn} parses the output. */
export async function diffTrees(where: Where, from: Oid, to: Oid): Promise<string> {
  return (await run(where, ['diff-tree', '-r', '-z', '--no-renames', from, to])).stdout.toString('latin1')
}

/** Parses the repeated `:MODE MODE OID OID STATUS NUL PATH NUL`, lazily: there may be a hundred thousand entries. */
export function* changesIn(output: string): Generator<[path: Path, before: Entry, after: Entry]> {
  const entry = (mode: string, oid: Oid): Entry => (mode === '000000' ? undefined : { mode, oid })
  for (let at = 0; at < output.length; ) {
    const middle = output.indexOf('\0', at)
    const end = output.indexOf('\0', middle + 1)
    const [oldMode = '', mode = '', oldOid = '', oid = ''] = output.slice(at + 1, middle).split(' ')
    yield [output.slice(middle + 1, end), entry(oldMode, oldOid), entry(mode, oid)]
    at = end + 1
  }
}

/** Lists the files that differ between two trees or commits. A renamed file has two paths. */
export async function changedFiles(where: Where, from: Oid, to: Oid): Promise<Path[][]> {
  const { stdout } = await run(where, ['diff-tree', '-r', '-z', '-M', '--name-status', from, to])
  const words = stdout.toString('latin1').split('\0').slice(0, -1)
  const files: Path[][] = []
  for (let at = 0; at < words.length; ) {
    const paths = /^[RC]/.test(words[at] ?? '') ? 2 : 1
    files.push(words.slice(at + 1, at + 1 + paths))
    at += 1 + paths
  }
  return files
}

/** The new path of each file that git detects as renamed between two trees or commits, by its old one. */
export async function renamedFiles(where: Where, from: Oid, to: Oid): Promise<Map<Path, Path>> {
  const files = await changedFiles(where, from, to)
  return new Map(files.flatMap(([was, is]) => (was === undefined || is === undefined ? [] : [[was, is] as const])))
}

type PatchOptions = {
  /** Lines of context around a change. */
  context: number
  /** At most this many bytes; the patch is cut there. */
  limit: number
  /** For larger files only the fact that they differ is shown. In the form of git's configuration: `512k`. */
  biggestFile?: string
}

/** Arguments of git diff commands that switch off the user's programs and the detection of renames. */
export const plainDiff = (biggestFile: string): string[] => [
  ...['-c', `core.bigFileThreshold=${biggestFile}`],
  ...['diff-tree', '--no-renames', '--no-ext-diff', '--no-textconv'],
]

/** The difference between two trees or commits as a patch, one character per byte. */
export async function patchOf(
  where: Where,
  from: Oid,
  to: Oid,
  { context, limit, biggestFile = '512m' }: PatchOptions,
): Promise<{ text: string; cut: boolean }> {
  const args = [...plainDiff(biggestFile), '-r', `-U${context}`, from, to]
  const { stdout, cut } = await run(where, args, { limit })
  return { text: stdout.toString('latin1'), cut }
}

/** The header of a hunk of a patch: the first line of each side, and how many lines it has there, 1 if left out. */
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm

/**
 * The place of a line of one version of a file in an earlier version, both given as blobs; lines count from 1. A
 * changed line is at the same place among the lines that it replaced, an added line at the line above it.
 */
export async function lineBefore(where: Where, earlier: Oid, later: Oid, line: number): Promise<number> {
  const args = ['diff', '-U0', '--text', '--no-color', '--no-ext-diff', '--no-textconv', earlier, later]
  const patch = (await run(where, args)).stdout.toString('latin1')
  let shift = 0
  for (const [, ...numbers] of patch.matchAll(HUNK)) {
    const [before = 0, removed = 1, after = 0, added = 1] = numbers.map(it => (it === undefined ? it : Number(it)))
    // Where a side has no lines, git names the line above them.
    const first = added === 0 ? after + 1 : after
    if (line < first) break
    if (line < first + added) return removed === 0 ? Math.max(1, before) : before + Math.min(line - first, removed - 1)
    shift += removed - added
  }
  return line + shift
}
