/**
 * Several machines work on one run, and share only a Temporal server and a bare repository. The result is that of one
 * machine, whatever happens to one of them.
 */
import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { IN_FLIGHT, STEPS, survive } from '../../support/chaos.ts'
import { Fleet, hasNetworks } from '../../support/fleet.ts'
import { endure, type Kind } from '../../support/fleet-chaos.ts'
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

  test.skipIf(!hasNetworks)(
    'ends the same in networks of their own where one is killed, cut off, full, wrong in time, or refused by the hub',
    async () => {
      fleet = await Fleet.make({ machines: 3, delay: 300, hasOwnNetworks: true, hasSmallDisks: true })
      const kinds: Kind[] = ['wrong clock', 'killed', 'hub refuses', 'cut off', 'disk full', 'killed']
      let at = 0
      const next = () => {
        const kind = kinds[at]
        const machine = fleet?.machine(at++ % 3)
        return kind && machine && { kind, machine, after: 1000, lasts: 1500 }
      }
      const endured = await endure(fleet, next)
      expect(endured.moments).toEqual(kinds)
      expect(endured).toMatchObject({ tree, lines })
      expect(endured.requests).toBeLessThanOrEqual(STEPS + (3 + endured.resumed) * IN_FLIGHT)
    },
    MINUTES,
  )

  test(
    'sends no more requests than its limit over all machines, and moves to another one when its own is gone',
    async () => {
      fleet = await Fleet.make({ machines: 2, delay: 100 })
      const [first, second] = [fleet.machine(0), fleet.machine(1)]
      await Promise.all([first.work(), second.work()])
      const run = await fleet.begin(first, ['--requests', '9'])
      const handle = fleet.temporal.client.workflow.getHandle(`forge-run-${run}`)
      const stateIs = async (...states: string[]) => {
        for (;;) {
          const { state } = await handle.query<{ state: string }>('status')
          if (states.includes(state)) return
          await Bun.sleep(50)
        }
      }
      await stateIs('out of budget')
      expect(fleet.model.requests).toHaveLength(9)
      // The first machine is gone for good. The second one has all of it from the hub.
      await first[Symbol.asyncDispose]()
      const raised = await second.forge('resume', run, '--requests', '60')
      expect(raised).toMatchObject({ code: 0, err: '' })
      expect(await fleet.ends(run)).toBe('COMPLETED')
      expect(fleet.model.requests).toHaveLength(STEPS)
      expect(await second.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
      expect((await second.forge('land', run, '--yes')).code).toBe(0)
    },
    MINUTES,
  )
})
