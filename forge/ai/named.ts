/**
 * Finds the files that the user's message is about: where its names are defined, and files named by its words, so that
 * the model's first call can read the right ones.
 */
import { findExpression } from '../../core/git/grep.ts'
import type { Objects } from '../../core/git/objects.ts'
import { fields, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { GitError, run } from '../../core/git/run.ts'
import type { CodeFacts } from '../code/facts.ts'
import { CODE_ENDINGS } from '../code/languages.ts'
import type { CodeReader } from '../code/reader.ts'
import { isTest } from './languages.ts'

/** A line, from 1, that defines a name. */
export interface Definition {
  name: string
  path: Path
  line: number
}

const MAX_NAMES = 40
const MAX_DEFINITIONS = 20
/** A name defined in more places than this is ignored, as it points to none of them. */
const MAX_PLACES_PER_NAME = 4
const SEARCH_TIMEOUT_S = 3
/** Only this many characters of a text are read. */
const MAX_TEXT_CHARS = 20_000
/** At most this many lines with the names are read. */
const MAX_LINES = 20_000
/** Longer lines are cut to this many characters. */
const MAX_LINE_CHARS = 200
/** At most this many files with the names are parsed. Names in few files come first; one in too many is ignored. */
const MAX_FILES_PARSED = 300
/** This many files are parsed between two looks at the signal. */
const FILES_AT_ONCE = 64

type Searched = { tree: Oid; text: string; signal: AbortSignal }

/**
 * Finds the definitions of the names in a text, by the syntax of the files that have them. The same tree gives the same
 * result.
 */
export async function definitionsIn(code: CodeReader, { tree, text, signal }: Searched): Promise<Definition[]> {
  const words = wordsIn(text)
  const files = await filesWith(code.objects.repository, { tree, words, signal })
  const names = [...files].sort(
    ([one, its], [other, others]) =>
      Number(words.get(other)) - Number(words.get(one)) || its.size - others.size || (one < other ? -1 : 1),
  )
  const chosen = new Set<string>()
  const paths = new Set<Path>()
  for (const [name, its] of names) {
    if (paths.union(its).size > MAX_FILES_PARSED) continue
    chosen.add(name)
    for (const path of its) paths.add(path)
  }
  const definitions: Definition[] = []
  const sorted = [...paths].sort()
  for (let from = 0; from < sorted.length; from += FILES_AT_ONCE) {
    if (signal.aborted) return []
    const facts = await code.factsAt(tree, sorted.slice(from, from + FILES_AT_ONCE))
    for (const [path, its] of facts)
      for (const { name, line } of definedIn(path, its, words))
        if (chosen.has(name)) definitions.push({ name, path, line })
  }
  return [...Map.groupBy(definitions, ({ name }) => name).values()]
    .filter(places => places.length <= MAX_PLACES_PER_NAME)
    .flat()
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))
    .slice(0, MAX_DEFINITIONS)
}

/**
 * The definitions of these words in a file. A plain word counts only as the name of a top-level definition outside of
 * tests, since it may be no name at all.
 */
const definedIn = (path: Path, { definitions }: CodeFacts, words: Words): CodeFacts['definitions'] =>
  definitions.filter(({ name, kind, inside }) => {
    const isCode = words.get(name)
    return kind !== 'impl' && (isCode || (isCode === false && inside === undefined && !isTest(path)))
  })

/** The words of a text that may be names. The value tells whether a word looks like code, and so is no plain word. */
type Words = ReadonlyMap<string, boolean>

/** At most MAX_NAMES words, those that look like code first. */
function wordsIn(text: string): Words {
  const read = text.slice(0, MAX_TEXT_CHARS)
  const marked = new Set(read.match(/(?<=[.`])[A-Za-z_]\w{3,60}|[A-Za-z_]\w{3,60}(?=[(`])/g))
  const isCode = (word: string): boolean => /_|\d|[a-z][A-Z]/.test(word) || marked.has(word)
  const words = [...new Set(read.match(/[A-Za-z_][A-Za-z0-9_]{3,60}/g))].map(word => [word, isCode(word)] as const)
  return new Map(words.sort(([, one], [, other]) => Number(other) - Number(one)).slice(0, MAX_NAMES))
}

/**
 * The code files that have each of the words: a plain word only in a line that is not indented and begins with a word,
 * as that of a top-level definition mostly does.
 */
async function filesWith(
  repository: Repository,
  { tree, words, signal }: Omit<Searched, 'text'> & { words: Words },
): Promise<Map<string, Set<Path>>> {
  const [plain, code] = [false, true].map(wanted => [...words.keys()].filter(word => words.get(word) === wanted))
  const patterns = [
    ...(code?.length ? [`\\b(${code.join('|')})\\b`] : []),
    ...(plain?.length ? [`^[A-Za-z_@$].*\\b(${plain.join('|')})\\b`] : []),
  ]
  const found = new Map<string, Set<Path>>()
  if (patterns.length === 0) return found
  const { isCut } = await findExpression(
    repository,
    { tree, words: patterns.join('|'), matchCase: true },
    {
      signal,
      onFound: matches => {
        for (const { path, text } of matches)
          for (const [word] of text.matchAll(/\w+/g))
            if (words.has(word)) found.set(word, (found.get(word) ?? new Set()).add(path))
      },
      seconds: SEARCH_TIMEOUT_S,
      most: MAX_LINES,
      maxLineChars: MAX_LINE_CHARS,
      // Without `glob`, git compares the ends of paths, which takes a fifth of the time of matching patterns.
      pathspecs: CODE_ENDINGS.map(ending => `:(top,icase)*${ending}`),
      besides: ['.forge'],
    },
  )
  // What a search found before a limit varies, and the result must be the same for the same tree.
  return isCut ? new Map() : found
}

// --- Files named by words of a text ----------------------------------------------------------------------------------

const MAX_FILES = 20
/** In a repository with more files, none are found by their names. */
const MAX_LISTED_FILES = 200_000
/** At most this many bytes of the list of files are read. */
const MAX_LISTED_BYTES = 64 << 20
/** A word that can be the name of a file. Words of three letters count only in capitals. */
const FILE_WORD = /[A-Za-z][A-Za-z0-9_.-]{3,60}|\b[A-Z][A-Z0-9]{2}\b/g
/** Common words that are also names of many files: in a message, such a word hardly ever means a file. */
const COMMON_WORDS = new Set([
  'test',
  'tests',
  'main',
  'index',
  'file',
  'files',
  'init',
  'name',
  'line',
  'text',
  'type',
])

/**
 * Finds the files named by words of a text, with or without an extension and the prefix or suffix of tests; at most 20,
 * sorted by path. `UintSlice` finds `uint_slice.go` and `uint_slice_test.go`.
 */
export async function filesNamed(objects: Objects, { tree, text }: { tree: Oid; text: string }): Promise<Path[]> {
  const words = new Set((text.slice(0, MAX_TEXT_CHARS).match(FILE_WORD) ?? []).map(plainName))
  for (const word of COMMON_WORDS) words.delete(word)
  if (words.size === 0) return []
  const paths = await pathsIn(objects.repository, tree)
  const isNamed = (path: Path): boolean => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    // Most names are neither a test's nor end with a dot: of these it is known at once.
    const plain = plainName(name)
    const dot = plain.lastIndexOf('.')
    if (!/test|spec|\.$/i.test(name)) return words.has(plain) || (dot > 0 && words.has(plain.slice(0, dot)))
    const stem = name.replace(/(?<=.)\.[^.]*$/, '')
    return [name, stem, stem.replace(/^test_|[._-](?:test|tests|spec)$/, '')].some(it => words.has(plainName(it)))
  }
  return paths
    .filter(path => !path.startsWith('.forge/') && isNamed(path))
    .sort()
    .slice(0, MAX_FILES)
}

/** All paths of files in a tree; none where there are very many, or git does not list them in time. */
async function pathsIn(repository: Repository, tree: Oid): Promise<Path[]> {
  const args = ['ls-tree', '-r', '-z', '--name-only', tree]
  const bounds = { seconds: SEARCH_TIMEOUT_S, memory: Number.POSITIVE_INFINITY, output: MAX_LISTED_BYTES }
  try {
    const paths = fields((await run(repository, args, { bounds })).stdout)
    return paths.length > MAX_LISTED_FILES ? [] : paths
  } catch (error) {
    if (error instanceof GitError && error.ending.bound) return []
    throw error
  }
}

/** A name in lower case without separators. */
const plainName = (name: string): string => name.replace(/\.+$/, '').replace(/[_-]/g, '').toLowerCase()
