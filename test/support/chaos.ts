/** A run that things happen to: it is begun, brought back whenever something of it is dead, and looked at in the end. */
import { expect } from 'bun:test'
import type { Target, TasksWorld } from './tasks-world.ts'

export type Survived = {
  run: string
  /** The tree of the result. */
  tree: string
  /** How often something had to be started again. */
  crashes: number
  requests: number
  seconds: number
  lines: number
}

type Options = {
  /** How long it may take in all. */
  seconds?: number
  /** Done again and again while the run is under way. Gives false where there is no more of it. */
  strike?: (world: TasksWorld, run: string) => Promise<boolean>
  log?: boolean
}

/**
 * The steps of the run that nothing happens to, each a request: with one look at the plan on the way, and one answer
 * that is asked for once more within its step.
 */
export const STEPS = 25
/** Requests at the same time: four tasks, of which one may have three sub-agents. */
export const IN_FLIGHT = 6

/** Begins a run as in a terminal that is then closed. Gives its id. */
export async function begin(world: TasksWorld, args: string[] = []): Promise<string> {
  const { run, leave } = await world.begun({}, args)
  while ((await world.stateOf(run)) === undefined) await Bun.sleep(20)
  await leave()
  return run
}

/** Lets a run go to its end, whatever happens. */
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
  // Every decision stands there once, in git and in the file.
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

/** What a person finds when all has ended: nothing that runs, waits or is locked; only the refs of the run. */
export async function verifyNothingIsLeft(world: TasksWorld): Promise<void> {
  await world.forge(['down'])
  expect(await world.remains()).toEqual([])
  const refs = (await world.git('for-each-ref', '--format=%(refname)')).split('\n')
  const known =
    /^refs\/(heads\/main|heads\/forge\/[^/]+\/result|forge\/runs\/[^/]+\/(store|(steps|attempts|done)\/.*))$/
  expect(refs.filter(ref => !known.test(ref))).toEqual([])
  expect(await world.git('fsck', '--full', '--no-dangling', '--no-progress')).toBe('')
}

const TARGETS: Target[] = ['worker', 'server', 'both']

/** Kills at random moments, that many times; `count` is how often it did. */
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
