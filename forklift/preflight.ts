/**
 * Checks everything before anything is written or paid for, all at the same time: the checkout, its remotes, their
 * host, the engine, the image.
 */
import { constants } from 'node:fs'
import { access, readFile, readlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { AGENT_USER, IMAGE } from '../core/container.ts'
import { Failure } from '../core/failure.ts'
import { projectOf, stateFolder } from '../core/formats/forklift-run.ts'
import { QUESTIONS, TRANSFERS } from '../core/git/bounds.ts'
import { openObjects } from '../core/git/objects.ts'
import { sameRepository } from '../core/git/remote-url.ts'
import { fields, type Oid, openRepository, type Repository } from '../core/git/repository.ts'
import { type GitAnswer, GitError, read, run, type Where } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { verifyFewChanges } from '../core/git/trees.ts'
import { shellIn } from '../core/shell.ts'
import { firstLine, visible } from '../core/text.ts'
import { AGENT, agentSettingsFile, readAgentSettings } from '../harness/agents/chosen/settings.ts'
import { describeDisk } from './disk-space.ts'
import { DamagedClone } from './errors.ts'
import type { Fork, Remote, RemoteName } from './fork.ts'
import type { HostedRepository, PullRequestHost, Pulls } from './host.ts'
import { findHost, webOf } from './hosts.ts'
import * as remotes from './remotes.ts'
import { type AgentSetup, type RunOptions, timeLimit } from './settings.ts'
import type { Report } from './terminal.ts'

const NO_PULLS: Pulls = { open: [], closed: [], mayBeMore: false }
const HARNESS = join(import.meta.dir, '../harness')
const SSH_OPTIONS = '-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4'

/** The configured URL of a remote, and the URLs for fetching and pushing that git makes of it by its own settings. */
type Urls = { configured: string; fetch: string; push: string }
type Checkout = {
  top: string
  project: string
  state: string
  urls: Record<RemoteName, Urls>
  repository: Fork['repository']
}

/**
 * Runs all checks at the same time, and throws the first failure. With --check each prints a line. What only an agent
 * needs is not checked with --publish.
 */
export async function lookAround(
  options: RunOptions,
  report: Report,
  signal: AbortSignal,
): Promise<{ fork: Fork; setup: AgentSetup | undefined }> {
  const checks: [string, Promise<string>][] = []
  const check = <T>(name: string, promise: Promise<T>, inWords: (value: T) => string): Promise<T> => {
    checks.push([name, promise.then(inWords)])
    return promise
  }
  const checkout = check('checkout', theCheckout(report, signal), it => it.top)
  const host = findHostOfOrigin(checkout, signal, report)
  const repository = Promise.all([checkout, host]).then(([it, found]) => withCredentials(it, found))
  const answer = (it: Remote) => `${it.branch} is at ${it.tip.slice(0, 9)}`
  const origin = check('origin', ask(checkout, repository, 'origin'), answer)
  const upstream = check('upstream', ask(checkout, repository, 'upstream'), answer)
  // The remotes take longest to answer, so the other checks start after the requests to them.
  const asked = repository.catch(() => undefined)
  const setup = options.publish === undefined ? lookAtTheAgent(options, report, signal, asked, check) : undefined
  check('token', host, it => (it ? `for ${new URL(it.web).host}, from ${it.tokenSource}` : 'none needed'))
  const tracked = repository.then(trackedRefs)
  const identity = asked.then(() => theIdentity(signal))
  const agreed = verifyHost(checkout, host)
  const pulls = Promise.all([host.then(it => it?.pulls()), agreed]).then(([it]) => it ?? NO_PULLS)
  // The failure is thrown where the list is used. Until then it must not count as unhandled.
  pulls.catch(() => undefined)
  check('pull requests', Promise.all([host, agreed]), ([it, repository]) =>
    it && repository
      ? `${it.name} takes them in ${repository.name}`
      : 'none: a branch is pushed, without a pull request',
  )
  if (options.check) check('rules', verifyRules(host, origin, report), () => 'allow what Forklift pushes')
  await Promise.allSettled([repository, tracked, identity, ...checks.map(([, line]) => line)])
  // After an interruption, checks fail without a problem of their own.
  signal.throwIfAborted()
  if (options.check) await tell(checks, report)
  for (const [, line] of checks) await line
  const { top, project, state } = await checkout
  return {
    fork: {
      top,
      project,
      state,
      repository: await repository,
      origin: await origin,
      upstream: await upstream,
      tracked: await tracked,
      identity: await identity,
      host: await host,
      hosted: await agreed,
      pulls,
    },
    setup: await setup,
  }
}

type Check = <T>(name: string, promise: Promise<T>, inWords: (value: T) => string) => Promise<T>

/** Checks what only an agent needs: the engine, the image and the model's settings. */
async function lookAtTheAgent(
  options: RunOptions,
  report: Report,
  signal: AbortSignal,
  asked: Promise<unknown>,
  check: Check,
): Promise<AgentSetup | undefined> {
  const engine = check(
    'docker engine',
    asked.then(() => verifyEngine(signal)),
    () => `answers; ${describeUser(process.getuid?.())}`,
  )
  const image = check(
    'image',
    asked.then(() => theImage(engine, signal, report)),
    id => `${IMAGE} is ${id.slice(0, 19)}`,
  )
  const file = agentSettingsFile(process.env)
  const settings = readAgentSettings(file, options, text => report.note(text))
  const agent = check(AGENT, settings, it => `${it.model}, by ${file}`)
  const seconds = check('time limit', timeLimit(process.env), it => `${it} s`)
  check('disk', describeDisk(stateFolder(process.env)), it => it)
  const [model, id, limit] = await Promise.allSettled([agent, image, seconds])
  // The caller throws the failure when it goes through all checks.
  if (model.status === 'rejected' || id.status === 'rejected' || limit.status === 'rejected') return undefined
  return { agent: model.value, image: id.value, seconds: limit.value }
}

/** Prints a line for each check. A failure that several checks share is printed once. */
async function tell(checks: [string, Promise<string>][], report: Report): Promise<void> {
  const told = new Set<unknown>()
  for (const [name, line] of checks) {
    const words = await line.then(
      answer => `ok      ${answer}`,
      error => (told.has(error) ? '-       see above' : `FAILED  ${error.message}`),
    )
    await line.catch(error => told.add(error))
    report.step(`${name.padEnd(14)} ${words}`)
  }
  report.note("a push runs the fork's own CI on upstream's new code: keep its secrets from forklift/** branches.")
}

async function theCheckout(report: Report, signal: AbortSignal): Promise<Checkout> {
  const here = { cwd: process.cwd(), signal }
  const keys = '^(remote\\.(origin|upstream)\\.url|core\\.sshcommand)$'
  const [version, found, settings, remotes] = await Promise.all([
    read(here, ['version']),
    openRepository(here.cwd, { signal }).catch((error: Error) => error),
    attempt(here, ['config', '-z', '--get-regexp', keys]),
    attempt(here, ['remote', '--verbose']),
  ])
  const [major = 0, minor = 0] = /\d+\.\d+/.exec(version)?.[0].split('.').map(Number) ?? []
  if (major * 1000 + minor < 2038) throw new Failure('Forklift needs git 2.38 or newer: install it.')
  if (found instanceof Failure) throw new Failure(`${found.message} Run forklift in your fork.`)
  if (found instanceof Error) throw found
  const top = found.workTree
  if (top === undefined) throw new Failure('This is no checkout of a git repository: run forklift in one of your fork.')
  const project = projectOf(top)
  report.name = project
  if (found.isShallow)
    throw new Failure('This clone is shallow, so a merge base may be missing: git fetch --unshallow origin.')
  const entries = fields(settings.stdout)
  const config = new Map(entries.map(entry => entry.split(/\n(.*)/s).slice(0, 2) as [string, string]))
  if (found.isPartial)
    throw new Failure('This is a partial clone, so its objects are not all here: run forklift in a full clone.')
  const urlsOf = (name: RemoteName) => theUrls(config.get(`remote.${name}.url`), String(remotes.stdout), name)
  const [origin, upstream] = [urlsOf('origin'), urlsOf('upstream')]
  if (sameRepository(origin.fetch, upstream.fetch) || sameRepository(origin.configured, upstream.configured)) {
    throw new Failure(
      'origin and upstream are the same repository: git remote set-url upstream URL-OF-WHAT-WAS-FORKED.',
    )
  }
  const ssh = process.env.GIT_SSH_COMMAND || config.get('core.sshcommand') || process.env.GIT_SSH || 'ssh'
  const state = stateFolder(process.env)
  await verifyWritable(state)
  const env = { ...found.env, GIT_SSH_COMMAND: `${ssh} ${SSH_OPTIONS}` }
  const repository = { ...found, cwd: top, env, signal, bounds: QUESTIONS }
  return { top, project, state, urls: { origin, upstream }, repository }
}

/** Runs git and gives its answer for any exit code. */
const attempt = (where: Where, args: string[]): Promise<GitAnswer> => run(where, args, { ok: 'any' })

/** The repository with an environment in which git can use the token for origin. */
async function withCredentials(
  { repository, urls }: Checkout,
  host: PullRequestHost | undefined,
): Promise<Fork['repository']> {
  const helper = await host?.credentialsFor(urls.origin.push, shellIn(unbounded(repository)))
  return { ...repository, env: { ...repository.env, ...helper } }
}

/** A repository without bounds, for programs other than git. */
function unbounded({ bounds: _, ...where }: Repository): Where {
  return where
}

/** The author of the commit: the user's name by git's rules, else Forklift's. */
async function theIdentity(signal: AbortSignal): Promise<{ name: string; email: string }> {
  const { GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL } = process.env
  const here = { cwd: process.cwd(), env: { GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL }, signal }
  const person = await attempt(here, ['-c', 'user.useConfigOnly=true', 'var', 'GIT_AUTHOR_IDENT'])
  const [, name = 'Forklift', email = 'forklift@forklift.invalid'] =
    /^(.+) <(.*)> \d+ /.exec(person.stdout.toString()) ?? []
  return { name, email }
}

/** Throws where a folder, or its nearest existing parent, can't be written. */
async function verifyWritable(folder: string): Promise<void> {
  const problem = await access(folder, constants.W_OK).then(
    () => undefined,
    ({ code }: NodeJS.ErrnoException) => code,
  )
  if (problem === 'ENOENT' && dirname(folder) !== folder) return await verifyWritable(dirname(folder))
  if (problem) throw new Failure(`${visible(folder)} can't be written (${problem}): check its owner and its disk.`)
}

/** A remote's URLs, from its configuration and the output of `git remote --verbose`. */
function theUrls(configured: string | undefined, verbose: string, name: RemoteName): Urls {
  const what = name === 'origin' ? 'YOUR-FORK' : 'WHAT-WAS-FORKED'
  if (!configured) throw new Failure(`This checkout has no remote ${name}: git remote add ${name} URL-OF-${what}.`)
  const lines = [...verbose.matchAll(/^(.*?)\t(.*) \((fetch|push)\)/gm)].filter(([, remote]) => remote === name)
  const [fetch = '', push = '', ...others] = ['fetch', 'push'].flatMap(way =>
    lines.flatMap(([, , url, side]) => (side === way && url ? [url] : [])),
  )
  if (name === 'upstream' || (others.length === 0 && [fetch, configured].some(url => sameRepository(push, url))))
    return { configured, fetch, push }
  throw new Failure(
    `origin pushes to another repository or to several (${visible([push, ...others].join(' '))}): leave it one URL, see git remote -v.`,
  )
}

/**
 * A format that detects an engine that does not answer: clients of Docker 20.10 fail on any format that needs the
 * engine, and clients from 23 to 28.0 exit with 0; both put the reason into ServerErrors. Later clients fail and print
 * it.
 */
const ENGINE = '{{range .ServerErrors}}{{println .}}{{else}}{{json .SecurityOptions}}{{end}}'

async function verifyEngine(signal: AbortSignal): Promise<void> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const info = await sh`docker info --format ${ENGINE}`
  if (info.exitCode === 127) throw new Failure('docker is not installed: install Docker Engine or Docker Desktop.')
  const answers = info.exitCode === 0 && /^(\[|null)/.test(info.stdout)
  // Warnings, for example of an unreadable configuration, are not the reason.
  const reason = (info.exitCode === 0 ? info.stdout : info.stderr).replace(/^warning:.*$/gim, '')
  if (!answers && /permission denied/i.test(reason)) {
    throw new Failure('The docker engine does not let you in: add yourself to the group docker and log in again.')
  }
  if (!answers)
    throw new Failure(`The docker engine does not answer (${firstLine(reason)}): start it, or correct DOCKER_HOST.`)
  if (!/name=(rootless|userns)/.test(info.stdout)) return
  throw new Failure('This docker engine maps user ids (rootless or userns-remap): use one that does not.')
}

/** Says whose kernel limits the agent uses up: the kernel counts some by user, for the whole machine. */
export const describeUser = (uid: number | undefined): string =>
  uid === 0
    ? `the agent is user ${AGENT_USER} there`
    : `the agent has your user id there (it can use up your inotify instances and the like: see docs/forklift.md, Security)`

/** The image's id. Notes when the copy of harness/ in the image differs from this checkout's. */
async function theImage(engine: Promise<void>, signal: AbortSignal, report: Report): Promise<string> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const format = '{{.Id}} {{with .Config.Labels}}{{index . "forklift.harness"}}{{end}}'
  const image = await sh`docker image inspect --format ${format} ${IMAGE}`
  const here = visible(join(HARNESS, '..'))
  if (image.exitCode !== 0) await engine
  if (image.exitCode !== 0) throw new Failure(`There is no image ${IMAGE}: make image in ${here}.`)
  const [id = '', label] = image.stdout.trim().split(/\s+/)
  if (label !== (await harnessDigest(HARNESS)))
    report.note(`the image has another harness than this checkout: make image in ${here}.`)
  return id
}

/**
 * The digest that `make image` puts on the image, as docker/harness-digest.sh computes it: the path and the content of
 * each file in path order, each ended by NUL. Hidden files and the agents that the link `chosen` does not name are left
 * out.
 */
export async function harnessDigest(harness: string): Promise<string> {
  const digest = new Bun.CryptoHasher('sha256')
  const chosen = basename(await readlink(join(harness, 'agents/chosen')))
  const files = new Bun.Glob('**/*').scan({ cwd: harness, onlyFiles: true, followSymlinks: false })
  for (const name of (await Array.fromAsync(files)).sort()) {
    const [, agent = chosen] = /^agents\/([^/]+)\//.exec(name) ?? []
    if (agent !== chosen) continue
    digest
      .update(`${name}\0`)
      .update(await readFile(join(harness, name)))
      .update('\0')
  }
  return digest.digest('hex')
}

/** The host of origin; undefined where no pull requests can be opened. */
async function findHostOfOrigin(
  checkout: Promise<Checkout>,
  signal: AbortSignal,
  report: Report,
): Promise<PullRequestHost | undefined> {
  const { urls, repository } = await checkout
  const sh = shellIn(unbounded(repository))
  const search = { urls: [urls.origin.configured, urls.origin.fetch], env: process.env, sh, signal }
  return await findHost(search, sentence => report.note(sentence))
}

/** Asks a remote for its branches and its default branch. */
async function ask(checkout: Promise<Checkout>, repository: Promise<Repository>, name: RemoteName): Promise<Remote> {
  const urls = (await checkout).urls[name]
  const url = urls.configured.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')
  const listing = await read(await repository, ['ls-remote', '--symref', name, 'HEAD', 'refs/heads/*'], {
    bounds: { ...TRANSFERS, seconds: 120 },
  }).catch(error => {
    if (!(error instanceof GitError)) throw error
    throw new Failure(
      `${name} (${url}) does not answer (${error.message}): check its URL, the network and your access.`,
    )
  })
  const lines = listing.split('\n').map(line => line.split('\t') as [string, string?])
  const heads = new Map(lines.flatMap(([oid, ref]) => (ref?.startsWith('refs/heads/') ? [[ref.slice(11), oid]] : [])))
  const branch = lines.find(([target, ref]) => ref === 'HEAD' && target.startsWith('ref: '))?.[0].slice(16) ?? 'main'
  const tip = heads.get(branch)
  if (!tip) throw new Failure(`${name} does not say which branch is its default one, and has no main: push one to it.`)
  if (!/^(?!-)[^\p{C}\s~^:?*[\\]+$/u.test(branch))
    throw new Failure(`${name}'s default branch has a name that git forbids.`)
  if (name === 'origin' && heads.has('forklift')) {
    throw new Failure('origin has a branch forklift, which leaves no room for forklift/…: rename or delete it.')
  }
  const web = webOf([urls.configured, urls.fetch])
  return { name, url, pushUrl: urls.push, web, branch, tip, heads }
}

/** Lists the remote-tracking refs of both remotes. */
async function trackedRefs(repository: Repository): Promise<Map<string, Oid>> {
  const format = '--format=%(refname) %(objectname)'
  const listing = await read(repository, ['for-each-ref', format, 'refs/remotes/origin', 'refs/remotes/upstream'])
  return new Map(listing.split('\n').map(line => line.split(' ') as [string, Oid]))
}

/** Throws where publishing would fail, before the agent is paid for. */
async function verifyHost(
  checkout: Promise<Checkout>,
  finding: Promise<PullRequestHost | undefined>,
): Promise<HostedRepository | undefined> {
  const [{ urls }, host] = await Promise.all([checkout, finding])
  return await host?.verifyPublishable([urls.upstream.configured, urls.upstream.fetch])
}

/** Checks the rules for the fork's branches. */
async function verifyRules(
  finding: Promise<PullRequestHost | undefined> | PullRequestHost | undefined,
  remote: Promise<Remote> | Remote,
  report: Report,
): Promise<void> {
  const [host, origin] = await Promise.all([finding, remote])
  if (!host) return
  const [head, base] = await Promise.all([host.rulesFor(`forklift/${origin.branch}`), host.rulesFor(origin.branch)])
  const except = 'except forklift/** from it in the settings.'
  if (head.forbidsCreation) throw new Failure(`A rule of the fork forbids new branches: ${except}`)
  if (head.wantsSignatures) {
    throw new Failure(`A rule of the fork wants every commit signed, which Forklift can't do: ${except}`)
  }
  if (base.forbidsMergeCommits) report.note('a rule of the fork forbids merge commits: allow them.')
}

/**
 * Throws where this clone lacks files of the commits to merge; otherwise the run would find out later. Older history is
 * not checked: it takes as long as making the workspace.
 */
async function verifyFilesAreHere({ repository }: Fork, commits: readonly Oid[]): Promise<void> {
  const walk = ['rev-list', '--objects', '--no-walk', '--quiet', ...commits, '--']
  const walked = await attempt(repository, walk)
  if (walked.code !== 0) throw new DamagedClone(firstLine(walked.stderr))
}

/** Verifies before a model is paid for that the result can be judged and published. Throws a Failure otherwise. */
export async function verifyItCanBePublished(fork: Fork, scratch: Scratch, base: Oid, report: Report): Promise<void> {
  // verifyFewChanges comes before anything that lists upstream's files: a hostile tree can have endlessly many.
  await using objects = openObjects(scratch)
  await verifyFewChanges(objects, fork.origin.tip, fork.upstream.tip)
  await Promise.all([
    verifyFilesAreHere(fork, [fork.origin.tip, fork.upstream.tip]),
    verifyRules(fork.host, fork.origin, report),
    remotes.verifyTheTokenMayPush(fork, base),
    remotes.verifyLargeFilesCanBeCarried(fork),
  ])
}
