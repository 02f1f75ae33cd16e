/** The history that a tab shows, of a branch, a file or lines: it stays as it was left while another tab is shown. */
import { batch, signal } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import type { Connection } from '../ui/socket.ts'
import { plural } from '../ui/times.ts'

const COMMITS_AT_ONCE = 200
/**
 * At most this many rows are loaded at once: as many as were there before, or those up to the commit that a search has
 * found.
 */
const MAX_ROWS_AGAIN = 10_000

/** How the search has changed since the rows were loaded: other words are searched, or none any more. */
type SearchChange = 'begun' | 'left' | undefined

/** The parts of the page that a history uses. */
interface Desk {
  readonly connection: Connection
  branch: (name: string) => BranchInfo | undefined
}

export class HistoryState {
  /** The loaded commits, newest first. After a search they reach to the selected one, if it is among the newest. */
  readonly rows = signal<readonly CommitRow[]>([])
  /** Whether {@link rows} are all commits. */
  readonly isComplete = signal(false)
  /** The number of all commits, in words; '' if unknown. */
  readonly total = signal('')
  /** Why the rows could not be loaded, as a sentence. */
  readonly problem = signal<string | undefined>(undefined)
  /** The words that are searched for; '' shows all commits. */
  readonly words = signal('')
  /** The text in the field of the search, which is searched for soon after the last key. */
  typed = ''
  /** How far the list is scrolled, in pixels; undefined before it is shown. */
  readonly top = signal<number | undefined>(undefined)
  /** The commit that is selected in a history of lines. */
  readonly selectedOfLines = signal<string | undefined>(undefined)

  readonly #selected = signal(0)
  /** The first row of a selection of several commits, which extends from here to the selected row. */
  readonly #anchor = signal(0)
  /** The ids of the selected commits, where Ctrl and a click have selected them one by one. */
  readonly #picked = signal<ReadonlySet<string> | undefined>(undefined)
  /**
   * Whether the user has selected a row, or done something with it. Before, the newest commit is selected, also when
   * another one becomes the newest.
   */
  #hasSelected = false

  readonly #page: Desk
  readonly #at: () => At
  /** What was asked for last: the commit of the branch, the file and the words. */
  #asked: { tip: string | undefined; path: string | undefined; words: string } | undefined
  /** The words of the search that {@link rows} are the results of. */
  #wordsOfRows = ''
  #round = 0
  #isAsking = false

  /** `at`: gives the branch or commit, the branch under the name that it has now. */
  constructor(page: Desk, at: () => At) {
    this.#page = page
    this.#at = at
  }

  /** The index of the selected row; of several, of the one that was selected last. */
  get selected(): number {
    return this.#selected.value
  }

  isSelected(index: number): boolean {
    const [from, to] = [this.#anchor.value, this.#selected.value]
    const isBetween = index >= Math.min(from, to) && index <= Math.max(from, to)
    return this.#picked.value?.has(this.rows.value[index]?.oid ?? '') ?? isBetween
  }

  /** The selected commits, newest first. */
  get chosen(): CommitRow[] {
    return this.rows.value.filter((_, index) => this.isSelected(index))
  }

  /** Selects a row, and no other one; extended, all rows from the one that was selected before. */
  select(index: number, isExtended = false): void {
    this.keepSelection()
    this.#selected.value = Math.max(0, Math.min(index, this.rows.peek().length - 1))
    if (!isExtended) this.#anchor.value = this.#selected.peek()
    this.#picked.value = undefined
  }

  /** Adds a commit to the selected ones, or removes it. */
  toggle(index: number): void {
    const ids = new Set(this.chosen.map(({ oid }) => oid))
    const oid = this.rows.peek()[index]?.oid
    if (oid === undefined) return
    // One commit stays selected.
    if (!ids.delete(oid) || ids.size === 0) ids.add(oid)
    this.select(index)
    this.#picked.value = ids
  }

  /** The selected commit is one that the user has chosen: it stays selected when another one becomes the newest. */
  keepSelection(): void {
    this.#hasSelected = true
  }

  /** The commit of the branch whose history this is; undefined for the history of a commit. */
  get tip(): string | undefined {
    return this.#branch?.tip
  }

  get #branch(): BranchInfo | undefined {
    const at = this.#at()
    return at.kind === 'branch' ? this.#page.branch(at.branch) : undefined
  }

  /**
   * Loads the history of a file, or of all files, unless it is loaded. It is loaded again when the branch has a new
   * commit, the file is renamed, or other words are searched.
   */
  load(path: string | undefined): void {
    const { tip } = this
    const words = this.words.peek()
    const last = this.#asked
    const isSame = last !== undefined && last.tip === tip && last.path === path && last.words === words
    if (isSame && this.problem.peek() === undefined) return
    this.#asked = { tip, path, words }
    void this.#ask(0)
  }

  /** Loads the history once more. */
  again(): void {
    void this.#ask(0)
  }

  /** Loads more rows if the last ones come near. `index`: the last visible row. */
  reach(index: number): void {
    const { length } = this.rows.peek()
    if (index > length - COMMITS_AT_ONCE / 4 && length > 0 && !this.isComplete.peek()) void this.#ask(length)
  }

  async #ask(from: number): Promise<void> {
    if (this.#isAsking && from > 0) return
    this.#isAsking = true
    const own = from > 0 ? this.#round : ++this.#round
    const { words = '', path } = this.#asked ?? {}
    const isOther = from === 0 && words !== this.#wordsOfRows
    const search = isOther ? (words === '' ? 'left' : 'begun') : undefined
    const filter = { ...(path !== undefined && { path }), ...(words !== '' && { words }) }
    const rowsFrom = (from: number) =>
      this.#page.connection.ask('history', { at: this.#loadedAt, from, count: COMMITS_AT_ONCE, ...filter })
    const known = this.rows.peek()
    try {
      let answer = await rowsFrom(from)
      const next = [...known.slice(0, from), ...answer.rows]
      const isCut = () => answer.rows.length === COMMITS_AT_ONCE
      const hasEnough = () => {
        if (search === undefined) return next.length >= known.length
        return search === 'begun' || this.#hasSelectedIn(next)
      }
      while (own === this.#round && isCut() && next.length < MAX_ROWS_AGAIN && !hasEnough()) {
        answer = await rowsFrom(next.length)
        next.push(...answer.rows)
      }
      // A newer request has been made meanwhile: this answer is dropped.
      if (own !== this.#round) return
      batch(() => {
        this.problem.value = undefined
        if (from === 0) this.#follow(next, search)
        this.#wordsOfRows = words
        this.rows.value = next
        this.isComplete.value = !isCut()
        this.total.value =
          answer.total === undefined ? '' : `${answer.isCut ? 'newest ' : ''}${plural(answer.total, 'commit')}`
      })
    } catch (error) {
      if (own === this.#round) this.problem.value = (error as Error).message
    }
    this.#isAsking = false
  }

  /** The branch or commit that is loaded. While a merge waits, its branch's tip: the merge is not a commit yet. */
  get #loadedAt(): At {
    const { merging, tip } = this.#branch ?? {}
    return merging && tip !== undefined ? { kind: 'commit', commit: tip } : this.#at()
  }

  #hasSelectedIn(rows: readonly CommitRow[]): boolean {
    const oid = this.rows.peek()[this.#selected.peek()]?.oid
    return rows.some(row => row.oid === oid)
  }

  /** Keeps the same commits selected in the rows that were loaded again. */
  #follow(after: readonly CommitRow[], search: SearchChange): void {
    const before = this.rows.peek()
    const [anchor, selected, picked] = [this.#anchor, this.#selected, this.#picked]
    if (search === 'begun') {
      ;[selected.value, anchor.value, picked.value] = [0, 0, undefined]
      this.#hasSelected = false
      return
    }
    // The commit that was found stays selected. Of several, the others need not be next to it any more.
    if (search === 'left') {
      this.#hasSelected = before.length > 0
      anchor.value = selected.peek()
    }
    if (!this.#hasSelected) return
    const ids = new Set(after.map(({ oid }) => oid))
    if (picked.peek()?.isSubsetOf(ids) === false) picked.value = undefined
    const [from, to] = [anchor.peek(), selected.peek()]
    const [nowFrom, nowTo] = [placeAfter(before, after, from), placeAfter(before, after, to)]
    const areSame = nowFrom !== undefined && nowTo !== undefined && nowTo - nowFrom === to - from
    // A selection of which some is gone, as after a squash, would select commits that the user has not selected.
    const one = Math.max(0, Math.min(from, to, after.length - 1))
    anchor.value = areSame ? nowFrom : one
    selected.value = areSame ? nowTo : one
  }
}

/**
 * The index of a row's commit after the rows were loaded again, also where it was made again with the same subject (as
 * by a reordering); undefined if the commit is gone.
 */
function placeAfter(before: readonly CommitRow[], after: readonly CommitRow[], index: number): number | undefined {
  const row = before[index]
  const timeOf = ({ authored, committed }: CommitRow) => authored ?? committed
  const isAgain = (other: CommitRow) =>
    row !== undefined && other.subject === row.subject && timeOf(other) === timeOf(row)
  const exact = after.findIndex(({ oid }) => oid === row?.oid)
  const place = exact === -1 ? after.findIndex(isAgain) : exact
  return place === -1 ? undefined : place
}
