/**
 * The tasks for a test as a user runs them: a repository, a real Temporal server, a scripted model, and the command
 * `forge` as a process of its own, with or without a terminal.
 */
import { chmod, mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from './git.ts'
import { shadowSlowPrograms } from './path.ts'
import { TaskModel, type Work } from './task-model.ts'
import { startTemporal, type TestTemporal } from './temporal.ts'
import { DOCKER, PROJECT } from './world.ts'

type Environment = Record<string, string | undefined>
export type Ended = { code: number; out: string; err: string }
type Options = { cwd?: string; env?: Environment }

/** The stand-in for docker, with a fault that a file names, so that it can change while a worker runs. */
const ENGINE = (program: string, fault: string) => `#!/bin/sh
FORKLIFT_TEST_FAULT=$(cat '${fault}') exec '${program}' "$@"
`

const FORGE = join(PROJECT, 'forge.ts')
const SECONDS = 60
const SLOW_SERVER = /^The Temporal server at \S+ has not answered yet\.\n/gm

export class TaskScene implements AsyncDisposable {
  readonly env: Environment

  private constructor(
    readonly temporal: TestTemporal,
    readonly model: TaskModel,
    /** A repository with one commit on main. */
    readonly folder: string,
  ) {
    const path = `${join(temporal.folder, 'bin')}:${process.env.PATH}`
    this.env = {
      ...temporal.env,
      PATH: path,
      GIT_CONFIG_NOSYSTEM: '1',
      FORKLIFT_TEST_DOCKER: join(temporal.folder, 'docker'),
      TERM: 'xterm',
      LC_ALL: 'C.UTF-8',
    }
  }

  /** `settings` are additional lines of forge.env. */
  static async open(settings: Record<string, string> = {}): Promise<TaskScene> {
    const [temporal, model] = await Promise.all([startTemporal(), TaskModel.start()])
    const at = (name: string) => join(temporal.folder, name)
    await Promise.all(['bin', 'config/forge', 'repository'].map(name => mkdir(at(name), { recursive: true })))
    await shadowSlowPrograms(at('bin'))
    await writeFile(at('engine-fault'), '')
    await writeFile(at('bin/docker'), ENGINE(DOCKER, at('engine-fault')), { mode: 0o755 })
    await writeFile(at('home/.gitconfig'), '[user]\n\tname = You\n\temail = you@forge.example\n')
    const scene = new TaskScene(temporal, model, await realpath(at('repository')))
    await scene.set(settings)
    await makeRepository(scene.folder)
    return scene
  }

  /** Writes forge.env: the scripted model, with prices, and these settings. */
  async set(settings: Record<string, string>): Promise<void> {
    const { FORGE_MODEL = '', ...provider } = this.model.server.environment('openai')
    const all = { FORGE_MODEL, FORGE_PRICES: `${FORGE_MODEL}=3/15`, FORGE_LESSONS: 'off', ...provider, ...settings }
    const path = join(this.temporal.folder, 'config/forge/forge.env')
    await writeFile(
      path,
      Object.entries(all)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    await chmod(path, 0o600)
  }

  /** Makes docker fail from now on, in a way that its stand-in supports; '' makes it work. */
  async useEngine(fault: '' | 'down' | 'no-image'): Promise<void> {
    await writeFile(join(this.temporal.folder, 'engine-fault'), fault)
  }

  /**
   * Runs the command without a terminal, to its end. Its message that the server has not answered yet, which may come
   * on any busy machine, is left out of the result.
   */
  async forge(args: string[], { cwd = this.folder, env = {} }: Options = {}): Promise<Ended> {
    const child = Bun.spawn([FORGE, ...args], {
      cwd,
      env: { ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { code: await child.exited, out, err: err.replace(SLOW_SERVER, '') }
  }

  /** Adds a piece of work to the model, and starts a run for it; resolves when the run ends or waits for the user. */
  async run(name: string, work: Work, args: string[] = []): Promise<Ended & { run: string }> {
    this.model.knows(name, work)
    const ended = await this.forge(['run', '--yes', ...args, name])
    return { ...ended, run: runIn(ended.err) }
  }

  /** The output of `forge show --json` for a run. */
  async status(run: string): Promise<Status> {
    const { out, err } = await this.forge(['show', run, '--json'])
    if (out === '') throw new Error(`forge show ${run}: ${err}`)
    return JSON.parse(out)
  }

  /** The journal of a run, one line each: 'failed a The check …'. */
  async journal(run: string): Promise<string[]> {
    const { out } = await this.forge(['show', run, '--journal', '--json'])
    const lines = out
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line))
    return lines.map(({ what, task, words }) => [what, task, words].filter(Boolean).join(' '))
  }

  git = (...args: string[]): Promise<string> => git(this.folder, ...args)

  terminal(args: string[], options: Options & { columns?: number; rows?: number } = {}): Terminal {
    const { cwd = this.folder, env = {}, columns = 100, rows = 40 } = options
    return new Terminal([FORGE, ...args], { cwd, env: { ...this.env, ...env }, columns, rows })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.temporal[Symbol.asyncDispose]()
    await this.model[Symbol.asyncDispose]()
  }
}

export type Status = {
  run: string
  state: string
  words: string
  tasks: { id: string; state: string; attempt: number; words: string; head?: string }[]
  spent: { requests: number; cost: number }
}

/** The run in the first line of a command's output. */
export const runIn = (err: string): string => /^Run (\S+)$/m.exec(err)?.[1] ?? ''

export async function makeRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await git(folder, 'init', '--quiet', '--initial-branch=main')
  await writeFile(join(folder, 'README.md'), '# Notes\n')
  await git(folder, 'add', '--all')
  await git(folder, '-c', 'user.name=You', '-c', 'user.email=you@forge.example', 'commit', '--quiet', '-m', 'Begin')
}

/** A command on a terminal of its own. */
export class Terminal {
  #out = ''
  readonly #child: Bun.Subprocess
  readonly #terminal: Bun.Terminal
  #heard: () => void = () => undefined
  readonly #closed = Promise.withResolvers<void>()

  constructor(command: string[], { columns, rows, ...options }: Required<Options> & { columns: number; rows: number }) {
    const decoder = new TextDecoder()
    this.#terminal = new Bun.Terminal({
      cols: columns,
      rows,
      data: (_, bytes) => {
        this.#out += decoder.decode(bytes, { stream: true })
        this.#heard()
      },
      exit: () => this.#closed.resolve(),
    })
    // A session of its own makes Ctrl-C on this terminal a signal.
    this.#child = Bun.spawn(['setsid', '--ctty', '--wait', ...command], { ...options, terminal: this.#terminal })
  }

  /** The whole output of the terminal. */
  get out(): string {
    return this.#out.replaceAll('\r\n', '\n')
  }

  /** The output without escape sequences. */
  get text(): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are
    return this.out.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '')
  }

  type(text: string): void {
    this.#terminal.write(text)
  }

  /** Waits until this is shown. */
  async shows(wanted: string | RegExp): Promise<void> {
    const isThere = () => (typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text))
    const patience = Date.now() + SECONDS * 1000
    while (!isThere()) {
      if (Date.now() > patience) throw new Error(`The terminal never showed ${wanted}:\n${this.text}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#heard = resolve
      await Promise.race([promise, Bun.sleep(500)])
    }
  }

  /** Presses Ctrl-C. */
  interrupt(): void {
    this.type('\x03')
  }

  /** Waits for the end. Gives the exit code, and the output. */
  async ended(): Promise<{ code: number; text: string }> {
    const code = await this.#child.exited
    // The last output may still be on its way.
    await Promise.race([this.#closed.promise, Bun.sleep(500)])
    this.#terminal.close()
    return { code, text: this.text }
  }
}
