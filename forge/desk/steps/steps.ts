/** Steps on refs (merge, rebase, push and the like): their outcomes, their previews, and running them as previewed. */

import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine } from '../../../core/git/commits.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import { isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { makeTree } from '../../../core/git/trees.ts'
import { firstOf, many, visiblePath } from '../../../core/text.ts'
import { FORGE_AUTHOR, type Recorded, refsOf } from '../../operations.ts'
import type { BranchServices, BranchWork } from '../branches/branch-work.ts'
import { headRef } from '../branches/branches.ts'
import { mergeDrafts } from '../branches/draft-merges.ts'
import { asChanges, isOpen, noDrafts, verifyNoClash } from '../branches/drafts.ts'
import { readMerging } from '../branches/merging-commits.ts'
import type { OpenBranches } from '../branches/open-branches.ts'
import { type Group, groupsOf, kindOf, wordsFor } from '../conflicts/conflicts.ts'
import type { Reversed } from '../contract/branches.ts'
import { nounOf } from '../contract/merging.ts'
import type { BranchStep, Done, Outlook, Preview, RewriteStep, Source, Step } from '../contract/steps.ts'
import { mergingRef } from '../refs.ts'
import { broughtCommits, namedCommits } from './brought-commits.ts'
import { planCherryPick } from './cherry-pick.ts'
import {
  deleteRemoteBranch,
  deleteRemoteTag,
  previewRemoteDeletion,
  reverseRemoteDeletion,
} from './delete-on-remote.ts'
import { fetchFrom, fetchOne, remotesToFetch } from './fetch.ts'
import { planLand } from './land.ts'
import { leftOut } from './left-out.ts'
import { planMerge } from './merge.ts'
import { planMove } from './move.ts'
import { impossible, Outlooks } from './outlooks.ts'
import { carryOutStep } from './perform.ts'
import { pastOf, type StepPlan, type StepTarget, type Stop } from './plan.ts'
import { type Once, type Plannings, Stopped } from './plannings.ts'
import { followed, NoUpstream, type PullStep, planPull, pullSource, wayToPull } from './pull.ts'
import { ForceNeeded, PullFirst, type PushStep, planPush, previewPush, push, verifyThere } from './push.ts'
import { previewPushTag, pushTag } from './push-tag.ts'
import { planRebase } from './rebase.ts'
import { readRemotes, remoteNamed } from './remotes.ts'
import { planRevert } from './revert.ts'
import { planRewrite } from './rewrite.ts'
import { planTag, planTagDeletion, planTagRename, type TagPlan, writeAnnotatedTag } from './tag.ts'
import { Transfers } from './transfer.ts'
import { rewrittenCommits, warningsFor } from './warnings.ts'

/** The commits in a preview: of the target, of the source, and of the remote branch; and the target's new tree. */
type PreviewedStep = {
  before?: Oid | undefined
  source?: Oid | undefined
  there?: Oid | null | undefined
  tree?: Oid | undefined
}
/** A step whose result is computed (as a {@link StepPlan}) before the branch moves; a fetch or a push has none. */
type PlannedStep = BranchStep | RewriteStep
type TagStep = Extract<Step, { step: 'tag' | 'rename tag' | 'delete tag' }>
type FetchStep = Extract<Step, { step: 'fetch' }>

export class Steps {
  readonly #outlooks: Outlooks
  readonly #transfers: Transfers

  constructor(
    readonly room: BranchServices,
    readonly branches: OpenBranches,
    readonly plannings: Plannings,
  ) {
    this.#outlooks = new Outlooks(room.objects)
    this.#transfers = new Transfers(room)
  }

  /** The outcomes of some steps. */
  async outlooks(steps: readonly BranchStep[]): Promise<Outlook[]> {
    return await Promise.all(steps.map(step => this.#outlook(step)))
  }

  async #outlook(wanted: BranchStep): Promise<Outlook> {
    const step = await this.#current(wanted)
    const branch = targetOf(step)
    const [tip, why] = await Promise.all([this.#tipOf(branch), this.#whyNotNow(branch)])
    if (tip === undefined) return impossible('no commit yet')
    if (why !== undefined) return impossible(why)
    if (step.step === 'merge' || step.step === 'land') {
      const { commit } = step.source
      return step.step === 'land'
        ? await this.#outlooks.ofLanding(tip, commit)
        : await this.#outlooks.ofMerge(tip, commit)
    }
    return await this.#outlooks.ofPlan(`${tip} ${JSON.stringify(step)}`, async pace => {
      return await this.#plan(step, { branch, tip }, async (_, make) => await make(pace))
    })
  }

  /** Why a branch can't be moved at the moment, in a few words. */
  async #whyNotNow(branch: string): Promise<string | undefined> {
    const merging = await this.room.objects.info(mergingRef(branch))
    const waiting = merging && (await readMerging(this.room.objects, merging.oid))
    if (merging) return `a ${nounOf(waiting?.does ?? 'merge')} waits there`
    const isHeld = this.branches.has(branch) && (await this.branches.work(branch)).isHeld
    return isHeld ? 'a turn of the AI is not over there' : undefined
  }

  async #tipOf(branch: string): Promise<Oid | undefined> {
    return (await this.room.objects.info(`refs/heads/${branch}^{commit}`))?.oid
  }

  /** The preview of a step. An impossible one says why. The signal stops long computations. */
  async preview(step: Step, signal?: AbortSignal): Promise<Preview> {
    try {
      if (isTagStep(step)) return previewOfTag(await this.#planTag(step))
      if (step.step === 'push tag') return await previewPushTag(this.room, step)
      if (step.step === 'delete remote branch') return await previewRemoteDeletion(this.room, step)
      if (step.step === 'fetch') return await this.#previewFetch(await this.#remoteOf(step))
      const work = await this.branches.work(targetOf(step))
      if (step.step === 'push')
        return await previewPush(this.room, await planPush(this.room, step, targetIn(work)), work.draftPaths.length)
      const once = this.plannings.onceFor(signal)
      if (step.step === 'pull') return await this.#previewPull(step, work, once)
      work.verifyFree()
      work.verifyNotMerging()
      // Collects edits first, since the amended commit includes drafts.
      if (step.step === 'rewrite') await work.brieflyLocked(held => held.collect())
      const current = await this.#current(step)
      const shown = await this.#previewOf(step.step, await this.#plan(current, targetIn(work), once), work)
      const source = sourceOf(current)
      if (!source) return shown
      const isMerge = current.step === 'merge'
      const [brings, unsaved] = await Promise.all([
        isMerge ? broughtCommits(this.room.objects.repository, [source.commit, `^${shown.before}`]) : undefined,
        isMerge || current.step === 'land' ? this.#unsavedOf(source, isMerge ? 'merged' : 'landed') : [],
      ])
      const warnings = [...unsaved, ...shown.warnings]
      return { ...shown, source: source.commit, warnings, ...(brings && { brings }) }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const offers = offerFor(error)
      return {
        is: 'impossible',
        conflicts: 0,
        words: error.message,
        commits: 0,
        conflictsIn: [],
        warnings: [],
        ...(offers && { offers }),
      }
    }
  }

  /** Warns of the drafts of a source, which the step does not bring. */
  async #unsavedOf({ branch }: Source, done: 'landed' | 'merged'): Promise<string[]> {
    if (branch === undefined || (await this.#tipOf(branch)) === undefined) return []
    const { length } = (await this.branches.work(branch)).draftPaths
    if (length === 0) return []
    return [`Drafts in ${many(length, 'file')} of ${visiblePath(branch)} are not saved, so they are not ${done}.`]
  }

  async #previewFetch(name: string | undefined): Promise<Preview> {
    const remotes = remotesToFetch(await readRemotes(this.room.objects.repository), name)
    const words = `fetches from ${remotes.map(remote => visiblePath(remote.name)).join(' and ')}`
    return { is: 'clean', conflicts: 0, words, commits: 0, conflictsIn: [], warnings: [] }
  }

  /** The remote of a fetch; undefined for all. */
  async #remoteOf({ remote, branch }: FetchStep): Promise<string | undefined> {
    return branch === undefined ? remote : (await followed(this.room.objects.repository, branch)).remote
  }

  async #fetch(step: FetchStep, signal: AbortSignal): Promise<Done> {
    const remote = await this.#remoteOf(step)
    if (remote === '.') return { words: 'A branch of this repository is followed: there is nothing to fetch.' }
    const { words, gone } = await fetchFrom(this.#transfers, remote, signal)
    return { words, ...(gone !== '' && { isUndoable: true, gone }) }
  }

  /** The preview of a pull of what was fetched last. The page fetches before. */
  async #previewPull({ branch, how, remote }: PullStep, work: BranchWork, once: Once): Promise<Preview> {
    const { objects } = this.room
    const upstream = await followed(objects.repository, branch, remote)
    work.verifyFree()
    work.verifyNotMerging()
    const target = targetIn(work)
    const source = await pullSource(objects, upstream)
    const name = visiblePath(upstream.words)
    if (!source) throw new Failure(`There is no ${name} here: it was deleted on the remote, or never fetched.`)
    const plan = await planPull(objects, { ...upstream, source }, target, how, once)
    const there = source.commit
    if (plan.is === 'nothing') {
      const words = `already up to date with ${name}`
      return {
        is: 'nothing',
        conflicts: 0,
        words,
        before: target.tip,
        there,
        commits: 0,
        conflictsIn: [],
        warnings: [...plan.warnings],
      }
    }
    const [{ message: _, ...shown }, brings, rebases] = await Promise.all([
      this.#previewOf(how === 'rebase' ? 'rebase' : 'merge', plan, work),
      broughtCommits(objects.repository, [there, `^${target.tip}`]),
      plan.rebased && namedCommits(objects.repository, plan.rebased),
    ])
    return { ...shown, there, brings, ...(rebases && { rebases }) }
  }

  /**
   * How `git pull` would bring what was fetched last into a branch: from its upstream, or from the branch that a push
   * to `remote` goes to. Throws a {@link Failure} if there is no such branch.
   */
  async wayToPull(branch: string, remote?: string): Promise<PullStep['how']> {
    const { objects } = this.room
    const source = await pullSource(objects, await followed(objects.repository, branch, remote))
    // As it is now: a commit from outside may not have been noticed yet.
    const tip = (await objects.info(headRef(branch)))?.oid
    return await wayToPull(objects.repository, branch, { tip, upstream: source?.commit })
  }

  async #previewOf(step: PlannedStep['step'], plan: StepPlan, work: BranchWork): Promise<Preview> {
    const { objects } = this.room
    const { stop, message, before } = plan
    const hasToSave = stop !== undefined && work.draftPaths.length > 0
    // Drafts in conflict can't be saved.
    const inConflict = work.conflictPaths
    if (hasToSave && inConflict.length > 0)
      throw new Failure(
        `This has conflicts, and ${many(inConflict.length, 'draft')} of ${visiblePath(plan.branch)} ${inConflict.length === 1 ? 'is' : 'are'} in conflict: resolve that first, since the conflicts are resolved there, too: ${namesOf(inConflict)}.`,
      )
    const files = stop ? groupsOf(stop.merge).map(group => conflictIn(objects, stop, group)) : []
    const [conflictsIn, warnings, result, rewritten] = await Promise.all([
      Promise.all(files),
      warningsFor(this.room, step, plan),
      stop ? undefined : this.#result(plan),
      rewrittenCommits(objects.repository, plan),
    ])
    const after = result === undefined ? [] : await this.#draftsAfter(work, before, result)
    if (after.length > 0)
      warnings.push(
        `${many(after.length, 'draft')} of ${visiblePath(plan.branch)} will be in conflict with it, to be resolved there: ${namesOf(after)}.`,
      )
    if (hasToSave)
      warnings.push(
        `${visiblePath(plan.branch)} has drafts in ${many(work.draftPaths.length, 'file')}: save or discard them first, since the conflicts are resolved there.`,
      )
    return {
      ...{ is: plan.is, conflicts: files.length, words: plan.words, before, commits: plan.commits },
      ...(result !== undefined && { tree: plan.tree, result }),
      ...{ conflictsIn: conflictsIn.sort((one, other) => (one.path < other.path ? -1 : 1)), warnings },
      ...(message !== undefined && { message }),
      ...(plan.notes && plan.notes.length > 0 && { notes: [...plan.notes] }),
      ...(rewritten && { rewritten }),
      ...(hasToSave && { offers: 'save' as const }),
    }
  }

  /** The files whose drafts would newly be in conflict after a step. */
  async #draftsAfter({ drafts }: BranchWork, before: Oid, result: Oid): Promise<Path[]> {
    if (drafts.files.size === 0) return []
    const { clashes } = await mergeDrafts(this.room.objects, noDrafts(before), drafts, noDrafts(result))
    return [...clashes].flatMap(([path, clash]) => (isOpen(clash) && !drafts.clashes.has(path) ? [path] : []))
  }

  /** A commit without a ref, with the resulting files, so that the page can compare it with others. */
  async #result({ before, tree }: StepPlan): Promise<Oid> {
    const who = identityLine({ ...FORGE_AUTHOR, date: { seconds: 0, zone: '+0000' } })
    const bytes = bytesOf({ tree, parents: [before], message: 'Preview\n' }, who, who)
    const [oid = ''] = await writeObjects(this.room.objects.repository, [{ type: 'commit', bytes }])
    return oid
  }

  /**
   * Runs a step. `before`, `source` and `there`: the commits of the target, of the source and of the remote branch
   * (null for none) in the preview; if one has moved since, nothing is done. A pull without `there` fetches first.
   * `tree`: the target's new tree in the preview; nothing is done if an amend would take other drafts into it.
   */
  async do(wanted: Step, previewed: PreviewedStep = {}): Promise<Done> {
    return await this.plannings.run(({ signal }) => this.#do(wanted, previewed, signal))
  }

  async #do(wanted: Step, { before, source, there, tree }: PreviewedStep, signal: AbortSignal): Promise<Done> {
    if (wanted.step === 'delete tag' && wanted.remote !== undefined)
      return { words: await deleteRemoteTag(this.#transfers, wanted.name, wanted.remote, signal) }
    if (isTagStep(wanted)) return await this.#doTag(await this.#planTag(wanted))
    if (wanted.step === 'fetch') return await this.#fetch(wanted, signal)
    if (wanted.step === 'push tag') return { words: await pushTag(this.#transfers, wanted, signal) }
    if (wanted.step === 'delete remote branch')
      return { words: await deleteRemoteBranch(this.#transfers, wanted, there, signal) }
    const work = await this.branches.work(targetOf(wanted))
    if (wanted.step === 'push') return await this.#push(wanted, work, { before, there }, signal)
    if (wanted.step === 'pull') return await this.#pull(wanted, work, { before, there }, signal)
    const step = await this.#current(wanted)
    const once = this.plannings.onceFor(signal)
    // Long computations run before the branch is locked; their result is then cached.
    if (step.step === 'rebase' || step.step === 'cherry-pick' || step.step === 'revert' || step.step === 'rewrite') {
      work.verifyFree()
      work.verifyNotMerging()
      verifyAt(work, before)
      verifySource(step, source)
      await this.#plan(step, targetIn(work), once)
    }
    return await work.inOneGo(async (held, signature) => {
      verifyAt(work, before)
      verifySource(await this.#current(wanted), source)
      const plan = await this.#plan(step, targetIn(work), once)
      if (isWithDrafts(step)) verifyDrafts(plan, tree)
      if (plan.is === 'nothing') throw new Failure(`There is nothing to do: ${whyNothing(step)}.`)
      return doneOf(work, plan, await carryOutStep(held, plan, signature, signal))
    })
  }

  /**
   * Undoes or redoes the deletion of a remote branch by a push; `operation`: the deletion, or its last undo or redo.
   */
  async reverseRemoteDeletion(operation: Recorded, original: Recorded): Promise<Reversed> {
    return await this.plannings.run(({ signal }) => reverseRemoteDeletion(this.#transfers, operation, original, signal))
  }

  /** Stops the running steps, from their begin on, and the previews of steps with many commits. They leave nothing. */
  stop(): void {
    this.plannings.stop()
  }

  /** Stops the running previews and steps, and waits for the end of a fetch, pull or push. */
  async end(): Promise<void> {
    this.stop()
    await this.#transfers.ended()
  }

  async #push(step: PushStep, work: BranchWork, { before, there }: PreviewedStep, signal: AbortSignal): Promise<Done> {
    verifyAt(work, before)
    const target = targetIn(work)
    const plan = await planPush(this.room, step, target)
    verifyThere(plan, there)
    const words = await push(this.#transfers, plan, signal)
    this.room.say({ say: 'branch', branch: target.branch })
    return { words, commit: target.tip }
  }

  async #pull(
    { branch, how, remote }: PullStep,
    work: BranchWork,
    { before, there }: PreviewedStep,
    signal: AbortSignal,
  ): Promise<Done> {
    const { objects } = this.room
    work.verifyFree()
    work.verifyNotMerging()
    verifyAt(work, before)
    const upstream = await followed(objects.repository, branch, remote)
    if (upstream.remote !== '.' && there === undefined) await this.#fetchFor(upstream.remote, signal)
    const planNow = async () => {
      const source = await pullSource(objects, upstream)
      if (!source) throw new Failure(`There is no ${visiblePath(upstream.words)} any more: nothing was pulled.`)
      if (there !== undefined && there !== source.commit)
        throw new Failure(
          `${visiblePath(upstream.words)} was fetched since this preview: nothing was pulled. Review it again.`,
        )
      return await planPull(objects, { ...upstream, source }, targetIn(work), how, this.plannings.onceFor(signal))
    }
    if (how === 'rebase') await planNow()
    return await work.inOneGo(async (held, signature) => {
      verifyAt(work, before)
      const plan = await planNow()
      const words = `${visiblePath(branch)} is already up to date with ${visiblePath(upstream.words)}.`
      if (plan.is === 'nothing') return { words, commit: plan.before }
      return doneOf(work, plan, await carryOutStep(held, plan, signature, signal))
    })
  }

  async #fetchFor(name: string, signal: AbortSignal): Promise<void> {
    const remotes = await readRemotes(this.room.objects.repository)
    const remote = remoteNamed(remotes, name)
    try {
      await this.#transfers.begin('Fetching', async () => {
        await fetchOne(this.#transfers, remotes, remote, { signal, isFirst: true })
      })
    } catch (error) {
      if (!(error instanceof Stopped)) throw error
      throw new Failure('The pull was stopped: the branch stays where it is.')
    }
  }

  async #plan(step: PlannedStep, target: StepTarget, once = this.plannings.once): Promise<StepPlan> {
    const { objects } = this.room
    switch (step.step) {
      case 'merge':
        return await planMerge(objects, step.source, target, step)
      case 'land':
        return await planLand(objects, step.source, target, step.message)
      case 'rebase':
        return await planRebase(objects, target, step.onto, once)
      case 'cherry-pick': {
        const commits = await Promise.all(step.commits.map(oid => this.#commit(oid)))
        return await planCherryPick(objects, commits, target, once)
      }
      case 'revert': {
        const commits = await Promise.all(step.commits.map(oid => this.#commit(oid)))
        return await planRevert(objects, commits, target, step.message, once)
      }
      case 'move':
        return await planMove(objects, target, step.to)
      case 'rewrite': {
        const { rewriting, message } = step
        const drafts = isWithDrafts(step)
          ? await this.#treeWithDrafts(await this.branches.work(target.branch))
          : undefined
        const { writtenHere } = this.room
        const rewritten = { ...target, treeWithDrafts: drafts, writtenHere }
        return await planRewrite(objects, rewritten, { rewriting, message }, once)
      }
    }
  }

  /** Writes the tree of a branch with all drafts. Throws if a draft is in conflict. */
  async #treeWithDrafts({ tip, drafts }: BranchWork): Promise<Oid> {
    const { objects } = this.room
    verifyNoClash(drafts, drafts.clashes.keys())
    const { oid, made } = await makeTree(objects, tip, asChanges(drafts.files))
    await writeObjects(objects.repository, made)
    return oid
  }

  /** The step with the commit at which the branch of its source is now. */
  async #current<T extends PlannedStep>(step: T): Promise<T> {
    const source = sourceOf(step)
    if (!source) return step
    const tip = source.branch === undefined ? undefined : await this.#tipOf(source.branch)
    const current = { ...source, commit: tip ?? (await this.#commit(source.commit)) }
    if (step.step === 'rebase') return { ...step, onto: current }
    return step.step === 'move' ? { ...step, to: current } : { ...step, source: current }
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
    if (step.step === 'rename tag') return await planTagRename(objects, step.name, step.to)
    return await planTagDeletion(objects, step.name, step.remote)
  }

  async #doTag({ kind, does, move, message, renamed }: TagPlan): Promise<Done> {
    const { objects, operations } = this.room
    try {
      const moves = renamed ? [renamed.move, move] : [move]
      if (message === undefined) await operations.record({ kind, words: does, moves, made: renamed?.made ?? [] })
      else {
        const tag = await writeAnnotatedTag(objects.repository, move, message)
        await operations.record({ kind, words: does, moves: [], refs: refsOf([{ ...move, to: tag }]) })
      }
    } catch (error) {
      if (!(error instanceof RefMoved)) throw error
      throw new Failure(
        `${visiblePath(move.ref)} was moved by another program at this moment: nothing was done. Try again.`,
      )
    }
    this.room.say({ say: 'repository' })
    return { words: `${pastOf(does)}.`, ...(move.to !== undefined && { commit: await this.#commit(move.to) }) }
  }
}

/** At most this many files are named in a message; for the others it gives their number. */
const MAX_NAMED_FILES = 3

const namesOf = (paths: readonly Path[]): string => firstOf(paths.map(visiblePath), MAX_NAMED_FILES)

/** A file in conflict, with a description of the conflict. */
async function conflictIn(objects: Objects, { merge, ours, theirs, words, state }: Stop, group: Group) {
  const kind = await kindOf(objects, merge, group, { ours, theirs, words })
  return { path: group.path, words: wordsFor({ ...group, kind }, { ...words, does: state.does }) }
}

/** What makes a step possible that failed. */
function offerFor(error: Failure): Preview['offers'] {
  if (error instanceof PullFirst) return 'pull'
  if (error instanceof ForceNeeded) return 'force'
  return error instanceof NoUpstream ? 'publish' : undefined
}

const isTagStep = (step: Step): step is TagStep =>
  step.step === 'tag' || step.step === 'rename tag' || step.step === 'delete tag'

/** The branch that a step moves. */
const targetOf = (step: PlannedStep | PullStep | PushStep): string => ('branch' in step ? step.branch : step.onto)

/** Throws if a branch is not at the commit in the preview. */
function verifyAt({ name, head }: BranchWork, before: Oid | undefined): void {
  if (before === undefined || head === before) return
  throw new Failure(`${visiblePath(name)} was moved since this was previewed: nothing was done. Look at it again.`)
}

/** The branch or commit that a step brings in, rebases onto, or moves to. */
function sourceOf(step: PlannedStep): Source | undefined {
  if (step.step === 'merge' || step.step === 'land') return step.source
  if (step.step === 'rebase') return step.onto
  return step.step === 'move' ? step.to : undefined
}

/** Throws if the branch of a step's source is not at the commit in the preview. */
function verifySource(step: PlannedStep, previewed: Oid | undefined): void {
  const source = sourceOf(step)
  if (!source || previewed === undefined || source.commit === previewed) return
  const name = visiblePath(source.words)
  throw new Failure(`${name} was moved since this was previewed: nothing was done. Look at it again.`)
}

/** Whether a step takes the branch's drafts into a commit. */
const isWithDrafts = (step: PlannedStep): boolean =>
  step.step === 'rewrite' && step.rewriting.do === 'amend' && step.rewriting.isWithDrafts

/** Throws if the drafts that a plan takes are others than in the preview, where the branch got the tree `previewed`. */
function verifyDrafts({ branch, tree }: StepPlan, previewed: Oid | undefined): void {
  if (previewed === undefined || tree === previewed) return
  const name = visiblePath(branch)
  throw new Failure(`The drafts of ${name} have changed since this was previewed: nothing was done. Look at it again.`)
}

function doneOf({ name }: BranchWork, plan: StepPlan, commit: Oid): Done {
  if (plan.stop) return { words: `${plan.words}: ${visiblePath(name)} waits for you.`, merging: name }
  const { does, how = '', commits, leftOut: subjects = [] } = plan
  return { words: `${pastOf(does)}${how}.${leftOut(subjects, commits + subjects.length)}`, commit }
}

function targetIn({ name, head, isGone }: BranchWork): StepTarget {
  if (isGone) throw new Failure(`The branch ${visiblePath(name)} was deleted: restore it first.`)
  if (head === undefined)
    throw new Failure(`${visiblePath(name)} has no commit yet: save a first file, or create the branch from a commit.`)
  return { branch: name, tip: head }
}

function previewOfTag({ words, warnings }: TagPlan): Preview {
  return { is: 'clean', conflicts: 0, words, commits: 0, conflictsIn: [], warnings }
}

function whyNothing(step: PlannedStep): string {
  if (step.step === 'merge' || step.step === 'land')
    return `${visiblePath(step.onto)} has all of ${visiblePath(step.source.words)} already`
  if (step.step === 'rebase') return `${visiblePath(step.branch)} stands on ${visiblePath(step.onto.words)} already`
  if (step.step === 'rewrite') return `${visiblePath(step.branch)} is like that already`
  if (step.step === 'move') return `${visiblePath(step.branch)} is there already`
  if (step.step === 'revert') {
    const these = step.commits.length === 1 ? 'this commit' : 'these commits'
    return `${visiblePath(step.onto)} does not have the changes of ${these} any more`
  }
  return `${visiblePath(step.onto)} has these changes already`
}
