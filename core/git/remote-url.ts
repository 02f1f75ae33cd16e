/** Parses and compares the URLs of remotes. */

/** Splits a remote's URL (with a scheme, or in scp form) into host and path. Undefined for a local path. */
export function parseRemote(url: string): { host: string; path: string } | undefined {
  const form = url.includes('://')
    ? /^[a-z][a-z0-9+.-]*:\/\/(?:[^/]*@)?(\[[^\]]*\]|[^/:]+)(?::\d+)?\/+(.+)$/i
    : /^(?:[^/@]*@)?([^/:]+):(.+)$/
  const [, host, path] = form.exec(url) ?? []
  if (!host || !path || url.startsWith('file:')) return undefined
  return { host: host.toLowerCase(), path: path.replace(/^\/+|\/+$|(\.git)?\/*$/g, '') }
}

/** Whether two URLs name the same repository, ignoring scheme, user, a final `.git` and final slashes. */
export function sameRepository(one: string, other: string): boolean {
  const normal = (url: string) => {
    const remote = parseRemote(url)
    return remote ? `${remote.host}/${remote.path}`.toLowerCase() : url.replace(/^file:\/\/|(\/?\.git)?\/*$/g, '')
  }
  return normal(one) === normal(other)
}
