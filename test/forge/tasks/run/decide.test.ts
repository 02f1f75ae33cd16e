/**
 * The decisions of a run, without a server: random plans with random outcomes and crashes between any two steps. Every
 * task ends, nothing is begun twice at once, and finished work is not repeated.
 */
import { describe, expect, test } from 'bun:test'
import type { Reference, RunInput, TaskShape } from '../../../../forge/tasks/contract.ts'
import { decide } from '../../../../forge/tasks/run/decide.ts'
import type { Event, RunCommand, TaskEnd, Worked } from '../../../../forge/tasks/run/events.ts'
import { newRecord, newRun, type RunRecord, type TaskWork } from '../../../../forge/tasks/run/state.ts'
import { statusOf } from '../../../../forge/tasks/run/status.ts'
import { shape } from '../../../support/flow-activities.ts'
import { randomFrom } from '../../../support/random.ts'

const ref = (kind: string, oid = kind): Reference => ({ kind, oid })
const NOTHING = { requests: 1, input: 1, output: 1, cost: 0 }
const INPUT: RunInput = {
  ...{ run: 'r', wish: ref('wish'), base: 'base', limits: { depth: 1 }, isApproved: true, onlyPlan: false, atMost: 3 },
}

/** How attempts end and what planners answer; `undefined`: the worker is killed before that. */
type World = {
  tasks: TaskShape[]
  ends: (task: string, attempt: number) => Partial<TaskEnd>
  replans?: (times: number) => TaskShape[] | undefined
  /** The files that a planner asks to see, depending on what it was given; undefined: it makes the plan. */
  looks?: (about: readonly Reference[]) => string | undefined
  /** Chooses, by index below `count`, which of the activities and child workflows under way ends next. */
  next: (count: number) => number
}

/** Runs until nothing is under way; the user answers all questions. */
function live(world: World, input = INPUT) {
  let run: RunRecord = newRun(input, 'life')
  let now = 0
  let plans = 0
  const pending: (() => Event)[] = []
  const started: string[] = []
  const out = new Set<string>()
  const journal: string[] = []
  const asked: [step: string, about: readonly Reference[]][] = []

  const worked = (what: TaskWork): Worked => {
    switch (what.do) {
      case 'begin':
        return { of: 'begin', answers: [], facts: [], used: 0 }
      case 'keep':
        return { of: 'keep', reference: ref(what.kind, what.words) }
      case 'lint': {
        const tasks: TaskShape[] = JSON.parse(what.plan.oid)
        return { of: 'lint', linted: { plan: what.plan, tasks, complaints: [], widens: [] } }
      }
      case 'ask': {
        asked.push([what.step, what.wish.about])
        const looked = world.looks?.(what.wish.about)
        if (looked !== undefined) {
          const artifact = ref('looked', looked)
          return { of: 'ask', result: { outcome: 'success', words: '', spent: NOTHING, artifact }, spent: NOTHING }
        }
        const tasks = what.wish.kind === 'plan' ? world.tasks : world.replans?.(++plans)
        const plan = tasks && what.wish.kind !== 'summarise' ? { plan: ref('plan', JSON.stringify(tasks)) } : {}
        return { of: 'ask', result: { outcome: 'success', words: '', spent: NOTHING, ...plan }, spent: NOTHING }
      }
      case 'finish': {
        const head = what.results.map(({ head }) => head).join()
        return { of: 'finish', finished: { isGood: true, head, report: ref('report'), words: '' } }
      }
      case 'remember':
        return { of: 'remember' }
      case 'judge':
        return { of: 'judge', report: ref('report'), words: '' }
    }
  }

  function carryOut(command: RunCommand): void {
    if (command.do === 'note') journal.push(command.line.id)
    if (command.do === 'work') pending.push(() => ({ is: 'worked', id: command.id, what: worked(command.what) }))
    if (command.do === 'report')
      pending.push(() => ({ is: 'reported', matter: command.matter, report: ref('escalation') }))
    if (command.do !== 'start') return
    const { task, attempt } = command.input
    expect(out.has(task)).toBe(false)
    expect(out.size).toBeLessThan(input.atMost)
    out.add(task)
    started.push(`${task}/${attempt}`)
    pending.push(() => {
      out.delete(task)
      const end = { outcome: 'success' as const, words: '', spent: NOTHING, ...world.ends(task, attempt) }
      const passed = end.outcome === 'success' ? { head: `${task}!`, from: 'base' } : {}
      return { is: 'ended', task, attempt, end: { ...end, ...passed }, raises: 0 }
    })
  }

  function happens(event: Event): void {
    const before = JSON.stringify(run)
    const decided = decide(run, event, ++now)
    // The old state is unchanged; the same event gives the same result, also on a state that was stored as JSON.
    expect(JSON.stringify(run)).toBe(before)
    expect(JSON.stringify(decide(JSON.parse(before), event, now))).toBe(JSON.stringify(decided))
    run = JSON.parse(JSON.stringify(decided.run))
    for (const command of decided.commands) carryOut(command)
  }

  happens({ is: 'begun' })
  for (let steps = 0; !run.ending && steps < 2000; steps++) {
    const [next] = pending.splice(world.next(pending.length), 1)
    if (next) {
      happens(next())
      continue
    }
    const asking = run.tasks.find(({ state }) => state === 'asks')
    if (asking) happens({ is: 'answered', task: asking.shape.id, answer: ref('answer', `${steps}`) })
    else if (run.hold) happens({ is: 'resumed' })
    else if (run.question) happens({ is: 'decided', decision: { is: 'answer', answer: ref('answer', `${steps}`) } })
    else throw new Error(`It stands still: ${JSON.stringify(statusOf(run, now))}`)
  }
  return { run, started, journal, asked }
}

const OUTCOMES = [
  'failure_retryable',
  'failure_terminal',
  'blocked_on_human',
  'new_tasks_discovered',
  'confused',
] as const

describe('a run of random tasks', () => {
  test.each(Array.from({ length: 150 }, (_, seed) => [seed]))('ends, with each task done once (seed %d)', seed => {
    const random = randomFrom(seed)
    const count = 1 + random.below(12)
    const tasks = Array.from({ length: count }, (_, at) => {
      const dependsOn = at > 0 && random.below(2) === 0 ? [`t${random.below(at)}`] : []
      return shape(`t${at}`, { dependsOn, isAlone: random.below(8) === 0 })
    })
    const fails = new Map(tasks.map(({ id }) => [id, random.below(4)]))
    const { run, started, journal } = live({
      tasks,
      next: pending => (pending > 0 ? random.below(pending) : 0),
      ends: (task, attempt) => {
        if (attempt > (fails.get(task) ?? 0)) return {}
        const outcome = OUTCOMES[random.below(OUTCOMES.length)] ?? 'confused'
        if (random.below(6) === 0) return { halt: { why: 'machine', words: 'It is full.' } }
        return { outcome, words: 'Not so.', report: ref('report', `${task}/${attempt}`) }
      },
    })
    expect(run.ending?.state).toBe('done')
    expect(run.tasks.every(({ state }) => state === 'done')).toBe(true)
    expect(new Set(journal.filter(id => id.includes('/passed/'))).size).toBe(count)
    // An attempt that the machine has interrupted is begun again under its own number.
    const last = run.tasks.map(({ shape, attempt }) => `${shape.id}/${attempt}`)
    expect(last.every(it => started.includes(it))).toBe(true)
  })
})

describe('a planner', () => {
  const looked = (about: readonly Reference[]) => about.filter(({ kind }) => kind === 'looked').map(({ oid }) => oid)
  const tasks = [shape('a')]

  test('looks at the repository twice before it plans, and has all that it has seen then', () => {
    const looks = (about: readonly Reference[]) => ['first', 'second'][looked(about).length]
    const { run, asked } = live({ tasks, next: () => 0, ends: () => ({}), looks })
    expect(run.ending?.state).toBe('done')
    expect(asked.map(([step, about]) => [step, looked(about)])).toEqual([
      ['plan/1', []],
      ['plan/2', ['first']],
      ['plan/3', ['first', 'second']],
    ])
  })

  test('that only looks comes to no plan, and a person is asked', () => {
    let rounds = 0
    const looks = () => (++rounds > 6 ? undefined : `round ${rounds}`)
    const { run, asked } = live({ tasks, next: () => 0, ends: () => ({}), looks })
    // The number of files that each request of the planner has: two requests ask for files, three try to plan with
    // these; after the user's answer, two ask for files again.
    expect(asked.map(([, about]) => looked(about).length)).toEqual([0, 1, 2, 2, 2, 0, 1])
    expect(run.ending?.state).toBe('done')
  })
})

test('a task whose part of the plan was mended begins again with two attempts, and what passed stays', () => {
  const before = [shape('a'), shape('b')]
  const mended = [shape('a'), { ...shape('b'), hash: 'wider' }]
  const { run, started } = live({
    tasks: before,
    next: () => 0,
    ends: (task, attempt) => {
      if (task === 'a' || attempt > 3) return {}
      const outcome = attempt === 2 ? 'new_tasks_discovered' : 'failure_retryable'
      return { outcome, words: 'It may not write helper.txt.' }
    },
    replans: () => mended,
  })
  expect(run.ending?.state).toBe('done')
  expect(started).toEqual(['a/1', 'b/1', 'b/2', 'b/3', 'b/4'])
  // The third attempt failed without a question, as the earlier failures belong to the old plan.
  expect(run.tasks.find(({ shape }) => shape.id === 'b')).toMatchObject({ failures: 1, questions: 0 })
})

test('a task that has passed is only checked again where its checks are other ones', () => {
  const { run, started } = live({
    tasks: [shape('a'), shape('b', { dependsOn: ['a'] })],
    next: () => 0,
    ends: (task, attempt) =>
      task === 'b' && attempt === 1 ? { outcome: 'new_tasks_discovered', words: 'A1 tests the wrong thing.' } : {},
    replans: () => [{ ...shape('a'), hash: 'other checks' }, shape('b', { dependsOn: ['a'] })],
  })
  expect(run.ending?.state).toBe('done')
  // The commit of attempt a/1 is only checked again; there is no attempt a/2.
  expect(started).toEqual(['a/1', 'b/1', 'a/1', 'b/2'])
})

test('after eight tasks that passed the plan is looked at, once', () => {
  const tasks = Array.from({ length: 14 }, (_, at) => shape(`t${at}`))
  const { journal } = live({ tasks, next: () => 0, ends: () => ({}) })
  expect(journal.filter(id => id.endsWith('/kept'))).toEqual(['check-plan/2/kept'])
})

test('minutes that are over in the moment of a pause are over when it ends', () => {
  const isOut = { ...newRecord(shape('a')), state: 'runs', attempt: 1, isOut: true } as const
  let run: RunRecord = { ...newRun(INPUT, 'life'), plan: ref('plan'), tasks: [isOut], since: 0 }
  const stateAfter = (event: Event, now: number) => {
    run = decide(run, event, now).run
    return statusOf(run, now).state
  }
  const MINUTE = 60_000
  expect(stateAfter({ is: 'raised', limits: { minutes: 1 } }, 0)).toBe('runs')
  // Two states apply: the user has paused the run, and its minutes are over. Paused is shown.
  expect(stateAfter({ is: 'paused' }, MINUTE + 1)).toBe('paused')
  expect(stateAfter({ is: 'time' }, MINUTE + 1)).toBe('paused')
  // The time of the pause does not count; the minutes before it do.
  expect(stateAfter({ is: 'resumed' }, 9 * MINUTE)).toBe('out of budget')
  expect(stateAfter({ is: 'raised', limits: { minutes: 2 } }, 9 * MINUTE)).toBe('runs')
  expect(stateAfter({ is: 'time' }, 9.5 * MINUTE)).toBe('runs')
  expect(stateAfter({ is: 'time' }, 10 * MINUTE)).toBe('out of budget')
})

test('a run that is stopped before its plan counts no branches', () => {
  const { run } = decide(newRun(INPUT, 'life'), { is: 'stopped' }, 0)
  expect(run.ending).toEqual({ state: 'stopped', words: 'It was stopped before it had a plan.' })
})

test('minutes are not counted while requests are out in batches, until the last flow has come back', () => {
  const isOut = { ...newRecord(shape('a')), state: 'runs', attempt: 1, isOut: true } as const
  const limits = { depth: 1, minutes: 10 }
  let run: RunRecord = { ...newRun({ ...INPUT, limits }, 'life'), plan: ref('plan'), tasks: [isOut], since: 0 }
  const MINUTE = 60_000
  const usedAfter = (event: Event, now: number) => {
    run = decide(run, event, now).run
    return (statusOf(run, now).used ?? 0) / MINUTE
  }
  const away = (flow: string, isAway: boolean, number: number): Event => ({
    is: 'away',
    flow,
    task: 'a',
    isAway,
    number,
  })
  expect(usedAfter(away('a', true, 1), MINUTE)).toBe(1)
  expect(usedAfter(away('a:fan-out', true, 1), 5 * MINUTE)).toBe(1)
  expect(usedAfter(away('a', false, 2), 9 * MINUTE)).toBe(1)
  // A signal that arrives late, with a smaller number than one before, is ignored.
  expect(usedAfter(away('a', true, 1), 9 * MINUTE)).toBe(1)
  expect(usedAfter({ is: 'time' }, 20 * MINUTE)).toBe(1)
  expect(usedAfter(away('a:fan-out', false, 2), 20 * MINUTE)).toBe(1)
  expect(usedAfter({ is: 'time' }, 22 * MINUTE)).toBe(3)
  // A killed attempt no longer counts as waiting for a batch, although it can't report that it waits no longer.
  usedAfter(away('a', true, 3), 22 * MINUTE)
  usedAfter({ is: 'not ended', task: 'a', attempt: 1 }, 30 * MINUTE)
  expect(run.away).toEqual([])
})
