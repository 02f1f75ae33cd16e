/**
 * Moments at which something happens to one of several machines that work on a run: it is killed, cut off, its disk is
 * full, its clock is wrong, or the hub refuses to take anything. All moments by hand, for an hour:
 * `bun test/support/fleet-chaos.ts COUNT [SEED]`.
 */
import { expect } from 'bun:test'
import { IN_FLIGHT, STEPS } from './chaos.ts'
import { Fleet, hasNetworks, type Machine } from './fleet.ts'
import { gitWith } from './git.ts'
import { randomFrom } from './random.ts'

const HOUR_MS = 3_600_000
export const KINDS = ['killed', 'cut off', 'wrong clock', 'hub refuses', 'disk full'] as const
export type Kind = (typeof KINDS)[number]

/** What one run has survived. */
export type Endured = { moments: Kind[]; requests: number; tree: string; lines: number; resumed: number }

/** Does one thing to a machine, and undoes it after some time in milliseconds. */
export async function happen(fleet: Fleet, machine: Machine, kind: Kind, milliseconds: number): Promise<void> {
  switch (kind) {
    case 'killed':
      await machine.kill()
      await Bun.sleep(milliseconds)
      return await machine.work()
    case 'cut off':
      await machine.cutOff()
      await Bun.sleep(milliseconds)
      return await machine.cutOff(false)
    case 'wrong clock':
      return await machine.shiftClock(milliseconds % 2 === 0 ? HOUR_MS : -HOUR_MS)
    case 'hub refuses':
      await fleet.refusePushes(true)
      await Bun.sleep(milliseconds)
      return await fleet.refusePushes(false)
    case 'disk full':
      await machine.fillDisk(true)
      await Bun.sleep(milliseconds)
      return await machine.fillDisk(false)
  }
}

/**
 * Brings a run to its end on the machines of a fleet, which all work, while things happen to them. `next` gives what
 * happens next, and when; undefined where nothing more does.
 */
export async function endure(
  fleet: Fleet,
  next: () => { kind: Kind; machine: Machine; after: number; lasts: number } | undefined,
  { seconds = 200, log = (_: string): void => undefined } = {},
): Promise<Endured> {
  await Promise.all(fleet.machines.map(machine => machine.work()))
  const run = await fleet.begin(fleet.machine(0))
  const handle = fleet.temporal.client.workflow.getHandle(`forge-run-${run}`)
  const isOver = async () => (await handle.describe()).status.name !== 'RUNNING'
  const moments: Kind[] = []
  let resumed = 0
  let hasEnded = false
  const striking = (async () => {
    for (let moment = next(); moment && !hasEnded; moment = next()) {
      await Bun.sleep(moment.after)
      if (hasEnded) return
      log(`${moment.machine.name}: ${moment.kind} for ${moment.lasts} ms`)
      await happen(fleet, moment.machine, moment.kind, moment.lasts)
      moments.push(moment.kind)
    }
  })()
  try {
    for (const last = performance.now() + seconds * 1000; !(await isOver()); await Bun.sleep(250)) {
      const status = await handle.query<{ state: string; words: string }>('status').catch(() => undefined)
      if (status?.state === 'paused') {
        // A full disk or a hub that refuses for long pauses a run, as it does on one machine.
        log(`paused: ${status.words}`)
        resumed++
        await fleet.machine(0).forge('resume', run)
      }
      if (performance.now() > last)
        throw new Error(`${run} has not ended after ${moments.join(', ')}: ${JSON.stringify(status)}`)
    }
  } finally {
    hasEnded = true
    await striking
  }
  for (const machine of fleet.machines) await machine.cutOff(false)
  await fleet.refusePushes(false)
  const { machines } = fleet
  let lines: string[] = []
  let tree = ''
  for (const machine of machines) {
    const shown = await machine.forge('show', run)
    if (shown.code !== 0) throw new Error(`forge show on ${machine.name}: ${shown.err}`)
    tree = await machine.git('rev-parse', `forge/${run}/result^{tree}`)
    const journal = await machine.journal(run)
    lines = journal
      .filter(({ what }) => !what.startsWith('trouble') && what !== 'resumed' && what !== 'paused')
      .map(({ id }) => id)
    expect(new Set(lines).size).toBe(lines.length)
  }
  expect(await gitWith(fleet.hub, ['fsck', '--full', '--no-dangling', '--no-progress'])).toBe('')
  return { moments, requests: fleet.model.requests.length, tree, lines: lines.length, resumed }
}

if (import.meta.main) {
  const [count = '100', seed = '1'] = process.argv.slice(2)
  const { pick, below } = randomFrom(Number(seed))
  let moments = 0
  let runs = 0
  while (moments < Number(count)) {
    await using fleet = await Fleet.make({
      machines: 3,
      delay: 300,
      hasOwnNetworks: hasNetworks,
      hasSmallDisks: hasNetworks,
    })
    const kinds = hasNetworks ? KINDS : KINDS.filter(kind => kind !== 'disk full')
    const next = () => ({
      kind: pick(kinds),
      machine: pick(fleet.machines),
      after: below(3000),
      lasts: 500 + below(5000),
    })
    const endured = await endure(fleet, next, { seconds: 460, log: line => console.log(`  ${line}`) })
    moments += endured.moments.length
    runs++
    const lost = endured.moments.filter(kind => kind === 'killed' || kind === 'cut off').length
    console.log(JSON.stringify({ runs, total: moments, ...endured, moments: endured.moments.length, lost }))
    if (endured.requests > STEPS + (lost + endured.resumed) * IN_FLIGHT) throw new Error('More was paid than was lost.')
  }
}
