/**
 * Finds where the names in the user's message are defined, so that the model's first call can read the right lines. A
 * file's summary has room for only a few names.
 */
import { findText, type GrepMatch, textSearch } from '../../core/git/grep.ts'
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'

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
const MAX_MATCHES = 2000

/** Keywords that define the name after them, in many languages. */
const KEYWORDS =
  'def|class|function|func|fun|fn|const|let|var|val|type|interface|struct|enum|trait|module|namespace|macro|record|define'

/** Modifiers that may precede these keywords. In prose, other words precede them. */
const MODIFIERS =
  '(?:(?:export|default|declare|async|abstract|static|final|public|private|protected|pub(?:[(][^)]*[)])?|unsafe|extern|inline|const|virtual|override|readonly|local|open|internal|sealed|data)\\s+)*'

/** Finds the definitions of the names in a text, by patterns of their lines. The same tree gives the same result. */
export async function definitionsIn(
  objects: Objects,
  { tree, text, signal }: { tree: Oid; text: string; signal: AbortSignal },
): Promise<Definition[]> {
  const names = namesIn(text)
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
  // What a search found before a time limit varies, and the result must be the same for the same tree.
  if (isCut) return []
  const defined = new RegExp(
    `^\\s*${MODIFIERS}(?:${KEYWORDS})\\*?[ \\t]+(?:\\([^)]*\\)[ \\t]*)?(${names.join('|')})\\b`,
  )
  const definitions = matches.flatMap(({ path, line, text: found }): Definition[] => {
    const name = defined.exec(found)?.[1]
    return name === undefined ? [] : [{ name, path, line }]
  })
  return [...Map.groupBy(definitions, ({ name }) => name).values()]
    .filter(places => places.length <= MAX_PLACES_PER_NAME)
    .flat()
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line))
    .slice(0, MAX_DEFINITIONS)
}

/** Words of a text that may be names, with those that look like code first. */
function namesIn(text: string): string[] {
  const words = new Set(text.slice(0, 20_000).match(/[A-Za-z_][A-Za-z0-9_]{3,60}/g))
  const looksLikeCode = (word: string) => /_|\d|[a-z][A-Z]/.test(word)
  return [...words].sort((a, b) => Number(looksLikeCode(b)) - Number(looksLikeCode(a))).slice(0, MAX_NAMES)
}
