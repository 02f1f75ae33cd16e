/**
 * A run that is killed (SIGKILL), interrupted (SIGINT) or terminated (SIGTERM) just before one of the commands that it
 * starts, and at random moments. By default a fixed sample is tested. `FORKLIFT_FAULTS=all` tests every command of
 * every path, which takes long; `FORKLIFT_FAULTS_SEED` sets other random moments, `FORKLIFT_FAULTS_MOMENTS` their
 * number.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { shellIn } from '../../core/shell.ts'
import {
  allIsWell,
  belongings,
  type End,
  type Fault,
  hurry,
  runCounted,
  type Signal,
  theEndIsSaid,
} from '../support/injector.ts'
import { refusePushes } from '../support/moments.ts'
import { randomFrom } from '../support/random.ts'
import {
  DOCKER,
  exists,
  expectExit,
  makeWorld,
  PROJECT,
  until,
  type World,
  type WorldOptions,
} from '../support/world.ts'

setDefaultTimeout(300_000)

const ALL = process.env.FORKLIFT_FAULTS === 'all'

type Path = {
  world?: WorldOptions
  args?: string[]
  /** Prepares the state that the run meets. */
  earlier?: (world: World) => Promise<unknown>
  end: End
  /** Whether the run, or the next one after the fault, may ask an agent. */
  mayPay?: boolean
  /** The number of faults that are tested by default. */
  sample: number
}

const NEWS = { 'greeting.txt': 'hello again from upstream\n' }

/** The paths that a run can take. */
const PATHS: Record<string, Path> = {
  'the first merge': { end: 'pull request', mayPay: true, sample: 5 },
  'an update of the pull request': {
    earlier: async world => {
      expectExit(await world.run(), 0)
      await world.push('upstream', NEWS)
      await world.push('origin', { 'fork.txt': 'still ours\n' })
    },
    end: 'pull request',
    mayPay: true,
    sample: 2,
  },
  'a check': { args: ['--check'], end: 'pull request', mayPay: true, sample: 2 },
  'the publication of an earlier result': {
    earlier: async world => {
      const undo = await refusePushes(world)
      expectExit(await world.run(), 1)
      await undo()
    },
    end: 'pull request',
    sample: 2,
  },
  'the pull request of a branch that is pushed': {
    earlier: async world => {
      world.github.fail({ method: 'POST', path: /pulls$/, times: 1, status: 422, message: 'Not today' })
      expectExit(await world.run(), 1)
    },
    end: 'pull request',
    sample: 2,
  },
  'a fast-forward': { world: { story: 'pristine' }, end: 'pull request', sample: 2 },
  'a merge without GitHub': { world: { github: false }, end: 'branch', mayPay: true, sample: 2 },
  'a look at a fork that is current': { world: { story: 'current' }, end: 'nothing', sample: 2 },
  'a look at a pull request that waits': {
    earlier: async world => expectExit(await world.run(), 0),
    end: 'pull request',
    sample: 2,
  },
}

const FAULTS: Record<string, Fault> = {
  'killed before': { signals: ['SIGKILL'], command: 'stops' },
  'killed at': { signals: ['SIGKILL'], command: 'goes on' },
  'interrupted at': { signals: ['SIGINT'], command: 'goes on' },
  'told to end at': { signals: ['SIGTERM'], command: 'goes on' },
  'interrupted twice at': { signals: ['SIGINT', 'SIGINT'], command: 'goes on' },
}

async function worldOf(path: Path): Promise<World> {
  const world = await makeWorld(path.world)
  try {
    await hurry(world)
    await path.earlier?.(world)
    return world
  } catch (error) {
    await world[Symbol.asyncDispose]()
    throw error
  }
}

const measured = new Map<Path, Promise<{ commands: string[]; length: number }>>()

/** Runs Forklift along one of the PATHS without a fault, once for each path. Gives its commands and milliseconds. */
function undisturbed(path: Path) {
  const measure = async () => {
    await using world = await worldOf(path)
    const begun = performance.now()
    const { ended, commands } = await runCounted(world, path.args)
    const length = performance.now() - begun
    expectExit(ended, 0)
    return { commands, length }
  }
  const known = measured.get(path) ?? measure()
  measured.set(path, known)
  return known
}

type Case = [path: string, fault: string, place: string, number: (commands: string[]) => number]

/** Test cases: each has the next kind of fault, at commands spread evenly over the run (by the golden ratio). */
function sampled(): Case[] {
  const faults = Object.keys(FAULTS)
  const names = Object.entries(PATHS).flatMap(([name, { sample }]) => Array<string>(sample).fill(name))
  return names.map((name, nth): Case => {
    const part = ((nth + 1) * 0.618) % 1
    const place = `${Math.round(part * 100)} % of its commands`
    return [name, faults[nth % faults.length] as string, place, ({ length }) => Math.ceil(part * length)]
  })
}

async function every(): Promise<Case[]> {
  const cases: Case[] = []
  for (const [name, path] of Object.entries(PATHS)) {
    const { commands } = await undisturbed(path)
    for (const fault of Object.keys(FAULTS)) {
      for (const at of commands.keys()) cases.push([name, fault, `command ${at + 1}`, () => at + 1])
    }
  }
  return cases
}

const cases = ALL ? await every() : sampled()

test.concurrent.each(cases)('%s, %s %s: nothing is left, and the next run ends it well', async (name, fault, _, of) => {
  const path = PATHS[name] as Path
  const { signals, command } = FAULTS[fault] as Fault
  const number = of((await undisturbed(path)).commands)
  await using world = await worldOf(path)
  const [before, main, runs] = [await belongings(world), await world.tip('origin'), (await world.runs()).length]
  const { ended, commands, isSent } = await runCounted(world, path.args, number, { signals, command })
  const about = `${commands[number - 1]?.trim()} (${number})\n${ended.stdout}${ended.stderr}`
  try {
    expect(isSent).toBe(true)
    // The signal may arrive after the last command has ended.
    const isTooLate = ended.code === 0 && number === commands.length
    if (!isTooLate) await theEndIsSaid(world, ended, signals, runs)
    await allIsWell(world, before, main, path.end, path.mayPay === true)
  } catch (error) {
    throw new Error(`${fault} ${about}`, { cause: error })
  }
})

/**
 * The files that a run writes about itself, in this order: after a kill, a full disk or a power failure, the last ones
 * may be missing or empty.
 */
const RECORDS = ['metadata', 'agent', 'outcome']

test.concurrent.each(RECORDS)('killed while it writes %s.json: the next run ends it well', async cutOff => {
  const path = PATHS['the publication of an earlier result'] as Path
  await using world = await worldOf(path)
  const [before, main, run] = [await belongings(world), await world.tip('origin'), await world.lastRun()]
  for (const record of RECORDS.slice(RECORDS.indexOf(cutOff))) await rm(join(run.path, `${record}.json`))
  await writeFile(join(run.path, `${cutOff}.json`), '', { mode: 0o444 })
  await allIsWell(world, before, main, path.end, cutOff !== 'outcome')
})

test.concurrent.each(['SIGINT', 'SIGTERM'] as const)(
  '%s when the agent has ended and its container is being removed: the agent is not paid again',
  async signal => {
    const path = PATHS['the first merge'] as Path
    await using world = await worldOf(path)
    const [before, main, agentHasEnded] = [await belongings(world), await world.tip('origin'), world.path('ended')]
    const remove = `touch '${agentHasEnded}'; /bin/sleep 0.5`
    await world.tool('docker', `'${DOCKER}' "$@"; code=$?; if [ "$1" = run ]; then ${remove}; fi; exit $code`)
    const started = world.start()
    await until('the agent has ended', () => exists(agentHasEnded))
    started.child.kill(signal)
    await theEndIsSaid(world, await started.ended, [signal], 0)
    await allIsWell(world, before, main, path.end, false)
  },
)

test('nothing more is begun once a run is interrupted', async () => {
  await using world = await makeWorld({ story: 'current' })
  const sh = shellIn({ cwd: world.root, signal: AbortSignal.abort() }, { nothrow: true })
  const codes: unknown[] = []
  for (let attempt = 0; attempt < 30; attempt++) codes.push((await sh`echo begun >>begun`).exitCode)
  expect(new Set(codes)).toEqual(new Set([null]))
  expect(await exists(world.path('begun'))).toBe(false)
})

test('a command that ends before it has read its input does not crash the run', async () => {
  const program = `
    import { shellIn } from ${JSON.stringify(join(PROJECT, 'core/shell.ts'))}
    const told = shellIn({ cwd: '/' }, { nothrow: true })({ input: 'commit '.repeat(100_000), stdio: 'pipe' })
    console.log((await told\`exit 3\`).exitCode)`
  const child = Bun.spawn([process.execPath, '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  expect([await child.stdout.text(), await child.stderr.text(), await child.exited]).toEqual(['3\n', '', 0])
})

const SEED = Number(process.env.FORKLIFT_FAULTS_SEED ?? 1)
const MOMENTS = Number(process.env.FORKLIFT_FAULTS_MOMENTS ?? (ALL ? 100 : 3))

/** Each moment has a seed of its own, so that a failing one can be repeated alone. */
const seeds = Array.from({ length: MOMENTS }, (_, nth) => SEED + nth)

test.concurrent.each(seeds)('ended at a random moment (seed %d): the next run ends it well', async seed => {
  const random = randomFrom(seed)
  const path = PATHS[random.pick(['the first merge', 'the first merge', ...Object.keys(PATHS)])] as Path
  const signal = random.pick<Signal>(['SIGKILL', 'SIGINT', 'SIGTERM'])
  const part = random.below(1000) / 1000
  const { length } = await undisturbed(path)
  await using world = await worldOf(path)
  const [before, main, runs] = [await belongings(world), await world.tip('origin'), (await world.runs()).length]
  const started = world.start(path.args)
  await Promise.race([started.child.exited, Bun.sleep(part * length)])
  started.child.kill(signal)
  const ended = await started.ended
  try {
    // The signal came too late, or before Forklift handled signals: then nothing is printed.
    const isUnheard = ended.code === 0 || (ended.stdout + ended.stderr === '' && started.child.signalCode === signal)
    if (!isUnheard) await theEndIsSaid(world, ended, [signal], runs)
    await allIsWell(world, before, main, path.end, path.mayPay === true)
  } catch (error) {
    const { stdout, stderr } = ended
    throw new Error(`${signal} after ${part} of the time, FORKLIFT_FAULTS_SEED=${seed}\n${stdout}${stderr}`, {
      cause: error,
    })
  }
})
