/**
 * All kills, run by hand for hours: `bun test/support/chaos-kills.ts points|random TARGET COUNT`. `points` kills
 * workers before, while and after writing each COUNTth line of the journal; `random` kills COUNT times at random
 * moments.
 */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { IN_FLIGHT, STEPS, strikeAtRandom, survive, verifyNothingIsLeft } from './chaos.ts'
import { TasksWorld } from './tasks-world.ts'

const [how = 'points', target = 'turns', count = '1'] = process.argv.slice(2)
const injector = join(import.meta.dir, 'chaos-injector.ts')

let kills = 0
let crashes = 0
let requests = 0
let runs = 0
do {
  await using world = await TasksWorld.make({ delay: how === 'random' ? 300 : 20 })
  const calm = await survive(world)
  world.model.requests.length = 0
  const folder = join(world.root, 'points')
  await mkdir(folder)
  const strike = how === 'random' ? strikeAtRandom(Number(count) - kills) : undefined
  if (!strike) {
    await world.forge(['down'])
    const preload = { BUN_OPTIONS: `--preload=${injector}`, CHAOS_FOLDER: folder, CHAOS_TARGET: target }
    Object.assign(world.env, preload, { CHAOS_EACH: count })
  }
  const told = await survive(world, { seconds: 7200, log: true, ...(strike && { strike }) })
  kills += strike ? strike.count : (await readdir(folder)).length
  crashes += told.crashes
  requests += told.requests
  runs++
  console.log(JSON.stringify({ runs, kills, ...told, isSame: told.tree === calm.tree }))
  if (told.tree !== calm.tree || told.lines !== calm.lines || told.requests > STEPS + told.crashes * IN_FLIGHT)
    throw new Error('It is another one than the calm one.')
  await verifyNothingIsLeft(world)
} while (how === 'random' && kills < Number(count))
console.log(`${kills} kills (${crashes} revivals) in ${runs} runs, ${requests} requests for ${runs * STEPS} steps`)
