/** The commands that the user is told to type, by the run's state. */
import { expect, test } from 'bun:test'
import { nextSteps } from '../../../../forge/tasks/commands/follow.ts'
import type { RunStatus } from '../../../../forge/tasks/contract.ts'

const RUN = '20261122-add-undo-x7k2'

const status = (tasks: Partial<RunStatus['tasks'][number]>[], more: Partial<RunStatus> = {}): RunStatus => ({
  run: RUN,
  state: 'asks',
  words: '',
  complaints: [],
  spent: { requests: 0, input: 0, output: 0, cost: 0 },
  tasks: tasks.map((one, at) => ({
    id: `t${at}`,
    title: '',
    state: 'asks',
    attempt: 1,
    doing: '',
    words: '',
    dependsOn: [],
    ...one,
  })),
  ...more,
})

test('a task that asks is answered, and one that lacks something is let go on where it was', () => {
  expect(nextSteps(status([{}, { isLacking: true }]))).toEqual([
    `  forge answer ${RUN} t0 "…"`,
    `  forge resume ${RUN} t1`,
  ])
})

test('a run that is out of something is given more of that', () => {
  expect(nextSteps(status([], { state: 'out of budget', limit: 'minutes' }))).toEqual([
    `  forge resume ${RUN} --minutes N`,
  ])
})
