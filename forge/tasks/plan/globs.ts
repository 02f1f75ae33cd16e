/**
 * Globs of boundaries: which paths they match, and whether two can match the same path, also one that does not exist
 * yet. `*`: any characters but `/`; `?`: one; `[a-z]`: one of a set; `**` as a whole name: any number of folders;
 * `{a,b}`: either. A `/` at the end means everything below.
 */

/** A part of a name: a given character, any one (`?`), any number of any (`*`), or one in (or not in) a set (`[…]`). */
type Sign =
  | { kind: 'one'; char: string }
  | { kind: 'any' }
  | { kind: 'many' }
  | { kind: 'set'; not: boolean; ranges: readonly (readonly [from: string, to: string])[] }

/** A name between slashes; `folders` is `**`. */
type Name = 'folders' | readonly Sign[]

/** A parsed glob: a list of names for each alternative of its braces. */
export type Glob = { text: string; choices: readonly (readonly Name[])[] }

/** Globs with more alternatives of braces than this are refused, as are those with more names than MAX_NAMES. */
const MAX_CHOICES = 64
const MAX_NAMES = 64

/** Parses a glob. Where it can't be used for a boundary, gives the reason as the end of a sentence. */
export function readGlob(text: string): Glob | string {
  if (text.startsWith('/')) return 'begins with a slash: paths begin at the top of the repository'
  if (text.startsWith('!')) return 'begins with "!": what may not be written stands in boundaries.never'
  if (text.includes('\\')) return 'has a backslash: names are separated by "/", and nothing is escaped'
  const texts = choicesOf(plain(text).replace(/\/$/, '/**'))
  if (!texts) return 'has braces that do not match, or stand for too many choices'
  const choices: Name[][] = []
  for (const choice of texts) {
    const names = choice.split('/')
    if (names.length > MAX_NAMES) return 'has too many folders'
    if (names.some(name => name === '')) return 'has an empty name between slashes'
    if (names.some(name => name === '.' || name === '..')) return 'has "." or ".." in it: name the folder itself'
    const read = names.map(nameOf)
    // At the end, `**` matches at least one name, since a folder is no file.
    if (read.at(-1) === 'folders') read.push([{ kind: 'many' }])
    choices.push(read.filter((name, at) => name !== 'folders' || read[at - 1] !== 'folders'))
  }
  return { text, choices }
}

/** A path or glob without leading `./`. */
export const plain = (path: string): string => path.replace(/^(?:\.\/)+/, '')

/** Whether a glob is a plain path without patterns. */
export const isLiteral = (text: string): boolean => !/[*?[{]|\/$/.test(text)

/** The folder that contains everything that a glob matches; '' for the root. */
export function folderOfGlob(text: string): string {
  const names = plain(text).split('/')
  const at = names.findIndex(name => /[*?[{]/.test(name))
  return names.slice(0, at < 0 ? -1 : at).join('/')
}

/** Whether a glob matches a path. It also matches its own text, as `app/[id]/page.tsx` can be a file. */
export const fits = (glob: Glob, path: string): boolean => {
  if (plain(glob.text) === path) return true
  const names = path.split('/').map(literalName)
  return glob.choices.some(choice => common(choice, names) !== undefined)
}

/** An example of a path that both globs match; undefined where there is none. */
export function commonPath(one: Glob, other: Glob): string | undefined {
  for (const choice of one.choices) {
    for (const rival of other.choices) {
      const path = common(choice, rival)
      if (path !== undefined) return path
    }
  }
  return undefined
}

/** Whether everything that a glob matches is surely matched by one of `by`. */
export const isCovered = (glob: Glob, by: readonly Glob[]): boolean =>
  by.some(other => {
    if (other.text === glob.text) return true
    if (isLiteral(glob.text)) return fits(other, plain(glob.text))
    const all = /^(?<folder>[^*?[{]*?)\/?(?:\*\*|\/)$/.exec(plain(other.text))?.groups?.folder
    if (all === undefined) return false
    const folder = folderOfGlob(glob.text)
    return all === '' || folder === all || folder.startsWith(`${all}/`)
  })

/** The alternatives of a glob's braces; undefined where these are unbalanced, or too many. */
function choicesOf(text: string): string[] | undefined {
  const open = text.indexOf('{')
  if (open < 0) return text.includes('}') ? undefined : [text]
  const parts: string[] = []
  let [depth, from, close] = [0, open + 1, -1]
  for (let at = open; at < text.length && close < 0; at++) {
    const char = text[at]
    if (char === '{') depth++
    if (char === '}') depth--
    if (depth === 0) close = at
    if (depth === 0 || (depth === 1 && char === ',')) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  if (close < 0) return undefined
  const choices: string[] = []
  for (const part of parts) {
    const inside = choicesOf(text.slice(0, open) + part + text.slice(close + 1))
    if (!inside || choices.length + inside.length > MAX_CHOICES) return undefined
    choices.push(...inside)
  }
  return choices
}

const literalName = (name: string): Sign[] => [...name].map(char => ({ kind: 'one', char }))

function nameOf(name: string): Name {
  if (name === '**') return 'folders'
  const signs: Sign[] = []
  const chars = [...name]
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] as string
    if (char === '*') {
      if (signs.at(-1)?.kind !== 'many') signs.push({ kind: 'many' })
    } else if (char === '?') signs.push({ kind: 'any' })
    else if (char === '[') {
      const end = chars.indexOf(']', at + 2)
      if (end < 0) signs.push({ kind: 'one', char })
      else {
        signs.push(setOf(chars.slice(at + 1, end)))
        at = end
      }
    } else signs.push({ kind: 'one', char })
  }
  return signs
}

function setOf(chars: readonly string[]): Sign {
  const not = chars[0] === '!' || chars[0] === '^'
  const inside = not ? chars.slice(1) : chars
  const ranges: [string, string][] = []
  for (let at = 0; at < inside.length; at++) {
    const from = inside[at] as string
    const to = inside[at + 1] === '-' ? inside[at + 2] : undefined
    ranges.push([from, to ?? from])
    if (to !== undefined) at += 2
  }
  return { kind: 'set', not, ranges }
}

/** A path that two lists of names have in common. Each pair of positions is visited once. */
function common(one: readonly Name[], other: readonly Name[]): string | undefined {
  const failed = new Set<number>()
  const width = other.length + 1
  const from = (i: number, j: number): string[] | undefined => {
    const key = i * width + j
    if (failed.has(key)) return undefined
    const found = next(i, j)
    if (!found) failed.add(key)
    return found
  }
  const next = (i: number, j: number): string[] | undefined => {
    const [a, b] = [one[i], other[j]]
    if (a === undefined && b === undefined) return []
    if (a === 'folders' && b === 'folders') return from(i + 1, j) ?? from(i, j + 1)
    // Either `**` matches no further name, or it also matches the other glob's next name.
    if (a === 'folders') return from(i + 1, j) ?? behind(b && exampleOf(b), () => from(i, j + 1))
    if (b === 'folders') return from(i, j + 1) ?? behind(a && exampleOf(a), () => from(i + 1, j))
    return behind(a && b && commonName(a, b), () => from(i + 1, j + 1))
  }
  return from(0, 0)?.join('/')
}

function behind(name: string | undefined, rest: () => string[] | undefined): string[] | undefined {
  const names = name === undefined ? undefined : rest()
  return names && [name as string, ...names]
}

/** A name that two patterns have in common. */
function commonName(one: readonly Sign[], other: readonly Sign[]): string | undefined {
  const failed = new Set<number>()
  const width = other.length + 1
  const from = (i: number, j: number): string | undefined => {
    const key = i * width + j
    if (failed.has(key)) return undefined
    const found = step(i, j)
    if (found === undefined) failed.add(key)
    return found
  }
  const step = (i: number, j: number): string | undefined => {
    const [a, b] = [one[i], other[j]]
    if (!a && !b) return ''
    if (a?.kind === 'many' && b?.kind === 'many') return from(i + 1, j) ?? from(i, j + 1)
    if (a?.kind === 'many') return from(i + 1, j) ?? before(b, () => from(i, j + 1))
    if (b?.kind === 'many') return from(i, j + 1) ?? before(a, () => from(i + 1, j))
    if (!a || !b) return undefined
    const char = commonChar(a, b)
    const rest = char === undefined ? undefined : from(i + 1, j + 1)
    return rest === undefined ? undefined : char + rest
  }
  const before = (sign: Sign | undefined, rest: () => string | undefined): string | undefined => {
    const char = sign && charOf(sign)
    const behind = char === undefined ? undefined : rest()
    return behind === undefined ? undefined : char + behind
  }
  const found = from(0, 0)
  if (found !== '') return found
  // Both patterns match the empty text, so they consist of stars: any name of at least one character matches both.
  return one.length > 0 && other.length > 0 ? 'file' : undefined
}

const exampleOf = (name: Name): string | undefined =>
  name === 'folders' ? undefined : commonName(name, [{ kind: 'many' }])

/** Common characters of file names, of which any usual set in brackets has one. */
const USUAL_CHARACTERS = 'xabcdefghijklmnopqrstuvwyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.'

const isIn = (sign: Sign, char: string): boolean => {
  if (sign.kind === 'one') return sign.char === char
  if (sign.kind !== 'set') return true
  return sign.ranges.some(([from, to]) => from <= char && char <= to) !== sign.not
}

const charOf = (sign: Sign): string | undefined => commonChar(sign, { kind: 'any' })

function commonChar(one: Sign, other: Sign): string | undefined {
  const ends = [one, other].flatMap(sign => {
    if (sign.kind === 'one') return [sign.char]
    return sign.kind === 'set' ? sign.ranges.flat() : []
  })
  return [...USUAL_CHARACTERS, ...ends].find(char => char !== '/' && isIn(one, char) && isIn(other, char))
}
