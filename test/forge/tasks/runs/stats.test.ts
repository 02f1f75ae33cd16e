/** Statistics of tasks by tier and model, read from what runs store in git. */
import { expect, test } from 'bun:test'
import type { Tier } from '../../../../forge/tasks/contract.ts'
import { Journal } from '../../../../forge/tasks/runs/journal.ts'
import { type KnownStats, readStats, statsForPlanners, statsTable } from '../../../../forge/tasks/runs/stats.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { storedAnswer } from '../../../../forge/tasks/runs/stored-answer.ts'
import { makePlace } from '../../../support/repository.ts'
import { command, plan, task } from '../plan/plans.ts'

type Asked = { task?: string; attempt?: number; kind?: string; tier?: Tier; model?: string; cost?: number }

async function makeRuns() {
  const place = await makePlace()
  let count = 0
  const run = (name: string) => {
    const store = new RunStore(place.objects, name)
    return {
      async answers(...asked: Asked[]) {
        for (const { cost, model = 'openai/small', ...it } of asked) {
          const key = `${count++}`.padStart(64, '0')
          const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, ...(cost !== undefined && { cost }) }
          const step = `${it.task ?? 'plan'}/${it.attempt ?? 1}/${it.kind}`
          const answer = storedAnswer({ key, step, model, ...it }, { end: 'done', usage, blocks: [] })
          await store.keep('answers', key, JSON.stringify(answer))
        }
      },
      async tells(...lines: [task: string, attempt: number, what: string][]) {
        using journal = await Journal.open({ store, folder: place.folder, secrets: [] })
        for (const [task, attempt, what] of lines)
          await journal.note({ run: name, id: `${name} ${task}/${attempt}/${what}`, task, attempt, what, words: what })
      },
    }
  }
  return { place, run, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

test('tasks count for the model of their first attempt, requests for the model that answered, over all runs', async () => {
  await using scene = await makeRuns()
  const first = scene.run('one')
  await first.answers(
    { kind: 'plan', tier: 'reasoning', model: 'anthropic/large', cost: 0.5 },
    { task: 'a', attempt: 1, kind: 'implement', tier: 'generation' },
    { task: 'b', attempt: 1, kind: 'outline', tier: 'generation' },
    { task: 'b', attempt: 1, kind: 'implement', tier: 'generation' },
    { task: 'b', attempt: 1, kind: 'review', tier: 'generation', model: 'anthropic/other', cost: 0.01 },
    { task: 'b', attempt: 2, kind: 'implement', tier: 'reasoning', model: 'anthropic/large', cost: 0.25 },
    { task: 'c', attempt: 1, kind: 'implement', tier: 'generation' },
  )
  // Lines of the journal count only if they are about a task's end.
  await first.tells(['a', 1, 'asks'], ['a', 1, 'passed'], ['b', 1, 'failed'], ['b', 2, 'passed'], ['c', 1, 'begins'])
  const second = scene.run('two')
  await second.answers({ task: 'a', attempt: 1, kind: 'implement', tier: 'generation' })
  await second.tells(['a', 1, 'passed'])
  const rows = await readStats(scene.place.objects, ['one', 'two'])
  expect(rows).toMatchObject([
    ...[
      {
        tier: 'reasoning',
        model: 'anthropic/large',
        tasks: 0,
        firstTry: 0,
        requests: 2,
        input: 200,
        output: 20,
        cost: 0.75,
      },
    ],
    ...[
      {
        tier: 'generation',
        model: 'anthropic/other',
        tasks: 0,
        firstTry: 0,
        requests: 1,
        input: 100,
        output: 10,
        cost: 0.01,
      },
    ],
    ...[{ tier: 'generation', model: 'openai/small', tasks: 3, firstTry: 2, requests: 5, input: 500, output: 50 }],
  ] as typeof rows)
  expect(statsTable(rows).join('\n')).toBe(
    `tier        model            tasks  first try  requests  read  written     cost
reasoning   anthropic/large      0          -         2   200       20    $0.75
generation  anthropic/other      0          -         1   100       10  $0.0100
generation  openai/small         3    2 (67%)         5   500       50        -
First try: of the tasks that were first written by it, those that passed their checks and reviews at once.
reasoning anthropic/large: steps that ended well by kind: implement 0% of 1, plan 0% of 1.
generation anthropic/other: steps that ended well by kind: review 0% of 1.
generation openai/small: steps that ended well by kind: implement 0% of 4, outline 0% of 1.`,
  )
  const known: KnownStats = new Map()
  const told = () => statsForPlanners(scene.place.objects, ['one', 'two'], known)
  expect(await told()).toBe(statsTable(rows).join('\n'))
  // Only the run that has changed is read again.
  const kept = known.get('one')?.rows
  await second.tells(['b', 1, 'passed'])
  await second.answers({ task: 'b', attempt: 1, kind: 'implement', tier: 'generation' })
  expect(await told()).toBe(statsTable(await readStats(scene.place.objects, ['one', 'two'])).join('\n'))
  expect(await told()).toContain('4    3 (75%)         6')
  expect(known.get('one')?.rows).toBe(kept)
})

test('a tier’s success is told by domain and by kind of step, with the number of samples', async () => {
  await using scene = await makeRuns()
  const one = scene.run('one')
  const store = new RunStore(scene.place.objects, 'one')
  const tasks = [
    task('a', { objective: { outputs: ['src/a.ts'] } as never }),
    task('b', { objective: { outputs: ['b.md'] } as never, boundaries: { write: ['b.md'], never: [] } }),
  ]
  await store.set('plan.json', JSON.stringify(plan(tasks, [command('A1', 'bun test')])))
  await one.answers(
    { task: 'a', attempt: 1, kind: 'implement', tier: 'generation' },
    { task: 'b', attempt: 1, kind: 'implement', tier: 'generation' },
  )
  await one.tells(['a', 1, 'passed'], ['b', 1, 'failed'])
  using journal = await Journal.open({ store, folder: scene.place.folder, secrets: [] })
  const id = 'a/1/implement ends 0123456789ab'
  await journal.note({ run: 'one', id, task: 'a', attempt: 1, what: 'success', words: '' })
  const [row] = await readStats(scene.place.objects, ['one'])
  expect(row).toMatchObject({
    kinds: { implement: { requests: 2, good: 1 } },
    domains: { typescript: { tasks: 1, firstTry: 1 }, text: { tasks: 1, firstTry: 0 } },
  })
  expect(await statsForPlanners(scene.place.objects, ['one'])).toEndWith(
    '\ngeneration openai/small: at the first try by domain: text 0% of 1, typescript 100% of 1; ' +
      'steps that ended well by kind: implement 50% of 2.',
  )
})

test('a planner is told nothing where no task has come to an end', async () => {
  await using scene = await makeRuns()
  expect(await statsForPlanners(scene.place.objects, [])).toBeUndefined()
  await scene.run('one').answers({ kind: 'plan', tier: 'reasoning' })
  expect(await statsForPlanners(scene.place.objects, ['one'])).toBeUndefined()
})

test('an answer that is none, or says nothing of its tier, takes nothing away from the others', async () => {
  await using scene = await makeRuns()
  await new RunStore(scene.place.objects, 'one').keep('answers', 'f'.repeat(64), 'not JSON')
  await scene.run('one').answers({ kind: 'plan', tier: 'reasoning' }, {})
  const rows = await readStats(scene.place.objects, ['one'])
  expect(rows.map(({ tier, requests }) => [tier, requests])).toEqual([
    ['reasoning', 1],
    ['unknown', 1],
  ])
})
