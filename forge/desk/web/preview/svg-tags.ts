/** Splits an SVG into tags and text, as strictly as XML is read; anything else is refused. */
import { NotShown } from './not-shown.ts'

export interface Tag {
  kind: 'start'
  name: string
  attributes: ReadonlyMap<string, string>
  isEmpty: boolean
}
export type Token = Tag | { kind: 'end' } | { kind: 'text'; text: string }

const TOKEN = new RegExp(
  [
    /<!--[\s\S]*?-->/,
    /<!\[CDATA\[(?<data>[\s\S]*?)\]\]>/,
    /<\?(?<instruction>[\s\S]*?)\?>/,
    /<!DOCTYPE(?<doctype>(?:[^<>"'[]|"[^"]*"|'[^']*')*[>[])/,
    /<\/(?<end>[^\s<>"'/=]+)\s*>/,
    /<(?<start>[^\s<>"'/=!?]+)(?<attributes>(?:\s+[^\s<>"'/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>\/?)>/,
    /(?<text>[^<]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)
const ATTRIBUTE = /([^\s<>"'/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const MALFORMED = 'This is not well-formed XML: it is not shown.'

/** The tags and texts of an SVG, with character references decoded. */
export function* tokensOf(source: string): Generator<Token> {
  let at = 0
  while (at < source.length) {
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(source)?.groups
    if (!groups) throw new NotShown(MALFORMED)
    at = TOKEN.lastIndex
    const { data, instruction, doctype, end, start, attributes = '', empty, text } = groups
    // Declarations could give elements attributes, or text, that are not written at their place.
    if (doctype?.endsWith('[')) throw new NotShown('This SVG defines entities or attributes itself: it is not shown.')
    if (instruction?.trimStart().startsWith('xml-stylesheet'))
      throw new NotShown('This SVG has a style sheet outside of its elements: it is not shown.')
    if (data !== undefined) yield { kind: 'text', text: data }
    if (text !== undefined) yield { kind: 'text', text: decode(text) }
    if (end !== undefined) yield { kind: 'end' }
    if (start !== undefined)
      yield { kind: 'start', name: start, attributes: attributesOf(attributes), isEmpty: empty === '/' }
  }
}

function attributesOf(source: string): Map<string, string> {
  const found = source.matchAll(ATTRIBUTE)
  return new Map([...found].map(([, name = '', double, single]) => [name, decode(double ?? single ?? '')]))
}

/** A name without its prefix, in lower case. */
export const pieceOf = (name: string): string => name.slice(name.indexOf(':') + 1).toLowerCase()

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decode(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7});|#x([\da-f]{1,6});|(\w+);|)/gi, (_, decimal, hex, name) => {
    if (name !== undefined && Object.hasOwn(NAMED, name)) return NAMED[name] ?? ''
    const code = Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10)
    // Other names are those of HTML, which an SVG can only have by its document type.
    if (Number.isNaN(code) || code > 0x10ffff) throw new NotShown(MALFORMED)
    return String.fromCodePoint(code)
  })
}
