/** Addresses of remotes, made safe to show. */

/** Removes name and password from a URL, and everything after a question mark, where keys may be. */
export function withoutSecret(url: string): string {
  // An address that is not a URL may contain a password before an @.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url.replace(/^([^/@]*):[^/@]*@/, '$1@')
  const parsed = URL.parse(url)
  // In an invalid URL, such as with a / or a blank in the password, everything before the last @ is removed.
  if (!parsed) return url.replace(/^([^:]*:\/\/).*@/s, '$1').replace(/[?#].*$/s, '')
  parsed.password = ''
  if (/^https?:$/.test(parsed.protocol)) parsed.username = ''
  parsed.search = ''
  parsed.hash = ''
  return parsed.href
}
