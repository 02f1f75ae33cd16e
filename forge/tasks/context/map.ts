/**
 * The code around some files, ranked from them outwards: a personalised PageRank over references from files to the
 * files that define the names. Only near files are visited, so that it takes milliseconds in a repository of any size,
 * once its files are indexed.
 */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import type { FileEntry } from '../../../core/git/trees.ts'
import { type Folder, readFolders } from '../../ai/folders.ts'
import { isCode } from '../../ai/languages.ts'
import { NONE, TagStore, type Tags } from './tags.ts'

/**
 * A file near others, nearest first; `isNext`: they use it, or it uses them. `lines` say what it offers to others, in
 * the order in which they stand in it.
 */
export type Near = { path: Path; isNext: boolean; lines: string[] }

/** To be closed: `using map = openCodeMap(…)`. `folder` is one outside of any repository. */
export const openCodeMap = (objects: Objects, { folder }: { folder: string }): CodeMap =>
  new CodeMap(objects, new TagStore(objects, folder))

/** How much of a file's weight goes back to where it all began, and what is too little to be passed on. */
const RESTART = 0.15
const MIN_SCORE = 0.0005
/** How many files are visited, and how many are given. */
const MAX_VISITED_FILES = 2000
const MAX_TOLD_FILES = 120
const MAX_NEIGHBOURS = 40
/** A name that more files define says nothing. */
const MAX_DEFINERS = 12
/** How telling a name is, by its number's lowest bits. */
const TELLING = [0.1, 1, 4, 1]
/** The share of a file's weight that goes to the files it uses; the rest goes to the files that use it. */
const OUTWARDS = 0.6
const MAX_LINES_PER_FILE = 40
/** How many files of code are indexed, the first ones by path. */
const MAX_CODE_FILES = 80_000
const MAX_KEPT_INDEXES = 4
/** Generated or third-party files. */
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|third_party|dist|\.venv|venv)\/|\.min\.js$|[._-]pb2?\.|\.generated\./

/** A tree's files of code, and which of them define and refer to a name. */
type Index = { root: Folder; files: readonly FileEntry[]; tags: readonly Tags[]; defines: Places; refers: Places }
/**
 * Files by the names that stand in them. `base` has pairs of a name and a file as one number each, in rising order, and
 * is shared with the indexes of other trees; `own` is what is otherwise in this one.
 */
type Places = { base: Float64Array; own: ReadonlyMap<number, readonly number[]> }
/** By which a name comes before the number of a file: larger than any of these. */
const PAIR = 2 ** 17
/** With more names of its own than this, an index is built again. */
const MAX_OWN_NAMES = 10_000

export class CodeMap implements Disposable {
  /** The one that was used last is the last one. */
  readonly #indexes = new Map<Oid, Promise<Index>>()
  /** The files of code that are in a folder itself. */
  readonly #code = new WeakMap<Folder, readonly FileEntry[]>()
  /** The one that was made last: the next one is mostly much like it. */
  #last: Index | undefined

  constructor(
    readonly objects: Objects,
    readonly store: TagStore,
  ) {}

  /** Reads what is not known yet of a tree: to be called early, and not to be waited for. */
  async warm(tree: Oid): Promise<void> {
    await this.#indexOf(tree)
  }

  /** The files near some others, which are not among them. Always the same for the same tree and files. */
  async near(tree: Oid, own: readonly Path[]): Promise<Near[]> {
    const index = await this.#indexOf(tree)
    const isOwn = new Set(own)
    const seeds = [...index.files.keys()].filter(at => isOwn.has(index.files[at]?.path ?? ''))
    if (seeds.length === 0) return []
    const { ranked, next } = rank(index, seeds)
    const wanted = new Set(seeds.flatMap(at => [...(index.tags[at]?.refers ?? [])]))
    const nextOnes = new Set(ranked.filter(at => next.has(at)).slice(0, MAX_NEIGHBOURS))
    const others = ranked.filter(at => !nextOnes.has(at)).slice(0, MAX_TOLD_FILES - nextOnes.size)
    const told = await Promise.all(
      [...nextOnes, ...others].map(async at => {
        const file = index.files[at] as FileEntry
        return { path: file.path, isNext: nextOnes.has(at), lines: await this.#linesOf(file, wanted) }
      }),
    )
    return told.filter(({ lines }) => lines.length > 0)
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]()
  }

  /** Where there are many, those that the work uses already. */
  async #linesOf(file: FileEntry, wanted: ReadonlySet<number>): Promise<string[]> {
    const signatures = await this.store.signaturesOf(file)
    const used = signatures.filter(({ name }) => wanted.has(name))
    const most = signatures.length > MAX_LINES_PER_FILE && used.length > 0 ? used : signatures
    return [...new Set(most.map(({ line }) => line))].slice(0, MAX_LINES_PER_FILE)
  }

  async #indexOf(treeish: Oid): Promise<Index> {
    const tree = (await this.objects.info(`${treeish}^{tree}`))?.oid
    if (!tree) throw new Error(`There is no tree ${treeish}`)
    const known = this.#indexes.get(tree)
    const index = known ?? this.#read(tree)
    this.#indexes.delete(tree)
    this.#indexes.set(tree, index)
    for (const old of [...this.#indexes.keys()].slice(0, -MAX_KEPT_INDEXES)) this.#indexes.delete(old)
    // Errors are not cached.
    index.catch(() => this.#indexes.delete(tree))
    return await index
  }

  /** Of a tree that is much like the last one, what differs is read. */
  async #read(tree: Oid): Promise<Index> {
    const before = this.#last
    const root = await readFolders(this.objects, tree, before?.root)
    const files = this.#codeIn(root).slice(0, MAX_CODE_FILES)
    const same = before && sameIn(before, files)
    const missing = files.filter((_, at) => same?.[at] === undefined)
    const made = (await this.store.of(missing)).values()
    const tags = files.map((_, at) => before?.tags[same?.[at] ?? -1] ?? made.next().value ?? NONE)
    const like = before && hasSamePaths(before.files, files) ? before : undefined
    const places = (kind: keyof Tags): Places =>
      (like && placesAfter(like[kind], like.tags, tags, kind)) ?? placesIn(tags, kind)
    const index = { root, files, tags, defines: places('defines'), refers: places('refers') }
    this.#last = index
    return index
  }

  /** In the order of the tree, the files of a folder before those of the folders in it. */
  #codeIn(folder: Folder): FileEntry[] {
    const own = this.#code.get(folder) ?? folder.files.filter(isOwnCode)
    this.#code.set(folder, own)
    return [...own, ...folder.folders.flatMap(inner => this.#codeIn(inner))]
  }
}

const isOwnCode = ({ mode, path }: FileEntry): boolean =>
  (mode === '100644' || mode === '100755') && isCode(path) && !FOREIGN.test(path)

/** Where files of the same name and content stand in an index. */
function sameIn({ files: known }: Index, files: readonly FileEntry[]): (number | undefined)[] {
  const isSame = (one: FileEntry | undefined, other: FileEntry): boolean =>
    one === other || (one?.path === other.path && one.oid === other.oid)
  if (hasSamePaths(known, files)) return files.map((file, at) => (isSame(known[at], file) ? at : undefined))
  const places = new Map(known.map(({ path }, at) => [path, at]))
  return files.map(file => {
    const at = places.get(file.path)
    return at !== undefined && isSame(known[at], file) ? at : undefined
  })
}

function placesIn(tags: readonly Tags[], kind: keyof Tags): Places {
  const base = new Float64Array(tags.reduce((sum, it) => sum + it[kind].length, 0))
  let count = 0
  for (const [at, { [kind]: names }] of tags.entries()) for (const name of names) base[count++] = name * PAIR + at
  return { base: base.sort(), own: new Map() }
}

/** The files in which a name stands, in rising order; where there are more than `most`, at least one more than that. */
function filesWith({ base, own }: Places, name: number, most = Number.POSITIVE_INFINITY): readonly number[] {
  const known = own.get(name)
  if (known) return known
  const files: number[] = []
  const end = (name + 1) * PAIR
  for (let at = firstFrom(base, name * PAIR); at < base.length && files.length <= most; at++) {
    const pair = base[at] ?? end
    if (pair >= end) break
    files.push(pair % PAIR)
  }
  return files
}

/** Where the first number stands that is not less than another. */
function firstFrom(sorted: Float64Array, least: number): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle] ?? 0) < least) from = middle + 1
    else to = middle
  }
  return from
}

const hasSamePaths = (one: readonly FileEntry[], other: readonly FileEntry[]): boolean =>
  one.length === other.length && one.every(({ path }, at) => path === other[at]?.path)

/** Places where only the contents of some files are others than they were; undefined where there are too many. */
function placesAfter(places: Places, before: readonly Tags[], after: readonly Tags[], kind: keyof Tags) {
  const { base } = places
  const own = new Map(places.own)
  for (const [at, tags] of after.entries()) {
    const [old, names] = [before[at]?.[kind], tags[kind]]
    if (!old || old === names) continue
    const had = new Set(old)
    const has = new Set(names)
    for (const name of [...old, ...names]) {
      if (had.has(name) && has.has(name)) continue
      const others = filesWith({ base, own }, name).filter(it => it !== at)
      own.set(name, has.has(name) ? [...others, at].sort((a, b) => a - b) : others)
    }
    if (own.size > MAX_OWN_NAMES) return undefined
  }
  return { base, own }
}

type Weights = Map<number, number>

/** All files that are reached from some, nearest first, and those that are one step away. */
function rank(index: Index, seeds: readonly number[]): { ranked: number[]; next: ReadonlySet<number> } {
  const users = usersOf(index, seeds)
  const isSeed = new Set(seeds)
  const next = new Set<number>()
  const scores: Weights = new Map()
  const waiting: Weights = new Map(seeds.map(at => [at, 1 / seeds.length]))
  const edges = new Map<number, Weights>()
  const edgesOf = (at: number): Weights => {
    const known = edges.get(at) ?? (isSeed.has(at) ? bothWays(used(index, at), users.get(at)) : used(index, at))
    edges.set(at, known)
    return known
  }
  // What waits is passed on, file by file, until what is left is too little to change the order.
  for (let visited = 0; visited < MAX_VISITED_FILES; ) {
    const batch = [...waiting].filter(([, weight]) => weight > MIN_SCORE)
    if (batch.length === 0) break
    for (const [at, weight] of batch) {
      if (++visited > MAX_VISITED_FILES) break
      waiting.delete(at)
      scores.set(at, (scores.get(at) ?? 0) + RESTART * weight)
      const to = edgesOf(at)
      let whole = 0
      for (const part of to.values()) whole += part
      for (const [other, part] of to) {
        if (isSeed.has(at) && !isSeed.has(other)) next.add(other)
        waiting.set(other, (waiting.get(other) ?? 0) + ((1 - RESTART) * weight * part) / whole)
      }
    }
  }
  for (const [at, weight] of waiting) scores.set(at, (scores.get(at) ?? 0) + RESTART * weight)
  const ranked = [...scores].filter(([at]) => !isSeed.has(at)).sort(([a, x], [b, y]) => y - x || a - b)
  return { ranked: ranked.map(([at]) => at), next }
}

/** The files that define what one refers to. */
function used(index: Index, from: number): Weights {
  const weights: Weights = new Map()
  for (const name of index.tags[from]?.refers ?? []) {
    const by = filesWith(index.defines, name, MAX_DEFINERS)
    // What it defines itself, it means itself.
    if (by.length > MAX_DEFINERS || by.includes(from)) continue
    const weight = (TELLING[name & 3] ?? 1) / by.length
    for (const at of by) weights.set(at, (weights.get(at) ?? 0) + weight)
  }
  return weights
}

/** For each of some files, those that refer to what it defines. */
function usersOf(index: Index, seeds: readonly number[]): Map<number, Weights> {
  const isSeed = new Set(seeds)
  const names = new Set(seeds.flatMap(seed => [...(index.tags[seed]?.defines ?? [])]))
  const users = new Map<number, Weights>(seeds.map(seed => [seed, new Map()]))
  for (const name of names) {
    const by = filesWith(index.defines, name, MAX_DEFINERS)
    if (by.length > MAX_DEFINERS) continue
    const weight = (TELLING[name & 3] ?? 1) / by.length
    for (const at of filesWith(index.refers, name)) {
      if (by.includes(at)) continue
      for (const seed of by) {
        const weights = isSeed.has(seed) ? users.get(seed) : undefined
        weights?.set(at, (weights.get(at) ?? 0) + weight)
      }
    }
  }
  return users
}

/** What goes outwards and what comes in, each with its share. */
function bothWays(out: Weights, users: Weights = new Map()): Weights {
  const sum = (weights: Weights): number => [...weights.values()].reduce((total, it) => total + it, 0)
  const both: Weights = new Map()
  for (const [weights, share] of [
    [out, OUTWARDS],
    [users, 1 - OUTWARDS],
  ] as const) {
    const whole = sum(weights)
    for (const [at, part] of weights) both.set(at, (both.get(at) ?? 0) + (share * part) / whole)
  }
  return both
}
