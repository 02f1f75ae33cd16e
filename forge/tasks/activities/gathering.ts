/**
 * Merges the results of tasks with git, one after the other. Dates come from the merged commits and not from the clock:
 * the same results always give the same commits.
 */
import { commit, independentOf, isAncestor } from '../../../core/git/commits.ts'
import { type MergeConflict, type MergedTree, mergeTrees, type Stage } from '../../../core/git/merges.ts'
import { type Objects, readStart } from '../../../core/git/objects.ts'
import { asText, type Path, type Repository } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { fenced } from '../../ai/fence.ts'
import type { Oid } from '../contract.ts'
import { newestOf } from '../steps/commits.ts'
import type { Means } from './means.ts'

/**
 * `commit`: the merge of all results. With `conflicts` it is the first merge that had conflicts, with git's conflict
 * markers in its files.
 */
export type Gathering = { commit: Oid; conflicts?: GatheredConflicts }
/** The conflicting commits, a description for the model, and the files. */
export type GatheredConflicts = { ours: Oid; theirs: Oid; words: string; files: string[] }

/**
 * Merges results into a commit, in their order; what is already merged adds nothing. It stops at the first conflict:
 * `commit` then has git's merge with conflict markers.
 */
export async function gatherAll(
  means: Means,
  start: Oid,
  results: readonly Oid[],
  message: string,
): Promise<Gathering> {
  const { objects } = means
  const { repository } = objects
  let head = start
  for (const result of await withoutContained(repository, results)) {
    if (await isAncestor(repository, result, head)) continue
    if (await isAncestor(repository, head, result)) {
      head = result
      continue
    }
    const merge = await mergeTrees(repository, head, result, { objects })
    if (merge.conflicts.length > 0 || merge.stages.length > 0) {
      const tree = await withNamedSides(objects, merge, { ours: head, theirs: result })
      const commit = await commitMerge(means, tree, [head, result], message)
      const paths = pathsOf(merge)
      const words = await conflictsInWords(objects, merge, paths)
      const files = paths.slice(0, MAX_DESCRIBED_CONFLICTS).map(asText)
      return { commit, conflicts: { ours: head, theirs: result, words, files } }
    }
    head = await commitMerge(means, merge.tree, [head, result], message)
  }
  return { commit: head }
}

/** Commits a merge, dated like its newest parent. */
export async function commitMerge(means: Means, tree: Oid, parents: Oid[], message: string): Promise<Oid> {
  const who = await means.user(await newestOf(means.objects, parents))
  return await commit(means.objects, { tree, parents, message, author: who, committer: who })
}

/** Replaces the commit ids in git's conflict markers by the names of the tasks. */
async function withNamedSides(
  objects: Objects,
  { tree, stages }: MergedTree,
  sides: { ours: Oid; theirs: Oid },
): Promise<Oid> {
  const changes = new Map<Path, TreeChange>()
  for (const path of new Set(stages.map(it => it.path))) {
    const entry = await entryAt(objects, tree, path)
    const object = entry?.mode.startsWith('100')
      ? await objects.read(entry.oid, { limit: MAX_MARKED_FILE_BYTES })
      : undefined
    if (!entry || !object?.bytes) continue
    const text = object.bytes.toString('latin1')
    const named = Object.entries(sides).reduce(
      (all, [name, oid]) => all.replaceAll(markOf(name, oid), `$1 ${name}`),
      text,
    )
    if (named !== text) changes.set(path, { mode: entry.mode, bytes: Buffer.from(named, 'latin1') })
  }
  return changes.size === 0 ? tree : await writeTree(objects, tree, changes)
}

const markOf = (name: string, oid: Oid): RegExp =>
  new RegExp(`^(${name === 'ours' ? '<' : '>'}{7,}) ${oid}(?=:|\\r?$)`, 'gm')

/**
 * In larger files, in bytes, git's conflict markers keep their commit ids: these are not replaced by names of tasks.
 */
const MAX_MARKED_FILE_BYTES = 16 << 20
/** At most this many conflicts are described. */
const MAX_DESCRIBED_CONFLICTS = 50
/** At most this many characters of each side of a described conflict. */
const MAX_SIDE_CHARS = 20_000

const SIDES = { 1: 'what both began with', 2: 'one side (ours in the marks)', 3: 'the other side (theirs)' } as const

/** The results in their order, without those that are ancestors of another result: merging that one merges them too. */
async function withoutContained(repository: Repository, results: readonly Oid[]): Promise<Oid[]> {
  const independent = new Set(await independentOf(repository, results))
  return [...new Set(results)].filter(result => independent.has(result))
}

const pathsOf = ({ conflicts, stages }: MergedTree): Path[] => [
  ...new Set([...stages.map(({ path }) => path), ...conflicts.flatMap(it => it.paths)]),
]

/**
 * Describes conflicts for the model or person that resolves them: by file, with both sides where the markers don't show
 * them.
 */
async function conflictsInWords(objects: Objects, { conflicts, stages }: MergedTree, paths: Path[]): Promise<string> {
  const byPath = Map.groupBy(stages, ({ path }) => path)
  const kindsOf = (path: Path) =>
    conflicts.filter((it: MergeConflict) => it.paths.includes(path)).map(({ kind }) => kind)
  const told = paths.slice(0, MAX_DESCRIBED_CONFLICTS).map(async path => {
    const kinds = [...new Set(kindsOf(path))]
    const head = `${visiblePath(path)}: ${kinds.join(', ') || 'contents'}`
    const isMarked = kinds.every(kind => kind === 'contents' || kind === 'content' || kind === 'add/add')
    if (isMarked) return `${head}. The file has git's conflict marks where the two meet.`
    const sides = (byPath.get(path) ?? []).map(stage => sideInWords(objects, stage))
    return [head, ...(await Promise.all(sides))].join('\n')
  })
  const rest =
    paths.length > MAX_DESCRIBED_CONFLICTS ? [`and ${many(paths.length - MAX_DESCRIBED_CONFLICTS, 'more file')}.`] : []
  return [`${many(paths.length, 'file')} in conflict:`, ...(await Promise.all(told)), ...rest].join('\n\n')
}

async function sideInWords(objects: Objects, { oid, mode, stage }: Stage): Promise<string> {
  const name = SIDES[stage]
  if (!mode.startsWith('100')) return `${name}: no plain file (mode ${mode})`
  const bytes = await readStart(objects.repository, oid, MAX_SIDE_CHARS)
  if (bytes.subarray(0, 8192).includes(0)) return `${name}: a binary file`
  return `${name}:\n${fenced(bytes.toString())}`
}
