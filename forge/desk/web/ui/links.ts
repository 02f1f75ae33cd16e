/** Finds out what a link in text written by others leads to. */

export type Target =
  /** A web page: it can be opened. */
  | { kind: 'page'; address: string }
  /** A file of the repository. */
  | { kind: 'file'; path: string }
  /** Anything else: it is never opened. */
  | { kind: 'other'; address: string }

/** Tells what an address points to, without a request. */
export function targetOf(href: string): Target {
  const address = href.trim()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave them out of an address
  const plain = address.replace(/[\u0000-\u0020]/g, '')
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(plain)
  const isHere = !hasScheme && !/^([/\\]{2}|#)/.test(plain)
  if (isHere) return fileOf(address)
  const url = parse(plain.startsWith('//') ? `https:${plain}` : plain)
  const isPage = url?.protocol === 'https:' || url?.protocol === 'http:'
  // With a user name or a password, an address can look like another one.
  if (!url || !isPage || url.username !== '' || url.password !== '') return { kind: 'other', address }
  return { kind: 'page', address: url.href }
}

/** The part of an address behind #: a heading of a Markdown file. Undefined if there is none. */
export function fragmentOf(href: string): string | undefined {
  const at = href.indexOf('#')
  return at < 0 ? undefined : decoded(href.slice(at + 1).trim())
}

function fileOf(address: string): Target {
  const [written = ''] = address.replace(/^\.?\//, '').split(/[#?]/)
  const path = decoded(written)
  const isPath = path !== '' && !path.split('/').includes('..') && !/[\\\0]/.test(path)
  return isPath ? { kind: 'file', path } : { kind: 'other', address }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function parse(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined
}
