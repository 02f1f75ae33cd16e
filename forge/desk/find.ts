/** Finding a file by its name. */
import fuzzysort from 'fuzzysort'
import { asText, fields, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { run } from '../../core/git/run.ts'

export type FoundFile = { path: Path; ranges: [number, number][] }
/** A path, and its text as a person reads and types it. */
type Named = { path: Path; text: string }
type Names = { all: readonly Named[]; index: ReturnType<typeof fuzzysort.snapshot> }

/** What is kept of lists of names: those of the branches between which somebody goes to and fro. */
const KEPT_TREES = 8
/** Bytes of the names of all files; a hostile tree can stand for endlessly many, and the first of them will do. */
const MOST_NAMES = 64 << 20
/** So many of the best are put in order by their own names. */
const LOOKED_AT = 500
/** What a hit in the file's own name is worth beside one somewhere in its folders. */
const OWN_NAME = 0.3

/** Finds files by a few letters of their names. The names of a tree are read once. */
export class FileFinder {
  readonly #trees = new Map<Oid, Promise<Names>>()

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
    const known = this.#trees.get(tree)
    if (known) {
      // The one that was asked for last is the last to go.
      this.#trees.delete(tree)
      this.#trees.set(tree, known)
      return await known
    }
    const names = readNames(this.repository, tree)
    names.catch(() => this.#trees.delete(tree))
    this.#trees.set(tree, names)
    const [oldest] = this.#trees.keys()
    if (this.#trees.size > KEPT_TREES && oldest !== undefined) this.#trees.delete(oldest)
    return await names
  }
}

async function readNames(repository: Repository, tree: Oid): Promise<Names> {
  const { stdout } = await run(repository, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', tree], {
    limit: MOST_NAMES,
  })
  const all = fields(stdout).map(path => ({ path, text: readable(path) }))
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
