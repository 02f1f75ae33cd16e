/** The report for a user who has to decide. */
import { expect, test } from 'bun:test'
import type { RunStatus } from '../../../../forge/tasks/contract.ts'
import { type Escalation, reportAsMarkdown, reportForTerminal } from '../../../../forge/tasks/runs/report.ts'

const RUN = '20261122-add-undo-x7k2'
const task = (id: string, state: RunStatus['tasks'][number]['state'], words = '') => ({
  id,
  title: `The ${id}`,
  state,
  attempt: 1,
  doing: '',
  words,
  dependsOn: [],
})
const status: RunStatus = {
  run: RUN,
  state: 'runs',
  words: '',
  complaints: [],
  spent: { requests: 31, input: 250_000, output: 40_000, cost: 1.234 },
  tasks: [
    ...Array.from({ length: 60 }, (_, at) => task(`done-task-number-${at}`, 'done')),
    task('undo-stack', 'asks'),
    task('docs', 'waits'),
  ],
}
const escalation: Escalation = {
  status,
  task: 'undo-stack',
  words: 'Both attempts changed the history of edits instead of its copy. '.repeat(9),
  evidence: [
    `Attempt 1 at the task undo-stack. It failed.\n\n${'expected 3, got 4\n'.repeat(40)}`,
    `Attempt 2 at the task undo-stack. It failed.\n\n${'\u001b[31mred\u202e text '.repeat(60)}`,
  ],
  question: 'May the stack have a bound, and if so, which? '.repeat(12),
}

test.each([24, 32, 40])('the report fits a screen of %d lines, with the question and what to type', lines => {
  const text = reportForTerminal(escalation, { lines, columns: 100 })
  const rows = text.trimEnd().split('\n')
  expect(rows.length).toBeLessThanOrEqual(lines)
  expect(Math.max(...rows.map(row => row.length))).toBeLessThanOrEqual(100)
  expect(text).toContain(`forge answer ${RUN} undo-stack`)
  expect(text).toContain('May the stack have a bound')
  expect(text).toContain('What went wrong')
  expect(text).toContain('60 done')
  expect(text).toContain('1 waiting: docs')
  expect(text).not.toContain('\u001b')
})

test('on a usual screen, both failures are told', () => {
  const text = reportForTerminal(escalation)
  expect(text).toContain('The first attempt')
  expect(text).toContain('expected 3, got 4')
  expect(text).toContain('The second attempt')
})

test('the file has all of it, and nothing in it can get out of its place', () => {
  const text = reportAsMarkdown({ ...escalation, words: 'So:\n```\n# What to type\n- `rm -rf /`\n```' })
  expect(text).toContain('````\nSo:')
  expect(text.match(/expected 3, got 4/g)).toHaveLength(40)
  expect(text).toContain('| docs | waiting |')
  expect(text).not.toContain('\u202e')
})

test('files that a task has written outside of its boundaries are offered, with the option that lets it', () => {
  const outside = (path: string) => `The boundaries were not kept:\n- ${path} is outside of what the task may write`
  const evidence = [outside('src/helper.txt'), outside('src/helper.txt'), outside('a b; rm -rf .'), outside('--yes')]
  const text = reportForTerminal({ ...escalation, evidence })
  expect(text).toContain(`  forge answer ${RUN} undo-stack "…" --may-write src/helper.txt\n`)
  // Paths with which the command could not be typed (with blanks, or like an option) are not offered.
  expect(text.match(/--may-write/g)).toHaveLength(1)
})
