/** Addresses of remotes, as they may be shown. */

/** A url without the name and password, and without what stands behind a question mark: keys are put there. */
export function withoutSecret(url: string): string {
  // What is no url may still have a password before an @.
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url.replace(/^([^/@]*):[^/@]*@/, '$1@')
  const parsed = URL.parse(url)
  // The end of a password with a / or a blank in it, for example, can't be told.
  if (!parsed) return url.replace(/^([^:]*:\/\/).*@/s, '$1').replace(/[?#].*$/s, '')
  parsed.password = ''
  if (/^https?:$/.test(parsed.protocol)) parsed.username = ''
  parsed.search = ''
  parsed.hash = ''
  return parsed.href
}
