/**
 * A separate world for every test: a home, an upstream, a fork on the double of GitHub, a checkout, a stand-in for
 * docker, and an agent that runs a script. Forklift itself is the real one, started by its command.
 */

import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { GitHub, type Repository, type RepositorySettings } from '../doubles/github.ts'
import { branchesOf, type CommitOptions, commit, type Files, gitWith, tipOf } from './git.ts'

export { ORIGIN_URL, UPSTREAM_URL } from './repositories.ts'

import { copyRepositories, makeRepositories, ORIGIN, type RepositoryOptions, UPSTREAM } from './repositories.ts'

export const PROJECT = dirname(dirname(import.meta.dir))
export const FORKLIFT = join(PROJECT, 'forklift.ts')
export const DOCKER = join(PROJECT, 'test/stand-ins/docker')
export const KEY = 'sk-live-0000-THE-KEY-1111'

export type WorldOptions = RepositoryOptions & {
  /** The checkout's folder below the user's home. */
  folder?: string
  /** False: origin is a local bare repository. */
  github?: false | RepositorySettings
  /** The name of the world's folder, for example with spaces. */
  named?: string
}

export type RunOptions = {
  cwd?: string
  env?: Record<string, string | undefined>
  /** Runs on a terminal of this many columns. */
  terminal?: number
  /** Starts forklift by another path than that of the script, such as a link. */
  as?: string
}

export type Ended = { code: number; stdout: string; stderr: string; lines: string[]; last: string }

export type Run = {
  path: string
  workspace: string
  state: string
  metadata: Record<string, unknown>
  outcome: Record<string, unknown> | undefined
}

/** The arguments of one call of the docker stand-in. */
export type Call = string[]

/**
 * Settings that make runs faster: a run takes half a second, mostly in git, so compiling JavaScript costs more than it
 * saves. The TypeScript that the first run has transpiled is cached for all; each test's home folder is new, unlike a
 * user's.
 */
const HASTE = {
  BUN_JSC_useBaselineJIT: '0',
  BUN_JSC_useDFGJIT: '0',
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: join(PROJECT, 'node_modules/.cache/bun'),
}

const BASH = Bun.which('bash')

/**
 * A prelude for the agent's script: the run's facts as variables, an identity, and the function `good` for a good
 * merge.
 */
const PRELUDE = `#!${BASH}
set -eu
workspace=$1 state=$2
export GIT_AUTHOR_NAME=Agent GIT_AUTHOR_EMAIL=agent@nowhere.example GIT_COMMITTER_NAME=Agent
export GIT_COMMITTER_EMAIL=agent@nowhere.example GIT_EDITOR=true
branch='' upstream_branch='' start='' upstream='' seconds=''
while IFS='=' read -r name value; do
  case $name in branch|upstream_branch|start|upstream|seconds) printf -v "$name" %s "$value" ;; esac
done <"$state/run.txt"
cd "$workspace"
merge() { git merge --quiet --no-edit "refs/remotes/upstream/$upstream_branch" >/dev/null 2>&1; }
# Keeps both sides of every conflict.
resolve() {
  git diff -z --name-only --diff-filter=U | while IFS= read -r -d '' file; do
    sed -i -E '/^(<<<<<<<|=======|>>>>>>>|\\|\\|\\|\\|\\|\\|\\|)/d' "$file"
  done
  git add --all && git commit --quiet -m "\${1:-Keep both greetings}"
}
good() { merge || resolve "$@"; }
`

export class World implements AsyncDisposable {
  env: Record<string, string | undefined> = {}
  private readonly undone: (() => Promise<unknown>)[] = []

  private constructor(
    readonly root: string,
    readonly home: string,
    /** The checkout of the fork. */
    readonly checkout: string,
    /** The bare repositories of origin and upstream. */
    readonly origin: string,
    readonly upstream: string,
    readonly branch: string,
    readonly upstreamBranch: string,
    readonly github: GitHub,
    readonly repository: Repository,
  ) {}

  static async make(options: WorldOptions = {}): Promise<World> {
    const root = await realpath(await mkdtemp(join(tmpdir(), options.named ?? 'forklift-world-')))
    return World.build(root, options).catch(async error => {
      await rm(root, { recursive: true, force: true })
      throw error
    })
  }

  private static async build(root: string, options: WorldOptions): Promise<World> {
    const { branch = 'main', upstreamBranch = branch, folder = 'fork' } = options
    const place = (path: string) => join(root, path)
    for (const name of ['home/.config/forklift', 'bin', 'tmp', 'docker', 'servers'])
      await mkdir(place(name), { recursive: true })

    const [upstream, origin] = [place(UPSTREAM), place(ORIGIN)]
    const checkout = join(place('home'), folder)
    if (options.github === false) await makeRepositories(root, checkout, options)
    else await copyRepositories(root, checkout, options)

    const github = await GitHub.start()
    github.add('them/project', upstream, { push: false })
    const repository = github.add('me/fork', origin, { parent: 'them/project', ...(options.github || {}) })
    const home = place('home')
    const world = new World(root, home, checkout, origin, upstream, branch, upstreamBranch, github, repository)
    world.undone.push(() => github[Symbol.asyncDispose]())
    await world.settleIn(options.github !== false)
    return world
  }

  private async settleIn(onGitHub: boolean): Promise<void> {
    const { root, home } = this
    const config = ['[user]\n\tname = Max Maintainer\n\temail = max@fork.example\n', '[init]\n\tdefaultBranch = main\n']
    await writeFile(join(home, '.gitconfig'), config.join(''))
    await this.settings({})
    await symlink(DOCKER, join(root, 'bin/docker'))
    await this.tool('gh', 'echo "You are not logged into any GitHub hosts." >&2; exit 1')
    this.env = {
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      HOME: home,
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      TMPDIR: join(root, 'tmp'),
      FORKLIFT_TEST_DOCKER: join(root, 'docker'),
      FORKLIFT_TEST_AGENT: join(root, 'agent'),
      FORKLIFT_TEST_LABEL: await labelOfTheImage(),
      ...(onGitHub ? { GITHUB_API_URL: this.github.url, GH_TOKEN: this.github.token } : {}),
    }
    if (onGitHub) await this.reachable({ 'https://github.com/': `${root}/servers/` })
    await this.agent('good')
  }

  /** Runs git in the checkout as the user. */
  async git(...args: (string | { cwd: string })[]): Promise<string> {
    const words = args.filter(arg => typeof arg === 'string')
    const where = args.find(arg => typeof arg === 'object')
    const { HOME = '', PATH = '' } = this.env
    return gitWith(where?.cwd ?? this.checkout, words, undefined, {
      HOME: HOME || this.home,
      PATH: PATH || '',
      GIT_CONFIG_GLOBAL: join(this.home, '.gitconfig'),
    })
  }

  /** Redirects addresses by git's insteadOf; earlier redirections are removed. */
  async reachable(addresses: Record<string, string>): Promise<void> {
    const file = join(this.home, '.gitconfig')
    const text = (await readFile(file, 'utf8')).replace(/\n\[url "(.*)"\]\n.*/g, '')
    const urls = Object.entries(addresses).map(
      ([prefix, target]) => `\n[url "${target.replace(/["\\]/g, '\\$&')}"]\n\tinsteadOf = ${prefix}`,
    )
    await writeFile(file, `${text}${urls.join('')}\n`)
  }

  /** Pushes as other people do: a commit on a branch of a server's repository. */
  push(where: 'origin' | 'upstream', files: Files, options: CommitOptions & { branch?: string } = {}): Promise<string> {
    const branch = options.branch ?? (where === 'origin' ? this.branch : this.upstreamBranch)
    const author = where === 'origin' ? 'Fay Forker <fay@fork.example>' : 'Una Upstream <una@upstream.example>'
    return commit(this[where], branch, files, { author, ...options })
  }

  tip(where: 'origin' | 'upstream', branch?: string): Promise<string | undefined> {
    return tipOf(this[where], branch ?? (where === 'origin' ? this.branch : this.upstreamBranch))
  }

  /** The branches that Forklift pushed. */
  branches(): Promise<string[]> {
    return branchesOf(this.origin, 'forklift/')
  }

  /** The only pull request; throws where there is none or more than one. */
  get pull() {
    const [pull, ...others] = this.github.pulls
    if (!pull || others.length > 0)
      throw new Error(`one pull request was expected, there are ${this.github.pulls.length}`)
    return pull
  }

  /** Writes opencode.env; undefined leaves a setting out. */
  async settings(change: Record<string, string | undefined>, mode = 0o600): Promise<string> {
    const all: Record<string, string | undefined> = {
      OPENCODE_API_KEY: KEY,
      OPENCODE_MODEL: 'claude-sonnet-5',
      OPENCODE_VARIANT: 'high',
      OPENCODE_AGENT: 'build',
      ...change,
    }
    const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}\n`]))
    const file = join(this.home, '.config/forklift/opencode.env')
    await writeFile(file, lines.join(''))
    await chmod(file, mode)
    return file
  }

  /** Sets the agent: a bash script, run in the workspace after {@link PRELUDE}. */
  async agent(script: string): Promise<void> {
    await this.program(join(this.root, 'agent'), `${PRELUDE}${script}\n`)
  }

  /** Puts a program first on PATH. */
  async tool(name: string, script: string): Promise<void> {
    await this.program(join(this.root, 'bin', name), `#!${BASH}\n${script}\n`)
  }

  private async program(path: string, text: string): Promise<void> {
    await rm(path, { force: true })
    await writeFile(path, text, { mode: 0o755 })
  }

  /** Runs forklift to its end. */
  async run(args: string[] = [], options: RunOptions = {}): Promise<Ended> {
    return this.start(args, options).ended
  }

  /** Starts forklift. */
  start(args: string[] = [], options: RunOptions = {}): Started {
    const env = { ...HASTE, ...this.env, ...options.env }
    const command = [options.as ?? FORKLIFT, ...args]
    const cwd = options.cwd ?? this.checkout
    let seen = ''
    if (options.terminal !== undefined) {
      const decoder = new TextDecoder()
      const child = Bun.spawn(command, {
        cwd,
        env: { ...env, TERM: 'xterm-256color' },
        terminal: {
          cols: options.terminal,
          rows: 40,
          data: (_, bytes) => {
            seen += decoder.decode(bytes, { stream: true })
          },
        },
      })
      const ended = child.exited.then(code => finished(code, seen, ''))
      return { child, ended, output: () => seen }
    }
    const child = Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      let text = ''
      const decoder = new TextDecoder()
      for await (const bytes of stream) {
        const chunk = decoder.decode(bytes, { stream: true })
        text += chunk
        seen += chunk
      }
      return text
    }
    const ended = Promise.all([collect(child.stdout), collect(child.stderr), child.exited]).then(
      ([stdout, stderr, code]) => finished(code, stdout, stderr),
    )
    return { child, ended, output: () => seen }
  }

  get runsFolder(): string {
    return join(this.home, '.local/state/forklift/runs')
  }

  /** The run directories, oldest first. */
  async runs(folder = this.runsFolder): Promise<Run[]> {
    const names = (await readdir(folder).catch(() => [] as string[])).filter(name => /_\d{8}_\d{6}$/.test(name)).sort()
    const json = async (path: string) => {
      const text = await readFile(path, 'utf8').catch(() => undefined)
      return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
    }
    return Promise.all(
      names.map(async name => {
        const path = join(folder, name)
        const metadata = (await json(join(path, 'metadata.json'))) ?? {}
        const outcome = await json(join(path, 'outcome.json'))
        return { path, workspace: join(path, 'workspace'), state: join(path, 'harness-state'), metadata, outcome }
      }),
    )
  }

  /** The newest run. */
  async lastRun(): Promise<Run> {
    const run = (await this.runs()).at(-1)
    if (!run) throw new Error('there is no run directory')
    return run
  }

  /** The arguments of docker's calls. */
  async calls(command?: string): Promise<Call[]> {
    const folder = join(this.root, 'docker/calls')
    const names = await readdir(folder).catch(() => [] as string[])
    // The names of the files are times, so sorting gives the order of the calls.
    const calls = await Promise.all(
      names.sort().map(async name => (await readFile(join(folder, name), 'utf8')).split('\0').slice(0, -1)),
    )
    return command === undefined ? calls : calls.filter(call => call[0] === command)
  }

  /** How many times an agent was run. */
  async agentRuns(): Promise<number> {
    return (await this.calls('run')).length
  }

  /** The containers that still run. */
  containers(): Promise<string[]> {
    return readdir(join(this.root, 'docker/containers')).catch(() => [])
  }

  path(...parts: string[]): string {
    return join(this.root, ...parts)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = await this.containers()
    for (const name of left) {
      const child = Bun.spawn([DOCKER, 'rm', '-f', name], {
        env: { ...this.env, FORKLIFT_TEST_FAULT: undefined },
        stdio: ['ignore', 'ignore', 'ignore'],
      })
      await child.exited
    }
    for (const undo of this.undone) await undo()
    await rm(this.root, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`containers were left behind: ${left.join(', ')}`)
    const { violations } = this.github
    if (violations.length > 0) throw new Error(`GitHub's description was broken:\n${violations.join('\n')}`)
  }
}

let label: Promise<string> | undefined

/** The label of the stand-in's image, computed once, because it takes as long as everything else in the stand-in. */
function labelOfTheImage(): Promise<string> {
  label ??= (async () => {
    const engine = await mkdtemp(join(tmpdir(), 'forklift-engine-'))
    const env = { PATH: process.env.PATH, FORKLIFT_TEST_DOCKER: engine }
    const child = Bun.spawn([DOCKER, 'image', 'inspect', 'image'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [answer] = await Promise.all([new Response(child.stdout).text(), child.exited])
    await rm(engine, { recursive: true })
    return answer.trim().split(' ')[1] ?? ''
  })()
  return label
}

export type Started = { child: Bun.Subprocess; ended: Promise<Ended>; output: () => string }

const finished = (code: number, stdout: string, stderr: string): Ended => {
  const lines = `${stdout}${stderr}`.split(/\r?\n/).filter(line => line.trim() !== '')
  return { code, stdout, stderr, lines, last: (stderr || stdout).trimEnd().split('\n').at(-1) ?? '' }
}

export const makeWorld = (options?: WorldOptions): Promise<World> => World.make(options)

/** Waits for a result of another process, by polling. */
export async function until<T>(what: string, look: () => T | Promise<T>, seconds = 20): Promise<NonNullable<T>> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain: ${what}`)
    await Bun.sleep(20)
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Checks the exit code, and shows Forklift's output where it differs. */
export function expectExit(run: Ended, code: number): void {
  if (run.code !== code) throw new Error(`exit ${run.code} instead of ${code}:\n${run.stdout}${run.stderr}`)
}

/** All of a folder as one text: names, kinds, modes and contents. */
export async function snapshot(folder: string, except?: RegExp): Promise<string> {
  const lines: string[] = []
  for (const entry of (await readdir(folder, { recursive: true, withFileTypes: true })).sort((a, b) =>
    join(a.parentPath, a.name).localeCompare(join(b.parentPath, b.name)),
  )) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length)
    if (except?.test(name)) continue
    const { mode, uid, ino } = await lstat(path)
    const content = entry.isFile() ? Bun.hash(await readFile(path)).toString(16) : ''
    lines.push(`${name} ${mode.toString(8)} ${uid} ${ino} ${entry.isSymbolicLink() ? await readlink(path) : content}`)
  }
  return lines.join('\n')
}

/** The files below a folder; links are not followed. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

/** The environment that cron sets, with what a test needs for its world. */
export const cronEnvironment = (env: Record<string, string | undefined>) => ({
  HOME: env.HOME,
  LOGNAME: 'me',
  SHELL: '/bin/sh',
  PATH: '/usr/bin:/bin',
  TMPDIR: env.TMPDIR,
  FORKLIFT_TEST_DOCKER: env.FORKLIFT_TEST_DOCKER,
  FORKLIFT_TEST_AGENT: env.FORKLIFT_TEST_AGENT,
  GITHUB_API_URL: env.GITHUB_API_URL,
  GH_TOKEN: env.GH_TOKEN,
})

/** Runs a target of the Makefile in a folder. */
export const make = (cwd: string, env: Record<string, string | undefined>, ...args: string[]) =>
  Bun.spawn(['make', '--no-print-directory', '--file', join(PROJECT, 'Makefile'), ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
