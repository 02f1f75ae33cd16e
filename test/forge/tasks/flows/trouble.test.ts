/** Runs on a real server with troubles: budgets, providers, machines, conflicts, killed workers. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { ApplicationFailure } from '@temporalio/activity'
import type { TaskShape } from '../../../../forge/tasks/contract.ts'
import { type Asked, type Said, type ScriptedActivities, shape } from '../../../support/flow-activities.ts'
import { FlowServer, hasNoTemporal, taskOf } from '../../../support/flows.ts'
import { randomFrom } from '../../../support/random.ts'
import { until } from '../../../support/repository.ts'

const planning =
  (tasks: TaskShape[], does: (asked: Asked, signal: AbortSignal) => Said | Promise<Said> = () => ({})) =>
  (asked: Asked, signal: AbortSignal): Said | Promise<Said> =>
    asked.kind === 'plan' ? { plan: tasks } : does(asked, signal)

const modelError = (trouble: string, words: string, isRetryable = false) =>
  ApplicationFailure.create({
    type: 'ModelError',
    message: words,
    details: [trouble],
    nonRetryable: !isRetryable,
    ...(isRetryable && { nextRetryDelay: '100 milliseconds' }),
  })

// A flow has many steps, each of which takes long on a busy machine.
setDefaultTimeout(180_000)

let server: FlowServer

describe.skipIf(hasNoTemporal)('a run in trouble', () => {
  beforeAll(async () => {
    server = await FlowServer.start()
  }, 60_000)
  afterAll(() => server.close())

  test('out of budget with 64 in flight: what is in flight ends, nothing is sent after it, and more goes on', async () => {
    const tasks = Array.from({ length: 100 }, (_, at) => shape(`t${at}`))
    const all = Promise.withResolvers<void>()
    await using host = await server.host(
      planning(tasks, async () => {
        if (host.activities.inFlight === 64) all.resolve()
        await all.promise
        return {}
      }),
      { requests: 65 },
    )
    await host.start({ atMost: 64 })
    const status = await host.until(({ state, tasks }) => {
      return state === 'out of budget' && tasks.filter(it => it.state === 'done').length === 64
    })
    expect(status.words).toBe(
      `The requests are used up. What is done is kept; go on with more: forge resume ${host.run} --requests N`,
    )
    expect(host.activities.sent).toHaveLength(65)
    expect(await host.says('resume')).toContain('has used up its limits')
    expect(await host.says('raise', { requests: 1000 })).toBeUndefined()
    const end = await host.result()
    expect(end.state).toBe('done')
    expect(host.activities.sent.filter(({ kind }) => kind === 'implement')).toHaveLength(100)
    expect(host.activities.began.at(-1)?.limits.requests).toBe(1000)
  }, 120_000)

  test.concurrent('a model that lacks credit pauses the run, and resume goes on where it was', async () => {
    let isPaid = false
    const tasks = [shape('a', { isSmall: false }), shape('b')]
    await using host = await server.host(
      planning(tasks, ({ kind, step }) => {
        if (kind === 'outline') return { steps: ['one', 'two'] }
        if (step === 'a/1/2' && !isPaid) throw modelError('credit', 'There is no credit left')
        return {}
      }),
    )
    await host.start()
    const paused = await host.until(({ state, question }) => state === 'paused' && question !== undefined)
    expect(paused.words).toBe(
      `There is no credit left. What is done is kept; set it right, then forge resume ${host.run}.`,
    )
    expect(taskOf(paused, 'a').state).toBe('waits')
    isPaid = true
    expect(await host.says('resume')).toBeUndefined()
    const status = await host.result()
    expect(status.state).toBe('done')
    // The same attempt continues, and nothing answered is requested again.
    expect(taskOf(status, 'a').attempt).toBe(1)
    const steps = host.activities.sent.filter(({ task }) => task === 'a').map(({ step }) => step)
    expect(steps).toEqual(['a/1/outline', 'a/1/1', 'a/1/2', 'a/1/2'])
    // The plan, the outline, two steps and b: earlier answers are not counted twice.
    expect(status.spent.requests).toBe(5)
  })

  test.concurrent('a task that is stopped stays stopped, also where its last request fails, and blocks no other task', async () => {
    await using host = await server.host(
      planning([shape('a'), shape('b')], async ({ task }, signal) => {
        if (task === 'b') return {}
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        throw modelError('credit', 'There is no credit left')
      }),
    )
    await host.start()
    await host.until(() => host.activities.sent.some(({ task }) => task === 'a'))
    expect(await host.says('stop', 'a')).toBeUndefined()
    const status = await host.result()
    expect(status.tasks.map(({ id, state }) => `${id} ${state}`)).toEqual(['a stopped', 'b done'])
    expect(status.state).toBe('done')
  })

  test.concurrent('a key that is missing while the plan is made pauses too', async () => {
    let hasKey = false
    await using host = await server.host(asked => {
      if (!hasKey) throw modelError('key', 'The key is not taken.')
      return asked.kind === 'plan' ? { plan: [shape('a')] } : {}
    })
    await host.start()
    await host.untilState('paused')
    hasKey = true
    await host.says('resume')
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('a busy provider is asked again after its own delay, and no task has failed by it', async () => {
    let tries = 0
    await using host = await server.host(
      planning([shape('a')], () => {
        if (++tries < 4) throw modelError('rate', 'Too many requests.', true)
        return {}
      }),
    )
    await host.start()
    const status = await host.result()
    expect([status.state, taskOf(status, 'a').attempt, tries]).toEqual(['done', 1, 4])
  })

  test.concurrent('a request that is too long fails its attempt, not the run', async () => {
    await using host = await server.host(
      planning([shape('a')], ({ attempt }) => {
        if (attempt === 1) throw modelError('too long', 'The conversation is too long.')
        return {}
      }),
    )
    await host.start()
    const status = await host.result()
    expect([status.state, taskOf(status, 'a').attempt]).toEqual(['done', 2])
  })

  test.concurrent('a machine that fails for good pauses the run with its words', async () => {
    let isFull = true
    await using host = await server.host(planning([shape('a')]), {
      before: activity => {
        if (activity === 'gather' && isFull) throw ApplicationFailure.nonRetryable('No space left on device')
      },
    })
    await host.start()
    const paused = await host.untilState('paused')
    expect(paused.words).toContain('No space left on device. What is done is kept')
    isFull = false
    await host.says('resume')
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('minutes are those in which something runs', async () => {
    await using host = await server.host(
      planning([shape('a')], async (_, signal) => {
        while (host.activities.began.length < 2 && !signal.aborted) await Bun.sleep(50)
        return {}
      }),
    )
    await host.start({ limits: { depth: 0, minutes: 0.02 } })
    const status = await host.untilState('out of budget')
    expect(status.words).toContain('The 0.02 minutes of this run are over.')
    // With only more money, the limit of minutes would remain.
    expect(await host.says('raise', { cost: 5 })).toContain('minutes already')
    expect(await host.says('raise', { minutes: 5 })).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('minutes are counted on from one history to the next', async () => {
    const tasks = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, at, all) => shape(id, { dependsOn: all.slice(0, at) }))
    await using host = await server.host(
      planning(tasks, async () => {
        await Bun.sleep(1500)
        return {}
      }),
    )
    await host.start({ limits: { depth: 0, minutes: 0.1 }, events: 1 })
    const { words } = await host.until(({ state }) => state === 'out of budget' || state === 'done')
    expect(words).toContain('The 0.1 minutes of this run are over.')
  })

  test.concurrent('minutes go on from what was used before the server was lost', async () => {
    await using host = await server.host(
      planning([shape('a')], async (_, signal) => {
        while (host.activities.began.length < 2 && !signal.aborted) await Bun.sleep(50)
        return {}
      }),
    )
    host.activities.overrides.remembered = { answers: [], used: 29.98 * 60_000 }
    await host.start({ limits: { depth: 0, minutes: 30 } })
    const { words, used = 0 } = await host.untilState('out of budget')
    expect(words).toContain('The 30 minutes of this run are over.')
    expect(used).toBeGreaterThanOrEqual(30 * 60_000)
    await until(() => host.activities.rested.at(-1)?.used === used)
    expect(await host.says('raise', { minutes: 29 })).toContain('has worked 30')
    expect(await host.says('raise', { minutes: 60 })).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('a run that is begun again when its minutes are over sends nothing', async () => {
    await using host = await server.host(planning([shape('a')], async () => ({})))
    host.activities.overrides.remembered = { answers: [], used: 31 * 60_000 }
    await host.start({ limits: { depth: 0, minutes: 30 } })
    await host.untilState('out of budget')
    expect(host.activities.sent.length).toBeLessThan(2)
    expect(await host.says('raise', { minutes: 60 })).toBeUndefined()
    expect((await host.result()).state).toBe('done')
  })

  test.concurrent('limits that can’t be held are refused with the reason', async () => {
    await using host = await server.host(
      planning([shape('a')], async (_, signal) => {
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        return {}
      }),
      {
        before: (activity, input) => {
          const { limits } = input as { limits?: { cost?: number } }
          if (activity === 'begin' && limits?.cost) throw ApplicationFailure.nonRetryable('No price is known.')
        },
      },
    )
    await host.start()
    await host.untilState('runs')
    expect(await host.says('raise', { cost: 5 })).toBe('No price is known.')
    await host.says('stop')
  })

  test.concurrent('checks that can’t run yet take nothing of what is done: the same attempt goes on', async () => {
    let hasEngine = false
    await using host = await server.host(planning([shape('a')]), {
      validate: ({ task }) => {
        if (hasEngine) return undefined
        return { isGood: false, words: 'Checks need docker.', question: host.activities.put('question', task) }
      },
    })
    await host.start()
    const asking = await host.untilState('asks')
    expect(taskOf(asking, 'a').words).toContain(`forge resume ${host.run} a`)
    expect(taskOf(asking, 'a').isLacking).toBe(true)
    expect(asking.words).toBe(`a waits for something to be set right: forge resume ${host.run} a`)
    hasEngine = true
    expect(await host.says('resume', 'a')).toBeUndefined()
    const status = await host.result()
    expect([status.state, taskOf(status, 'a').attempt]).toEqual(['done', 1])
    expect(host.activities.sent.filter(({ task }) => task === 'a')).toHaveLength(1)
  })

  test.concurrent('a contract that can’t be checked yet is checked when that is set right, and nothing is planned again', async () => {
    let hasEngine = false
    await using host = await server.host(planning([shape('a')]), {
      finish: () =>
        hasEngine
          ? undefined
          : { isGood: false, words: 'Checks need docker.', question: host.activities.put('question', 'docker') },
    })
    await host.start()
    const asking = await host.untilState('asks')
    expect(asking.words).toStartWith(
      `1 of 1 tasks are done, but Checks need docker. When that is set right: forge resume ${host.run} `,
    )
    hasEngine = true
    expect(await host.says('resume')).toBeUndefined()
    expect((await host.result()).state).toBe('done')
    expect(host.activities.sent.map(({ kind }) => kind)).toEqual(['plan', 'implement'])
  })

  test.concurrent('a review that is halted takes no answer of another one with it', async () => {
    let isPaid = false
    const other = Promise.withResolvers<void>()
    await using host = await server.host(
      planning([shape('a', { reviews: 2 })], async ({ kind, choice }, signal) => {
        if (kind !== 'review') return {}
        if (choice === 0 && !isPaid) {
          other.resolve()
          throw modelError('credit', 'There is no credit left')
        }
        if (choice === 1) {
          await other.promise
          // Wait until the activity of the first review has certainly ended.
          await Bun.sleep(2000)
          signal.throwIfAborted()
        }
        return { isGood: true }
      }),
    )
    await host.start()
    await host.untilState('paused')
    isPaid = true
    await host.says('resume')
    expect((await host.result()).state).toBe('done')
    expect(host.activities.sent.filter(({ kind, choice }) => kind === 'review' && choice === 1)).toHaveLength(1)
  })

  test.concurrent('a conflict between what a task waits for is resolved, judged, and gathered on', async () => {
    const tasks = [shape('a'), shape('b'), shape('c', { dependsOn: ['a', 'b'] })]
    await using host = await server.host(
      planning(tasks, ({ kind, told }) => {
        if (kind !== 'resolve') return {}
        // The first resolution loses one side.
        return told.some(words => words === 'It loses b.') ? { writes: 'b/1/1' } : { writes: 'half' }
      }),
      {
        conflicts: [['a/1/1', 'b/1/1']],
        judge: labels => (labels.includes('b/1/1') ? undefined : 'It loses b.'),
      },
    )
    await host.start()
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.labels(host.activities.delivered.get('c') ?? '')).toEqual([
      'a/1/1',
      'b/1/1',
      'base',
      'c/1/1',
    ])
    expect(host.activities.sent.filter(({ kind }) => kind === 'resolve').map(({ step }) => step)).toEqual([
      'c/1/resolve/1/1',
      'c/1/resolve/1/2',
      'finish/resolve/1/1',
      'finish/resolve/1/2',
    ])
  })

  test.concurrent('a contract that does not hold asks, and an answer mends the plan', async () => {
    const tasks = [shape('a')]
    await using host = await server.host(
      planning(tasks, ({ kind, told }) =>
        kind === 'check plan' && told.includes('Add the tests.') ? { plan: [...tasks, shape('tests')] } : {},
      ),
      { finish: tries => (tries === 1 ? { isGood: false, words: 'A2 does not hold' } : undefined) },
    )
    await host.start()
    const asking = await host.untilState('asks')
    expect(asking.words).toBe(`1 of 1 tasks are done, but A2 does not hold. Answer it: forge answer ${host.run} "…"`)
    await host.answer('', 'Add the tests.')
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(taskOf(status, 'tests').state).toBe('done')
  })

  describe('questions that no command answers', () => {
    const asks = { kind: 'asks', oid: 'a'.repeat(40) }
    const finish = (count: number) => () => ({ review: { asks, count, tier: 'generation' as const } })
    const reviews = ({ sent }: ScriptedActivities) =>
      sent.flatMap(it => (it.kind === 'review' ? [`${it.step} ${it.tier} ${it.choice}`] : []))

    test.concurrent('are asked once more, of all results together', async () => {
      const tasks = [shape('a'), shape('b')]
      await using host = await server.host(
        planning(tasks, () => ({ isGood: true })),
        { finish: finish(2) },
      )
      await host.start()
      const { state, result = '' } = await host.result()
      expect({ state, labels: host.activities.labels(result) }).toEqual({
        state: 'done',
        labels: ['a/1/1', 'b/1/1', 'base'],
      })
      expect(reviews(host.activities)).toEqual(['finish/review/1 generation 0', 'finish/review/2 generation 1'])
      const [first] = host.activities.sent.filter(({ kind }) => kind === 'review')
      expect(first).toMatchObject({ base: result, about: [{ kind: 'plan' }, { kind: 'validation' }, asks] })
    })

    test.concurrent('are decided by a more capable model where two disagree', async () => {
      await using host = await server.host(
        planning([shape('a')], ({ kind, choice, tier }) =>
          kind === 'review' ? { isGood: choice === 0 || tier === 'reasoning' } : {},
        ),
        { finish: finish(2) },
      )
      await host.start()
      expect((await host.result()).state).toBe('done')
      expect(reviews(host.activities).at(-1)).toBe('finish/review/last reasoning 0')
    })

    test.concurrent('let the run ask a person, where no reviewer affirms them', async () => {
      await using host = await server.host(
        planning([shape('a')], ({ kind }) => (kind === 'review' ? { isGood: false, words: 'Nobody is told.' } : {})),
        { finish: tries => (tries === 1 ? finish(1)() : undefined) },
      )
      await host.start()
      const asking = await host.untilState('asks')
      expect(asking.words).toBe(
        `1 of 1 tasks are done, but a review does not accept the whole: Nobody is told. Answer it: forge answer ${host.run} "…"`,
      )
      await host.answer('', 'They are told elsewhere.')
      expect((await host.result()).state).toBe('done')
    })
  })

  test.concurrent('what was approved and answered before is not asked again', async () => {
    const tasks = [shape('a')]
    const red = { kind: 'answer of a person', oid: '' }
    const remembered = { approvedPlan: { kind: 'plan', oid: '' }, answers: [{ task: 'a', count: 1, answer: red }] }
    await using host = await server.host(
      planning(tasks, ({ told }) =>
        told.includes('Red.') ? {} : { signal: 'blocked_on_human', words: 'The colour', question: 'Which?' },
      ),
      { remembered },
    )
    remembered.approvedPlan.oid = host.activities.put('plan', JSON.stringify(tasks)).oid
    red.oid = host.activities.put(red.kind, 'Red.').oid
    await host.start({ isApproved: false })
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.escalated).toEqual([])
    expect(host.activities.sent.map(({ kind }) => kind)).toEqual(['implement', 'implement'])
  })

  test('a worker that ends in the middle is followed by another one, and the run goes on', async () => {
    const tasks = Array.from({ length: 12 }, (_, at) => shape(`t${at}`, { dependsOn: at > 2 ? [`t${at - 3}`] : [] }))
    await using host = await server.host(
      planning(tasks, async (_, signal) => {
        await new Promise((resolve, reject) => {
          setTimeout(resolve, 100)
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        return {}
      }),
    )
    await host.start()
    for (const done of [1, 5]) {
      await host.until(status => status.tasks.filter(({ state }) => state === 'done').length >= done)
      await host.end()
      await host.begin()
    }
    const status = await host.result()
    expect(status.state).toBe('done')
    expect(host.activities.labels(status.result ?? '')).toHaveLength(13)
    // The answers include a check of the plan after eight tasks: a summary and an answer.
    expect(host.activities.answers.size).toBe(15)
  }, 120_000)

  test('two hundred tasks in a graph are done in its order, also with answers in random order and new histories', async () => {
    const random = randomFrom(14)
    const tasks = Array.from({ length: 200 }, (_, at) => {
      const before = [at - 1 - ((at * 7) % 5), at - 3 - ((at * 11) % 17)].filter(it => it >= 0)
      return shape(`t${at}`, { dependsOn: [...new Set(before)].map(it => `t${it}`) })
    })
    const wrong: string[] = []
    await using host = await server.host(
      planning(tasks, async asked => {
        const { dependsOn } = tasks.find(({ id }) => id === asked.task) ?? { dependsOn: [] }
        const labels = host.activities.labels(asked.base)
        for (const id of dependsOn)
          if (!labels.some(label => label.startsWith(`${id}/`))) wrong.push(`${asked.task} lacks ${id}`)
        await Bun.sleep(random.below(50))
        return {}
      }),
      {
        validate: ({ task, attempt }) =>
          attempt === 1 && /9$/.test(task) ? { isGood: false, words: 'No.' } : undefined,
      },
    )
    const begun = Date.now()
    const { firstExecutionRunId } = await host.start({ atMost: 8, events: 1000 })
    const status = await host.result()
    const { historyLength, runId } = await server.client.workflow.getHandle(host.queue).describe()
    console.log(`200 tasks: ${Date.now() - begun} ms, ${historyLength} events in the last history`)
    expect(status.words).toContain('All 200 tasks are done')
    expect(wrong).toEqual([])
    const counts = Map.groupBy(host.activities.sent, ({ kind }) => kind)
    expect([counts.get('plan')?.length, counts.get('implement')?.length]).toEqual([1, 220])
    expect(counts.get('check plan')?.length).toBe(counts.get('summarise')?.length)
    expect(runId).not.toBe(firstExecutionRunId)
  }, 300_000)

  test.concurrent('runs are listed by their state where they are started with it', async () => {
    await using host = await server.host(planning([shape('a')]))
    await host.start({ isApproved: false }, true)
    await host.untilState('approving')
    const query = `forgeRun = '${host.run}' and forgeState = 'approving'`
    const listed = async () => {
      for await (const one of server.client.workflow.list({ query })) return one.workflowId
      return undefined
    }
    for (const end = Date.now() + 10_000; Date.now() < end && !(await listed()); ) await Bun.sleep(100)
    expect(await listed()).toBe(host.queue)
    await host.says('approve', (await host.status()).plan)
    await host.result()
  })
})
