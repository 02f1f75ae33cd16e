/**
 * Ranks the code around some files: a personalised PageRank over references to the files that define the names. Only
 * nearby files are visited, so that it takes milliseconds in a repository of any size once its files are indexed.
 */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { type FileEntry, treeOf } from '../../../core/git/trees.ts'
import { type Folder, readFolders } from '../../ai/folders.ts'
import { isCode } from '../../code/languages.ts'
import { CodeReader } from '../../code/reader.ts'
import { NONE, TagStore, type Tags } from './tags.ts'

/**
 * A file related to others. `isNext`: it uses one of them or is used by one. `lines`: its definitions in order; none in
 * many tests, which only use others.
 */
export type Near = { path: Path; isNext: boolean; lines: string[] }

/**
 * Opens the code map, which ranks files by how closely they are related to given ones. Dispose it: `using map =
 * openCodeMap(…)`. `folder`: where the cache is stored, outside any repository.
 */
export function openCodeMap(objects: Objects, { folder }: { folder: string }): CodeMap {
  const code = new CodeReader(objects, folder)
  return new CodeMap(objects, code, new TagStore(code, folder))
}

/** The share of its weight that a file keeps as its score; the rest is passed on to the files that it refers to. */
const RESTART = 0.15
/** A file whose weight is at most this passes nothing on to other files. */
const MIN_SCORE = 0.0005
/** At most this many files are visited to rank the files near a step. */
const MAX_VISITED_FILES = 2000
/** At most this many files are in the result of a search for related files. */
const MAX_TOLD_FILES = 120
const MAX_NEIGHBOURS = 40
/** A name that more files than this define is ignored. */
const MAX_DEFINERS = 12
/**
 * How much a name counts when files are ranked by the names that they use: by the two lowest bits of its number
 * (tags.ts).
 */
const TELLING = [0.1, 1, 4, 1]
/** The share of a file's weight that goes to the files it uses; the rest goes to its users. */
const OUTWARDS = 0.6
const MAX_LINES_PER_FILE = 40
/** At most this many code files are indexed, the first ones by path. */
const MAX_CODE_FILES = 80_000
const MAX_KEPT_INDEXES = 4
/** Generated or third-party files. */
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|third_party|dist|\.venv|venv)\/|\.min\.js$|[._-]pb2?\.|\.generated\./

/** The code files of a tree, and which of them define and refer to each name. */
type Index = { root: Folder; files: readonly FileEntry[]; tags: readonly Tags[]; defines: Places; refers: Places }
/**
 * The files for each name. `base`: sorted pairs of name and file, each pair as one number, shared with the indexes of
 * other trees; `own`: the differences of this tree.
 */
type Places = { base: Float64Array; own: ReadonlyMap<number, readonly number[]> }
/**
 * A pair of a name and a file is one number: the name's number times this, plus the file's, which is always smaller
 * than this.
 */
const PAIR = 2 ** 17
/** If more names than this differ from a similar tree's index, a tree's index is built from scratch. */
const MAX_OWN_NAMES = 10_000

export class CodeMap implements Disposable {
  /** Indexes by tree, with the last used one at the end. */
  readonly #indexes = new Map<Oid, Promise<Index>>()
  /** The code files directly in a folder. */
  readonly #code = new WeakMap<Folder, readonly FileEntry[]>()
  /** The index of the tree that was read last: the next tree's mostly differs little. */
  #last: Index | undefined
  /** The trees whose index a caller waits for. The others are read in the background. */
  readonly #awaited = new Set<Oid>()

  constructor(
    readonly objects: Objects,
    readonly code: CodeReader,
    readonly store: TagStore,
  ) {}

  /** Reads a tree ahead, in the background until {@link near} needs it. */
  async warm(tree: Oid): Promise<void> {
    await this.#indexOf(await treeOf(this.objects, tree))
  }

  /**
   * The files near those of `own` in the graph of references, without `own`. Always the same for the same tree and
   * files.
   */
  async near(tree: Oid, own: readonly Path[]): Promise<Near[]> {
    const index = await this.#indexNow(await treeOf(this.objects, tree))
    const isOwn = new Set(own)
    const seeds = [...index.files.keys()].filter(at => isOwn.has(index.files[at]?.path ?? ''))
    if (seeds.length === 0) return []
    const { ranked, next } = rank(index, seeds)
    const wanted = new Set(seeds.flatMap(at => [...(index.tags[at]?.refers ?? [])]))
    const nextOnes = new Set(ranked.filter(at => next.has(at)).slice(0, MAX_NEIGHBOURS))
    const others = ranked.filter(at => !nextOnes.has(at)).slice(0, MAX_TOLD_FILES - nextOnes.size)
    return await Promise.all(
      [...nextOnes, ...others].map(async at => {
        const file = index.files[at] as FileEntry
        return { path: file.path, isNext: nextOnes.has(at), lines: await this.#linesOf(file, wanted) }
      }),
    )
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]()
    this.code[Symbol.dispose]()
  }

  /** The definitions of a file; where there are many, those that the task's files use already. */
  async #linesOf(file: FileEntry, wanted: ReadonlySet<number>): Promise<string[]> {
    const signatures = await this.store.signaturesOf(file)
    const isUsed = signatures.map(({ name }) => wanted.has(name))
    const isLong = signatures.length > MAX_LINES_PER_FILE && isUsed.includes(true)
    const lines = signatures.map(({ line }) => line)
    return [...new Set(isLong ? withTheirClasses(lines, isUsed) : lines)].slice(0, MAX_LINES_PER_FILE)
  }

  /** As {@link #indexOf}, with all of the processor. */
  async #indexNow(tree: Oid): Promise<Index> {
    this.#awaited.add(tree)
    try {
      return await this.#indexOf(tree)
    } finally {
      this.#awaited.delete(tree)
    }
  }

  async #indexOf(tree: Oid): Promise<Index> {
    const known = this.#indexes.get(tree)
    const index = known ?? this.#read(tree)
    this.#indexes.delete(tree)
    this.#indexes.set(tree, index)
    for (const old of [...this.#indexes.keys()].slice(0, -MAX_KEPT_INDEXES)) this.#indexes.delete(old)
    // Errors are not cached.
    index.catch(() => this.#indexes.delete(tree))
    return await index
  }

  /** Indexes a tree; where it is similar to the last one, only the differences are read. */
  async #read(tree: Oid): Promise<Index> {
    const before = this.#last
    const root = await readFolders(this.objects, tree, before?.root)
    const files = this.#codeIn(root).slice(0, MAX_CODE_FILES)
    const same = before && sameIn(before, files)
    const missing = files.filter((_, at) => same?.[at] === undefined)
    const made = (await this.store.of(missing, { isBackground: () => !this.#awaited.has(tree) })).values()
    const tags = files.map((_, at) => before?.tags[same?.[at] ?? -1] ?? made.next().value ?? NONE)
    const like = before && hasSamePaths(before.files, files) ? before : undefined
    const places = (kind: keyof Tags): Places =>
      (like && placesAfter(like[kind], like.tags, tags, kind)) ?? placesIn(tags, kind)
    const index = { root, files, tags, defines: places('defines'), refers: places('refers') }
    this.#last = index
    return index
  }

  /** The code files in the tree's order, those of a folder before those of its subfolders. */
  #codeIn(folder: Folder): FileEntry[] {
    const own = this.#code.get(folder) ?? folder.files.filter(isOwnCode)
    this.#code.set(folder, own)
    return [...own, ...folder.folders.flatMap(inner => this.#codeIn(inner))]
  }
}

/** Those of the lines that are wanted, each after the less indented one above it: a method after its class. */
function withTheirClasses(lines: readonly string[], isWanted: readonly boolean[]): string[] {
  const indentOf = (line: string): number => line.length - line.trimStart().length
  const kept = new Set<number>()
  for (const [at, line] of lines.entries()) {
    if (!isWanted[at]) continue
    kept.add(at)
    let indent = indentOf(line)
    for (let above = at - 1; above >= 0 && indent > 0; above--) {
      if (indentOf(lines[above] ?? '') >= indent) continue
      kept.add(above)
      indent = indentOf(lines[above] ?? '')
    }
  }
  return lines.filter((_, at) => kept.has(at))
}

const isOwnCode = ({ mode, path }: FileEntry): boolean =>
  (mode === '100644' || mode === '100755') && isCode(path) && !FOREIGN.test(path)

/** For each file, its number in an index if it has the same path and content there. */
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

/**
 * The files in which a name occurs, sorted. With more than `most` of them, the list may end early, but is longer than
 * `most`.
 */
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

/** The index of the first number that is not less than `least`. */
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

/** The files for each name after the content of some files has changed; undefined where too many names differ. */
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

/**
 * `ranked`: all files that are reached from `seeds` by references, the nearest first. `next`: those among them one
 * reference away.
 */
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
  // Weight is passed on file by file, until what is left is too little to change the order.
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

/** The files that define the names which a file refers to. */
function used(index: Index, from: number): Weights {
  const weights: Weights = new Map()
  for (const name of index.tags[from]?.refers ?? []) {
    const by = filesWith(index.defines, name, MAX_DEFINERS)
    // A name that the file defines itself means its own definition.
    if (by.length > MAX_DEFINERS || by.includes(from)) continue
    const weight = (TELLING[name & 3] ?? 1) / by.length
    for (const at of by) weights.set(at, (weights.get(at) ?? 0) + weight)
  }
  return weights
}

/** For each of some files, the files that refer to its definitions. */
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

/** Adds the weights of used files and of users, scaled so that their sums are OUTWARDS and the rest of 1. */
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
