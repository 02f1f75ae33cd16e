/** Searches text in all files of a tree: lines with given words, or matching a regular expression. */
import { isUtf8 } from 'node:buffer'
import { availableParallelism } from 'node:os'
import { Failure } from '../failure.ts'
import { visible } from '../text.ts'
import { ignoringCase } from './environment.ts'
import { asText, type Oid, type Path, type Repository } from './repository.ts'
import { GitError, MANY_BLOBS, run } from './run.ts'
import { inSingleBytes, isAscii, quoted } from './single-bytes.ts'
import { emptyTree } from './trees.ts'

/**
 * A matching line, counted from 1, and the ranges of its matches (none for matches of no character, as of `^$`). A long
 * line is cut around its first match: `isCut`.
 */
export type GrepMatch = { path: Path; line: number; text: string; ranges: [number, number][]; isCut?: true }

/** `matchWord`: only matches that begin and end at the edge of a word. */
type TextQuestion = { tree: Oid; words: string; isRegex: boolean; matchCase: boolean; matchWord?: boolean }
/** A valid search, and the option of git grep that reads it: plain words, Perl or extended regular expressions. */
export type GrepQuestion = TextQuestion & { dialect: '-F' | '-P' | '-E' }
type TextOptions = {
  /** Ends the search; nothing more is found. */
  signal: AbortSignal
  onFound: (matches: GrepMatch[]) => void
  /** The search ends after this many seconds. */
  seconds?: number
  /** The search ends after this many lines. */
  most?: number
  /** Searches only these files and folders. */
  only?: readonly Path[]
  /** Skips these files and folders. */
  besides?: readonly Path[]
  /** Searches only the files that these pathspecs select: see path-filters.ts. */
  pathspecs?: readonly string[]
  /** Longer lines are cut to this many characters. */
  maxLineChars?: number
}

/** Seconds after which a search is ended: some expressions take exponential time. */
const SEARCH_SECONDS = 30
const MAX_MATCHES = 10_000
/** A longer line is cut to this many characters, around its first match. */
const MAX_SHOWN_CHARS = 400
const MAX_RANGES_PER_LINE = 100
/**
 * Milliseconds for which matches are collected before they are passed on, after the first ones: git prints the matches
 * of each file separately, and handling thousands of small pieces would slow the search.
 */
const GATHERING_MS = 50
/**
 * Threads of the search. They block each other while reading, so one thread per processor leaves processors idle: on
 * two processors, eight threads take three quarters of the time of two threads.
 */
const THREADS = Math.max(8, availableParallelism())
/** At most this many bytes of a line are kept while it is read. Longer lines are not shown. */
const MAX_LINE_BYTES = 4 << 20

/**
 * Validates a search. An expression is tried on an empty tree, so that a syntax error is reported at once, as a {@link
 * Failure}.
 */
export async function textSearch(repository: Repository, question: TextQuestion): Promise<GrepQuestion> {
  if (question.words === '') throw new Failure('Type a text to search for.')
  if (/[\n\0]/.test(question.words)) throw new Failure('Text is found line by line: look for one line of it.')
  if (question.words.length > 10_000) throw new Failure('The search text is too long: use at most 10,000 characters.')
  if (!question.isRegex) return { ...question, dialect: '-F' }
  const attempt = async (dialect: '-P' | '-E') => {
    const nothing = emptyTree(repository.format)
    const words = [...wordsOf({ ...question, dialect }), nothing]
    return await run(repository, words, { ok: [0, 1, 128], env: languageOf(question) })
  }
  const answer = await attempt('-P')
  if (answer.code !== 128) return { ...question, dialect: '-P' }
  // Git was built without Perl's regular expressions.
  const plain = lacksPerl(answer.stderr) ? await attempt('-E') : answer
  if (plain.code !== 128) return { ...question, dialect: '-E' }
  const [, why = 'git does not say why'] = /^fatal: (?:.*', ?|.*': ?)?(.*)$/m.exec(plain.stderr) ?? []
  throw new Failure(`This is no expression: ${visible(why)}.`)
}

/**
 * How a search has ended. `isCut`: there may be more matches. `isOfUtf8Alone`: letters beyond ASCII were not looked for
 * in files in other encodings, since this git was built without Perl's regular expressions.
 */
export type GrepEnd = { isCut: boolean; isOfUtf8Alone?: true }

/** Finds matching lines in all text files of a tree, and passes them on as git finds them. */
export async function findText(repository: Repository, search: GrepQuestion, options: TextOptions): Promise<GrepEnd> {
  const { signal, onFound, seconds = SEARCH_SECONDS, most = MAX_MATCHES } = options
  const { only = [], besides = [], pathspecs = [], maxLineChars = MAX_SHOWN_CHARS } = options
  // Matches are marked by a random colour, so that no content of a file can look like a mark.
  const colour = crypto.getRandomValues(new Uint8Array(3))
  let count = 0
  let isCut = false
  const gathering = new Gathering(onFound)
  const taking = (reader: MatchReader) => (piece: Buffer) => {
    const matches = reader.take(piece).slice(0, most - count)
    count += matches.length
    gathering.add(matches)
    isCut = count >= most
    return isCut ? 'enough' : undefined
  }
  const where = { ...repository, signal: repository.signal ? AbortSignal.any([repository.signal, signal]) : signal }
  const paths = [...only.map(path => pathspec(path)), ...besides.map(path => pathspec(path, 'exclude')), ...pathspecs]
  const end = performance.now() + seconds * 1000
  try {
    for (const pass of passesOf(search)) {
      const words = [...wordsOf(pass), `--threads=${THREADS}`, search.tree, '--', ...paths]
      const left = Math.max(1, (end - performance.now()) / 1000)
      await run(where, [...MANY_BLOBS, ...colours(colour), ...words], {
        ok: [0, 1],
        env: languageOf(pass),
        bounds: { seconds: left, memory: Number.POSITIVE_INFINITY, output: Number.POSITIVE_INFINITY },
        onOutput: taking(new MatchReader(colour, pass, maxLineChars)),
      })
      if (isCut) break
    }
    return search.dialect === '-E' && !isAscii(search.words) ? { isCut, isOfUtf8Alone: true } : { isCut }
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    if (error.ending.bound) return { isCut: true }
    if (search.dialect === '-F' && lacksPerl(error.stderr)) return { isCut, isOfUtf8Alone: true }
    if (/match limit|recursion|heap limit|stack|backtrack/i.test(error.stderr))
      throw new Failure('The expression takes too long on one of the lines: make it simpler.')
    throw error
  } finally {
    gathering.end(signal.aborted)
  }
}

/**
 * As {@link findText}, for an expression of this program's own, which is not validated first. It has to mean the same
 * as a Perl and as an extended regular expression.
 */
export async function findExpression(
  repository: Repository,
  question: Pick<TextQuestion, 'tree' | 'words' | 'matchCase'>,
  options: TextOptions,
): Promise<GrepEnd> {
  const search = { ...question, isRegex: true }
  try {
    return await findText(repository, { ...search, dialect: '-P' }, options)
  } catch (error) {
    if (!(error instanceof GitError && lacksPerl(error.stderr))) throw error
    return await findText(repository, { ...search, dialect: '-E' }, options)
  }
}

const lacksPerl = (stderr: string): boolean => /perl|pcre/i.test(stderr)

/** A search by git. `of`: only matches in lines in this encoding count; undefined: those in all lines. */
type Pass = GrepQuestion & { of?: 'UTF-8' | 'other encodings' }

/**
 * The searches by git that answer a question. Letters beyond ASCII are other bytes in a file that is not UTF-8: such
 * lines are searched for the bytes of Windows-1252, which has those of Latin-1. These are written as escapes, as an
 * argument can't have them; that takes Perl's regular expressions.
 */
function passesOf(search: GrepQuestion): Pass[] {
  if (search.dialect === '-E') return [search]
  const escaped = inSingleBytes(search.isRegex ? search.words : quoted(search.words), search)
  if (escaped === undefined) return [search]
  return [
    { ...search, of: 'UTF-8' },
    { ...search, words: escaped, isRegex: true, dialect: '-P', of: 'other encodings' },
  ]
}

/** Passes matches on: the first ones at once, later ones in batches. */
class Gathering {
  #matches: GrepMatch[] = []
  #handed = Number.NEGATIVE_INFINITY
  #clock: ReturnType<typeof setTimeout> | undefined

  constructor(readonly onFound: (matches: GrepMatch[]) => void) {}

  add(matches: readonly GrepMatch[]): void {
    if (matches.length === 0) return
    this.#matches.push(...matches)
    const rest = this.#handed + GATHERING_MS - performance.now()
    if (rest <= 0) this.#hand()
    else this.#clock ??= setTimeout(() => this.#hand(), rest)
  }

  /** Ends the search. Passes on the matches found last, unless the caller wants no more (`isUnwanted`). */
  end(isUnwanted: boolean): void {
    clearTimeout(this.#clock)
    if (!isUnwanted) this.#hand()
  }

  #hand(): void {
    clearTimeout(this.#clock)
    this.#clock = undefined
    this.#handed = performance.now()
    const matches = this.#matches
    this.#matches = []
    if (matches.length > 0) this.onFound(matches)
  }
}

/**
 * A path as a pathspec for git's arguments. A byte that is not UTF-8 can't be in an argument: `?` matches any byte
 * there.
 */
function pathspec(path: Path, ...magic: 'exclude'[]): string {
  const text = asText(path)
  const isText = Buffer.from(text).toString('latin1') === path
  const words = ['top', isText ? 'literal' : 'glob', ...magic].join(',')
  return `:(${words})${isText ? text : path.replace(/[*?[\]\\]/g, '\\$&').replace(/[^\x20-\x7e]/g, '?')}`
}

/** The carriage return of a line that ends in CRLF is no part of it: `$` is before it, and `.` is not it. */
const LINE_ENDS = '(*ANYCRLF)'

const wordsOf = ({ words, matchCase, matchWord, dialect }: GrepQuestion): string[] => [
  'grep',
  ...['-z', '-n', '-I', '--no-column', '--full-name', '--no-recurse-submodules', '--no-textconv', '--no-ext-grep'],
  ...['--no-heading', '--no-break', '--no-function-context', '--color=always', dialect],
  ...(matchCase ? [] : ['--ignore-case']),
  ...(matchWord ? ['--word-regexp'] : []),
  ...['-e', dialect === '-P' ? `${LINE_ENDS}${words}` : words],
]

const languageOf = ({ words, isRegex, matchCase, of }: TextQuestion & Pick<Pass, 'of'>): Record<string, string> => {
  if (of === 'other encodings') return { LC_ALL: 'C' }
  return !isRegex && matchCase ? {} : ignoringCase(words)
}

function colours([red = 0, green = 0, blue = 0]: Uint8Array): string[] {
  const hex = [red, green, blue].map(value => value.toString(16).padStart(2, '0')).join('')
  const plain = ['filename', 'lineNumber', 'separator', 'column', 'selected', 'context', 'function']
  const settings = [`match=#${hex}`, ...plain.map(name => `${name}=normal`)]
  return settings.flatMap(setting => ['-c', `color.grep.${setting}`])
}

/** What git writes after a coloured match. */
const END_OF_MATCH = '\x1b[m'

/** Parses lines of `TREE:PATH NUL LINE NUL TEXT` in which the matches are coloured. */
class MatchReader {
  #rest = ''
  readonly #start: string
  readonly #prefix: string
  readonly #matchesNothing: (text: string) => boolean

  constructor(
    [red = 0, green = 0, blue = 0]: Uint8Array,
    readonly pass: Pass,
    readonly maxLineChars: number,
  ) {
    this.#start = `\x1b[38;2;${red};${green};${blue}m`
    this.#prefix = `${pass.tree}:`
    this.#matchesNothing = nothingMatcher(pass)
  }

  take(piece: Buffer): GrepMatch[] {
    const text = this.#rest + piece.toString('latin1')
    const matches: GrepMatch[] = []
    let at = 0
    for (;;) {
      // A path may contain line ends; the text after the second NUL can't.
      const path = text.indexOf('\0', at)
      const line = path < 0 ? -1 : text.indexOf('\0', path + 1)
      const end = line < 0 ? -1 : text.indexOf('\n', line + 1)
      if (end < 0) break
      const name = text.slice(at, path)
      const shown = this.#match(text.slice(line + 1, end))
      if (shown && name.startsWith(this.#prefix))
        matches.push({ path: name.slice(this.#prefix.length), line: Number(text.slice(path + 1, line)), ...shown })
      at = end + 1
    }
    this.#rest = text.slice(at)
    // Only the beginning of a very long line is kept until its end is read.
    if (this.#rest.length > MAX_LINE_BYTES) this.#rest = this.#rest.slice(0, MAX_LINE_BYTES)
    return matches
  }

  /** Reads a line; undefined where it is no match. */
  #match(coloured: string): Omit<GrepMatch, 'path' | 'line'> | undefined {
    const isText = isUtf8(Buffer.from(coloured, 'latin1'))
    if (this.pass.of && isText !== (this.pass.of === 'UTF-8')) return undefined
    const parts = withoutReturn(coloured).split(this.#start)
    // A line that is not UTF-8 is shown as the file is: by a guess.
    const decode = isText ? asText : asGuessed
    let text = decode(parts[0] ?? '')
    const ranges: [number, number][] = []
    for (const part of parts.slice(1)) {
      const end = part.indexOf(END_OF_MATCH)
      const hit = decode(end < 0 ? part : part.slice(0, end))
      if (hit !== '' && ranges.length < MAX_RANGES_PER_LINE) ranges.push([text.length, text.length + hit.length])
      text += hit + (end < 0 ? '' : decode(part.slice(end + END_OF_MATCH.length)))
    }
    // Of the match, as of `\s+$`, nothing is left without the line's carriage return.
    if (parts.length > 1 && ranges.length === 0 && !this.#matchesNothing(text)) return undefined
    return shorten(text, ranges, this.maxLineChars)
  }
}

/** A line without the carriage return at its end, which may be in a match: the mark of the match's end stays. */
function withoutReturn(coloured: string): string {
  if (coloured.endsWith(`\r${END_OF_MATCH}`)) return coloured.slice(0, -END_OF_MATCH.length - 1) + END_OF_MATCH
  return coloured.endsWith('\r') ? coloured.slice(0, -1) : coloured
}

/** Makes the function that tells whether an expression matches no character somewhere in a line, as `x*$` does. */
function nothingMatcher({ words, isRegex, matchCase }: TextQuestion): (text: string) => boolean {
  if (!isRegex) return () => false
  try {
    const expression = new RegExp(words, `u${matchCase ? '' : 'i'}`)
    return text => expression.exec(text)?.[0] === ''
  } catch {
    return () => false
  }
}

/** Bytes of a single-byte encoding, one character per byte, as text. */
const asGuessed = (bytes: string): string => new TextDecoder('windows-1252').decode(Buffer.from(bytes, 'latin1'))

/** Cuts a long line around its first match. */
function shorten(text: string, ranges: [number, number][], maxChars: number): Omit<GrepMatch, 'path' | 'line'> {
  if (text.length <= maxChars) return { text: text.toWellFormed(), ranges }
  const from = Math.max(0, Math.min((ranges[0]?.[0] ?? 0) - 60, text.length - maxChars))
  const to = from + maxChars
  const [before, after] = [from > 0 ? '…' : '', to < text.length ? '…' : '']
  const shift = before.length - from
  const inside = ranges.filter(([start]) => start >= from && start < to)
  return {
    text: `${before}${text.slice(from, to)}${after}`.toWellFormed(),
    ranges: inside.map(([start, end]) => [start + shift, Math.min(end, to) + shift]),
    isCut: true,
  }
}
