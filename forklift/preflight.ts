/** Before anything is written or paid for: the checkout, its remotes, the engine, the image, GitHub. All at once. */
import { constants } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Shell } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { type Format, fields, type Oid } from '../core/git/repository.ts'
import { run, type Where } from '../core/git/run.ts'
import { shellIn } from '../core/shell.ts'
import { firstLine, visible } from '../core/text.ts'
import { credentialHelper, findToken, GitHub, isHosted, parseRemote, placeOf, sameRepository } from './github.ts'
import type { Report } from './report.ts'
import { type Options, openCodeFile, readOpenCode, stateFolder, timeLimit } from './settings.ts'

export const IMAGE = 'forklift/kitchen-sink:latest'
const HARNESS = join(import.meta.dir, '../harness')
const SSH_OPTIONS = '-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4'

type Name = 'origin' | 'upstream'
type Checkout = Awaited<ReturnType<typeof theCheckout>>
/** A remote as it answered: its default branch, that branch's commit, and all branches. `url` has no credentials. */
export type Remote = {
  name: Name
  url: string
  web: string | undefined
  branch: string
  tip: Oid
  heads: Map<string, Oid>
}
export type Fork = Awaited<ReturnType<typeof lookAround>>

/** Runs every check at the same time; the first that fails is thrown. With --check each has a line. */
export async function lookAround(options: Options, report: Report, signal: AbortSignal) {
  const checks: [string, Promise<string>][] = []
  const check = <T>(name: string, promise: Promise<T>, inWords: (value: T) => string): Promise<T> => {
    checks.push([name, promise.then(inWords)])
    return promise
  }
  const note = (text: string) => report.step(`Note: ${text}`)
  const checkout = check('checkout', theCheckout(report, signal), it => it.top)
  const github = theGitHub(checkout, signal, note)
  const sh = Promise.all([checkout, github]).then(async ([it, hub]) =>
    it.shell(hub && (await credentialHelper(it.urls.origin.push, hub, it.shell()))),
  )
  const answer = (it: Remote) => `${it.branch} is at ${it.tip.slice(0, 9)}`
  const origin = check('origin', ask(checkout, sh, 'origin'), answer)
  const upstream = check('upstream', ask(checkout, sh, 'upstream'), answer)
  // The remotes take longest to answer: what else there is to ask can wait until they have been asked.
  const asked = sh.catch(() => undefined)
  const engine = check(
    'docker engine',
    asked.then(() => theEngine(signal)),
    () => 'answers',
  )
  const image = check(
    'image',
    asked.then(() => theImage(engine, signal, note)),
    id => `${IMAGE} is ${id.slice(0, 19)}`,
  )
  const file = openCodeFile(process.env)
  const openCode = check('OpenCode', readOpenCode(file, options, note), it => `${it.OPENCODE_MODEL}, by ${file}`)
  const seconds = check('time limit', timeLimit(process.env), it => `${it} s`)
  check('token', github, hub => (hub ? `for ${hub.place.host}, from ${hub.token.source}` : 'none needed'))
  const tracked = sh.then(trackedRefs)
  const identity = asked.then(() => theIdentity(signal))
  const agreed = gitHubAgrees(checkout, github)
  const pulls = github.then(async hub => {
    const [open = [], closed = []] = await Promise.all([hub?.pulls('open'), hub?.pulls('closed'), agreed])
    return { open: hub?.own(open) ?? [], closed: hub?.own(closed) ?? [], mayBeMore: closed.length >= 200 }
  })
  // Whether they could be had matters only where they are looked at.
  pulls.catch(() => undefined)
  const repository = check('GitHub', agreed, it =>
    it ? `${it.full_name} takes pull requests` : 'none: a branch is pushed, without a pull request',
  )
  if (options.check) check('rules', theRulesAgree(github, origin, note), () => 'allow what Forklift pushes')
  await Promise.allSettled([sh, tracked, identity, ...checks.map(([, line]) => line)])
  // What was cut short is no finding.
  signal.throwIfAborted()
  if (options.check) {
    const told = new Set<unknown>()
    for (const [name, line] of checks) {
      const words = await line.then(
        answer => `ok      ${answer}`,
        error => (told.has(error) ? '-       see above' : `FAILED  ${error.message}`),
      )
      await line.catch(error => told.add(error))
      report.step(`${name.padEnd(14)} ${words}`)
    }
    note("a push runs the fork's own CI on upstream's new code: keep its secrets from forklift/** branches.")
  }
  for (const [, line] of checks) await line
  return {
    ...(await checkout),
    origin: await origin,
    upstream: await upstream,
    github: await github,
    repository: await repository,
    pulls,
    tracked: await tracked,
    identity: await identity,
    openCode: await openCode,
    image: await image,
    seconds: await seconds,
    sh: await sh,
    signal,
    report,
  }
}

async function theCheckout(report: Report, signal: AbortSignal) {
  const here = shellIn(process.cwd(), {}, { signal, nothrow: true })
  const facts = ['--is-shallow-repository', '--show-object-format', '--path-format=absolute', '--git-path', 'objects']
  const keys =
    '^(remote\\.(origin|upstream)\\.url|remote\\..*\\.(promisor|partialclonefilter)|extensions\\.partialclone|core\\.sshcommand)$'
  const [version, layout, settings, remotes] = await Promise.all([
    here`git version`,
    here`git rev-parse ${facts} --absolute-git-dir --show-toplevel`,
    run({ cwd: process.cwd(), signal }, ['config', '-z', '--get-regexp', keys], { ok: [0, 1, 128] }),
    here`git remote --verbose`,
  ])
  const [major = 0, minor = 0] = /\d+\.\d+/.exec(version.stdout)?.[0].split('.').map(Number) ?? []
  if (major * 1000 + minor < 2038) throw new Failure('Forklift needs git 2.38 or newer: install it.')
  const reason = firstLine(layout.stderr)
  if (layout.exitCode !== 0)
    throw new Failure(`This is no checkout of a git repository (${reason}): run forklift in your fork.`)
  const [shallow, digest, objects = '', gitDir = '', ...rest] = layout.stdout.trimEnd().split('\n')
  const top = rest.join('\n')
  const project =
    basename(top)
      .replace(/[^\w.-]+/g, '-')
      .replace(/^[-.]+/, '') || 'fork'
  report.name = project
  if (shallow === 'true')
    throw new Failure('This clone is shallow, so a merge base may be missing: git fetch --unshallow origin.')
  const entries = fields(settings.stdout)
  const config = new Map(entries.map(entry => entry.split(/\n(.*)/s).slice(0, 2) as [string, string]))
  const filter = 'This is a partial clone, so its objects are not all here: run forklift in a full clone.'
  if ([...config.keys()].some(key => /partialclone|promisor/.test(key))) throw new Failure(filter)
  const urlsOf = (name: Name) => theUrls(config.get(`remote.${name}.url`), remotes.stdout, name)
  const [origin, upstream] = [urlsOf('origin'), urlsOf('upstream')]
  if (sameRepository(origin.fetch, upstream.fetch) || sameRepository(origin.configured, upstream.configured)) {
    throw new Failure(
      'origin and upstream are the same repository: git remote set-url upstream URL-OF-WHAT-WAS-FORKED.',
    )
  }
  const ssh = process.env.GIT_SSH_COMMAND || config.get('core.sshcommand') || process.env.GIT_SSH || 'ssh'
  const state = stateFolder(process.env)
  await canBeWritten(state)
  // The work tree may lie elsewhere, even in another repository.
  const asFound = { GIT_DIR: gitDir, GIT_WORK_TREE: top }
  const shell = (env?: Record<string, string>) =>
    shellIn(top, { ...asFound, GIT_SSH_COMMAND: `${ssh} ${SSH_OPTIONS}`, ...env }, { signal })
  const where: Where = { cwd: top, env: asFound, signal }
  const format: Format = digest === 'sha256' ? 'sha256' : 'sha1'
  return { top, project, objects, format, where, urls: { origin, upstream }, shell, state }
}

/** Whose name the commit bears: the user's, by git's own rules, or else Forklift's. */
async function theIdentity(signal: AbortSignal): Promise<{ name: string; email: string }> {
  const { GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL } = process.env
  const sh = shellIn(process.cwd(), { GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL }, { signal, nothrow: true })
  const person = await sh`git -c user.useConfigOnly=true var GIT_AUTHOR_IDENT`
  const [, name = 'Forklift', email = 'forklift@forklift.invalid'] = /^(.+) <(.*)> \d+ /.exec(person.stdout) ?? []
  return { name, email }
}

/** The folder itself, or what it will be made in. */
async function canBeWritten(folder: string): Promise<void> {
  const problem = await access(folder, constants.W_OK).then(
    () => undefined,
    ({ code }: NodeJS.ErrnoException) => code,
  )
  if (problem === 'ENOENT' && dirname(folder) !== folder) return await canBeWritten(dirname(folder))
  if (problem) throw new Failure(`${visible(folder)} can't be written (${problem}): check its owner and its disk.`)
}

/** A remote's URL as configured, and those that git makes of it, by the lines of `git remote --verbose`. */
function theUrls(configured: string | undefined, verbose: string, name: Name) {
  const what = name === 'origin' ? 'YOUR-FORK' : 'WHAT-WAS-FORKED'
  if (!configured) throw new Failure(`This checkout has no remote ${name}: git remote add ${name} URL-OF-${what}.`)
  const lines = [...verbose.matchAll(/^(.*?)\t(.*) \((fetch|push)\)/gm)].filter(([, remote]) => remote === name)
  const [fetch = '', push = '', ...others] = ['fetch', 'push'].flatMap(way =>
    lines.flatMap(([, , url, side]) => (side === way && url ? [url] : [])),
  )
  if (name === 'upstream' || (others.length === 0 && [fetch, configured].some(url => sameRepository(push, url))))
    return { configured, fetch, push }
  throw new Failure(
    `origin is pushed to another place or to several (${visible([push, ...others].join(' '))}): leave it one URL, see git remote -v.`,
  )
}

async function theEngine(signal: AbortSignal): Promise<void> {
  const sh = shellIn('/', {}, { signal, nothrow: true, timeout: '30s' })
  const info = await sh`docker info --format ${'{{json .SecurityOptions}}'}`
  if (info.exitCode === 127) throw new Failure('docker is not installed: install Docker Engine or Docker Desktop.')
  if (/permission denied/i.test(info.stderr)) {
    throw new Failure('The docker engine does not let you in: add yourself to the group docker and log in again.')
  }
  if (info.exitCode !== 0)
    throw new Failure(
      `The docker engine does not answer (${firstLine(info.stderr)}): start it, or correct DOCKER_HOST.`,
    )
  if (!/name=(rootless|userns)/.test(info.stdout)) return
  throw new Failure('This docker engine maps user ids (rootless or userns-remap): use one that does not.')
}

/** The image's id. A harness that is not the checkout's is worth a note: the container runs the image's. */
async function theImage(engine: Promise<void>, signal: AbortSignal, note: (text: string) => void): Promise<string> {
  const sh = shellIn('/', {}, { signal, nothrow: true, timeout: '30s' })
  const format = '{{.Id}} {{with .Config.Labels}}{{index . "forklift.harness"}}{{end}}'
  const image = await sh`docker image inspect --format ${format} ${IMAGE}`
  const here = visible(join(HARNESS, '..'))
  if (image.exitCode !== 0) await engine
  if (image.exitCode !== 0) throw new Failure(`There is no image ${IMAGE}: make image in ${here}.`)
  const [id = '', label] = image.stdout.trim().split(/\s+/)
  if (label !== (await harnessDigest())) note(`the harness in the image is not this one's: make image in ${here}.`)
  return id
}

/** The digest that `make image` puts on the image: every file of harness/ in order, name and content each ended by NUL. */
async function harnessDigest(): Promise<string> {
  const digest = new Bun.CryptoHasher('sha256')
  for (const name of (await readdir(HARNESS)).filter(it => !it.startsWith('.')).sort()) {
    digest
      .update(`${name}\0`)
      .update(await readFile(join(HARNESS, name)))
      .update('\0')
  }
  return digest.digest('hex')
}

/** Origin's GitHub and the token for it; undefined where origin is on none. */
async function theGitHub(checkout: Promise<Checkout>, signal: AbortSignal, note: (text: string) => void) {
  const { urls, shell } = await checkout
  const place = placeOf([urls.origin.configured, urls.origin.fetch], process.env)
  const host = parseRemote(urls.origin.configured)?.host ?? ''
  const consequence = 'the branch will be pushed, without a pull request.'
  if (!place && host && !host.includes('.'))
    note(`which GitHub ${visible(host)} stands for can't be told: ${consequence}`)
  if (!place) return undefined
  const token = await findToken(place.host, process.env, shell())
  if (token) return new GitHub(place, token, signal)
  if (isHosted(place.host)) throw new Failure(`There is no token for ${place.host}: set GH_TOKEN or run gh auth login.`)
  note(`there is no token for ${visible(place.host)}, so it is taken for no GitHub: ${consequence}`)
  return undefined
}

/** Asks a remote for its branches and which of them is its default one. */
async function ask(checkout: Promise<Checkout>, shell: Promise<Shell>, name: Name): Promise<Remote> {
  const urls = (await checkout).urls[name]
  const answer = await (await shell)({
    nothrow: true,
    timeout: '2m',
  })`git ls-remote --symref ${name} HEAD ${'refs/heads/*'}`
  const url = urls.configured.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')
  if (answer.exitCode !== 0) {
    throw new Failure(
      `${name} (${url}) does not answer (${firstLine(answer.stderr)}): check its URL, the network and your access.`,
    )
  }
  const lines = answer.stdout.split('\n').map(line => line.split('\t') as [string, string?])
  const heads = new Map(lines.flatMap(([oid, ref]) => (ref?.startsWith('refs/heads/') ? [[ref.slice(11), oid]] : [])))
  const branch = lines.find(([target, ref]) => ref === 'HEAD' && target.startsWith('ref: '))?.[0].slice(16) ?? 'main'
  const tip = heads.get(branch)
  if (!tip) throw new Failure(`${name} does not say which branch is its default one, and has no main: push one to it.`)
  if (!/^(?!-)[^\p{C}\s~^:?*[\\]+$/u.test(branch))
    throw new Failure(`${name}'s default branch has a name that git forbids.`)
  if (name === 'origin' && heads.has('forklift')) {
    throw new Failure('origin has a branch forklift, which leaves no room for forklift/…: rename or delete it.')
  }
  return { name, url, web: placeOf([urls.configured, urls.fetch], {})?.web, branch, tip, heads }
}

/** Where the remote-tracking refs of both remotes are. */
async function trackedRefs(sh: Shell): Promise<Map<string, Oid>> {
  const { stdout } =
    await sh`git for-each-ref --format=${'%(refname) %(objectname)'} refs/remotes/origin refs/remotes/upstream`
  return new Map(stdout.split('\n').map(line => line.split(' ') as [string, Oid]))
}

/** What would make publishing fail is told before the agent is paid for. */
async function gitHubAgrees(checkout: Promise<Checkout>, hub: Promise<GitHub | undefined>) {
  const [{ urls }, github] = await Promise.all([checkout, hub])
  if (!github) return undefined
  const theirs = placeOf([urls.upstream.configured, urls.upstream.fetch], {})
  const mayLook = theirs?.host === github.place.host
  const [mine, upstream] = await Promise.all([
    github.repository(),
    mayLook ? github.repository(theirs).catch(() => undefined) : undefined,
  ])
  const repository = mine.full_name
  if (mine.archived)
    throw new Failure(`${repository} is archived, nothing can be pushed: unarchive it in its settings.`)
  if (mine.permissions?.push === false) {
    throw new Failure(`The token from ${github.token.source} may not push to ${repository}: use one that may.`)
  }
  if (upstream?.parent?.full_name !== repository) return mine
  throw new Failure('upstream is a fork of origin, so the names are swapped: git remote rename both.')
}

/** The rules of the fork's branches, asked for when there is something to do. */
export async function theRulesAgree(
  hub: Promise<GitHub | undefined> | GitHub | undefined,
  remote: Promise<Remote> | Remote,
  note: (text: string) => void,
): Promise<void> {
  const [github, origin] = await Promise.all([hub, remote])
  if (!github) return
  const [head, base] = await Promise.all([github.rulesFor(`forklift/${origin.branch}`), github.rulesFor(origin.branch)])
  const except = 'except forklift/** from it in the settings.'
  if (head.includes('creation')) throw new Failure(`A rule of the fork forbids new branches: ${except}`)
  if (head.includes('required_signatures')) {
    throw new Failure(`A rule of the fork wants every commit signed, which Forklift can't do: ${except}`)
  }
  if (base.includes('required_linear_history')) note('a rule of the fork forbids merge commits: allow them.')
}
