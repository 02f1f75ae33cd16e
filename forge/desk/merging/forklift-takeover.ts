/**
 * What an agent has settled of a merge before it ended, as a tree of this repository: what it committed, or what it left
 * in its workspace. That is hostile: git never looks at it, objects come checked, and files are read as a stranger's.
 */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { TooLarge } from '../../../core/git/bounds.ts'
import { isAncestor } from '../../../core/git/commits.ts'
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import { type Objects, openObjects } from '../../../core/git/objects.ts'
import { isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { openScratch, type Scratch } from '../../../core/git/scratch.ts'
import { type Change, entryAt, verifyFewChanges, writeTree } from '../../../core/git/trees.ts'
import { readUntrusted, takeBranch } from '../../../core/untrusted.ts'
import type { Stop } from '../steps/plan.ts'
import { partsOf } from './conflict-marks.ts'
import { conflictRows } from './conflicts.ts'
import type { Run } from './forklift-runs.ts'
import type { ConflictRow } from './merging-commits.ts'

/** Of one file, and of all of them: more is left where it is. */
const LARGEST = 2 << 20
const LARGEST_OF_ALL = 64 << 20
const MOST_FILES = 5_000
/** The length of the marks that git writes by itself. */
const USUAL = 7
/** What Forklift and its agent say to each other is no part of a merge. */
const LETTERS: readonly Path[] = ['STUCK.md', 'FORK.md']

export type TakenOver = {
  /** A tree with what is settled in it. */
  result: Oid
  /** What could not be taken over, as a sentence. */
  left?: string
}

/** The commit that a run began at, also where only its workspace has it. Throws a {@link Failure} where nothing has. */
export async function bringStart(objects: Objects, { path, metadata }: Run): Promise<Oid> {
  const { startCommit: start, upstreamCommit: upstream } = metadata
  const { format } = objects.repository
  const isThere = async (oid: string) => isOid(format, oid) && (await objects.info(oid))?.type === 'commit'
  if (!(await isThere(upstream)))
    throw new Failure('The commit of upstream that this run was about is not here: fetch upstream, and open it again.')
  if (await isThere(start)) return start
  await using scratch = await scratchFor(objects)
  const tip = await takeBranch(scratch, {
    workspace: join(path, 'workspace'),
    branch: metadata.branch,
    known: [upstream],
  })
  if (!isOid(format, start) || !(await isAncestor(scratch, start, tip)))
    throw new Failure('The commit that this run began at is not here any more, nor in its workspace.')
  await bringObjects(objects, scratch, start)
  return start
}

/** What the agent has settled of a merge; undefined where it is nothing that can be taken over. */
export async function takeOver(objects: Objects, run: Run, stop: Stop): Promise<TakenOver | undefined> {
  const { merge, words, theirs, ours } = stop
  const { rows, tree } = await conflictRows(objects, merge, { ours, theirs, words })
  try {
    return (await committed(objects, run, tree)) ?? (await leftBehind(objects, run, stop, rows, tree))
  } catch (error) {
    if (!(error instanceof Failure || error instanceof TooLarge)) throw error
    const why = error.message.replace(/ Nothing was pushed\.$/, '')
    return { result: tree, left: `Nothing of the agent's work was taken over: ${why}` }
  }
}

const scratchFor = ({ repository }: Objects): Promise<Scratch> =>
  openScratch({ parent: repository.temporary, borrowed: [repository.objects], format: repository.format })

/** What it committed, where that has upstream in it. */
async function committed(objects: Objects, { path, metadata }: Run, tree: Oid): Promise<TakenOver | undefined> {
  const { branch, startCommit, upstreamCommit } = metadata
  const workspace = join(path, 'workspace')
  await using scratch = await scratchFor(objects)
  const known = (await objects.info(startCommit)) ? [startCommit, upstreamCommit] : [upstreamCommit]
  const tip = await takeBranch(scratch, { workspace, branch, known })
  if (!(await isAncestor(scratch, upstreamCommit, tip))) return undefined
  await using theirs = openObjects(scratch)
  await verifyFewChanges(theirs, tree, tip)
  await bringObjects(objects, scratch, tip)
  const kept = await Promise.all(LETTERS.map(async name => [name, await entryAt(objects, tree, name)] as const))
  return { result: await writeTree(objects, tip, new Map(kept)) }
}

/** Checked once more on their way: they are this repository's own from then on. */
async function bringObjects({ repository }: Objects, scratch: Scratch, commit: Oid): Promise<void> {
  await run(scratch, ['update-ref', 'refs/heads/wanted', commit])
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules', '--quiet']
  const ref = ['--refmap=', scratch.gitDir, 'refs/heads/wanted']
  await run(repository, ['-c', 'fetch.fsckObjects=true', 'fetch', ...flags, ...ref])
}

/** What stands in its files, where the merge is still under way there: of the conflicts, and of what git merged. */
async function leftBehind(
  objects: Objects,
  { path, metadata }: Run,
  stop: Stop,
  rows: readonly ConflictRow[],
  tree: Oid,
): Promise<TakenOver | undefined> {
  const workspace = join(path, 'workspace')
  const begun = await readUntrusted(join(workspace, '.git/MERGE_HEAD'), 100)
  if (begun?.kind !== 'file' || begun.bytes.toString('latin1').trim() !== metadata.upstreamCommit) return undefined
  const changes = new Map<Path, Change>()
  const inConflict = new Set(rows.flatMap(row => row.paths))
  let [bytes, files] = [0, 0]
  const take = async (file: Path): Promise<Buffer | undefined> => {
    if (files >= MOST_FILES || bytes >= LARGEST_OF_ALL) return undefined
    files++
    const text = await readInside(workspace, file)
    bytes += text?.length ?? 0
    return text
  }
  for (const row of rows) {
    if (row.kind !== 'text' || row.mark === undefined) continue
    const text = await take(row.path)
    const settled = text && settledText(text, row, stop.words)
    const entry = await entryAt(objects, tree, row.path)
    if (settled && entry) changes.set(row.path, { mode: entry.mode, bytes: settled })
  }
  for (const [file, , after] of changesIn(await diffTrees(objects.repository, stop.ours, tree))) {
    if (inConflict.has(file) || LETTERS.includes(file) || !after?.mode.startsWith('100')) continue
    const text = await take(file)
    const known = text && (await objects.read(after.oid, { limit: LARGEST }))
    // A checkout may have written other line ends than are committed.
    if (text && known?.bytes && unix(known.bytes) !== unix(text)) changes.set(file, { mode: after.mode, bytes: text })
  }
  if (changes.size === 0) return undefined
  return { result: await writeTree(objects, tree, changes) }
}

const unix = (bytes: Buffer): string => bytes.toString('latin1').replaceAll('\r\n', '\n')

/**
 * The text of a file in conflict as the agent left it, with our own marks around what is still open there; undefined
 * where nothing is settled, or marks do not belong together.
 */
function settledText(bytes: Buffer, { mark, all }: ConflictRow, words: Stop['words']): Buffer | undefined {
  const parts = partsOf(bytes.toString('latin1'), USUAL)
  if (!parts) return undefined
  const left = parts.filter(part => !('same' in part)).length
  if (left >= all) return undefined
  const line = (sign: string, label = '') => `${sign.repeat(mark ?? USUAL)}${label}\n`
  const label = (name: string) => ` ${name.replace(/[\0\r\n]/g, ' ')}`
  const text = parts.map(part =>
    'same' in part
      ? part.same
      : line('<', label(words.ours)) +
        part.ours +
        line('|', ' base') +
        part.base +
        line('=') +
        part.theirs +
        line('>', label(words.theirs)),
  )
  return Buffer.from(text.join(''), 'latin1')
}

/** A file of a folder that a stranger could write: no link is followed on the way to it, nor in its place. */
async function readInside(folder: string, path: Path): Promise<Buffer | undefined> {
  const parts = Buffer.from(path, 'latin1').toString().split('/')
  for (let depth = 1; depth < parts.length; depth++) {
    const stats = await lstat(join(folder, ...parts.slice(0, depth))).catch(() => undefined)
    if (!stats?.isDirectory()) return undefined
  }
  const file = await readUntrusted(join(folder, ...parts), LARGEST + 1)
  return file?.kind === 'file' && file.bytes.length <= LARGEST ? file.bytes : undefined
}
