/**
 * Nothing is lost and little is paid twice, whatever is killed, deleted or full. This is a sample of the kills; for
 * all: `bun test/support/chaos-kills.ts`.
 */
import { beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findRunning, openServerPlace } from '../../../forge/tasks/engine/server.ts'
import { findWorkers } from '../../../forge/tasks/engine/workers.ts'
import { openRunFolder } from '../../../forge/tasks/runs/folder.ts'
import { begin, IN_FLIGHT, STEPS, strikeAtRandom, survive, verifyNothingIsLeft } from '../../support/chaos.ts'
import { until } from '../../support/repository.ts'
import { TasksWorld } from '../../support/tasks-world.ts'
import { hasNoTemporal } from '../../support/temporal.ts'

const INJECTOR = join(import.meta.dir, '../../support/chaos-injector.ts')
const CLOCK = join(import.meta.dir, '../../support/clock-injector.ts')
const MINUTES = 5 * 60_000

describe.skipIf(hasNoTemporal)('a run of a dozen tasks', () => {
  let tree = ''
  let lines = 0
  beforeAll(async () => {
    await using world = await TasksWorld.make()
    const calm = await survive(world)
    expect(calm).toMatchObject({ requests: STEPS, crashes: 0 })
    ;({ tree, lines } = calm)
    await verifyNothingIsLeft(world)
  }, MINUTES)

  test(
    'ends the same where worker, server and both die at lines of its journal',
    async () => {
      const env = { BUN_OPTIONS: `--preload=${INJECTOR}`, CHAOS_TARGET: 'turns', CHAOS_EACH: '24' }
      await using world = await TasksWorld.make({ env })
      world.env.CHAOS_FOLDER = join(world.root, 'points')
      await mkdir(world.env.CHAOS_FOLDER)
      const told = await survive(world, { seconds: 280 })
      expect(told).toMatchObject({ tree, lines })
      expect((await readdir(world.env.CHAOS_FOLDER)).length).toBeGreaterThan(3)
      expect(told.requests).toBeLessThanOrEqual(STEPS + told.crashes * IN_FLIGHT)
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  test(
    'ends the same where they die at any moment',
    async () => {
      await using world = await TasksWorld.make({ delay: 300 })
      const strike = strikeAtRandom(4)
      const told = await survive(world, { strike, seconds: 280 })
      expect(told).toMatchObject({ tree, lines })
      expect(strike.count).toBeGreaterThan(1)
      expect(told.requests).toBeLessThanOrEqual(STEPS + told.crashes * IN_FLIGHT)
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  test(
    'goes on where the server’s database is deleted in the middle, and pays for no step again',
    async () => {
      await using world = await TasksWorld.make({ delay: 100 })
      const run = await begin(world)
      await world.model.asked(STEPS / 2)
      const down = await world.forge(['down'])
      expect(down.out).toContain('Ended the Temporal server.')
      const { folder } = await openServerPlace(world.env)
      for (const name of await readdir(folder)) if (name.includes('.db')) await rm(join(folder, name))
      const lost = await world.forge(['show', run])
      expect([lost.code, lost.err]).toEqual([0, ''])
      expect(await world.forge(['resume', run])).toMatchObject({
        code: 0,
        out: expect.stringContaining('submitted again'),
      })
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      expect(await world.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
      // Requests that were under way when a worker was ended in an orderly way may be repeated.
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
      const { git: written } = await world.journal(run)
      expect(new Set(written.map(({ id }) => id)).size).toBe(written.length)
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  test(
    'goes on where its folder is deleted in the middle, with the commands that were approved',
    async () => {
      await using world = await TasksWorld.make({ delay: 100 })
      const run = await begin(world)
      await world.model.asked(STEPS / 2)
      await rm(await openRunFolder(world.repository, run, world.env), { recursive: true })
      // The signatures of the commands are in git, not in the folder.
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0, err: '' })
      expect(await world.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
      // The journal is complete, in git and in the new folder.
      const { git: written, file } = await world.journal(run)
      expect(new Set(written.map(({ id }) => id)).size).toBe(written.length)
      expect(file.map(({ id }) => id).sort()).toEqual(written.map(({ id }) => id).sort())
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  test(
    'ends the same where the clock is set back by a day in the middle, and its journal is in order',
    async () => {
      await using world = await TasksWorld.make({ delay: 100 })
      const clock = join(world.root, 'clock')
      Object.assign(world.env, { BUN_OPTIONS: `--preload=${CLOCK}`, CLOCK_FILE: clock })
      const run = await begin(world, ['--minutes', '60'])
      await world.model.asked(STEPS / 3)
      await writeFile(clock, '-86400000')
      await world.model.asked((STEPS * 2) / 3)
      // `attach` starts a new worker.
      await world.kill('worker')
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0, err: '' })
      expect(await world.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
      const { git: written, file } = await world.journal(run)
      const ids = written.map(({ id }) => id)
      // A line that a killed worker had written only to the journal's file is stored in git a little later.
      expect(ids.toSorted()).toEqual(file.map(({ id }) => id).sort())
      for (const [at, id] of ids.entries()) {
        const [request, answer] = id.split(' asks ')
        const end = answer === undefined ? -1 : ids.findIndex(other => other.startsWith(`${request} ends `))
        if (end >= 0) expect(end).toBeGreaterThan(at)
      }
      expect(written.at(-1)?.what).toBe('done')
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  test(
    'has one server and one worker where commands come at once, and none that is older',
    async () => {
      await using world = await TasksWorld.make()
      const all = await Promise.all([1, 2, 3].map(() => world.forge(['up'])))
      expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
      expect(new Set(all.map(({ out }) => out)).size).toBe(1)
      expect(await findWorkers(world.env)).toHaveLength(1)
      expect(await findRunning(await openServerPlace(world.env))).toBeDefined()
      // What a command has started beside another one's ends by itself.
      await until(() => world.processes().filter(line => /start-dev|forge\.ts worker/.test(line)).length === 2)
    },
    MINUTES,
  )

  test(
    'waits for a lock of git that somebody has left, and says so where it stays',
    async () => {
      await using world = await TasksWorld.make({ delay: 100 })
      const run = await begin(world)
      await world.model.asked(3)
      const lock = join(world.folder, `.git/refs/forge/runs/${run}/store.lock`)
      await writeFile(lock, '').catch(() => undefined)
      await Bun.sleep(1000)
      await rm(lock, { force: true })
      const end = await world.forge(['attach', run])
      if (end.code === 4) await world.forge(['resume', run])
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
    },
    MINUTES,
  )
})
