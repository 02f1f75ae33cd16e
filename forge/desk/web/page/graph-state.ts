/**
 * The state of the graph: the refs, the selected commit, and chunks of rows, loaded as they come into view. Only the
 * rows viewed last are kept; the server has them all.
 */
import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import type { DeskInfo } from '../../contract/desk.ts'
import { GRAPH_CHUNK as CHUNK, type GraphFilter, type GraphRow, type Refs } from '../../contract/graph.ts'
import type { News } from '../../contract/news.ts'
import { FocusWish } from '../ui/focus.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'
import { type Label, labelsOf } from './graph-labels.ts'
import { GraphPanes } from './graph-panes.ts'
import { StepDrag } from './step-drag.ts'

/** Rows asked for before the height of the view is known. */
const FIRST_ROWS = 60
/** Rows are loaded in chunks of {@link CHUNK}; at most this many chunks are kept. */
const MAX_CHUNKS = 60
/** At most this many requests for rows at a time, so that a fast scroll waits for its last rows only. */
const MAX_QUESTIONS_AT_ONCE = 3
/** Delay of a reload, in milliseconds, so that several changes cause only one. */
const LOOK_DELAY_MS = 30

/** The row heights that the graph can be zoomed to, in pixels. */
export const HEIGHTS = [18, 22, 26, 32] as const
const USUAL_HEIGHT = 26
const LANE_AT_26 = 14
/** The middle of a lane that has room is at least this far from both edges of the column, in pixels. */
export const LANE_INSET_PX = 14
/**
 * The least and the greatest width of the lanes' column, in pixels. In between, the column is as wide as most rows of
 * the first view need, and at least as the first six lanes need. Of lanes that do not fit, the commits are at the
 * column's edge; panning shows the lanes.
 */
const [NARROWEST, WIDEST] = [44, 132]
const LANES_WITH_ROOM = 6
/** The share of the rows whose lanes must fit in the column. */
const ROWS_WITH_LANES_SHARE = 0.75
/** The width of the other columns of a list at least this wide, in pixels: see graph.css. */
const COLUMNS = [
  [980, 324],
  [560, 200],
  [320, 70],
  [0, 16],
] as const
/** The labels of a row take at most this width, and half of the subject's, in pixels: see graph.css. */
const MAX_LABELS_WIDTH = 420
const LABEL_ROOM_STEP = 20
/** The topic of a notice that the refs could not be loaded. */
const REFS = 'refs'
/** The largest share of the list's width that the lanes may take. */
const MAX_LANES_SHARE = 1 / 3

interface Chunk {
  rows: GraphRow[]
  round: number
}

/** At most this many commits are selected at once. */
const MAX_SELECTED = 1000

/** The row of a commit that the filter hides. */
const HIDDEN = -1

/**
 * The selected row, with its commit once that is known. `chosen`: the commit, if the user has selected it. Such a
 * commit stays selected, and its pane is shown, when the filter hides it; `row` is then {@link HIDDEN}.
 */
interface Selected {
  row: number
  oid: string | undefined
  chosen?: GraphRow
}

interface SelectedCommit {
  row: number
  commit: GraphRow
}
type Selection = Map<string, SelectedCommit>

/** The parts of the page that the graph uses. */
interface Desk {
  readonly connection: Connection
  readonly desk: ReadonlySignal<DeskInfo | undefined>
  complain: (error: unknown, about?: { topic: string }) => void
  solved: (topic: string) => void
}

export class GraphState {
  readonly filter = signal<GraphFilter>({ withAbandoned: false })
  /** The name of the filter; undefined if all refs are shown. */
  readonly filterWords = signal<string | undefined>(undefined)
  readonly total = signal<number | undefined>(undefined)
  readonly #refs = new ServerValue(async () => withoutHeads(await this.#page.connection.ask('refs', {})))
  readonly refs: ReadonlySignal<Refs | undefined> = this.#refs.latest
  readonly problem = signal<string | undefined>(undefined)
  readonly selected = signal<Selected>({ row: 0, oid: undefined })
  /** The selected commits by their ids, with their rows, if several are selected; else empty. */
  readonly several = signal<ReadonlyMap<string, SelectedCommit>>(new Map())
  readonly rowHeight = signal<number>(USUAL_HEIGHT)
  /**
   * The pointer's distance from the top of the view at the last zoom, in pixels; undefined for a zoom by the keyboard.
   */
  zoomedAround: number | undefined
  /** The number of lanes in the rows loaded so far. */
  readonly lanes = signal(1)
  /** How far the lanes are panned, in pixels. */
  readonly pan = signal(0)
  /** Increases when rows have arrived. */
  readonly version = signal(0)
  /** Increases when refs may have moved, also while the graph is hidden. */
  readonly moves = signal(0)
  /** The rows that match the search; undefined without a search. */
  readonly found = signal<{ rows: { row: number; oid: string }[]; isCut: boolean } | undefined>(undefined)
  readonly isFinding = signal(false)
  /** Increases when the field of the search should get the focus. */
  readonly findWanted = signal(0)
  /** The output of git for a fetch or push in progress. */
  readonly progress = signal<string | undefined>(undefined)
  /** Requests the focus for the list of commits. */
  readonly focusWish = new FocusWish()
  /** Increases when the selected row should be scrolled to the middle. */
  readonly centreWanted = signal(0)
  readonly revealWanted = signal(0)
  /** Rows added or removed above the view: the list scrolls by this many, so that the same rows stay in view. */
  readonly shift = signal(0)
  readonly panes = new GraphPanes()
  readonly drag: StepDrag
  readonly labels = computed<ReadonlyMap<string, Label[]>>(() =>
    labelsOf(this.branches.value, this.refs.value, this.#page.desk.value?.head),
  )
  readonly branches = computed<readonly BranchInfo[]>(() => this.#page.desk.value?.branches ?? [])
  readonly laneGap = computed(() => (LANE_AT_26 * Math.max(this.rowHeight.value, 20)) / USUAL_HEIGHT)
  /** The width that the lanes need, in pixels. It grows only when refs have moved, so that the text stays in place. */
  readonly #neededWidth = signal(NARROWEST)
  /** The width of the lanes' column, in pixels. The text of all rows begins after it. */
  readonly columnWidth = computed(() => Math.min(this.mostLanesWidth.value, this.#neededWidth.value))
  /** The width of the list of commits, in pixels. */
  readonly listWidth = signal(1000)
  /** The width for the labels of a row, in pixels, in steps, so that rows are not drawn anew at each pixel. */
  readonly labelRoom = computed(() => {
    const width = this.listWidth.value
    const [, columns = 0] = COLUMNS.find(([from]) => width >= from) ?? []
    const subject = width - this.columnWidth.value - columns
    return Math.floor(Math.min(subject / 2, MAX_LABELS_WIDTH) / LABEL_ROOM_STEP) * LABEL_ROOM_STEP
  })
  /** The largest width of the lanes, in pixels: beyond it the text would have too little room. */
  readonly mostLanesWidth = computed(() => Math.max(NARROWEST, this.listWidth.value * MAX_LANES_SHARE))

  readonly #page: Desk
  readonly #chunks = new Map<number, Chunk>()
  readonly #asked = new Set<number>()
  #round = 0
  #view: [number, number] = [0, FIRST_ROWS]
  #top = 0
  #lookTimer: ReturnType<typeof setTimeout> | undefined
  #isBegun = false
  #isShown = false
  /** Whether something has changed while the graph was hidden, so that it has to be loaded again. */
  #isStale = false
  /** The number of shown views outside the graph that show labels. */
  #refsViews = 0
  #search = 0
  /** The commit from which Shift extends the selection, with its row. */
  #anchor: { row: number; oid: string | undefined } | undefined

  constructor(page: Desk) {
    this.#page = page
    this.drag = new StepDrag(page)
  }

  /** The number of rows; while the server still reads the history, the number known so far. */
  get count(): number {
    const { value: total } = this.total
    if (total !== undefined) return total
    const known = Math.max(0, ...[...this.#chunks].map(([chunk, { rows }]) => chunk * CHUNK + rows.length))
    return known > 0 && known % CHUNK === 0 ? known + CHUNK : known
  }

  rowAt(index: number): GraphRow | undefined {
    return this.#chunks.get(Math.floor(index / CHUNK))?.rows[index % CHUNK]
  }

  get row(): GraphRow | undefined {
    this.version.value
    const { row, oid, chosen } = this.selected.value
    const there = this.rowAt(row)
    return oid === undefined || there?.oid === oid ? there : chosen
  }

  /** Whether the filter hides the selected commit. */
  get isSelectedHidden(): boolean {
    return this.selected.value.row === HIDDEN
  }

  /** Loads the graph when it is shown. Resolves when the rows are there. {@link end} is called when it is hidden. */
  async begin(): Promise<void> {
    this.#isShown = true
    if (this.#isBegun && !this.#isStale) return
    this.#isBegun = true
    this.#isStale = false
    await this.look()
  }

  end(): void {
    this.#isShown = false
    this.drag.end()
  }

  hear(news: News): void {
    if (news.say === 'progress') this.progress.value = news.words
    const isOfBranch = news.say === 'branch' && !news.isOfDrafts
    if (!isOfBranch && news.say !== 'saved' && news.say !== 'repository') return
    this.moves.value++
    this.touch()
  }

  /**
   * Loads again what is shown, since refs may have moved: the graph, or the refs for another view. A hidden graph that
   * has been loaded before is loaded again when it is shown.
   */
  touch(): void {
    clearTimeout(this.#lookTimer)
    if (this.#isShown) {
      this.#lookTimer = setTimeout(() => this.look(), LOOK_DELAY_MS)
      return
    }
    this.#isStale = this.#isBegun
    if (this.#refsViews > 0) this.#lookTimer = setTimeout(() => this.needRefs(), LOOK_DELAY_MS)
  }

  /** Keeps the refs up to date for a view of labels outside the graph, until the returned function is called. */
  followRefs(): () => void {
    this.#refsViews++
    void this.needRefs()
    return () => {
      this.#refsViews--
    }
  }

  /**
   * Loads refs and visible rows again. The old ones stay until the answer arrives. `isFiltered`: since the filter has
   * changed, not the refs.
   */
  async look({ isFiltered = false } = {}): Promise<void> {
    this.#round++
    const top = this.#top
    const anchor = top > 0 ? this.rowAt(top)?.oid : undefined
    try {
      await Promise.all([
        this.#refs.refresh(),
        this.#fill(),
        this.#keepSelected(isFiltered),
        this.#keepAnchor(),
        this.#keepInPlace(anchor, top),
      ])
      const problem = this.#refs.problem.peek()
      if (problem !== undefined) {
        this.problem.value = problem
        return
      }
      this.#neededWidth.value = Math.max(this.#neededWidth.peek(), this.#usualWidth())
      if (!this.isSelectedHidden) await this.#need(this.selected.peek().row)
      // A row that was selected while the rows were loaded is at its place in the old list.
      const { row, oid } = this.selected.peek()
      if (this.rowAt(row)?.oid !== oid) await Promise.all([this.#keepSelected(isFiltered), this.#keepAnchor()])
    } catch (error) {
      this.#complain(error)
    }
  }

  /** The refs, loaded if the graph has not been shown yet; undefined after a failure, which is reported. */
  async needRefs(): Promise<Refs | undefined> {
    if (this.refs.peek() && this.#isBegun && !this.#isStale) return this.refs.peek()
    await this.#refs.refresh()
    const problem = this.#refs.problem.peek()
    if (problem === undefined) this.#page.solved(REFS)
    else this.#page.complain(problem, { topic: REFS })
    return this.refs.peek()
  }

  /**
   * Sets the visible rows, `from` to `to` (exclusive), and loads those that are missing. `top`: the first visible row.
   */
  view(from: number, to: number, top: number): void {
    // A list that has no rows yet still asks for the first ones.
    this.#view = [from, Math.max(to, from + FIRST_ROWS)]
    this.#top = top
    this.#fill()
  }

  setFilter(filter: GraphFilter, words?: string): void {
    batch(() => {
      this.filter.value = filter
      this.filterWords.value = words
      this.total.value = undefined
      this.lanes.value = 1
      this.pan.value = 0
      this.#neededWidth.value = NARROWEST
      this.found.value = undefined
    })
    this.#selectOne()
    this.#chunks.clear()
    this.#asked.clear()
    void this.#lookFiltered()
  }

  /** Loads the graph of a new filter, and scrolls to the selected commit; to the top if the filter hides it. */
  async #lookFiltered(): Promise<void> {
    const filter = this.filter.peek()
    await this.look({ isFiltered: true })
    const { row } = this.selected.peek()
    if (row !== HIDDEN) await this.#need(row)
    if (filter === this.filter.peek()) this.centreWanted.value++
  }

  /** Shows all refs, and unreachable commits too where the selected one is of these. */
  showSelected(): void {
    const isAbandoned = this.selected.peek().chosen?.abandoned !== undefined
    this.setFilter({ withAbandoned: isAbandoned || this.filter.peek().withAbandoned })
  }

  /** Selects a row, and no other. */
  select(row: number): void {
    this.#selectOne()
    this.#activate(row)
  }

  /** Adds a commit to the selected ones, or removes it. */
  toggle(row: number): void {
    const several = new Map(this.several.peek())
    const { row: before } = this.selected.peek()
    if (several.size === 0) this.#addTo(several, before)
    const oid = this.rowAt(row)?.oid
    if (oid === undefined || !several.delete(oid)) this.#addTo(several, row)
    this.#activate(row)
    this.#anchor = { row, oid }
    this.several.value = several
  }

  /** Selects all rows from the one that was selected without Shift to this one. */
  async extendTo(row: number): Promise<void> {
    const { row: before, oid } = this.selected.peek()
    const anchor = this.#anchor ?? { row: Math.max(0, before), oid }
    const { row: from } = anchor
    const to = Math.max(0, Math.min(row, this.count - 1))
    const last = to < from ? Math.max(to, from - MAX_SELECTED + 1) : Math.min(to, from + MAX_SELECTED - 1)
    this.#activate(last)
    this.#anchor = anchor
    const [first, end] = [Math.min(from, last), Math.max(from, last)]
    for (let chunk = Math.floor(first / CHUNK); chunk * CHUNK <= end; chunk++) await this.#need(chunk * CHUNK)
    // The selection was changed again while rows were loaded.
    if (this.selected.peek().row !== last || this.#anchor !== anchor) return
    const several: Selection = new Map()
    for (let at = first; at <= end; at++) this.#addTo(several, at)
    this.several.value = several
  }

  /** The selected commits, newest first, if several are selected; else none. */
  get chosen(): GraphRow[] {
    const several = [...this.several.value.values()]
    if (several.length < 2) return []
    return several.sort((one, other) => one.row - other.row).map(({ commit }) => commit)
  }

  /** Leaves only the row selected that was selected last. */
  #selectOne(): void {
    this.#anchor = undefined
    if (this.several.peek().size > 0) this.several.value = new Map()
  }

  #addTo(several: Selection, row: number): void {
    const commit = this.rowAt(row)
    if (commit && several.size < MAX_SELECTED) several.set(commit.oid, { row, commit })
  }

  #activate(row: number): void {
    const index = Math.max(0, Math.min(row, this.count - 1))
    const there = this.rowAt(index)
    this.selected.value = { row: index, oid: there?.oid, ...(there && { chosen: there }) }
    this.revealWanted.value++
    if (there) this.showLane(there.lane)
  }

  /** Selects the commit of a ref, or a commit by id. Returns whether the graph contains it. */
  async goTo(name: string): Promise<boolean> {
    try {
      const { row } = await this.#page.connection.ask('graph place', { filter: this.filter.peek(), name })
      if (row === undefined || row === null) return false
      await this.#need(row)
      this.select(row)
      this.centreWanted.value++
      return true
    } catch (error) {
      this.#complain(error)
      return false
    }
  }

  async find(words: string): Promise<void> {
    const search = ++this.#search
    if (words.trim() === '') {
      this.found.value = undefined
      return
    }
    try {
      const found = await this.#page.connection.ask('find commits', { filter: this.filter.peek(), words })
      if (search !== this.#search) return
      this.found.value = found
      const [first] = found.rows
      if (first) await this.#goToFound(first.row)
    } catch (error) {
      if (search === this.#search) this.#complain(error)
    }
  }

  /** Selects the next match of the search (1) or the previous one (-1). */
  async findNext(by: 1 | -1): Promise<void> {
    const rows = this.found.peek()?.rows.map(({ row }) => row) ?? []
    const { row } = this.selected.peek()
    const next = by === 1 ? (rows.find(it => it > row) ?? rows[0]) : (rows.findLast(it => it < row) ?? rows.at(-1))
    if (next !== undefined) await this.#goToFound(next)
  }

  /** Changes the row height. The row at `around` pixels below the top of the view stays in place. */
  zoom(by: 1 | -1 | 0, around?: number): void {
    const at = HEIGHTS.indexOf(this.rowHeight.peek() as (typeof HEIGHTS)[number])
    const next = by === 0 ? USUAL_HEIGHT : HEIGHTS[Math.max(0, Math.min(at + by, HEIGHTS.length - 1))]
    this.zoomedAround = around
    if (next !== undefined) this.rowHeight.value = next
  }

  panBy(pixels: number): void {
    const most = Math.max(0, this.xOf(this.lanes.peek()) + this.laneGap.peek() - this.columnWidth.peek())
    this.pan.value = Math.max(0, Math.min(this.pan.peek() + pixels, most))
  }

  /** The x coordinate of a lane's middle, before panning, in pixels. */
  xOf(lane: number): number {
    return LANE_INSET_PX + lane * this.laneGap.peek()
  }

  showLane(lane: number): void {
    const x = this.xOf(lane) - this.pan.peek()
    const room = this.columnWidth.peek() - LANE_INSET_PX
    if (x > room) this.panBy(x - room)
    else if (x < LANE_INSET_PX) this.panBy(x - LANE_INSET_PX)
  }

  /** The lanes that a row needs: its own lines, and the lower halves of the lines of the row above. */
  #roomOf(index: number): number {
    const row = this.rowAt(index)
    if (!row) return 0
    const own = row.lines.map(({ from, to }) => Math.max(from, (from + to) / 2))
    const above = (this.rowAt(index - 1)?.lines ?? []).map(({ from, to }) => Math.max(to, (from + to) / 2))
    return this.xOf(Math.max(row.lane, ...own, ...above)) + LANE_INSET_PX
  }

  #usualWidth(): number {
    const rooms = Array.from({ length: Math.min(this.count, FIRST_ROWS) }, (_, index) => this.#roomOf(index))
    const sorted = rooms.sort((one, other) => one - other)
    const usual = sorted[Math.floor(sorted.length * ROWS_WITH_LANES_SHARE)] ?? NARROWEST
    const first = this.xOf(Math.min(this.lanes.peek(), LANES_WITH_ROOM) - 1) + LANE_INSET_PX
    return Math.max(NARROWEST, Math.min(Math.max(usual, first), WIDEST))
  }

  async #goToFound(row: number): Promise<void> {
    await this.#need(row)
    this.select(row)
    this.centreWanted.value++
  }

  /** Resolves when a row is loaded, from the newest graph. */
  async #need(row: number): Promise<void> {
    const chunk = Math.floor(row / CHUNK)
    if (!this.rowAt(row) || !this.#isFresh(chunk)) await this.#ask(chunk)
  }

  #isFresh(chunk: number): boolean {
    return this.#chunks.get(chunk)?.round === this.#round
  }

  /** Keeps the same commit selected, in whatever row it is now. A commit that no ref has any more is not kept. */
  async #keepSelected(isFiltered: boolean): Promise<void> {
    const { oid } = this.selected.peek()
    if (oid === undefined) return
    const filter = this.filter.peek()
    const { row } = await this.#page.connection.ask('graph place', { filter, name: oid })
    const before = this.selected.peek()
    if (before.oid !== oid || filter !== this.filter.peek()) return
    const isKept = before.chosen !== undefined && (isFiltered || before.row === HIDDEN)
    const next = row ?? (isKept ? HIDDEN : undefined)
    if (next === undefined) {
      // Others that were selected with it are gone, too, as after a squash of them.
      this.#selectOne()
      this.selected.value = { row: 0, oid: undefined }
    } else if (next !== before.row) {
      this.selected.value = { ...before, row: next }
      if (next !== HIDDEN && before.row !== HIDDEN) this.#moveSeveral(next - before.row)
    }
  }

  /** Keeps the same commit as the one from which Shift extends the selection. */
  async #keepAnchor(): Promise<void> {
    const anchor = this.#anchor
    if (anchor?.oid === undefined) return
    const { row } = await this.#page.connection.ask('graph place', { filter: this.filter.peek(), name: anchor.oid })
    if (this.#anchor !== anchor) return
    this.#anchor = row === undefined || row === null ? undefined : { ...anchor, row }
  }

  /** Moves the rows of the selected commits by the rows that came above them: their order is that of the rows. */
  #moveSeveral(by: number): void {
    const several = this.several.peek()
    if (several.size === 0) return
    this.several.value = new Map([...several].map(([oid, { row, commit }]) => [oid, { row: row + by, commit }]))
  }

  async #keepInPlace(anchor: string | undefined, top: number): Promise<void> {
    if (anchor === undefined) return
    const { row } = await this.#page.connection.ask('graph place', { filter: this.filter.peek(), name: anchor })
    if (row !== undefined && row !== null && row !== top && this.#top === top) this.shift.value = row - top
  }

  async #fill(): Promise<void> {
    if (!this.#isBegun) return
    const [from, to] = this.#view
    const first = Math.floor(from / CHUNK)
    this.#dropOld(first, to)
    const asked: Promise<void>[] = []
    for (let chunk = first; chunk * CHUNK < to; chunk++) {
      if (this.#asked.size >= MAX_QUESTIONS_AT_ONCE) break
      if (this.#isFresh(chunk) || this.#asked.has(chunk)) continue
      asked.push(this.#ask(chunk).then(() => this.#fill()))
    }
    await Promise.all(asked)
  }

  /**
   * Drops rows of an older graph that are out of view: a key such as Home would select a commit that was there before.
   * The chunk of the selected row stays until it is loaded anew, since its commit is shown.
   */
  #dropOld(first: number, to: number): void {
    const selected = Math.floor(this.selected.peek().row / CHUNK)
    for (const chunk of this.#chunks.keys()) {
      const isInView = chunk >= first && chunk * CHUNK < to
      if (!isInView && chunk !== selected && !this.#isFresh(chunk)) this.#chunks.delete(chunk)
    }
  }

  async #ask(chunk: number): Promise<void> {
    const round = this.#round
    const filter = this.filter.peek()
    this.#asked.add(chunk)
    try {
      const { rows, total, lanes } = await this.#page.connection.ask('graph', {
        filter,
        from: chunk * CHUNK,
        count: CHUNK,
      })
      if (filter !== this.filter.peek()) return
      this.#chunks.delete(chunk)
      this.#chunks.set(chunk, { rows, round })
      this.#forget()
      this.#take(total ?? undefined, lanes)
    } catch (error) {
      this.#chunks.set(chunk, { rows: this.#chunks.get(chunk)?.rows ?? [], round })
      this.#complain(error)
    } finally {
      if (filter === this.filter.peek()) this.#asked.delete(chunk)
    }
  }

  /** Drops the chunks loaded first, except that of the selected row, whose commit is shown. */
  #forget(): void {
    if (this.#chunks.size <= MAX_CHUNKS) return
    const kept = Math.floor(this.selected.peek().row / CHUNK)
    const oldest = this.#chunks.keys().find(chunk => chunk !== kept)
    if (oldest !== undefined) this.#chunks.delete(oldest)
  }

  #take(total: number | undefined, lanes: number): void {
    const isFirst = this.lanes.peek() === 1
    batch(() => {
      this.total.value = total
      this.lanes.value = Math.max(lanes, this.lanes.peek())
      if (isFirst) this.#neededWidth.value = this.#usualWidth()
      this.problem.value = undefined
      this.version.value++
      const { row, oid } = this.selected.peek()
      const there = this.rowAt(row)
      if (oid === undefined && there) this.selected.value = { row, oid: there.oid }
    })
  }

  #complain(error: unknown): void {
    this.problem.value = error instanceof Error ? error.message : String(error)
  }
}

/** Removes the HEADs of remotes: each only names the remote's default branch, which is listed itself. */
function withoutHeads(refs: Refs): Refs {
  const remotes = refs.remotes.map(remote => ({
    ...remote,
    branches: remote.branches.filter(it => it.name !== 'HEAD'),
  }))
  return { ...refs, remotes }
}
