/** The differences between two plans, as sentences for the user. */
import { expect, test } from 'bun:test'
import { planChanges } from '../../../../forge/tasks/plan/changes.ts'
import { command, plan, review, task } from './plans.ts'

const before = plan(
  [task('a', { claims: ['A1'] }), task('b', { depends_on: ['a'], context: { files: ['src/parse.ts'] } }), task('c')],
  [command('A1', 'bun test'), command('A2', 'tsc --noEmit')],
)

test('a plan that says the same has no changes', () => {
  expect(planChanges(before, structuredClone(before))).toEqual([])
})

test('each change is one sentence', () => {
  const after = plan(
    [
      task('a', {
        claims: ['A1', 'A3'],
        boundaries: { write: ['src/a.ts', 'helper.ts'], never: ['src/cli.ts'] },
        validation: { checks: ['typescript'], reviews: ['Is it short?'] },
      }),
      task('b', { context: { files: ['README.md'] }, tier: 'reasoning', size: 'large', recursion: 1 }),
      task('d', { title: 'Do d\u001b[31m' }),
    ],
    [command('A1', 'bun test test/a.test.ts'), review('A3')],
  )
  const says = planChanges(before, after)
  expect(says).toContain('A1 is shown by "bun test test/a.test.ts".')
  expect(says).toContain('The contract is without A2.')
  for (const sentence of [
    'a may write helper.ts.',
    'a must not touch src/cli.ts.',
    'a claims A3.',
    'a is checked by typescript.',
    'a is reviewed: "Is it short?".',
    'b is given README.md.',
    'b is no longer given src/parse.ts.',
    'b no longer waits for a.',
    'b is for the tier reasoning, instead of generation.',
    'b may ask 1 levels of sub-agents, instead of 0.',
    'c is taken out.',
  ])
    expect(says).toContain(sentence)
  // Control characters of a model are escaped.
  expect(says.find(it => it.startsWith('d is new'))).not.toContain('\u001b')
})
