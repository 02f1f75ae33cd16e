/**
 * Finds the files that the user's message is about: where its names are defined, and files named by its words, so that
 * the model's first call can read the right ones.
 */
import { findExpression, type GrepMatch } from '../../core/git/grep.ts'
import type { Objects } from '../../core/git/objects.ts'
import { fields, type Oid, type Path, type Repository } from '../../core/git/repository.ts'
import { GitError, run } from '../../core/git/run.ts'
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
const MAX_MATCHES = 2000

/** Keywords that define the name after them, in many languages. */
const KEYWORDS =
  'def|class|function|func|fun|fn|const|let|var|val|type|interface|struct|enum|trait|module|namespace|macro|record|define'

/** Modifiers that may stand before a keyword of KEYWORDS. Any other word before it is a sign of prose. */
const MODIFIERS =
  '(?:(?:export|default|declare|async|abstract|static|final|public|private|protected|pub(?:[(][^)]*[)])?|unsafe|extern|inline|const|virtual|override|readonly|local|open|internal|sealed|data)\\s+)*'

/** Finds the definitions of the names in a text, by patterns of their lines. The same tree gives the same result. */
export async function definitionsIn(
  objects: Objects,
  { tree, text, signal }: { tree: Oid; text: string; signal: AbortSignal },
): Promise<Definition[]> {
  const { names, isCode } = namesIn(text)
  if (names.length === 0) return []
  const words = `\\b(${KEYWORDS})[*]?[ \t]+([(][^)]*[)][ \t]*)?(${names.join('|')})\\b`
  const matches: GrepMatch[] = []
  const { repository } = objects
  const { isCut } = await findExpression(
    repository,
    { tree, words, matchCase: true },
    {
      signal,
      onFound: found => matches.push(...found),
      seconds: SEARCH_TIMEOUT_S,
      most: MAX_MATCHES,
      besides: ['.forge'],
    },
  )
  // What a search found before a time limit varies, and the result must be the same for the same tree.
  if (isCut) return []
  const defined = new RegExp(
    `^\\s*${MODIFIERS}(?:${KEYWORDS})\\*?[ \\t]+(?:\\([^)]*\\)[ \\t]*)?(${names.join('|')})\\b`,
  )
  const definitions = matches.flatMap(({ path, line, text: found }): Definition[] => {
    const name = defined.exec(found)?.[1]
    // A plain word counts only as the name of a top-level definition outside of tests, since it may be no name at all.
    const isMeant = name !== undefined && (isCode(name) || (/^\S/.test(found) && !isTest(path)))
    return isMeant ? [{ name, path, line }] : []
  })
  return [...Map.groupBy(definitions, ({ name }) => name).values()]
    .filter(places => places.length <= MAX_PLACES_PER_NAME)
    .flat()
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))
    .slice(0, MAX_DEFINITIONS)
}

/**
 * Words of a text that may be names, with those that look like code first. `isCode` tells whether a name can't be a
 * plain word.
 */
function namesIn(text: string): { names: string[]; isCode: (name: string) => boolean } {
  const read = text.slice(0, MAX_TEXT_CHARS)
  const marked = new Set(read.match(/(?<=[.`])[A-Za-z_]\w{3,60}|[A-Za-z_]\w{3,60}(?=[(`])/g))
  const isCode = (word: string): boolean => /_|\d|[a-z][A-Z]/.test(word) || marked.has(word)
  const words = new Set(read.match(/[A-Za-z_][A-Za-z0-9_]{3,60}/g))
  const names = [...words].sort((a, b) => Number(isCode(b)) - Number(isCode(a))).slice(0, MAX_NAMES)
  return { names, isCode }
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
