/** The prompts of each kind of step. */
import { describe, expect, test } from 'bun:test'
import type { StepKind } from '../../../../forge/tasks/contract.ts'
import { ANSWERS, SIGNALS } from '../../../../forge/tasks/steps/answers.ts'
import {
  ABOUT,
  aboutWords,
  inOrder,
  NOW,
  nowWords,
  PROMPT_VERSIONS,
  runWords,
  systemWords,
  taskPrompt,
} from '../../../../forge/tasks/steps/prompts.ts'
import { toolsFor } from '../../../../forge/tasks/steps/tools.ts'
import { command, plan, review, task } from '../plan/plans.ts'

const KINDS = Object.keys(ANSWERS) as StepKind[]

/**
 * For each kind of step, the version of its prompt, and a digest of the prompt's words: other words need another
 * version.
 */
const WORDS: Record<StepKind, Record<number, string>> = {
  plan: { 4: '00103af42111' },
  outline: { 2: '3e176702c7cd' },
  implement: { 2: '3f87029050ba' },
  artifact: { 2: '33ac9be07c75' },
  review: { 3: 'a548025162ae' },
  resolve: { 3: '4526aff6e93d' },
  summarise: { 2: '8d413308aafe' },
  'check plan': { 4: '94c16ef7abb8' },
  extract: { 1: 'b8e5aa35ea4e' },
  classify: { 1: '13bb2c0bd23a' },
}

describe.each(KINDS)('to %s,', kind => {
  test('those signals are told by which it can end, and that it ends by one call', () => {
    const ends = systemWords(kind).split('# How a step ends')[1] ?? ''
    const told = [...ends.matchAll(/^- `([a-z_]+)`: /gm)].map(([, name]) => name)
    expect(told).toEqual([...SIGNALS[kind]])
    expect(told[0]).toBe('success')
    expect(NOW[kind]).toContain('`answer`')
  })

  test('the words begin as for all others, and are short', () => {
    const common = systemWords('plan').split('# Your task')[0] ?? ''
    expect(systemWords(kind)).toStartWith(common)
    expect(systemWords(kind).length).toBeLessThan(8000)
  })

  test('sub-agents are told of where they may be asked, and offered in the schema there', () => {
    expect(systemWords(kind)).not.toContain('fan_out')
    expect(JSON.stringify(toolsFor(kind, { subAgents: false }))).not.toContain('fan_out')
    if (kind !== 'implement' && kind !== 'artifact') return
    expect(systemWords(kind, { subAgents: true })).toContain('# Sub-agents')
    expect(JSON.stringify(toolsFor(kind, { subAgents: true }))).toContain('fan_out')
  })

  test('changed words have another version', () => {
    const words = [systemWords(kind, { subAgents: true }), JSON.stringify(toolsFor(kind, { subAgents: true }))]
    const digest = new Bun.CryptoHasher('sha256').update(words.join('\n')).digest('hex').slice(0, 12)
    expect({ [PROMPT_VERSIONS[kind]]: digest }).toEqual(WORDS[kind])
  })
})

test('only prompts for edits say how edits are made', () => {
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
  const [, second = task('b')] = it.tasks
  expect(taskPrompt(second, { kind: 'implement', plan: it, always: ['make check'] })).toBe(`# The task b: Make b
Write it as the others are written.

Files that are there, or changed, in the end:
- \`src/b.ts\`

It is done when:
- It is there.

It makes true:
- A2: It reads well. (reviewed: Does it?)

Write only files that these fit:
- \`src/b.ts\`

Never touch:
- \`src/deep/**\`

Besides, these will be run to check it:
- the ready-made check tests
- \`make check\`

What reviewers will be asked:
- Is it short?

Done before, and in the files already:
- a: Make a`)
})

test('a reviewer has names for the questions, and no order to write', () => {
  const it = plan([task('b', { claims: ['A2'], validation: { reviews: ['Is it short?'] } as never })], [review('A2')])
  const words = taskPrompt(it.tasks[0] ?? task('b'), { kind: 'review', plan: it, always: ['make check'] })
  expect(words).toEndWith(`# The questions that you answer
- Q1: Is it short?
- A2: Does it? (It claims: It reads well.)`)
  expect(words).toContain('It may write only files that these fit:')
  expect(words).not.toContain('make check')
})

test('of the whole work a task is told one line for each assertion, and that its summary orders nothing', () => {
  const it = plan([task('a', { claims: ['A1'] })], [command('A1', 'bun test')])
  const words = runWords(it)
  expect(words).toContain('- A1 (a): It works.')
  expect(words).not.toContain('bun test')
  expect(words).toContain('it orders nothing.\nCounting first, then showing it.')
})

test('a planner is told how often it may still look at something', () => {
  const looked = { kind: 'looked', text: 'It is there.' }
  expect(nowWords('plan', [])).toBe(
    'Look first, by the tools that read, or, if what is here is enough: answer with the plan, by `answer`.',
  )
  expect(nowWords('plan', [looked])).toStartWith('Look once more, ')
  expect(nowWords('check plan', [looked, looked])).toEndWith(
    'You have looked as often as you may: plan with what is here.',
  )
})

test('orders stand last, and what is not known stands in fences', () => {
  const about = ['step', 'stranger', 'report', 'wish'].map(kind => ({ kind, text: 'x' }))
  expect(inOrder(about).map(({ kind }) => kind)).toEqual(['stranger', 'report', 'wish', 'step'])
  expect(aboutWords({ kind: 'stranger', text: 'Do it.' })).toBe('# stranger\n```\nDo it.\n```')
  for (const kind of Object.keys(ABOUT)) expect(aboutWords({ kind, text: 'x' })).toStartWith('# ')
})
