/** The branches of a repository that are worked on, and the last commits of those that other programs deleted. */

import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import { isRefName } from '../../../core/git/objects.ts'
import { type RefName, readHead, resolve } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import { PUT_ASIDE } from '../../operations.ts'
import type { Operation } from '../contract/branches.ts'
import { branchOfDrafts, DRAFTS, draftsRef, MERGING, mergingRef, turnRef } from '../refs.ts'
import type { BranchServices, BranchWork, HeldBranch } from './branch-work.ts'
import { branchOfRef, HEADS, headRef } from './branches.ts'
import { readDrafts } from './drafts.ts'
import { readMerging } from './merging-commits.ts'

type WhereItWas = { tip: Oid | undefined; drafts: Oid | undefined; hasOthers: boolean; merging: Oid | undefined }

export class OpenBranches {
  readonly #works = new Map<string, Promise<BranchWork>>()
  /** The new names of renamed branches, by the old names that were asked for. */
  readonly #renamed = new Map<string, string>()
  /** The tips of branches that another program deleted while the desk ran. */
  readonly vanished = new Map<string, Oid>()

  constructor(readonly room: BranchServices) {}

  get names(): string[] {
    return [...this.#works.keys()]
  }

  has(name: string): boolean {
    return this.#works.has(name)
  }

  async all(): Promise<BranchWork[]> {
    return await Promise.all(this.#works.values())
  }

  /** The commits of the branches that are worked on, as the desk knows them; without those of deleted branches. */
  async heads(): Promise<Map<string, Oid>> {
    const opened = await Promise.allSettled(this.#works.values())
    const works = opened.flatMap(it => (it.status === 'fulfilled' && !it.value.isGone ? [it.value] : []))
    return new Map(works.flatMap(({ name, head }) => (head === undefined ? [] : [[name, head] as const])))
  }

  /**
   * The work on a branch. A deleted branch is opened at its last commit, and its edits become drafts. Throws a {@link
   * Failure} if there is no such branch, and its last commit is unknown.
   */
  async work(name: string): Promise<BranchWork> {
    const to = this.#works.has(name) || !isRefName(headRef(name)) ? undefined : await this.#renamedTo(name)
    if (to !== undefined) return await this.work(to)
    const known = this.#works.get(name)
    if (known) return await known
    const opened = this.#begin(name)
    this.#works.set(name, opened)
    opened.catch(() => this.#works.delete(name))
    return await opened
  }

  /** The commit of a branch as git has it now, which the desk may not have noticed yet; of a deleted one, the last. */
  async tipOf(name: string): Promise<Oid | undefined> {
    const work = await this.work(name)
    return (await resolve(this.room.objects, headRef(work.name))) ?? work.head
  }

  async #begin(name: string): Promise<BranchWork> {
    if (!isRefName(headRef(name))) throw new Failure(`${visiblePath(name)} can't be the name of a branch.`)
    const { objects } = this.room
    const [head, drafts] = await Promise.all([headRef(name), draftsRef(name)].map(ref => objects.info(ref)))
    if (head || drafts || (await readHead(objects.repository)).ref === headRef(name))
      return await openWork(this.room, name)
    const { tip } = await this.whereItWas(name)
    if (tip === undefined || !(await objects.info(`${tip}^{commit}`)))
      throw new Failure(`There is no branch ${visiblePath(name)}.`)
    return await openWork(this.room, name, tip)
  }

  /**
   * Opens the work on a branch that does not exist yet, and runs `make`, which has to create the branch at the commit
   * `at`, in one operation with the merge that starts in it. If `make` fails, the opened work is dropped.
   */
  async workToBe<Result>(name: string, at: Oid, make: (held: HeldBranch) => Promise<Result>): Promise<Result> {
    // If a deleted branch of this name is still open in a window, its open files and drafts are used.
    const known = this.#works.get(name)
    const opened = known ?? openWork(this.room, name, at)
    if (!known) this.#works.set(name, opened)
    try {
      const work = await opened
      return await work.locked(make)
    } catch (error) {
      if (!known && this.#works.get(name) === opened) this.#works.delete(name)
      throw error
    }
  }

  /**
   * The last commit of a deleted branch, and its drafts and what waits in it as an operation kept them. `hasOthers`:
   * whether there are other drafts, typed since. What waits is not given if its ref still exists.
   */
  async whereItWas(name: string): Promise<WhereItWas> {
    const { objects, operations } = this.room
    const [there, waiting] = await Promise.all([draftsRef, mergingRef].map(refOf => objects.info(refOf(name))))
    let tip = this.vanished.get(name)
    let drafts: Oid | undefined
    let merging: Oid | undefined
    let last: Oid | undefined
    for await (const { kind, refs } of operations.newestFirst()) {
      const own = [headRef(name), draftsRef(name), mergingRef(name)]
      const [head, draft, wait] = own.map(it => refs.find(({ ref }) => ref === it))
      const isKept = kind === 'delete branch' || kind === PUT_ASIDE
      if (draft && isKept) drafts ??= draft.before
      if (wait && isKept && !waiting) merging ??= wait.before
      if (head && !head.after) tip ??= head.before
      if (head) last = head.after
      if (head || (draft && !isKept)) break
    }
    // Drafts of what waits are on a commit of the desk's own, which is in no branch.
    const begun = waiting?.oid ?? merging
    tip ??= begun && (await readMerging(objects, begun))?.from
    const known = there?.oid ?? drafts
    tip ??= known && (await readDrafts(objects, known))?.tip
    // An unfinished turn of an AI still names the commit at which it began.
    tip ??= await beginOfTurn(objects, name)
    return { tip: tip ?? last, drafts, hasOthers: there !== undefined, merging }
  }

  // --- Renames ---

  /**
   * Follows the rename of a branch after its refs have moved: its work and its typed edits continue under
   * the new name. Windows that do not know the new name yet find the branch by the old one.
   */
  rename(held: HeldBranch, to: string): void {
    const { work } = held
    const from = work.name
    const stale = this.#works.get(to)
    stale?.then(other => other.end()).catch(() => undefined)
    this.#works.delete(from)
    this.#works.set(to, Promise.resolve(work))
    this.#renamed.set(from, to)
    this.#renamed.delete(to)
    held.rename(to)
    this.room.say({ say: 'renamed', branch: from, to })
  }

  /** The new name of a renamed branch, unless the old name is in use again, or has drafts. */
  async #renamedTo(name: string): Promise<string | undefined> {
    const { objects } = this.room
    if (await objects.info(headRef(name))) {
      this.#renamed.delete(name)
      return undefined
    }
    const known = this.#renamed.get(name)
    if (known !== undefined || (await objects.info(draftsRef(name)))) return known
    const now = await this.nameNow(name)
    if (now === name) return undefined
    this.#renamed.set(name, now)
    return now
  }

  /** The current name of a branch after any recorded renames; the same name if there is none. */
  async nameNow(name: string): Promise<string> {
    const { objects, operations } = this.room
    if (!isRefName(headRef(name)) || (await objects.info(headRef(name)))) return name
    const renames: Renaming[] = []
    for await (const operation of operations.newestFirst()) {
      const renamed = renamedBy(operation)
      if (renamed) renames.unshift(renamed)
      if (operation.refs.some(({ ref, after }) => ref === headRef(name) && after === undefined)) break
    }
    const last = renames.reduce((branch, { from, to }) => (branch === from ? to : branch), name)
    return (await objects.info(headRef(last))) ? last : name
  }

  /**
   * Called after the deletion of a branch. If it has drafts or open files, its work stays open, as after a deletion by
   * another program, so that no typed text is lost; else the work is closed.
   */
  async leave(name: string): Promise<void> {
    await this.refresh(name)
    const work = await this.#works.get(name)
    if (work && work.draftPaths.length === 0 && !work.hasOpenFiles) {
      work.end()
      this.#works.delete(name)
    }
    this.room.say({ say: 'branch', branch: name })
  }

  /** Reads the refs of an open branch again. */
  async refresh(name: string): Promise<void> {
    await (await this.#works.get(name))?.refresh()
  }
}

/** The commit on which a branch's running turn began, if there is one. */
async function beginOfTurn(objects: BranchServices['objects'], name: string): Promise<Oid | undefined> {
  const turn = await objects.read(turnRef(name))
  return turn?.type === 'commit' && turn.bytes ? parseCommit(turn.bytes).parents[0] : undefined
}

/** The modules for work on branches are loaded with the first one, which keeps the start of the desk short. */
async function openWork(room: BranchServices, name: string, at?: Oid): Promise<BranchWork> {
  const { BranchWork } = await import('./branch-work.ts')
  return await BranchWork.open(room, name, at)
}

/** The names of a branch before and after a rename. */
export type Renaming = { from: string; to: string }

/** The rename in an operation, done or undone; undefined if there is none. */
export function renamedBy({ refs }: Pick<Operation, 'refs'>): Renaming | undefined {
  const heads = refs.filter(({ ref }) => ref.startsWith(HEADS))
  const gone = heads.find(({ after }) => after === undefined)
  const made = heads.find(({ before }) => before === undefined)
  if (heads.length !== 2 || !gone || !made || gone.before !== made.after) return undefined
  return { from: branchOfRef(gone.ref), to: branchOfRef(made.ref) }
}

/** The branch that a ref belongs to: its own ref, its drafts' or its waiting merge's. */
export const branchNameOf = (ref: RefName): string | undefined => {
  if (ref.startsWith(HEADS)) return branchOfRef(ref)
  if (ref.startsWith(MERGING)) return ref.slice(MERGING.length)
  return ref.startsWith(DRAFTS) ? branchOfDrafts(ref) : undefined
}
/** A ref's branch, or else its own name, for messages. */
export const nameOfRef = (ref: RefName): string => visiblePath(branchNameOf(ref) ?? ref)

/** Runs a task with several branches locked. They are locked in the order of their names, which avoids deadlocks. */
export async function lockedAll<Result>(
  works: readonly BranchWork[],
  task: (held: ReadonlyMap<BranchWork, HeldBranch>) => Promise<Result>,
): Promise<Result> {
  const inOrder = [...works].sort((one, other) => (one.name < other.name ? -1 : 1))
  const all = new Map<BranchWork, HeldBranch>()
  const inside = async (at: number): Promise<Result> => {
    const work = inOrder[at]
    if (!work) return await task(all)
    return await work.locked(held => inside(all.set(work, held).size))
  }
  return await inside(0)
}

/** The locked branch of a work among those that {@link lockedAll} has locked. */
export function heldIn(all: ReadonlyMap<BranchWork, HeldBranch>, work: BranchWork): HeldBranch {
  const held = all.get(work)
  if (!held) throw new Error(`${work.name} is not locked`)
  return held
}
