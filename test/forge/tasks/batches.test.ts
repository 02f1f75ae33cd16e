/** Runs whose requests go out in batches: at half the price, nothing submitted twice, nothing that waits for ever. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ShownRun } from '../../../forge/formats/tasks-json.ts'
import { openEngine } from '../../../forge/tasks/engine/engine.ts'
import { openServerPlace } from '../../../forge/tasks/engine/server.ts'
import { surviveRounds, worldOfRounds } from '../../support/batch-rounds.ts'
import { fansOut, saying } from '../../support/chaos-model.ts'
import { TasksWorld, type TasksWorldOptions } from '../../support/tasks-world.ts'
import { hasNoTemporal } from '../../support/temporal.ts'

const MINUTES = 10 * 60_000
const PRICES = 'anthropic/claude-scripted=4/20/0.4/5,openai/scripted=4/20/0.4/4'
/**
 * `AGENTS`: the sub-agents of a run. `REQUESTS`: its requests, one for the plan, one that asks for sub-agents, one for
 * each of them, and one with their texts.
 */
const AGENTS = 4
const REQUESTS = AGENTS + 3

/** Makes a world in which requests are gathered for 0.4 seconds before they are submitted as a batch. */
function make({ env, ...options }: TasksWorldOptions = {}, agents = AGENTS): Promise<TasksWorld> {
  const answer = fansOut(1, agents)
  return TasksWorld.make({
    script: heard => saying(answer(heard)),
    ...options,
    env: { FORGE_BATCH: '1', FORGE_BATCH_WINDOW: '0.4', FORGE_LESSONS: 'off', FORGE_PRICES: PRICES, ...env },
  })
}

/** The ids of all lines (requests) in accepted batches. Checks that each id is there once. */
function linesOf({ model }: TasksWorld): string[] {
  const ids = model.batches.lines.map(({ id }) => id)
  expect(ids.length).toBe(new Set(ids).size)
  expect(model.batches.refused).toEqual([])
  return ids
}

async function shown(world: TasksWorld, run = 'last'): Promise<ShownRun> {
  const { out, err } = await world.forge(['show', run, '--json'])
  expect(err).toBe('')
  return JSON.parse(out)
}

const storyOf = async (world: TasksWorld): Promise<string[]> =>
  (await world.journal(await world.run())).git.map(({ words }) => words)

/** Waits until a condition is true, by polling. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(20)
}

describe.skipIf(hasNoTemporal)('a run in batches', () => {
  let world: TasksWorld
  beforeAll(async () => {
    world = await make()
  }, MINUTES)
  afterAll(() => world[Symbol.asyncDispose]())
  beforeEach(() => {
    world.model.requests.length = 0
    world.model.batches.reset()
  })

  test(
    'costs half, whatever happens when it is submitted: a refusal for now, and an answer that never comes',
    async () => {
      world.model.batches.script = {
        refuse: count => (count === 0 ? { status: 429, headers: { 'retry-after': '1' } } : undefined),
        isDropped: count => count === 1,
      }
      expect(await world.forge(['run', '--yes', 'Ask some'])).toMatchObject({ code: 0 })
      // Only the request for the plan is sent outside of batches.
      expect(world.model.requests).toHaveLength(1)
      expect(linesOf(world)).toHaveLength(REQUESTS - 1)
      expect(world.model.batches.batches).toHaveLength(3)
      const { spent, batch } = await shown(world)
      const [planning] = (await world.journal(await world.run())).git.filter(({ what }) => what === 'success')
      const [, plan] = /\$(\d+\.\d+)/.exec(planning?.why ?? '') ?? []
      expect(spent.requests).toBe(REQUESTS)
      expect(batch).toMatchObject({ out: 0, answered: REQUESTS - 1 })
      expect(spent.cost - Number(plan)).toBeCloseTo(batch?.saved ?? 0, 3)
      const { out } = await world.forge(['show', 'last'])
      expect(out).toMatch(/6 answers came from batches and saved \$0\.\d+/)
      const story = await storyOf(world)
      expect(story).toContain('4 requests to openai/scripted went out in a batch, at half the price.')
      expect(story).toContainEqual(
        expect.stringMatching(/^4 answers of openai.scripted came from a batch, which saved/),
      )
      // What was uploaded is deleted at the provider.
      expect(world.model.batches.files).toEqual([])
    },
    MINUTES,
  )

  test(
    'sends now what fails, expires or is lost, and says so',
    async () => {
      const ends = ['errored', 'expired', 'lost', 'doubled'] as const
      world.model.batches.script = { end: (at, body) => (/Say fan-a-/.test(body) ? ends[at] : undefined) ?? 'answered' }
      expect(await world.forge(['run', '--yes', 'Ask some more'])).toMatchObject({ code: 0 })
      linesOf(world)
      // Sent outside of batches: the request for the plan, and those of the three lines that got no answer.
      expect(world.model.requests).toHaveLength(4)
      const story = await storyOf(world)
      expect(story).toContain('A request is sent now: the provider refused it: Invalid request.')
      expect(story).toContain('A request is sent now: its batch expired before its turn came.')
      expect(story).toContain('A request is sent now: it was not among the results.')
    },
    MINUTES,
  )

  test(
    'says how many requests are out and since when; a stop cancels the batch, and a resumption sends it anew',
    async () => {
      world.model.batches.script = { delay: 3_600_000 }
      const { run, leave } = await world.begun({}, ['--minutes', '60'])
      await until(() => world.model.batches.batches.length === 1)
      await until(async () => (await shown(world, run)).batch?.out === 1)
      const { batch, used } = await shown(world, run)
      expect(batch?.since ?? 0).toBeGreaterThan(Date.now() - 60_000)
      const { out } = await world.forge(['show', run])
      expect(out).toMatch(/1 request is out in batches, for \d+ s/)
      expect(out).toContain('writes, in a batch')
      // While requests wait in batches, the run's minutes are not counted.
      await Bun.sleep(1500)
      expect((await shown(world, run)).used).toBe(used ?? 0)
      expect(await world.forge(['stop', run])).toMatchObject({ code: 0 })
      await leave()
      const [first] = world.model.batches.batches
      await until(() => first?.state === 'cancelled')
      await until(async () => (await shown(world, run)).batch === undefined)
      world.model.batches.script = {}
      expect(await world.forge(['resume', run])).toMatchObject({ code: 0 })
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      // The cancelled line is submitted again, with the same id, in another batch.
      const ids = world.model.batches.lines.map(({ id }) => id)
      expect(ids[1]).toBe(ids[0] ?? '')
      expect(new Set(ids).size).toBe(REQUESTS - 1)
      expect(world.model.requests).toHaveLength(1)
    },
    MINUTES,
  )

  test(
    'goes on with the batch that is out where the Temporal server’s database is lost',
    async () => {
      world.model.batches.script = { delay: 3_600_000 }
      const { run, leave } = await world.begun()
      await until(() => world.model.batches.batches.length === 1)
      await until(async () => (await storyOf(world)).some(words => words.includes('went out in a batch')))
      await leave()
      await world.forge(['down'])
      const { folder } = await openServerPlace(world.env)
      for (const name of await readdir(folder)) if (name.includes('.db')) await rm(join(folder, name))
      world.model.batches.script = {}
      expect(await world.forge(['resume', run])).toMatchObject({ code: 0 })
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      expect(linesOf(world)).toHaveLength(REQUESTS - 1)
      expect(world.model.requests).toHaveLength(1)
    },
    MINUTES,
  )

  test(
    'sends now where the collector is gone',
    async () => {
      world.model.batches.script = { delay: 3_600_000 }
      const { run, leave } = await world.begun()
      await until(() => world.model.batches.batches.length === 1)
      await until(async () => (await shown(world, run)).batch?.out === 1)
      const engine = await openEngine(world.repository, world.env, { start: false })
      for await (const { workflowId, status } of engine.client.workflow.list())
        if (workflowId.startsWith('forge-batch-') && status.name === 'RUNNING')
          await engine.client.workflow.getHandle(workflowId).terminate('A person did that')
      await engine.close()
      // Only the request of the ended collector is sent outside of batches; all later ones go out in batches again.
      world.model.batches.script = {}
      expect(await world.forge(['attach', run])).toMatchObject({ code: 0 })
      await leave()
      expect(await storyOf(world)).toContain('A request is sent now: what had gathered them is gone.')
      expect(world.model.requests).toHaveLength(2)
    },
    MINUTES,
  )

  test(
    'sends now what has no answer after the hours that the user waits',
    async () => {
      world.model.batches.script = { delay: 3_600_000 }
      const hasty = { FORGE_BATCH_HOURS: '0.0005' }
      expect(await world.forge(['run', '--yes', 'Ask in a hurry'], hasty)).toMatchObject({ code: 0 })
      linesOf(world)
      expect(world.model.requests).toHaveLength(REQUESTS)
      expect(await storyOf(world)).toContainEqual(expect.stringMatching(/sent now: no answer has come within/))
    },
    MINUTES,
  )
})

/** For how many seconds requests are gathered before they are submitted as a batch. */
const WINDOW = 6

test.skipIf(hasNoTemporal)(
  'hundreds of sub-agents go out in as few batches as the window allows, by one collector (BATCH_AGENTS=1000)',
  async () => {
    const count = Number(process.env.BATCH_AGENTS ?? 200)
    const prices = { FORGE_BATCH_WINDOW: `${WINDOW}` }
    await using world = await make({ provider: 'anthropic', env: prices }, count)
    const began = performance.now()
    const { code, err } = await world.forge(['run', '--yes', '--budget', '500', 'Ask a thousand'])
    const story = code === 0 ? [] : (await storyOf(world)).slice(-20)
    expect({ code, err: err.replace(/^Run .*\n/m, ''), story }).toEqual({ code: 0, err: '', story: [] })
    const ids = linesOf(world)
    expect(ids).toHaveLength(count + 2)
    expect(world.model.requests).toHaveLength(1)
    // Two batches have a single request each: one that asks for sub-agents, and one with the texts of these. The
    // requests of the sub-agents are in at most one batch for each window of time in which some of them came.
    const { batches } = world.model.batches
    const asking = batches.filter(({ lines }) => lines.some(({ body }) => /Say fan-a-\d/.test(body)))
    const seconds = ((asking.at(-1)?.at ?? 0) - (asking[0]?.at ?? 0)) / 1000
    expect(batches.length - asking.length).toBe(2)
    expect(asking.length).toBeLessThanOrEqual(1 + Math.ceil(seconds / WINDOW))
    const engine = await openEngine(world.repository, world.env, { start: false })
    const collectors = new Set<string>()
    let open = 0
    let most = 0
    for await (const { workflowId } of engine.client.workflow.list()) {
      if (workflowId.startsWith('forge-batch-')) collectors.add(workflowId)
      if (!workflowId.endsWith(':fan-out')) continue
      const { events } = await engine.client.workflow.getHandle(workflowId).fetchHistory()
      for (const event of events ?? []) {
        if (event.activityTaskScheduledEventAttributes) most = Math.max(most, ++open)
        if (event.activityTaskCompletedEventAttributes) open--
        // The server fails a task during which more than 100 events have come.
        expect(event.workflowTaskFailedEventAttributes ?? undefined).toBeUndefined()
      }
    }
    await engine.close()
    expect(collectors.size).toBe(1)
    expect(most).toBeLessThanOrEqual(50)
    if (process.env.BATCH_AGENTS)
      console.log(batches.map(({ lines }) => lines.length).join(', '), Math.round((performance.now() - began) / 1000))
  },
  MINUTES,
)

test.skipIf(hasNoTemporal)(
  'kill -9 of worker and server at random moments submits nothing twice, and nothing waits for ever (BATCH_KILLS=100)',
  async () => {
    const kills = Number(process.env.BATCH_KILLS ?? 3)
    await using world = await worldOfRounds()
    const told = await surviveRounds(world, { kills })
    expect(told).toMatchObject({ kills, twice: [], now: [] })
  },
  MINUTES,
)
