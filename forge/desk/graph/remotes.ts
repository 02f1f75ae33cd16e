/** Describes the remotes of a repository for the page. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Ref, readHead } from '../../../core/git/refs.ts'
import { asText, fields, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { Refs } from '../contract/graph.ts'
import { withoutSecret } from '../reading/remote-url.ts'

const REMOTES = 'refs/remotes/'
const TAGS = 'refs/tags/'

/** Describes refs for the side bar and the labels, with all configured remotes, also those without branches. */
export async function describeRefs(repository: Repository, listed: readonly Ref[]): Promise<Refs> {
  const [urls, fetched, head] = await Promise.all([urlsOf(repository), lastFetch(repository), readHead(repository)])
  const branches = listed.filter(({ name, symbolic }) => name.startsWith(REMOTES) && symbolic === undefined)
  const defaults = new Set(listed.flatMap(({ name, symbolic }) => (name.endsWith('/HEAD') && symbolic) || []))
  const names = new Set(urls.keys())
  for (const { name } of branches) if (!remoteOf(name, names)) names.add(firstPart(name))
  const remotes = [...names].sort().map(name => {
    const own = branches.filter(ref => remoteOf(ref.name, names) === name)
    const url = urls.get(name)
    const prefix = `${REMOTES}${name}/`
    return {
      name,
      ...(url !== undefined && { url }),
      branches: own.map(ref => ({
        ref: ref.name,
        name: ref.name.slice(prefix.length),
        tip: ref.peeled ?? ref.oid,
        ...(defaults.has(ref.name) && { isDefault: true }),
      })),
    }
  })
  const tags = listed
    .filter(({ name }) => name.startsWith(TAGS))
    .map(({ name, oid, peeled }) => ({
      ref: name,
      name: name.slice(TAGS.length),
      tip: peeled ?? oid,
      ...(peeled !== undefined && { annotated: oid }),
    }))
  const detached = head.ref === undefined ? head.oid : undefined
  return { remotes, tags, ...(detached !== undefined && { detached }), ...(fetched !== undefined && { fetched }) }
}

const firstPart = (ref: string): string => ref.slice(REMOTES.length).split('/')[0] ?? ''

/** The remote that a ref belongs to. If one remote is origin and another origin/mirror, the longer name counts. */
function remoteOf(ref: string, names: ReadonlySet<string>): string | undefined {
  let found: string | undefined
  for (const name of names) if (ref.startsWith(`${REMOTES}${name}/`) && name.length > (found?.length ?? 0)) found = name
  return found
}

async function urlsOf(repository: Repository): Promise<Map<string, string>> {
  const { stdout } = await run(repository, ['config', '-z', '--get-regexp', '^remote\\..*\\.url$'], { ok: [0, 1] })
  const urls = new Map<string, string>()
  for (const field of fields(stdout)) {
    const [key = '', url = ''] = field.split(/\n(.*)/s)
    const name = key.slice('remote.'.length, -'.url'.length)
    if (!urls.has(name)) urls.set(name, withoutSecret(asText(url)))
  }
  return urls
}

/**
 * The time of the last fetch, from FETCH_HEAD, the file in which git lists what was fetched. The file is empty after a
 * failed fetch.
 */
async function lastFetch({ gitDir, commonDir }: Repository): Promise<number | undefined> {
  const paths = [...new Set([gitDir, commonDir])].map(folder => join(folder, 'FETCH_HEAD'))
  const found = await Promise.all(paths.map(path => stat(path).catch(() => undefined)))
  const times = found.flatMap(it => (it && it.size > 0 ? [Math.floor(it.mtimeMs / 1000)] : []))
  return times.length > 0 ? Math.max(...times) : undefined
}
