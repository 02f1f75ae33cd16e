/** Finds files by name. */
import fuzzysort from 'fuzzysort'
import { asText, fields, type Oid, type Path, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'

export type FoundFile = { path: Path; ranges: [number, number][] }
/** A path, and its text as shown and typed. */
type Named = { path: Path; text: string }
type Names = { all: readonly Named[]; index: ReturnType<typeof fuzzysort.snapshot> }

/** At most this many trees have their names cached: those of open branches and of the last saves. */
const MAX_KEPT_TREES = 64
/** At most this many names are cached in all, at about a kilobyte each; those of the last tree always are. */
const MAX_KEPT_NAMES = 100_000
/** At most this many bytes of names are read; in a tree with more, only the first are searched. */
const MAX_NAMES_BYTES = 64 << 20
/** At most this many of the best matches are ranked again, by file name and path (more only if more are requested). */
const MAX_SORTED_MATCHES = 500
/** The additional score of a match in the file's own name, compared with one in its folders. */
const OWN_NAME_SCORE = 0.3
/** The additional score of a file whose name was typed in full, in any case: more than any other match has. */
const FULL_NAME_SCORE = 2
/** The additional score of a file whose name was typed in full in its own case: before its twins in other cases. */
const EXACT_NAME_SCORE = 4

/** Finds files by a few letters of their paths. The paths of a tree are read once. */
export class FileFinder {
  /** The names by tree, the one used last at the end. */
  readonly #trees = new Map<Oid, Names>()
  readonly #reading = new Map<Oid, Promise<Names>>()

  constructor(readonly repository: Repository) {}

  /**
   * Finds files by words in their paths, best matches first. `ranges`: the matched bytes of a path. Without words,
   * gives the first files of the tree.
   */
  async find(tree: Oid, words: string, count: number): Promise<FoundFile[]> {
    const { all, index } = await this.#namesOf(tree)
    const wanted = words.trim()
    if (wanted === '') return all.slice(0, count).map(({ path }) => ({ path, ranges: [] }))
    const results = fuzzysort.go(wanted, index as never, { limit: Math.max(MAX_SORTED_MATCHES, count), threshold: 0.2 })
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

  /** Reads the names in a tree. Most trees contain the same paths as an earlier one: the names are then shared. */
  async #read(tree: Oid): Promise<Names> {
    const { stdout } = await run(this.repository, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', tree], {
      limit: MAX_NAMES_BYTES,
    })
    const paths = fields(stdout)
    return [...this.#trees.values()].find(({ all }) => isSame(all, paths)) ?? namesFrom(paths)
  }

  #forgetTheOldest(): void {
    for (const tree of [...this.#trees.keys()].slice(0, -MAX_KEPT_TREES)) this.#trees.delete(tree)
    const kept = new Set<Names>()
    let count = 0
    for (const [tree, names] of [...this.#trees].reverse()) {
      if (!kept.has(names)) count += names.all.length
      kept.add(names)
      const isLast = kept.size === 1
      if (!isLast && count > MAX_KEPT_NAMES) this.#trees.delete(tree)
    }
  }
}

const isSame = (all: readonly Named[], paths: readonly Path[]): boolean =>
  all.length === paths.length && all.every(({ path }, at) => path === paths[at])

function namesFrom(paths: readonly Path[]): Names {
  const all = paths.map(path => ({ path, text: readable(path) }))
  return { all, index: fuzzysort.snapshot(all, { key: 'text' }) as never }
}

/** A name as text if it is UTF-8, else one character per byte. */
function readable(path: Path): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: most names have nothing but ASCII
  if (/^[\x00-\x7f]*$/.test(path)) return path
  const text = asText(path)
  return Buffer.from(text).toString('latin1') === path ? text : path
}

function ownNameScore(words: string, text: string): number {
  if (isFullName(words, text)) return EXACT_NAME_SCORE
  if (isFullName(words.toLowerCase(), text.toLowerCase())) return FULL_NAME_SCORE
  const name = text.slice(text.lastIndexOf('/') + 1)
  return (fuzzysort.single(words, name)?.score ?? 0) * OWN_NAME_SCORE
}

/** Whether the words are the file's name, with or without its extension, and with as many folders as were typed. */
function isFullName(words: string, path: string): boolean {
  const withoutExtension = path.replace(/(?<=[^/])\.[^./]*$/, '')
  return [path, withoutExtension].some(name => `/${name}`.endsWith(`/${words}`))
}

/** Converts matched characters to ranges of the path's bytes, joining neighbours. */
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
