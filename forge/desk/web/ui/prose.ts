/** Text from a model or a tool, made safe to show: invisible characters become escapes. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of terminals begin with one
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g
// Direction marks and control characters. Joiners stay: some scripts and emoji need them.
const TRICKS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the page as they are
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g

// Runs of combining marks: a long one on one character takes the browser minutes to draw.
const TOWERS = /(\p{M}{6})\p{M}+/gu

/** Normalises line ends to \n, removes terminal colours, and escapes invisible characters. */
export function readableProse(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(TERMINAL, '')
    .replace(TOWERS, '$1')
    .replace(TRICKS, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  larr: '←',
  rarr: '→',
  times: '×',
  copy: '©',
}

/** Decodes the HTML entities that are common in Markdown. */
export function withEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? all) : all
    const code = Number.parseInt(decimal ?? hex, decimal ? 10 : 16)
    return code > 0 && code <= 0x10ffff ? readableProse(String.fromCodePoint(code)) : all
  })
}
