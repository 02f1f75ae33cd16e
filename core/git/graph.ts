/** The parents of very many commits in a few dozen bytes each, and git's orders of commits. */
import type { Format, Oid } from './repository.ts'

/** A commit's number in a {@link CommitGraph}, counted from 0 in the order in which ids were first seen. */
export type CommitNumber = number

const ONE = 48
const SPACE = 32
const LINE_END = 10

/**
 * Commits with their parents and commit times. A parent gets a number when its child is read; until its own line is
 * read, {@link has} is false for it.
 */
export class CommitGraph {
  readonly #bytes: number
  #ids: Uint8Array
  #times: Float64Array
  /**
   * The index in #edges where a commit's parents begin, and where they end; -1 for a commit that is known as a parent,
   * but whose own line of git's output is not read yet.
   */
  #from: Int32Array
  #to: Int32Array
  #edges: Int32Array
  /** A hash table from the first bytes of an id to its number; -1: free. */
  #table: Int32Array
  #nodes = 0
  #edgeCount = 0
  readonly #id: Uint8Array
  #rest: Uint8Array = new Uint8Array()

  constructor(format: Format) {
    this.#bytes = format === 'sha1' ? 20 : 32
    const room = 1024
    this.#ids = new Uint8Array(room * this.#bytes)
    this.#times = new Float64Array(room)
    this.#from = new Int32Array(room).fill(-1)
    this.#to = new Int32Array(room).fill(-1)
    this.#edges = new Int32Array(room * 2)
    this.#table = new Int32Array(room * 4).fill(-1)
    this.#id = new Uint8Array(this.#bytes)
  }

  /** The number of ids seen. */
  get size(): number {
    return this.#nodes
  }

  /** Whether a commit's own line has been read. */
  has(node: CommitNumber): boolean {
    return (this.#from[node] ?? -1) >= 0
  }

  timeOf(node: CommitNumber): number {
    return this.#times[node] ?? 0
  }

  oidOf(node: CommitNumber): Oid {
    return Buffer.from(this.#ids.buffer, this.#ids.byteOffset + node * this.#bytes, this.#bytes).toString('hex')
  }

  find(oid: Oid): CommitNumber | undefined {
    if (oid.length !== this.#bytes * 2) return undefined
    this.#id.set(Buffer.from(oid, 'hex'))
    const node = this.#table[this.#slot()] ?? -1
    return node < 0 ? undefined : node
  }

  parentsOf(node: CommitNumber): Int32Array {
    return this.#edges.subarray(this.#from[node], Math.max(this.#to[node] ?? 0, this.#from[node] ?? 0))
  }

  /**
   * Reads output of `git rev-list --timestamp --parents` (lines of `TIME ID PARENT…`), in pieces of any size. Gives the
   * numbers of the commits, in git's order.
   */
  take(piece: Uint8Array): CommitNumber[] {
    let bytes = piece
    if (this.#rest.length > 0) bytes = Buffer.concat([this.#rest, piece])
    const listed: CommitNumber[] = []
    const digits = this.#bytes * 2
    let at = 0
    for (;;) {
      const end = bytes.indexOf(LINE_END, at)
      if (end < 0) break
      let time = 0
      for (; bytes[at] !== SPACE && at < end; at++) time = time * 10 + (bytes[at] ?? 0) - ONE
      const node = this.#number(bytes, ++at)
      this.#times[node] = time
      const first = this.#edgeCount
      for (at += digits; at < end; at += digits) this.#addEdge(this.#number(bytes, ++at))
      this.#from[node] = first
      this.#to[node] = this.#edgeCount
      listed.push(node)
      at = end + 1
    }
    this.#rest = bytes.slice(at)
    return listed
  }

  /** The number of the id whose hex digits begin at `at`. A new id gets a new number. */
  #number(bytes: Uint8Array, at: number): CommitNumber {
    for (let byte = 0; byte < this.#bytes; byte++) {
      const place = at + 2 * byte
      this.#id[byte] = (digit(bytes[place] as number) << 4) | digit(bytes[place + 1] as number)
    }
    const slot = this.#slot()
    const known = this.#table[slot] ?? -1
    if (known >= 0) return known
    const node = this.#nodes++
    if (node >= this.#times.length) this.#grow()
    this.#ids.set(this.#id, node * this.#bytes)
    // The table has grown, so the slot has moved.
    this.#table[this.#slot()] = node
    return node
  }

  /** The slot of the current id in the table, or the free slot for it. */
  #slot(): number {
    const id = this.#id
    const mask = this.#table.length - 1
    let slot =
      (((id[0] as number) << 24) | ((id[1] as number) << 16) | ((id[2] as number) << 8) | (id[3] as number)) & mask
    for (; ; slot = (slot + 1) & mask) {
      const node = this.#table[slot] ?? -1
      if (node < 0 || this.#isAt(node)) return slot
    }
  }

  #isAt(node: CommitNumber): boolean {
    const start = node * this.#bytes
    for (let byte = 0; byte < this.#bytes; byte++) if (this.#ids[start + byte] !== this.#id[byte]) return false
    return true
  }

  #addEdge(to: CommitNumber): void {
    if (this.#edgeCount >= this.#edges.length) this.#edges = grown(this.#edges, new Int32Array(this.#edges.length * 2))
    this.#edges[this.#edgeCount++] = to
  }

  #grow(): void {
    const room = this.#times.length * 2
    const sought = this.#id.slice()
    this.#ids = grown(this.#ids, new Uint8Array(room * this.#bytes))
    this.#times = grown(this.#times, new Float64Array(room))
    this.#from = grown(this.#from, new Int32Array(room).fill(-1))
    this.#to = grown(this.#to, new Int32Array(room).fill(-1))
    this.#table = new Int32Array(room * 4).fill(-1)
    for (let node = 0; node < room / 2; node++) {
      this.#id.set(this.#ids.subarray(node * this.#bytes, (node + 1) * this.#bytes))
      this.#table[this.#slot()] = node
    }
    this.#id.set(sought)
  }
}

const digit = (code: number): number => (code < 58 ? code - 48 : code - 87)

function grown<A extends Uint8Array | Int32Array | Float64Array>(old: A, larger: A): A {
  larger.set(old)
  return larger
}

/** All commits reachable from `tips`, newest commit time first, as `git rev-list` lists them. */
export function byDate(graph: CommitGraph, tips: readonly CommitNumber[]): CommitNumber[] {
  const seen = new Uint8Array(graph.size)
  const sorted: CommitNumber[] = []
  // Commits with equal times come in the order in which they were reached.
  const met = new Int32Array(graph.size)
  let count = 0
  const heap = new Heap((a, b) => {
    const difference = graph.timeOf(a) - graph.timeOf(b)
    return difference === 0 ? (met[a] as number) < (met[b] as number) : difference > 0
  })
  const meet = (node: CommitNumber): void => {
    if (seen[node] || !graph.has(node)) return
    seen[node] = 1
    met[node] = count++
    heap.push(node)
  }
  for (const tip of tips) meet(tip)
  for (let node = heap.pop(); node !== undefined; node = heap.pop()) {
    sorted.push(node)
    for (const parent of graph.parentsOf(node)) meet(parent)
  }
  return sorted
}

/**
 * Sorts commits as `git rev-list --topo-order` does: parents after all of their children, and lines of development not
 * mixed. Where the list is only the beginning of a longer one, the result ends where a missing commit would stand.
 */
export function byTopology(graph: CommitGraph, list: readonly CommitNumber[], isWhole: boolean): Int32Array {
  // For each commit of the list, 1 plus the number of its children that are not yet placed.
  const waits = new Int32Array(graph.size)
  for (const node of list) waits[node] = 1
  for (const node of list) for (const parent of graph.parentsOf(node)) if (waits[parent]) waits[parent]++
  const stack = list.filter(node => waits[node] === 1).reverse()
  const order = new Int32Array(list.length)
  let count = 0
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    order[count++] = node
    waits[node] = 0
    for (const parent of graph.parentsOf(node)) {
      if (!isWhole && !graph.has(parent)) return order.subarray(0, count)
      const left = waits[parent] ?? 0
      if (left === 0) continue
      waits[parent] = left - 1
      if (left === 2) stack.push(parent)
    }
  }
  return order.subarray(0, count)
}

/**
 * Sorts commits as `git rev-list --date-order` does: newest first, and parents after all of their children. `list` is
 * sorted by date, and so mostly in that order already.
 */
export function byDateOrder(graph: CommitGraph, list: readonly CommitNumber[]): Int32Array {
  const order = Int32Array.from(list)
  if (isChildrenFirst(graph, order)) return order
  // For each commit of the list, 1 plus the number of its children that are not yet placed.
  const waits = new Int32Array(graph.size)
  for (const node of order) waits[node] = 1
  for (const node of order) for (const parent of graph.parentsOf(node)) if (waits[parent]) waits[parent]++
  const places = new Int32Array(graph.size)
  for (const [place, node] of order.entries()) places[node] = place
  const free = new Heap((a, b) => {
    const difference = graph.timeOf(a) - graph.timeOf(b)
    return difference === 0 ? (places[a] as number) < (places[b] as number) : difference > 0
  })
  for (const node of list) if (waits[node] === 1) free.push(node)
  let count = 0
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    order[count++] = node
    for (const parent of graph.parentsOf(node)) {
      if (!waits[parent]) continue
      waits[parent]--
      if (waits[parent] === 1) free.push(parent)
    }
  }
  return order
}

function isChildrenFirst(graph: CommitGraph, order: Int32Array): boolean {
  const hasCome = new Uint8Array(graph.size)
  for (const node of order) {
    hasCome[node] = 1
    for (const parent of graph.parentsOf(node)) if (hasCome[parent]) return false
  }
  return true
}

/** A priority queue of numbers. */
class Heap {
  readonly #nodes: CommitNumber[] = []

  constructor(readonly isBefore: (one: CommitNumber, other: CommitNumber) => boolean) {}

  push(node: CommitNumber): void {
    const nodes = this.#nodes
    let at = nodes.length
    nodes.push(node)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!this.isBefore(node, nodes[above] as CommitNumber)) break
      nodes[at] = nodes[above] as CommitNumber
      at = above
    }
    nodes[at] = node
  }

  pop(): CommitNumber | undefined {
    const nodes = this.#nodes
    const top = nodes[0]
    const last = nodes.pop() as CommitNumber
    if (nodes.length === 0) return top
    let at = 0
    for (;;) {
      let below = at * 2 + 1
      if (below >= nodes.length) break
      if (below + 1 < nodes.length && this.isBefore(nodes[below + 1] as CommitNumber, nodes[below] as CommitNumber))
        below++
      if (!this.isBefore(nodes[below] as CommitNumber, last)) break
      nodes[at] = nodes[below] as CommitNumber
      at = below
    }
    nodes[at] = last
    return top
  }
}
