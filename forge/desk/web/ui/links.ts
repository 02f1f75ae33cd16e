/** Where a link leads that somebody else wrote, and what is to be said of it before it is followed. */

export type Target =
  /** A page: it can be opened. */
  | { kind: 'page'; address: string }
  /** A file of the repository. */
  | { kind: 'file'; path: string }
  /** Anything else: it is never opened. */
  | { kind: 'other'; address: string }

/** What an address would be, without asking for anything. */
export function targetOf(href: string): Target {
  const address = href.trim()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers leave them out of an address
  const plain = address.replace(/[\u0000-\u0020]/g, '')
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(plain)
  const isHere = !hasScheme && !/^([/\\]{2}|#)/.test(plain)
  if (isHere) return fileOf(address)
  const url = parse(plain.startsWith('//') ? `https:${plain}` : plain)
  const isPage = url?.protocol === 'https:' || url?.protocol === 'http:'
  // With a name or a password in it, an address can look like another one.
  if (!url || !isPage || url.username !== '' || url.password !== '') return { kind: 'other', address }
  return { kind: 'page', address: url.href }
}

function fileOf(address: string): Target {
  const [path = ''] = address.replace(/^\.?\//, '').split(/[#?]/)
  const parts = path.split('/')
  const isPath = path !== '' && !parts.includes('..') && !path.includes('\\')
  return isPath ? { kind: 'file', path: decoded(path) } : { kind: 'other', address }
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
