/**
 * A world for whole runs of the tasks: a repository, a home folder, a local model that records its requests, checks by
 * the stand-in for docker, a real Temporal server and a real worker. The command `forge` starts everything, and any
 * process can be killed at any moment.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObjects } from '../../core/git/objects.ts'
import { openRepository, type Repository } from '../../core/git/repository.ts'
import { openState } from '../../core/state.ts'
import type { WrittenLine } from '../../forge/formats/tasks-json.ts'
import { openEngine } from '../../forge/tasks/engine/engine.ts'
import { markOf } from '../../forge/tasks/engine/processes.ts'
import { findRunning, openServerPlace } from '../../forge/tasks/engine/server.ts'
import { findWorker, openWorkerPlace } from '../../forge/tasks/engine/workers.ts'
import { listRuns, openRunFolder } from '../../forge/tasks/runs/folder.ts'
import { journalFile, parseLines, readJournal } from '../../forge/tasks/runs/journal.ts'
import { RunStore } from '../../forge/tasks/runs/store.ts'
import { type Heard, ModelServer, type Provider, type Turn } from '../doubles/model-server.ts'
import { FILES, turnFor } from './chaos-model.ts'
import { commit, type Files, gitWith } from './git.ts'
import { shadowSlowPrograms } from './path.ts'
import { endAtOnce, homeIn } from './temporal.ts'
import { DOCKER, PROJECT } from './world.ts'

type Environment = Record<string, string | undefined>
export type Ended = { code: number | null; out: string; err: string }
export type Target = 'worker' | 'server' | 'both'

export type TasksWorldOptions = {
  files?: Files
  /** The model's answers; by default the plan of a dozen tasks and its edits, each after `delay` milliseconds. */
  script?: (heard: Heard, count: number) => Turn | Promise<Turn>
  delay?: number
  /** The provider whose format the model speaks. */
  provider?: Provider
  env?: Environment
}

export class TasksWorld implements AsyncDisposable {
  private constructor(
    readonly root: string,
    readonly folder: string,
    readonly model: ModelServer,
    readonly env: Environment,
    readonly repository: Repository,
  ) {}

  static async make({
    files = FILES,
    script,
    delay = 20,
    provider = 'openai',
    env = {},
  }: TasksWorldOptions = {}): Promise<TasksWorld> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'forge-chaos-')))
    const model = await ModelServer.start(script ?? (heard => turnFor(heard, delay)))
    const home = await homeIn(root)
    const folder = join(root, 'notes')
    await mkdir(join(root, 'bin'))
    await symlink(DOCKER, join(root, 'bin/docker'))
    await shadowSlowPrograms(join(root, 'bin'))
    await gitWith(root, ['init', '--quiet', '--initial-branch=main', '--template=', folder])
    await commit(folder, 'main', files, { message: 'Begin' })
    await gitWith(folder, ['reset', '--quiet', '--hard'])
    await writeFile(join(root, 'home/.gitconfig'), '[user]\n\tname = Max\n\temail = max@notes.example\n')
    const all = {
      ...home,
      ...model.environment(provider),
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      TMPDIR: join(root, 'tmp'),
      LC_ALL: 'C.UTF-8',
      GIT_CONFIG_NOSYSTEM: '1',
      FORKLIFT_TEST_DOCKER: join(root, 'docker'),
      FORKLIFT_TEST_LABEL: 'any',
      FORGE_LESSONS: 'off',
      ...env,
    }
    await mkdir(join(root, 'tmp'))
    return new TasksWorld(root, folder, model, all, await openRepository(folder))
  }

  /** Starts the command; `program` may be that of another installation. */
  start(args: string[], env: Environment = {}, program = join(PROJECT, 'forge.ts')) {
    const child = Bun.spawn([program, ...args], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = Promise.all([child.stdout.text(), child.stderr.text(), child.exited]).then(
      ([out, err]): Ended => ({ code: child.exitCode, out, err }),
    )
    return { child, ended }
  }

  /** The run that a command has started, as soon as it prints it. */
  async begun(
    env: Environment = {},
    args: string[] = [],
    wish = 'Write a dozen notes',
  ): Promise<{ run: string; leave: () => Promise<unknown> }> {
    const child = Bun.spawn([join(PROJECT, 'forge.ts'), 'run', '--yes', ...args, wish], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    for await (const piece of child.stderr) {
      said += Buffer.from(piece).toString()
      const [, run] = /^Run (\S+)$/m.exec(said) ?? []
      if (!run) continue
      const leave = () => {
        child.kill('SIGKILL')
        return child.exited
      }
      return { run, leave }
    }
    throw new Error(`forge run ended: ${said}`)
  }

  /** Runs the command to its end. */
  forge(args: string[], env: Environment = {}, program?: string): Promise<Ended> {
    return this.start(args, env, program).ended
  }

  git = (...args: string[]): Promise<string> => gitWith(this.folder, args)

  /** The id of the newest run. */
  async run(): Promise<string> {
    const [newest] = await listRuns(this.repository, this.env)
    if (!newest) throw new Error('There is no run')
    return newest.run
  }

  /** Restarts a missing server and worker, as the next command does first. */
  async revive(): Promise<void> {
    const engine = await openEngine(this.repository, this.env, { start: true })
    await engine.close()
  }

  /** Kills processes, as the system does when memory is short. Gives whether there were any. */
  async kill(target: Target): Promise<boolean> {
    const server = target === 'worker' ? undefined : await findRunning(await openServerPlace(this.env))
    const worker = target === 'server' ? undefined : await findWorker(await openWorkerPlace(this.repository, this.env))
    const found = [server, worker].filter(it => it !== undefined)
    for (const { process: mark } of found) {
      process.kill(mark.pid, 'SIGKILL')
      while (await markOf(mark.pid)) await Bun.sleep(2)
    }
    return found.length > 0
  }

  /** Whether the next command would find the server or the worker missing. */
  async isDead(): Promise<boolean> {
    const [server, worker] = await Promise.all([
      openServerPlace(this.env).then(findRunning),
      openWorkerPlace(this.repository, this.env).then(findWorker),
    ])
    return !server || !worker
  }

  /** The state of a run's workflow on the server; undefined where the server does not answer or does not know it. */
  async stateOf(run: string): Promise<string | undefined> {
    try {
      const engine = await openEngine(this.repository, this.env, { start: false })
      try {
        const { status } = await engine.client.withDeadline(Date.now() + 5000, () =>
          engine.client.workflow.getHandle(`forge-run-${run}`).describe(),
        )
        return status.name
      } finally {
        await engine.close()
      }
    } catch {
      return undefined
    }
  }

  /** The journal's lines in git and in the file. */
  async journal(run: string): Promise<{ git: WrittenLine[]; file: WrittenLine[]; rows: number }> {
    await using objects = openObjects(this.repository)
    const folder = await openRunFolder(this.repository, run, this.env)
    const text = await readFile(journalFile(folder), 'utf8').catch(() => '')
    const rows = text.split('\n').filter(Boolean).length
    return { git: await readJournal(new RunStore(objects, run)), file: parseLines(text), rows }
  }

  /** The command lines of running processes that this world started. */
  processes(): string[] {
    return readdirSync('/proc').flatMap(pid => {
      if (!/^\d+$/.test(pid) || !fileOf(pid, 'environ').includes(`HOME=${this.root}/`)) return []
      const line = fileOf(pid, 'cmdline').replaceAll('\0', ' ')
      return line ? [line] : []
    })
  }

  /** What must not exist when all has ended: processes, containers, locks, used slots, drafts. */
  async remains(): Promise<string[]> {
    const state = await openState(this.repository, this.env)
    const all = await readdir(state, { recursive: true }).catch(() => [])
    const inGit = await readdir(join(this.folder, '.git'), { recursive: true })
    return [
      ...this.processes().map(line => `process: ${line}`),
      ...(await readdir(join(this.root, 'docker/containers')).catch(() => [])).map(name => `container: ${name}`),
      ...inGit.filter(name => /\.lock$|(^|\/)tmp_/.test(name)).map(name => `.git/${name}`),
      ...all.filter(name => !name.startsWith('slots/') && /index\.lock$|[0-9a-f]{8}-[0-9a-f]{4}-/.test(name)),
      ...(await readdir(join(this.root, 'tmp'))).map(name => `temporary: ${name}`),
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endAtOnce(this.env)
    await this.model.stop()
    await rm(this.root, { recursive: true, force: true })
  }
}

function fileOf(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
