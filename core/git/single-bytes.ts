/** Regular expressions for texts in an encoding of single bytes, in which letters beyond ASCII are other bytes. */

/** The bytes of the letters that Windows-1252 has beyond ASCII; those of Latin-1 are the same. */
const BYTES = new Map(
  Array.from({ length: 128 }, (_, index) => {
    const byte = 128 + index
    return [new TextDecoder('windows-1252').decode(Uint8Array.of(byte)), byte] as const
  }),
)

/** An escape, a class of characters with all in it, or a letter beyond ASCII. */
const TOKEN = /\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\P{ASCII}/gsu
/** In a class of characters: an escape, or a letter beyond ASCII. */
const TOKEN_IN_CLASS = /\\.|\P{ASCII}/gsu

export const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text)

/** Plain words as a regular expression. */
export const quoted = (words: string): string => words.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/**
 * A regular expression with the bytes of Windows-1252 instead of letters beyond ASCII, as escapes. Undefined where it
 * has no such letters, or others. Without `matchCase`, a letter outside of a class of characters is both of its cases.
 */
export function inSingleBytes(expression: string, { matchCase }: { matchCase: boolean }): string | undefined {
  if (isAscii(expression)) return undefined
  if ([...expression].some(letter => !isAscii(letter) && !BYTES.has(letter))) return undefined
  return expression.replace(TOKEN, token => {
    if (isAscii(token)) return token
    if (token.startsWith('[')) return token.replace(TOKEN_IN_CLASS, it => (isAscii(it) ? it : escapesOf([it])))
    // A letter has no meaning of its own that a backslash before it would take away.
    const letter = token.replace('\\', '')
    return matchCase ? escapesOf([letter]) : `[${escapesOf([letter.toLowerCase(), letter.toUpperCase()])}]`
  })
}

/** The bytes of letters as escapes. What has no byte is left out, such as the capital of ß. */
function escapesOf(letters: readonly string[]): string {
  const bytes = letters.flatMap(letter => BYTES.get(letter.replace('\\', '')) ?? [])
  return bytes.map(byte => `\\x${byte.toString(16)}`).join('')
}
