/**
 * The graph of the repository in windows of rows: commits, lanes, and lines. The history is read once and then follows
 * the refs, so that a window is available at once also with very many commits.
 */
import { ignoringCase } from '../../../core/git/environment.ts'
import type { CommitGraph, CommitNumber } from '../../../core/git/graph.ts'
import { type History, openHistory } from '../../../core/git/history.ts'
import { findByDigits, type Objects } from '../../../core/git/objects.ts'
import { listRefs, type Ref, type RefName, readHead } from '../../../core/git/refs.ts'
import { asText, type Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { listStashes, type Stash } from '../../../core/git/stash.ts'
import type { Operations } from '../../operations.ts'
import { branchOfRef, HEADS, headRef } from '../branches/branches.ts'
import { defaultBranchOf } from '../branches/default-branch.ts'
import type { GraphFilter, GraphRow, GraphWindow, Refs } from '../contract/graph.ts'
import { rowsOf } from '../reading/history.ts'
import { type Abandoned, findAbandoned } from './abandoned.ts'
import { type Lanes, layLanes } from './lanes.ts'
import { describeRefs } from './remotes.ts'

/** Of more tags than these, the times are not read, as that would take too long. */
const MAX_DATED_TAGS = 2000

/** The refs in the graph: branches, remote branches and tags; the stashes are listed apart. */
const SHOWN = [HEADS, 'refs/remotes/', 'refs/tags/']
/** At most this many filters have their graphs cached. */
const MAX_KEPT_GRAPHS = 3
/** A search finds at most this many commits, and ends after this many milliseconds. */
/** At most this many stashes, the newest, are listed. */
const MAX_STASHES = 100
const [MAX_FOUND_COMMITS, SEARCH_TIMEOUT_MS] = [1000, 20_000]

type Listing = {
  refs: Ref[]
  stashes: Stash[]
  head: { ref?: RefName; oid?: Oid }
  main: RefName | undefined
}

/** The commits of a graph in their order, and their lanes: both are rebuilt when a ref has moved. */
type Layout = { order: Int32Array; lanes: Lanes; isReached: Uint8Array | undefined }

type Tips = {
  oids: Oid[]
  /** The tips of lines that are drawn straight; with `hasMain`, the default branch's comes first. */
  trunks: Oid[]
  hasMain: boolean
  reached: Oid[]
  abandoned: readonly Abandoned[]
}

type View = { history: History; tips: Tips; layout: Layout | undefined; isSaid: boolean }

/** The readers of a history. `isOld`: it is no longer cached, so it is closed when its last reader ends. */
type Readers = { count: number; isOld: boolean }

export class GraphView implements AsyncDisposable {
  readonly #views = new Map<string, Promise<View>>()
  #listing: Promise<Listing> | undefined
  #abandoned: Promise<Abandoned[]> | undefined
  /** Counts the changes of refs, so that cached graphs are known to be stale. */
  #moved = 0
  readonly #seen = new Map<string, number>()
  readonly #readers = new WeakMap<History, Readers>()
  readonly #times = new Map<Oid, number>()

  constructor(
    readonly objects: Objects,
    readonly operations: Operations,
    /**
     * Called when rows that were returned may have changed: the lanes of a partly read history change once all is read.
     */
    readonly onChange: () => void,
  ) {}

  /** Call this when refs may have moved: the cached graphs then follow them. */
  touch(): void {
    this.#moved++
    this.#listing = undefined
    this.#abandoned = undefined
  }

  async refs(): Promise<Refs> {
    const { refs, stashes } = await this.#refs()
    const described = await describeRefs(this.objects.repository, refs)
    const remotes = await Promise.all(
      described.remotes.map(async remote => ({
        ...remote,
        branches: await Promise.all(remote.branches.map(this.#dated)),
      })),
    )
    const hasFew = described.tags.length <= MAX_DATED_TAGS
    const tags = hasFew ? await Promise.all(described.tags.map(this.#dated)) : described.tags
    return { ...described, remotes, tags, ...(stashes.length > 0 && { stashes }) }
  }

  /** A ref with the time of its tip. Commits never change, so each is read once. */
  readonly #dated = async <Tip extends { tip: Oid }>(ref: Tip): Promise<Tip & { committed?: number }> => {
    let committed = this.#times.get(ref.tip)
    if (committed === undefined) {
      const [row] = await rowsOf(this.objects, [ref.tip])
      committed = row?.committed
      if (committed !== undefined) this.#times.set(ref.tip, committed)
    }
    return committed === undefined ? ref : { ...ref, committed }
  }

  async window(filter: GraphFilter, from: number, count: number): Promise<GraphWindow> {
    return await this.#reading(filter, view => this.#window(view, from, count))
  }

  async #window(view: View, from: number, count: number): Promise<GraphWindow> {
    const { graph, order, isWhole } = await view.history.state(from + count)
    const { lanes, isReached } = this.#layOut(view, graph, order, isWhole)
    if (!isWhole) this.#sayWhenWhole(view)
    const nodes = order.subarray(from, from + count)
    const oids = Array.from(nodes, node => graph.oidOf(node))
    const read = new Map((await rowsOf(this.objects, oids)).map(row => [row.oid, row]))
    const lines = lanes.lines(from, from + oids.length)
    const labels = new Map(view.tips.abandoned.map(({ oid, words }) => [oid, words]))
    let width = 0
    const rows = oids.map((oid, at): GraphRow => {
      const place = from + at
      const lane = lanes.laneOf(place)
      const isAbandoned = isReached?.[place] === 0
      const row = read.get(oid) ?? NOT_READ
      const own = (lines[at] ?? []).map(({ from, to, color, child }) => {
        width = Math.max(width, from + 1, to + 1)
        return { from, to, color, isAbandoned: isReached?.[child] === 0 }
      })
      width = Math.max(width, lane + 1)
      return {
        ...row,
        oid,
        lane,
        color: lanes.colorOf(place),
        lines: own,
        ...(isAbandoned && { abandoned: labels.get(oid) ?? '' }),
      }
    })
    return { rows, total: isWhole ? order.length : undefined, lanes: width }
  }

  /** The row of a commit, or of a ref's commit; undefined if the graph does not contain it. */
  async place(filter: GraphFilter, name: string): Promise<number | undefined> {
    const { refs, stashes } = await this.#refs()
    const ref = refs.find(it => it.name === name)
    const oid = ref ? commitOf(ref) : (stashes.find(it => it.name === name)?.tip ?? name)
    return await this.#reading(filter, ({ history }) => history.placeOf(oid))
  }

  /**
   * The commits with some words in their message, author or the name of a ref at them, or at the start of their hash,
   * in the order of the graph.
   */
  async find(filter: GraphFilter, words: string, signal: AbortSignal): Promise<FoundCommits> {
    return await this.#reading(filter, view => this.#find(view, words, signal))
  }

  async #find(view: View, words: string, signal: AbortSignal): Promise<FoundCommits> {
    await view.history.complete
    const { repository } = this.objects
    const clock = AbortSignal.timeout(SEARCH_TIMEOUT_MS)
    const place = { ...repository, signal: AbortSignal.any([signal, clock]) }
    const wanted = words.replace(/\s+/g, ' ').trim()
    const input = view.tips.oids.map(oid => `${oid}\n`).join('')
    const search = async (what: string) => {
      // `git rev-list` does not search authors as .mailmap has them.
      const how = ['--use-mailmap', '--no-show-signature', '--format=%H', '-i', '-F', `-n${MAX_FOUND_COMMITS + 1}`]
      const args = ['log', ...how, `--${what}=${wanted}`, '--stdin']
      const { stdout } = await run(place, args, { input, env: ignoringCase(wanted) })
      return stdout.toString().split('\n').filter(Boolean)
    }
    try {
      const [said, made, named] = await Promise.all([
        search('grep'),
        search('author'),
        findByDigits(repository, wanted.toLowerCase()),
      ])
      const { refs, stashes } = await this.#refs()
      const labelled = refs.filter(({ name }) => isNamed(name, wanted)).map(commitOf)
      const stashed = stashes.filter(({ name }) => isNamed(name, wanted)).map(({ tip }) => tip)
      const places = [...new Set([...said, ...made, ...named, ...labelled, ...stashed])].flatMap(oid => {
        const row = view.history.placeNow(oid)
        return row === undefined ? [] : [{ row, oid }]
      })
      const rows = places.sort((one, other) => one.row - other.row)
      return {
        rows: rows.slice(0, MAX_FOUND_COMMITS),
        isCut: rows.length > MAX_FOUND_COMMITS || said.length + made.length > MAX_FOUND_COMMITS,
      }
    } catch (error) {
      // Another search has begun, or this one took too long: its results are unknown.
      if (signal.aborted || clock.aborted) return { rows: [], isCut: true }
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = await Promise.allSettled(this.#views.values())
    this.#views.clear()
    for (const it of all) if (it.status === 'fulfilled') await it.value.history[Symbol.asyncDispose]()
  }

  #refs(): Promise<Listing> {
    this.#listing ??= listingOf(this.objects).catch(error => {
      this.#listing = undefined
      throw error
    })
    return this.#listing
  }

  /** The graph of a filter, for the current refs. */
  #view(filter: GraphFilter): Promise<View> {
    const key = JSON.stringify([filter.withAbandoned, filter.refs?.toSorted()])
    const known = this.#views.get(key)
    const isCurrent = known && this.#seen.get(key) === this.#moved
    const view = isCurrent ? known : this.#follow(filter, known)
    // The graph is moved to the end, so that the one used last is dropped last.
    this.#views.delete(key)
    this.#views.set(key, view)
    this.#seen.set(key, this.#moved)
    if (!isCurrent)
      view.catch(() => {
        if (this.#views.get(key) === view) this.#views.delete(key)
      })
    const [oldest] = this.#views.keys()
    if (this.#views.size > MAX_KEPT_GRAPHS && oldest !== undefined) this.#close(oldest)
    return view
  }

  #close(key: string): void {
    const view = this.#views.get(key)
    this.#views.delete(key)
    view
      ?.then(({ history }) => {
        const readers = this.#readersOf(history)
        readers.isOld = true
        return endUnread(history, readers)
      })
      .catch(() => undefined)
  }

  #readersOf(history: History): Readers {
    const known = this.#readers.get(history) ?? { count: 0, isOld: false }
    this.#readers.set(history, known)
    return known
  }

  /** Runs a task with the graph of a filter, which is not closed meanwhile. */
  async #reading<Result>(filter: GraphFilter, task: (view: View) => Promise<Result>): Promise<Result> {
    const view = await this.#view(filter)
    const readers = this.#readersOf(view.history)
    readers.count++
    try {
      return await task(view)
    } finally {
      readers.count--
      await endUnread(view.history, readers)
    }
  }

  async #follow(filter: GraphFilter, known: Promise<View> | undefined): Promise<View> {
    const [listing, view] = await Promise.all([this.#refs(), known])
    const tips = tipsOf(listing, filter, filter.withAbandoned ? await this.#forgotten(filter) : [])
    if (!view) return { history: openHistory(this.objects, tips.oids, 'date'), tips, layout: undefined, isSaid: false }
    if (tips.oids.join() !== view.tips.oids.join()) await view.history.move(tips.oids)
    return { ...view, tips, layout: undefined }
  }

  async #forgotten(filter: GraphFilter): Promise<Abandoned[]> {
    return await this.#reading({ ...filter, refs: undefined, withAbandoned: false }, async ({ history }) => {
      await history.complete
      this.#abandoned ??= findAbandoned(this.objects, this.operations, oid => history.placeNow(oid) !== undefined)
      return await this.#abandoned
    })
  }

  #layOut(view: View, graph: CommitGraph, order: Int32Array, isWhole: boolean): Layout {
    if (view.layout?.order === order) return view.layout
    const places = new Int32Array(graph.size).fill(-1)
    for (let row = 0; row < order.length; row++) places[order[row] as number] = row
    const rowOf = (oid: Oid): number => places[graph.find(oid) ?? -1] ?? -1
    const trunks = view.tips.trunks.map(rowOf).map(row => (row < 0 ? order.length : row))
    const shape = { ...parentsIn(graph, order, places, isWhole), trunks, hasMain: view.tips.hasMain }
    const isReached = view.tips.abandoned.length > 0 ? reached(shape, view.tips.reached.map(rowOf)) : undefined
    view.layout = { order, lanes: layLanes(shape), isReached }
    return view.layout
  }

  #sayWhenWhole(view: View): void {
    if (view.isSaid) return
    view.isSaid = true
    view.history.completeSoon.then(this.onChange, () => undefined)
  }
}

async function endUnread(history: History, { count, isOld }: Readers): Promise<void> {
  if (isOld && count === 0) await history[Symbol.asyncDispose]()
}

type FoundCommits = { rows: { row: number; oid: Oid }[]; isCut: boolean }

/** Stands for a missing commit, as at the boundary of a shallow clone. */
const NOT_READ = { parents: [], subject: '', author: { name: '', email: '' }, committed: 0 }

const commitOf = ({ oid, peeled }: Ref): Oid => peeled ?? oid

const isNamed = (ref: RefName, words: string): boolean =>
  asText(ref.replace(/^refs\/(heads|remotes|tags)\//, ''))
    .toLowerCase()
    .includes(words.toLowerCase())

async function listingOf(objects: Objects): Promise<Listing> {
  const { repository } = objects
  const [refs, stashes, head] = await Promise.all([
    listRefs(repository, SHOWN),
    listStashes(objects, MAX_STASHES),
    readHead(repository),
  ])
  return { refs, stashes, head, main: mainOf(refs, head.ref) }
}

/** The default branch; without a local one, the remote's. */
function mainOf(refs: readonly Ref[], head: RefName | undefined): RefName | undefined {
  const names = new Set(refs.map(({ name }) => name))
  const branches = new Set([...names].filter(name => name.startsWith(HEADS)).map(branchOfRef))
  const origin = refs.find(({ name }) => name === 'refs/remotes/origin/HEAD')?.symbolic
  const own = defaultBranchOf(branches, { origin, head: head?.startsWith(HEADS) ? branchOfRef(head) : undefined })
  if (own !== undefined) return headRef(own)
  return origin !== undefined && names.has(origin) ? origin : undefined
}

/** Names of branches from which others start and into which they are merged. */
const TRUNK = /\/(main|master|trunk|develop|dev|next|stable|release[^/]*)$/

/**
 * The tips at which a graph begins: the default branch's, then those of other trunks (TRUNK), then others by name, then
 * the stashes.
 */
function tipsOf({ refs, stashes, head, main }: Listing, filter: GraphFilter, abandoned: readonly Abandoned[]): Tips {
  const wanted = filter.refs && new Set(filter.refs)
  const shown = refs.filter(({ name, symbolic }) => symbolic === undefined && (!wanted || wanted.has(name)))
  const defaults = new Set(refs.flatMap(({ symbolic }) => symbolic ?? []))
  const rankOf = ({ name }: Ref) => {
    if (name === main) return 0
    if (defaults.has(name)) return 1
    return (TRUNK.test(name) ? 2 : 5) + SHOWN.findIndex(prefix => name.startsWith(prefix))
  }
  // The sort keeps the order of refs of equal rank, which are ordered by name already.
  const sorted = shown.toSorted((one, other) => rankOf(one) - rankOf(other))
  const isDetached = !wanted && head.ref === undefined && head.oid !== undefined
  const stashed = wanted ? [] : stashes.map(({ tip }) => tip)
  const reached = [...sorted.map(commitOf), ...(isDetached ? [head.oid as Oid] : []), ...stashed]
  const oids = [...new Set([...reached, ...abandoned.map(({ oid }) => oid)])]
  const trunks = sorted.filter(ref => rankOf(ref) < 4).map(commitOf)
  return { oids, trunks, hasMain: sorted[0] !== undefined && sorted[0].name === main, reached, abandoned }
}

function parentsIn(graph: CommitGraph, order: Int32Array, places: Int32Array, isWhole: boolean) {
  const count = order.length
  const from = new Int32Array(count + 1)
  let edges = 0
  for (let row = 0; row < count; row++) edges += graph.parentsOf(order[row] as CommitNumber).length
  const parents = new Int32Array(edges)
  let edge = 0
  for (let row = 0; row < count; row++) {
    from[row] = edge
    for (const parent of graph.parentsOf(order[row] as CommitNumber)) {
      const place = places[parent] as number
      if (place >= 0) parents[edge++] = place
      else if (!isWhole) parents[edge++] = count
    }
  }
  from[count] = edge
  return { count, from, parents: parents.subarray(0, edge) }
}

/** The rows that are reachable from some tips, as a bit map. */
function reached(shape: { count: number; from: Int32Array; parents: Int32Array }, tips: readonly number[]): Uint8Array {
  const isReached = new Uint8Array(shape.count)
  for (const row of tips) if (row >= 0) isReached[row] = 1
  for (let row = 0; row < shape.count; row++) {
    if (!isReached[row]) continue
    const end = shape.from[row + 1] as number
    for (let edge = shape.from[row] as number; edge < end; edge++) {
      const parent = shape.parents[edge] as number
      if (parent < shape.count) isReached[parent] = 1
    }
  }
  return isReached
}
