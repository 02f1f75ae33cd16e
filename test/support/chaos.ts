/** A run with disturbances: it is started, revived whenever a process is dead, and checked at the end. */
import { expect } from 'bun:test'
import type { Target, TasksWorld } from './tasks-world.ts'

export type Survived = {
  run: string
  /** The tree of the result. */
  tree: string
  /** How many times a process had to be started again. */
  crashes: number
  requests: number
  seconds: number
  lines: number
}

type Options = {
  /** The time limit for the whole run, in seconds. */
  seconds?: number
  /** Called repeatedly while the run is active. Gives false when it is done. */
  strike?: (world: TasksWorld, run: string) => Promise<boolean>
  log?: boolean
}

/**
 * The number of requests of an undisturbed run, one for each step: with one look at files for the plan, and one answer
 * that is asked for again within its step.
 */
export const STEPS = 25
/** The most requests at once: four tasks, one of which may have three sub-agents. */
export const IN_FLIGHT = 6

/** Starts a run as in a terminal that is then closed. Gives its id. */
export async function begin(world: TasksWorld, args: string[] = []): Promise<string> {
  const { run, leave } = await world.begun({}, args)
  while ((await world.stateOf(run)) === undefined) await Bun.sleep(20)
  await leave()
  return run
}

/** Brings a run to its end, whatever happens. */
export async function survive(world: TasksWorld, { seconds = 120, strike, log }: Options = {}): Promise<Survived> {
  const began = Date.now()
  const run = await begin(world)
  let crashes = 0
  let isOver = false
  const striking = (async () => {
    while (!isOver && (await strike?.(world, run))) await Bun.sleep(1)
  })()
  for (let looked = 0; ; await Bun.sleep(25)) {
    if (Date.now() - began > seconds * 1000) {
      isOver = true
      const { out } = await world.forge(['show', run])
      throw new Error(`It did not end in ${seconds} seconds (${crashes} crashes): ${out}`)
    }
    if (await world.isDead()) {
      crashes++
      const from = Date.now()
      await world.revive().catch(error => log && console.log(`not revived: ${error.message}`))
      if (log) console.log(`${Date.now() - began} crash ${crashes}, back after ${Date.now() - from} ms`)
      continue
    }
    if (Date.now() - looked < 500) continue
    looked = Date.now()
    const state = await world.stateOf(run)
    if (state !== undefined && state !== 'RUNNING') break
  }
  isOver = true
  await striking
  const { git: lines, file, rows } = await world.journal(run)
  if (lines.at(-1)?.what !== 'done') throw new Error(`It is not done: ${lines.at(-1)?.words}`)
  const tree = await world.git('rev-parse', `forge/${run}/result^{tree}`)
  // Every decision is recorded once, in git and in the file.
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
  expect(file.map(({ id }) => id).sort()).toEqual(lines.map(({ id }) => id).sort())
  expect(rows).toBe(file.length)
  return {
    run,
    tree,
    crashes,
    requests: world.model.requests.length,
    seconds: Math.round((Date.now() - began) / 1000),
    lines: lines.length,
  }
}

/** Checks that nothing is left at the end that runs, waits or is locked, and no refs but the run's. */
export async function verifyNothingIsLeft(world: TasksWorld): Promise<void> {
  await world.forge(['down'])
  const remains = await world.remains()
  // A process that is killed while git works for it leaves that git's small folder, which the system removes.
  expect(remains.filter(name => !/^temporary: (?:attributes|conflict|merge)-\w{6}$/.test(name))).toEqual([])
  const refs = (await world.git('for-each-ref', '--format=%(refname)')).split('\n')
  const known =
    /^refs\/(heads\/main|heads\/forge\/[^/]+\/result|forge\/id|forge\/runs\/[^/]+\/(store|(steps|attempts|done)\/.*))$/
  expect(refs.filter(ref => !known.test(ref))).toEqual([])
  expect(await world.git('fsck', '--full', '--no-dangling', '--no-progress')).toBe('')
}

const TARGETS: Target[] = ['worker', 'server', 'both']

/** Kills at random moments, at most `most` times; `count` is the number of kills. */
export function strikeAtRandom(most: number, random = Math.random) {
  const strike = async (world: TasksWorld): Promise<boolean> => {
    await Bun.sleep(random() * 2500)
    if (strike.count >= most) return false
    if (await world.isDead()) return true
    if (await world.kill(TARGETS[strike.count % TARGETS.length] ?? 'both')) strike.count++
    return true
  }
  strike.count = 0
  return strike
}
