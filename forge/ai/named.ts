/**
 * Which files a person's message is about: where its names are defined, and files that are called by its words, so that
 * the first answer can go there.
 */
import { findText, type GrepMatch, textSearch } from '../../core/git/grep.ts'
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { listFiles } from '../../core/git/trees.ts'
import { isTest } from './languages.ts'

/** A line on which a name is defined, from 1. */
export interface Definition {
  name: string
  path: Path
  line: number
}

const MAX_NAMES = 40
const MAX_DEFINITIONS = 20
/** A name that is defined in more places tells nothing about one of them. */
const MAX_PLACES_PER_NAME = 4
const SEARCH_TIMEOUT_S = 3
/** Of a longer text, the rest is not looked at. */
const MAX_TEXT_CHARS = 20_000
const MAX_MATCHES = 2000

/** The words by which languages define a name that follows them. */
const KEYWORDS =
  'def|class|function|func|fun|fn|const|let|var|val|type|interface|struct|enum|trait|module|namespace|macro|record|define'

/** What may stand in front of these on their line; in a sentence, other words do. */
const MODIFIERS =
  '(?:(?:export|default|declare|async|abstract|static|final|public|private|protected|pub(?:[(][^)]*[)])?|unsafe|extern|inline|const|virtual|override|readonly|local|open|internal|sealed|data)\\s+)*'

/** Finds the definitions of the names in a text, by what their lines look like. Gives the same for the same tree. */
export async function definitionsIn(
  objects: Objects,
  { tree, text, signal }: { tree: Oid; text: string; signal: AbortSignal },
): Promise<Definition[]> {
  const { names, isCode } = namesIn(text)
  if (names.length === 0) return []
  const boundary = '[^A-Za-z0-9_]'
  const words = `(^|${boundary})(${KEYWORDS})[*]?[ \t]+([(][^)]*[)][ \t]*)?(${names.join('|')})(${boundary}|$)`
  const matches: GrepMatch[] = []
  const { repository } = objects
  const search = await textSearch(repository, { tree, words, isRegex: true, matchCase: true })
  const { isCut } = await findText(repository, search, {
    signal,
    onFound: found => matches.push(...found),
    seconds: SEARCH_TIMEOUT_S,
    most: MAX_MATCHES,
    besides: ['.forge'],
  })
  // What a search found before it was cut differs from one time to the next.
  if (isCut) return []
  const defined = new RegExp(
    `^\\s*${MODIFIERS}(?:${KEYWORDS})\\*?[ \\t]+(?:\\([^)]*\\)[ \\t]*)?(${names.join('|')})\\b`,
  )
  const definitions = matches.flatMap(({ path, line, text: found }): Definition[] => {
    const name = defined.exec(found)?.[1]
    // Of a word that may be one of the sentence, only what a whole file can mean counts: no method, nothing of a test.
    const isMeant = name !== undefined && (isCode(name) || (/^\S/.test(found) && !isTest(path)))
    return isMeant ? [{ name, path, line }] : []
  })
  return [...Map.groupBy(definitions, ({ name }) => name).values()]
    .filter(places => places.length <= MAX_PLACES_PER_NAME)
    .flat()
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))
    .slice(0, MAX_DEFINITIONS)
}

/** What may be names in a text, those that look like code first; `isCode` is true of those that can be no plain words. */
function namesIn(text: string): { names: string[]; isCode: (name: string) => boolean } {
  const read = text.slice(0, MAX_TEXT_CHARS)
  const marked = new Set(read.match(/(?<=[.`])[A-Za-z_]\w{3,60}|[A-Za-z_]\w{3,60}(?=[(`])/g))
  const isCode = (word: string): boolean => /_|\d|[a-z][A-Z]/.test(word) || marked.has(word)
  const words = new Set(read.match(/[A-Za-z_][A-Za-z0-9_]{3,60}/g))
  const names = [...words].sort((a, b) => Number(isCode(b)) - Number(isCode(a))).slice(0, MAX_NAMES)
  return { names, isCode }
}

// --- Files that are called by its words ------------------------------------------------------------------------------

const MAX_FILES = 20
/** In a larger repository, files are not looked for by their names. */
const MAX_LISTED_FILES = 200_000
/** A word that can be the name of a file: of three letters where these are capitals. */
const FILE_WORD = /[A-Za-z][A-Za-z0-9_.-]{3,60}|\b[A-Z][A-Z0-9]{2}\b/g
/** Words of sentences that are also names of files which are about something else. */
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
 * The files that are called by words of a text, with or without an ending and what tests have in front or behind, at
 * most 20, in the order of their paths: `uint_slice.go` and `uint_slice_test.go` by UintSlice.
 */
export async function filesNamed(objects: Objects, { tree, text }: { tree: Oid; text: string }): Promise<Path[]> {
  const words = new Set((text.slice(0, MAX_TEXT_CHARS).match(FILE_WORD) ?? []).map(plainName))
  for (const word of COMMON_WORDS) words.delete(word)
  if (words.size === 0) return []
  const { files, cut } = await listFiles(objects, tree, { limit: MAX_LISTED_FILES })
  if (cut) return []
  const isNamed = (path: Path): boolean => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const stem = name.replace(/(?<=.)\.[^.]*$/, '')
    return [name, stem, stem.replace(/^test_|[._-](?:test|tests|spec)$/, '')].some(it => words.has(plainName(it)))
  }
  return files
    .map(({ path }) => path)
    .filter(path => !path.startsWith('.forge/') && isNamed(path))
    .sort()
    .slice(0, MAX_FILES)
}

/** A name without what its writers part its words by. */
const plainName = (name: string): string => name.replace(/\.+$/, '').replace(/[_-]/g, '').toLowerCase()
