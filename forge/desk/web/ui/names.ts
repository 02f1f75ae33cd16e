/**
 * Makes names of files, branches and refs, which are byte strings with one character per byte, readable and safe:
 * invisible characters and those that change the direction of text become escapes.
 */

const PLAIN = /^[\x20-\x7e]*$/
// Control characters, direction marks, zero-width characters, and line separators.
const TRICKS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the page as they are
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu
/** Emoji that zero-width characters join to one, such as a family: they are shown as they are. */
const JOINED_EMOJI = /(?:\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*\u200d)+\p{Extended_Pictographic}/u
const ODD = new RegExp(`(${JOINED_EMOJI.source})|${TRICKS.source}`, 'gu')
const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A name as shown on the screen. It can't be converted back, so keep the name itself. */
export function readable(name: string): string {
  return PLAIN.test(name) ? name : withoutTricks(decode(name))
}

// Scripts that are written from right to left.
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Makes a name readable inside a sentence. A name that is written from right to left does not change the direction of
 * the rest.
 */
export function named(name: string): string {
  const words = readable(name)
  return FROM_RIGHT.test(words) ? `\u2068${words}\u2069` : words
}

/** Makes text written by others safe to show on one line, such as the subject of a commit. */
export function withoutTricks(text: string): string {
  return text.replace(
    ODD,
    (odd, emoji?: string) => emoji ?? SHORT[odd] ?? `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A line of a file, with invisible characters as escapes; tabs stay. */
export function visible(line: string): string {
  return line.split('\t').map(withoutTricks).join('\t')
}

/** Converts typed text to the byte string that git takes. */
export function toName(words: string): string {
  return PLAIN.test(words) ? words : String.fromCharCode(...new TextEncoder().encode(words))
}

/**
 * Converts the typed name of a file or a branch, for which a folder and a name were suggested as they are shown.
 * Spaces around it are left out, as they are hardly ever meant. Throws an error with a sentence if it has an escape
 * that stands for a character of them, since that can't be typed.
 */
export function typedName(words: string, folder: string, name = ''): string {
  const isInFolder = words.startsWith(readable(folder))
  const typed = isInFolder ? words.slice(readable(folder).length) : words
  if (isInFolder && typed === readable(name)) return folder + name
  const rest = typed.trim()
  const kept = [...escapesIn(name), ...(isInFolder ? [] : escapesIn(folder))].find(it => rest.includes(it))
  if (kept)
    throw new Error(`${kept} stands for a character that can’t be typed here: leave it out, or do this with git.`)
  return (isInFolder ? folder : '') + toName(rest)
}

/** The name of a branch while it is typed: a space is a dash, as branches have none. */
export const branchWhileTyping = (words: string): string => words.replace(/\s/g, '-')

/** The escapes in a name as shown, if it has characters that are shown as escapes. */
const escapesIn = (name: string): readonly string[] =>
  toName(readable(name)) === name ? [] : (readable(name).match(/\\(?:[nrt]|u[0-9a-f]{4}|x[0-9a-f]{2})/g) ?? [])

export function decode(name: string): string {
  const bytes = Uint8Array.from(name, character => character.charCodeAt(0))
  try {
    return strict.decode(bytes)
  } catch {
    // Byte by byte, as git shows it: bytes that are not UTF-8 become escapes.
    return decodePieces(bytes)
  }
}

function decodePieces(bytes: Uint8Array): string {
  let text = ''
  let at = 0
  while (at < bytes.length) {
    const piece = pieceAt(bytes, at)
    text += piece ? piece.text : `\\x${(bytes[at] ?? 0).toString(16).padStart(2, '0')}`
    at += piece ? piece.length : 1
  }
  return text
}

function pieceAt(bytes: Uint8Array, at: number): { text: string; length: number } | undefined {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    try {
      return { text: strict.decode(bytes.subarray(at, at + length)), length }
    } catch {}
  }
  return undefined
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folder of a path, with a slash at the end; '' for the top. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

export function joinPath(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name
}

/** Splits a name into readable pieces at the matched ranges. A range that cuts a character covers all of it. */
export function markedPieces(name: string, ranges: [number, number][]): { text: string; isFound: boolean }[] {
  const pieces: { text: string; isFound: boolean }[] = []
  let at = 0
  for (const [start, end] of ranges) {
    const from = characterStart(name, Math.max(at, start))
    const to = characterEnd(name, Math.max(from, end))
    if (from > at) pieces.push({ text: readable(name.slice(at, from)), isFound: false })
    if (to > from) pieces.push({ text: readable(name.slice(from, to)), isFound: true })
    at = to
  }
  if (at < name.length) pieces.push({ text: readable(name.slice(at)), isFound: false })
  return pieces
}

function isInsideCharacter(name: string, at: number): boolean {
  return at > 0 && at < name.length && (name.charCodeAt(at) & 0xc0) === 0x80
}

function characterStart(name: string, at: number): number {
  let start = at
  while (isInsideCharacter(name, start)) start--
  return start
}

function characterEnd(name: string, at: number): number {
  let end = at
  while (isInsideCharacter(name, end)) end++
  return end
}

export function shortId(oid: string): string {
  return oid.slice(0, 8)
}

/**
 * The folders that distinguish a path from others with the same file name: as few as needed, the nearest ones. '' if no
 * other has its name; `.` for a file at the top.
 */
export function tellingFolder(path: string, others: readonly string[]): string {
  const name = baseName(path)
  const same = others.filter(other => other !== path && baseName(other) === name).map(partsOf)
  if (same.length === 0) return ''
  const parts = partsOf(path)
  for (let count = 1; count <= parts.length; count++) {
    const end = parts.slice(-count).join('/')
    if (same.every(other => other.slice(-count).join('/') !== end)) return end
  }
  return parts.length === 0 ? '.' : parts.join('/')
}

/** A file's name, with the folders that distinguish it from others with the same name. */
export function shortPath(path: string, others: readonly string[]): string {
  const folder = tellingFolder(path, others)
  return folder === '.' ? baseName(path) : joinPath(folder, baseName(path))
}

const partsOf = (path: string): string[] => path.split('/').slice(0, -1)

/** The last part of a model's id: its name without its provider. Of several, separated by commas, each one's. */
export const modelName = (model: string): string =>
  withoutTricks(
    model
      .split(', ')
      .map(id => id.slice(id.lastIndexOf('/') + 1))
      .join(', '),
  )
