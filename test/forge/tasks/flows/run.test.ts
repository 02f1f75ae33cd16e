/** Runs on a real server: what the user sees of a plan, its tasks, failures and questions. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { TaskShape } from '../../../../forge/tasks/contract.ts'
import { type Asked, type Said, shape } from '../../../support/flow-activities.ts'
import { FlowServer, hasNoTemporal, taskOf } from '../../../support/flows.ts'

/** A model that plans these tasks, and answers each step with `does`. */
const planning =
  (tasks: TaskShape[], does: (asked: Asked, signal: AbortSignal) => Said | Promise<Said> = () => ({})) =>
  (asked: Asked, signal: AbortSignal) =>
    asked.kind === 'plan' ? { plan: tasks } : does(asked, signal)

// A flow has many steps, each of which takes long on a busy machine.
setDefaultTimeout(180_000)

let server: FlowServer

/** The most events of a task with one request, in its own history and in its run's. */
const MAX_TASK_EVENTS = 50

describe.skipIf(hasNoTemporal)('a run', () => {
  beforeAll(async () => {
    server = await FlowServer.start()
  }, 60_000)
  afterAll(() => server.close())

  test.concurrent('a plan of three tasks is done in its order, and the result has all of them', async () => {
    const tasks = [shape('docs', { dependsOn: ['parser'] }), shape('parser'), shape('tests', { dependsOn: ['parser'] })]
    await using host = await server.host(planning(tasks))
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(status.words).toContain('All 3 tasks are done')
    expect(host.activities.labels(status.result ?? '')).toEqual(['base', 'docs/1/1', 'parser/1/1', 'tests/1/1'])
    expect(status.spent.requests).toBe(4)
    // The plan and three tasks, a request each.
    const workflows = [host.queue, ...tasks.map(({ id }) => `${host.queue}/${id}`)]
    const histories = await Promise.all(workflows.map(id => server.client.workflow.getHandle(id).fetchHistory()))
    const events = histories.map(history => history.events?.length ?? 0)
    expect(Math.max(...events.slice(1))).toBeLessThanOrEqual(MAX_TASK_EVENTS)
    expect(events.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4 * MAX_TASK_EVENTS)
  })

  test.concurrent('every planner is told the facts that were found when the run began', async () => {
    const heard: string[][] = []
    await using host = await server.host(({ kind, told }) => {
      if (kind !== 'plan') return {}
      heard.push(told)
      return heard.length === 1 ? { signal: 'failure_retryable' as const, words: 'Once more.' } : { plan: [shape('a')] }
    })
    const facts = [host.activities.put('checks', 'There is make.')]
    host.activities.overrides.remembered = { answers: [], facts }
    await host.start()
    expect((await host.result()).state).toBe('done')
    expect(heard.map(([first]) => first)).toEqual(['There is make.', 'There is make.'])
  })

  test.concurrent('no more tasks than allowed run at once, and one whose boundaries are not known runs alone', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    const tasks = [...ids.map(id => shape(id)), shape('alone', { isAlone: true })]
    const together: string[][] = []
    const running = new Set<string>()
    const second = Promise.withResolvers<void>()
    await using host = await server.host(
      planning(tasks, async ({ task = '' }) => {
        running.add(task)
        together.push([...running])
        // The first task waits for the second, which shows that they run at the same time.
        if (running.size === 2) second.resolve()
        if (task !== 'alone') await second.promise
        running.delete(task)
        return {}
      }),
    )
    await host.start({ atMost: 2 })
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(Math.max(...together.map(ids => ids.length))).toBe(2)
    expect(together.filter(ids => ids.includes('alone'))).toEqual([['alone']])
  })

  test.concurrent('what the longest row of tasks waits for goes first', async () => {
    const tasks = [
      shape('x'),
      shape('y'),
      shape('a'),
      shape('b', { dependsOn: ['a'] }),
      shape('c', { dependsOn: ['b'] }),
    ]
    await using host = await server.host(planning(tasks))
    await host.start({ atMost: 1 })
    await host.result()
    expect(host.activities.sent.map(({ task }) => task)).toEqual([undefined, 'a', 'b', 'x', 'y', 'c'])
  })

  test.concurrent('a larger task is outlined, and each of its steps begins with the commit of the one before', async () => {
    const tasks = [shape('parser', { isSmall: false })]
    await using host = await server.host(
      planning(tasks, ({ kind }) => (kind === 'outline' ? { steps: ['read', 'write', 'test'] } : {})),
    )
    await host.start()
    const status = await host.result()
    expect(host.activities.labels(status.result ?? '')).toEqual(['base', 'parser/1/1', 'parser/1/2', 'parser/1/3'])
    const steps = host.activities.sent.filter(({ kind }) => kind === 'implement')
    expect(steps.map(({ told }) => told.at(-1))).toEqual(['read', 'write', 'test'])
    expect(host.activities.labels(steps[2]?.base ?? '')).toEqual(['base', 'parser/1/1', 'parser/1/2'])
  })

  test.concurrent('what fails is tried again from a fresh base, with the report, one tier higher', async () => {
    await using host = await server.host(planning([shape('parser', { tier: 'summarization' })]), {
      validate: ({ attempt }) => (attempt === 1 ? { isGood: false, words: 'test/a.test.ts fails.' } : undefined),
    })
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.labels(status.result ?? '')).toEqual(['base', 'parser/2/1'])
    const [, first, second] = host.activities.sent
    expect([first?.tier, second?.tier]).toEqual(['summarization', 'generation'])
    expect(second?.told.at(-1)).toContain('test/a.test.ts fails.')
    expect(host.activities.story().join('\n')).toContain('failed parser test/a.test.ts fails.')
  })

  test.concurrent('a task that has asked and is answered still has its second attempt', async () => {
    await using host = await server.host(
      planning([shape('a')], ({ attempt }) =>
        attempt === 1 ? { signal: 'blocked_on_human', words: 'Which colour?', question: 'Which?' } : {},
      ),
      { validate: ({ attempt }) => (attempt === 2 ? { isGood: false, words: 'It fails.' } : undefined) },
    )
    await host.start()
    await host.untilState('asks')
    await host.answer('a', 'Blue.')
    const status = await host.result()
    expect([status.state, taskOf(status, 'a').attempt]).toEqual(['done', 3])
  })

  test.concurrent('a new plan is told how far the tasks are, and leaves what a person has stopped', async () => {
    const tasks = [shape('a'), shape('b', { dependsOn: ['a'] }), shape('c', { dependsOn: ['a'] })]
    const stopped = Promise.withResolvers<void>()
    await using host = await server.host(
      planning(tasks, async ({ kind, attempt }) => {
        if (kind === 'check plan') return { plan: [...tasks, shape('d', { dependsOn: ['a'] })] }
        if (attempt > 1) return {}
        await stopped.promise
        return { signal: 'new_tasks_discovered', words: 'There is more to do.' }
      }),
    )
    await host.start()
    await host.untilState('runs')
    expect(await host.says('stop', 'b')).toBeUndefined()
    stopped.resolve()
    const status = await host.result()
    expect(status.tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['a done', 'b stopped', 'c done', 'd done'])
    const asked = host.activities.sent.find(({ kind }) => kind === 'check plan')
    expect(asked?.told.join('\n')).toContain(
      'left exactly as they are: none.\nOpen, and to be changed where that helps: a (it waits: There is more to do.), b (it was stopped: A person stopped it.), c (it waits).',
    )
  })

  test.concurrent('what fails twice asks, the rest goes on, and an answer gives it one more attempt with it', async () => {
    const tasks = [shape('parser'), shape('docs', { dependsOn: ['parser'] }), shape('other')]
    await using host = await server.host(planning(tasks), {
      validate: ({ task, attempt }) =>
        task === 'parser' && attempt < 4 ? { isGood: false, words: 'It fails.' } : undefined,
    })
    await host.start()
    const asking = await host.untilState('asks')
    expect(asking.words).toBe(`parser waits for an answer: forge answer ${host.run} parser "…"`)
    expect(taskOf(asking, 'other').state).toBe('done')
    expect(taskOf(asking, 'parser').question).toBeDefined()
    expect(host.activities.escalated[0]).toMatchObject({ task: 'parser' })
    expect(await host.says('answer', 'docs', host.activities.put('x', ''))).toContain('docs asks nothing')
    expect(await host.says('answer', 'nothing', host.activities.put('x', ''))).toContain('has no task nothing')
    expect(await host.answer('parser', 'Use the other grammar.')).toBeUndefined()
    await host.until(status => taskOf(status, 'parser').attempt === 3 && taskOf(status, 'parser').state === 'asks')
    expect(host.activities.sent.at(-1)?.told.at(-1)).toBe('Use the other grammar.')
    expect(await host.says('resume', 'parser')).toBeUndefined()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(taskOf(status, 'parser').attempt).toBe(4)
    expect(host.activities.remembered).toMatchObject([
      { kind: 'approval' },
      { kind: 'answer', task: 'parser', count: 1 },
    ])
  })

  test.concurrent('what fails for good asks at once', async () => {
    await using host = await server.host(
      planning([shape('parser')], ({ attempt }) =>
        attempt === 1 ? { signal: 'failure_terminal', words: 'There is no such library' } : {},
      ),
    )
    await host.start()
    const asking = await host.until(status => taskOf(status, 'parser').state === 'asks')
    expect(taskOf(asking, 'parser')).toMatchObject({
      attempt: 1,
      words: expect.stringContaining('There is no such library'),
    })
    await host.answer('parser', 'Take another one.')
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('a question to a person waits while the rest goes on', async () => {
    const tasks = [shape('parser'), shape('other')]
    await using host = await server.host(
      planning(tasks, ({ task, told }) =>
        task === 'parser' && !told.includes('Red.')
          ? { signal: 'blocked_on_human', words: 'The colour is not said', question: 'Which colour?' }
          : {},
      ),
    )
    await host.start()
    const asking = await host.untilState('asks')
    expect(host.activities.words(taskOf(asking, 'parser').question ?? { kind: '', oid: '' })).toBe('Which colour?')
    expect(taskOf(asking, 'other').state).toBe('done')
    await host.answer('parser', 'Red.')
    const status = await host.result()
    expect(status.state).toBe('done')
    // A question is not a failure: the task is not given to a stronger tier of models.
    expect(host.activities.sent.at(-1)?.tier).toBe('generation')
  })

  test.concurrent('a task that waits for a sibling is done after it, with its result', async () => {
    const tasks = [shape('a'), shape('b')]
    await using host = await server.host(
      planning(tasks, async ({ task, attempt }) => {
        if (task === 'a' && attempt === 1)
          return { signal: 'blocked_on_sibling', words: 'b has the types', sibling: 'b' }
        return {}
      }),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.labels(host.activities.delivered.get('a') ?? '')).toEqual(['a/2/1', 'b/1/1', 'base'])
    expect(taskOf(status, 'a').dependsOn).toEqual(['b'])
  })

  test.concurrent('two that wait for each other are a planner’s matter', async () => {
    const tasks = [shape('a'), shape('b')]
    const other: Record<string, string> = { a: 'b', b: 'a' }
    await using host = await server.host(
      planning(tasks, ({ kind, task = '', attempt }) =>
        attempt === 1 && kind !== 'check plan'
          ? { signal: 'blocked_on_sibling', words: 'first the other', sibling: other[task] ?? '' }
          : {},
      ),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    const doubted = host.activities.story().filter(line => line.startsWith('discovers'))
    expect(doubted).toHaveLength(1)
    expect(doubted[0]).toContain('they would wait for each other')
    expect(host.activities.sent.filter(({ kind }) => kind === 'check plan')).toHaveLength(1)
  })

  test.concurrent('a confused step stops the whole run until a person has answered', async () => {
    const tasks = [shape('a'), shape('b'), shape('c')]
    await using host = await server.host(
      planning(tasks, ({ task, attempt }) =>
        task === 'a' && attempt === 1 ? { signal: 'confused', words: 'Lorem ipsum' } : {},
      ),
    )
    await host.start({ atMost: 1 })
    const asking = await host.untilState('asks')
    expect(asking.words).toContain('nobody can classify')
    expect(asking.words).toContain(`forge answer ${host.run} a`)
    expect(host.activities.sent.map(({ task }) => task)).toEqual([undefined, 'a'])
    expect(await host.answer('', 'Just do it.')).toBeUndefined()
    expect((await host.result()).state).toBe('done')
    expect(host.activities.sent[2]?.told.at(-1)).toBe('Just do it.')
  })

  test.concurrent('a run that is paused stays so when its confused step is answered', async () => {
    const isPaused = Promise.withResolvers<void>()
    await using host = await server.host(
      planning([shape('a'), shape('b')], async ({ task, attempt }) => {
        if (task !== 'a' || attempt > 1) return {}
        await isPaused.promise
        return { signal: 'confused', words: 'Lorem ipsum' }
      }),
    )
    await host.start({ atMost: 1 })
    await host.until(() => host.activities.inFlight === 1 && host.activities.sent.length === 2)
    expect(await host.says('pause')).toBeUndefined()
    isPaused.resolve()
    await host.untilState('asks')
    expect(await host.answer('a', 'Just do it.')).toBeUndefined()
    expect((await host.status()).words).toBe(`It is paused: go on with forge resume ${host.run}.`)
    expect(host.activities.sent).toHaveLength(2)
    expect(await host.says('resume')).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('where half of the tasks fail at first the run pauses and asks', async () => {
    const tasks = Array.from({ length: 10 }, (_, at) => shape(`t${at}`))
    await using host = await server.host(planning(tasks), {
      validate: ({ attempt }) => (attempt === 1 ? { isGood: false, words: 'No.' } : undefined),
    })
    await host.start({ atMost: 2 })
    const asking = await host.until(status => status.state === 'asks' && status.question !== undefined)
    expect(asking.words).toContain('failed at their first attempt')
    expect(asking.words).toContain(`forge resume ${host.run}`)
    const sent = host.activities.sent.length
    expect(sent).toBeLessThan(20)
    expect(await host.says('resume')).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('where every task fails for good the run pauses and asks, too', async () => {
    const tasks = Array.from({ length: 10 }, (_, at) => shape(`t${at}`))
    await using host = await server.host(
      planning(tasks, ({ attempt, kind }) =>
        attempt === 1 && kind === 'implement' ? { signal: 'failure_terminal', words: 'No such library' } : {},
      ),
    )
    await host.start({ atMost: 1 })
    const asking = await host.until(({ state, question }) => state === 'asks' && question !== undefined)
    expect(asking.words).toContain('6 of 6 tasks failed at their first attempt')
    expect(asking.tasks.filter(({ state }) => state === 'waits')).toHaveLength(4)
  })

  test.concurrent('new tasks are planned for what has not begun, and a person approves the new plan', async () => {
    const tasks = [shape('a'), shape('b', { dependsOn: ['a'] })]
    const better = [shape('a'), shape('types', { dependsOn: ['a'] }), shape('c', { dependsOn: ['types'] })]
    await using host = await server.host(
      planning(tasks, ({ kind, task, attempt }) => {
        if (kind === 'check plan') return { plan: better }
        if (task === 'a' && attempt === 1) return { signal: 'new_tasks_discovered', words: 'Types are missing' }
        return {}
      }),
    )
    await host.start({ isApproved: false })
    const first = await host.untilState('approving')
    expect(first.tasks.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(await host.says('approve', first.plan)).toBeUndefined()
    const second = await host.until(({ state, plan }) => state === 'approving' && plan?.oid !== first.plan?.oid)
    expect(await host.says('approve', second.plan)).toBeUndefined()
    const status = await host.result()
    expect(status.tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['a done', 'types done', 'c done'])
    expect(taskOf(status, 'a').attempt).toBe(2)
  })

  test.concurrent('a plan that is still right stays, and the task goes on', async () => {
    await using host = await server.host(
      planning([shape('a'), shape('b')], ({ kind, task, attempt }) => {
        if (kind === 'check plan') return { words: 'That is in the plan already.' }
        return task === 'a' && attempt === 1 ? { signal: 'new_tasks_discovered', words: 'More' } : {}
      }),
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.sent.filter(({ kind }) => kind === 'check plan')).toHaveLength(1)
  })

  test.concurrent('a task that only ever discovers more has failed', async () => {
    await using host = await server.host(
      planning([shape('a')], ({ kind, attempt }) =>
        kind === 'check plan' || attempt > 4 ? {} : { signal: 'new_tasks_discovered', words: 'Still more' },
      ),
    )
    await host.start()
    const asking = await host.untilState('asks')
    expect(taskOf(asking, 'a').words).toContain('ever more to do')
  })

  test.concurrent('the linter has three tries of a model, then a person says what is wrong', async () => {
    const bad = [shape('bad')]
    const good = [shape('good')]
    await using host = await server.host(
      ({ kind, told }) => (kind === 'plan' ? { plan: told.includes('Call it good.') ? good : bad } : {}),
      { lint: ([task]) => (task?.id === 'bad' ? ['A task may not be called bad.'] : []) },
    )
    await host.start()
    const asking = await host.untilState('asks')
    expect(asking.complaints).toEqual(['A task may not be called bad.'])
    expect(host.activities.sent).toHaveLength(3)
    expect(host.activities.sent[1]?.told.at(-1)).toContain('may not be called bad')
    expect(await host.says('approve', host.activities.put('plan', JSON.stringify(bad)))).toContain('The linter refuses')
    await host.answer('', 'Call it good.')
    const status = await host.result()
    expect(status.tasks.map(({ id }) => id)).toEqual(['good'])
  })

  test.concurrent("a person's edited plan takes the place of the model's", async () => {
    await using host = await server.host(planning([shape('a'), shape('b')]))
    await host.start({ isApproved: false })
    await host.untilState('approving')
    expect(await host.says('resume')).toContain('is not paused')
    expect(await host.says('approve', host.activities.put('plan', JSON.stringify([shape('mine')])))).toBeUndefined()
    const status = await host.result()
    expect(status.tasks.map(({ id }) => id)).toEqual(['mine'])
  })

  test.concurrent('a run stops at the plan where nothing else is asked', async () => {
    await using host = await server.host(planning([shape('a')]))
    await host.start({ onlyPlan: true, isApproved: false })
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(status.plan).toBeDefined()
    expect(host.activities.sent).toHaveLength(1)
  })

  test.concurrent('pause, resume and stop are for a task and for the run, and say what can not be', async () => {
    const gates = new Map<string, PromiseWithResolvers<void>>()
    const gate = (name: string) => {
      const one = gates.get(name) ?? Promise.withResolvers<void>()
      gates.set(name, one)
      return one
    }
    const tasks = [
      shape('a', { isSmall: false }),
      shape('b', { dependsOn: ['a'] }),
      shape('c'),
      shape('d', { dependsOn: ['c'] }),
    ]
    await using host = await server.host(
      planning(tasks, async ({ kind, step, task }, signal) => {
        if (kind === 'outline') return { steps: ['one', 'two'] }
        if (task === 'c')
          return await new Promise<Said>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        await gate(step).promise
        return {}
      }),
    )
    await host.start()
    await host.until(status => taskOf(status, 'a').doing === 'step 1 of 2' && taskOf(status, 'c').state === 'runs')
    expect(await host.says('pause', 'a')).toBeUndefined()
    expect(await host.says('pause', 'a')).toBe('a is paused already.')
    expect(await host.says('resume', 'c')).toBe('c is not paused: it runs.')
    gate('a/1/1').resolve()
    await Bun.sleep(300)
    // The running step has ended, and the next one is not begun.
    expect(host.activities.sent.map(({ step }) => step)).not.toContain('a/1/2')
    expect(taskOf(await host.status(), 'a').state).toBe('paused')
    gate('a/1/2').resolve()
    expect(await host.says('resume', 'a')).toBeUndefined()
    await host.until(status => taskOf(status, 'a').state === 'done')
    expect(await host.says('pause')).toBeUndefined()
    expect((await host.status()).state).toBe('paused')
    gate('b/1/1').resolve()
    expect(await host.says('stop', 'c')).toBeUndefined()
    expect(await host.says('resume')).toBeUndefined()
    const status = await host.result()
    expect(status.tasks.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'a done',
      'b done',
      'c stopped',
      'd stopped',
    ])
    expect(status.words).toContain('2 of 4 tasks are done (c, d were stopped)')
  })

  test.concurrent('a run that is stopped ends its requests, which nothing else would end', async () => {
    let aborted = 0
    await using host = await server.host(
      planning(
        [shape('a'), shape('b')],
        (_, signal) =>
          new Promise<Said>((_, reject) =>
            signal.addEventListener('abort', () => {
              aborted++
              reject(signal.reason)
            }),
          ),
      ),
    )
    await host.start()
    await host.until(() => host.activities.inFlight === 2)
    expect(await host.says('stop')).toBeUndefined()
    const status = await host.result()
    expect(status.state).toBe('stopped')
    expect(aborted).toBe(2)
  })

  test.concurrent('a task that was stopped can be resumed, and what waits for it has a chance again', async () => {
    let isStopped = false
    const end = Promise.withResolvers<void>()
    const untilAborted = (signal: AbortSignal) =>
      new Promise<Said>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    await using host = await server.host(
      planning([shape('other'), shape('a'), shape('b', { dependsOn: ['a'] })], async ({ task }, signal) => {
        if (task === 'a' && !isStopped) return await untilAborted(signal)
        if (task === 'other') await end.promise
        return {}
      }),
    )
    await host.start()
    await host.until(() => host.activities.inFlight === 2)
    expect(await host.says('stop', 'a')).toBeUndefined()
    isStopped = true
    const stopped = await host.until(status => taskOf(status, 'b').state === 'stopped')
    expect(taskOf(stopped, 'b').words).toBe('It needs the result of a, which was stopped.')
    // Resuming the task is refused with this sentence until its request has ended.
    while ((await host.says('resume', 'a'))?.includes('just being stopped')) await Bun.sleep(50)
    end.resolve()
    expect((await host.result()).tasks.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
  })

  test.concurrent('what is resumed while the contract is checked is done too, and is part of the result', async () => {
    let isStopped = false
    const resumed = Promise.withResolvers<void>()
    const checked = Promise.withResolvers<void>()
    await using host = await server.host(
      planning([shape('a'), shape('b')], ({ task }, signal) => {
        if (task !== 'a' || isStopped) return {}
        return new Promise<Said>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }),
      {
        before: async activity => {
          if (activity !== 'finish') return
          checked.resolve()
          await resumed.promise
        },
      },
    )
    await host.start()
    await host.until(() => host.activities.inFlight === 1)
    expect(await host.says('stop', 'a')).toBeUndefined()
    isStopped = true
    await checked.promise
    expect(await host.says('resume', 'a')).toBeUndefined()
    resumed.resolve()
    const status = await host.result()
    expect(status.words).toContain('All 2 tasks are done')
    expect(host.activities.labels(status.result ?? '')).toEqual(['a/1/1', 'b/1/1', 'base'])
  })

  test.concurrent('an answer to a run that is paused is its answer, and it stays paused', async () => {
    await using host = await server.host(({ kind, told }) => {
      if (kind !== 'plan' || told.includes('Blue.')) return kind === 'plan' ? { plan: [shape('a')] } : {}
      return { signal: 'blocked_on_human', words: 'Which colour?', question: 'Which?' }
    })
    await host.start()
    await host.untilState('asks')
    expect(await host.says('pause')).toBeUndefined()
    expect(await host.answer('', 'Blue.')).toBeUndefined()
    expect((await host.status()).state).toBe('paused')
    expect(host.activities.remembered).toMatchObject([{ kind: 'answer', task: '', count: 1 }])
    expect(await host.says('resume')).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('a plan of more tasks than the run may have is refused with that sentence', async () => {
    await using host = await server.host(({ kind, told }) => {
      const isTold = told.includes('The plan has 3 tasks, and this run may have 2.')
      return kind === 'plan' ? { plan: isTold ? [shape('a')] : ['a', 'b', 'c'].map(id => shape(id)) } : {}
    })
    await host.start({ limits: { depth: 0, tasks: 2 } })
    expect((await host.result()).tasks).toHaveLength(1)
    expect(host.activities.sent.map(({ kind }) => kind)).toEqual(['plan', 'plan', 'implement'])
  })
})
