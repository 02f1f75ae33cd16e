/** How merging a commit into branches would come out: the colour and the word on each while something is dragged. */
import { mergeBases } from '../../../core/git/commits.ts'
import { type Merge, mergeMany } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { readTree } from '../../../core/git/trees.ts'
import { FORGE, isOfForge } from '../chat/forge-folder.ts'
import { groupsOf, isClean } from '../merging/conflicts.ts'
import type { Outlook } from '../repository-view.ts'
import { filesInConflict, treeOf } from './plan.ts'

/** So many gits merge at a time, each so many pairs at most. */
const AT_ONCE = 2
const TOGETHER = 16
/** Outlooks of pairs of commits are kept, up to this many: pairs never change. */
const MOST = 20_000

type Pair = readonly [ours: Oid, theirs: Oid]
type Asked = { pair: Pair; resolve: (outlook: Outlook) => void; reject: (error: unknown) => void }

export class Outlooks {
  readonly #known = new Map<string, Promise<Outlook>>()
  readonly #asked: Asked[] = []
  #atWork = 0

  constructor(readonly objects: Objects) {}

  /** How a merge of theirs into ours would come out. What is asked for in one moment is answered together. */
  async of(ours: Oid, theirs: Oid): Promise<Outlook> {
    if (ours === theirs) return NOTHING
    const key = `${ours} ${theirs}`
    const known = this.#known.get(key)
    if (known) return await known
    const answer = new Promise<Outlook>((resolve, reject) => {
      this.#asked.push({ pair: [ours, theirs], resolve, reject })
      if (this.#asked.length === 1) queueMicrotask(() => this.#begin())
    })
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(key, answer)
    answer.catch(() => this.#known.delete(key))
    return await answer
  }

  #begin(): void {
    while (this.#atWork < AT_ONCE && this.#asked.length > 0) {
      const share = Math.ceil(this.#asked.length / (AT_ONCE - this.#atWork))
      const some = this.#asked.splice(0, Math.min(share, TOGETHER))
      this.#atWork++
      void this.#answer(some).finally(() => {
        this.#atWork--
        this.#begin()
      })
    }
  }

  async #answer(asked: readonly Asked[]): Promise<void> {
    try {
      const merges = await mergeMany(
        this.objects.repository,
        asked.map(({ pair }) => pair),
        this.objects,
      )
      const all = asked.map(async ({ pair, resolve }, at) => resolve(await this.#outlookOf(pair, merges[at])))
      await Promise.all(all)
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  async #outlookOf([ours, theirs]: Pair, merge: Merge | undefined): Promise<Outlook> {
    const { objects } = this
    if (!merge) return await this.#whyNone(ours, theirs)
    const stages = merge.stages.filter(({ path }) => !isOfForge(path))
    const conflicts = merge.conflicts.filter(({ paths }) => !paths.every(isOfForge))
    const count = groupsOf({ stages, conflicts }).length
    if (!isClean({ stages, conflicts })) return { is: 'conflicts', conflicts: count, words: filesInConflict(count) }
    if (!(await this.#isSame(await treeOf(objects, ours), merge.tree))) return CLEAN
    // What changes nothing may still be a merge that git would make.
    return (await mergeBases(objects.repository, ours, theirs)).includes(theirs) ? NOTHING : CLEAN
  }

  async #whyNone(ours: Oid, theirs: Oid): Promise<Outlook> {
    const words =
      (await mergeBases(this.objects.repository, ours, theirs)).length === 0
        ? 'no history in common'
        : 'git fails at it'
    return { is: 'impossible', conflicts: 0, words }
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
