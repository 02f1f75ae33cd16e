/** Sub-agents and reviews on a real server: many, nested, failing, and disagreeing. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { TaskShape } from '../../../../forge/tasks/contract.ts'
import { type Asked, type Said, shape } from '../../../support/flow-activities.ts'
import { FlowServer, hasNoTemporal, taskOf } from '../../../support/flows.ts'

const planning =
  (tasks: TaskShape[], does: (asked: Asked) => Said | Promise<Said>) =>
  (asked: Asked): Said | Promise<Said> =>
    asked.kind === 'plan' ? { plan: tasks } : does(asked)

/** Whether a step is asked for the second time. */
const isAgain = ({ step }: Asked) => step.endsWith('/again')

// A flow has many steps, each of which takes long on a busy machine.
setDefaultTimeout(180_000)

let server: FlowServer

describe.skipIf(hasNoTemporal)('a step', () => {
  beforeAll(async () => {
    server = await FlowServer.start()
  }, 60_000)
  afterAll(() => server.close())

  test.concurrent('sub-agents are asked, and the step is asked again with what they found, in order', async () => {
    await using host = await server.host(
      planning([shape('a', { recursion: 1 })], async asked => {
        if (asked.kind === 'artifact') return { text: `about ${asked.told[0]}` }
        return isAgain(asked) ? {} : { fanOut: [{ id: 'api' }, { id: 'docs' }, { id: 'again' }, { id: 'api' }] }
      }),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    const again = host.activities.sent.find(isAgain)
    expect(again?.told.slice(-4)).toEqual(['about api', 'about docs', 'about again', 'about api'])
    expect(again?.told.at(-5)).toContain('All 4 sub-agents have answered.')
    const steps = host.activities.sent.map(({ step }) => step)
    expect(steps).toContain('a/1/1/api-2')
    expect(steps).toContain('a/1/1/again-2')
    // One request for the plan, two for the task, and four for sub-agents.
    expect(status.spent.requests).toBe(7)
    expect(host.activities.labels(status.result ?? '')).toEqual(['a/1/1/again', 'base'])
  })

  test.concurrent('an answer that can’t be used is asked for once more, on the commits of the steps before', async () => {
    const complaint = 'edits[0] (replace "b.txt"): The search is nowhere in the file.'
    await using host = await server.host(
      planning([shape('a', { isSmall: false })], ({ kind, step }) => {
        if (kind === 'outline') return { steps: ['one', 'two', 'three'] }
        return step === 'a/1/3' ? { complaint } : {}
      }),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    const steps = host.activities.sent.map(({ step }) => step)
    expect(steps.filter(step => step.startsWith('a/'))).toEqual([
      ...['a/1/outline', 'a/1/1', 'a/1/2', 'a/1/3', 'a/1/3/mended'],
    ])
    expect(host.activities.sent.at(-1)?.told.at(-1)).toBe(complaint)
    expect(host.activities.labels(status.result ?? '')).toEqual(['a/1/1', 'a/1/2', 'a/1/3/mended', 'base'])
    // One request for the plan, and five for the task.
    expect(status.spent.requests).toBe(6)
  })

  test.concurrent('an answer that can’t be used twice costs an attempt', async () => {
    await using host = await server.host(
      planning([shape('a')], ({ attempt }) => (attempt === 1 ? { complaint: 'It is no answer.' } : {})),
    )
    await host.start()
    expect((await host.result()).state).toBe('done')
    const steps = host.activities.sent.map(({ step }) => step)
    expect(steps.slice(1)).toEqual(['a/1/1', 'a/1/1/mended', 'a/2/1'])
  })

  test.concurrent('a parent is told which of its sub-agents failed, and why', async () => {
    await using host = await server.host(
      planning([shape('a', { recursion: 1 })], asked => {
        if (asked.kind === 'artifact') {
          return asked.told[0] === 'x' ? {} : { signal: 'failure_terminal', words: `No ${asked.told[0]}.` }
        }
        return isAgain(asked) ? {} : { fanOut: [{ id: 'x' }, { id: 'y' }, { id: 'z' }] }
      }),
    )
    await host.start()
    await host.result()
    const told = host.activities.sent.find(isAgain)?.told ?? []
    expect(told.at(-4)).toContain('2 of 3 sub-agents failed')
    expect(told.at(-4)).toContain('- y: No y.')
    expect(told.at(-2)).toBe('This sub-agent failed: No y.')
    expect(host.activities.story().join('\n')).toContain('2 of 3 sub-agents failed: y, z.')
  })

  test.concurrent('without a level left a step is told so, and fails if it insists', async () => {
    await using host = await server.host(
      planning([shape('a'), shape('b')], asked => {
        if (asked.kind === 'artifact') throw new Error('There are no levels.')
        return isAgain(asked) && asked.task === 'a' ? {} : { fanOut: [{ id: 'x' }] }
      }),
    )
    await host.start()
    const status = await host.untilState('asks')
    expect(taskOf(status, 'a').state).toBe('done')
    expect(taskOf(status, 'b').words).toContain('no more levels')
    expect(host.activities.sent.find(isAgain)?.told.at(-1)).toContain('There are no more levels of sub-agents')
  })

  test.concurrent('sub-agents may ask for their own, three levels deep and no deeper', async () => {
    await using host = await server.host(
      planning([shape('a', { recursion: 5 })], asked => (isAgain(asked) ? {} : { fanOut: [{ id: 'l' }, { id: 'r' }] })),
    )
    await host.start({ limits: { depth: 3 } })
    const status = await host.result()
    expect(status.state).toBe('done')
    const artifacts = host.activities.sent.filter(({ kind }) => kind === 'artifact')
    // 2, 4 and 8 sub-agents, each asked twice: those of the third level because they may not ask for sub-agents of
    // their own.
    expect(artifacts).toHaveLength(2 * (2 + 4 + 8))
    expect(
      Math.max(...artifacts.map(({ step }) => step.split('/').filter(it => it === 'l' || it === 'r').length)),
    ).toBe(3)
  })

  test('a thousand sub-agents are asked in windows, and each is heard', async () => {
    const agents = Array.from({ length: 1000 }, (_, at) => ({ id: `s${at}` }))
    await using host = await server.host(
      planning([shape('a', { recursion: 1 })], asked => {
        if (asked.kind === 'artifact') return { text: `${asked.told[0]}` }
        return isAgain(asked) ? {} : { fanOut: agents }
      }),
    )
    const begun = Date.now()
    await host.start()
    const status = await host.result()
    console.log(`1,000 sub-agents: ${Date.now() - begun} ms, at most ${host.activities.mostInFlight} at once`)
    expect(status.state).toBe('done')
    expect(host.activities.sent.find(isAgain)?.told.slice(-1000)).toEqual(agents.map(({ id }) => id))
    expect(host.activities.mostInFlight).toBeLessThanOrEqual(200)
    expect(status.spent.requests).toBe(1003)
  }, 300_000)

  test.concurrent('a confused sub-agent stops the run', async () => {
    await using host = await server.host(
      planning([shape('a', { recursion: 1 })], asked => {
        if (asked.kind === 'artifact') return { signal: 'confused', words: 'Lorem' }
        return { fanOut: [{ id: 'x' }, { id: 'y' }] }
      }),
    )
    await host.start()
    const status = await host.untilState('asks')
    expect(status.words).toContain('nobody can classify')
  })

  test.concurrent('reviewers of two providers look at it, and a higher tier decides where they differ', async () => {
    const reviewed: string[] = []
    await using host = await server.host(
      planning([shape('a', { reviews: 2 })], ({ kind, tier, choice, attempt }) => {
        if (kind !== 'review') return {}
        reviewed.push(`${attempt} ${tier} ${choice}`)
        if (attempt === 1) return { isGood: choice === 0 && tier === 'generation', words: 'The edge is missed' }
        return { isGood: true }
      }),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(reviewed.sort()).toEqual([
      '1 generation 0',
      '1 generation 1',
      '1 reasoning 0',
      '2 reasoning 0',
      '2 reasoning 1',
    ])
    expect(host.activities.story().join('\n')).toContain('A review does not accept it: The edge is missed')
  })
})
