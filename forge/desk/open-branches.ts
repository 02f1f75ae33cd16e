/** The branches of a repository that are worked on, each with its work, and where those were that others deleted. */
import { Failure } from '../../core/failure.ts'
import { isRefName } from '../../core/git/objects.ts'
import { type RefName, readHead } from '../../core/git/refs.ts'
import type { Oid } from '../../core/git/repository.ts'
import { visiblePath } from '../../core/text.ts'
import { BranchWork, type Room } from './branch-work.ts'
import { branchOf, HEADS, headRef } from './branches.ts'
import { branchOfDrafts, DRAFTS, draftsRef } from './drafts.ts'

export class OpenBranches {
  readonly #works = new Map<string, Promise<BranchWork>>()
  /** Where branches were that somebody else has deleted while the desk ran. */
  readonly vanished = new Map<string, Oid>()

  constructor(readonly room: Room) {}

  get names(): string[] {
    return [...this.#works.keys()]
  }

  has(name: string): boolean {
    return this.#works.has(name)
  }

  async all(): Promise<BranchWork[]> {
    return await Promise.all(this.#works.values())
  }

  /** The work on a branch. Throws a {@link Failure} where there is no such branch, nor drafts of one. */
  async work(name: string): Promise<BranchWork> {
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
    if (!head && !drafts && (await readHead(objects.repository)).ref !== headRef(name))
      await this.#verifyOnceThere(name)
    return await BranchWork.open(this.room, name)
  }

  /** A branch that an operation deleted may come back; any other that is not there is none. */
  async #verifyOnceThere(name: string): Promise<void> {
    for await (const { refs } of this.room.operations.newestFirst())
      if (refs.some(({ ref }) => ref === headRef(name))) return
    throw new Failure(`There is no branch ${visiblePath(name)}.`)
  }

  /** Nobody works on it any more; who comes to it later finds it as the repository has it. */
  forget(name: string): void {
    this.#works.delete(name)
    this.room.say({ say: 'branch', branch: name })
  }

  async forgetIfEmpty(name: string): Promise<void> {
    const work = await this.#works.get(name)
    if (work && work.draftPaths.length === 0 && !work.hasOpenFiles) this.forget(name)
  }

  /** Looks what others have done to a branch, if somebody works on it. */
  async refresh(name: string): Promise<void> {
    await (await this.#works.get(name))?.refresh()
  }
}

/** The branch that a ref is about: its own, or that of its drafts. */
export const branchNameOf = (ref: RefName): string | undefined => {
  if (ref.startsWith(HEADS)) return branchOf(ref)
  return ref.startsWith(DRAFTS) ? branchOfDrafts(ref) : undefined
}
/** The same, for a person; any other ref by its name. */
export const nameOfRef = (ref: RefName): string => visiblePath(branchNameOf(ref) ?? ref)

/** Does something while no other work on any of these branches' refs comes between. */
export const lockedAll = <Result>(works: readonly BranchWork[], task: () => Promise<Result>): Promise<Result> => {
  const [first, ...rest] = works
  return first ? first.locked(() => lockedAll(rest, task)) : task()
}
