/**
 * A double of GitHub's API: pull requests over real bare repositories, so that heads, bases, mergeability and deleted
 * branches follow git. Every request and answer is validated against GitHub's published description; errors are listed
 * in `violations`.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contains, git, gitWith, tipOf, tryGit } from '../support/git.ts'
import { Description, type Json, type JsonObject, type Operation, REMEDY } from './openapi.ts'

export type RepositorySettings = {
  archived?: boolean
  private?: boolean
  /** Whether the token may push. */
  push?: boolean
  /** The repository that this one is a fork of. */
  parent?: string
  mergeCommit?: boolean
  squash?: boolean
  rebase?: boolean
  /** False where the plan has no draft pull requests. */
  drafts?: boolean
  /** Active rules by branch pattern (a RegExp for the name), as the rules endpoint lists them. */
  rules?: { branch: RegExp; type: string; parameters?: JsonObject }[]
  /** Names of protected branches. */
  protected?: string[]
}

export type Repository = Required<Omit<RepositorySettings, 'parent'>> & { name: string; path: string; parent?: string }

export type Pull = {
  number: number
  repo: Repository
  title: string
  body: string
  head: string
  base: string
  headSha: string
  baseSha: string
  draft: boolean
  state: 'open' | 'closed'
  mergedAt: string | null
  mergeCommit: string | null
  createdAt: string
  updatedAt: string
  closedAt: string | null
  reviews: { login: string; state: string; body: string; commit: string; at: string }[]
  comments: { login: string; body: string; at: string }[]
  /** The pair of commits whose mergeability is known: GitHub computes it in the background. */
  known: string
}

export type Fault = {
  method?: string
  path?: RegExp
  /** The number of requests that the fault affects; undefined: all. */
  times?: number
  status?: number
  message?: string
  errors?: Json[]
  headers?: Record<string, string>
  /** Closes the connection without an answer. */
  cut?: boolean
  /** Milliseconds before the answer. */
  delay?: number
  /** Called just before the answer is made. */
  meanwhile?: () => Promise<unknown>
}

export type Asked = { method: string; path: string; query: string; body: Json | undefined; status: number }

type Reply = { status: number; body?: Json; headers?: Record<string, string> }

const DOCS = 'https://docs.github.com/rest'
const refusal = (status: number, message: string, errors?: Json[]): Reply => ({
  status,
  body: { message, documentation_url: DOCS, status: String(status), ...(errors ? { errors } : {}) },
})
const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')

export class GitHub implements AsyncDisposable {
  readonly asked: Asked[] = []
  readonly violations: string[] = []
  readonly repositories = new Map<string, Repository>()
  readonly pulls: Pull[] = []
  readonly faults: Fault[] = []
  /** The only valid token, its user, and its classic scopes (a fine-grained token has none). */
  token = 'ghp_0123456789abcdefSECRETSECRETSECRETS'
  login = 'me'
  scopes: string | undefined = 'repo, workflow'
  private queue: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly description: Description,
    private readonly server: Server,
    /** The address of GitHub's web pages. */
    private readonly web: string,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.serve(request, response))
  }

  static async start({ web = 'https://github.com' } = {}): Promise<GitHub> {
    const description = await Description.open()
    const server = createServer()
    await new Promise<void>(ready => server.listen(0, '127.0.0.1', ready))
    return new GitHub(description, server, web)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await this.queue
  }

  add(name: string, path: string, settings: RepositorySettings = {}): Repository {
    const repository: Repository = {
      archived: false,
      private: false,
      push: true,
      mergeCommit: true,
      squash: true,
      rebase: true,
      drafts: true,
      rules: [],
      protected: [],
      ...settings,
      name,
      path,
    }
    this.repositories.set(name, repository)
    return repository
  }

  fail(fault: Fault): void {
    this.faults.push(fault)
  }

  /** The recorded requests of a kind, such as `POST /pulls`. */
  requests(method: string, path = /./): Asked[] {
    return this.asked.filter(one => one.method === method && path.test(one.path))
  }

  // Actions of people on GitHub's pages. Each returns when its effects are visible.

  pull(number: number): Pull {
    const pull = this.pulls.find(one => one.number === number)
    if (!pull) throw new Error(`there is no pull request #${number}; there are ${this.pulls.length}`)
    return pull
  }

  /** Updates pull requests from their branches. */
  async settle(): Promise<void> {
    for (const repo of new Set(this.pulls.map(pull => pull.repo))) await this.follow(repo)
  }

  async approve(number: number, login = 'rita'): Promise<void> {
    await this.settle()
    const pull = this.pull(number)
    pull.reviews.push({ login, state: 'APPROVED', body: '', commit: pull.headSha, at: now() })
  }

  async review(number: number, state: 'CHANGES_REQUESTED' | 'COMMENTED', body: string, login = 'rita'): Promise<void> {
    await this.settle()
    const pull = this.pull(number)
    pull.reviews.push({ login, state, body, commit: pull.headSha, at: now() })
  }

  comment(number: number, body: string, login = 'rita'): void {
    this.pull(number).comments.push({ login, body, at: now() })
  }

  editBody(number: number, edit: (body: string) => string): void {
    const pull = this.pull(number)
    pull.body = edit(pull.body)
  }

  async close(number: number): Promise<void> {
    await this.settle()
    const pull = this.pull(number)
    pull.state = 'closed'
    pull.closedAt = now()
  }

  /** Deletes a branch, as GitHub's button does; its open pull request is closed. */
  async deleteBranch(number: number): Promise<void> {
    const pull = this.pull(number)
    await git(pull.repo.path, 'update-ref', '-d', `refs/heads/${pull.head}`)
    await this.settle()
  }

  async merge(number: number, how: 'merge' | 'squash' | 'rebase' = 'merge'): Promise<string> {
    await this.settle()
    const pull = this.pull(number)
    const { path } = pull.repo
    const base = await git(path, 'rev-parse', `refs/heads/${pull.base}`)
    const person = { GIT_AUTHOR_NAME: 'Rita', GIT_AUTHOR_EMAIL: 'rita@fork.example' }
    const env = { ...person, GIT_COMMITTER_NAME: 'GitHub', GIT_COMMITTER_EMAIL: 'noreply@github.com' }
    let result: string
    if (how === 'rebase') {
      const place = await mkdtemp(join(tmpdir(), 'forklift-github-'))
      try {
        await git('/', 'clone', '--quiet', '--shared', path, place)
        await git(place, 'checkout', '--quiet', '--detach', pull.headSha)
        await gitWith(place, ['rebase', '--quiet', base], undefined, env)
        result = await git(place, 'rev-parse', 'HEAD')
        await git(place, 'push', '--quiet', 'origin', `HEAD:refs/heads/${pull.base}`)
      } finally {
        await rm(place, { recursive: true, force: true })
      }
    } else {
      const tree = (await git(path, 'merge-tree', '--write-tree', base, pull.headSha)).split('\n')[0] ?? ''
      const parents = how === 'merge' ? ['-p', base, '-p', pull.headSha] : ['-p', base]
      const message = how === 'merge' ? `Merge pull request #${number}\n\n${pull.title}` : `${pull.title} (#${number})`
      result = await gitWith(path, ['commit-tree', tree, ...parents, '-m', message], undefined, env)
      await git(path, 'update-ref', `refs/heads/${pull.base}`, result, base)
    }
    Object.assign(pull, { state: 'closed', closedAt: now(), mergedAt: now(), mergeCommit: result, baseSha: base })
    return result
  }

  // Answers to requests.

  private async follow(repo: Repository): Promise<void> {
    const open = this.pulls.filter(pull => pull.repo === repo && pull.state === 'open')
    if (open.length === 0) return
    const lines = await git(repo.path, 'for-each-ref', '--format=%(refname:lstrip=2) %(objectname)', 'refs/heads')
    const tips = new Map(lines.split('\n').map(line => line.split(' ') as [string, string]))
    for (const pull of open) await this.followOne(pull, tips.get(pull.head), tips.get(pull.base))
  }

  private async followOne(pull: Pull, head: string | undefined, base: string | undefined): Promise<void> {
    const { path } = pull.repo
    if (head === pull.headSha && base === pull.baseSha) return
    if (base) pull.baseSha = base
    if (!head) {
      pull.state = 'closed'
      pull.closedAt = now()
      return
    }
    if (head !== pull.headSha) {
      pull.headSha = head
      pull.updatedAt = now()
      await git(path, 'update-ref', `refs/pull/${pull.number}/head`, head)
    }
    if (base && (await contains(path, head, base))) {
      Object.assign(pull, { state: 'closed', closedAt: now(), mergedAt: now(), mergeCommit: base })
    }
  }

  /** Handles requests one at a time, so that each sees the effects of the one before. */
  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const { method = 'GET', headers } = request
    const url = new URL(request.url ?? '/', this.url)
    const done = this.queue.then(() => this.answer(method, url, headers, text))
    const sure = done.catch((error: Error): Reply => {
      this.violations.push(`${method} ${url.pathname}: the double failed: ${error.message}`)
      return refusal(500, 'The double failed')
    })
    this.queue = sure
    const reply = await sure
    if (reply === 'cut') {
      request.socket.destroy()
      return
    }
    response.writeHead(reply.status, reply.headers)
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body))
  }

  private async answer(method: string, url: URL, asked: IncomingHttpHeaders, text: string): Promise<Reply | 'cut'> {
    const path = url.pathname.replace(/^\/api\/v3/, '')
    const body = text ? (JSON.parse(text) as Json) : undefined
    if (path === '/graphql') return this.answerGraphql((body ?? {}) as JsonObject)
    const operation = this.description.find(method, path)
    const told = `${method} ${path}${url.search}`
    if (!operation) this.violations.push(`${told}: github-api.json describes no such request: ${REMEDY}`)
    else
      for (const fault of this.description.faultsOfRequest(operation, url.searchParams, body))
        this.violations.push(`${told}: ${fault}`)
    if (!asked['user-agent']) this.violations.push(`${told}: no user agent`)

    const fault = this.faults.find(
      one => (!one.method || one.method === method) && (!one.path || one.path.test(path)) && (one.times ?? 1) > 0,
    )
    let reply: Reply | undefined
    if (fault) {
      if (fault.times !== undefined) fault.times--
      await fault.meanwhile?.()
      if (fault.delay) await Bun.sleep(fault.delay)
      if (fault.cut) {
        this.asked.push({ method, path, query: url.search, body, status: 0 })
        return 'cut'
      }
      if (fault.status) {
        const { status, message = 'Something went wrong', errors, headers } = fault
        reply = { ...refusal(status, message, errors), ...(headers ? { headers } : {}) }
      }
    }
    if (!reply) {
      const authorization = /^(?:token|bearer) (.+)$/i.exec(asked.authorization ?? '')?.[1]
      if (authorization !== this.token)
        reply = refusal(401, authorization ? 'Bad credentials' : 'Requires authentication')
      else if (!operation) reply = refusal(404, 'Not Found')
      else reply = await this.act(method, operation, url, (body ?? {}) as JsonObject)
    }
    if (operation) {
      const faults = this.description.faultsOfAnswer(operation, reply.status, reply.body)
      for (const wrong of fault?.status ? [] : faults) this.violations.push(`${told}: ${wrong}`)
    }
    this.asked.push({ method, path, query: url.search, body, status: reply.status })
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'x-github-request-id': `F0:${this.asked.length.toString(16).padStart(6, '0')}`,
      'x-github-media-type': 'github.v3; format=json',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4999',
      'x-ratelimit-used': '1',
      'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 3600),
      'x-ratelimit-resource': 'core',
      ...(this.scopes === undefined ? {} : { 'x-oauth-scopes': this.scopes, 'x-accepted-oauth-scopes': 'repo' }),
      ...reply.headers,
    }
    return { ...reply, headers }
  }

  /** The only supported mutation: converting a pull request to a draft. */
  private answerGraphql({ query, variables }: JsonObject): Reply {
    const { id } = (variables ?? {}) as JsonObject
    const pull = this.pulls.find(one => `PR_${one.number}` === id)
    const isKnown = `${query}`.includes('convertPullRequestToDraft(input: { pullRequestId: $id })')
    if (!isKnown) this.violations.push(`the double does not know this query: ${query}`)
    this.asked.push({ method: 'POST', path: '/graphql', query: '', body: { id: `${id}` }, status: 200 })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    if (!pull?.repo.drafts)
      return {
        status: 200,
        headers,
        body: { data: null, errors: [{ type: 'UNPROCESSABLE', message: 'Not possible' }] },
      }
    pull.draft = true
    return { status: 200, headers, body: { data: { convertPullRequestToDraft: { clientMutationId: null } } } }
  }

  private async act(method: string, { template, variables }: Operation, url: URL, body: JsonObject): Promise<Reply> {
    if (template === '/user')
      return {
        status: 200,
        body: { ...this.example('private-user-response-with-public-profile-information'), login: this.login },
      }
    const repo = this.repositories.get(`${variables.owner}/${variables.repo}`)
    if (!repo) return refusal(404, 'Not Found')
    await this.follow(repo)
    const query = url.searchParams
    const pull = this.pulls.find(
      one => one.repo === repo && String(one.number) === (variables.pull_number ?? variables.issue_number),
    )
    switch (`${method} ${template.slice('/repos/{owner}/{repo}'.length)}`) {
      case 'GET ':
        return { status: 200, body: await this.repositoryAnswer(repo) }
      case 'GET /rules/branches/{branch}': {
        const rules = repo.rules.filter(rule => rule.branch.test(variables.branch ?? ''))
        return {
          status: 200,
          body: rules.map(({ type, parameters }) => ({
            type,
            ruleset_source_type: 'Repository',
            ruleset_source: repo.name,
            ruleset_id: 42,
            ...(parameters ? { parameters } : {}),
          })),
        }
      }
      case 'GET /branches/{branch}':
        return this.branchAnswer(repo, variables.branch ?? '')
      case 'GET /pulls':
        return this.listPulls(repo, url)
      case 'POST /pulls':
        return this.openPull(repo, body)
      case 'GET /pulls/{pull_number}':
        return pull ? { status: 200, body: await this.pullAnswer(pull) } : refusal(404, 'Not Found')
      case 'PATCH /pulls/{pull_number}':
        return pull ? this.changePull(pull, body) : refusal(404, 'Not Found')
      case 'GET /pulls/{pull_number}/reviews': {
        if (!pull) return refusal(404, 'Not Found')
        const items = pull.reviews.map((review, at) => ({
          ...this.example('pull-request-review-items'),
          id: at + 1,
          user: this.user(review.login),
          body: review.body,
          state: review.state,
          commit_id: review.commit,
          submitted_at: review.at,
        }))
        return paged(items, url, this.url)
      }
      case 'GET /pulls/{pull_number}/commits': {
        if (!pull) return refusal(404, 'Not Found')
        const range = await git(repo.path, 'rev-list', '--reverse', '--topo-order', `${pull.baseSha}..${pull.headSha}`)
        const ids = range.split('\n').filter(Boolean).slice(0, 250)
        return paged(await Promise.all(ids.map(id => this.commitAnswer(repo, id))), url, this.url)
      }
      case 'GET /issues/{issue_number}/comments': {
        if (!pull) return refusal(404, 'Not Found')
        const items = pull.comments.map((comment, at) => ({
          ...this.example('issue-comment-items'),
          id: at + 1,
          user: this.user(comment.login),
          body: comment.body,
          created_at: comment.at,
          updated_at: comment.at,
        }))
        return paged(items, url, this.url)
      }
      case 'GET /git/commits/{commit_sha}': {
        const known = await this.commitFields(repo, variables.commit_sha ?? '')
        if (!known) return refusal(404, 'Not Found')
        const { sha, message, tree, parents, author, committer } = known
        return {
          status: 200,
          body: { ...this.example('git-commit-2'), sha, message, tree, parents, author, committer },
        }
      }
      case 'GET /commits/{ref}': {
        const id = (
          await tryGit(repo.path, ['rev-parse', '--verify', '--quiet', `${variables.ref}^{commit}`])
        ).stdout.trim()
        if (!id) return refusal(422, `No commit found for SHA: ${variables.ref}`)
        query.delete('page')
        return { status: 200, body: await this.commitAnswer(repo, id) }
      }
      default:
        this.violations.push(`${method} ${template}: the double does not know this request`)
        return refusal(404, 'Not Found')
    }
  }

  private example(name: string): JsonObject {
    return this.description.example(name)
  }

  private user(login: string): JsonObject {
    return {
      ...((this.example('pull-request').user ?? {}) as JsonObject),
      login,
      html_url: `https://github.com/${login}`,
    }
  }

  private async repositoryAnswer(repo: Repository, nested = false): Promise<JsonObject> {
    const [owner = '', name = ''] = repo.name.split('/')
    const head = await readFile(join(repo.path, 'HEAD'), 'utf8')
    const example = this.example('full-repository-default-response')
    const forked = repo.parent && !nested ? this.repositories.get(repo.parent) : undefined
    const parent = forked && (await this.repositoryAnswer(forked, true))
    const {
      parent: _parent,
      source: _source,
      organization: _organization,
      template_repository: _template,
      ...rest
    } = example
    return {
      ...rest,
      name,
      full_name: repo.name,
      owner: this.user(owner),
      private: repo.private,
      html_url: `https://github.com/${repo.name}`,
      url: `https://api.github.com/repos/${repo.name}`,
      clone_url: `https://github.com/${repo.name}.git`,
      fork: repo.parent !== undefined,
      language: null,
      archived: repo.archived,
      disabled: false,
      visibility: repo.private ? 'private' : 'public',
      default_branch: head.trim().replace('ref: refs/heads/', ''),
      permissions: { admin: repo.push, maintain: repo.push, push: repo.push, triage: repo.push, pull: true },
      allow_merge_commit: repo.mergeCommit,
      allow_squash_merge: repo.squash,
      allow_rebase_merge: repo.rebase,
      ...(parent ? { parent, source: parent } : {}),
    }
  }

  private async branchAnswer(repo: Repository, branch: string): Promise<Reply> {
    const tip = await tipOf(repo.path, branch)
    if (!tip) return refusal(404, 'Branch not found')
    const isProtected = repo.protected.includes(branch)
    const example = this.example('branch-get')
    const body = { ...example, name: branch, commit: await this.commitAnswer(repo, tip), protected: isProtected }
    return {
      status: 200,
      body: { ...body, protection: { ...((example.protection ?? {}) as JsonObject), enabled: isProtected } },
    }
  }

  private async commitFields(repo: Repository, id: string) {
    const raw = await tryGit(repo.path, [
      'show',
      '-s',
      '--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B',
      id,
    ])
    const [sha, tree = '', parents = '', an = '', ae = '', ad = '', cn = '', ce = '', cd = '', message = ''] =
      raw.stdout.split('\0')
    if (raw.code !== 0 || !sha) return undefined
    const address = `https://api.github.com/repos/${repo.name}/git`
    return {
      sha,
      message: message.trimEnd(),
      tree: { sha: tree, url: `${address}/trees/${tree}` },
      parents: parents
        .split(' ')
        .filter(Boolean)
        .map(parent => ({
          sha: parent,
          url: `${address}/commits/${parent}`,
          html_url: `https://github.com/${repo.name}/commit/${parent}`,
        })),
      author: { name: an, email: ae, date: ad },
      committer: { name: cn, email: ce, date: cd },
    }
  }

  private async commitAnswer(repo: Repository, id: string): Promise<JsonObject> {
    const known = await this.commitFields(repo, id)
    if (!known) throw new Error(`${repo.name} has no commit ${id}`)
    const { files: _files, ...example } = this.example('commit')
    const { sha, message, tree, parents, author, committer } = known
    const inner = (example.commit ?? {}) as JsonObject
    return { ...example, sha, parents, files: [], commit: { ...inner, message, tree, author, committer } }
  }

  private async pullAnswer(pull: Pull, simple = false, itsRepository?: JsonObject): Promise<JsonObject> {
    const { repo } = pull
    const [owner = ''] = repo.name.split('/')
    const example = this.example(simple ? 'pull-request-simple-items' : 'pull-request')
    const repository = itsRepository ?? (await this.repositoryAnswer(repo, true))
    const side = (name: string, sha: string) => ({
      label: `${owner}:${name}`,
      ref: name,
      sha,
      user: this.user(owner),
      repo: repository,
    })
    const address = `https://api.github.com/repos/${repo.name}/pulls/${pull.number}`
    const common: JsonObject = {
      ...example,
      url: address,
      html_url: `${this.web}/${repo.name}/pull/${pull.number}`,
      number: pull.number,
      id: 1000 + pull.number,
      state: pull.state,
      title: pull.title,
      body: pull.body,
      user: this.user(this.login),
      draft: pull.draft,
      node_id: `PR_${pull.number}`,
      created_at: pull.createdAt,
      updated_at: pull.updatedAt,
      closed_at: pull.closedAt,
      merged_at: pull.mergedAt,
      merge_commit_sha: pull.mergeCommit,
      requested_teams: [],
      requested_reviewers: [],
      labels: [],
      head: side(pull.head, pull.headSha),
      base: side(pull.base, pull.baseSha),
    }
    if (simple) return common
    // GitHub computes mergeability in the background: the first request after a change gets null.
    const pair = `${pull.baseSha}..${pull.headSha}`
    const known = pull.state === 'open' && pull.known === pair
    pull.known = pair
    const clean =
      known && (await tryGit(repo.path, ['merge-tree', '--write-tree', pull.baseSha, pull.headSha])).code === 0
    return {
      ...common,
      merged: pull.mergedAt !== null,
      merged_by: pull.mergedAt ? this.user('rita') : null,
      mergeable: known ? clean : null,
      rebaseable: known ? clean : null,
      mergeable_state: !known ? 'unknown' : clean ? (pull.draft ? 'draft' : 'clean') : 'dirty',
      comments: pull.comments.length,
      review_comments: 0,
      commits: Number(await git(repo.path, 'rev-list', '--count', pair)),
    }
  }

  private async listPulls(repo: Repository, url: URL): Promise<Reply> {
    const query = url.searchParams
    const state = query.get('state') ?? 'open'
    const [user, head] = (query.get('head') ?? '').split(/:(.*)/)
    const base = query.get('base')
    const key = query.get('sort') === 'updated' ? 'updatedAt' : 'createdAt'
    const sign =
      (query.get('direction') ?? (query.get('sort') && query.get('sort') !== 'created' ? 'asc' : 'desc')) === 'asc'
        ? 1
        : -1
    const found = this.pulls
      .filter(pull => pull.repo === repo && (state === 'all' || pull.state === state))
      .filter(pull => base === null || pull.base === base)
      // GitHub ignores a head filter without an owner.
      .filter(pull => head === undefined || (pull.head === head && repo.name.startsWith(`${user}/`)))
      .sort((a, b) => sign * (a[key].localeCompare(b[key]) || a.number - b.number))
    const repository = await this.repositoryAnswer(repo, true)
    return paged(await Promise.all(found.map(pull => this.pullAnswer(pull, true, repository))), url, this.url)
  }

  private async openPull(repo: Repository, body: JsonObject): Promise<Reply> {
    const invalid = (field: string): Reply =>
      refusal(422, 'Validation Failed', [{ resource: 'PullRequest', field, code: 'invalid' }])
    const custom = (message: string): Reply =>
      refusal(422, 'Validation Failed', [{ resource: 'PullRequest', code: 'custom', message }])
    if (!repo.push) return refusal(403, 'Resource not accessible by personal access token')
    if (repo.archived) return refusal(403, 'Repository was archived so is read-only.')
    const [owner = ''] = repo.name.split('/')
    const head = String(body.head).replace(new RegExp(`^${owner}:`), '')
    const base = String(body.base)
    const headSha = await tipOf(repo.path, head)
    const baseSha = await tipOf(repo.path, base)
    if (!baseSha) return invalid('base')
    if (!headSha) return invalid('head')
    if (this.pulls.some(one => one.repo === repo && one.state === 'open' && one.head === head && one.base === base))
      return custom(`A pull request already exists for ${owner}:${head}.`)
    if (await contains(repo.path, headSha, baseSha)) return custom(`No commits between ${base} and ${head}`)
    if (body.draft === true && !repo.drafts)
      return refusal(422, 'Draft pull requests are not supported in this repository.')
    const tooLong = tooLongIn(body)
    if (tooLong) return tooLong
    const pull: Pull = {
      number: this.pulls.length + 1,
      repo,
      title: String(body.title),
      body: typeof body.body === 'string' ? body.body : '',
      head,
      base,
      headSha,
      baseSha,
      draft: body.draft === true,
      state: 'open',
      mergedAt: null,
      mergeCommit: null,
      createdAt: now(),
      updatedAt: now(),
      closedAt: null,
      reviews: [],
      comments: [],
      known: '',
    }
    this.pulls.push(pull)
    await git(repo.path, 'update-ref', `refs/pull/${pull.number}/head`, headSha)
    return { status: 201, body: await this.pullAnswer(pull) }
  }

  private async changePull(pull: Pull, body: JsonObject): Promise<Reply> {
    if (!pull.repo.push) return refusal(403, 'Resource not accessible by personal access token')
    const tooLong = tooLongIn(body)
    if (tooLong) return tooLong
    if (typeof body.title === 'string') pull.title = body.title
    if (typeof body.body === 'string') pull.body = body.body
    if (body.state === 'closed' && pull.state === 'open') Object.assign(pull, { state: 'closed', closedAt: now() })
    if (body.state === 'open' && pull.state === 'closed' && !pull.mergedAt)
      Object.assign(pull, { state: 'open', closedAt: null })
    pull.updatedAt = now()
    return { status: 200, body: await this.pullAnswer(pull) }
  }
}

const tooLongIn = (body: JsonObject): Reply | undefined =>
  typeof body.body === 'string' && [...body.body].length > 65536
    ? refusal(422, 'Validation Failed', [
        { resource: 'Issue', code: 'custom', field: 'body', message: 'body is too long (maximum is 65536 characters)' },
      ])
    : typeof body.title === 'string' && body.title.length > 256
      ? refusal(422, 'Validation Failed', [
          {
            resource: 'Issue',
            code: 'custom',
            field: 'title',
            message: 'title is too long (maximum is 256 characters)',
          },
        ])
      : undefined

/** One page of a list, with the Link header to the other pages. */
function paged(items: Json[], url: URL, origin: string): Reply {
  const size = Number(url.searchParams.get('per_page') ?? 30)
  const page = Number(url.searchParams.get('page') ?? 1)
  const last = Math.max(1, Math.ceil(items.length / size))
  const link = (to: number, rel: string) => {
    const query = new URLSearchParams(url.searchParams)
    query.set('page', String(to))
    return `<${origin}${url.pathname}?${query}>; rel="${rel}"`
  }
  const links = [
    ...(page > 1 ? [link(page - 1, 'prev'), link(1, 'first')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
  ]
  return {
    status: 200,
    body: items.slice((page - 1) * size, page * size),
    headers: links.length > 0 ? { link: links.join(', ') } : {},
  }
}
