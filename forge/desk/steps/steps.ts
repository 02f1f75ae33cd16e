/** The steps that can be done to refs: previewed, and done as they were previewed. */
import { Failure } from '../../../core/failure.ts'
import { bytesOf, lineOf } from '../../../core/git/commits.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import { isOid, type Oid } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchWork, Room } from '../branch-work.ts'
import { groupsOf, kindOf } from '../conflicts.ts'
import { DESK } from '../drafts.ts'
import type { Done, Outlook, Preview, Source, Step } from '../repository-view.ts'
import { planCherryPick } from './cherry-pick.ts'
import { planLand } from './land.ts'
import { planMerge } from './merge.ts'
import { planMove } from './move.ts'
import { Outlooks } from './outlooks.ts'
import { carryOut } from './perform.ts'
import type { Plan, Target } from './plan.ts'
import { planRebase } from './rebase.ts'
import { planTag, planTagDeletion, type TagPlan } from './tag.ts'
import { warningsFor } from './warnings.ts'

/** Steps that are done to a branch, by this repository alone. */
type BranchStep = Extract<Step, { step: 'merge' | 'land' | 'rebase' | 'cherry-pick' | 'move' }>
type TagStep = Extract<Step, { step: 'tag' | 'delete tag' }>

export class Steps {
  readonly #outlooks: Outlooks

  constructor(
    readonly room: Room,
    /** The work on a branch. */
    readonly open: (branch: string) => Promise<BranchWork>,
  ) {
    this.#outlooks = new Outlooks(room.objects)
  }

  /** How merging a commit into each of some branches would come out. */
  async outlooks(source: Source, targets: readonly string[]): Promise<Outlook[]> {
    const { commit } = await this.#source(source)
    const works = await Promise.all(targets.map(name => this.#tipOf(name)))
    return await Promise.all(
      works.map(async tip => {
        if (tip === undefined) return { is: 'impossible', conflicts: 0, words: 'no commit yet' } as const
        return await this.#outlooks.of(tip, commit)
      }),
    )
  }

  async #tipOf(branch: string): Promise<Oid | undefined> {
    return (await this.room.objects.info(`refs/heads/${branch}^{commit}`))?.oid
  }

  /** What a step would do. What makes it impossible is said in words. */
  async preview(step: Step): Promise<Preview> {
    try {
      if (isTagStep(step)) return previewOfTag(await this.#planTag(step))
      const own = branchStep(step)
      const work = await this.open(targetOf(own))
      work.verifyFree()
      work.verifyNotMerging()
      return await this.#previewOf(own, await this.#plan(own, work), work)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return { is: 'impossible', conflicts: 0, words: error.message, commits: 0, conflictsIn: [], warnings: [] }
    }
  }

  async #previewOf(step: BranchStep, plan: Plan, work: BranchWork): Promise<Preview> {
    const { objects } = this.room
    const { stop, message, before } = plan
    const groups = stop ? groupsOf(stop.merge) : []
    const ends = stop && { ours: stop.ours, theirs: stop.theirs, words: stop.words }
    const conflictsIn = await Promise.all(
      groups.map(async group => ({
        path: group.path,
        kind: stop && ends ? await kindOf(objects, stop.merge, group, ends) : 'other',
      })),
    )
    const warnings = await warningsFor(this.room, step.step, plan)
    if (stop && work.draftPaths.length > 0)
      warnings.push(
        `What was typed in ${visiblePath(plan.branch)} has to be saved or discarded before: there are conflicts.`,
      )
    return {
      ...{ is: plan.is, conflicts: groups.length, words: plan.words, before, commits: plan.commits },
      ...(!stop && { tree: plan.tree, result: await this.#result(plan) }),
      ...{ conflictsIn: conflictsIn.sort((one, other) => (one.path < other.path ? -1 : 1)), warnings },
      ...(message !== undefined && { message }),
    }
  }

  /** A commit that no ref has, with the files as they would be: so the page can compare it with any other. */
  async #result({ before, tree }: Plan): Promise<Oid> {
    const who = lineOf({ ...DESK, date: { seconds: 0, zone: '+0000' } })
    const bytes = bytesOf({ tree, parents: [before], message: 'Preview\n' }, who, who)
    const [oid = ''] = await writeObjects(this.room.objects.repository, [{ type: 'commit', bytes }])
    return oid
  }

  /** Does a step. `before` is the target's commit as it was previewed: where it has moved since, nothing is done. */
  async do(wanted: Step, before?: Oid): Promise<Done> {
    if (isTagStep(wanted)) return await this.#doTag(await this.#planTag(wanted))
    const step = branchStep(wanted)
    const branch = targetOf(step)
    const work = await this.open(branch)
    return await work.inOneGo(async signature => {
      if (before !== undefined && work.head !== before)
        throw new Failure(
          `${visiblePath(branch)} was moved since this was previewed: nothing was done. Look at it again.`,
        )
      const plan = await this.#plan(step, work)
      if (plan.is === 'nothing') throw new Failure(`There is nothing to do: ${whyNothing(step)}.`)
      const commit = await carryOut(work, plan, signature)
      const words = plan.stop ? `${plan.words}: ${visiblePath(branch)} waits for you.` : wordsOf(plan)
      return plan.stop ? { words, merging: branch } : { words, commit }
    })
  }

  async #plan(step: BranchStep, work: BranchWork): Promise<Plan> {
    const { objects } = this.room
    const target = targetIn(work)
    switch (step.step) {
      case 'merge':
        return await planMerge(objects, await this.#source(step.source), target, step)
      case 'land':
        return await planLand(objects, await this.#source(step.source), target, step.message)
      case 'rebase':
        return await planRebase(objects, target, await this.#source(step.onto))
      case 'cherry-pick':
        return await planCherryPick(objects, await Promise.all(step.commits.map(oid => this.#commit(oid))), target)
      case 'move':
        return await planMove(objects, target, await this.#source(step.to))
    }
  }

  async #source(source: Source): Promise<Source> {
    return { ...source, commit: await this.#commit(source.commit) }
  }

  async #commit(oid: Oid): Promise<Oid> {
    const { objects } = this.room
    const commit = isOid(objects.repository.format, oid) ? await objects.info(`${oid}^{commit}`) : undefined
    if (!commit) throw new Failure(`There is no commit ${visiblePath(oid.slice(0, 12))} in this repository.`)
    return commit.oid
  }

  async #planTag(step: TagStep): Promise<TagPlan> {
    const { objects } = this.room
    if (step.step === 'tag') return await planTag(objects, step.name, await this.#commit(step.at), step.message)
    return await planTagDeletion(objects, step.name)
  }

  async #doTag({ kind, does, move, made }: TagPlan): Promise<Done> {
    try {
      await this.room.operations.record({ kind, words: does, moves: [move], made })
    } catch (error) {
      if (!(error instanceof RefMoved)) throw error
      throw new Failure(
        `${visiblePath(move.ref)} was moved by another program at this moment: nothing was done. Try again.`,
      )
    }
    this.room.say({ say: 'repository' })
    return { words: sentence(does), ...(move.to !== undefined && { commit: await this.#commit(move.to) }) }
  }
}

const isTagStep = (step: Step): step is TagStep => step.step === 'tag' || step.step === 'delete tag'

/** Throws a {@link Failure} for steps that are not done here: those that need a remote. */
function branchStep(step: Step): BranchStep {
  if (['merge', 'land', 'rebase', 'cherry-pick', 'move'].includes(step.step)) return step as BranchStep
  throw new Failure(`The desk can't do this here: ${step.step}.`)
}

/** The branch that a step is done to. */
const targetOf = (step: BranchStep): string =>
  step.step === 'rebase' || step.step === 'move' ? step.branch : step.onto

function targetIn({ name, head, isGone }: BranchWork): Target {
  if (isGone) throw new Failure(`The branch ${visiblePath(name)} was deleted: bring it back first.`)
  if (head === undefined)
    throw new Failure(`${visiblePath(name)} has no commit yet: save a first file, or make the branch from a commit.`)
  return { branch: name, tip: head }
}

function previewOfTag({ words, warnings }: TagPlan): Preview {
  return { is: 'clean', conflicts: 0, words, commits: 0, conflictsIn: [], warnings }
}

const sentence = (words: string): string => `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`
const wordsOf = ({ does, words }: Plan): string => `${sentence(does).slice(0, -1)}: ${words}.`

function whyNothing(step: BranchStep): string {
  if (step.step === 'merge' || step.step === 'land')
    return `${visiblePath(step.onto)} has all of ${visiblePath(step.source.words)} already`
  if (step.step === 'rebase') return `${visiblePath(step.branch)} stands on ${visiblePath(step.onto.words)} already`
  if (step.step === 'move') return `${visiblePath(step.branch)} is there already`
  return `${visiblePath(step.onto)} has these changes already`
}
