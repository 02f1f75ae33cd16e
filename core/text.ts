/** Makes untrusted text harmless to show, and formats numbers and names. */

/**
 * Characters that people do not see but terminals or models may obey: controls, line separators, everything that
 * Unicode says to ignore (bidirectional marks, fillers, tags, variation selectors except the emoji one), interlinear
 * marks, private use characters, and code points that are not characters.
 */
const UNSEEN =
  /(?!(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\ufff9-\ufffb]/gu

/** Text on one line with control characters spelled out, so that none reaches a terminal. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, char => {
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
  })

/** Like {@link visible} for several lines: line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map(line => line.split('\t').map(visible).join('\t'))
    .join('\n')

/**
 * A file's name for display, from one character per byte: as UTF-8, or with its bytes spelled out where it is not
 * UTF-8.
 */
export function visiblePath(path: string): string {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return visible(text)
  return path.replace(/[^\x20-\x7e]/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Shortens a text in the middle, since names often differ at their ends. */
export const short = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(1 - length / 2)}`.toWellFormed()

/** Seconds as minutes and seconds: 8:00. */
export const clockFace = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** A number with a noun: 1 commit, 2,000 commits. */
export const many = (count: number, word: string): string =>
  `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`

/** The first of some names, and the number of the others: `a, b and 3 more`. `most`: how many names at most. */
export function firstOf(names: readonly string[], most: number): string {
  const first = names.slice(0, most).join(', ')
  return names.length > most ? `${first} and ${names.length - most} more` : first
}

/** Untrusted text in lines of at most `width` characters. */
export const wrap = (text: string, width: number): string[] =>
  visibleLines(text.trim())
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${width}}(?:\\s|$)|.{1,${width}}`, 'gu')) ?? [''])
    .map(line => line.trimEnd())

/** The marker of a list item, with its indentation. */
const LIST_ITEM = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/
/** Lines whose breaks matter: code, tables, quotes, headings and trailers. */
const FIXED_LINE = /^(?: {4}|\t|\s*\||\s*>|\s*#{1,6}\s|[A-Z][\w-]*-[\w-]+: )/

/**
 * Wraps untrusted text at `width` characters. Lines that fit are kept; a paragraph or list item with a line that does
 * not fit is wrapped again, with its indentation.
 */
export function reflow(text: string, width: number): string[] {
  let isInFence = false
  const parts: string[][] = []
  for (const line of visibleLines(text.trim()).split('\n')) {
    const isFence = /^\s*(```|~~~)/.test(line)
    const last = parts.at(-1)
    const isFixed = FIXED_LINE.test(line.slice(LIST_ITEM.exec(last?.[0] ?? '')?.[0].length ?? 0))
    const isApart = isInFence || isFence || line.trim() === '' || LIST_ITEM.test(line) || isFixed
    if (isFence) isInFence = !isInFence
    const goesOn = !isApart && last !== undefined && isOpen(last[0] ?? '')
    if (goesOn) last.push(line.trimEnd())
    else parts.push([line.trimEnd()])
  }
  return parts.flatMap(lines => (lines.every(line => line.length <= width) ? lines : fill(lines, width)))
}

/** Whether a line is part of a paragraph that may continue in the next line. */
const isOpen = (line: string): boolean =>
  line.trim() !== '' && !/^\s*(```|~~~)/.test(line) && (LIST_ITEM.test(line) || !FIXED_LINE.test(line))

/** Wraps the words of a paragraph; lines after the first get the indentation of its text. */
function fill(lines: readonly string[], width: number): string[] {
  const [first = ''] = lines
  const lead = (LIST_ITEM.exec(first)?.[0] ?? /^\s*/.exec(first)?.[0] ?? '').slice(0, width >> 1)
  const indent = ' '.repeat(lead.length)
  const words = [first.slice(lead.length), ...lines.slice(1)].join(' ').split(/\s+/).filter(Boolean)
  const room = width - lead.length
  const tooLong = new RegExp(`.{1,${room}}`, 'gu')
  const filled: string[] = []
  let line = lead
  let isEmpty = true
  const end = () => {
    filled.push(line.trimEnd())
    line = indent
    isEmpty = true
  }
  for (const word of words) {
    if (!isEmpty && line.length + 1 + word.length > width) end()
    // A word longer than a line is cut.
    const pieces = word.length <= room ? [word] : (word.match(tooLong) ?? [])
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) end()
      line += isEmpty ? piece : ` ${piece}`
      isEmpty = false
    }
  }
  if (!isEmpty) end()
  return filled
}

/**
 * Makes untrusted text harmless where it can't be quoted, as in a commit message: mentions, references, links and CI
 * commands no longer work. The number of a merged pull request after its title, `(#12)`, stays: it closes nothing.
 */
export const harmless = (text: string): string =>
  text
    .replace(/#(?=\w)(?!(?<=\(#)\d+\))|[@!](?=\w)|\bGH-(?=\d)|:(?=\/\/)|\bwww(?=\.)/gi, '$& ')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/\*{3,}/g, '**')
    .replace(/skip-checks/gi, 'skip checks')

/** The line of git's or docker's output that says what went wrong, without user and password in URLs. */
export function firstLine(words: string): string {
  const lines = words.split('\n').filter(Boolean)
  const at = lines.findIndex(line => /^(remote|fatal|error|ERROR|docker):/.test(line))
  const [telling = 'no reason given', next = ''] = lines.slice(Math.max(at, 0))
  // A line that ends in a colon introduces the next one.
  const whole = telling.endsWith(':') ? `${telling} ${next.trim()}` : telling
  const bare = whole.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s]*@/gi, '$1').replace(/^remote: */, '')
  return bare.trim().slice(0, 300)
}

/** A size for display: 1 byte, 812 bytes, 3.4 KB, 1.2 MB. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return many(bytes, 'byte')
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`
}
