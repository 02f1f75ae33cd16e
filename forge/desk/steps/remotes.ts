/** The remotes of a repository for steps: their names, refspecs and secrets. */
import { Failure } from '../../../core/failure.ts'
import { isRefName } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, fields, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { HEADS, headRef } from '../branches/branches.ts'
import { OWN_REFS } from '../refs.ts'

/** The settings of a remote. `name`: a byte string, as on the page. */
export type RemoteSettings = {
  name: string
  /** The refspecs that map fetched refs to tracking refs. */
  fetch: readonly string[]
  /** Whether the remote is fetched only when named (skipFetchAll). */
  isSkipped: boolean
}

export type Remotes = {
  all: readonly RemoteSettings[]
  /** Texts to hide: names, passwords and keys in addresses. */
  secrets: readonly string[]
}

const KEYS = '^(remote\\..*\\.(url|pushurl|fetch|skipfetchall|skipdefaultupdate)|url\\..*\\.(insteadof|pushinsteadof))$'

/** All remotes with an address, by name. */
export async function readRemotes(repository: Repository): Promise<Remotes> {
  const { stdout } = await run(repository, ['config', '-z', '--get-regexp', KEYS], { ok: [0, 1] })
  const found = new Map<string, { fetch: string[]; isSkipped: boolean; hasUrl: boolean }>()
  const secrets = new Set<string>()
  for (const field of fields(stdout)) {
    const [key = '', value] = field.split(/\n(.*)/s)
    const name = key.slice(key.indexOf('.') + 1, key.lastIndexOf('.'))
    const variable = key.slice(key.lastIndexOf('.') + 1)
    if (key.startsWith('url.')) {
      for (const secret of secretsOf(asText(name))) secrets.add(secret)
      continue
    }
    const remote = found.get(name) ?? { fetch: [], isSkipped: false, hasUrl: false }
    found.set(name, remote)
    if (variable === 'fetch') remote.fetch.push(value ?? '')
    else if (variable.startsWith('skip')) remote.isSkipped = value === undefined || /^(true|yes|on|1)$/i.test(value)
    else {
      remote.hasUrl = true
      for (const secret of secretsOf(asText(value ?? ''))) secrets.add(secret)
    }
  }
  const all = [...found].filter(([, { hasUrl }]) => hasUrl)
  return {
    all: all.map(([name, { fetch, isSkipped }]) => ({ name, fetch, isSkipped })),
    // The longest secret comes first, since a shorter one may be part of it.
    secrets: [...secrets].sort((one, other) => other.length - one.length),
  }
}

/** Shorter secrets are not hidden, since they occur in other words. */
const MIN_SECRET_CHARS = 4

/** The name and the password in an address. */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/@:]*)(?::([^/]*))?@/i

/**
 * The parts of an address that may be secret: a password, a user name that is a key, the text after a question mark.
 */
function secretsOf(url: string): string[] {
  const [, user = '', password = ''] = ADDRESS.exec(url) ?? []
  const isKey = /^https?:/i.test(url)
  const [, query = ''] = url.split(/[?#](.*)/s)
  const parts = [password, query, ...(isKey ? [user] : [])]
  return parts.flatMap(part => [part, decoded(part)]).filter(part => part.length >= MIN_SECRET_CHARS)
}

/** Whether an address has a part that is a secret, however short: see {@link secretsOf}. */
export function withSecret(url: string): boolean {
  const [, user = '', password = ''] = ADDRESS.exec(url) ?? []
  return password !== '' || (/^https?:/i.test(url) && (user !== '' || /[?#]/.test(url)))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The remote with a name. Throws a {@link Failure} if there is none. */
export function remoteNamed({ all }: Remotes, name: string): RemoteSettings {
  const remote = all.find(it => it.name === name)
  if (!remote) throw new Failure(`There is no remote ${visiblePath(name)}: add it with git remote add.`)
  verifyUtf8(name)
  return remote
}

/** Throws a {@link Failure} for a name that is not UTF-8, which can't be an argument of git. */
export function verifyUtf8(name: string): void {
  if (Buffer.from(asText(name)).equals(Buffer.from(name, 'latin1'))) return
  throw new Failure(`The name ${visiblePath(name)} is no UTF-8: do this with git in a terminal.`)
}

/** The tracking ref of a remote's ref; undefined if it has none. */
export function trackingRef({ fetch }: RemoteSettings, ref: RefName): RefName | undefined {
  for (const { from, to } of mappings(fetch)) {
    const found = mapped(ref, from, to)
    if (found !== undefined) return found
  }
  return undefined
}

/** The remote's ref that a tracking ref follows; undefined if a fetch of this remote does not write it. */
export function trackedRef(remote: RemoteSettings, tracking: RefName): RefName | undefined {
  for (const { from, to } of mappings(remote.fetch)) {
    const found = mapped(tracking, to, from)
    if (found !== undefined && trackingRef(remote, found) === tracking) return found
  }
  return undefined
}

/**
 * Whether a fetch removes the tracking refs of branches that are gone on a remote: unless `remote.NAME.prune` or
 * `fetch.prune` is false, or a refspec of the remote writes refs that are no remote branches, or those of another
 * remote.
 */
export async function prunes(repository: Repository, { all }: Remotes, remote: RemoteSettings): Promise<boolean> {
  const prefixes = (of: RemoteSettings) => mappings(of.fetch).map(({ to }) => to.split('*')[0] ?? '')
  const own = prefixes(remote)
  const others = all.filter(it => it !== remote).flatMap(prefixes)
  if (own.some(prefix => !prefix.startsWith('refs/remotes/') || others.some(other => other.startsWith(prefix))))
    return false
  verifyUtf8(remote.name)
  for (const key of [`remote.${asText(remote.name)}.prune`, 'fetch.prune']) {
    const { stdout } = await run(repository, ['config', '--type=bool', '--get', key], { ok: [0, 1] })
    const value = stdout.toString().trim()
    if (value !== '') return value === 'true'
  }
  return true
}

/** The two sides of refspecs, without those that exclude refs or keep none. */
function mappings(refspecs: readonly string[]): { from: string; to: string }[] {
  const sides = refspecs.map(refspec => refspec.replace(/^\+/, '').split(':'))
  return sides.flatMap(([from = '', to = '']) => (to === '' || from.startsWith('^') ? [] : [{ from, to }]))
}

/** The ref that a mapping, with or without a `*` on both sides, makes of a ref; undefined if it does not apply. */
function mapped(ref: RefName, from: string, to: string): RefName | undefined {
  if (from === ref) return to
  const [before, after] = from.split('*')
  if (before === undefined || after === undefined) return undefined
  const isMatch = ref.length >= before.length + after.length && ref.startsWith(before) && ref.endsWith(after)
  return isMatch ? to.replace('*', () => ref.slice(before.length, ref.length - after.length)) : undefined
}

/** The prefixes of refs that a fetch must not write: the forge's, and the user's branches. */
const OWN = [HEADS, OWN_REFS]

/** Throws a {@link Failure} if a fetch would write local branches, which an undo would not restore. */
export function verifyKeepsBranches({ name, fetch }: RemoteSettings): void {
  const odd = fetch.find(refspec => {
    const [from = '', to = ''] = refspec.replace(/^\+/, '').split(':')
    if (to === '' || from.startsWith('^')) return false
    if (!to.startsWith('refs/')) return true
    const [prefix = ''] = to.split('*')
    return OWN.some(own => prefix.startsWith(own) || (to.includes('*') && own.startsWith(prefix)))
  })
  if (odd === undefined) return
  throw new Failure(
    `${visiblePath(name)} is a mirror, whose fetch would replace branches of this repository (${visiblePath(odd)}): nothing was fetched; do it with git in a terminal.`,
  )
}

/** The configured upstream of a branch. */
export type Upstream = { remote: string; ref: RefName; tracking: RefName | undefined }

/** The upstream of a branch; undefined if it has none. The remote is `.` for another local branch. */
export async function upstreamOf(repository: Repository, branch: string): Promise<Upstream | undefined> {
  const names = ['upstream:remotename', 'upstream:remoteref', 'upstream']
  const [remote, ref, tracking] = await fieldsOf(repository, branch, names)
  return remote && ref ? { remote, ref, tracking: tracking || undefined } : undefined
}

/**
 * The remote that `git push` is configured to push a branch to: its pushRemote, remote.pushDefault, or the remote of
 * its upstream. Without a branch: remote.pushDefault, for a tag. Undefined if none of these is set.
 */
export async function pushRemote(repository: Repository, branch?: string): Promise<string | undefined> {
  if (branch !== undefined) {
    const [remote] = await fieldsOf(repository, branch, ['push:remotename'])
    return remote || undefined
  }
  const { stdout } = await run(repository, ['config', '-z', '--get', 'remote.pushDefault'], { ok: [0, 1] })
  return fields(stdout)[0]
}

/** Fields of `git for-each-ref` about a branch; none if there is no such branch. */
async function fieldsOf(repository: Repository, branch: string, names: readonly string[]): Promise<string[]> {
  const name = headRef(branch)
  if (!isRefName(name)) return []
  verifyUtf8(branch)
  const format = `--format=${['refname', ...names].map(it => `%(${it})`).join('%00')}`
  const { stdout } = await run(repository, ['for-each-ref', format, asText(name)])
  const lines = stdout.toString('latin1').split('\n')
  return (
    lines
      .find(it => it.startsWith(`${name}\0`))
      ?.split('\0')
      .slice(1) ?? []
  )
}
