/**
 * Takes over an agent's resolutions from an ended run, as a tree of this repository: its commit, or the files in its
 * workspace. The workspace is hostile: git never runs in it, objects are checked, and files are read as untrusted.
 */
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'
import { type RecordedRun, STUCK_FILE, workspaceOf } from '../../core/formats/forklift-run.ts'
import { TooLarge } from '../../core/git/bounds.ts'
import { isAncestor } from '../../core/git/commits.ts'
import { markedPartsOf, marksLeft, USUAL_MARK_LENGTH } from '../../core/git/conflict-marks.ts'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import { isOid, type Oid, type Path } from '../../core/git/repository.ts'
import { GitError, run } from '../../core/git/run.ts'
import { openScratch, type Scratch } from '../../core/git/scratch.ts'
import { entryAt, type TreeChange, verifyFewChanges, writeTree } from '../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../core/text.ts'
import { readUntrusted, takeBranch } from '../../core/untrusted.ts'
import { MAX_TAKEN_FILE_BYTES, unix, Workspace } from './workspace.ts'

/** Files of Forklift and its agent that are not part of a merge. */
const LETTERS: readonly Path[] = [STUCK_FILE, 'FORK.md']

/** A conflict of the merge. */
export type TakenRow = {
  path: Path
  /** The paths of the files that are resolved together. */
  paths: readonly Path[]
  /** The file's own path, where git has renamed it since a side has something else there. */
  original?: Path | undefined
  /** `text`: with conflict markers in lines; `mode`: only the mode is in conflict; or another word. */
  kind: string
  /** The length of the conflict markers, in characters; git's usual one if undefined. */
  mark?: number | undefined
  /** The number of conflicts in the file. */
  all: number
}
/** The merge that the run was about, as this program has made it, and the names of the sides in its markers. */
export type TakenMerge = { rows: readonly TakenRow[]; tree: Oid; words: { ours: string; theirs: string } }

type TakenOver = {
  /** The tree with the resolutions. */
  result: Oid
  /** What could not be taken over, as a sentence. */
  left?: string
}

/**
 * The commit that a run began at, fetched from its workspace if necessary. Throws a {@link Failure} if it is nowhere.
 */
export async function bringStart(objects: Objects, { path, metadata }: RecordedRun): Promise<Oid> {
  const { startCommit: start, upstreamCommit: upstream } = metadata
  const { format } = objects.repository
  const isThere = async (oid: string) => isOid(format, oid) && (await objects.info(oid))?.type === 'commit'
  if (!(await isThere(upstream)))
    throw new Failure('The commit of upstream that this run was about is not here: fetch upstream, and open it again.')
  if (await isThere(start)) return start
  await using scratch = await scratchFor(objects)
  const tip = await takeBranch(scratch, {
    workspace: workspaceOf({ path }),
    branch: metadata.branch,
    known: [upstream],
  })
  if (!isOid(format, start) || !(await isAncestor(scratch, start, tip)))
    throw new Failure('The commit that this run began at is not here any more, nor in its workspace.')
  await bringObjects(objects, scratch, start)
  return start
}

/** The agent's resolutions of a merge; undefined if there are none to take over. */
export async function takeOver(objects: Objects, run: RecordedRun, merge: TakenMerge): Promise<TakenOver | undefined> {
  const { tree } = merge
  try {
    return (await committed(objects, run, tree)) ?? (await leftBehind(objects, run, merge))
  } catch (error) {
    if (!(error instanceof Failure || error instanceof TooLarge || error instanceof GitError)) throw error
    const why = visible(error.message).replace(/ Nothing was pushed\.$/, '')
    return { result: tree, left: `Nothing of the agent's work was taken over: ${why}` }
  }
}

const scratchFor = ({ repository }: Objects): Promise<Scratch> =>
  openScratch({ parent: repository.temporary, borrowed: [repository.objects], format: repository.format })

/** The agent's commit, if it contains upstream. */
async function committed(objects: Objects, { path, metadata }: RecordedRun, tree: Oid): Promise<TakenOver | undefined> {
  const { branch, startCommit, upstreamCommit } = metadata
  const workspace = workspaceOf({ path })
  await using scratch = await scratchFor(objects)
  const known = (await objects.info(startCommit)) ? [startCommit, upstreamCommit] : [upstreamCommit]
  const tip = await takeBranch(scratch, { workspace, branch, known })
  if (!(await isAncestor(scratch, upstreamCommit, tip))) return undefined
  await using theirs = openObjects(scratch)
  await verifyFewChanges(theirs, tree, tip)
  await bringObjects(objects, scratch, tip)
  const kept = await Promise.all(LETTERS.map(async name => [name, await entryAt(objects, tree, name)] as const))
  const left = await leftAfter(objects, new Workspace(workspace), branch, tip)
  return { result: await writeTree(objects, tip, new Map(kept)), ...(left !== undefined && { left }) }
}

/** The changes of the agent after its commit, in words. */
async function leftAfter(
  objects: Objects,
  workspace: Workspace,
  branch: string,
  tip: Oid,
): Promise<string | undefined> {
  const since = await workspace.timeOf('refs/heads', branch)
  if (since === undefined) return undefined
  const { files, deleted, odd, isCut } = await workspace.changesFrom(objects, tip, since)
  const left = [...files.keys(), ...odd, ...deleted].filter(path => !isLetter(path))
  return whatIsLeft(left, isCut, workspace.folder)
}

/**
 * Fetches the objects of a commit from a scratch repository. They are checked again, since they then belong to this
 * one.
 */
async function bringObjects({ repository }: Objects, scratch: Scratch, commit: Oid): Promise<void> {
  await run(scratch, ['update-ref', 'refs/heads/wanted', commit])
  const flags = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules', '--quiet']
  const ref = ['--refmap=', scratch.gitDir, 'refs/heads/wanted']
  await run(repository, ['-c', 'fetch.fsckObjects=true', 'fetch', ...flags, ...ref])
}

/**
 * The files of a merge still in progress in the workspace: those in conflict, those that git merged, and all others.
 */
async function leftBehind(
  objects: Objects,
  { path, metadata }: RecordedRun,
  { words, rows, tree }: TakenMerge,
): Promise<TakenOver | undefined> {
  const folder = workspaceOf({ path })
  const begun = await readUntrusted(join(folder, '.git/MERGE_HEAD'), 100)
  if (begun?.kind !== 'file' || begun.bytes.toString('latin1').trim() !== metadata.upstreamCommit) return undefined
  const workspace = new Workspace(folder)
  const changes = new Map<Path, TreeChange>()
  const left = new Set<Path>()
  for (const row of rows) {
    const settled =
      row.kind === 'text' ? await settledText(workspace, row, words) : await settledOther(objects, workspace, row, tree)
    if (settled === 'left') left.add(row.path)
    else for (const [at, change] of settled) changes.set(at, await withMode(objects, tree, at, change))
  }
  const changed = await workspace.changesFrom(objects, tree, (await workspace.timeOf('MERGE_HEAD')) ?? 0)
  const inConflict = new Set(rows.flatMap(row => [...row.paths, row.original ?? row.path]))
  // In a conflict of a file and a folder, git writes the file under another name (`name~HEAD`), which is left out.
  const isOfConflict = (at: Path) => inConflict.has(at) || inConflict.has(at.replace(/~[^/]*$/, '')) || isLetter(at)
  for (const [at, change] of changed.files) if (!isOfConflict(at)) changes.set(at, change)
  for (const at of [...changed.odd, ...changed.deleted]) if (!isOfConflict(at)) left.add(at)
  const said = whatIsLeft([...left], changed.isCut, folder)
  if (changes.size === 0 && said === undefined) return undefined
  const result = changes.size === 0 ? tree : await writeTree(objects, tree, changes)
  return { result, ...(said !== undefined && { left: said }) }
}

/** Whether a path is of the programs themselves: a branch's own folder .forge, or a letter. */
const isLetter = (path: Path): boolean => LETTERS.includes(path) || /^\.forge(\/|$)/.test(path)

/** At most this many files are named in a sentence. */
const MAX_NAMED_FILES = 5

/** What was not taken over, and where it is, as a sentence. */
function whatIsLeft(paths: readonly Path[], isCut: boolean, folder: string): string | undefined {
  if (paths.length === 0 && !isCut) return undefined
  const names = paths.slice(0, MAX_NAMED_FILES).map(visiblePath)
  const rest = paths.length > MAX_NAMED_FILES ? [`${many(paths.length - MAX_NAMED_FILES, 'file')} more`] : []
  const others = isCut ? ['what is beyond the files that were looked at'] : []
  const all = [...names, ...rest, ...others]
  const last = all.pop() ?? ''
  const named = all.length === 0 ? last : `${all.join(', ')} and ${last}`
  return `Not all that the agent did was taken over: look yourself what it made of ${named}, in ${visible(folder)}.`
}

/** Adds a mode to a resolved text: the one that git's merge gave the file. */
async function withMode(objects: Objects, tree: Oid, path: Path, change: Settled): Promise<TreeChange> {
  if (!change || 'mode' in change) return change
  const entry = await entryAt(objects, tree, path)
  return { mode: entry?.mode ?? '100644', bytes: change.bytes }
}

type Settled = TreeChange | { bytes: Buffer }

/**
 * A text file with conflicts as the agent left it, with our markers around its open conflicts. An empty map if the
 * agent has resolved none; 'left' (not taken over) if it is unclear what is resolved.
 */
async function settledText(
  workspace: Workspace,
  { path, mark, all }: TakenRow,
  words: TakenMerge['words'],
): Promise<Map<Path, Settled> | 'left'> {
  const found = await workspace.read(path)
  if (found.is !== 'file') return 'left'
  const parts = markedPartsOf(found.bytes.toString('latin1'), USUAL_MARK_LENGTH)
  // Conflict markers in another style can only be counted: with all of them left, nothing is resolved.
  if (!parts) return marksLeft(found.bytes.toString('latin1'), USUAL_MARK_LENGTH) >= all ? new Map() : 'left'
  const left = parts.filter(part => !('same' in part)).length
  if (left >= all) return new Map()
  const line = (sign: string, label = '') => `${sign.repeat(mark ?? USUAL_MARK_LENGTH)}${label}\n`
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
  return new Map([[path, { bytes: Buffer.from(text.join(''), 'latin1') }]])
}

/** The length of git's conflict markers in a workspace: those of a file that both sides renamed are longer by one. */
const markOf = (kind: string): number => USUAL_MARK_LENGTH + (kind === 'rename/rename' ? 1 : 0)

/**
 * The agent's resolution of a conflict that is not about lines: a file that differs from what git left. An empty map if
 * it does not differ; `left` if only a part is resolved, or it can't be taken over.
 */
async function settledOther(
  objects: Objects,
  workspace: Workspace,
  { path: own, paths, original, kind }: TakenRow,
  tree: Oid,
): Promise<Map<Path, Settled> | 'left'> {
  // Git renamed the file because of the conflict: in the workspace it has another name than here, so it is not taken
  // over.
  if (original !== undefined) return 'left'
  const settled = new Map<Path, Settled>()
  const copies = new Map<Path, Settled>()
  let open = 0
  for (const path of paths) {
    const [there, found] = await Promise.all([entryAt(objects, tree, path), workspace.read(path)])
    // Git has a file that both sides renamed under both names in the workspace; the merge here may have it under ours.
    const entry =
      there ?? (kind === 'rename/rename' && found.is !== 'nothing' ? await entryAt(objects, tree, own) : undefined)
    // The commit of a submodule can't be read from its folder.
    if (entry?.mode === '160000') continue
    if (found.is === 'nothing') {
      if (entry) settled.set(path, undefined)
      continue
    }
    if (found.is === 'other' || !entry || (entry.mode === '120000') !== (found.is === 'link')) return 'left'
    const isMarked = marksLeft(found.bytes.toString('latin1'), markOf(kind)) > 0
    if (isMarked) open++
    const known = (await objects.read(entry.oid, { limit: MAX_TAKEN_FILE_BYTES }))?.bytes
    const isSame = known !== undefined && unix(known) === unix(found.bytes)
    const mode = kind === 'mode' ? (found.isExecutable ? '100755' : '100644') : entry.mode
    if (isMarked) continue
    if (!isSame || mode !== entry.mode) settled.set(path, { mode, bytes: found.bytes })
    else if (!there) copies.set(path, { mode, bytes: found.bytes })
  }
  if (open > 0) return settled.size > 0 ? 'left' : new Map()
  return settled.size > 0 ? new Map([...settled, ...copies]) : settled
}
