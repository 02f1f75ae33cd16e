/** What becomes of tasks: their attempts, what is given up with them, and what a new plan leaves as it is. */
import { expect, test } from 'bun:test'
import { newRecord } from '../../../../../forge/tasks/flows/run/records.ts'
import { type Task, Tasks } from '../../../../../forge/tasks/flows/run/tasks.ts'
import { shape } from '../../../../support/flow-activities.ts'

const SPENT = { requests: 1, input: 10, output: 1, cost: 0.5 }
const nothingRuns = () => false

const tasksOf = (...shapes: ReturnType<typeof shape>[]): Tasks => new Tasks(shapes.map(newRecord))

function of(tasks: Tasks, id: string): Task {
  const task = tasks.find(id)
  if (!task) throw new Error(`There is no ${id}.`)
  return task
}

const statesOf = (tasks: Tasks): string[] => tasks.records.map(({ shape, state }) => `${shape.id} ${state}`)

test('what waits for a stopped task is given up, all of it, and has a chance again when that goes on', () => {
  const tasks = tasksOf(shape('a'), shape('b', { dependsOn: ['a'] }), shape('c', { dependsOn: ['b'] }), shape('d'))
  of(tasks, 'a').stop('A person stopped it.')
  tasks.giveUp(nothingRuns)
  expect(statesOf(tasks)).toEqual(['a stopped', 'b stopped', 'c stopped', 'd waits'])
  expect(of(tasks, 'c').record.words).toBe('It needs the result of b, which was stopped.')
  tasks.goOn(of(tasks, 'a'))
  expect(statesOf(tasks)).toEqual(['a waits', 'b waits', 'c waits', 'd waits'])
})

test('an attempt that was interrupted is begun again under its number, and what it used is counted once', () => {
  const task = of(tasksOf(shape('a')), 'a')
  task.begin()
  task.end(SPENT)
  task.interrupt()
  expect(task.begin()).toMatchObject({ requests: 0 })
  expect(task.record.attempt).toBe(1)
  task.end(SPENT)
  task.wait()
  // Another attempt follows: now what the first one used is known for good.
  expect(task.begin()).toEqual(SPENT)
  expect(task.record.attempt).toBe(2)
})

test('a task that is stopped while it runs stays stopped, however its attempt ends', () => {
  const task = of(tasksOf(shape('a')), 'a')
  task.begin()
  task.stop('A person stopped it.')
  task.interrupt()
  task.wait()
  expect(task.record.state).toBe('stopped')
})

test('only the attempt that runs is heard', () => {
  const task = of(tasksOf(shape('a')), 'a')
  task.begin()
  task.hear({ task: 'a', attempt: 2, doing: 'writes', spent: SPENT })
  expect(task.record.doing).toBe('begins')
  task.hear({ task: 'a', attempt: 1, doing: 'writes', spent: SPENT })
  expect(task.record.doing).toBe('writes')
})

test('a new plan leaves what has begun, and what a person has paused or stopped stays so', () => {
  const tasks = tasksOf(shape('begun'), shape('paused'), shape('stopped'), shape('dropped'))
  of(tasks, 'begun').begin()
  of(tasks, 'paused').pause()
  of(tasks, 'stopped').stop('A person stopped it.')
  const changed = ['paused', 'stopped', 'begun', 'new'].map(id => shape(id, { title: 'Another title' }))
  expect(tasks.adopt(changed)).toEqual(['new'])
  expect(statesOf(tasks)).toEqual(['paused waits', 'stopped stopped', 'begun runs', 'new waits'])
  expect(of(tasks, 'begun').record.shape.title).toBe('Make begun')
  expect(of(tasks, 'paused').record).toMatchObject({ isPaused: true, shape: { title: 'Another title' } })
  expect(tasks.ready.map(({ task }) => task.id)).toEqual(['new'])
})

test('nobody waits for what is not there, stopped, itself, or waits for it', () => {
  const tasks = tasksOf(shape('a'), shape('b', { dependsOn: ['a'] }), shape('c'))
  of(tasks, 'c').stop('A person stopped it.')
  const why = (id: string, sibling: string) => tasks.whyNotAfter(of(tasks, id), sibling)
  expect(why('a', 'x')).toBe('the plan has no such task')
  expect(why('a', 'a')).toBe('that is the task itself')
  expect(why('a', 'b')).toBe('they would wait for each other: a for b for a')
  expect(why('b', 'a')).toBe('it had the result of a already')
  expect(why('a', 'c')).toBe('c was stopped')
})
