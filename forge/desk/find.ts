/** Finding a file by its name, and text in all files of a place. */
import fuzzysort from 'fuzzysort'
import { Failure } from '../../core/failure.ts'
import { asText, fields, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { GitError, MANY_BLOBS, run } from '../../core/git/run.ts'
import { emptyTree } from '../../core/git/trees.ts'
import { visible } from '../../core/text.ts'
import type { Match } from './messages.ts'

// --- By name
// ----------------------------------------------------------------------------------------------------------

export type FoundFile = { path: Path; ranges: [number, number][] }
/** A path, and its text as a person reads and types it. */
type Named = { path: Path; text: string }
type Names = { all: readonly Named[]; index: ReturnType<typeof fuzzysort.snapshot> }

/** Trees whose names are known: those between which somebody goes to and fro, and those of the last saves. */
const KEPT_TREES = 64
/** Names that are kept in all, at about a kilobyte each; those of the tree that was asked for last always are. */
const KEPT_NAMES = 100_000
/** Bytes of the names of all files; a hostile tree can stand for endlessly many, and the first of them will do. */
const MOST_NAMES = 64 << 20
/** So many of the best are put in order by their own names. */
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
      limit: MOST_NAMES,
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

// --- By text
// ----------------------------------------------------------------------------------------------------------

export type TextQuestion = { tree: Oid; words: string; isRegex: boolean; matchCase: boolean }
/** A question that was understood, and how git is to read it. */
export type TextSearch = TextQuestion & { dialect: '-F' | '-P' | '-E' }
export type TextOptions = {
  /** Ends the search: no more is found then. */
  signal: AbortSignal
  onFound: (matches: Match[]) => void
  /** The seconds after which what was found has to do. */
  seconds?: number
  /** At most so many lines. */
  most?: number
}

/** Seconds that an expression may take: one can be written that takes for ever. */
const PATIENCE = 30
const MOST_LINES = 10_000
/** Characters of a line that are shown: around the first hit, where it is longer. */
const LONGEST_LINE = 400
const MOST_RANGES = 100
/** Bytes of one line that are kept while it is read; what is longer is no text that anybody reads. */
const LONGEST_READ = 4 << 20

/**
 * Looks whether a question can be answered. An expression is tried on nothing, so that what is wrong with it is said at
 * once, as a {@link Failure}.
 */
export async function textSearch(repository: Repository, question: TextQuestion): Promise<TextSearch> {
  if (question.words === '') throw new Failure('There is nothing to look for yet.')
  if (/[\n\0]/.test(question.words)) throw new Failure('Text is found line by line: look for one line of it.')
  if (question.words.length > 10_000) throw new Failure('That is too long to be looked for.')
  if (!question.isRegex) return { ...question, dialect: '-F' }
  const attempt = async (dialect: '-P' | '-E') => {
    const nothing = emptyTree(repository.format)
    const words = [...wordsOf({ ...question, dialect }), nothing]
    return await run(repository, words, { ok: [0, 1, 128], env: languageOf(question) })
  }
  const answer = await attempt('-P')
  if (answer.code !== 128) return { ...question, dialect: '-P' }
  // A git that was built without Perl's expressions says so.
  const plain = /perl|pcre/i.test(answer.stderr) ? await attempt('-E') : answer
  if (plain.code !== 128) return { ...question, dialect: '-E' }
  const [, why = 'git does not say why'] = /^fatal: (?:.*', ?|.*': ?)?(.*)$/m.exec(plain.stderr) ?? []
  throw new Failure(`This is no expression: ${visible(why)}.`)
}

/**
 * Finds the lines in all text files of a tree that have some words in them, or that an expression fits, and hands them
 * over as git finds them. `isCut`: there may be more.
 */
export async function findText(
  repository: Repository,
  search: TextSearch,
  { signal, onFound, seconds = PATIENCE, most = MOST_LINES }: TextOptions,
): Promise<{ isCut: boolean }> {
  // Nobody who writes a file can know by which mark a hit will be known here.
  const colour = crypto.getRandomValues(new Uint8Array(3))
  const reader = new MatchReader(colour, search.tree)
  let count = 0
  let isCut = false
  const take = (piece: Buffer): 'enough' | undefined => {
    const matches = reader.take(piece).slice(0, most - count)
    count += matches.length
    if (matches.length > 0) onFound(matches)
    isCut = count >= most
    return isCut ? 'enough' : undefined
  }
  const where = { ...repository, signal: repository.signal ? AbortSignal.any([repository.signal, signal]) : signal }
  const args = [...MANY_BLOBS, ...colours(colour), ...wordsOf(search), search.tree]
  try {
    await run(where, args, {
      ok: [0, 1],
      env: languageOf(search),
      bounds: { seconds, memory: Number.POSITIVE_INFINITY, output: Number.POSITIVE_INFINITY },
      onOutput: take,
    })
    return { isCut }
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    if (error.ending.bound) return { isCut: true }
    if (/match limit|recursion|heap limit|stack|backtrack/i.test(error.stderr))
      throw new Failure('The expression takes too long on one of the lines: make it simpler.')
    throw error
  }
}

const wordsOf = ({ words, matchCase, dialect }: TextSearch): string[] => [
  'grep',
  ...['-z', '-n', '-I', '--no-column', '--full-name', '--no-recurse-submodules', '--no-textconv', '--no-ext-grep'],
  ...['--no-heading', '--no-break', '--no-function-context', '--color=always', dialect],
  ...(matchCase ? [] : ['--ignore-case']),
  ...['-e', words],
]

/** Letters beyond ASCII are only known as such in a language that has them, in which everything takes longer. */
const languageOf = ({ words, isRegex, matchCase }: TextQuestion): Record<string, string> =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the question is whether it is all ASCII
  /[^\x00-\x7f]/.test(words) && (isRegex || !matchCase) ? { LC_ALL: 'C.UTF-8' } : {}

function colours([red = 0, green = 0, blue = 0]: Uint8Array): string[] {
  const hex = [red, green, blue].map(value => value.toString(16).padStart(2, '0')).join('')
  const plain = ['filename', 'lineNumber', 'separator', 'column', 'selected', 'context', 'function']
  const settings = [`match=#${hex}`, ...plain.map(name => `${name}=normal`)]
  return settings.flatMap(setting => ['-c', `color.grep.${setting}`])
}

/** Reads `TREE:PATH NUL LINE NUL TEXT`, a line each, in which the hits are coloured. */
class MatchReader {
  #rest = ''
  readonly #start: string
  readonly #prefix: string

  constructor([red = 0, green = 0, blue = 0]: Uint8Array, tree: Oid) {
    this.#start = `\x1b[38;2;${red};${green};${blue}m`
    this.#prefix = `${tree}:`
  }

  take(piece: Buffer): Match[] {
    const text = this.#rest + piece.toString('latin1')
    const matches: Match[] = []
    let at = 0
    for (;;) {
      // A path may have line ends in it; what comes behind the second NUL has not.
      const path = text.indexOf('\0', at)
      const line = path < 0 ? -1 : text.indexOf('\0', path + 1)
      const end = line < 0 ? -1 : text.indexOf('\n', line + 1)
      if (end < 0) break
      const name = text.slice(at, path)
      const shown = this.#match(text.slice(line + 1, end))
      if (name.startsWith(this.#prefix))
        matches.push({ path: name.slice(this.#prefix.length), line: Number(text.slice(path + 1, line)), ...shown })
      at = end + 1
    }
    this.#rest = text.slice(at)
    // The head of an endless line is as good as all of it, once its end has come.
    if (this.#rest.length > LONGEST_READ) this.#rest = this.#rest.slice(0, LONGEST_READ)
    return matches
  }

  #match(coloured: string): Pick<Match, 'text' | 'ranges'> {
    const parts = coloured.replace(/\r$/, '').split(this.#start)
    let text = asText(parts[0] ?? '')
    const ranges: [number, number][] = []
    for (const part of parts.slice(1)) {
      const end = part.indexOf('\x1b[m')
      const hit = asText(end < 0 ? part : part.slice(0, end))
      if (hit !== '' && ranges.length < MOST_RANGES) ranges.push([text.length, text.length + hit.length])
      text += hit + (end < 0 ? '' : asText(part.slice(end + 3)))
    }
    return shorten(text, ranges)
  }
}

/** A long line around its first hit. */
function shorten(text: string, ranges: [number, number][]): Pick<Match, 'text' | 'ranges'> {
  if (text.length <= LONGEST_LINE) return { text: text.toWellFormed(), ranges }
  const from = Math.max(0, Math.min((ranges[0]?.[0] ?? 0) - 60, text.length - LONGEST_LINE))
  const to = from + LONGEST_LINE
  const [before, after] = [from > 0 ? '…' : '', to < text.length ? '…' : '']
  const shift = before.length - from
  const inside = ranges.filter(([start]) => start >= from && start < to)
  return {
    text: `${before}${text.slice(from, to)}${after}`.toWellFormed(),
    ranges: inside.map(([start, end]) => [start + shift, Math.min(end, to) + shift]),
  }
}
