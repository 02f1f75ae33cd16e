/**
 * Several machines that work on the runs of one repository: each has a home, a clone at a path of its own, a clock, and
 * as root a network namespace of its own. They share a Temporal server, a model, and a bare repository over git's
 * protocol, which each reaches through doors of its own, that a test can shut.
 */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObjects } from '../../core/git/objects.ts'
import { openRepository, type Repository } from '../../core/git/repository.ts'
import { PURPOSES, SigningKeys } from '../../forge/ai/signing-keys.ts'
import type { WrittenLine } from '../../forge/formats/tasks-json.ts'
import { readJournal } from '../../forge/tasks/runs/journal.ts'
import { RunStore } from '../../forge/tasks/runs/store.ts'
import { type Heard, ModelServer, type Turn } from '../doubles/model-server.ts'
import { FILES, turnFor } from './chaos-model.ts'
import { bare, commit, type Files, gitWith, tryGit } from './git.ts'
import { shadowSlowPrograms } from './path.ts'
import { endAtOnce, homeIn, startTemporal, type TestTemporal } from './temporal.ts'
import { DOCKER, PROJECT } from './world.ts'

type Environment = Record<string, string | undefined>

/** Whether machines can have networks of their own: only root may make them. */
export const hasNetworks =
  process.getuid?.() === 0 && process.platform === 'linux' && Bun.spawnSync(['ip', 'netns', 'list']).exitCode === 0

export type FleetOptions = {
  machines?: number
  files?: Files
  script?: (heard: Heard, count: number) => Turn | Promise<Turn>
  /** Milliseconds after which the model answers. */
  delay?: number
  /** Whether each machine gets a network of its own. */
  hasOwnNetworks?: boolean
  /** Whether the clone of each machine is on a disk of its own, of some megabytes; only root can do that. */
  hasSmallDisks?: boolean
  env?: Environment
}

/** Where a machine reaches a service: connections are passed on, unless it is cut off. */
class Door implements AsyncDisposable {
  readonly #sockets = new Set<Socket>()
  isShut = false
  /** How many connections were opened. */
  opened = 0

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async open(host: string, to: { host: string; port: number }): Promise<Door> {
    const server = createServer({ allowHalfOpen: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, resolve)
    })
    const address = server.address()
    const door = new Door(server, address && typeof address === 'object' ? address.port : 0)
    server.on('connection', socket => door.#pass(socket, to))
    return door
  }

  #pass(socket: Socket, to: { host: string; port: number }): void {
    if (this.isShut) {
      socket.destroy()
      return
    }
    this.opened++
    const other = connect({ ...to, allowHalfOpen: true })
    for (const [one, opposite] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => opposite.destroy())
      one.on('close', () => {
        this.#sockets.delete(one)
        opposite.destroy()
      })
      one.pipe(opposite)
    }
  }

  shut(): void {
    this.isShut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut()
    this.server.close()
  }
}

/** A machine of the fleet. */
export class Machine implements AsyncDisposable {
  #worker: ReturnType<typeof Bun.spawn> | undefined

  constructor(
    readonly name: string,
    readonly root: string,
    readonly folder: string,
    readonly env: Environment,
    readonly doors: { temporal: Door; hub: Door; model: Door },
    /** The network namespace; undefined where it has none of its own. */
    readonly network: Network | undefined,
    /** The folder of the disk of its own that has the clone, if there is one. */
    readonly disk: string | undefined,
    readonly repository: Repository,
  ) {}

  #command(args: readonly string[]): string[] {
    const command = [join(PROJECT, 'forge.ts'), ...args]
    return this.network ? ['ip', 'netns', 'exec', this.network.name, ...command] : command
  }

  /** Runs the command on this machine, to its end. */
  async forge(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const child = Bun.spawn(this.#command(args), {
      cwd: this.folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { code: await child.exited, out, err }
  }

  /** Starts `forge worker` in the foreground, and waits until it works. */
  async work(...args: string[]): Promise<void> {
    const child = Bun.spawn(this.#command(['worker', ...args]), {
      cwd: this.folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#worker = child
    const said: string[] = []
    const errors = child.stderr.text()
    const began = Promise.withResolvers<boolean>()
    void (async () => {
      for await (const piece of child.stdout) {
        said.push(Buffer.from(piece).toString())
        if (said.join('').includes('Works on the runs of')) began.resolve(true)
      }
      began.resolve(false)
    })()
    if (!(await began.promise)) throw new Error(`forge worker on ${this.name}: ${said.join('')}${await errors}`)
  }

  get isWorking(): boolean {
    return this.#worker !== undefined && this.#worker.exitCode === null && this.#worker.signalCode === null
  }

  /** Kills the worker, as the system does when memory is short. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#worker?.kill(signal)
    await this.#worker?.exited
  }

  /** Cuts the machine off from everything, or with false connects it again. */
  async cutOff(isCut = true): Promise<void> {
    if (this.network) await sh('ip', 'link', 'set', this.network.link, isCut ? 'down' : 'up')
    else
      for (const door of Object.values(this.doors)) {
        if (isCut) door.shut()
        else door.isShut = false
      }
  }

  /** Sets the machine's clock off by these milliseconds. */
  async shiftClock(milliseconds: number): Promise<void> {
    await writeFile(this.env.CLOCK_FILE ?? '', String(milliseconds))
  }

  /** Fills the disk with the machine's clone, or with false makes room again. */
  async fillDisk(isFull: boolean): Promise<void> {
    if (!this.disk) throw new Error(`${this.name} has no disk of its own`)
    const ballast = join(this.disk, 'ballast')
    if (isFull) await tryRun('dd', 'if=/dev/zero', `of=${ballast}`, 'bs=4k')
    else await rm(ballast, { force: true })
  }

  git = (...args: string[]): Promise<string> => gitWith(this.folder, args)

  /** The journal of a run, as git on this machine has it. */
  async journal(run: string): Promise<WrittenLine[]> {
    await using objects = openObjects(this.repository)
    return await readJournal(new RunStore(objects, run))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    await endAtOnce(this.env)
    for (const door of Object.values(this.doors)) await door[Symbol.asyncDispose]()
    if (this.network) await tryRun('ip', 'netns', 'del', this.network.name)
    if (this.disk) await tryRun('umount', '--lazy', this.disk)
  }
}

/** The size of a machine's disk of its own. */
const DISK_MEGABYTES = 48

type Network = { name: string; link: string }

export class Fleet implements AsyncDisposable {
  private constructor(
    readonly root: string,
    readonly temporal: TestTemporal,
    readonly model: ModelServer,
    /** The bare repository that all machines push to. */
    readonly hub: string,
    readonly machines: Machine[],
    private readonly end: () => Promise<void>,
  ) {}

  static async make({
    machines: count = 2,
    files = FILES,
    script,
    delay = 20,
    hasOwnNetworks = false,
    hasSmallDisks = false,
    env = {},
  }: FleetOptions = {}): Promise<Fleet> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'forge-fleet-')))
    const [temporal, model] = await Promise.all([
      startTemporal(),
      ModelServer.start(script ?? (heard => turnFor(heard, delay))),
    ])
    await mkdir(join(root, 'git'))
    const hub = await bare(join(root, 'git/hub.git'), 'main')
    await commit(hub, 'main', files, { message: 'Begin' })
    const daemon = await serveGit(join(root, 'git'))
    const bridge = hasOwnNetworks ? await makeBridge() : undefined
    const machines: Machine[] = []
    const end = async () => {
      await Promise.all(machines.map(machine => machine[Symbol.asyncDispose]()))
      daemon.kill()
      await model.stop()
      await temporal[Symbol.asyncDispose]()
      if (bridge) await tryRun('ip', 'link', 'del', bridge.name)
      await rm(root, { recursive: true, force: true })
    }
    try {
      const [, temporalPort = ''] = temporal.address.split(':')
      const to = {
        temporal: { host: '127.0.0.1', port: Number(temporalPort) },
        hub: { host: '127.0.0.1', port: daemon.port },
        model: { host: '127.0.0.1', port: Number(new URL(modelUrl(model)).port) },
      }
      for (let at = 0; at < count; at++)
        machines.push(
          await makeMachine(root, { at, to, model, namespace: temporal.namespace, bridge, hasSmallDisks, env }),
        )
      await trustEachOther(root, count)
    } catch (error) {
      await end()
      throw error
    }
    return new Fleet(root, temporal, model, hub, machines, end)
  }

  /** A machine by its number. */
  machine(at: number): Machine {
    const machine = this.machines[at]
    if (!machine) throw new Error(`There is no machine ${at}`)
    return machine
  }

  /** Begins a run on a machine, whose command does not start a worker of its own. Gives the run's id. */
  async begin(machine: Machine, args: string[] = [], wish = 'Write a dozen notes'): Promise<string> {
    const { code, out, err } = await machine.forge('run', '--yes', '--detach', '--json', ...args, wish)
    if (code !== 0) throw new Error(`forge run on ${machine.name}: ${err}${out}`)
    return (JSON.parse(out) as { run: string }).run
  }

  /** Lets the hub refuse all pushes, or with false take them again. */
  async refusePushes(isRefusing: boolean): Promise<void> {
    const hook = join(this.hub, 'hooks/pre-receive')
    if (!isRefusing) return await rm(hook, { force: true })
    await mkdir(join(this.hub, 'hooks'), { recursive: true })
    await writeFile(hook, '#!/bin/sh\necho "The hub is being moved" >&2\nexit 1\n', { mode: 0o755 })
  }

  /** Waits for the end of a run, in milliseconds. Gives the state of its workflow. */
  async ends(run: string, patience = 200_000): Promise<string> {
    const handle = this.temporal.client.workflow.getHandle(`forge-run-${run}`)
    for (const last = performance.now() + patience; performance.now() < last; await Bun.sleep(100)) {
      const { status } = await handle.describe()
      if (status.name !== 'RUNNING') return status.name
    }
    const status = await handle.query<{ state: string; words: string; tasks: unknown[] }>('status').catch(String)
    throw new Error(`${run} has not ended: ${JSON.stringify(status)}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }
}

const modelUrl = (model: ModelServer): string => model.environment('openai').OPENAI_BASE_URL ?? ''

/** Git's own server for the repositories of a folder. */
async function serveGit(folder: string): Promise<{ port: number; kill: () => void }> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  const port = address && typeof address === 'object' ? address.port : 0
  await new Promise(resolve => probe.close(resolve))
  const flags = ['--reuseaddr', '--listen=127.0.0.1', `--port=${port}`, `--base-path=${folder}`, '--export-all']
  // Not by git itself, whose end would leave the server running.
  const program = join(await gitWith(folder, ['--exec-path']), 'git-daemon')
  const child = Bun.spawn([program, ...flags, '--enable=receive-pack', '--informative-errors', folder], {
    env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  for (;;) {
    const { code } = await tryGit(folder, ['ls-remote', `git://127.0.0.1:${port}/hub.git`])
    if (code === 0) return { port, kill: () => child.kill('SIGKILL') }
    if (child.exitCode !== null) throw new Error('git daemon has ended')
    await Bun.sleep(20)
  }
}

/** Lets the keys of all machines count on each of them. */
async function trustEachOther(root: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => nameOf(at))
  const keysOf = (name: string) => new SigningKeys(join(root, name, 'config/forge'))
  const lines = await Promise.all(names.map(name => keysOf(name).ownLine()))
  for (const [at, name] of names.entries())
    for (const [other, line] of lines.entries()) if (other !== at) await keysOf(name).trust(line, PURPOSES)
}

const nameOf = (at: number): string => `machine-${at + 1}`

type MachineOptions = {
  at: number
  to: Record<'temporal' | 'hub' | 'model', { host: string; port: number }>
  model: ModelServer
  namespace: string
  bridge: Bridge | undefined
  hasSmallDisks: boolean
  env: Environment
}

async function makeMachine(root: string, options: MachineOptions): Promise<Machine> {
  const { at, to, model, namespace, bridge, hasSmallDisks, env } = options
  const name = nameOf(at)
  const own = join(root, name)
  await mkdir(own)
  const home = await homeIn(own)
  const host = bridge?.address ?? '127.0.0.1'
  const doors = {
    temporal: await Door.open(host, to.temporal),
    hub: await Door.open(host, to.hub),
    model: await Door.open(host, to.model),
  }
  const network = bridge && (await makeNetwork(bridge, at))
  await mkdir(join(own, 'bin'))
  await mkdir(join(own, 'tmp'))
  await symlink(DOCKER, join(own, 'bin/docker'))
  await shadowSlowPrograms(join(own, 'bin'))
  await mkdir(join(own, 'config/forge'), { recursive: true })
  await writeFile(join(own, 'home/.gitconfig'), '[user]\n\tname = Max\n\temail = max@notes.example\n')
  const settings = Object.entries(model.environment('openai')).map(([setting, value]) => {
    const door = value?.replace(new URL(modelUrl(model)).host, `${host}:${doors.model.port}`)
    return [setting, door] as const
  })
  const all: Environment = {
    ...home,
    ...Object.fromEntries(settings),
    TEMPORAL_ADDRESS: `${host}:${doors.temporal.port}`,
    TEMPORAL_NAMESPACE: namespace,
    PATH: `${join(own, 'bin')}:${process.env.PATH}`,
    TMPDIR: join(own, 'tmp'),
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    FORKLIFT_TEST_DOCKER: join(own, 'docker'),
    FORKLIFT_TEST_LABEL: 'any',
    FORGE_LESSONS: 'off',
    CLOCK_FILE: join(own, 'clock'),
    BUN_OPTIONS: `--preload=${join(import.meta.dir, 'clock-injector.ts')}`,
    ...env,
  }
  // Each clone is at a path of its own.
  const disk = join(own, 'work')
  await mkdir(disk)
  if (hasSmallDisks) await sh('mount', '-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, 'tmpfs', disk)
  const folder = join(disk, String(at), 'notes')
  await gitWith(root, ['clone', '--quiet', `git://${host}:${doors.hub.port}/hub.git`, folder])
  await gitWith(folder, ['config', 'forge.hub', 'origin'])
  return new Machine(
    name,
    own,
    folder,
    all,
    doors,
    network,
    hasSmallDisks ? disk : undefined,
    await openRepository(folder),
  )
}

// --- Networks

type Bridge = { name: string; address: string; subnet: string }

/** A bridge between the networks of all machines, with an address of this machine's. */
async function makeBridge(): Promise<Bridge> {
  const number = process.pid % 250
  const name = `fleet${process.pid % 100_000}`
  const subnet = `10.213.${number}`
  await sh('ip', 'link', 'add', name, 'type', 'bridge')
  await sh('ip', 'addr', 'add', `${subnet}.1/24`, 'dev', name)
  await sh('ip', 'link', 'set', name, 'up')
  return { name, subnet, address: `${subnet}.1` }
}

/** A network namespace with one link, to the bridge. */
async function makeNetwork(bridge: Bridge, at: number): Promise<Network> {
  const name = `${bridge.name}-${at}`
  const link = `${bridge.name}v${at}`
  await sh('ip', 'netns', 'add', name)
  await sh('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  await sh('ip', 'link', 'set', link, 'master', bridge.name)
  await sh('ip', 'link', 'set', link, 'up')
  await sh('ip', '-n', name, 'addr', 'add', `${bridge.subnet}.${at + 10}/24`, 'dev', 'eth0')
  await sh('ip', '-n', name, 'link', 'set', 'eth0', 'up')
  await sh('ip', '-n', name, 'link', 'set', 'lo', 'up')
  return { name, link }
}

async function tryRun(...command: string[]): Promise<{ code: number; err: string }> {
  const child = Bun.spawn(command, { stdio: ['ignore', 'ignore', 'pipe'] })
  const err = await child.stderr.text()
  return { code: await child.exited, err }
}

async function sh(...command: string[]): Promise<void> {
  const { code, err } = await tryRun(...command)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${err}`)
}
