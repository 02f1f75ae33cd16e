/** A running run is paused, stopped, followed, listed and pruned on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openRepository } from '../../../../core/git/repository.ts'
import { findWorker, openWorkerPlace } from '../../../../forge/tasks/engine/workers.ts'
import { task } from '../../../support/task-model.ts'
import { runIn, type Status, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000

/** A gate at which steps wait (`passed`) until the test opens it. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}

describe.skipIf(hasNoTemporal)('a run under way', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open()
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  const states = ({ tasks }: Status) => tasks.map(({ id, state }) => `${id} ${state}`)

  /** Begins a run of the tasks a and b, waits until the model is asked about a, and detaches. */
  async function begin(name: string, options: string[] = []) {
    const [asked, answered] = [gate(), gate()]
    scene.model.knows(name, {
      tasks: [task('a'), task('b', { after: ['a'] })],
      answer: async ({ kind, task }) => {
        if (kind !== 'implement' || task !== 'a') return undefined
        asked.open()
        await answered.passed
        return undefined
      },
    })
    const following = scene.forge(['run', '--yes', ...options, name])
    await asked.passed
    const [listed = ''] = (await scene.forge(['runs'])).out.split('\n').filter(line => line.includes(`-${name}-`))
    return { run: listed.split(' ')[0] ?? '', following, answer: answered.open }
  }

  test(
    'that is paused begins nothing new, and goes on when it is resumed',
    async () => {
      const { run, following, answer } = await begin('paused')
      expect(await scene.forge(['pause', run])).toEqual({ code: 0, out: `The run ${run} is paused.\n`, err: '' })
      expect((await scene.forge(['pause', run])).err).toBe(`${run} is paused already.\n`)
      answer()
      const { code, out } = await following
      expect(code).toBe(4)
      expect(out).toContain(`forge resume ${run}`)
      expect(scene.model.asked('paused')).not.toContain('implement b')
      expect((await scene.forge(['resume', run])).out).toBe(`The run ${run} goes on: forge attach ${run} shows it.\n`)
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(scene.model.asked('paused').filter(it => it === 'implement a')).toHaveLength(1)
    },
    LONG,
  )

  test(
    'has one task paused, and resumed',
    async () => {
      const { run, following, answer } = await begin('half-paused')
      expect((await scene.forge(['pause', run, 'b'])).out).toBe('b is paused.\n')
      answer()
      const { code, out } = await following
      expect(code).toBe(4)
      expect(out).toContain(`forge resume ${run} b`)
      expect(states(await scene.status(run))).toEqual(['a done', 'b paused'])
      expect((await scene.forge(['resume', run, 'b'])).code).toBe(0)
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'that is stopped ends with 1, keeps what is done, and can be taken up again',
    async () => {
      const { run, following, answer } = await begin('ended-early')
      expect((await scene.forge(['stop', run])).out).toBe(`The run ${run} is stopped.\n`)
      answer()
      expect((await following).code).toBe(1)
      expect((await scene.status(run)).state).toBe('stopped')
      const late = await scene.forge(['answer', run, 'a', 'too late'])
      expect(late.code).toBe(1)
      expect(late.err).toContain(run)
      expect((await scene.forge(['show', run])).out).toContain(`forge resume ${run}`)
      expect(await scene.forge(['resume', run])).toEqual({
        ...{ code: 0, err: '' },
        out: `The run ${run} goes on: forge attach ${run} shows it. It was stopped: it was submitted again, and what is done stays done.\n`,
      })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      // The plan was paid for, and is not asked for again.
      expect(scene.model.asked('ended-early').filter(it => it === 'plan')).toHaveLength(1)
    },
    LONG,
  )

  test(
    'has one task stopped, and asks what to do about the part of the contract that it was for',
    async () => {
      const { run, following, answer } = await begin('partly')
      expect((await scene.forge(['stop', run, 'b'])).out).toBe('b is stopped.\n')
      answer()
      const { code, out } = await following
      expect(code).toBe(4)
      expect(out).toContain('1 of 2 tasks are done, but')
      expect(states(await scene.status(run))).toEqual(['a done', 'b stopped'])
    },
    LONG,
  )

  test(
    'says what is wrong where a task or an answer is not meant',
    async () => {
      const { run, following, answer } = await begin('asked-wrongly')
      expect((await scene.forge(['show', run, 'zebra'])).err).toBe(
        `The run ${run} has no task zebra: forge show ${run} lists them.\n`,
      )
      expect((await scene.forge(['answer', run, 'a', 'blue'])).err).toStartWith('a asks nothing: ')
      expect((await scene.forge(['answer', run, 'blue'])).err).toStartWith('The run asks nothing itself: ')
      expect((await scene.forge(['answer', run, 'a', ' '])).code).toBe(64)
      expect((await scene.forge(['resume', run])).err).toBe(`${run} is not paused.\n`)
      expect((await scene.forge(['resume', run, 'a'])).err).toBe('a is not paused: it runs.\n')
      expect((await scene.forge(['land', run, '--yes'])).err).toBe(
        `The run ${run} has nothing yet that passed its checks: forge show ${run} says how it is.\n`,
      )
      expect((await scene.forge(['runs', '--prune', run])).err).toStartWith(`The run ${run} is under way`)
      answer()
      expect((await following).code).toBe(0)
    },
    LONG,
  )

  test(
    'is drawn anew on a terminal of any width, without a line that is broken',
    async () => {
      const { run, following, answer } = await begin('drawn')
      const wide = scene.terminal(['attach', run], { columns: 200 })
      const narrow = scene.terminal(['attach', run], { columns: 40, rows: 8 })
      await Promise.all([wide.shows('▸ a'), narrow.shows('▸ a')])
      answer()
      await following
      for (const [terminal, columns] of [
        [wide, 200],
        [narrow, 40],
      ] as const) {
        const { code, text } = await terminal.ended()
        expect(code).toBe(0)
        const drawn = text.split('\n').filter(line => line.startsWith('  '))
        expect(drawn.length).toBeGreaterThan(2)
        expect(Math.max(...drawn.map(line => line.length))).toBeLessThanOrEqual(columns)
        expect(text).toContain(`forge land ${run}`)
      }
      expect(wide.out).toContain('\x1b[36m')
      expect(narrow.out).toContain('\x1b[0J')
    },
    LONG,
  )

  test(
    'that rests is shown when its worker has ended, and the next word to it starts one again',
    async () => {
      scene.model.knows('rests', {
        tasks: [task('a')],
        answer: ({ kind, answered }) =>
          kind === 'implement' && !answered
            ? { signal: 'blocked_on_human', words: 'Which?', question: 'Left or right?' }
            : undefined,
      })
      const run = runIn((await scene.forge(['run', '--yes', 'rests'])).err)
      const place = await openWorkerPlace(await openRepository(scene.folder), scene.env)
      const worker = await findWorker(place)
      if (!worker) throw new Error('No worker is running.')
      // Ends the worker as an idle one ends itself.
      process.kill(worker.process.pid, 'SIGUSR2')
      while (await findWorker(place)) await Bun.sleep(20)
      expect((await scene.forge(['show', run])).out).toContain('Left or right?')
      expect((await scene.forge(['runs'])).out).toMatch(new RegExp(`${run} +asks, 1 asking`))
      expect(await findWorker(place)).toBeUndefined()
      expect((await scene.forge(['answer', run, 'a', 'Left.'])).code).toBe(0)
      expect((await findWorker(place))?.process.pid).not.toBe(worker.process.pid)
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'is listed and shown, with a server and without, and let go of when it has ended',
    async () => {
      const { run } = await scene.run('listed', { tasks: [task('a'), task('b')] })
      scene.model.knows('still-asking', {
        tasks: [task('a')],
        answer: ({ kind }) =>
          kind === 'implement' ? { signal: 'blocked_on_human', words: 'Which?', question: 'Red or blue?' } : undefined,
      })
      const asking = runIn((await scene.forge(['run', '--yes', 'still-asking'])).err)
      const list = await scene.forge(['runs'])
      expect(list.out.split('\n').slice(0, 2)).toEqual([
        expect.stringMatching(new RegExp(`^${asking} +asks, 1 asking · 2 requests, .* · still-asking$`)),
        expect.stringMatching(new RegExp(`^${run} +done, 2 done · 3 requests, .* · listed$`)),
      ])
      expect((await scene.forge(['show', 'last', '--json'])).out).toContain(asking)
      const [shown, task1, journal] = await Promise.all([
        scene.forge(['show', asking]),
        scene.forge(['show', asking, 'a']),
        scene.forge(['show', asking, 'a', '--journal']),
      ])
      expect(shown.out).toStartWith('Wish: still-asking\n')
      expect(shown.out).toContain('Red or blue?')
      expect(shown.out).toContain(`forge answer ${asking} a "…"`)
      expect(task1.out).toStartWith('a: Make a\n')
      expect(task1.out).toContain('Red or blue?')
      expect(journal.out).toContain('blocked on human: Which?')

      expect((await scene.forge(['down'])).code).toBe(0)
      const without = await scene.forge(['runs', '--json'])
      const byRun = new Map(
        without.out
          .split('\n')
          .filter(Boolean)
          .map(line => JSON.parse(line))
          .map(it => [it.run, it]),
      )
      expect(byRun.get(run)).toMatchObject({ wish: 'listed', status: { state: 'done' } })
      expect(byRun.get(asking)).toMatchObject({ status: { state: 'asks', tasks: [{ state: 'asks' }] } })
      expect((await scene.forge(['show', asking])).out).toContain('Red or blue?')

      const pruned = await scene.forge(['runs', '--prune'])
      expect(pruned.out).toContain(`${run}: `)
      expect(pruned.out).toContain(`${run}: stays, as finished work of it is not landed`)
      expect(pruned.out).not.toContain(asking)
      // The kept run can still be landed.
      expect((await scene.forge(['land', run, '--yes'])).code).toBe(0)
      expect((await scene.forge(['runs', '--prune'])).out).toContain(`${run}: `)
      expect(await scene.git('for-each-ref', '--format=%(refname)', `refs/forge/runs/${run}`)).toBe('')
      expect(await scene.git('branch', '--list', `forge/${run}/*`)).toBe('')
      expect((await scene.forge(['runs', '--prune', asking, '--all'])).code).toBe(0)
      expect(await scene.git('branch', '--list', `forge/${asking}/*`)).toBe('')
      expect((await scene.forge(['runs', '--all'])).code).toBe(64)
      expect((await scene.forge(['runs', 'x'])).code).toBe(64)
    },
    LONG,
  )
})
