/** Makes untrusted text harmless to show, and formats numbers and names. */

/**
 * What people do not see, and terminals or models obey: controls, separators of lines, all that Unicode has a reader
 * ignore (marks that turn the direction of text, fillers, tags, variation selectors but for the one that makes an emoji
 * of a sign), interlinear marks, private characters, and code points that are no characters.
 */
const UNSEEN =
  /(?!(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\ufff9-\ufffb\ufdd0-\ufdef]/gu

/** Text on one line with every control character spelled out, so that none reaches a terminal. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, char => {
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
  })

/** The same over several lines: line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map(line => line.split('\t').map(visible).join('\t'))
    .join('\n')

/** A file's name for a person, from one character per byte: UTF-8 where it is UTF-8, else its bytes spelled out. */
export function visiblePath(path: string): string {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return visible(text)
  return path.replace(/[^\x20-\x7e]/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Keeps both ends of a long text: names differ there. */
export const short = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(1 - length / 2)}`.toWellFormed()

/** Seconds as minutes and seconds, 8:00. */
export const clockFace = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** 1 commit, 2,000 commits. */
export const many = (count: number, word: string): string =>
  `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`

/** Untrusted text in lines of at most `most` characters. */
export const wrap = (text: string, width: number): string[] =>
  visibleLines(text.trim())
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${width}}(?:\\s|$)|.{1,${width}}`, 'gu')) ?? [''])
    .map(line => line.trimEnd())

/** Text of others where nothing can quote it, as in a commit message: no mention, reference, link or order to a CI. */
export const harmless = (text: string): string =>
  text
    .replace(/[@#!](?=\w)|\bGH-(?=\d)|:(?=\/\/)/gi, '$& ')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/\*{3,}/g, '**')
    .replace(/skip-checks/gi, 'skip checks')

/** The line of git's or docker's words that says what went wrong, without user and password in its URLs. */
export function firstLine(words: string): string {
  const lines = words.split('\n').filter(Boolean)
  const at = lines.findIndex(line => /^(remote|fatal|error|ERROR|docker):/.test(line))
  const [telling = 'no reason given', next = ''] = lines.slice(Math.max(at, 0))
  // A line that ends in a colon only announces the next one.
  const whole = telling.endsWith(':') ? `${telling} ${next.trim()}` : telling
  const bare = whole.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s]*@/gi, '$1').replace(/^remote: */, '')
  return bare.trim().slice(0, 300)
}
