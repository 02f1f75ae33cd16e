/** GitHub as a host of pull requests: its repositories, tokens, API requests, and error messages. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Octokit } from '@octokit/core'
import * as v from 'valibot'
import type { Shell } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { parseRemote } from '../core/git/remote-url.ts'
import type { Oid } from '../core/git/repository.ts'
import { visible } from '../core/text.ts'
import type {
  BranchRules,
  HostedRepository,
  HostFound,
  HostKind,
  HostSearch,
  PageFormat,
  PullRequest,
  PullRequestHost,
  Pulls,
} from './host.ts'

type Environment = Record<string, string | undefined>

/** A repository on GitHub: `web` is the address of its page, `api` that of the REST API of its GitHub. */
type GitHubPlace = { host: string; owner: string; name: string; web: string; api: string }
export type Token = { value: string; source: string }

/**
 * Finds the GitHub repository of a remote, by the first of its URLs (as configured, then as git rewrites it) whose host
 * has a dot. Whether a host other than github.com and ghe.com is a GitHub, only a token for it can tell: {@link
 * findToken}.
 */
export function gitHubPlaceOf(urls: readonly string[], env: Environment): GitHubPlace | undefined {
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

/** Whether GitHub itself runs the host; otherwise it may be a GitHub Enterprise Server. */
const isHosted = (host: string): boolean => host === 'github.com' || host.endsWith('.ghe.com')

/** Finds a token for a host. Git's credential helpers are only asked for github.com and ghe.com. */
async function findToken(host: string, env: Environment, sh: Shell): Promise<Token | undefined> {
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
  throw new Failure(`The token from ${source} contains characters that are invalid in a token: set it again.`)
}

/**
 * The environment in which git gets the token for a push URL, unless the user's own credential helpers have a password
 * for it. The helpers are switched off then, since git would let them store the token. Only for the token's own host
 * over https, and for local http: a token must not be sent unencrypted over a network.
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

/** Finds the GitHub of origin. A host that GitHub does not run itself counts as one if there is a token for it. */
async function find({ urls, env, sh, signal }: HostSearch): Promise<HostFound> {
  const place = gitHubPlaceOf(urls, env)
  if (!place) {
    const host = parseRemote(urls[0] ?? '')?.host ?? ''
    return host && !host.includes('.')
      ? { whyNot: `${visible(host)} is not a full host name, so which GitHub it stands for is unknown` }
      : {}
  }
  const token = await findToken(place.host, env, sh)
  if (token) return { host: new GitHub(place, token, signal) }
  if (isHosted(place.host)) throw new Failure(`There is no token for ${place.host}: set GH_TOKEN or run gh auth login.`)
  return { whyNot: `there is no token for ${visible(place.host)}, so it does not count as a GitHub` }
}

/** The password from the user's own credential helpers; undefined where it is empty. */
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

type Pull = v.InferOutput<typeof PullSchema>

const pullRequestOf = (pull: Pull): PullRequest => ({
  number: pull.number,
  id: pull.node_id,
  url: pull.html_url,
  title: pull.title,
  body: pull.body ?? '',
  isOpen: pull.state === 'open',
  isDraft: pull.draft,
  isMerged: Boolean(pull.merged_at),
  mergedAs: pull.merge_commit_sha ?? undefined,
  branch: pull.head.ref,
  tip: pull.head.sha,
  into: pull.base.ref,
})

/** A repository in GitHub's API. */
type RepositoryOnGitHub = v.InferOutput<typeof RepositorySchema> & {
  /** The scopes of a classic token; undefined for other tokens, which do not show theirs. */
  scopes: string[] | undefined
}

/** At most this many closed pull requests are listed. */
const MAX_CLOSED_PULLS = 200

/** One repository on GitHub, accessed with one token. `signal` aborts requests. */
export class GitHub implements PullRequestHost {
  readonly name = 'GitHub'
  readonly page = PAGE
  readonly #octokit: Octokit
  #own: Promise<RepositoryOnGitHub> | undefined

  constructor(
    readonly place: GitHubPlace,
    readonly token: Token,
    readonly signal: AbortSignal,
  ) {
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    this.#octokit = new Octokit({ auth: token.value, baseUrl: place.api, userAgent: 'forklift', log })
  }

  get tokenSource(): string {
    return this.token.source
  }

  get web(): string {
    return this.place.web
  }

  async verifyPublishable(upstream: readonly string[]): Promise<HostedRepository> {
    const theirs = gitHubPlaceOf(upstream, {})
    const mayLook = theirs?.host === this.place.host
    const [mine, ofUpstream] = await Promise.all([
      this.#repository(),
      mayLook ? this.#askAbout(theirs).catch(() => undefined) : undefined,
    ])
    const name = mine.full_name
    if (mine.archived) throw new Failure(`${name} is archived, nothing can be pushed: unarchive it in its settings.`)
    if (mine.permissions?.push === false)
      throw new Failure(`The token from ${this.token.source} may not push to ${name}: use one that may.`)
    if (ofUpstream?.parent?.full_name === name)
      throw new Failure('upstream is a fork of origin, so the names are swapped: git remote rename both.')
    const buttons = {
      merge: mine.allow_merge_commit,
      squash: mine.allow_squash_merge,
      rebase: mine.allow_rebase_merge,
    }
    return { name, buttons }
  }

  /**
   * The folder in which the token may not push changes: that of workflows, for a classic token without the scope
   * `workflow`. Undefined for all others: GitHub lists the scopes of classic tokens only.
   */
  async lockedFolder(): Promise<{ path: string; why: string } | undefined> {
    const { scopes } = await this.#repository()
    if (!scopes || scopes.includes('workflow')) return undefined
    return { path: '.github/workflows', why: `the token lacks the workflow scope: ${GET_WORKFLOW_SCOPE}` }
  }

  /** The repository in GitHub's API, requested once. It may have been renamed since the remote was configured. */
  async #repository(): Promise<RepositoryOnGitHub> {
    this.#own ??= this.#askAbout(this.place)
    return await this.#own
  }

  async #askAbout({ owner, name }: GitHubPlace): Promise<RepositoryOnGitHub> {
    const { data, headers } = await this.#ask(RepositorySchema, 'GET', '', { owner, repo: name })
    return { ...data, scopes: headers['x-oauth-scopes'] ? headers['x-oauth-scopes'].split(/, */) : undefined }
  }

  async rulesFor(branch: string): Promise<BranchRules> {
    const types = v.array(v.object({ type: v.string() }))
    const answer = this.#ask(types, 'GET', '/rules/branches/{branch}', { branch, per_page: 100 })
    const rules = await answer.then(({ data }) => data.map(({ type }) => type)).catch((): string[] => [])
    return {
      forbidsCreation: rules.includes('creation'),
      wantsSignatures: rules.includes('required_signatures'),
      forbidsMergeCommits: rules.includes('required_linear_history'),
    }
  }

  async credentialsFor(url: string, sh: Shell): Promise<Record<string, string>> {
    return await credentialHelper(url, this, sh)
  }

  async pulls(): Promise<Pulls> {
    const [open, closed] = await Promise.all([this.#list('open'), this.#list('closed'), this.#repository()])
    return {
      open: await this.#ownOf(open),
      closed: await this.#ownOf(closed),
      mayBeMore: closed.length >= MAX_CLOSED_PULLS,
    }
  }

  async pullsInto(base: string, state: 'open' | 'closed'): Promise<PullRequest[]> {
    return await this.#ownOf(await this.#list(state, { base }))
  }

  async pullsFrom(branch: string, base: string): Promise<PullRequest[]> {
    return await this.#from(branch, base, 'all')
  }

  async #from(branch: string, base: string, state: 'open' | 'all'): Promise<PullRequest[]> {
    const { full_name: name } = await this.#repository()
    const found = await this.#list(state, { base, head: `${name.split('/')[0]}:${branch}` })
    return (await this.#ownOf(found)).filter(pull => pull.branch === branch)
  }

  /**
   * Lists pull requests from anywhere, most recently updated first: up to 1,000 open ones, or the newest 200 of others.
   */
  async #list(state: 'open' | 'closed' | 'all', filter: { base?: string; head?: string } = {}): Promise<Pull[]> {
    const found: Pull[] = []
    const most = state === 'open' ? 1_000 : MAX_CLOSED_PULLS
    for (let page = 1; found.length < most; page++) {
      const params = { state, ...filter, sort: 'updated', direction: 'desc', per_page: 100, page }
      const { data } = await this.#ask(v.array(PullSchema), 'GET', '/pulls', params)
      found.push(...data)
      if (data.length < 100) break
    }
    return found
  }

  /** Selects the pull requests whose branch is in this repository, not in a fork of it. */
  async #ownOf(pulls: readonly Pull[]): Promise<PullRequest[]> {
    const name = (await this.#repository()).full_name.toLowerCase()
    return pulls.filter(pull => pull.head.repo?.full_name.toLowerCase() === name).map(pullRequestOf)
  }

  async attention({ number }: PullRequest): Promise<{ approved: boolean; lastSign: string }> {
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

  async commitMessage(oid: Oid): Promise<string | undefined> {
    try {
      const commit = await this.#ask(v.object({ message: v.string() }), 'GET', `/git/commits/${oid}`, {})
      return commit.data.message
    } catch (error) {
      if (error instanceof GitHubError && error.status === 404) return undefined
      throw error
    }
  }

  async open(pull: { title: string; head: string; base: string; body: string; draft: boolean }): Promise<PullRequest> {
    try {
      return pullRequestOf((await this.#ask(PullSchema, 'POST', '/pulls', pull)).data)
    } catch (error) {
      if (!(error instanceof GitHubError) || error.status !== 422) throw error
      const [same] = await this.#from(pull.head, pull.base, 'open')
      if (same) return same
      if (pull.draft) return await this.open({ ...pull, draft: false })
      throw error
    }
  }

  async update({ number }: PullRequest, text: { title: string; body: string }): Promise<PullRequest> {
    return pullRequestOf((await this.#ask(PullSchema, 'PATCH', `/pulls/${number}`, text)).data)
  }

  /**
   * Converts a pull request to a draft. Gives whether it is a draft afterwards: not every repository supports drafts,
   * and not every token may convert one.
   */
  async makeDraft({ id, isDraft }: PullRequest): Promise<boolean> {
    if (isDraft || id === undefined) return isDraft
    // Only GitHub's GraphQL API can convert a pull request to a draft.
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

  linkToOpen(head: string, base: string): string {
    const inUrl = (branch: string) => branch.split('/').map(encodeURIComponent).join('/')
    return `${this.web}/compare/${inUrl(base)}...${inUrl(head)}?expand=1`
  }

  /** Sends a request about the repository, and repeats it a limited number of times where GitHub says to try later. */
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

/** A failed response of GitHub. Without a response, `status` is undefined, or 500 without headers. */
type Answer = Error & {
  status?: number
  response?: { headers: Record<string, string | undefined>; data?: { message?: string; errors?: unknown[] } }
}

class GitHubError extends Failure {
  constructor(
    message: string,
    readonly status: number | undefined,
  ) {
    super(message)
  }
}

/**
 * Seconds that Forklift waits at most for GitHub's rate limit to end, and the assumed wait where GitHub names no time.
 */
const MAX_WAIT_SECONDS = 60
/** The longest wait that an error message names, in minutes: a longer one can't come from GitHub's rate limit. */
const MAX_TOLD_MINUTES = 24 * 60
const isLimit = ({ status, response }: Answer): boolean =>
  status === 429 ||
  (status === 403 &&
    (response?.headers['x-ratelimit-remaining'] === '0' ||
      response?.headers['retry-after'] !== undefined ||
      /rate limit/i.test(response?.data?.message ?? '')))

function limitEnds({ response }: Answer): number {
  const { 'retry-after': after, 'x-ratelimit-reset': reset } = response?.headers ?? {}
  if (after) return Number(after) || MAX_WAIT_SECONDS
  return reset ? Number(reset) - Date.now() / 1000 + 1 : MAX_WAIT_SECONDS
}

function secondsToWait(error: Answer, attempt: number): number | undefined {
  if (attempt > 3) return undefined
  if (isLimit(error)) return limitEnds(error) <= MAX_WAIT_SECONDS ? Math.max(limitEnds(error), 1) : undefined
  return !error.response || (error.status ?? 0) >= 500 ? attempt ** 2 / 4 : undefined
}

function explain(error: Answer, repository: string, source: string, api: string): string {
  const { status, response } = error
  const said = visible(response?.data?.message ?? '').slice(0, 200)
  if (!response) return `${api} can't be reached (${visible(error.message).slice(0, 120)}): check the network.`
  if (isLimit(error)) {
    const minutes = Math.ceil(limitEnds(error) / 60)
    const when = minutes <= MAX_TOLD_MINUTES ? `in ${minutes} min` : 'later'
    return `GitHub's rate limit for the token from ${source} is used up: run forklift again ${when}.`
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

const GET_WORKFLOW_SCOPE = 'gh auth refresh -s workflow'

function whyRefused(printed: string): string | undefined {
  if (!/refusing to allow .* workflow|without `workflow` scope/.test(printed)) return undefined
  return `The token lacks the workflow scope that this push needs: ${GET_WORKFLOW_SCOPE}.`
}

/** How GitHub formats a pull request's text, and what it calls its own buttons. */
export const PAGE: PageFormat = {
  maxBodyChars: 65_535,
  warning: lines => ['> [!WARNING]', ...lines.map(line => `> ${line}`)].join('\n'),
  // A direct link to a commit shows up in the other repository's timeline; a link through GitHub's redirect does not.
  commitLink: (web, oid) => `${web.replace('https://github.com/', 'https://redirect.github.com/')}/commit/${oid}`,
  mergeWith: 'choose **Create a merge commit**',
  allowMergeCommits: 'Settings, General, **Allow merge commits**',
  syncFork: "**Sync fork** on the fork's page",
}

export const GITHUB: HostKind = {
  find,
  webOf: urls => gitHubPlaceOf(urls, {})?.web,
  whyRefused,
}
