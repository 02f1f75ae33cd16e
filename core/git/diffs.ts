/** What differs between two trees: by path, and as text. */
import type { Entry, Oid, Path } from './repository.ts'
import { run, type Where } from './run.ts'

/** What differs between two trees or commits, as `git diff-tree -r -z` writes it: {@link changesIn} reads it. */
export async function diffTrees(where: Where, from: Oid, to: Oid): Promise<string> {
  return (await run(where, ['diff-tree', '-r', '-z', '--no-renames', from, to])).stdout.toString('latin1')
}

/** Reads `:MODE MODE OID OID STATUS NUL PATH NUL`, over and over, one at a time: there may be a hundred thousand. */
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

/** The files that differ between two trees or commits, each with its paths: a renamed file has two. */
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

type PatchOptions = {
  /** The lines around a change that are shown. */
  context: number
  /** The most bytes of the patch, which is cut there. */
  limit: number
  /** Files of more bytes, written as git's configuration has it (512k), are only said to differ. */
  biggestFile?: string
}

/** The arguments for {@link patchOf} and its kin: no program of the user's, and nothing guessed. */
export const plainDiff = (biggestFile: string): string[] => [
  ...['-c', `core.bigFileThreshold=${biggestFile}`],
  ...['diff-tree', '--no-renames', '--no-ext-diff', '--no-textconv'],
]

/** The difference of two trees or commits as git writes it, one character per byte. */
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
