/**
 * Several machines work on one run, and share only a Temporal server and a bare repository. The result is that of one
 * machine, whatever happens to one of them.
 */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { STEPS, survive } from '../../support/chaos.ts'
import { Fleet } from '../../support/fleet.ts'
import { TasksWorld } from '../../support/tasks-world.ts'
import { hasNoTemporal } from '../../support/temporal.ts'

const MINUTES = 4 * 60_000

describe.skipIf(hasNoTemporal)('a run on several machines', () => {
  let fleet: Fleet | undefined
  let tree = ''
  let lines = 0
  beforeAll(async () => {
    await using world = await TasksWorld.make()
    ;({ tree, lines } = await survive(world))
  }, MINUTES)
  afterEach(async () => {
    await fleet?.[Symbol.asyncDispose]()
    fleet = undefined
  }, MINUTES)

  test(
    'is spread over them, and its result is that of one machine',
    async () => {
      fleet = await Fleet.make({ machines: 3, delay: 200 })
      const [first, second, third] = [fleet.machine(0), fleet.machine(1), fleet.machine(2)]
      await Promise.all([second.work(), third.work()])
      const run = await fleet.begin(first)
      expect(await fleet.ends(run)).toBe('COMPLETED')
      expect(fleet.model.requests).toHaveLength(STEPS)
      for (const machine of [first, second, third]) expect(machine.doors.model.opened).toBeGreaterThan(0)
      // Any machine can show and land it.
      for (const machine of fleet.machines) {
        const shown = await machine.forge('show', run)
        expect(shown).toMatchObject({ code: 0, err: '' })
        expect(await machine.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
        expect(await machine.journal(run)).toHaveLength(lines)
      }
    },
    MINUTES,
  )
})
