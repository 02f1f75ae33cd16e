/** Before anything is written or paid for: the checkout, its remotes, the engine, the image, GitHub. All at once. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Shell } from 'zx/core'
import { bytesOf, fields, type Oid, shellIn } from './git.ts'
import {
  credentialHelper,
  findToken,
  GitHub,
  parseRemote,
  placeOf,
  type Repository,
  sameRepository,
  withoutCredentials,
} from './github.ts'
import { Failure } from './outcome.ts'
import { type OpenCode, type Options, openCodeFile, readOpenCode, stateFolder, timeLimit } from './settings.ts'
import { visible } from './terminal.ts'

export const IMAGE = 'forklift/kitchen-sink:latest'
const HARNESS = join(import.meta.dir, '../harness')
const SSH_OPTIONS = '-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4'

/** A remote as it answered: its default branch, that branch's commit, and all branches. `url` has no credentials. */
export type Remote = { name: 'origin' | 'upstream'; url: string; branch: string; tip: Oid; heads: Map<string, Oid> }
export type Fork = {
  top: string
  project: string
  /** The user's repository: its object folder and object format. */
  objects: string
  format: string
  /** Where runs are kept. */
  state: string
  /** Runs commands in the checkout, never asking, with what git needs to reach both remotes. */
  sh: Shell
  origin: Remote
  upstream: Remote
  identity: { name: string; email: string }
  urls: Checkout['urls']
  /** The page of upstream's repository, where it has one. */
  upstreamWeb?: string | undefined
  github?: GitHub
  repository?: Repository
  openCode: OpenCode
  image: string
  seconds: number
}

/** Runs every check at the same time. `tell` gets a line a check, in order; notes are what does not stop a run. */
export async function lookAround(
  options: Options,
  signal: AbortSignal,
  tell: (name: string, line: string, failure?: Failure) => void,
  note: (text: string) => void,
): Promise<Fork> {
  const file = openCodeFile(process.env)
  const checkout = theCheckout(signal)
  const github = checkout.then(it => theGitHub(it, signal, note))
  // Behind the user's own credential helpers, git gets the token of origin's GitHub.
  const sh = Promise.all([checkout, github]).then(([it, hub]) =>
    it.shell(hub && credentialHelper(it.urls.origin.push, hub.token, process.env)),
  )
  const origin = Promise.all([checkout, sh]).then(([it, shell]) => ask(it, shell, 'origin'))
  const upstream = Promise.all([checkout, sh]).then(([it, shell]) => ask(it, shell, 'upstream'))
  const repository = Promise.all([checkout, github, origin]).then(
    ([it, hub, at]) => hub && gitHubAgrees(it, hub, at, note),
  )
  const engine = theEngine(signal)
  const image = theImage(signal, note)
  const openCode = readOpenCode(file, options)
  const seconds = (async () => timeLimit(process.env))()
  const answered = ({ branch, tip }: Remote) => `${branch} is at ${tip.slice(0, 9)}`
  const checks: [string, Promise<string>][] = [
    ['checkout', checkout.then(it => it.top)],
    ['docker engine', engine],
    ['image', image.then(id => `${IMAGE} ${id.slice(0, 19)}`)],
    ['OpenCode', openCode.then(({ settings }) => `${settings.OPENCODE_MODEL}, as ${visible(file)} says`)],
    ['time limit', seconds.then(it => `${it} seconds`)],
    ['token', github.then(hub => (hub ? `for ${hub.place.host}, from ${hub.token.source}` : 'none needed: no GitHub'))],
    ['origin', origin.then(answered)],
    ['upstream', upstream.then(answered)],
    ['GitHub', repository.then(it => (it ? `${it.fullName} takes branches and pull requests` : 'origin is on none'))],
  ]
  const told = new Set<unknown>()
  await Promise.allSettled(checks.map(([, check]) => check))
  for (const [name, check] of checks) {
    await check.then(
      line => tell(name, line),
      failure => told.has(failure) || tell(name, '', told.add(failure) && failure),
    )
  }
  const { warning, settings } = await openCode
  if (warning) note(warning)
  const hub = await github
  const seen = await repository
  const fork = { ...(await checkout), sh: await sh, origin: await origin, upstream: await upstream, openCode: settings }
  return {
    ...fork,
    image: await image,
    seconds: await seconds,
    ...(hub && { github: hub }),
    ...(seen && { repository: seen }),
  }
}

type Checkout = Awaited<ReturnType<typeof theCheckout>>

async function theCheckout(signal: AbortSignal) {
  const sh = shellIn(process.cwd(), {}, { signal })
  const version = await sh({ nothrow: true })`git version`
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(version.stdout) ?? []
  if (version.exitCode !== 0) throw new Failure('git is not installed: Forklift needs git 2.38 or newer.')
  if (Number(major) * 1000 + Number(minor) < 2038)
    throw new Failure('git is too old: Forklift needs git 2.38 or newer.')
  const facts = ['--is-shallow-repository', '--show-object-format', '--path-format=absolute', '--git-path', 'objects']
  const layout = await sh({ nothrow: true })`git rev-parse ${facts} --show-toplevel`
  const reason = visible(firstLine(layout.stderr))
  if (layout.exitCode !== 0)
    throw new Failure(`This is no checkout of a git repository (${reason}): run forklift in your fork.`)
  const [shallow, format = '', objects = '', ...rest] = layout.stdout.trimEnd().split('\n')
  const top = rest.join('\n')
  if (shallow === 'true')
    throw new Failure('This clone is shallow, the merge base may be missing: git fetch --unshallow origin.')
  const pattern =
    '^(remote\\.(origin|upstream)\\.(url|pushurl)|extensions\\.partialclone|core\\.sshcommand|user\\.(name|email))$'
  const inTop = shellIn(top, {}, { signal })
  const entries = fields(await bytesOf(shell => shell({ nothrow: true })`git config -z --get-regexp ${pattern}`, inTop))
  const config = new Map(entries.map(entry => entry.split(/\n(.*)/s).slice(0, 2) as [string, string]))
  if (config.has('extensions.partialclone')) {
    throw new Failure('This is a partial clone, so its objects are not all here: run forklift in a full clone.')
  }
  const [origin, upstream] = await Promise.all([theUrls(inTop, config, 'origin'), theUrls(inTop, config, 'upstream')])
  if (sameRepository(origin.fetch, upstream.fetch)) {
    throw new Failure(
      'origin and upstream are the same repository: git remote set-url upstream URL-OF-WHAT-WAS-FORKED.',
    )
  }
  const ssh = process.env.GIT_SSH_COMMAND || config.get('core.sshcommand') || process.env.GIT_SSH || 'ssh'
  return {
    top,
    project:
      basename(top)
        .replace(/[^\w.-]+/g, '-')
        .replace(/^[-.]+/, '') || 'fork',
    objects,
    format,
    state: stateFolder(process.env),
    shell: (env: Record<string, string> = {}) =>
      shellIn(top, { GIT_SSH_COMMAND: `${ssh} ${SSH_OPTIONS}`, ...env }, { signal }),
    urls: { origin, upstream },
    identity: {
      name: process.env.GIT_AUTHOR_NAME || config.get('user.name') || 'Forklift',
      email: process.env.GIT_AUTHOR_EMAIL || config.get('user.email') || 'forklift@forklift.invalid',
    },
  }
}

async function theUrls(sh: Shell, config: Map<string, string>, name: 'origin' | 'upstream') {
  const configured = config.get(`remote.${name}.url`)
  if (!configured) {
    const example = name === 'origin' ? 'YOUR-FORK' : 'WHAT-WAS-FORKED'
    throw new Failure(`This checkout has no remote called ${name}: git remote add ${name} URL-OF-${example}.`)
  }
  const [fetch, push] = await Promise.all([sh`git remote get-url ${name}`, sh`git remote get-url --push --all ${name}`])
  const urls = { configured, fetch: fetch.stdout.trim(), push: push.stdout.trim() }
  const pushesElsewhere = !sameRepository(urls.push, urls.fetch) && !sameRepository(urls.push, urls.configured)
  if (name === 'origin' && pushesElsewhere) {
    throw new Failure(
      'origin is pushed to another place than it is fetched from: git config --unset-all remote.origin.pushurl.',
    )
  }
  return urls
}

async function theEngine(signal: AbortSignal): Promise<string> {
  const sh = shellIn('/', {}, { signal, nothrow: true, timeout: '30s' })
  const info = await sh`docker info --format ${'{{json .SecurityOptions}}'}`
  if (info.exitCode === 127) throw new Failure('docker is not installed: install Docker Engine or Docker Desktop.')
  if (/permission denied/i.test(info.stderr)) {
    throw new Failure('The docker engine does not let you in: add yourself to the group docker and log in again.')
  }
  if (info.exitCode !== 0) throw new Failure('The docker engine does not answer: start it (systemctl start docker).')
  if (!/name=(rootless|userns)/.test(info.stdout)) return 'answers'
  throw new Failure(
    'This docker engine maps user ids (rootless or userns-remap), which Forklift can not use: use one that does not.',
  )
}

/** The image's id. A harness that is not the checkout's is worth a note: the container runs the image's. */
async function theImage(signal: AbortSignal, note: (text: string) => void): Promise<string> {
  const sh = shellIn('/', {}, { signal, nothrow: true, timeout: '30s' })
  const format = '{{.Id}} {{with .Config.Labels}}{{index . "forklift.harness"}}{{end}}'
  const image = await sh`docker image inspect --format ${format} ${IMAGE}`
  if (image.exitCode !== 0) {
    throw new Failure(`The image ${IMAGE} is missing: make image (in ${visible(join(HARNESS, '..'))}).`)
  }
  const [id = '', label] = image.stdout.trim().split(/\s+/)
  if (label !== (await harnessDigest())) note(`the image has another harness than this Forklift: make image.`)
  return id
}

/** The same digest as `make image` puts on the image: every file of harness/ in order, name and content ended by NUL. */
export async function harnessDigest(): Promise<string> {
  const digest = createHash('sha256')
  for (const name of (await readdir(HARNESS)).sort()) {
    digest
      .update(`${name}\0`)
      .update(await readFile(join(HARNESS, name)))
      .update('\0')
  }
  return digest.digest('hex')
}

/** Origin's GitHub and the token for it; undefined where origin is on none. */
async function theGitHub({ urls, shell }: Checkout, signal: AbortSignal, note: (text: string) => void) {
  const { configured, fetch } = urls.origin
  const place = placeOf([configured, fetch], process.env)
  const host = parseRemote(configured)?.host
  if (!place && host && !host.includes('.')) {
    note(`which GitHub ${visible(host)} stands for can't be told: the branch will be pushed, without a pull request.`)
  }
  if (!place) return undefined
  const token = await findToken(place.host, process.env, shell())
  if (token) return new GitHub(place, token, signal)
  const hosted = place.host === 'github.com' || place.host.endsWith('.ghe.com')
  if (hosted) throw new Failure(`There is no token for ${place.host}: set GH_TOKEN or run gh auth login.`)
  note(
    `no token for ${visible(place.host)}, so it is taken for no GitHub: the branch will be pushed, without a pull request.`,
  )
  return undefined
}

/** Asks a remote for its branches and which of them is its default one. */
async function ask({ urls: both }: Checkout, sh: Shell, name: 'origin' | 'upstream'): Promise<Remote> {
  const urls = both[name]
  const answer = await sh({ nothrow: true, timeout: '2m' })`git ls-remote --symref ${name} HEAD ${'refs/heads/*'}`
  const url = withoutCredentials(urls.configured)
  if (answer.exitCode !== 0) {
    const reason = visible(withoutCredentials(firstLine(answer.stderr)))
    throw new Failure(
      `${name} (${visible(url)}) does not answer (${reason}): check its URL, the network and your access.`,
    )
  }
  const lines = answer.stdout.split('\n').map(line => line.split('\t'))
  const heads = new Map(
    lines.flatMap(([oid = '', ref]) => (ref?.startsWith('refs/heads/') ? [[ref.slice(11), oid]] : [])),
  )
  const symref = lines.find(([target, ref]) => ref === 'HEAD' && target?.startsWith('ref: refs/heads/'))
  const branch = symref?.[0]?.slice(16) ?? 'main'
  const tip = heads.get(branch)
  if (!tip) throw new Failure(`${name} does not say which branch is its default one, and has no main: push one to it.`)
  if (!/^(?!-)[^\p{C}\s~^:?*[\\]+$/u.test(branch))
    throw new Failure(`${name}'s default branch has a name that git forbids.`)
  if (name === 'origin' && heads.has('forklift')) {
    throw new Failure('origin has a branch called forklift, which leaves no room for forklift/…: rename or delete it.')
  }
  return { name, url, branch, tip, heads }
}

/** What would make publishing fail is told before the agent is paid for. */
async function gitHubAgrees({ urls }: Checkout, github: GitHub, origin: Remote, note: (text: string) => void) {
  const theirs = placeOf([urls.upstream.configured, urls.upstream.fetch], process.env)
  const [mine, upstream, head, base] = await Promise.all([
    github.repository(),
    theirs?.host === github.place.host &&
      github.repository({ owner: theirs.owner, repo: theirs.name }).catch(() => undefined),
    github.rulesFor(`forklift/${origin.branch}`),
    github.rulesFor(origin.branch),
  ])
  const repository = mine.fullName
  if (mine.archived)
    throw new Failure(`${repository} is archived, nothing can be pushed to it: unarchive it in its settings.`)
  if (!mine.mayPush)
    throw new Failure(`The token from ${github.token.source} may not push to ${repository}: use one that may.`)
  if (upstream && upstream.parent === repository) {
    throw new Failure('upstream is a fork of origin, the names are swapped: git remote rename them.')
  }
  if (head.includes('creation'))
    throw new Failure(`A rule of ${repository} forbids new branches: except forklift/** from it.`)
  if (head.includes('required_signatures')) {
    throw new Failure(
      `A rule of ${repository} wants every commit signed, which Forklift can't: except forklift/** from it.`,
    )
  }
  if (base.includes('required_linear_history')) {
    note(
      `a rule of ${repository} forbids merge commits on ${visible(origin.branch)}: the pull request can't be merged as it should.`,
    )
  }
  return mine
}

/** The line of git's or docker's words that says what went wrong. */
export const firstLine = (text: string): string => {
  const lines = text.split('\n').filter(Boolean)
  return (lines.find(line => /^(fatal|error|remote|ERROR):/.test(line)) ?? lines[0] ?? 'no reason given').slice(0, 300)
}
