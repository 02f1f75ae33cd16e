/** What a review shows: which comparison, the files that differ, and what has been looked at. */
import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import type { DeskInfo } from '../../contract/desk.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { At, Change } from '../../contract/values.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'
import { type Base, branchBase } from './review-base.ts'

/** All changes against another branch, one commit's, what is not saved yet, or what others have brought. */
export type Kind = 'all' | 'commit' | 'unsaved' | 'came in'

export type Containment = { merge?: CommitRow | undefined }

export type LineCount = Pick<Change, 'added' | 'deleted'>

/** So many commits, the newest, can be reviewed one by one. */
export const MAX_COMMITS_ONE_BY_ONE = 100

/** What a review needs of the page. */
interface Desk {
  readonly connection: Connection
  readonly desk: ReadonlySignal<DeskInfo | undefined>
  /** Counts up when a branch is another one. */
  readonly changed: ReadonlySignal<ReadonlyMap<string, number>>
  branch: (name: string) => BranchInfo | undefined
}

/** Its value is the files that differ. */
export class ReviewState extends ServerValue<Change[]> {
  readonly kind = signal<Kind>('all')
  /** What it is compared with; undefined: what {@link base} takes by itself. */
  readonly chosenBase = signal<Base | undefined>(undefined)
  /** Compared with what the base is itself now, instead of with where the two parted. */
  readonly isStraight = signal(false)
  readonly commit = signal<string | undefined>(undefined)
  readonly commits = signal<CommitRow[]>([])
  /** Between which commits somebody else has moved the branch, if that was asked for. */
  readonly cameIn = signal<{ from: string; to: string } | undefined>(undefined)
  readonly isSideBySide = signal(false)
  readonly ignoresBlanks = signal(false)
  /** The paths of files that a person has looked at, as they were then. */
  readonly lookedAt = signal<ReadonlySet<string>>(new Set())
  /** How many lines a diff that was made shows, by its mark: git counts the line with a new line end, too. */
  readonly counted = signal<ReadonlyMap<string, LineCount>>(new Map())
  /** Where what it is compared with has all commits of the branch: the merge that brought them, if there is one. */
  readonly containedBy = signal<Containment | undefined>(undefined)
  /** The file that the list points at. */
  readonly current = signal<string | undefined>(undefined)

  readonly #page: Desk
  readonly #at: At

  constructor(page: Desk, at: At) {
    super(isCurrent => this.#compareNow(isCurrent), { forgetsOnFailure: true })
    this.#page = page
    this.#at = at
    if (at.kind === 'commit') {
      this.kind.value = 'commit'
      this.commit.value = at.commit
    }
  }

  /** What it is compared with: the branch that is checked out, unless it is that itself, or was told otherwise. */
  get base(): Base | undefined {
    if (this.chosenBase.value) return this.chosenBase.value
    const { desk } = this.#page
    const { branches = [], head } = desk.value ?? {}
    const branch = branches.find(({ name }) => name === head) ?? branches[0]
    const isItself = this.#at.kind === 'branch' && this.#at.branch === branch?.name
    return branch && !isItself ? branchBase(branch) : undefined
  }

  /** Asks whenever what is compared becomes another, for as long as it is shown. */
  watch(): () => void {
    return effect(() => {
      // Read here, so that the effect runs when any of it changes.
      this.base
      this.kind.value
      this.commit.value
      this.isStraight.value
      this.#tip
      if (this.#branch !== undefined) this.#page.changed.value.get(this.#branch)
      this.cameIn.value
      untracked(() => this.refresh())
    })
  }

  get #branch(): string | undefined {
    return this.#at.kind === 'branch' ? this.#at.branch : undefined
  }

  get #tip(): string | undefined {
    return this.#branch === undefined ? undefined : this.#page.branch(this.#branch)?.tip
  }

  async #compareNow(isCurrent: () => boolean): Promise<Change[]> {
    const kind = this.kind.peek()
    const { base } = this
    const commit = this.commit.peek()
    const chosen = kind === 'commit' ? await this.#loadCommits(base, commit, isCurrent) : commit
    const changes = await this.#compare(kind, base, chosen, this.#tip)
    const isEmpty = changes.length === 0 && (kind === 'all' || (kind === 'commit' && chosen === undefined))
    const containedBy = isEmpty ? await this.#containedIn(base) : undefined
    if (isCurrent()) this.containedBy.value = containedBy
    return changes
  }

  async #containedIn(base: Base | undefined): Promise<Containment | undefined> {
    const at = this.#at
    if (at.kind === 'commit' || base === undefined) return undefined
    const { isContained, merge } = await this.#page.connection.ask('contained', { at, into: base.at })
    return isContained ? { merge } : undefined
  }

  /** Compares with what the main line was before a merge: what the merge brought is shown as it was merged. */
  compareAsMerged(before: CommitRow['oid']): void {
    this.isStraight.value = false
    this.chosenBase.value = { kind: 'commit', name: before.slice(0, 8), at: { kind: 'commit', commit: before } }
  }

  /** The commits that the branch has and its base lacks; all of its own where it is the base. Gives the chosen one. */
  async #loadCommits(
    base: Base | undefined,
    commit: string | undefined,
    isCurrent: () => boolean,
  ): Promise<string | undefined> {
    const at = this.#at
    if (at.kind === 'commit') return commit
    const beyond = base === undefined ? {} : { beyond: base.at }
    const { rows } = await this.#page.connection.ask('history', {
      at,
      ...beyond,
      from: 0,
      count: MAX_COMMITS_ONE_BY_ONE,
    })
    if (!isCurrent()) return undefined
    const chosen = rows.find(({ oid }) => oid === commit) ?? rows[0]
    this.commits.value = rows
    this.commit.value = chosen?.oid
    return chosen?.oid
  }

  async #compare(
    kind: Kind,
    base: Base | undefined,
    commit: string | undefined,
    tip: string | undefined,
  ): Promise<Change[]> {
    const { connection } = this.#page
    if (kind === 'commit') {
      return commit === undefined ? [] : await connection.ask('changes', { to: { kind: 'commit', commit } })
    }
    if (kind === 'came in') {
      const moved = this.cameIn.peek()
      if (!moved) return []
      const [from, to] = [moved.from, moved.to].map((oid): At => ({ kind: 'commit', commit: oid }))
      return to ? await connection.ask('changes', { from, to }) : []
    }
    if (kind === 'unsaved') {
      if (tip === undefined) return []
      return await connection.ask('changes', { from: { kind: 'commit', commit: tip }, to: this.#at })
    }
    // Where there is nothing to compare with: what it has beyond its last commit.
    if (base === undefined) return await this.#compare('unsaved', base, commit, tip)
    return await connection.ask('changes', { from: base.at, to: this.#at, isFromMergeBase: !this.isStraight.peek() })
  }

  /** What it was looked at as: another content is to be looked at again. */
  static mark(change: Change): string {
    return `${change.path}\0${change.before?.oid}\0${change.after?.oid}`
  }

  /** The lines of a change that are new and that went: those that its diff shows, once it is there. */
  countOf(change: Change): LineCount {
    return this.counted.value.get(ReviewState.mark(change)) ?? change
  }

  count(change: Change, { added, deleted }: LineCount): void {
    const known = this.counted.peek().get(ReviewState.mark(change)) ?? change
    if (known.added === added && known.deleted === deleted) return
    this.counted.value = new Map(this.counted.peek()).set(ReviewState.mark(change), { added, deleted })
  }

  isLookedAt(change: Change): boolean {
    return this.lookedAt.value.has(ReviewState.mark(change))
  }

  setLookedAt(change: Change, isLookedAt: boolean): void {
    const marks = new Set(this.lookedAt.peek())
    if (isLookedAt) marks.add(ReviewState.mark(change))
    else marks.delete(ReviewState.mark(change))
    this.lookedAt.value = marks
  }
}
