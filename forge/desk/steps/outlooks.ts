/** How merging a commit into branches would come out, for the colour and the word on each while something is dragged. */
import { mergeBases } from '../../../core/git/commits.ts'
import { mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { readTree } from '../../../core/git/trees.ts'
import { groupsOf, isClean } from '../conflicts.ts'
import { FORGE, isOfForge } from '../forge-folder.ts'
import type { Outlook } from '../repository-view.ts'
import { filesInConflict, treeOf } from './plan.ts'

/** So many merges are computed at a time. */
const AT_ONCE = 4
/** Outlooks of pairs of commits are kept, up to this many: pairs never change. */
const MOST = 20_000

export class Outlooks {
  readonly #known = new Map<string, Promise<Outlook>>()
  #free = AT_ONCE
  readonly #waiting: (() => void)[] = []

  constructor(readonly objects: Objects) {}

  /** How a merge of theirs into ours would come out. */
  async of(ours: Oid, theirs: Oid): Promise<Outlook> {
    const pair = `${ours} ${theirs}`
    const known = this.#known.get(pair)
    if (known) return await known
    const asked = this.#inTurn(() => this.#look(ours, theirs))
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(pair, asked)
    asked.catch(() => this.#known.delete(pair))
    return await asked
  }

  async #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free++
    }
  }

  async #look(ours: Oid, theirs: Oid): Promise<Outlook> {
    if (ours === theirs) return NOTHING
    const { objects } = this
    const { repository } = objects
    try {
      const { tree, ...merge } = await mergeTrees(repository, ours, theirs, { objects })
      const stages = merge.stages.filter(({ path }) => !isOfForge(path))
      const conflicts = merge.conflicts.filter(({ paths }) => !paths.every(isOfForge))
      const count = groupsOf({ stages, conflicts }).length
      if (!isClean({ stages, conflicts })) return { is: 'conflicts', conflicts: count, words: filesInConflict(count) }
      if (!(await this.#isSame(await treeOf(objects, ours), tree))) return CLEAN
      // What changes nothing may still be a merge that git would make.
      return (await mergeBases(repository, ours, theirs)).includes(theirs) ? NOTHING : CLEAN
    } catch (error) {
      if (!(error instanceof GitError) || (await mergeBases(repository, ours, theirs)).length > 0) throw error
      return { is: 'impossible', conflicts: 0, words: 'no history in common' }
    }
  }

  /** Whether two trees are the same but for the folder that belongs to its branch. */
  async #isSame(one: Oid, other: Oid): Promise<boolean> {
    if (one === other) return true
    const [left, right] = await Promise.all([one, other].map(tree => readTree(this.objects, tree)))
    const rest = (entries: typeof left) =>
      entries?.filter(({ name }) => name !== FORGE).map(({ mode, name, oid }) => `${mode} ${oid} ${name}`)
    return rest(left)?.join('\0') === rest(right)?.join('\0')
  }
}

const NOTHING: Outlook = { is: 'nothing', conflicts: 0, words: 'nothing to do' }
const CLEAN: Outlook = { is: 'clean', conflicts: 0, words: 'merges cleanly' }
