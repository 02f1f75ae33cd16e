/**
 * How steps would come out: the colour and the word on each branch while something is dragged, or a branch is chosen.
 * It is what the previews of these steps say, kept by the commits that they are about, which never change.
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

/**
 * How many git processes merge at a time, how many pairs each merges at most, and how many other steps are planned at a
 * time.
 */
const MAX_CONCURRENT_MERGES = 2
const TOGETHER = 16
/** How many outlooks are cached. */
const MAX_KEPT_OUTLOOKS = 20_000
/** What takes longer to be planned, in milliseconds, is not known of many targets: only of the one that is chosen. */
const MAX_PLANNING_MS = 1000

type Pair = readonly [ours: Oid, theirs: Oid]
/** `isEmpty`: the files stay as they are, but for the folder that belongs to its branch. */
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

  /** How a merge of theirs into ours would come out. What is asked for in one moment is answered together. */
  async ofMerge(ours: Oid, theirs: Oid): Promise<Outlook> {
    return (await this.#merge(ours, theirs)).outlook
  }

  /** How landing theirs on ours would come out: as a merge, but that nothing comes of it where no file changes. */
  async ofLanding(ours: Oid, theirs: Oid): Promise<Outlook> {
    const { outlook, isEmpty } = await this.#merge(ours, theirs)
    if (outlook.is !== 'clean') return outlook
    return isEmpty ? NOTHING : { ...outlook, words: 'lands cleanly' }
  }

  /** How any other step would come out, by its plan; the key has all commits and names in it that the plan is about. */
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
    // What changes nothing may still be a merge that git would make.
    const isThere = (await mergeBases(objects.repository, ours, theirs)).includes(theirs)
    return { outlook: isThere ? NOTHING : CLEAN, isEmpty }
  }

  async #whyNone(ours: Oid, theirs: Oid): Promise<Outlook> {
    const isUnrelated = (await mergeBases(this.objects.repository, ours, theirs)).length === 0
    return impossible(isUnrelated ? 'no history in common' : FAILS)
  }

  /** Whether two trees are the same but for the folder that belongs to its branch. */
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

/** What comes of a plan, if that is known soon. */
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

/** Keeps an answer, unless it fails. */
function keep<Answer>(known: Map<string, Promise<Answer>>, key: string, answer: Promise<Answer>): void {
  if (known.size >= MAX_KEPT_OUTLOOKS) known.clear()
  known.set(key, answer)
  answer.catch(() => known.delete(key))
}
