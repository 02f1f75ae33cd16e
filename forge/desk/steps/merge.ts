/** A merge of a branch or commit into a branch, as with `git merge`: a fast-forward if possible. */
import { Failure } from '../../../core/failure.ts'
import { mergeBases } from '../../../core/git/commits.ts'
import { type MergedTree, mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { isRefName } from '../../../core/git/objects.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { read, run } from '../../../core/git/run.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visiblePath } from '../../../core/text.ts'
import { headRef } from '../branches/branches.ts'
import { FORGE_FOLDER, withOwnFolder } from '../branches/forge-folder.ts'
import { groupsOf, isClean, withPlainNames } from '../conflicts/conflicts.ts'
import type { Source } from '../contract/steps.ts'
import {
  FORWARD,
  filesInConflict,
  type Planned,
  type StepPlan,
  type StepTarget,
  type Stop,
  treeOfCommit,
} from './plan.ts'

type MergeOptions = { message?: string | undefined; isCommitWanted?: boolean | undefined }

/** Plans a merge. Throws a {@link Failure} if the two share no history. */
export async function planMerge(
  objects: Objects,
  source: Source,
  target: StepTarget,
  { message, isCommitWanted = false }: MergeOptions,
): Promise<StepPlan> {
  const { repository } = objects
  const { branch, tip } = target
  const [bases, tree, isSameFolder, commits] = await Promise.all([
    commonTo(repository, source, target),
    treeOfCommit(objects, source.commit),
    hasSameFolder(objects, tip, source.commit),
    countBetween(repository, tip, source.commit),
  ])
  const [name, from] = [visiblePath(branch), visiblePath(source.words)]
  const plan = { branch, before: tip, kind: 'merge', does: `merge ${from} into ${name}`, onto: tip, also: [] }
  if (bases.includes(source.commit))
    return {
      ...plan,
      is: 'nothing',
      words: 'nothing to do',
      chain: [],
      tree: await treeOfCommit(objects, tip),
      commits: 0,
      warnings: [],
    }
  const isForward = bases.includes(tip)
  if (isForward && isSameFolder && !isCommitWanted) {
    const chain: Planned[] = [{ is: 'there', commit: source.commit, tree }]
    return { ...plan, how: FORWARD, is: 'clean', words: 'fast-forward', chain, tree, commits, warnings: [] }
  }
  const why = `${FORGE_FOLDER}/ belongs to its branch, so this makes a commit where git would only move the branch.`
  const warnings = isForward && !isCommitWanted ? [why] : []
  const [merge, usual] = await Promise.all([
    mergeSourceInto(objects, source, target),
    message === undefined ? messageFor(objects, source, branch) : message,
  ])
  const words = { ours: branch, theirs: source.words }
  if (!isClean(merge)) {
    const state: Stop['state'] = { does: 'merge', message: usual, todo: [] }
    const stop = { merge, ours: tip, theirs: source.commit, words, state }
    const conflicts = filesInConflict(groupsOf(merge).length)
    return {
      ...plan,
      is: 'conflicts',
      words: conflicts,
      chain: [],
      stop,
      tree: merge.tree,
      commits,
      message: usual,
      warnings,
    }
  }
  const chain: Planned[] = [{ is: 'new', tree: merge.tree, others: [source.commit], message: usual }]
  return { ...plan, is: 'clean', words: 'merges cleanly', chain, tree: merge.tree, commits, message: usual, warnings }
}

/** Git's merge of a commit into a branch, but with the branch's own .forge folder. */
export async function mergeSourceInto(objects: Objects, source: Source, { tip }: StepTarget): Promise<MergedTree> {
  const merge = await withOwnFolder(objects, tip, await mergeTrees(objects.repository, tip, source.commit, { objects }))
  return await withPlainNames(objects, merge, source.words)
}

/** The merge bases of a branch and the commit to merge into it. Throws a {@link Failure} if there are none. */
export async function commonTo(repository: Repository, source: Source, { branch, tip }: StepTarget): Promise<Oid[]> {
  const bases = await mergeBases(repository, tip, source.commit)
  if (bases.length > 0) return bases
  const cut = repository.isShallow
    ? ' This clone is shallow: git fetch --unshallow may bring the history in which they met.'
    : ''
  throw new Failure(
    `${visiblePath(source.words)} and ${visiblePath(branch)} have no history in common, and git merges no such two: nothing was done.${cut}`,
  )
}

export async function hasSameFolder(objects: Objects, one: Oid, other: Oid): Promise<boolean> {
  const [own, theirs] = await Promise.all([one, other].map(commit => entryAt(objects, commit, FORGE_FOLDER)))
  return own?.oid === theirs?.oid && own?.mode === theirs?.mode
}

export const countBetween = async (repository: Repository, old: Oid, tip: Oid): Promise<number> =>
  Number(await read(repository, ['rev-list', '--count', tip, `^${old}`, '--']))

/** The message that git would write, following the user's configuration. */
async function messageFor(objects: Objects, source: Source, branch: string): Promise<string> {
  const { repository } = objects
  const name = await nameOf(objects, source)
  const input = Buffer.from(`${source.commit}\t\t${name}\n`, 'latin1')
  const args = ['fmt-merge-msg', '--into-name', asText(branch), '-F', '-']
  const { code, stdout } = await run(repository, args, { input, ok: [0, 128] })
  if (code === 0) return stdout.toString()
  // Git writes no message if HEAD is on a branch without commits, as in many bare repositories.
  const into = ['main', 'master'].includes(branch) ? '' : ` into ${asText(branch)}`
  return `Merge ${asText(name.replace(/ of \.$/, ''))}${into}\n`
}

/** The source's name in git's message: that of an existing ref, if the source was one. */
async function nameOf(objects: Objects, { commit, branch, words }: Source): Promise<string> {
  const candidates: [string, string, string][] = [
    ['branch', branch ?? words, headRef(branch ?? words)],
    ['remote-tracking branch', words, `refs/remotes/${words}`],
    ['tag', words, `refs/tags/${words}`],
  ]
  const names = candidates.filter(([, , ref]) => isRefName(ref))
  const found = await Promise.all(names.map(([, , ref]) => objects.info(`${ref}^{commit}`)))
  const at = found.findIndex(info => info?.oid === commit)
  const [kind, name] = names[at] ?? ['commit', commit.slice(0, 12)]
  return kind === 'commit' || kind === 'tag' ? `${kind} '${name}'` : `${kind} '${name}' of .`
}
