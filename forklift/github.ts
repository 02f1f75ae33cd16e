/** GitHub: where origin lives, which token opens it, what is asked of it, and its errors in words. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Octokit } from '@octokit/core'
import * as v from 'valibot'
import type { Shell } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { parseRemote } from '../core/git/remote-url.ts'
import { visible } from '../core/text.ts'

type Environment = Record<string, string | undefined>

/** A repository on a GitHub: `web` is its page, `api` the address of that GitHub's REST API. */
export type Place = { host: string; owner: string; name: string; web: string; api: string }
export type Token = { value: string; source: string }

/**
 * Which GitHub a remote is on, by the first of its URLs (as configured, then as git rewrites it) whose host has a dot.
 * Whether a host that is neither github.com nor ghe.com is a GitHub at all, only a token for it can tell: {@link
 * findToken}.
 */
export function placeOf(urls: string[], env: Environment): Place | undefined {
  const remote = urls.map(parseRemote).find(candidate => candidate?.host.includes('.'))
  const [, owner, name] = /^([\w.-]+)\/([\w.-]+)$/.exec(remote?.path ?? '') ?? []
  if (!remote || !owner || !name) return undefined
  const host = remote.host.replace(/^(ssh|www)\.github\.com$/, 'github.com')
  return {
    host,
    owner,
    name,
    web: `https://${host}/${owner}/${name}`,
    api: env.GITHUB_API_URL?.replace(/\/+$/, '') || apiOf(host),
  }
}

function apiOf(host: string): string {
  if (host === 'github.com') return 'https://api.github.com'
  return host.endsWith('.ghe.com') ? `https://api.${host}` : `https://${host}/api/v3`
}

/** Whether GitHub itself runs it: otherwise it is GitHub Enterprise on somebody's own server. */
export const isHosted = (host: string): boolean => host === 'github.com' || host.endsWith('.ghe.com')

/** The first token there is for a host; only github.com and ghe.com are asked of git's own credential helpers. */
export async function findToken(host: string, env: Environment, sh: Shell): Promise<Token | undefined> {
  const hosted = isHosted(host)
  const names = hosted ? ['GH_TOKEN', 'GITHUB_TOKEN'] : ['GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN']
  const named = names.find(name => env[name])
  if (named) return checkToken(env[named] ?? '', named)
  const patient = sh({ nothrow: true, timeout: '20s' })
  const gh = await patient`gh auth token --hostname ${host}`
  if (gh.exitCode === 0 && gh.stdout.trim()) return checkToken(gh.stdout, 'gh auth token')
  if (!hosted) return undefined
  const password = await askHelpers('https', host, sh)
  return password ? checkToken(password, "git's credential helper") : undefined
}

function checkToken(text: string, source: string): Token {
  const value = text.trim()
  if (/^[\x21-\x7e]+$/.test(value)) return { value, source }
  throw new Failure(`The token from ${source} has characters that no token has: set it again.`)
}

/**
 * The environment in which git gets the token for a push URL, where the user's own helpers have nothing for it. They
 * are left out then, since git would have them keep what ours said. Only for the token's own host over https, and for
 * this machine: a token is not for the open wire.
 */
export async function credentialHelper(
  url: string,
  { place, token }: GitHub,
  sh: Shell,
): Promise<Record<string, string>> {
  const { protocol, hostname, host } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '', host: '' }
  const isLocal = protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(hostname)
  if (!isLocal && !(protocol === 'https:' && hostname === place.host)) return {}
  if (await askHelpers(protocol.slice(0, -1), host, sh)) return {}
  const next = Number(process.env.GIT_CONFIG_COUNT ?? 0)
  const answer = 'printf "username=x-access-token\\npassword=%s\\n" "$FORKLIFT_GIT_TOKEN"'
  const key = `credential.${protocol}//${host}.helper`
  return {
    FORKLIFT_GIT_TOKEN: token.value,
    GIT_CONFIG_COUNT: String(next + 2),
    [`GIT_CONFIG_KEY_${next}`]: key,
    [`GIT_CONFIG_VALUE_${next}`]: '',
    [`GIT_CONFIG_KEY_${next + 1}`]: key,
    [`GIT_CONFIG_VALUE_${next + 1}`]: `!f() { test "$1" = get && ${answer}; }; f`,
  }
}

/** The password that the user's own credential helpers have; an empty one is none. */
async function askHelpers(protocol: string, host: string, sh: Shell): Promise<string | undefined> {
  const asked = {
    nothrow: true,
    timeout: '20s',
    input: `protocol=${protocol}\nhost=${host}\n\n`,
    stdio: 'pipe',
  } as const
  const filled = await sh(asked)`git credential fill`
  return /^password=(.+)$/m.exec(filled.exitCode === 0 ? filled.stdout : '')?.[1]
}

const yes = v.optional(v.boolean(), true)
const Named = v.object({ full_name: v.string() })
const RepositorySchema = v.object({
  full_name: v.string(),
  archived: v.optional(v.boolean(), false),
  parent: v.optional(Named),
  permissions: v.optional(v.object({ push: v.boolean() })),
  allow_merge_commit: yes,
  allow_squash_merge: yes,
  allow_rebase_merge: yes,
})
const OidSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{40,64}$/))
const PullSchema = v.object({
  number: v.number(),
  node_id: v.optional(v.string()),
  draft: v.optional(v.boolean(), false),
  html_url: v.string(),
  title: v.string(),
  body: v.nullish(v.string(), ''),
  state: v.optional(v.string(), 'open'),
  merged_at: v.nullish(v.string()),
  merge_commit_sha: v.nullish(OidSchema),
  head: v.object({ ref: v.string(), sha: OidSchema, repo: v.nullish(Named) }),
  base: v.object({ ref: v.string() }),
})
const Author = { user: v.nullish(v.object({ login: v.string(), type: v.optional(v.string()) })) }
const Reviews = v.array(
  v.object({ ...Author, state: v.string(), author_association: v.string(), submitted_at: v.optional(v.string(), '') }),
)
const Comments = v.array(v.object({ ...Author, created_at: v.string() }))

export type Pull = v.InferOutput<typeof PullSchema>
/**
 * What GitHub says of a repository. `scopes` are those of a classic token; undefined where the token has none to read.
 */
export type RepositoryOnGitHub = v.InferOutput<typeof RepositorySchema> & { scopes: string[] | undefined }

/** One repository on GitHub, seen with one token. `signal` ends what is under way. */
export class GitHub {
  readonly #octokit: Octokit
  /** The repository's name by GitHub's own word: it may have been renamed since the remote was set. */
  #fullName: string
  constructor(
    readonly place: Place,
    readonly token: Token,
    readonly signal: AbortSignal,
  ) {
    this.#fullName = `${place.owner}/${place.name}`
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    this.#octokit = new Octokit({ auth: token.value, baseUrl: place.api, userAgent: 'forklift', log })
  }

  async repository({ owner, name }: { owner: string; name: string } = this.place): Promise<RepositoryOnGitHub> {
    const { data, headers } = await this.#ask(RepositorySchema, 'GET', '', { owner, repo: name })
    if (owner === this.place.owner && name === this.place.name) this.#fullName = data.full_name
    return { ...data, scopes: headers['x-oauth-scopes'] ? headers['x-oauth-scopes'].split(/, */) : undefined }
  }

  /** The types of the rules that hold for a branch; none where this GitHub does not know rules or does not say. */
  async rulesFor(branch: string): Promise<string[]> {
    const types = v.array(v.object({ type: v.string() }))
    const answer = this.#ask(types, 'GET', '/rules/branches/{branch}', { branch, per_page: 100 })
    return await answer.then(({ data }) => data.map(({ type }) => type)).catch(() => [])
  }

  /** Pull requests, the most recently updated first, from anywhere: open ones up to 1,000, of others the newest 200. */
  async pulls(state: 'open' | 'closed' | 'all', filter: { base?: string; head?: string } = {}): Promise<Pull[]> {
    const found: Pull[] = []
    for (let page = 1; page <= (state === 'open' ? 10 : 2); page++) {
      const params = { state, ...filter, sort: 'updated', direction: 'desc', per_page: 100, page }
      const { data } = await this.#ask(v.array(PullSchema), 'GET', '/pulls', params)
      found.push(...data)
      if (data.length < 100) break
    }
    return found
  }

  /** Those from branches of this repository, by the name that {@link repository} has learnt. */
  own(pulls: Pull[]): Pull[] {
    const name = this.#fullName.toLowerCase()
    return pulls.filter(pull => pull.head.repo?.full_name.toLowerCase() === name)
  }

  /** Every pull request there ever was from a branch, or the open one. */
  async pullsFrom(branch: string, base: string, state: 'open' | 'all'): Promise<Pull[]> {
    const found = await this.pulls(state, { base, head: `${this.#fullName.split('/')[0]}:${branch}` })
    return this.own(found).filter(({ head }) => head.ref === branch)
  }

  /**
   * Whether a pull request is approved by someone who may, and when a person last said anything on it (ISO time, or
   * '').
   */
  async attention({ number }: Pull): Promise<{ approved: boolean; lastSign: string }> {
    const [reviews, comments] = await Promise.all([
      this.#ask(Reviews, 'GET', `/pulls/${number}/reviews`, { per_page: 100 }),
      this.#ask(Comments, 'GET', `/issues/${number}/comments`, { per_page: 100 }),
    ])
    const signs = [
      ...reviews.data.map(({ user, submitted_at }) => ({ user, at: submitted_at })),
      ...comments.data.map(({ user, created_at }) => ({ user, at: created_at })),
    ].filter(({ user }) => user?.type !== 'Bot')
    const trusted = reviews.data.filter(it => ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(it.author_association))
    const verdicts = trusted.filter(({ state }) => ['APPROVED', 'CHANGES_REQUESTED', 'DISMISSED'].includes(state))
    const newest = [...new Map(verdicts.map(({ user, state }) => [user?.login, state])).values()]
    const approved = newest.includes('APPROVED') && !newest.includes('CHANGES_REQUESTED')
    return {
      approved,
      lastSign:
        signs
          .map(({ at }) => at)
          .sort()
          .at(-1) ?? '',
    }
  }

  /** The message of a commit that is no longer to be had from a branch. */
  async commitMessage(sha: string): Promise<string> {
    const commit = await this.#ask(v.object({ message: v.string() }), 'GET', `/git/commits/${sha}`, {})
    return commit.data.message
  }

  /** Opens a pull request, no draft where the repository has none; the one that is open already where there is one. */
  async open(pull: { title: string; head: string; base: string; body: string; draft: boolean }): Promise<Pull> {
    try {
      return (await this.#ask(PullSchema, 'POST', '/pulls', pull)).data
    } catch (error) {
      if (!(error instanceof GitHubError) || error.status !== 422) throw error
      const [same] = await this.pullsFrom(pull.head, pull.base, 'open')
      if (same) return same
      if (pull.draft) return await this.open({ ...pull, draft: false })
      throw error
    }
  }

  async update({ number }: Pull, text: { title: string; body: string }): Promise<Pull> {
    return (await this.#ask(PullSchema, 'PATCH', `/pulls/${number}`, text)).data
  }

  /**
   * Makes a draft of a pull request that is ready. Gives whether it is one now: not every repository has drafts, and
   * not every token may do this.
   */
  async makeDraft({ node_id: id, draft }: Pull): Promise<boolean> {
    if (draft || id === undefined) return draft
    // Only GitHub's other interface can do this.
    const mutation =
      'mutation($id: ID!) { convertPullRequestToDraft(input: { pullRequestId: $id }) { clientMutationId } }'
    const request = { signal: AbortSignal.any([this.signal, AbortSignal.timeout(30_000)]) }
    return await this.#octokit.graphql(mutation, { id, request }).then(
      () => true,
      () => {
        this.signal.throwIfAborted()
        return false
      },
    )
  }

  /** Asks about the repository, and again a bounded number of times where GitHub says that later is better. */
  async #ask<S extends v.GenericSchema>(schema: S, method: string, path: string, params: Record<string, unknown>) {
    const { owner, name, api } = this.place
    for (let attempt = 1; ; attempt++) {
      this.signal.throwIfAborted()
      const request = { signal: AbortSignal.any([this.signal, AbortSignal.timeout(30_000)]) }
      try {
        const answer = await this.#octokit.request(`${method} /repos/{owner}/{repo}${path}`, {
          owner,
          repo: name,
          ...params,
          request,
        })
        const parsed = v.safeParse(schema, answer.data)
        if (parsed.success)
          return { data: parsed.output, headers: answer.headers as Record<string, string | undefined> }
        throw new Failure(`${api} does not answer as GitHub does: check GITHUB_API_URL and any proxy between.`)
      } catch (error) {
        this.signal.throwIfAborted()
        if (error instanceof Failure) throw error
        const seconds = secondsToWait(error as Answer, attempt)
        if (seconds === undefined) {
          throw new GitHubError(
            explain(error as Answer, `${owner}/${name}`, this.token.source, api),
            (error as Answer).status,
          )
        }
        await sleep(seconds * 1000, undefined, { signal: this.signal })
      }
    }
  }
}

/** An answer of GitHub that is no success; `status` is undefined or 500 without headers where there was no answer. */
type Answer = Error & {
  status?: number
  response?: { headers: Record<string, string | undefined>; data?: { message?: string; errors?: unknown[] } }
}

export class GitHubError extends Failure {
  constructor(
    message: string,
    readonly status: number | undefined,
  ) {
    super(message)
  }
}

/** GitHub's advice on limits: wait for retry-after, else for the reset of the limit, else a minute. */
const LONGEST_WAIT = 60
const isLimit = ({ status, response }: Answer): boolean =>
  status === 429 ||
  (status === 403 &&
    (response?.headers['x-ratelimit-remaining'] === '0' ||
      response?.headers['retry-after'] !== undefined ||
      /rate limit/i.test(response?.data?.message ?? '')))

function limitEnds({ response }: Answer): number {
  const { 'retry-after': after, 'x-ratelimit-reset': reset } = response?.headers ?? {}
  if (after) return Number(after) || LONGEST_WAIT
  return reset ? Number(reset) - Date.now() / 1000 + 1 : LONGEST_WAIT
}

function secondsToWait(error: Answer, attempt: number): number | undefined {
  if (attempt > 3) return undefined
  if (isLimit(error)) return limitEnds(error) <= LONGEST_WAIT ? Math.max(limitEnds(error), 1) : undefined
  return !error.response || (error.status ?? 0) >= 500 ? attempt ** 2 / 4 : undefined
}

function explain(error: Answer, repository: string, source: string, api: string): string {
  const { status, response } = error
  const said = visible(response?.data?.message ?? '').slice(0, 200)
  if (!response) return `${api} can't be reached (${visible(error.message).slice(0, 120)}): check the network.`
  if (isLimit(error)) {
    const minutes = Math.ceil(limitEnds(error) / 60)
    return `GitHub's rate limit for the token from ${source} is used up: run forklift again in ${minutes} min.`
  }
  if (status === 401)
    return `GitHub does not take the token from ${source} (401): it is wrong or has expired, renew it.`
  if (status === 403) {
    const rights = 'let it write contents and pull requests, and authorise it for single sign-on where there is any'
    return `The token from ${source} may not do this in ${repository} (403, "${said}"): ${rights}.`
  }
  if (status === 404)
    return `GitHub shows no ${repository} to the token from ${source} (404): check its name and access.`
  if (status === 410) return `${repository} has this switched off (410, "${said}"): enable it in its settings.`
  if (status === 422) return `GitHub refused this for ${repository} (422, "${said}${details(response.data?.errors)}").`
  return `GitHub answers with an error of its own (${status}): run forklift again later.`
}

function details(errors: unknown[] | undefined): string {
  const messages = v.safeParse(v.array(v.object({ message: v.string() })), errors ?? [])
  return messages.success ? messages.output.map(({ message }) => `; ${visible(message).slice(0, 200)}`).join('') : ''
}
