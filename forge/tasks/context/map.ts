/**
 * The code around some files, ranked from them outwards: a personalised PageRank over who refers to what whom defines.
 * Only what is near is looked at, so that it takes a moment in a repository of any size, once its files are known.
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
const TOO_LITTLE = 0.0005
/** So many files are looked at, and so many told of. */
const MOST_VISITED = 2000
const MOST_TOLD = 120
const MOST_NEXT = 40
/** A name that more files define says nothing. */
const MOST_DEFINERS = 12
/** How telling a name is, by its number's lowest bits. */
const TELLING = [0.1, 1, 4, 1]
/** Of a file that the work is about: what goes to those it uses, the rest to those who use it. */
const OUTWARDS = 0.6
const MOST_LINES = 40
/** Of a larger repository, the first so many files of code are known. */
const MOST_FILES = 80_000
const MOST_INDEXES = 4
/** Made by programs, or somebody else's. */
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|third_party|dist|\.venv|venv)\/|\.min\.js$|[._-]pb2?\.|\.generated\./

/**
 * A tree's files of code, and who defines which name: `base` is shared with indexes of other trees, and `own` is what is
 * otherwise in this one.
 */
type Index = { root: Folder; files: readonly FileEntry[]; tags: readonly Tags[]; base: Definers; own: Definers }
/** Files by the names that they define, in rising order. */
type Definers = ReadonlyMap<number, readonly number[]>
/** With more names of its own, an index is made anew. */
const MOST_OWN = 5000

const definersOf = ({ base, own }: Pick<Index, 'base' | 'own'>, name: number): readonly number[] | undefined =>
  own.get(name) ?? base.get(name)

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
    const nextOnes = new Set(ranked.filter(at => next.has(at)).slice(0, MOST_NEXT))
    const others = ranked.filter(at => !nextOnes.has(at)).slice(0, MOST_TOLD - nextOnes.size)
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
    const most = signatures.length > MOST_LINES && used.length > 0 ? used : signatures
    return [...new Set(most.map(({ line }) => line))].slice(0, MOST_LINES)
  }

  async #indexOf(treeish: Oid): Promise<Index> {
    const tree = (await this.objects.info(`${treeish}^{tree}`))?.oid
    if (!tree) throw new Error(`There is no tree ${treeish}`)
    const known = this.#indexes.get(tree)
    const index = known ?? this.#read(tree)
    this.#indexes.delete(tree)
    this.#indexes.set(tree, index)
    for (const old of [...this.#indexes.keys()].slice(0, -MOST_INDEXES)) this.#indexes.delete(old)
    // An error is nobody's answer the next time.
    index.catch(() => this.#indexes.delete(tree))
    return await index
  }

  /** Of a tree that is much like the last one, what differs is read. */
  async #read(tree: Oid): Promise<Index> {
    const before = this.#last
    const root = await readFolders(this.objects, tree, before?.root)
    const files = this.#codeIn(root).slice(0, MOST_FILES)
    const places = before && placesOf(before, files)
    const missing = files.filter((_, at) => places?.[at] === undefined)
    const made = (await this.store.of(missing)).values()
    const tags = files.map((_, at) => before?.tags[places?.[at] ?? -1] ?? made.next().value ?? NONE)
    const index = { root, files, tags, ...((before && changed(before, files, tags)) ?? definersIn(tags)) }
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
function placesOf({ files: known }: Index, files: readonly FileEntry[]): (number | undefined)[] {
  const isSame = (one: FileEntry | undefined, other: FileEntry): boolean =>
    one === other || (one?.path === other.path && one.oid === other.oid)
  if (files.length === known.length && files.every(({ path }, at) => known[at]?.path === path))
    return files.map((file, at) => (isSame(known[at], file) ? at : undefined))
  const places = new Map(known.map(({ path }, at) => [path, at]))
  return files.map(file => {
    const at = places.get(file.path)
    return at !== undefined && isSame(known[at], file) ? at : undefined
  })
}

function definersIn(tags: readonly Tags[]): Pick<Index, 'base' | 'own'> {
  const base = new Map<number, number[]>()
  for (const [at, { defines }] of tags.entries()) {
    for (const name of defines) {
      const known = base.get(name)
      if (known) known.push(at)
      else base.set(name, [at])
    }
  }
  return { base, own: new Map() }
}

/** What is defined where only the contents of some files are others than in an index; undefined where it is made anew. */
function changed(
  before: Index,
  files: readonly FileEntry[],
  tags: readonly Tags[],
): Pick<Index, 'base' | 'own'> | undefined {
  if (files.length !== before.files.length) return undefined
  if (files.some(({ path }, at) => path !== before.files[at]?.path)) return undefined
  const { base } = before
  const own = new Map(before.own)
  for (const [at, { defines }] of tags.entries()) {
    const old = before.tags[at]?.defines
    if (!old || old === defines) continue
    for (const name of new Set([...old, ...defines])) {
      const others = (definersOf({ base, own }, name) ?? []).filter(it => it !== at)
      own.set(name, defines.includes(name) ? [...others, at].sort((a, b) => a - b) : others)
    }
    if (own.size > MOST_OWN) return undefined
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
  for (let visited = 0; visited < MOST_VISITED; ) {
    const batch = [...waiting].filter(([, weight]) => weight > TOO_LITTLE)
    if (batch.length === 0) break
    for (const [at, weight] of batch) {
      if (++visited > MOST_VISITED) break
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
    const by = definersOf(index, name)
    // What it defines itself, it means itself.
    if (!by || by.length > MOST_DEFINERS || by.includes(from)) continue
    const weight = (TELLING[name & 3] ?? 1) / by.length
    for (const at of by) weights.set(at, (weights.get(at) ?? 0) + weight)
  }
  return weights
}

/** For each of some files, those that refer to what it defines. */
function usersOf(index: Index, seeds: readonly number[]): Map<number, Weights> {
  const owners = new Map<number, readonly number[]>()
  const isSeed = new Set(seeds)
  for (const seed of seeds) {
    for (const name of index.tags[seed]?.defines ?? []) {
      const by = definersOf(index, name) ?? []
      if (by.length <= MOST_DEFINERS) owners.set(name, by)
    }
  }
  const users = new Map<number, Weights>(seeds.map(seed => [seed, new Map()]))
  if (owners.size === 0) return users
  for (const [at, { refers }] of index.tags.entries()) {
    // All names of all files: an iterator would take four times as long.
    for (let place = 0; place < refers.length; place++) {
      const name = refers[place] ?? 0
      const by = owners.get(name)
      if (!by || by.includes(at)) continue
      for (const seed of by) {
        const weights = isSeed.has(seed) ? users.get(seed) : undefined
        weights?.set(at, (weights.get(at) ?? 0) + (TELLING[name & 3] ?? 1) / by.length)
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
