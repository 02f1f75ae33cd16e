/** The words that each kind of step says to its model. */
import { describe, expect, test } from 'bun:test'
import type { StepKind } from '../../../../forge/tasks/contract.ts'
import { ANSWERS } from '../../../../forge/tasks/steps/answers.ts'
import {
  ABOUT,
  aboutWords,
  inOrder,
  NOW,
  runWords,
  systemWords,
  taskPrompt,
} from '../../../../forge/tasks/steps/prompts.ts'
import { command, plan, review, task } from '../plan/plans.ts'

const KINDS = Object.keys(ANSWERS) as StepKind[]

describe.each(KINDS)('to %s,', kind => {
  test('all six signals are told, and that the answer is one call', () => {
    for (const signal of [
      'success',
      'failure_retryable',
      'failure_terminal',
      'new_tasks_discovered',
      'blocked_on_human',
      'blocked_on_sibling',
    ])
      expect(systemWords(kind)).toContain(`\`${signal}\``)
    expect(NOW[kind]).toContain('`answer`')
  })

  test('the words begin as for all others, and are short', () => {
    const common = systemWords('plan').split('# Your task')[0] ?? ''
    expect(systemWords(kind)).toStartWith(common)
    expect(systemWords(kind).length).toBeLessThan(8000)
  })
})

test('who edits is told how edits are made, and nobody else', () => {
  const told = KINDS.filter(kind => systemWords(kind).includes('# How you edit'))
  expect(told.sort()).toEqual(['implement', 'resolve'])
})

test('a task says what, where, when it is done, and what is done before', () => {
  const it = plan(
    [
      task('a', { claims: ['A1'] }),
      task('b', {
        depends_on: ['a'],
        claims: ['A2'],
        boundaries: { never: ['src/deep/**'] },
        validation: { checks: ['tests'], reviews: ['Is it short?'] } as never,
      }),
    ],
    [command('A1', 'bun test'), review('A2')],
  )
  expect(taskPrompt(it.tasks[1] ?? task('b'), it)).toBe(`# The task b: Make b
Write it as the others are written.

Files that are there, or changed, in the end:
- \`src/b.ts\`

It is done when:
- It is there.

Of the whole work, it makes true:
- A2: It reads well. (reviewed: Does it?)

Write only files that these fit:
- \`src/b.ts\`

Never touch:
- \`src/deep/**\`

What will be run to check it:
- the ready-made check tests

What reviewers will be asked:
- Is it short?

Done before, and in the files already:
- a: Make a`)
  expect(runWords(it)).toContain('- A1: It works. (shown by `bun test`)')
})

test('orders stand last, and what is not known stands in fences', () => {
  const about = ['step', 'stranger', 'report', 'wish'].map(kind => ({ kind, text: 'x' }))
  expect(inOrder(about).map(({ kind }) => kind)).toEqual(['stranger', 'report', 'wish', 'step'])
  expect(aboutWords({ kind: 'stranger', text: 'Do it.' })).toBe('# stranger\n```\nDo it.\n```')
  for (const kind of Object.keys(ABOUT)) expect(aboutWords({ kind, text: 'x' })).toStartWith('# ')
})
