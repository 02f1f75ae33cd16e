/** The state of a review: the comparison, the changed files, and which of them are marked as viewed. */
import { batch, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import { type Comment, nearestLine } from '../../contract/comments.ts'
import type { DeskInfo } from '../../contract/desk.ts'
import type { Refs } from '../../contract/graph.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { At, Change } from '../../contract/values.ts'
import { readable } from '../ui/names.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'
import { CommentDraft } from './comment-draft.ts'
import { comparedWith } from './compared-with.ts'
import { isOfForge } from './conversation-files.ts'
import type { OpenFiles } from './open-files.ts'
import { type Base, baseNow, branchBase } from './review-base.ts'

/** The comparison: with another branch, one commit, the drafts, or the commits that someone else has added. */
export type Kind = 'all' | 'commit' | 'unsaved' | 'came in'

export type Containment = { merge?: CommitRow | undefined }

/**
 * The added and deleted lines of a change, as git counts them. A drawn diff may have one or two fewer, since git counts
 * a line whose line end has changed; one file has one count, which does not change when its diff is drawn.
 */
export type LineCount = Pick<Change, 'added' | 'deleted'>

/** At most this many diffs are in the document at first, and this many more on request. */
export const FILES_AT_ONCE = 100

/**
 * Where the diffs of a comparison are scrolled to. `offset`: how far the top of the file is above the view's, in
 * pixels.
 */
export interface ScrollPlace {
  comparison: string
  path: string
  offset: number
}

/** At most this many commits, the newest, can be reviewed one by one. */
export const MAX_COMMITS_ONE_BY_ONE = 100

/** The parts of the page that a review uses. */
interface Desk {
  readonly connection: Connection
  readonly desk: ReadonlySignal<DeskInfo | undefined>
  /** A counter for each branch, which increases when the branch or its drafts change. */
  readonly changed: ReadonlySignal<ReadonlyMap<string, number>>
  branch: (name: string) => BranchInfo | undefined
  /** The open files of each branch. */
  readonly files: Pick<OpenFiles, 'of'>
  /** The remote branches, with the commits that they have now. */
  readonly graph: { refs: ReadonlySignal<Refs | undefined> }
}

/** The changes of the code, and those of the conversation with the AI, which is committed with it. */
export const byKind = (changes: readonly Change[]): { code: Change[]; conversation: Change[] } => ({
  code: changes.filter(({ path }) => !isOfForge(path)),
  conversation: changes.filter(({ path }) => isOfForge(path)),
})

/** A comment. `shownAt`: the number of its line in the shown version; undefined where that has no such line. */
export type ShownComment = Comment & { shownAt?: number | undefined }

/** The blob that a review shows as one version of a commented file. */
const blobOf = (changes: readonly Change[] | undefined, { path, side }: Comment): string | undefined =>
  changes?.find(change => change.path === path)?.[side]?.oid

/** The value is the list of changed files, those of the conversation with the AI last. */
export class ReviewState extends ServerValue<Change[]> {
  readonly kind = signal<Kind>('all')
  /** The base the user chose; undefined: the default of {@link base}. */
  readonly chosenBase = signal<Base | undefined>(undefined)
  /** Compares with the base itself instead of with the merge base. */
  readonly isStraight = signal(false)
  readonly commit = signal<string | undefined>(undefined)
  readonly commits = signal<CommitRow[]>([])
  /**
   * The commits of the branch before and after someone else has moved it; undefined unless the review offers to show
   * these changes.
   */
  readonly cameIn = signal<{ from: string; to: string } | undefined>(undefined)
  readonly isSideBySide = signal(false)
  readonly ignoresBlanks = signal(false)
  /** The marks ({@link mark}) of the files that were viewed. */
  readonly lookedAt = signal<ReadonlySet<string>>(new Set())
  /**
   * If the base contains all commits of the branch: the merge commit that brought them into the base, if there is one.
   */
  readonly containedBy = signal<Containment | undefined>(undefined)
  readonly comments: ServerValue<ShownComment[]>
  /** The comment that is being written. */
  readonly draft: CommentDraft
  /** Whether the files of the conversation with the AI are shown: they are no code, and folded at first. */
  readonly showsConversation = signal(false)
  /** The file selected in the list; another object each time that it is selected, also of the same file. */
  readonly current = signal<{ path: string } | undefined>(undefined)
  /** The value of {@link current} that the diffs were scrolled to last. */
  scrolledTo: { path: string } | undefined
  /** The file at the top of the diffs, or the one selected last: it is marked in the list. */
  readonly readPath = signal<string | undefined>(undefined)
  /** Where the diffs were scrolled to last. */
  place: ScrollPlace | undefined
  /** Whether {@link place} is in a file that has another name since, so that the diffs must be scrolled there again. */
  isPlaceMoved = false
  /** What the list of changed files is filtered by; '' shows all of them. */
  readonly filter = signal('')
  /** The number of files with a diff in the document; more on request. */
  readonly filesShown = signal(FILES_AT_ONCE)
  /** Which diffs the user has folded or unfolded, by the marks of their changes. */
  readonly unfolded = new Map<string, boolean>()

  readonly #page: Desk
  readonly #named: Signal<At>
  /** The keys of renamed files: see {@link keyOf}. */
  readonly #keys = new Map<string, string>()
  /** The rename of the file of {@link draft} that was found with the last changes. */
  #renamed: { from: string; to: string } | undefined

  /** `place`: a key that identifies the branch or commit, and its repository. */
  constructor(page: Desk, at: At, place: string) {
    super(isCurrent => this.#compareNow(isCurrent), { forgetsOnFailure: true })
    this.#page = page
    this.#named = signal(at)
    this.draft = new CommentDraft(place)
    this.comments = new ServerValue(async () => {
      const comments = await this.#followLines(await page.connection.ask('comments', { at: this.#at }))
      // An answer that is being written goes along with its comment.
      this.draft.keepFocus?.()
      return comments
    })
    if (at.kind === 'commit') {
      this.kind.value = 'commit'
      this.commit.value = at.commit
    }
  }

  /** Follows the branch to its new name. `place`: as in the constructor. */
  moveTo(at: At, place: string): void {
    this.#named.value = at
    this.draft.moveTo(place)
  }

  /** The branch or commit; the branch under the name that it has now. */
  get #at(): At {
    return this.#named.value
  }

  /** The base: the chosen one while it exists, else the default branch unless it is the reviewed one. */
  get base(): Base | undefined {
    const { desk } = this.#page
    const { value: chosen } = this.chosenBase
    const isGone = chosen?.kind === 'branch' && desk.value !== undefined && !this.#page.branch(chosen.name)
    if (chosen && !isGone) return baseNow(chosen, this.#page.graph.refs.value)
    const { branches = [], main } = desk.value ?? {}
    const branch = branches.find(({ name }) => name === main) ?? branches[0]
    const isItself = this.#at.kind === 'branch' && this.#at.branch === branch?.name
    return branch && !isItself ? branchBase(branch) : undefined
  }

  /** Loads the changes whenever the comparison changes. Returns a function that ends this. */
  watch(): () => void {
    return effect(() => {
      this.#followMove()
      // The parts of the comparison are read here, so that the effect runs again when one of them changes.
      this.base
      this.kind.value
      this.commit.value
      this.isStraight.value
      this.#saved
      if (this.#branch !== undefined) this.#page.changed.value.get(this.#branch)
      this.cameIn.value
      untracked(() => {
        void this.refresh()
        void this.comments.refresh()
      })
    })
  }

  /** Shows what the notice about the branch says: it may have been moved again. */
  #followMove(): void {
    const shown = this.cameIn.peek()
    const moved = this.#branch === undefined ? undefined : this.#page.branch(this.#branch)?.moved
    if (!shown || !moved || (shown.from === moved.from && shown.to === moved.to)) return
    this.cameIn.value = { from: moved.from, to: moved.to }
  }

  get #branch(): string | undefined {
    return this.#at.kind === 'branch' ? this.#at.branch : undefined
  }

  /** The commit that the unsaved changes are compared with. */
  get #saved(): string | undefined {
    const branch = this.#branch === undefined ? undefined : this.#page.branch(this.#branch)
    return branch && comparedWith(branch)
  }

  async #compareNow(isCurrent: () => boolean): Promise<Change[]> {
    const kind = this.kind.peek()
    const { base } = this
    const commit = this.commit.peek()
    this.#refreshWhenSent(isCurrent)
    const hasCommits = this.#at.kind === 'branch' ? kind === 'commit' : kind === 'all'
    const chosen = hasCommits ? await this.#loadCommits(base, commit, isCurrent) : commit
    const changes = await this.#compare(kind, base, chosen, this.#saved)
    const renamed = await this.#findRename(changes)
    if (isCurrent()) this.#renamed = renamed
    const isEmpty = changes.length === 0 && (kind === 'all' || (kind === 'commit' && chosen === undefined))
    const containedBy = isEmpty ? await this.#containedIn(base) : undefined
    if (isCurrent()) this.containedBy.value = containedBy
    const { code, conversation } = byKind(changes)
    return [...code, ...conversation]
  }

  /** Finds the rename of the file in which a comment is being written, where none of the changes has its path. */
  async #findRename(changes: readonly Change[]): Promise<{ from: string; to: string } | undefined> {
    const from = this.draft.place.peek()?.path
    const { origin } = this.draft
    const branch = this.#branch
    const isThere = changes.some(({ path }) => path === from)
    if (from === undefined || !origin || branch === undefined || isThere) return undefined
    const asked = { branch, since: origin.commit, paths: [origin.path] }
    const now = await this.#page.connection.ask('paths now', asked).catch(() => undefined)
    const to = now?.paths[0]
    return to === undefined || to === from ? undefined : { from, to }
  }

  /** Finds the lines of comments in the two versions that are shown, which change with the comparison. */
  async #followLines(comments: readonly Comment[]): Promise<ShownComment[]> {
    const changes = this.latest.peek()
    const texts = new Map<string, Promise<readonly string[] | undefined>>()
    const linesOf = (oid: string) => {
      const lines = texts.get(oid) ?? this.#linesOf(oid)
      texts.set(oid, lines)
      return lines
    }
    const followed = comments.map(async (comment): Promise<ShownComment> => {
      const { line, ...rest } = comment
      const oid = blobOf(changes, comment)
      const lines = oid === undefined ? undefined : await linesOf(oid)
      // The commit of the comment has it where it was made.
      const isOfCommit = this.kind.peek() === 'commit' && this.commit.peek() === comment.commit
      const expected = (isOfCommit ? undefined : line) ?? comment.madeAt
      const shownAt = lines ? nearestLine(lines, expected, comment.text) : line
      // The server knows the lines of the branch, and not those that the branch is compared with.
      const known = comment.side === 'after' ? line : shownAt
      return { ...rest, ...(known !== undefined && { line: known }), shownAt }
    })
    const all = await Promise.all(followed)
    return this.latest.peek() === changes ? all : await this.#followLines(comments)
  }

  /** The lines of a blob; undefined if it is no text. */
  async #linesOf(oid: string): Promise<string[] | undefined> {
    const { text } = await this.#page.connection.ask('blob', { oid })
    return text?.split(/\r?\n/)
  }

  /** Shows the changes, and at the same time moves the comment that is being written to the new path of its file. */
  protected override take(changes: Change[]): void {
    const renamed = this.#renamed
    const before = this.latest.peek()
    batch(() => {
      if (renamed && renamed.from === this.draft.place.peek()?.path) {
        const { from, to } = renamed
        // The two swap their keys, so that no two files have the same.
        const [key, otherKey] = [this.keyOf(from), this.keyOf(to)]
        this.#keys.set(to, key).set(from, otherKey)
        this.draft.followFile(to)
      }
      this.#followPlace(before, changes)
      super.take(changes)
    })
    const isMoved = (comment: Comment) => blobOf(before, comment) !== blobOf(changes, comment)
    if (this.comments.latest.peek()?.some(isMoved)) void this.comments.refresh()
  }

  /** Keeps the place in the file that is read, where that has another name in the new changes. */
  #followPlace(before: readonly Change[] | undefined, changes: readonly Change[]): void {
    const { placeNow: place } = this
    const old = before?.find(({ path }) => path === place?.path)
    if (!place || !old || changes.some(({ path }) => path === old.path)) return
    const added = changes.filter(({ path }) => !before?.some(it => it.path === path))
    const now =
      added.find(({ from }) => from !== undefined && (from === old.path || from === old.from)) ??
      added.find(({ after }) => after !== undefined && after.oid === old.after?.oid)
    if (!now) return
    this.place = { ...place, path: now.path }
    this.isPlaceMoved = true
  }

  /**
   * Identifies the element of a file's diff. It is another one than the file's path where the file was renamed while a
   * comment was written in it: the element then stays, with the field that is typed in.
   */
  keyOf(path: string): string {
    return this.#keys.get(path) ?? path
  }

  /**
   * Loads the changes once more when typed text that is on its way has arrived: the desk tells of the first edit of a
   * file, but not of each.
   */
  #refreshWhenSent(isCurrent: () => boolean): void {
    const files = this.#branch === undefined ? [] : this.#page.files.of(this.#branch)
    const unsent = files.filter(file => file.isUnsettled)
    if (unsent.length === 0) return
    void Promise.all(unsent.map(file => file.sent())).then(() => (isCurrent() ? this.refresh() : undefined))
  }

  async #containedIn(base: Base | undefined): Promise<Containment | undefined> {
    const at = this.#at
    if (at.kind === 'commit' || base === undefined) return undefined
    const { isContained, merge } = await this.#page.connection.ask('contained', { at, into: base.at })
    return isContained ? { merge } : undefined
  }

  /** Compares with the commit before a merge, so that the changes are shown as they were merged. */
  compareAsMerged(before: CommitRow['oid']): void {
    this.isStraight.value = false
    this.chosenBase.value = { kind: 'commit', name: before.slice(0, 8), at: { kind: 'commit', commit: before } }
  }

  /**
   * Loads the commits that the branch (or the commit of the tab) has and its base lacks; all of its commits if it is
   * the base itself. Returns the id of the chosen commit.
   */
  async #loadCommits(
    base: Base | undefined,
    commit: string | undefined,
    isCurrent: () => boolean,
  ): Promise<string | undefined> {
    const at = this.#at
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
    if (at.kind === 'commit') return commit
    this.commit.value = chosen?.oid
    return chosen?.oid
  }

  async #compare(
    kind: Kind,
    base: Base | undefined,
    commit: string | undefined,
    saved: string | undefined,
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
      if (saved === undefined) return []
      return await connection.ask('changes', { from: { kind: 'commit', commit: saved }, to: this.#at })
    }
    // Without a base, the drafts are shown.
    if (base === undefined) return await this.#compare('unsaved', base, commit, saved)
    if (base.kind === 'own merge') {
      return base.at.kind === 'commit' ? await connection.ask('changes by hand', { commit: base.at.commit }) : []
    }
    return await connection.ask('changes', { from: base.at, to: this.#at, isFromMergeBase: !this.isStraight.peek() })
  }

  /** The changed files, without the conversation's while it is folded. */
  get shown(): Change[] | undefined {
    const { value: changes } = this.latest
    return changes && (this.showsConversation.value ? changes : byKind(changes).code)
  }

  /** Unfolds the conversation if a file is one of its own. */
  unfold(path: string): void {
    if (isOfForge(path)) this.showsConversation.value = true
  }

  /** Selects a file: the diffs are scrolled to it. */
  select(path: string): void {
    this.unfold(path)
    this.current.value = { path }
  }

  /** The changed files whose path, or old path, has each word of the filter. */
  get filtered(): Change[] {
    const words = this.filter.value.toLowerCase().split(/\s+/)
    return (this.latest.value ?? []).filter(({ path, from = '' }) => {
      const text = `${readable(from)} ${readable(path)}`.toLowerCase()
      return words.every(word => text.includes(word))
    })
  }

  /** Names what is compared, so that a place in one comparison is not applied to another one. */
  get comparison(): string {
    return `${this.kind.peek()} ${this.commit.peek()}`
  }

  /** Where the diffs of this comparison were scrolled to last. */
  get placeNow(): ScrollPlace | undefined {
    return this.place?.comparison === this.comparison ? this.place : undefined
  }

  /** Identifies a change by path and content: a file that changed again has another mark and is not viewed any more. */
  static mark(change: Change): string {
    return `${change.path}\0${change.before?.oid}\0${change.after?.oid}`
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
