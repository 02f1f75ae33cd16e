/** The differences between two branches or commits: the files, the kind of change, and line counts. */
import { Failure } from '../../../core/failure.ts'
import { TooLarge } from '../../../core/git/bounds.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { type Entry, fields, type Oid, type Path } from '../../../core/git/repository.ts'
import { GitError, MANY_BLOBS, run } from '../../../core/git/run.ts'
import { type TreeChange, verifyFewChanges, writeTree } from '../../../core/git/trees.ts'
import { many } from '../../../core/text.ts'
import type { Change } from '../contract/values.ts'
import { isNotFetched } from '../not-fetched.ts'

/** At most this many changes are listed. */
const MAX_CHANGES = 20_000
/** If more files differ, only names and ids are compared, since reading their contents takes too long. */
const MAX_COMPARED_FILES = 3000
/** Above this many added and deleted files, git does not look for renames. */
const MAX_RENAME_CANDIDATES = 1000
/** Lines are not counted in larger files. */
const MAX_COUNTED_FILE_SIZE = '2m'
const COMPARE_SECONDS = 10

/** The differences between two trees, by path. Throws a {@link Failure} if there are too many to show. */
export async function changesBetween(objects: Objects, from: Oid, to: Oid): Promise<Change[]> {
  if (from === to) return []
  await verifyComparable(objects, from, to)
  const names = await differences(objects, from, to, '--no-renames')
  // Renames without a change of content are found by their ids, however many files differ.
  if (names.length > MAX_COMPARED_FILES) return await differences(objects, from, to, '-M100%')
  return await withLineCounts(objects, from, to, names, '-M', `-l${MAX_RENAME_CANDIDATES}`)
}

/**
 * The changes of drafts, as {@link changesBetween} gives them, but the drafts say what is renamed: a file counts as one
 * that the desk has renamed, however much of it was typed since, and no other one does.
 *
 * @param origins The old path of each renamed file, by its new path.
 */
export async function changesOfDrafts(
  objects: Objects,
  saved: Oid,
  drafts: Oid,
  origins: ReadonlyMap<Path, Path>,
): Promise<Change[]> {
  if (saved === drafts) return []
  await verifyComparable(objects, saved, drafts)
  const names = await differences(objects, saved, drafts, '--no-renames')
  const byPath = new Map(names.map(change => [change.path, change]))
  const moved = new Map<Path, TreeChange>()
  const renamed: Change[] = []
  for (const [path, from] of origins) {
    const { before } = byPath.get(from) ?? {}
    const { after } = byPath.get(path) ?? {}
    // The new path may be that of a file that the drafts have deleted: it is no change of its own then.
    if (byPath.get(from)?.status !== 'deleted' || !before || !after) continue
    moved.set(from, undefined).set(path, before)
    renamed.push({ path, from, status: 'renamed', before, after, added: 0, deleted: 0 })
  }
  // With the saved files at their new paths, git compares each renamed file with what it was.
  const start = moved.size === 0 ? saved : await writeTree(objects, saved, moved)
  const others = moved.size === 0 ? names : await differences(objects, start, drafts, '--no-renames')
  const isMany = others.length > MAX_COMPARED_FILES
  const compared = isMany ? others : await withLineCounts(objects, start, drafts, others, '--no-renames')
  const all = new Map(renamed.map(change => [change.path, change]))
  for (const change of compared) {
    const known = all.get(change.path)
    const { added: _, deleted: __, ...pair } = known ?? {}
    all.set(change.path, { ...change, ...pair })
  }
  return [...all.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
}

async function verifyComparable(objects: Objects, from: Oid, to: Oid): Promise<void> {
  try {
    await verifyFewChanges(objects, from, to)
  } catch (error) {
    if (error instanceof TooLarge) throw new Failure(`This is too large to be compared: ${error.message}.`)
    throw error
  }
}

const DIFF = ['diff-tree', '-r', '-z', '--raw', '--no-ext-diff', '--no-textconv', '--no-abbrev']

async function differences(objects: Objects, from: Oid, to: Oid, ...options: string[]): Promise<Change[]> {
  const bounds = { seconds: COMPARE_SECONDS, memory: Number.POSITIVE_INFINITY, output: 64 << 20 }
  const large = ['-c', `core.bigFileThreshold=${MAX_COUNTED_FILE_SIZE}`]
  const args = [...MANY_BLOBS, ...large, ...DIFF, ...options, from, to]
  return readChanges(fields((await run(objects.repository, args, { bounds })).stdout))
}

/** The differences with their counts of lines; `names`, without these, where they can't be found. */
async function withLineCounts(
  objects: Objects,
  from: Oid,
  to: Oid,
  names: Change[],
  ...options: string[]
): Promise<Change[]> {
  try {
    return await differences(objects, from, to, '--numstat', ...options)
  } catch (error) {
    // Comparing contents may take too long, and contents may be missing in a partial clone.
    if (isNotFetched(error) || (error instanceof GitError && error.ending.bound)) return names
    throw error
  }
}

/** Parses git's list of files, and the line counts after it. */
function readChanges(words: string[]): Change[] {
  const changes = new Map<string, Change>()
  let at = 0
  for (; words[at]?.startsWith(':'); ) {
    const [, mode = '', newMode = '', oid = '', newOid = '', letter = ''] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/.exec(words[at] ?? '') ?? []
    const isMove = letter === 'R' || letter === 'C'
    const [first = '', second = ''] = [words[at + 1], words[at + 2]]
    const path = isMove ? second : first
    const [before, after] = [entryOf(mode, oid), entryOf(newMode, newOid)]
    changes.set(path, {
      path,
      ...(isMove && { from: first }),
      status: statusOf(letter, before, after),
      ...(before && { before }),
      ...(after && { after }),
    })
    if (changes.size > MAX_CHANGES)
      throw new Failure(`More than ${many(MAX_CHANGES, 'file')} differ: too many to be shown.`)
    at += isMove ? 3 : 2
  }
  while (at < words.length) {
    const [, added = '-', deleted = '-', name = ''] = /^([\d-]+)\t([\d-]+)\t(.*)$/s.exec(words[at] ?? '') ?? []
    // An empty name stands for a renamed file, whose old and new name follow.
    const path = name === '' ? (words[at + 2] ?? '') : name
    const change = changes.get(path)
    if (change && added !== '-') Object.assign(change, { added: Number(added), deleted: Number(deleted) })
    at += name === '' ? 3 : 1
  }
  return [...changes.values()]
}

const entryOf = (mode: string, oid: Oid): Entry => (mode === '000000' ? undefined : { mode, oid })

function statusOf(letter: string, before: Entry, after: Entry): Change['status'] {
  if (!before) return 'added'
  if (!after) return 'deleted'
  if (letter === 'R') return 'renamed'
  return before.oid === after.oid ? 'mode' : 'changed'
}
