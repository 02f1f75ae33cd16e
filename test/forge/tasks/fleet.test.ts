/**
 * Several machines work on one run, and share only a Temporal server and a bare repository. The result is that of one
 * machine, whatever happens to one of them. For a hundred moments: `bun test/support/fleet-chaos.ts`.
 */
import { afterEach, describe, expect, test } from 'bun:test'
import { exists, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fleet, hasNetworks } from '../../support/fleet.ts'
import { endure, type Kind } from '../../support/fleet-chaos.ts'
import { notesOf, notesScript } from '../../support/fleet-model.ts'
import { commit, git } from '../../support/git.ts'
import { until } from '../../support/repository.ts'
import { hasNoTemporal } from '../../support/temporal.ts'

const MINUTES = 4 * 60_000
const TASKS = 6
/** The plan, and one request for each task. */
const REQUESTS = TASKS + 1
const README = { 'README.md': '# Notes\n' }

if (!hasNetworks) console.error('Only root can make networks: machines in networks of their own are not tested.')

describe.skipIf(hasNoTemporal)('a run on several machines', () => {
  let fleet: Fleet | undefined
  afterEach(async () => {
    await fleet?.[Symbol.asyncDispose]()
    fleet = undefined
  }, MINUTES)

  async function make(options: Parameters<typeof Fleet.make>[0], delay: number): Promise<Fleet> {
    fleet = await Fleet.make({ files: README, script: notesScript(TASKS, { delay, isLast: true }), ...options })
    return fleet
  }

  /** The tree that the files of all tasks make. */
  async function treeOf({ hub }: Fleet): Promise<string> {
    const all = await commit(hub, 'expected', { ...README, ...notesOf(TASKS) })
    return await git(hub, 'rev-parse', `${all}^{tree}`)
  }

  test(
    'is spread over them, and any of them shows and lands it',
    async () => {
      const { machines, ...rest } = await make({ machines: 3 }, 500)
      const [first, ...others] = machines
      if (!first || !fleet) throw new Error('There are no machines')
      await Promise.all(others.map(machine => machine.work()))
      const transfers = () => others.reduce((sum, { doors }) => sum + doors.hub.opened, 0)
      const before = transfers()
      const run = await fleet.begin(first)
      expect(await fleet.ends(run)).toBe('COMPLETED')
      expect(rest.model.requests).toHaveLength(REQUESTS)
      // The other machines have pushed what they made.
      expect(transfers()).toBeGreaterThan(before)
      const tree = await treeOf(fleet)
      // The last lines of the journal are pushed soon after the run has ended.
      await until(async () => {
        await first.forge('show', run)
        return (await first.journal(run)).some(({ id }) => id === 'finish/done')
      })
      let ids: string[] | undefined
      for (const machine of machines) {
        expect(await machine.forge('show', run)).toMatchObject({ code: 0, err: '' })
        expect(await machine.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(tree)
        const journal = (await machine.journal(run)).map(({ id }) => id)
        ids ??= journal
        expect(journal).toEqual(ids)
      }
      const [last] = others
      expect(await last?.forge('land', run, '--yes')).toMatchObject({ code: 0 })
      expect(await last?.git('rev-parse', 'main^{tree}')).toBe(tree)
    },
    MINUTES,
  )

  test(
    'is shared out by what a machine has: one begins it and does no work, one only asks models, one only checks',
    async () => {
      const it = await make({ machines: 3 }, 100)
      const [laptop, asking, checking] = [it.machine(0), it.machine(1), it.machine(2)]
      laptop.env.FORGE_WORKER = 'none'
      const run = await it.begin(laptop)
      const unserved = async () => (await laptop.forge('show', run)).out
      await until(async () => /No machine serves runs since .*: start\s+forge worker on one\./.test(await unserved()))
      // What a part needs has to be there: one machine has no docker of its own, and one no key of a model.
      const docker = join(asking.root, 'bin/docker')
      await rm(docker)
      await writeFile(docker, '#!/bin/sh\necho "Cannot connect to the Docker daemon" >&2\nexit 1\n', { mode: 0o755 })
      checking.env.FORGE_MODEL = 'anthropic/scripted'
      const without = await asking.forge('worker', '--only', 'checks')
      expect(without).toMatchObject({ code: 1, err: expect.stringMatching(/^The worker did not begin: checks need /) })
      const keyless = await checking.forge('worker', '--only', 'models')
      expect(keyless).toMatchObject({ code: 1, err: expect.stringContaining('ANTHROPIC_API_KEY') })
      await asking.work('--only', 'models')
      await until(async () => /No\s+machine\s+with\s+docker\s+serves\s+checks/.test(await unserved()))
      // The plan, and the four tasks that work at the same time: the others wait until these have passed their checks.
      expect(it.model.requests.length).toBeLessThanOrEqual(5)
      checking.env.FORGE_WORKER = 'checks'
      await checking.work()
      expect(await it.ends(run)).toBe('COMPLETED')
      expect(await laptop.forge('show', run)).toMatchObject({ code: 0, err: '' })
      expect(await laptop.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(await treeOf(it))
    },
    MINUTES,
  )

  test.skipIf(!hasNetworks)(
    'ends the same in networks of their own where one is killed, cut off, full, wrong in time, or refused by the hub',
    async () => {
      const it = await make({ machines: 3, hasOwnNetworks: true, hasSmallDisks: true }, 1500)
      const kinds: Kind[] = ['wrong clock', 'killed', 'hub refuses', 'cut off', 'disk full']
      let at = 0
      const next = () => {
        const kind = kinds[at]
        return kind && { kind, machine: it.machine(at++ % 3), after: 300, lasts: 1200 }
      }
      const endured = await endure(it, next)
      expect(endured.moments.length).toBeGreaterThan(2)
      expect(endured.tree).toBe(await treeOf(it))
      // What was out when a machine was killed or cut off may be asked again: at most four requests, twice.
      expect(endured.requests).toBeLessThanOrEqual(REQUESTS + (2 + endured.resumed) * 4)
    },
    MINUTES,
  )

  test(
    'sends no more requests than its limit over all machines, and goes on where its own machine is gone',
    async () => {
      const it = await make({ machines: 2 }, 100)
      const [first, second] = [it.machine(0), it.machine(1)]
      await Promise.all([first.work(), second.work()])
      const run = await it.begin(first, ['--requests', '6'])
      const handle = it.temporal.client.workflow.getHandle(`forge-run-${run}`)
      const stateOf = async () => (await handle.query<{ state: string }>('status')).state
      for (let state = ''; state !== 'out of budget'; state = await stateOf()) await Bun.sleep(50)
      expect(it.model.requests).toHaveLength(6)
      // The second machine has all of it from the hub.
      await first[Symbol.asyncDispose]()
      expect(await second.forge('resume', run, '--requests', '60')).toMatchObject({ code: 0, err: '' })
      expect(await it.ends(run)).toBe('COMPLETED')
      expect(it.model.requests).toHaveLength(REQUESTS)
      expect(await second.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(await treeOf(it))
    },
    MINUTES,
  )

  test(
    'goes on with a batch that is out when the machine that has submitted it is gone',
    async () => {
      const env = { FORGE_BATCH_WINDOW: '0.4', FORGE_PRICES: 'openai/scripted=4/20/0.4/4' }
      const it = await make({ machines: 2, env }, 0)
      const [first, second] = [it.machine(0), it.machine(1)]
      it.model.batches.script = { delay: 3_600_000 }
      await first.work()
      const run = await it.begin(first, ['--batch'])
      await until(() => it.model.batches.batches.length === 1)
      // The submission is on the hub as soon as the run says so.
      await until(async () => {
        await second.forge('show', run)
        return (await second.journal(run)).some(({ what }) => what === 'batch')
      })
      await first.kill()
      it.model.batches.script = {}
      await second.work()
      expect(await it.ends(run)).toBe('COMPLETED')
      const ids = it.model.batches.lines.map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      // The plan is asked for at once.
      expect(it.model.requests.length + ids.length).toBe(REQUESTS)
      expect(it.model.requests).toHaveLength(1)
      await second.forge('show', run)
      expect(await second.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(await treeOf(it))
    },
    MINUTES,
  )

  test(
    'submits a batch once where the machine that was about to is killed after the hub has heard of it',
    async () => {
      const env = { FORGE_BATCH_WINDOW: '0.4', FORGE_PRICES: 'openai/scripted=4/20/0.4/4' }
      const it = await make({ machines: 2, env }, 0)
      const [first, second] = [it.machine(0), it.machine(1)]
      // The hub has taken what is about to be submitted, and lets the machine wait for its answer.
      const [hook, told] = [join(it.hub, 'hooks/post-receive'), join(it.hub, 'told')]
      const stores = `$(git for-each-ref --format='%(refname)' 'refs/forge/runs/')`
      const holding = `git grep -q '"newest"' ${stores} -- batches && touch '${told}' && while [ -e '${hook}' ]; do sleep 0.1; done`
      await mkdir(join(it.hub, 'hooks'), { recursive: true })
      await writeFile(hook, `#!/bin/sh\n${holding}\nexit 0\n`, { mode: 0o755 })
      await first.work()
      const run = await it.begin(first, ['--batch'])
      await until(() => exists(told))
      await first.kill()
      await rm(hook)
      expect(it.model.batches.batches).toEqual([])
      await second.work()
      expect(await it.ends(run)).toBe('COMPLETED')
      const ids = it.model.batches.lines.map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      expect(it.model.requests).toHaveLength(1)
      expect(ids).toHaveLength(REQUESTS - 1)
      await second.forge('show', run)
      expect(await second.git('rev-parse', `forge/${run}/result^{tree}`)).toBe(await treeOf(it))
    },
    MINUTES,
  )
})
