/**
 * Reviews the result of a merge: whether it is what such a merge makes, by the rules with which Forklift judges an
 * agent's merge.
 */
import { bytesOf, identityLine, mergeBases } from '../../../core/git/commits.ts'
import { isFileOrFolder } from '../../../core/git/merges.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import { treeWithUntracked } from '../../../core/git/stash.ts'
import { emptyTree, entryAt, writeTree } from '../../../core/git/trees.ts'
import { type Commits, type MergeReview, review } from '../../../core/review.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { FORGE_FOLDER, isOfForge } from '../branches/forge-folder.ts'
import type { StoredMerging } from '../branches/merging-commits.ts'

/** Oddities of a merge's result, as sentences: points that the user should look at before committing. */
export interface Oddities {
  files: Map<Path, string>
  words: string[]
  /**
   * Files that lost most lines in which our side differed from theirs. Reported only where a model resolved the file,
   * since a user may intend it.
   */
  shrunk: Map<Path, string>
  /** A sentence if all conflicts were resolved for the same side, so that the result equals that side. */
  whole: string | undefined
}

/** At most this many reviews are cached. */
const MAX_KEPT_REVIEWS = 50

export class MergingReviews {
  readonly #known = new Map<string, Promise<Oddities>>()

  constructor(readonly objects: Objects) {}

  /** Reviews a tree as the result of a merge. */
  async of(state: StoredMerging, result: Oid): Promise<Oddities> {
    const key = `${state.does} ${state.oursCommit} ${state.theirsCommit} ${result}`
    const known = this.#known.get(key) ?? this.#judge(state, result)
    if (this.#known.size >= MAX_KEPT_REVIEWS) this.#known.clear()
    this.#known.set(key, known)
    known.catch(() => this.#known.delete(key))
    return await known
  }

  async #judge(state: StoredMerging, result: Oid): Promise<Oddities> {
    const { repository } = this.objects
    const commits = await this.#commits(state, result)
    const parent = repository.temporary
    await using scratch = await openScratch({ parent, borrowed: [repository.objects], format: repository.format })
    return oddIn(await review(scratch, commits), state)
  }

  /**
   * The four commits of a review, created without refs: a pick is reviewed as a merge with a base of its own, and the
   * folder .forge is left out. For a merge with several bases, its real commits are used.
   */
  async #commits({ does, oursCommit, theirsCommit, base }: StoredMerging, result: Oid): Promise<Commits> {
    const { objects } = this
    const { repository } = objects
    const isPick = does === 'rebase' || does === 'cherry-pick' || does === 'revert'
    const bases = isPick
      ? [base ?? emptyTree(repository.format)]
      : await mergeBases(repository, oursCommit, theirsCommit)
    const [from] = bases
    if (bases.length !== 1 || from === undefined) {
      const [made] = await this.#make([{ tree: result, parents: [oursCommit, theirsCommit] }])
      return { origin: oursCommit, start: oursCommit, upstream: theirsCommit, result: made ?? '' }
    }
    const upstream = does === 'cherry-pick' ? await treeWithUntracked(objects, theirsCommit) : theirsCommit
    const trees = await Promise.all([from, oursCommit, upstream, result].map(it => this.#withoutFolder(it)))
    const [baseTree = '', oursTree = '', theirsTree = '', resultTree = ''] = trees
    const [root = ''] = await this.#make([{ tree: baseTree, parents: [] }])
    const [ours = '', theirs = ''] = await this.#make([
      { tree: oursTree, parents: [root], words: 'ours' },
      { tree: theirsTree, parents: [root], words: 'theirs' },
    ])
    const [made = ''] = await this.#make([{ tree: resultTree, parents: [ours, theirs] }])
    return { origin: ours, start: ours, upstream: theirs, result: made }
  }

  async #withoutFolder(treeish: Oid): Promise<Oid> {
    const { objects } = this
    const whole = await entryAt(objects, treeish, '')
    if (!whole) throw new Error(`There is no tree ${treeish}`)
    if (!(await entryAt(objects, treeish, FORGE_FOLDER))) return whole.oid
    return await writeTree(objects, whole.oid, new Map([[FORGE_FOLDER, undefined]]))
  }

  /** Makes commits with a fixed author and time, so that equal trees give equal commits. */
  async #make(wanted: readonly { tree: Oid; parents: Oid[]; words?: string }[]): Promise<Oid[]> {
    const { repository } = this.objects
    const nobody = identityLine({
      name: 'Nobody',
      email: 'nobody@nowhere.invalid',
      date: { seconds: 0, zone: '+0000' },
    })
    const made = wanted.map(({ tree, parents, words = 'made up' }): NewObject => {
      return { type: 'commit', bytes: bytesOf({ tree, parents, message: `${words}\n` }, nobody, nobody) }
    })
    await writeObjects(repository, made)
    return made.map(object => oidOf(repository.format, object))
  }
}

function oddIn(judged: MergeReview, { ours, theirs }: StoredMerging): Oddities {
  const [one, other] = [visiblePath(ours), visiblePath(theirs)]
  const files = new Map<Path, string>()
  // A folder that gave way to a side's file was in conflict with that file.
  const replaced = judged.conflicts
    .filter(it => isFileOrFolder(it) && /version$/.test(it.resolution))
    .map(({ path }) => `${path}/`)
  const note = (path: Path, words: string) => {
    if (isOfForge(path) || files.has(path) || replaced.some(folder => path.startsWith(folder))) return
    files.set(path, words)
  }
  // Reports a file only if less than half of the lines are left in which it differed from the other side: where the
  // lines of both sides are kept, about half are left.
  const shrunk = judged.shrunk
    .filter(({ path, before, after }) => after * 2 < before && !isOfForge(path))
    .map(({ path, before, after }): [Path, string] => {
      return [path, `of ${many(before, 'line')} in which ${one} differed from ${other}, ${after} are left`]
    })
  for (const { path, change, to } of judged.edits)
    note(
      path,
      to === undefined
        ? `${change}, though git merged it with no conflict`
        : `moved to ${visiblePath(to)}, though git merged it with no conflict`,
    )
  for (const path of judged.around) note(path, 'changed beside its conflicts, too')
  for (const path of judged.dropped)
    note(path, `what ${other} changed was not taken, though git merged it with no conflict`)
  for (const path of judged.vanished) note(path, `what ${one} changed is undone, though git merged it with no conflict`)
  const whose = judged.settledOn === 'the fork' ? one : other
  const whole = judged.settledOn && `All of it is as in ${whose}: every conflict went that way.`
  // The sentences name the fork and upstream: replaced by the names of these sides.
  const refusals = judged.refusals.map(words => words.replace(/[Tt]he fork\b/g, one).replace(/[Uu]pstream\b/g, other))
  return { files, words: refusals, shrunk: new Map(shrunk), whole }
}
