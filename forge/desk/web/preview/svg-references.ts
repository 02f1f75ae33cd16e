/** Finds what a value of an SVG refers to: elements by their ids, and SVGs that are embedded. */
import { NotShown } from './not-shown.ts'

/** A value that refers to more elements is refused, and so is a longer id. */
const MAX_REFERENCES = 1_000
const MAX_ID_CHARS = 200
/** The ends of an id: of an address with each kind of quotes or without, or in a list. */
const ENDS = ['"', "'", ')', ';', ' ']
// Each repetition here can match in one way only, so that a value can't make the search itself slow.
const DATA_ADDRESS = /data:\s*(?:([\w.+-]+\/[\w.+-]+)\s*)?[;,]/gi
const ADDRESS = /url\((?:\s*"([^"]*)"\s*|\s*'([^']*)'\s*|([^"'()]*))\)/gi
const NO_IMAGE = 'This SVG embeds what is not an image: it is not shown.'
/** Embedded content that can't refer to anything. */
const HARMLESS =
  /^(?:image\/(?:png|jpe?g|gif|webp|avif|bmp)|font\/[\w.+-]+|application\/(?:x-)?font[\w.+-]*|text\/plain)$/

/**
 * The ids that a value may refer to, after a `#`: more than one for each, since where an id ends depends on what the
 * value is. Most of them are no ids of the SVG (colours).
 */
export function identifiersIn(value: string): Set<string> {
  const found = new Set<string>()
  const address = withoutBreaks(value)
  verifyNoEscapes(address)
  let count = 0
  for (let at = address.indexOf('#'); at >= 0; at = address.indexOf('#', at + 1)) {
    if (++count > MAX_REFERENCES) throw new NotShown('This SVG has too many references to be drawn.')
    const rest = address.slice(at + 1, at + 1 + MAX_ID_CHARS)
    for (const piece of [rest, ...ENDS.map(end => rest.split(end, 1)[0] ?? '')]) {
      found.add(piece.trim())
      found.add(withoutPercents(piece).trim())
    }
  }
  return found
}

/** The sources of the SVGs that a value embeds by `data:` addresses. Refuses other embedded content with a meaning. */
export function addressesIn(value: string): string[] {
  if (!/data:/i.test(withoutBreaks(value))) return []
  const address = withoutBreaks(value).trim()
  const all = [...address.matchAll(DATA_ADDRESS)].filter(
    ([, type = 'text/plain']) => !HARMLESS.test(type.toLowerCase()),
  )
  if (all.length === 0) return []
  const inUrls = [...address.matchAll(ADDRESS)].map(
    ([, double, single, plain]) => double ?? single ?? plain?.trim() ?? '',
  )
  const embedded = [address, ...inUrls].filter(each => /^data:\s*image\/svg\+xml\s*[;,]/i.test(each))
  // Where a part can't be told from the rest, it can't be counted.
  if (embedded.length !== all.length) throw new NotShown(NO_IMAGE)
  return embedded.map(contentOf)
}

/** Browsers leave out line breaks and tabs in addresses. */
const withoutBreaks = (value: string): string => value.replace(/[\t\n\r]/g, '')

/** With CSS escapes, a reference can look like anything else. */
export function verifyNoEscapes(value: string): void {
  if (!value.includes('\\')) return
  const plain = value.replace(/\\([\da-f]{1,6})\s?/gi, (_, code) => {
    const number = Number.parseInt(code, 16)
    return number > 0 && number <= 0x10ffff ? String.fromCodePoint(number) : ''
  })
  if (/#|url|data:|keyframes/i.test(plain.replaceAll('\\', '')))
    throw new NotShown('This SVG writes its references with escapes: it is not shown.')
}

function contentOf(address: string): string {
  const comma = address.indexOf(',')
  const head = address.slice(0, comma)
  // An address ends at its fragment.
  const [body = ''] = address.slice(comma + 1).split('#', 1)
  const plain = withoutPercents(body)
  if (!/;\s*base64\s*$/i.test(head)) return plain
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(plain), character => character.charCodeAt(0)))
  } catch {
    throw new NotShown(NO_IMAGE)
  }
}

function withoutPercents(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, run => {
    const bytes = run.slice(1).split('%')
    return new TextDecoder().decode(Uint8Array.from(bytes, byte => Number.parseInt(byte, 16)))
  })
}
