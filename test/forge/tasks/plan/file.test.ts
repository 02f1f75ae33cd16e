/** Plans as files: written, read, edited, and edited wrongly. */
import { describe, expect, test } from 'bun:test'
import { complaintsOf, isPlan, parsePlanFile, writePlan } from '../../../../forge/tasks/plan/file.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { randomFrom } from '../../../support/random.ts'
import { checks, command, plan, review, task } from './plans.ts'

const PLAN = plan(
  [
    task('parser', { ...checks('bun test\nbun test test/parse.test.ts'), claims: ['A1'], size: 'small' }),
    task('b', {
      objective: { behaviour: 'First this:\n\n  - indented\n\tand a tab # no comment\nthen: that' },
      depends_on: ['parser'],
      claims: ['A2'],
      recursion: 2,
      boundaries: { never: ['src/deep/**'] },
      context: { files: ['src/parse.ts'] },
      validation: { checks: ['tests'] } as never,
    }),
  ],
  [command('A1', 'grep -q \'^no: yes\' "a" && true'), review('A2')],
)

const refusal = (text: string): string => {
  try {
    parsePlanFile(text, 'plan.yaml')
    return 'it was taken'
  } catch (error) {
    return (error as Error).message
  }
}
/** The file with a part replaced. */
const edited = (from: string, to: string): string => {
  const text = writePlan(PLAN)
  if (!text.includes(from)) throw new Error(`${from} is not in it`)
  return text.replace(from, to)
}

test('what is written is read again as it was', () => {
  expect(parsePlanFile(writePlan(PLAN), 'plan.yaml')).toEqual(PLAN)
})

test('text of several lines stands there as it is, and what goes without saying is left out', () => {
  const text = writePlan(PLAN)
  expect(text).toContain('behaviour: |-\n        First this:\n\n          - indented\n')
  expect(text).not.toContain('seconds')
  expect(text).not.toContain('tier')
  expect(text).toStartWith('# A plan of the forge')
})

test('whatever stands in a text, it comes back', () => {
  const random = randomFrom(3)
  const signs = [
    ...'ab: #-"\'|>&*!%@`{}[],?~\\\t\n\u00e9\u{1f600}\u2028',
    'no',
    'null',
    '1e3',
    '0x1',
    '---',
    '\n\n',
    '  ',
    '${',
    '\u0007',
  ]
  for (let round = 0; round < 100; round++) {
    const text =
      Array.from({ length: 1 + random.below(12) }, () => random.pick(signs))
        .join('')
        .trim() || 'x'
    const it: Plan = { ...PLAN, summary: text, contract: [command('A1', text), review('A2')] }
    expect(parsePlanFile(writePlan(it), 'plan.yaml')).toEqual(it)
  }
})

test('a plan is known by its content, whatever its file is called, and a wish is none', () => {
  expect(isPlan(writePlan(PLAN))).toBe(true)
  expect(isPlan(JSON.stringify(PLAN))).toBe(true)
  expect(isPlan(writePlan(PLAN).replace(/^#.*\n/gm, ''))).toBe(true)
  // A plan that a user has broken still counts as a plan, to be corrected: as a wish, it would be paid for.
  expect(
    isPlan(
      writePlan(PLAN)
        .replace(/^#.*\n/gm, '')
        .replace('title: ', 'title: "'),
    ),
  ).toBe(true)
  expect(isPlan('# Notes\n\nAdd tags. The contract: all tests pass. The tasks: as you like.\n')).toBe(false)
  expect(isPlan('contract and tasks')).toBe(false)
  expect(isPlan('title: x\ntasks:\n  - a\n')).toBe(false)
})

test('comments, another order and JSON are fine', () => {
  const text = edited('title: Count lines', '# mine\ntitle: Count lines # of files')
  expect(parsePlanFile(text, 'plan.yaml')).toEqual(PLAN)
  expect(parsePlanFile(JSON.stringify(PLAN), 'plan.json')).toEqual(PLAN)
})

describe('what was edited wrongly is said with its line:', () => {
  test.each([
    [
      'no YAML',
      'title: Count lines',
      'title: "Count lines',
      /^plan\.yaml, line \d+: this is no YAML \(.*\): correct it there\.$/,
    ],
    [
      'a field that does not exist',
      'depends_on:',
      'depend_on:',
      /^plan\.yaml, line \d+: tasks\.2\.depend_on is no field of a plan: remove it, or correct its name \(id, title, .*depends_on.*\)\.$/,
    ],
    [
      'a wrong id',
      'id: parser',
      'id: The Parser',
      /^plan\.yaml, line 17: tasks\.1\.id must be lower case letters, digits and dashes\.$/,
    ],
    [
      'a list that is none',
      'outputs:\n        - src/parser.ts',
      'outputs: src/parser.ts',
      /^plan\.yaml, line 21: tasks\.1\.objective\.outputs must be a list, and is "src\/parser\.ts"\.$/,
    ],
    [
      'a title that is empty',
      'title: Count lines',
      "title: ''",
      /^plan\.yaml, line 3: title is empty: say something there\.$/,
    ],
    [
      'a field that is missing',
      'summary: Counting first, then showing it.\n',
      '',
      /^plan\.yaml, line 1: summary is missing: add it\.$/,
    ],
    [
      'the same field twice',
      'title: Count lines',
      'title: a\ntitle: b',
      /line 4: this is no YAML \(Map keys must be unique\)/,
    ],
    [
      'a word for a size',
      'size: small',
      'size: tiny',
      /tasks\.1\.size must be "small" or "medium" or "large", and is "tiny"\.$/,
    ],
    [
      'a level that is no number',
      'recursion: 2',
      'recursion: 9',
      /tasks\.2\.recursion is 9, and must be a whole number <=5\.$/,
    ],
  ])('%s', (_, from, to, words) => {
    expect(refusal(edited(from, to))).toMatch(words)
  })

  test('each of several things on a line of its own', () => {
    const text = edited('id: parser', 'id: The Parser').replace('size: small', 'size: tiny')
    expect(refusal(text).split('\n')).toHaveLength(2)
  })

  test('a file that would become endless', () => {
    const bomb = [
      'a: &a [x,x]',
      ...[...'bcdefghijklmnopqrst'].map(
        (it, at) => `${it}: &${it} [*${'abcdefghijklmnopqrst'[at]},*${'abcdefghijklmnopqrst'[at]}]`,
      ),
    ].join('\n')
    expect(refusal(bomb)).toContain('repeats parts of itself')
  })

  test('an empty file', () => {
    expect(refusal('')).toBe('plan.yaml, line 1: the plan must be a group of fields, and is null.')
  })
})

test("a model's plan is refused in the same words, without lines", () => {
  expect(complaintsOf({ ...PLAN, title: 3 })).toEqual(['title must be text, and is 3.'])
  expect(complaintsOf(PLAN)).toEqual([])
})
