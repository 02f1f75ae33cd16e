/** What the linter refuses and what it lets through. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Price } from '../../../../forge/ai/settings.ts'
import { type Linting, lintPlan } from '../../../../forge/tasks/plan/lint.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { commit } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'
import { BAD } from './bad-plans.ts'
import { checks, command, FILES, PROGRAMS, plan, review, task } from './plans.ts'

let place: Place
let tree = ''
beforeAll(async () => {
  place = await makePlace()
  tree = await commit(place.path, 'main', FILES)
})
afterAll(() => place[Symbol.asyncDispose]())

const PRICE: Price = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6 }

const lint = (it: Plan, more: Partial<Linting> = {}) =>
  lintPlan(it, {
    objects: place.objects,
    tree,
    limits: { depth: 3 },
    canRun: { programs: PROGRAMS },
    priceOf: () => PRICE,
    ...more,
  })

describe('the linter refuses', () => {
  test.each(BAD.map(bad => [bad.what, bad] as const))('%s', async (_, bad) => {
    const { limits, canRun, before, standing } = bad
    const { complaints, tasks } = await lint(bad.plan, {
      limits: { depth: 3, ...limits },
      canRun: { programs: PROGRAMS, ...canRun },
      ...(before && { before }),
      ...(standing && { standing }),
    })
    expect(complaints).toEqual(bad.says)
    expect(tasks).toEqual([])
  })

  test('a lesson that does not exist, where it is known which do', async () => {
    const named = plan([task('a', { context: { playbooks: ['flaky-clock', 'no-such'] } })])
    expect((await lint(named, { lessons: new Set(['flaky-clock']) })).complaints).toEqual([
      'Task "a", context.playbooks: there is no lesson "no-such": name one that is told here (forge playbooks), or leave it out.',
    ])
    expect((await lint(named)).complaints).toEqual([])
  })

  test('fifty different things and more, each by one sentence', () => {
    expect(BAD.length).toBeGreaterThanOrEqual(50)
    expect(new Set(BAD.flatMap(({ says }) => says)).size).toBeGreaterThanOrEqual(50)
    for (const { says } of BAD) for (const sentence of says) expect(sentence).toMatch(/^[A-Z][^\n]*\.$/)
  })
})

const many = (count: number, make: (at: number) => Parameters<typeof task>[1] = () => ({})) =>
  Array.from({ length: count }, (_, at) => task(`t${at}`, { ...make(at), ...(at === 0 && { claims: ['A1'] }) }))

const GOOD: [what: string, plan: Plan, more?: Partial<Linting>][] = [
  ['one task', plan([task('a')])],
  ['tasks side by side', plan([task('a'), task('b'), task('c')])],
  [
    'two that write one file, one after the other',
    plan([task('a'), task('b', { depends_on: ['a'], boundaries: { write: ['src/**'] } })]),
  ],
  [
    'two that write one file, with another between them',
    plan([
      task('a', { boundaries: { write: ['src/a.ts', 'src/x.ts'] } }),
      task('b', { depends_on: ['a'] }),
      task('c', { depends_on: ['b'], boundaries: { write: ['src/c.ts', 'src/x.ts'] } }),
    ]),
  ],
  [
    'a file to read that an earlier task makes',
    plan([
      task('a'),
      task('b', { depends_on: ['a'] }),
      task('c', { depends_on: ['b'], context: { files: ['src/a.ts', 'src/parse.ts'], documents: ['README.md'] } }),
    ]),
  ],
  [
    'a test that the task itself writes',
    plan([
      task('a', {
        objective: { outputs: ['src/a.ts', 'test/a.test.ts'] },
        boundaries: { write: ['src/a.ts', 'test/a.test.ts'] },
        ...checks('bun test test/a.test.ts'),
      }),
    ]),
  ],
  ['unknown boundaries', plan([task('a', { boundaries: { write: [] } }), task('b')])],
  [
    'patterns that have no file in common',
    plan([
      task('a', { boundaries: { write: ['src/[a-m]*.ts'] } }),
      task('b', { objective: { outputs: ['src/z.ts'] }, boundaries: { write: ['src/[n-z]*.ts'] } }),
      task('c', { boundaries: { write: ['src/c.ts', 'src/deep/**'] }, objective: { outputs: [] }, depends_on: ['a'] }),
      task('d', { boundaries: { write: ['src/deep.js', 'lib/**'] }, objective: { outputs: [] } }),
    ]),
  ],
  [
    'patterns that "never" keeps apart',
    plan([
      task('a', { boundaries: { write: ['src/**'], never: ['src/deep/**', 'src/b.ts'] } }),
      task('b', { boundaries: { write: ['src/b.ts', 'src/deep/**'] } }),
    ]),
  ],
  [
    'CI and lock files that the task names',
    plan([
      task('a', {
        objective: { outputs: ['.github/workflows/ci.yml', 'bun.lock'] },
        boundaries: { write: ['.github/workflows/**', 'bun.lock'] },
      }),
    ]),
  ],
  [
    'commands of many kinds',
    plan([
      task(
        'a',
        checks(
          'bun test && tsc --noEmit',
          'CI=1 timeout 60 bun test test/parse.test.ts',
          'set -o pipefail; bun test | tail -5',
          'grep -q "a b" README.md',
          'test "$(cat README.md | head -1)" = \'# Tides\'',
          '! grep -rn TODO src',
          'cd packages/a && bun test x.test.ts',
          './run.sh',
          'npm test',
          'for file in src/*.ts; do tsc --noEmit "$file" || exit 1; done',
          'bun -e "process.exit(1)"',
          'git diff --exit-code > /dev/null 2>&1',
          'bun test || exit 3',
        ),
      ),
    ]),
  ],
  [
    'a review where no command can tell',
    plan([task('a', { claims: ['A1', 'A2'] })], [command('A1', 'bun test'), review('A2')]),
  ],
  ['two hundred tasks in ten rows', plan(many(200, at => (at >= 20 ? { depends_on: [`t${at - 20}`] } : {})))],
  [
    'a plan whose done tasks are as they were',
    plan([task('a', { claims: ['A1'] }), task('c')]),
    { before: plan([task('a', { claims: ['A1'] }), task('b')]), standing: [{ id: 'a', is: 'done' }] },
  ],
  [
    'what a done task once read and made',
    plan([
      task('a', { claims: ['A1'], context: { files: ['gone.ts'] } }),
      task('b', { depends_on: ['a'], context: { files: ['src/a.ts'] } }),
    ]),
    { standing: [{ id: 'a', is: 'done' }] },
  ],
]

describe('the linter lets through', () => {
  test.each(GOOD.map(([what, it, more = {}]) => [what, it, more] as const))('%s', async (_, it, more) => {
    const { complaints, tasks } = await lint(it, more)
    expect(complaints).toEqual([])
    expect(tasks.map(({ id }) => id)).toEqual(it.tasks.map(({ id }) => id))
  })
})

test('the flow gets the shape of each task', async () => {
  const { tasks } = await lint(
    plan([
      task('a', {
        size: 'small',
        recursion: 2,
        tier: 'reasoning',
        objective: { outputs: ['docs/a.md'] },
        boundaries: { write: [] },
        validation: { reviews: [] },
      }),
      task('b', {
        depends_on: ['a', 'a'],
        objective: { outputs: ['src/b.ts', 'src/c.ts'] },
        boundaries: { write: ['src/*.ts'] },
        validation: { reviews: ['Is it short?'] },
      }),
    ]),
  )
  expect(tasks).toEqual([
    {
      id: 'a',
      title: 'Make a',
      dependsOn: [],
      tier: 'reasoning',
      recursion: 2,
      isSmall: true,
      reviews: 0,
      isAlone: true,
    },
    {
      id: 'b',
      title: 'Make b',
      dependsOn: ['a'],
      tier: 'generation',
      recursion: 0,
      isSmall: false,
      reviews: 2,
      isAlone: false,
    },
  ])
})

test('a file with its test is done in one step, without an outline; two files are outlined first', async () => {
  const writes = (...files: string[]) => ({ objective: { outputs: files }, boundaries: { write: files } })
  const { tasks } = await lint(
    plan([
      task('a', writes('src/a.ts', 'test/a.test.ts')),
      task('b', writes('src/b.ts', 'src/c.ts')),
      task('c', { ...writes('src/d.ts'), size: 'large' }),
    ]),
  )
  expect(tasks.map(({ isSmall }) => isSmall)).toEqual([true, false, false])
})

test('a thousand tasks are checked in less than a second, also where all of them are wrong', async () => {
  const good = plan(
    many(1000, at => ({
      depends_on: at >= 10 ? [`t${at - 10}`] : [],
      boundaries: { write: [`src/t${at}.ts`, `src/area${at}/**`, `test/t${at}_*.ts`] },
    })),
  )
  const bad = plan(
    many(1000, at => ({
      boundaries: { write: [`src/t${at}.ts`, `s*/t${at}/**/x*.ts`, '**/x.ts'] },
      context: { files: [`no${at}.ts`] },
    })),
  )
  // The processor time of this process, since other tests run at the same time.
  const seconds = async (it: Plan): Promise<[seconds: number, complaints: number]> => {
    const from = process.cpuUsage()
    const { complaints } = await lint(it)
    const { user, system } = process.cpuUsage(from)
    return [(user + system) / 1e6, complaints.length]
  }
  const [first, none] = await seconds(good)
  const [second, some] = await seconds(bad)
  expect([none, some]).toEqual([0, 61])
  expect(first).toBeLessThan(1)
  expect(second).toBeLessThan(1)
}, 30_000)

test('a tier whose models are of one provider reviews with one of them, and says so; another one with two', async () => {
  const reviews = { validation: { checks: [], reviews: ['Is it right?'] } }
  const text = { objective: { outputs: ['c.md'] }, boundaries: { write: ['c.md'] }, validation: { reviews: [] } }
  const it = plan([
    task('a', { claims: ['A1'], ...reviews }),
    task('b', { tier: 'reasoning', ...reviews }),
    task('c', text),
  ])
  const { tasks, notes } = await lint(it, { reviewersOf: tier => (tier === 'reasoning' ? 2 : 1) })
  expect(tasks.map(({ id, reviews }) => [id, reviews])).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 0],
  ])
  expect(notes).toEqual([
    'Results of the tier generation are reviewed by one model instead of two, as all its models are of one provider: ' +
      'name one of another provider in FORGE_TIER_GENERATION for a second opinion.',
  ])
})

test('a task that may change a check which is there is told, and one that writes its own is not', async () => {
  const head = await commit(place.path, 'checked', { ...FILES, 'check.sh': 'exit 1\n' })
  const it = plan(
    [
      task('a', {
        ...checks('sh check.sh && sh new.sh'),
        boundaries: { write: ['src/a.ts', '*.sh'] },
        objective: { outputs: ['new.sh'] },
      }),
    ],
    [command('A1', 'bun test test/parse.test.ts')],
  )
  const { complaints, notes } = await lint(it, { tree: head })
  expect(complaints).toEqual([])
  expect(notes).toEqual([
    'Task "a" may change check.sh, which the check "sh check.sh && sh new.sh" runs: look at it when you land.',
  ])
})
