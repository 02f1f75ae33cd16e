/**
 * The lanes of a graph: the column of each commit, and the lines beside it.
 *
 * A line of development goes from a commit to its first parent. If several commits have the same parent, a trunk (such
 * as the default branch) continues the parent's line, or else the oldest of these commits does, so that later commits
 * do not change the line. Lines get their lanes from the oldest to the newest, each the leftmost lane that is free from
 * the line's top to where it joins another line. So new commits are placed around the existing ones, whose lanes stay.
 *
 * All data is in arrays of numbers: a hundred thousand commits take some tens of milliseconds and a few megabytes.
 */

/** Commits by row, newest first, and none above its children. */
export type Shape = {
  count: number
  /** The index in `parents` at which a row's parents begin, with one more entry than rows. */
  from: Int32Array
  /** The rows of parents; `count` for those not read yet. */
  parents: Int32Array
  /** The rows of the tips of trunks, most important first; `count` for those not read yet. */
  trunks: readonly number[]
  /** Whether the first trunk has lane 0 for itself, from top to bottom. */
  hasMain: boolean
}

/** A line from the middle of a row to the middle of the next one. `child`: the row of the commit at its top. */
type LaneLine = { from: number; to: number; color: number; child: number }

/** At most this many lanes; further lines share the last one. */
const MAX_LANES = 500
/** The lines at the start of each block of this many rows are stored, so that windows need no search from the top. */
const ROWS_PER_BLOCK = 256
/** The number of colours that lanes other than lane 0 take in turn. */
const TURNING_COLORS = 5

/** How an edge is drawn: not at all, down to its parent, or only to the next row, where it meets another line. */
const [HIDDEN, WHOLE, MEETS] = [0, 1, 2]

const NONE = -1

const colorOf = (lane: number): number => (lane === 0 ? 0 : 1 + ((lane - 1) % TURNING_COLORS))

/** The lanes of a graph after the layout. */
export class Lanes {
  readonly #blocks: { from: Int32Array; edges: Int32Array }

  constructor(
    readonly shape: Shape,
    /** The lane of each row. */
    readonly lanes: Int32Array,
    /** The lane of each edge, indexed as `shape.parents`. */
    readonly via: Int32Array,
    readonly looks: Uint8Array,
    readonly width: number,
  ) {
    this.#blocks = this.#throughBlocks()
  }

  laneOf(row: number): number {
    return this.lanes[row] ?? 0
  }

  colorOf(row: number): number {
    return colorOf(this.laneOf(row))
  }

  /** The lines of the rows `from` to `to` (exclusive). */
  lines(from: number, to: number): LaneLine[][] {
    const last = Math.min(to, this.shape.count)
    const rows: LaneLine[][] = Array.from({ length: Math.max(0, last - from) }, () => [])
    const { from: edgesOf } = this.shape
    const block = Math.floor(from / ROWS_PER_BLOCK)
    const { from: starts, edges } = this.#blocks
    for (let at = starts[block] ?? 0; at < (starts[block + 1] ?? 0); at++)
      this.#addEdge(rows, from, last, edges[at] as number, NONE)
    for (let row = block * ROWS_PER_BLOCK; row < last; row++)
      for (let edge = edgesOf[row] as number; edge < (edgesOf[row + 1] as number); edge++)
        this.#addEdge(rows, from, last, edge, row)
    return rows
  }

  #addEdge(rows: LaneLine[][], from: number, to: number, edge: number, known: number): void {
    const look = this.looks[edge]
    if (look === HIDDEN) return
    const child = known === NONE ? this.#childOf(edge) : known
    const parent = this.shape.parents[edge] as number
    const lane = this.via[edge] as number
    const color = colorOf(lane)
    const end = look === MEETS ? child + 1 : Math.min(parent, this.shape.count)
    for (let row = Math.max(child, from); row < Math.min(end, to); row++) {
      const isFirst = row === child
      const isLast = row === parent - 1
      const start = isFirst ? this.laneOf(child) : lane
      rows[row - from]?.push({ from: start, to: isLast ? this.laneOf(parent) : lane, color, child })
    }
  }

  /** The row at which an edge begins: the last row whose edges start at or before this one. */
  #childOf(edge: number): number {
    const { from, count } = this.shape
    let [low, high] = [0, count]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((from[middle] as number) <= edge) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The edges that begin above the first row of each block and end below it. */
  #throughBlocks(): { from: Int32Array; edges: Int32Array } {
    const { count, from: edgesOf, parents } = this.shape
    const blocks = Math.ceil(count / ROWS_PER_BLOCK) + 1
    const from = new Int32Array(blocks + 1)
    const each = (visit: (block: number, edge: number) => void) => {
      for (let row = 0; row < count; row++)
        for (let edge = edgesOf[row] as number; edge < (edgesOf[row + 1] as number); edge++) {
          if (this.looks[edge] !== WHOLE) continue
          const end = Math.min(parents[edge] as number, count)
          for (let block = Math.floor(row / ROWS_PER_BLOCK) + 1; block * ROWS_PER_BLOCK < end; block++)
            visit(block, edge)
        }
    }
    each(block => {
      from[block + 1] = (from[block + 1] as number) + 1
    })
    for (let block = 0; block < blocks; block++) from[block + 1] = (from[block + 1] as number) + (from[block] as number)
    const edges = new Int32Array(from[blocks] as number)
    const next = from.slice()
    each((block, edge) => {
      const place = next[block] as number
      edges[place] = edge
      next[block] = place + 1
    })
    return { from, edges }
  }
}

/**
 * Lays out the lanes of a graph, or of its newest commits alone: lines that continue below these are then placed first,
 * as the oldest, and may get other lanes when more commits are read. The same commits and tips give the same lanes.
 */
export function layLanes(shape: Shape): Lanes {
  const { count, from, parents, trunks, hasMain } = shape
  const lines = findLines(shape)
  const { lineOf, tops, bottoms, joins, above } = lines
  const via = new Int32Array(parents.length).fill(NONE)
  const looks = new Uint8Array(parents.length)
  // Finds the edge that draws the way from a merge down to the top of the line that it merged.
  for (let row = 0; row < count; row++) {
    const first = from[row] as number
    for (let edge = first; edge < (from[row + 1] as number); edge++) {
      const parent = parents[edge] as number
      if (hasSame(parents, first, edge)) continue
      looks[edge] = WHOLE
      if (edge === first || parent >= count) continue
      const line = lineOf[parent] as number
      const child = above[parent] as number
      if (child === row) looks[edge] = HIDDEN
      else if (child === NONE) {
        // Of several merges of one line, the topmost draws the way down to it; the edges of the others end at that way.
        if ((tops[line] as number) < parent) looks[edge] = MEETS
        else tops[line] = row
        via[edge] = line
      } else if (child < row) {
        looks[edge] = MEETS
        via[edge] = line
      }
    }
  }
  // Until here `via` contains lines; from here on lanes.
  const room = new LaneAllocator(hasMain ? 1 : 0)
  const lineLanes = new Int32Array(tops.length).fill(NONE)
  const place = (line: number) => {
    const join = joins[line] as number
    lineLanes[line] = room.take(tops[line] as number, join === NONE ? (bottoms[line] as number) : join)
  }
  const isMainThere = hasMain && (trunks[0] as number) < count
  if (isMainThere) lineLanes[0] = 0
  for (let line = 0; line < tops.length; line++) if (lineLanes[line] === NONE && joins[line] === count) place(line)
  const own: number[] = []
  for (let row = count - 1; row >= 0; row--) {
    const line = lineOf[row] as number
    if (bottoms[line] === row && lineLanes[line] === NONE) place(line)
    const first = from[row] as number
    for (let edge = first + 1; edge < (from[row + 1] as number); edge++)
      if (looks[edge] === WHOLE && via[edge] === NONE) {
        const parent = parents[edge] as number
        // A line to the next row needs no lane of its own.
        own.push(edge, parent === row + 1 ? NONE : room.take(row, parent))
      }
  }
  const lanes = new Int32Array(count)
  for (let row = 0; row < count; row++) lanes[row] = lineLanes[lineOf[row] as number] as number
  for (let row = 0; row < count; row++) {
    const first = from[row] as number
    for (let edge = first; edge < (from[row + 1] as number); edge++) {
      const line = via[edge] as number
      via[edge] = edge === first || line === NONE ? (lanes[row] as number) : (lineLanes[line] as number)
    }
  }
  for (let at = 0; at < own.length; at += 2) {
    const [edge, lane] = [own[at] as number, own[at + 1] as number]
    via[edge] = lane === NONE ? (lanes[parents[edge] as number] as number) : lane
  }
  // Edges in the last lane, which several lines share, are drawn only until they meet a line in it.
  for (let edge = 0; edge < via.length; edge++)
    if ((via[edge] as number) >= MAX_LANES - 1 && looks[edge] === WHOLE) looks[edge] = MEETS
  return new Lanes(shape, lanes, via, looks, room.width)
}

function hasSame(numbers: Int32Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (numbers[at] === numbers[to]) return true
  return false
}

type Lines = {
  /** For each row, the index of its line of development. */
  lineOf: Int32Array
  /** For each row, the next row above it in the same line; -1 for a line's topmost row. */
  above: Int32Array
  /** For each line, the topmost row that it is drawn to: its newest commit, or a merge above that commit. */
  tops: number[]
  /** For each line, the row of its oldest commit. */
  bottoms: number[]
  /** For each line, the row of its oldest commit's first parent, where it joins another line; -1 for none. */
  joins: number[]
}

/** Divides the rows into lines: trunks (such as main) from their tips down, others from their oldest commit up. */
function findLines({ count, from, parents, trunks }: Shape): Lines {
  const lineOf = new Int32Array(count).fill(NONE)
  const above = new Int32Array(count).fill(NONE)
  const [tops, bottoms, joins]: [number[], number[], number[]] = [[], [], []]
  const firstParent = (row: number): number => {
    const edge = from[row] as number
    return edge === from[row + 1] ? NONE : (parents[edge] as number)
  }
  for (const top of trunks) {
    if (top >= count || lineOf[top] !== NONE) continue
    let bottom = top
    let row = top
    while (row !== NONE && row < count && lineOf[row] === NONE) {
      lineOf[row] = tops.length
      if (row !== top) above[row] = bottom
      bottom = row
      row = firstParent(row)
    }
    tops.push(top)
    bottoms.push(bottom)
    joins.push(row)
  }
  const trunkLines = tops.length
  for (let row = count - 1; row >= 0; row--) {
    if (lineOf[row] !== NONE) continue
    const parent = firstParent(row)
    const line = parent === NONE || parent >= count ? NONE : (lineOf[parent] as number)
    if (line >= trunkLines && above[parent] === NONE) {
      lineOf[row] = line
      above[parent] = row
      tops[line] = row
    } else {
      lineOf[row] = tops.length
      tops.push(row)
      bottoms.push(row)
      joins.push(parent)
    }
  }
  return { lineOf, above, tops, bottoms, joins }
}

/** Allocates ranges of rows in lanes. */
class LaneAllocator {
  /** For each lane, the first rows of its ranges, lowest on the screen first. */
  readonly #starts: number[][] = []
  /** For each lane, the last rows of the ranges in `#starts`, in the same order. */
  readonly #ends: number[][] = []

  constructor(readonly first: number) {}

  /** The number of lanes; one more if the last one is shared. */
  get width(): number {
    return this.first + this.#starts.length
  }

  /** Takes the leftmost lane that is free from row `top` to row `bottom` (inclusive), and returns it. */
  take(top: number, bottom: number): number {
    for (let lane = 0; ; lane++) {
      if (this.first + lane === MAX_LANES - 1) return MAX_LANES - 1
      if (lane === this.#starts.length) {
        this.#starts.push([])
        this.#ends.push([])
      }
      const starts = this.#starts[lane] as number[]
      const ends = this.#ends[lane] as number[]
      const last = starts.length - 1
      // Most ranges are above all others in the lane, or overlap the topmost one.
      if (last >= 0 && (starts[last] as number) <= bottom) {
        if ((ends[last] as number) >= top) continue
        const at = firstAtMost(starts, bottom)
        if ((ends[at] as number) >= top) continue
        starts.splice(at, 0, top)
        ends.splice(at, 0, bottom)
        return this.first + lane
      }
      starts.push(top)
      ends.push(bottom)
      return this.first + lane
    }
  }
}

/** The index of the first number that is at most `most`, in descending numbers. */
function firstAtMost(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) <= most) high = middle
    else low = middle + 1
  }
  return low
}
