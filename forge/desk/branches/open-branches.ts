/** The branches of a repository that are worked on, each with its work, and where those were that others deleted. */

import { Failure } from '../../../core/failure.ts'
import { parseCommit } from '../../../core/git/commits.ts'
import { isRefName } from '../../../core/git/objects.ts'
import { type RefName, readHead } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import { PUT_ASIDE } from '../../operations.ts'
import type { Operation } from '../contract/branches.ts'
import { branchOfDrafts, DRAFTS, draftsRef, MERGING, turnRef } from '../refs.ts'
import type { BranchServices, BranchWork, HeldBranch } from './branch-work.ts'
import { branchOfRef, HEADS, headRef } from './branches.ts'
import { readDrafts } from './drafts.ts'

export class OpenBranches {
  readonly #works = new Map<string, Promise<BranchWork>>()
  /** The new names of renamed branches, by their old ones, for the old names that were asked for. */
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

  /**
   * The work on a branch. One that was deleted is worked on where it was, and says so: what is typed there are drafts.
   * Throws a {@link Failure} where there is no such branch, and its last tip is not known.
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
   * The work on a branch that is still to be made, at a commit: `make` creates it by one operation, together with what
   * begins in it. Where that fails, the work is dropped.
   */
  async workToBe<Result>(name: string, at: Oid, make: (held: HeldBranch) => Promise<Result>): Promise<Result> {
    // A deleted branch of this name may still be open in a window: its work goes on from there.
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

  /** Where a branch was when it vanished, and the drafts that went with it, unless they are still there. */
  async whereItWas(name: string): Promise<{ tip: Oid | undefined; drafts: Oid | undefined }> {
    const { objects, operations } = this.room
    const there = await objects.info(draftsRef(name))
    let tip = this.vanished.get(name)
    let drafts: Oid | undefined
    let last: Oid | undefined
    for await (const { kind, refs } of operations.newestFirst()) {
      const [head, draft] = [headRef(name), draftsRef(name)].map(it => refs.find(({ ref }) => ref === it))
      const isKept = kind === 'delete branch' || kind === PUT_ASIDE
      if (draft && isKept && !there) drafts ??= draft.before
      if (head && !head.after) tip ??= head.before
      if (head) last = head.after
      if (head || (draft && !isKept)) break
    }
    const known = there?.oid ?? drafts
    tip ??= known && (await readDrafts(objects, known))?.tip
    // What a turn has come to so far stands on the commit that the turn began with.
    tip ??= await beginOfTurn(objects, name)
    return { tip: tip ?? last, drafts }
  }

  // --- Other names ---------------------------------------------------------------------------------------------------

  /**
   * A branch has another name: its work goes on under that, with what is typed in this very moment. Windows that do not
   * know of it yet find it by its old name, too. To be called after its refs have moved.
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

  /** The other name of a branch that was renamed, unless there is one of the old name again, or drafts of one. */
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

  /** What a branch is called now: its last name, where operations of any time have renamed it; else the one it had. */
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
   * A branch is no more. What is typed in it from then on is kept, as for a branch that another program deleted; where
   * no window has it open, its work is dropped.
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

/** The commit on which the last commit of a branch's turn stands, if one is under way. */
async function beginOfTurn(objects: BranchServices['objects'], name: string): Promise<Oid | undefined> {
  const turn = await objects.read(turnRef(name))
  return turn?.type === 'commit' && turn.bytes ? parseCommit(turn.bytes).parents[0] : undefined
}

/**
 * What it takes to work on a branch, such as texts that change, is loaded with the first one: no start waits for it.
 */
async function openWork(room: BranchServices, name: string, at?: Oid): Promise<BranchWork> {
  const { BranchWork } = await import('./branch-work.ts')
  return await BranchWork.open(room, name, at)
}

/** The names of a branch before and after it got another one. */
export type Renaming = { from: string; to: string }

/** Which branch got another name by an operation, done or taken back; undefined where none did. */
export function renamedBy({ refs }: Pick<Operation, 'refs'>): Renaming | undefined {
  const heads = refs.filter(({ ref }) => ref.startsWith(HEADS))
  const gone = heads.find(({ after }) => after === undefined)
  const made = heads.find(({ before }) => before === undefined)
  if (heads.length !== 2 || !gone || !made || gone.before !== made.after) return undefined
  return { from: branchOfRef(gone.ref), to: branchOfRef(made.ref) }
}

/** The branch that a ref is about: its own, or that of its drafts or of a merge that waits in it. */
export const branchNameOf = (ref: RefName): string | undefined => {
  if (ref.startsWith(HEADS)) return branchOfRef(ref)
  if (ref.startsWith(MERGING)) return ref.slice(MERGING.length)
  return ref.startsWith(DRAFTS) ? branchOfDrafts(ref) : undefined
}
/** The same, for a person; any other ref by its name. */
export const nameOfRef = (ref: RefName): string => visiblePath(branchNameOf(ref) ?? ref)

/**
 * Does something while no other work on any of these branches' refs comes between. They are locked in the order of
 * their names, which avoids deadlocks.
 */
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
