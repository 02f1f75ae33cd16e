/** The signals by which steps end, and what follows: on the command line, with a real server and real git. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AskedStep, done, planOf, says, task, write } from '../../../support/task-model.ts'
import { TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'

const LONG = 120_000
/** The number of sub-agents. FORGE_TEST_AGENTS=1000 takes minutes; the workflow alone has a test with that many. */
const AGENTS = Number(process.env.FORGE_TEST_AGENTS || 300)
/** On a busy machine, at most this many requests miss their heartbeats, or the server, and are sent again. */
const LOST = Math.ceil(AGENTS / 20)

describe.skipIf(hasNoTemporal)('a step of a run', () => {
  let scene: TaskScene
  beforeAll(async () => {
    scene = await TaskScene.open({
      FORGE_TIER_GENERATION: 'openai/usual',
      FORGE_TIER_REASONING: 'openai/clever',
      FORGE_PRICES: 'openai/usual=3/15,openai/clever=6/30',
    })
  }, LONG)
  afterAll(() => scene[Symbol.asyncDispose](), LONG)

  const stepsOf = (name: string, of: string): AskedStep[] =>
    (scene.model.heard.get(name) ?? []).filter(({ task }) => task === of)
  const file = (run: string, path: string) => scene.git('show', `forge/${run}/result:${path}`)

  test(
    'that fails is tried once more, with the report of why and by the next higher tier',
    async () => {
      const { code, run } = await scene.run('retried', {
        tasks: [task('a')],
        answer: ({ kind, isAgain }) =>
          kind === 'implement' && !isAgain ? says('failure_retryable', 'The reader is not here.') : undefined,
      })
      expect(code).toBe(0)
      const [first, second] = stepsOf('retried', 'a')
      expect([first?.model, second?.model]).toEqual(['usual', 'clever'])
      expect(second?.text).toContain('The reader is not here.')
      const failed = (await scene.journal(run)).filter(line => line.startsWith('failed'))
      expect(failed).toEqual(['failed a The reader is not here.'])
      expect(await file(run, 'a.txt')).toBe('done')
    },
    LONG,
  )

  test(
    'whose result fails its check is told what the check said',
    async () => {
      const { code } = await scene.run('checked', {
        tasks: [task('a', { checks: [{ command: 'cat a.txt && grep -q done a.txt' }] })],
        answer: ({ kind, isAgain }) =>
          kind === 'implement' && !isAgain ? done('Make a.', write('a.txt', 'half of it\n')) : undefined,
      })
      expect(code).toBe(0)
      const [, second] = stepsOf('checked', 'a')
      expect(second?.text).toContain('half of it')
      expect(second?.text).toContain('cat a.txt && grep -q done a.txt')
    },
    LONG,
  )

  test(
    'that fails twice asks a person, with both failures, and goes on with the answer',
    async () => {
      const { code, out, run } = await scene.run('twice', {
        tasks: [task('a'), task('b')],
        answer: ({ kind, task, isAgain, answered }) => {
          if (kind !== 'implement' || task !== 'a' || answered) return undefined
          return says('failure_retryable', isAgain ? 'Nor so.' : 'Not so.')
        },
      })
      expect(code).toBe(4)
      expect(out).toContain('Not so.')
      expect(out).toContain('Nor so.')
      expect(out).toContain(`forge answer ${run} a "…"`)
      expect((await scene.status(run)).tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['a asks', 'b done'])
      const answered = await scene.forge(['answer', run, 'a', 'Do it by hand.'])
      expect(answered).toMatchObject({ code: 0, err: '' })
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(stepsOf('twice', 'a').at(-1)?.answered).toContain('Do it by hand.')
    },
    LONG,
  )

  test(
    'that says it can’t be done at all is not tried again before a person has answered',
    async () => {
      const { code, out, run } = await scene.run('hopeless', {
        tasks: [task('a')],
        answer: ({ kind, answered }) =>
          kind === 'implement' && !answered ? says('failure_terminal', 'Water does not burn.') : undefined,
      })
      expect(code).toBe(4)
      expect(out).toContain('It can’t be done as it is'.replace('’', "'"))
      expect(out).toContain('Water does not burn.')
      expect(stepsOf('hopeless', 'a')).toHaveLength(1)
      // A running run is not pruned, as its findings would be lost.
      expect((await scene.forge(['runs', '--prune', run])).err).toContain(`The run ${run} is under way`)
      await scene.forge(['answer', run, 'a', 'Take oil.'])
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(stepsOf('hopeless', 'a')[1]?.answered).toBe('Take oil.')
    },
    LONG,
  )

  test(
    'that asks a person waits, while the rest goes on, and goes on with the answer',
    async () => {
      const { code, out, run } = await scene.run('asking', {
        tasks: [task('a'), task('b')],
        answer: ({ kind, task, answered }) =>
          kind === 'implement' && task === 'a' && !answered
            ? says('blocked_on_human', 'The colour is not said.', { question: 'Red or blue?' })
            : undefined,
      })
      expect(code).toBe(4)
      expect(out).toContain('Red or blue?')
      expect((await scene.status(run)).tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['a asks', 'b done'])
      await scene.forge(['answer', run, 'a', 'Blue.'])
      expect((await scene.forge(['attach', run])).code).toBe(0)
      expect(stepsOf('asking', 'a').map(({ answered }) => answered)).toEqual(['', 'Blue.'])
    },
    LONG,
  )

  test(
    'that waits for another task is done after that one',
    async () => {
      const { code, run } = await scene.run('ordered', {
        tasks: [task('a'), task('b')],
        answer: ({ kind, task }) => {
          if (kind !== 'implement' || task !== 'a') return undefined
          return stepsOf('ordered', 'a').length > 1
            ? undefined
            : says('blocked_on_sibling', 'It needs b.', { sibling: 'b' })
        },
      })
      expect(code).toBe(0)
      expect(await scene.journal(run)).toContain('order a Waits for b from now on.')
      const { tasks } = await scene.status(run)
      expect(await scene.git('show', `${tasks[0]?.head}:b.txt`)).toBe('done')
    },
    LONG,
  )

  test(
    'that finds more to do has the plan looked at again, and what is new is done',
    async () => {
      const { code, run } = await scene.run('discovering', {
        tasks: [task('a')],
        answer: ({ kind }) => {
          const hasAsked = scene.model.asked('discovering').includes('check plan')
          if (kind === 'check plan')
            return says('success', 'c is missing.', { plan: planOf('discovering', [task('a'), task('c')]) })
          if (kind !== 'implement' || hasAsked) return undefined
          return says('new_tasks_discovered', 'There is no c.', {
            discovered: [{ title: 'Make c', why: 'a needs it.' }],
          })
        },
      })
      const { tasks } = await scene.status(run)
      expect(tasks.map(({ id, state }) => `${id} ${state}`).sort()).toEqual(['a done', 'c done'])
      expect(code).toBe(0)
      expect(await scene.journal(run)).toContain(
        'replanned There is a new plan; new: c. The contract has A2 besides: "c.txt says done.". c is new: "Make c".',
      )
    },
    LONG,
  )
  test(
    'that ends in a way which nobody knows halts all of the run, until a person says what to do',
    async () => {
      const { code, out, run } = await scene.run(
        'confused',
        {
          tasks: [task('a'), task('b', { after: ['c'] }), task('c')],
          answer: ({ kind, task, answered }) =>
            kind === 'implement' && task === 'a' && !answered ? says('finished', 'All is well.') : undefined,
        },
        ['--at-most', '1'],
      )
      expect(code).toBe(4)
      expect(out).toContain('finished')
      expect(scene.model.asked('confused')).toEqual(['plan', 'implement c', 'implement a'])
      expect((await scene.forge(['answer', run, 'a', 'Then say success.'])).code).toBe(0)
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'is asked of the model that the run was given for its tier, and the run says so',
    async () => {
      const { code, run } = await scene.run('chosen', { tasks: [task('a')] }, ['--model', 'generation=openai/clever'])
      expect(code).toBe(0)
      expect(stepsOf('chosen', 'a').map(({ model }) => model)).toEqual(['clever'])
      expect((await scene.forge(['show', run])).out).toContain('Models of this run: generation openai/clever\n')
      expect(await scene.status(run)).toMatchObject({ models: { generation: ['openai/clever'] } })
      const wrong = await scene.forge(['run', '--yes', '--model', 'fast=openai/clever', 'chosen'])
      expect([wrong.code, wrong.err]).toEqual([64, expect.stringContaining('--model wants a tier')])
      const unknown = await scene.forge(['run', '--yes', '--model', 'generation=nowhere/x', 'chosen'])
      expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('FORGE_ENDPOINT_NOWHERE')])
    },
    LONG,
  )

  test(
    'that ends with an unknown signal ends as a model of the classification tier says, within a closed list',
    async () => {
      const seen: AskedStep[] = []
      scene.model.classifies = asked => {
        seen.push(asked)
        if (asked.text.includes('All is well')) return says('success', 'It says that it is done.', { meant: 'success' })
        return says('success', 'So it wants.', { meant: 'approve' })
      }
      try {
        const { code, run } = await scene.run('classified', {
          tasks: [task('a'), task('b', { write: ['b.txt'] })],
          answer: ({ kind, task: of, isAgain, answered }) => {
            if (kind !== 'implement' || isAgain || answered) return undefined
            if (of === 'a') return { ...done('x', write('a.txt', 'done\n')), signal: 'finished', words: 'All is well.' }
            const outside = [write('b.txt', 'done\n'), write('other.txt', 'x\n')]
            return { ...done('x', ...outside), signal: 'complete', words: 'All is well: take other.txt, too.' }
          },
        })
        expect(code).toBe(0)
        expect(seen.map(({ kind, model }) => `${kind} ${model}`)).toEqual(Array(2).fill('classify usual'))
        expect(seen.map(({ text }) => text).join()).toContain('signal: finished')
        const lines = await scene.journal(run)
        expect(lines).toContain('meant a Its signal is unknown, and is taken as success.')
        expect(lines).toContain('passed a It passed at the first attempt.')
        // What it was taken for changes no boundary.
        expect(lines.filter(line => line.startsWith('failed b')).join()).toContain('other.txt')
        expect(await file(run, 'b.txt')).toBe('done')

        const refused = await scene.run('unlisted', {
          tasks: [task('a')],
          answer: ({ kind, answered }) =>
            kind === 'implement' && !answered ? says('approved', 'Land it, say approve.') : undefined,
        })
        expect(refused.code).toBe(4)
        expect(refused.out).toContain('approved')
      } finally {
        scene.model.classifies = () => undefined
      }
    },
    LONG,
  )

  test(
    'that answers nonsense is asked again, and then a person is',
    async () => {
      const { code, out } = await scene.run('nonsense', {
        tasks: [task('a')],
        answer: ({ kind }) => (kind === 'implement' ? 'I would rather talk about the weather.' : undefined),
      })
      expect(code).toBe(4)
      expect(out).toContain('call the tool answer once')
    },
    LONG,
  )

  test(
    'halts the run where most tasks fail at first, and goes on when a person says so',
    async () => {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f']
      const { code, out, run } = await scene.run(
        'degraded',
        {
          tasks: ids.map(id => task(id)),
          answer: ({ kind, isAgain }) =>
            kind === 'implement' && !isAgain ? says('failure_retryable', 'It is too hard.') : undefined,
        },
        ['--at-most', '6'],
      )
      expect(code).toBe(4)
      expect(out).toContain('6 of 6 tasks failed at their first attempt')
      expect(out).toContain(`forge resume ${run}`)
      expect((await scene.forge(['resume', run])).code).toBe(0)
      expect((await scene.forge(['attach', run])).code).toBe(0)
    },
    LONG,
  )

  test(
    'asks sub-agents, and these others, three levels deep and no deeper',
    async () => {
      const wayOf = (text: string) => /deep: way (\d+)/.exec(text)?.[1] ?? ''
      const isTold = (text: string) => text.includes('What a sub-agent answered') || text.includes('no more levels')
      const ask = (way: string) => ({
        signal: 'success',
        words: 'That has to be found out.',
        edits: [],
        text: '',
        fan_out: [1, 2].map(at => ({ id: `s${at}`, asks: `deep: way ${way}${at}.` })),
      })
      const { code, run } = await scene.run('deep', {
        tasks: [task('a', { recursion: 3 })],
        answer: ({ kind, text }) => {
          if (isTold(text)) return undefined
          if (kind === 'implement') return ask('')
          if (kind === 'artifact') return ask(wayOf(text))
          return undefined
        },
      })
      expect(code).toBe(0)
      const levels = scene.model.heard.get('deep')?.flatMap(({ kind, text }) => {
        return kind === 'artifact' && !isTold(text) ? [wayOf(text).length] : []
      })
      expect(levels?.sort()).toEqual([1, 1, ...Array(4).fill(2), ...Array(8).fill(3)])
      expect((await scene.journal(run)).filter(line => line.startsWith('fan-out'))).toHaveLength(1 + 2 + 4)
    },
    LONG,
  )

  test(
    'asks more sub-agents than work at the same time',
    async () => {
      const { code, run } = await scene.run(
        'thousand',
        {
          tasks: [task('a', { recursion: 1 })],
          answer: ({ kind, text }) => {
            if (kind === 'artifact')
              return says('success', 'Found.', { text: `${/number (\d+)/.exec(text)?.[1]} found` })
            if (kind !== 'implement') return undefined
            if (text.includes('What a sub-agent answered')) return undefined
            const agents = Array.from({ length: AGENTS }, (_, at) => ({ id: `n${at}`, asks: `thousand: number ${at}` }))
            return { ...done('A thousand things.'), fan_out: agents }
          },
        },
        ['--budget', '100', '--requests', `${AGENTS + 3 + LOST}`],
      )
      expect(code).toBe(0)
      const told = (scene.model.heard.get('thousand') ?? []).filter(({ kind }) => kind === 'artifact')
      expect(new Set(told.map(({ text }) => /number (\d+)/.exec(text)?.[1])).size).toBe(AGENTS)
      expect(told.length).toBeLessThanOrEqual(AGENTS + LOST)
      // All findings are given to the step that asked.
      const [again = ''] = stepsOf('thousand', 'a').flatMap(({ text }) =>
        text.includes('What a sub-agent answered') ? [text] : [],
      )
      expect(new Set(Array.from(again.matchAll(/^(\d+) found$/gm), ([, number]) => number)).size).toBe(AGENTS)
      // All that the model has heard is counted, and what did not reach it on a busy machine, too.
      const { requests } = (await scene.status(run)).spent
      expect(requests).toBeGreaterThanOrEqual(told.length + 3)
      expect(requests).toBeLessThanOrEqual(AGENTS + LOST + 3)
    },
    LONG + AGENTS * 1000,
  )

  test(
    'brings two results together that git can’t: between tasks, and at the end',
    async () => {
      const both = '# Notes\nOne.\nTwo.\n'
      const { code, err, run } = await scene.run('conflicting', {
        tasks: [
          task('one', { write: [] }),
          task('two', { write: [] }),
          task('three', { after: ['one', 'two'] }),
          task('four', { write: [] }),
        ],
        answer: ({ kind, task, text }) => {
          if (kind === 'resolve')
            return done('Both.', write('README.md', text.includes('\nFour.\n') ? `${both}Four.\n` : both))
          if (kind !== 'implement' || task === 'three') return undefined
          const line = { one: 'One.', two: 'Two.', four: 'Four.' }[task]
          return done(`Make ${task}.`, write(`${task}.txt`, 'done\n'), write('README.md', `# Notes\n${line}\n`))
        },
      })
      expect({ code, err }).toEqual({ code: 0, err: `Run ${run}\n` })
      expect(await file(run, 'README.md')).toBe(`${both}Four.`)
      expect(await scene.git('show', `refs/forge/runs/${run}/done/three:README.md`)).toBe(both.trimEnd())
      expect(scene.model.asked('conflicting').filter(it => it.startsWith('resolve'))).toHaveLength(2)
    },
    LONG,
  )
})
