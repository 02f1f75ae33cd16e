/** Finding a file by its name. */
import fuzzysort from 'fuzzysort'
import { asText, fields, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'

export type FoundFile = { path: Path; ranges: [number, number][] }
/** A path, and its text as a person reads and types it. */
type Named = { path: Path; text: string }
type Names = { all: readonly Named[]; index: ReturnType<typeof fuzzysort.snapshot> }

/** How many trees are cached with their names: those of the open branches and of the last saves. */
const KEPT_TREES = 64
/** Names that are kept in all, at about a kilobyte each; those of the tree that was asked for last always are. */
const KEPT_NAMES = 100_000
/** Bytes of the names of all files; a hostile tree can have any number of them, and only the first are searched. */
const MAX_NAMES_BYTES = 64 << 20
/** How many of the best matches are sorted by name. */
const LOOKED_AT = 500
/** What a hit in the file's own name is worth beside one somewhere in its folders. */
const OWN_NAME = 0.3

/** Finds files by a few letters of their names. The names of a tree are read once. */
export class FileFinder {
  /** Those of several trees, the one that was asked for last at the end. */
  readonly #trees = new Map<Oid, Names>()
  readonly #reading = new Map<Oid, Promise<Names>>()

  constructor(readonly repository: Repository) {}

  /** The best first. `ranges` are of the bytes that the words were found in; without words, the first files. */
  async find(tree: Oid, words: string, count: number): Promise<FoundFile[]> {
    const { all, index } = await this.#namesOf(tree)
    const wanted = words.trim()
    if (wanted === '') return all.slice(0, count).map(({ path }) => ({ path, ranges: [] }))
    const results = fuzzysort.go(wanted, index as never, { limit: Math.max(LOOKED_AT, count), threshold: 0.2 })
    const found = results as unknown as readonly { obj: Named; score: number; indexes: readonly number[] }[]
    return found
      .map(result => ({ result, rank: result.score + ownNameScore(wanted, result.obj.text) }))
      .sort((a, b) => b.rank - a.rank || (a.result.obj.path < b.result.obj.path ? -1 : 1))
      .slice(0, count)
      .map(({ result: { obj, indexes } }) => ({ path: obj.path, ranges: rangesOf(obj, indexes) }))
  }

  async #namesOf(tree: Oid): Promise<Names> {
    const names = this.#trees.get(tree) ?? (await this.#readOnce(tree))
    this.#trees.delete(tree)
    this.#trees.set(tree, names)
    this.#forgetTheOldest()
    return names
  }

  async #readOnce(tree: Oid): Promise<Names> {
    const reading = this.#reading.get(tree) ?? this.#read(tree)
    this.#reading.set(tree, reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(tree)
    }
  }

  /** Most trees differ from one before in what is in the files alone: then the names are shared. */
  async #read(tree: Oid): Promise<Names> {
    const { stdout } = await run(this.repository, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', tree], {
      limit: MAX_NAMES_BYTES,
    })
    const paths = fields(stdout)
    return [...this.#trees.values()].find(({ all }) => isSame(all, paths)) ?? namesFrom(paths)
  }

  #forgetTheOldest(): void {
    for (const tree of [...this.#trees.keys()].slice(0, -KEPT_TREES)) this.#trees.delete(tree)
    const kept = new Set<Names>()
    let count = 0
    for (const [tree, names] of [...this.#trees].reverse()) {
      if (!kept.has(names)) count += names.all.length
      kept.add(names)
      const isLast = kept.size === 1
      if (!isLast && count > KEPT_NAMES) this.#trees.delete(tree)
    }
  }
}

const isSame = (all: readonly Named[], paths: readonly Path[]): boolean =>
  all.length === paths.length && all.every(({ path }, at) => path === paths[at])

function namesFrom(paths: readonly Path[]): Names {
  const all = paths.map(path => ({ path, text: readable(path) }))
  return { all, index: fuzzysort.snapshot(all, { key: 'text' }) as never }
}

/** A name as text where it is UTF-8, else one character per byte. */
function readable(path: Path): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: most names have nothing but ASCII
  if (/^[\x00-\x7f]*$/.test(path)) return path
  const text = asText(path)
  return Buffer.from(text).toString('latin1') === path ? text : path
}

function ownNameScore(words: string, text: string): number {
  const name = text.slice(text.lastIndexOf('/') + 1)
  return (fuzzysort.single(words, name)?.score ?? 0) * OWN_NAME
}

/** Characters that were found as ranges of the path's bytes, neighbours together. */
function rangesOf({ path, text }: Named, indexes: readonly number[]): [number, number][] {
  const isBytes = path === text
  const place = (at: number) => (isBytes ? at : Buffer.byteLength(text.slice(0, at)))
  const ranges: [number, number][] = []
  for (const at of [...new Set(indexes)].sort((a, b) => a - b)) {
    const [from, to] = [place(at), place(at + 1)]
    const last = ranges.at(-1)
    if (last && last[1] === from) last[1] = to
    else ranges.push([from, to])
  }
  return ranges
}
