/** A run whose worker is replaced by one of another version of the code. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isProcessAlive } from '../../../forge/tasks/engine/processes.ts'
import { findWorker, openWorkerPlace } from '../../../forge/tasks/engine/workers.ts'
import type { Heard, Turn } from '../../doubles/model-server.ts'
import { begin, IN_FLIGHT, STEPS, verifyNothingIsLeft } from '../../support/chaos.ts'
import { turnFor } from '../../support/chaos-model.ts'
import { TasksWorld } from '../../support/tasks-world.ts'
import { hasNoTemporal } from '../../support/temporal.ts'
import { PROJECT, until } from '../../support/world.ts'

const MINUTES = 8 * 60_000

/** Another installation of this code, with other file times, for a command and a worker. */
async function install(folder: string): Promise<string> {
  await mkdir(join(folder, '.tools'), { recursive: true })
  for (const name of ['forge.ts', 'forge', 'core', 'package.json', 'bun.lock', '.tools/tasks'])
    await cp(join(PROJECT, name), join(folder, name), { recursive: true, dereference: true })
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'))
  await utimes(join(folder, 'bun.lock'), new Date(), new Date())
  return join(folder, 'forge.ts')
}

describe.skipIf(hasNoTemporal)('a run', () => {
  let root = ''
  let other = ''
  beforeAll(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'forge-versions-')))
    other = await install(join(root, 'other'))
  }, MINUTES)
  afterAll(() => rm(root, { recursive: true, force: true }))

  const workerOf = async (world: TasksWorld) => await findWorker(await openWorkerPlace(world.repository, world.env))

  test(
    'goes on where a command of another version comes in the middle, and nothing is paid twice',
    async () => {
      await using world = await TasksWorld.make({ delay: 300 })
      const run = await begin(world)
      await world.model.asked(STEPS / 4)
      const first = await workerOf(world)
      const beside = await world.forge(['worker'], {}, other)
      expect(beside).toMatchObject({
        code: 1,
        err: expect.stringContaining('A worker for this repository runs already'),
      })
      const up = await world.forge(['up'], {}, other)
      expect({ code: up.code, err: up.err }).toEqual({ code: 0, err: '' })
      const second = await workerOf(world)
      expect(second?.process.pid).not.toBe(first?.process.pid)
      expect(second?.version).not.toBe(first?.version)
      await world.model.asked(STEPS / 2)
      // A command of the first version replaces the worker again, as when two checkouts of the code are used in turns.
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      const third = await workerOf(world)
      expect(third?.version).toBe(first?.version as string)
      const isLeft = async () =>
        (await Promise.all([first, second].map(it => it && isProcessAlive(it.process)))).some(Boolean)
      await until('both workers have ended', async () => !(await isLeft()))
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
      const { git: lines } = await world.journal(run)
      expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )

  /** An installation whose flows have one step more than those that a run was begun with. */
  async function installChanged(file: string, before: string, more: string): Promise<string> {
    const folder = join(root, `changed-${basename(file, '.ts')}`)
    const changed = await install(folder)
    const path = join(folder, 'forge/tasks/flows', file)
    const code = await readFile(path, 'utf8')
    expect(code).toContain(before)
    await writeFile(path, code.replace(before, `${more}\n${before}`))
    const build = ['bun', 'forge/tasks/engine/build.ts']
    expect(await Bun.spawn(build, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }).exited).toBe(0)
    return changed
  }

  test.each([
    ['step.ts', 'const constructed =', "await atOnce.keepWords({ ...place, kind: 'status', words: 'New.' })"],
    ['run.ts', 'const kept = this.#keepStatus()', 'await atOnce.note({ run: this.input.run, lines: [] })'],
  ])(
    'that another version would go on with otherwise says so (%s), and goes on when it is resumed',
    async (file, before, more) => {
      const changed = await installChanged(file, before, more)
      // Requests that were sent before the other version starts are answered only when it has started, so that it has
      // to continue with these steps.
      const hasCome = Promise.withResolvers<void>()
      const script = async (heard: Heard, count: number): Promise<Turn> => {
        if (count >= STEPS / 3) await hasCome.promise
        return turnFor(heard, 0)
      }
      await using world = await TasksWorld.make({ script })
      const run = await begin(world)
      await world.model.asked(STEPS / 3 + 1)
      expect((await world.forge(['up'], {}, changed)).code).toBe(0)
      hasCome.resolve()
      const attach = () => world.forge(['attach', run], {}, changed)
      let attached = await attach()
      // On a busy machine a replay takes longer than a command waits for an answer.
      while (attached.err.includes('does not answer')) attached = await attach()
      // A task of the run is halted, or the run has ended.
      expect(attached.code === 4 || attached.code === 1).toBe(true)
      if (attached.code === 4) expect(attached.out).toContain('Another version of Forge')
      expect(`${attached.out}${attached.err}`).toContain(`forge resume ${run}`)
      expect(attached.err).not.toMatch(/nondeterminism|TMPRL/i)
      let last: number | null = attached.code
      for (let times = 0; last !== 0 && times < 4; times++) {
        expect(await world.forge(['resume', run], {}, changed)).toMatchObject({ code: 0, err: '' })
        last = (await world.forge(['attach', run], {}, changed)).code
      }
      expect(last).toBe(0)
      const { git: lines } = await world.journal(run)
      expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
      expect(lines.at(-1)?.what).toBe('done')
      expect(world.model.requests.length).toBeLessThanOrEqual(STEPS + IN_FLIGHT)
      await verifyNothingIsLeft(world)
    },
    MINUTES,
  )
})
