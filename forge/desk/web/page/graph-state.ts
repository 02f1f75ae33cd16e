/**
 * What the graph of the repository shows: windows of rows as they are needed, refs, and the commit that is selected.
 * The server has all of it; here are the rows that were looked at last.
 */
import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'
import type { BranchInfo } from '../../contract/branches.ts'
import type { DeskInfo } from '../../contract/desk.ts'
import { GRAPH_CHUNK as CHUNK, type GraphFilter, type GraphRow, type Refs } from '../../contract/graph.ts'
import type { News } from '../../contract/news.ts'
import type { Connection } from '../ui/socket.ts'
import { type Label, labelsOf } from './graph-labels.ts'
import { GraphPanes } from './graph-panes.ts'
import { StepDrag } from './step-drag.ts'

/** The rows that are asked for before it is known how many there are. */
const FIRST_ROWS = 60
/** Rows come in chunks of {@link CHUNK}, and so many of these are kept. */
const MAX_CHUNKS = 60
/** Questions for rows that are under way at a time: who scrolls fast waits for the last one, not for all. */
const MAX_QUESTIONS_AT_ONCE = 3
/** Several changes at once make one look. */
const LOOK_DELAY_MS = 30

/** The heights of a row that the graph can be zoomed to. */
export const HEIGHTS = [18, 22, 26, 32] as const
const USUAL_HEIGHT = 26
const LANE_AT_26 = 14
/**
 * The lanes' column, in pixels: as wide as most rows of the first view need, and the first six lanes where there are so
 * many, within bounds. Lanes that it has no room for share a track at its edge, and are panned to.
 */
const [NARROWEST, WIDEST] = [44, 132]
const LANES_WITH_ROOM = 6
/** The part of the rows whose lanes the column has room for. */
const ROWS_WITH_LANES_SHARE = 0.75
/** The part of the list that lanes may take. */
const MAX_LANES_SHARE = 1 / 3
/** Between the last lane and the text. */
const LANE_GAP = 10

interface Chunk {
  rows: GraphRow[]
  round: number
}

/** What the graph needs of the page. */
interface Desk {
  readonly connection: Connection
  readonly desk: ReadonlySignal<DeskInfo | undefined>
  complain: (error: unknown) => void
}

export class GraphState {
  readonly filter = signal<GraphFilter>({ withAbandoned: false })
  /** How the filter is called, where it is not all refs. */
  readonly filterWords = signal<string | undefined>(undefined)
  readonly total = signal<number | undefined>(undefined)
  readonly refs = signal<Refs | undefined>(undefined)
  readonly problem = signal<string | undefined>(undefined)
  /** The row that is selected, and its commit where it is known. */
  readonly selected = signal<{ row: number; oid: string | undefined }>({ row: 0, oid: undefined })
  readonly rowHeight = signal<number>(USUAL_HEIGHT)
  /** Where in the view it was zoomed last, in pixels from its top, if at a place of it. */
  zoomedAround: number | undefined
  /** How many lanes the rows have that were seen, and how far they are panned, in pixels. */
  readonly lanes = signal(1)
  readonly pan = signal(0)
  /** Counts up when rows have come. */
  readonly version = signal(0)
  /** Rows that were found, by what was looked for; undefined while nothing is. */
  readonly found = signal<{ rows: { row: number; oid: string }[]; isCut: boolean } | undefined>(undefined)
  readonly isFinding = signal(false)
  /** What git says of a fetch or push that is under way. */
  readonly progress = signal<string | undefined>(undefined)
  /** Counts up when the list is to have the focus, or its selected row to be in the middle. */
  readonly focusWanted = signal(0)
  readonly centreWanted = signal(0)
  readonly revealWanted = signal(0)
  /** Rows that came or went above what is in view: it is to be scrolled by so many, to show what it showed. */
  readonly shift = signal(0)
  readonly panes = new GraphPanes()
  readonly drag: StepDrag
  readonly labels = computed<ReadonlyMap<string, Label[]>>(() =>
    labelsOf(this.branches.value, this.refs.value, this.#page.desk.value?.head),
  )
  readonly branches = computed<readonly BranchInfo[]>(() => this.#page.desk.value?.branches ?? [])
  readonly laneGap = computed(() => (LANE_AT_26 * Math.max(this.rowHeight.value, 20)) / USUAL_HEIGHT)
  /** The width that the lanes need. It stays for as long as the graph is of the same refs. */
  readonly #neededWidth = signal(NARROWEST)
  /** The width of the lanes' column, in pixels: the text of all rows begins behind it. */
  readonly columnWidth = computed(() => Math.min(this.mostLanesWidth.value, this.#neededWidth.value))
  /** How wide the list of commits is, in pixels. */
  readonly listWidth = signal(1000)
  /** The lanes never take more of the list than leaves room for what the commits say. */
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
  /** Something has changed that was not asked for, since nobody looked. */
  #isStale = false
  #search = 0

  constructor(page: Desk) {
    this.#page = page
    this.drag = new StepDrag(page)
  }

  /** How many rows the list has: those that are known of, for as long as the server reads. */
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
    const { row, oid } = this.selected.value
    const there = this.rowAt(row)
    return oid === undefined || there?.oid === oid ? there : undefined
  }

  /** Is called when the graph is shown, and {@link end} when it is not any more. Waits until it is there. */
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
    if (isOfBranch || news.say === 'saved' || news.say === 'repository') this.touch()
  }

  /** Looks again, if somebody has looked before: refs may have moved. */
  touch(): void {
    if (!this.#isBegun) return
    clearTimeout(this.#lookTimer)
    if (this.#isShown) this.#lookTimer = setTimeout(() => this.look(), LOOK_DELAY_MS)
    else this.#isStale = true
  }

  /** Asks for all that is in view again: what is there stays until the answer comes. */
  async look(): Promise<void> {
    this.#round++
    const top = this.#top
    const anchor = top > 0 ? this.rowAt(top)?.oid : undefined
    try {
      const [refs] = await Promise.all([
        this.#page.connection.ask('refs', {}),
        this.#fill(),
        this.#keepSelected(),
        this.#keepInPlace(anchor, top),
      ])
      this.refs.value = withoutHeads(refs)
    } catch (error) {
      this.#complain(error)
    }
  }

  /** The refs, asked for where nobody has looked at the graph yet; undefined where they can't be had, which is said. */
  async needRefs(): Promise<Refs | undefined> {
    if (this.refs.peek() && this.#isBegun && !this.#isStale) return this.refs.peek()
    try {
      this.refs.value = withoutHeads(await this.#page.connection.ask('refs', {}))
    } catch (error) {
      this.#page.complain(error)
    }
    return this.refs.peek()
  }

  /** The rows that are in view, without the last one: those that are missing are asked for. `top`: the first one. */
  view(from: number, to: number, top: number): void {
    // A list that has no rows yet is asked for its first ones all the same.
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
    this.#chunks.clear()
    this.#asked.clear()
    this.look()
  }

  select(row: number): void {
    const index = Math.max(0, Math.min(row, this.count - 1))
    const there = this.rowAt(index)
    this.selected.value = { row: index, oid: there?.oid }
    this.revealWanted.value++
    if (there) this.showLane(there.lane)
  }

  /** Selects the commit of a ref, or a commit, where the graph has it. */
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

  /** The next commit that was found, or the one before. */
  async findNext(by: 1 | -1): Promise<void> {
    const rows = this.found.peek()?.rows.map(({ row }) => row) ?? []
    const { row } = this.selected.peek()
    const next = by === 1 ? (rows.find(it => it > row) ?? rows[0]) : (rows.findLast(it => it < row) ?? rows.at(-1))
    if (next !== undefined) await this.#goToFound(next)
  }

  /** `around`: what is so many pixels below the top of the view stays there. */
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

  /** Where the middle of a lane is, before it is panned. */
  xOf(lane: number): number {
    return LANE_AT_26 + lane * this.laneGap.peek()
  }

  showLane(lane: number): void {
    const x = this.xOf(lane) - this.pan.peek()
    const room = this.columnWidth.peek() - LANE_AT_26
    if (x > room) this.panBy(x - room)
    else if (x < LANE_AT_26) this.panBy(x - LANE_AT_26)
  }

  /** The room that the lanes of a row take: its own lines, and the lower halves of those of the row above. */
  #roomOf(index: number): number {
    const row = this.rowAt(index)
    if (!row) return 0
    const own = row.lines.map(({ from, to }) => Math.max(from, (from + to) / 2))
    const above = (this.rowAt(index - 1)?.lines ?? []).map(({ from, to }) => Math.max(to, (from + to) / 2))
    return this.xOf(Math.max(row.lane, ...own, ...above)) + LANE_GAP
  }

  #usualWidth(): number {
    const rooms = Array.from({ length: Math.min(this.count, FIRST_ROWS) }, (_, index) => this.#roomOf(index))
    const sorted = rooms.sort((one, other) => one - other)
    const usual = sorted[Math.floor(sorted.length * ROWS_WITH_LANES_SHARE)] ?? NARROWEST
    const first = this.xOf(Math.min(this.lanes.peek(), LANES_WITH_ROOM) - 1) + LANE_GAP
    return Math.max(NARROWEST, Math.min(Math.max(usual, first), WIDEST))
  }

  async #goToFound(row: number): Promise<void> {
    await this.#need(row)
    this.select(row)
    this.centreWanted.value++
  }

  /** Waits until a row is there. */
  async #need(row: number): Promise<void> {
    if (!this.rowAt(row)) await this.#ask(Math.floor(row / CHUNK))
  }

  /** What is selected stays so, wherever it stands by now. */
  async #keepSelected(): Promise<void> {
    const { oid } = this.selected.peek()
    if (oid === undefined) return
    const { row } = await this.#page.connection.ask('graph place', { filter: this.filter.peek(), name: oid })
    if (this.selected.peek().oid !== oid) return
    if (row === undefined || row === null) this.selected.value = { row: 0, oid: undefined }
    else if (row !== this.selected.peek().row) this.selected.value = { row, oid }
  }

  async #keepInPlace(anchor: string | undefined, top: number): Promise<void> {
    if (anchor === undefined) return
    const { row } = await this.#page.connection.ask('graph place', { filter: this.filter.peek(), name: anchor })
    if (row !== undefined && row !== null && row !== top && this.#top === top) this.shift.value = row - top
  }

  async #fill(): Promise<void> {
    if (!this.#isBegun) return
    const [from, to] = this.#view
    const asked: Promise<void>[] = []
    for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < to; chunk++) {
      if (this.#asked.size >= MAX_QUESTIONS_AT_ONCE) break
      const isFresh = this.#chunks.get(chunk)?.round === this.#round
      if (isFresh || this.#asked.has(chunk)) continue
      asked.push(this.#ask(chunk).then(() => this.#fill()))
    }
    await Promise.all(asked)
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

  /** What was asked for first goes, but not the row that is selected: its commit is shown. */
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

/** A remote's HEAD only says which of its branches is the usual one: that stands there anyway. */
function withoutHeads(refs: Refs): Refs {
  const remotes = refs.remotes.map(remote => ({
    ...remote,
    branches: remote.branches.filter(it => it.name !== 'HEAD'),
  }))
  return { ...refs, remotes }
}
