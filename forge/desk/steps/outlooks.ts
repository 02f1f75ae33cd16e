/**
 * The outcomes of steps: the colour and the word on each branch during a drag, or while a branch is chosen. They match
 * the previews, and are cached by the commits that they depend on, which never change.
 */
import { Failure } from '../../../core/failure.ts'
import { mergeBases } from '../../../core/git/commits.ts'
import { type MergedTree, mergeMany } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { readTree } from '../../../core/git/trees.ts'
import { FORGE_FOLDER, isOfForge } from '../branches/forge-folder.ts'
import { groupsOf, isClean } from '../conflicts/conflicts.ts'
import type { Outlook } from '../contract/steps.ts'
import type { Pace } from './picks.ts'
import { filesInConflict, type StepPlan, treeOfCommit } from './plan.ts'

/** At most this many git processes merge at a time. */
const MAX_CONCURRENT_MERGES = 2
/** At most this many pairs of commits are merged by one git process. */
const MAX_PAIRS_PER_MERGE = 16
/** At most this many outcomes are cached. */
const MAX_KEPT_OUTLOOKS = 20_000
/** If planning a step takes longer, in milliseconds, its outcome is not shown among others, only in its preview. */
const MAX_PLANNING_MS = 1000

type Pair = readonly [ours: Oid, theirs: Oid]
/** `isEmpty`: no file changes, apart from the branch's own .forge folder. */
type Merging = { outlook: Outlook; isEmpty: boolean }
type Asked = { pair: Pair; resolve: (merging: Merging) => void; reject: (error: unknown) => void }

export class Outlooks {
  readonly #merges = new Map<string, Promise<Merging>>()
  readonly #plans = new Map<string, Promise<Outlook>>()
  readonly #asked: Asked[] = []
  #atWork = 0
  readonly #waiting: (() => void)[] = []
  #planning = 0

  constructor(readonly objects: Objects) {}

  /** The outcome of merging theirs into ours. Requests made at the same time are answered together. */
  async ofMerge(ours: Oid, theirs: Oid): Promise<Outlook> {
    return (await this.#merge(ours, theirs)).outlook
  }

  /** The outcome of landing `theirs` on `ours`: that of their merge, or "nothing" if no file would change. */
  async ofLanding(ours: Oid, theirs: Oid): Promise<Outlook> {
    const { outlook, isEmpty } = await this.#merge(ours, theirs)
    if (outlook.is !== 'clean') return outlook
    return isEmpty ? NOTHING : { ...outlook, words: 'lands cleanly' }
  }

  /** The outcome of a step of another kind, from its plan. `key`: contains all commits and names it depends on. */
  async ofPlan(key: string, plan: (pace: Pace) => Promise<StepPlan>): Promise<Outlook> {
    const answer = this.#plans.get(key) ?? this.#inTurn(() => plannedIn(plan))
    keep(this.#plans, key, answer)
    const outlook = await answer
    if (outlook.is === 'unknown') this.#plans.delete(key)
    return outlook
  }

  async #inTurn(task: () => Promise<Outlook>): Promise<Outlook> {
    if (this.#planning < MAX_CONCURRENT_MERGES) this.#planning++
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#planning--
    }
  }

  async #merge(ours: Oid, theirs: Oid): Promise<Merging> {
    if (ours === theirs) return { outlook: NOTHING, isEmpty: true }
    const key = `${ours} ${theirs}`
    const known = this.#merges.get(key)
    if (known) return await known
    const answer = new Promise<Merging>((resolve, reject) => {
      this.#asked.push({ pair: [ours, theirs], resolve, reject })
      if (this.#asked.length === 1) queueMicrotask(() => this.#begin())
    })
    keep(this.#merges, key, answer)
    return await answer
  }

  #begin(): void {
    while (this.#atWork < MAX_CONCURRENT_MERGES && this.#asked.length > 0) {
      const share = Math.ceil(this.#asked.length / (MAX_CONCURRENT_MERGES - this.#atWork))
      const some = this.#asked.splice(0, Math.min(share, MAX_PAIRS_PER_MERGE))
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
      const all = asked.map(async ({ pair, resolve }, at) => resolve(await this.#mergingOf(pair, merges[at])))
      await Promise.all(all)
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  async #mergingOf([ours, theirs]: Pair, merge: MergedTree | undefined): Promise<Merging> {
    const { objects } = this
    if (!merge) return { outlook: await this.#whyNone(ours, theirs), isEmpty: false }
    const stages = merge.stages.filter(({ path }) => !isOfForge(path))
    const conflicts = merge.conflicts.filter(({ paths }) => !paths.every(isOfForge))
    if (!isClean({ stages, conflicts }))
      return { outlook: inConflict(groupsOf({ stages, conflicts }).length), isEmpty: false }
    const isEmpty = await this.#isSame(await treeOfCommit(objects, ours), merge.tree)
    if (!isEmpty) return { outlook: CLEAN, isEmpty }
    // A merge without changes is still made by git, unless ours already contains theirs.
    const isThere = (await mergeBases(objects.repository, ours, theirs)).includes(theirs)
    return { outlook: isThere ? NOTHING : CLEAN, isEmpty }
  }

  async #whyNone(ours: Oid, theirs: Oid): Promise<Outlook> {
    const isUnrelated = (await mergeBases(this.objects.repository, ours, theirs)).length === 0
    return impossible(isUnrelated ? 'no history in common' : FAILS)
  }

  /** Whether two trees are equal apart from the .forge folder. */
  async #isSame(one: Oid, other: Oid): Promise<boolean> {
    if (one === other) return true
    const [left, right] = await Promise.all([one, other].map(tree => readTree(this.objects, tree)))
    const rest = (entries: typeof left) =>
      entries?.filter(({ name }) => name !== FORGE_FOLDER).map(({ mode, name, oid }) => `${mode} ${oid} ${name}`)
    return rest(left)?.join('\0') === rest(right)?.join('\0')
  }
}

const NOTHING: Outlook = { is: 'nothing', conflicts: 0, words: 'nothing to do' }
const CLEAN: Outlook = { is: 'clean', conflicts: 0, words: 'merges cleanly' }
const FAILS = 'git fails at it'

export const impossible = (words: string): Outlook => ({ is: 'impossible', conflicts: 0, words })
const inConflict = (count: number): Outlook => ({ is: 'conflicts', conflicts: count, words: filesInConflict(count) })

/** The outcome of a plan, if it is computed in time. */
async function plannedIn(plan: (pace: Pace) => Promise<StepPlan>): Promise<Outlook> {
  const signal = AbortSignal.timeout(MAX_PLANNING_MS)
  try {
    const { is, stop, words } = await plan({ signal, tell: () => undefined })
    return { is, conflicts: stop ? groupsOf(stop.merge).length : 0, words }
  } catch (error) {
    if (signal.aborted) return { is: 'unknown', conflicts: 0, words: 'shown when selected' }
    if (error instanceof Failure) return impossible(error.message)
    if (error instanceof GitError) return impossible(FAILS)
    throw error
  }
}

/** Caches an answer unless it fails. */
function keep<Answer>(known: Map<string, Promise<Answer>>, key: string, answer: Promise<Answer>): void {
  if (known.size >= MAX_KEPT_OUTLOOKS) known.clear()
  known.set(key, answer)
  answer.catch(() => known.delete(key))
}
