/** Lists the local branches, quickly also with thousands. */
import { Failure } from '../../../core/failure.ts'
import { isRefName, type Objects } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, fields, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Moved } from '../contract/branches.ts'
import { whyNoName } from './ref-names.ts'

export const HEADS = 'refs/heads/'
export const headRef = (branch: string): RefName => `${HEADS}${branch}`
export const branchOfRef = (ref: RefName): string => ref.slice(HEADS.length)

/** The name of an upstream, such as origin/main. */
export const nameOfUpstream = (ref: RefName): string => ref.replace(/^refs\/(remotes|heads)\//, '')

/** What git lists of a branch. `upstream`: the name of a ref. */
type ListedBranch = { name: string; tip: Oid; committed: number; subject: string; upstream: RefName | undefined }

const FORMAT = ['%(refname)', '%(objectname)', '%(committerdate:unix)', '%(upstream)', '%(contents:subject)'].join(
  '%00',
)

/** All local branches by name, with one git process. */
export async function listBranches(repository: Repository): Promise<ListedBranch[]> {
  const { stdout } = await run(repository, ['for-each-ref', `--format=${FORMAT}`, HEADS])
  const lines = stdout.toString('latin1').split('\n').filter(Boolean)
  return lines.map(line => {
    const [ref = '', tip = '', committed, upstream, subject = ''] = line.split('\0')
    return {
      name: branchOfRef(ref),
      tip,
      committed: Number(committed),
      subject: asText(subject),
      upstream: upstream || undefined,
    }
  })
}

/** The names of the local branches that contain a commit. */
export async function branchesWith(repository: Repository, commit: Oid): Promise<string[]> {
  const { stdout } = await run(repository, ['for-each-ref', '--format=%(refname)', '--contains', commit, HEADS])
  const refs = stdout.toString('latin1').split('\n').filter(Boolean)
  return refs.map(branchOfRef)
}

/** The commits of the refs below a prefix, by the rest of their names. */
export async function tipsBelow(repository: Repository, prefix: string): Promise<Map<string, Oid>> {
  const [tips = new Map()] = await tipsBelowEach(repository, [prefix])
  return tips
}

/** The commits of the refs below several prefixes, none of which contains another, with one git process. */
export async function tipsBelowEach(repository: Repository, prefixes: readonly string[]): Promise<Map<string, Oid>[]> {
  const { stdout } = await run(repository, ['for-each-ref', '--format=%(objectname) %(refname)', ...prefixes])
  const lines = stdout.toString('latin1').split('\n').filter(Boolean)
  const all = lines.map(line => line.split(/ (.*)/s) as [Oid, RefName])
  return prefixes.map(prefix => {
    const own = all.filter(([, ref]) => ref.startsWith(prefix))
    return new Map(own.map(([oid, ref]) => [ref.slice(prefix.length), oid]))
  })
}

/** At most this many commits that came into a branch are counted. */
const MAX_COUNTED_COMMITS = 1000
/** At most this many authors are named. */
const MAX_NAMED_AUTHORS = 3

/** How a branch came from one commit to another: how many commits it got, of which authors, and how many it lost. */
export async function cameIn(
  repository: Repository,
  from: Oid,
  to: Oid,
): Promise<Pick<Moved, 'commits' | 'by' | 'gone'>> {
  const [names, { length: gone }] = await Promise.all([
    authorsOf(repository, `${from}..${to}`),
    authorsOf(repository, `${to}..${from}`),
  ])
  return { commits: names.length, by: [...new Set(names)].slice(0, MAX_NAMED_AUTHORS), ...(gone > 0 && { gone }) }
}

/** The author of each of the newest commits in a range. */
async function authorsOf(repository: Repository, range: string): Promise<string[]> {
  const args = ['log', '-z', '--no-show-signature', `--max-count=${MAX_COUNTED_COMMITS}`, '--format=%aN', range, '--']
  // Exit code 128: the old commit has been garbage-collected.
  const { stdout } = await run(repository, args, { ok: [0, 128] })
  return fields(stdout).map(asText)
}

/** Throws a {@link Failure} if git does not accept the name, or not beside the existing branches. */
export function verifyBranchName(name: string, others: readonly string[]): void {
  const words = visiblePath(name)
  const why = name === 'HEAD' ? 'git names the checked-out commit so' : whyNoName(HEADS, name)
  if (why !== undefined) throw new Failure(`${words || 'Nothing'} can't be the name of a branch: ${why}.`)
  if (others.includes(name)) throw new Failure(`There is a branch ${words} already: choose another name.`)
  const inTheWay = others.find(other => other.startsWith(`${name}/`) || name.startsWith(`${other}/`))
  if (inTheWay === undefined) return
  throw new Failure(`Git keeps no branch ${words} beside ${visiblePath(inTheWay)}: choose another name.`)
}

/** The path of an AI's conversation in a branch's tree. */
const SESSION = '.forge/session.json'
/** The list waits until this many branches are compared with their upstreams; the others follow as news. */
const COUNTED_AT_ONCE = 20

export type AheadBehind = { ahead: number; behind: number }

/** Facts about branches that take long to find, cached by the commits that they depend on. */
export class BranchFacts {
  readonly #sessions = new Map<Oid, boolean>()
  readonly #counts = new Map<string, AheadBehind>()
  #counting: Promise<void> | undefined

  constructor(
    readonly objects: Objects,
    /** Called when a branch has been compared with its upstream. */
    readonly onCounted: (branch: string) => void,
  ) {}

  /** Which of these commits contain an AI's conversation. */
  async withSession(tips: readonly Oid[]): Promise<Set<Oid>> {
    const unknown = [...new Set(tips)].filter(tip => !this.#sessions.has(tip))
    if (unknown.length > 0) {
      const infos = await Promise.all(unknown.map(tip => this.objects.info(`${tip}:${SESSION}`)))
      for (const [at, tip] of unknown.entries()) this.#sessions.set(tip, infos[at]?.type === 'blob')
    }
    return new Set(tips.filter(tip => this.#sessions.get(tip)))
  }

  /**
   * How far branches are ahead of and behind their upstreams, and which ones have a remote branch as upstream that does
   * not exist here. Of many branches, some counts are missing here and reported later by `onCounted`.
   */
  async upstreams(
    branches: readonly ListedBranch[],
  ): Promise<{ counts: Map<string, AheadBehind>; gone: ReadonlySet<string> }> {
    const upstreams = await this.#upstreamTips(branches)
    const pairs = branches.flatMap(({ name, tip, upstream }) => {
      const other = upstream && upstreams.get(upstream)
      return other ? [{ name, key: `${tip}...${other}`, isSame: tip === other }] : []
    })
    const unknown = pairs.filter(({ key, isSame }) => !isSame && !this.#counts.has(key))
    await Promise.all(unknown.slice(0, COUNTED_AT_ONCE).map(({ key }) => this.#count(key)))
    const rest = unknown.slice(COUNTED_AT_ONCE)
    if (rest.length > 0 && !this.#counting) this.#counting = this.#countSlowly(rest)
    const counts = new Map(
      pairs.flatMap(({ name, key, isSame }) => {
        const count = isSame ? { ahead: 0, behind: 0 } : this.#counts.get(key)
        return count ? [[name, count] as const] : []
      }),
    )
    const isGone = ({ upstream }: ListedBranch) => upstream?.startsWith('refs/remotes/') && !upstreams.has(upstream)
    return { counts, gone: new Set(branches.filter(isGone).map(({ name }) => name)) }
  }

  async #upstreamTips(branches: readonly ListedBranch[]): Promise<Map<RefName, Oid>> {
    const names = [...new Set(branches.flatMap(({ upstream }) => (upstream && isRefName(upstream) ? [upstream] : [])))]
    const infos = await Promise.all(names.map(name => this.objects.info(`${name}^{commit}`)))
    return new Map(names.flatMap((name, at) => (infos[at] ? [[name, infos[at].oid] as const] : [])))
  }

  async #countSlowly(pairs: readonly { name: string; key: string }[]): Promise<void> {
    try {
      for (const { name, key } of pairs) {
        await this.#count(key)
        this.onCounted(name)
      }
    } catch {
      // The repository is closed or broken: the error is left to the listing of the branches, which meets it, too.
    } finally {
      this.#counting = undefined
    }
  }

  async #count(key: string): Promise<void> {
    const { stdout } = await run(this.objects.repository, ['rev-list', '--left-right', '--count', key, '--'])
    const [ahead = 0, behind = 0] = stdout.toString().trim().split('\t').map(Number)
    this.#counts.set(key, { ahead, behind })
  }
}
