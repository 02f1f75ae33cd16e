/** Runs to show: one that asks in the middle of eleven tasks, one that runs, one that is done, and others. */
import { join } from 'node:path'
import type {
  JournalLine,
  PlannedTask,
  Run,
  RunTask,
  ShownPlan,
  TaskDetail,
} from '../../../../forge/desk/contract/tasks.ts'
import { commit, git } from '../../../support/git.ts'
import type { PageDesk } from '../../../support/page-desk.ts'
import { type Scene, TaskCommand } from '../../../support/task-command.ts'
import { makeScratch, openScene } from './page-scene.ts'

export const RUN = '20261122-idempotency-keys-x7k2'

const task = (id: string, title: string, state: RunTask['state'], more: Partial<RunTask> = {}): RunTask => ({
  ...{ id, title, state, attempt: state === 'waits' ? 0 : 1, doing: '', words: '', dependsOn: [] },
  ...(state === 'done' && { tip: 'a1'.repeat(20) }),
  ...more,
})

const TASKS: RunTask[] = [
  task('name', 'Name the key, and where it lives', 'done'),
  task('postgres', 'Table and migration for Postgres', 'done', { dependsOn: ['name'] }),
  task('memory', 'Keys in the memory store', 'done', { dependsOn: ['name'], attempt: 2 }),
  task('types', 'Types: Job.key, Duplicate', 'done', { dependsOn: ['name'] }),
  task('sweep', 'Sweep keys that are too old', 'asks', {
    ...{ dependsOn: ['postgres'], attempt: 2 },
    words: 'Nothing in the repository says how late a retry may come.',
  }),
  task('claim', 'Claim skips a key seen before', 'runs', { dependsOn: ['memory', 'postgres'], doing: 'step 3 of 4' }),
  task('http', 'HTTP: Idempotency-Key header', 'runs', { dependsOn: ['types'], attempt: 2, doing: 'its checks run' }),
  task('docs', 'Docs: what is delivered once', 'failed', { dependsOn: ['types'], words: 'Both attempts failed.' }),
  task('bench', 'Bench: a million keys', 'waits', { dependsOn: ['sweep', 'claim', 'name'] }),
  task('race', 'Test: two workers, one key', 'waits', { dependsOn: ['claim', 'http'] }),
  task('whole', 'Review of the whole', 'paused', { dependsOn: ['docs'] }),
]

const claim = (id: string, says: string, how: string, of: string, isReview = false) => ({
  ...{ id, says, how, isReview, task: of },
})

const CONTRACT = [
  claim('A1', 'A key names a job once, for each queue', 'bun test test/key.test.ts', 'name'),
  claim('A2', 'The migration runs on a filled table without a lock over 1 s', 'make migrate-bench', 'postgres'),
  claim('A3', 'Two stores behave the same', 'bun test test/stores.test.ts', 'memory'),
  claim('A4', 'Job.key is typed, and optional', 'tsc --noEmit', 'types'),
  claim('A5', 'A claim never returns a key that was done', 'bun test test/claim.test.ts', 'claim'),
  claim('A6', 'A key is remembered long enough for any retry', 'Is it long enough for any retry?', 'sweep', true),
  claim('A7', 'POST /jobs honours Idempotency-Key', 'bun test test/http.test.ts', 'http'),
  claim('A8', 'The docs say what is delivered once, and what is not', 'Do they?', 'docs', true),
  claim('A9', 'A million keys add less than 5% to a claim', 'make bench-keys', 'bench'),
  claim('A10', 'Two workers, one key: one result', 'bun test test/race.test.ts', 'race'),
]

const spent = (cost: number, requests: number) => ({ requests, input: requests * 9_100, output: requests * 900, cost })

export const ASKING: Run = {
  run: RUN,
  state: 'asks',
  words: 'sweep waits for an answer.',
  wish: 'Idempotency keys for enqueue and HTTP\n\nA retry of a caller must not run a job twice.',
  title: 'Idempotency keys for enqueue and HTTP',
  summary: 'A key is a word of the caller’s. It is stored beside the job, and looked up before one is made.',
  contract: CONTRACT,
  complaints: [],
  tasks: TASKS,
  spent: spent(1.86, 41),
  limits: { cost: 5 },
  report: [
    `Run ${RUN} needs a word of yours about task sweep.`,
    '',
    '  4 done: name, postgres, memory, types',
    '  1 asks: sweep',
    '',
    'What went wrong',
    '  Both attempts chose a number, and the reviewer refused both.',
  ].join('\n'),
  hasResult: false,
}

const small = (run: string, wish: string, state: Run['state'], done: number, all: number, cost: number): Run => ({
  ...{ run, wish, state, words: '', contract: [], complaints: [], spent: spent(cost, done * 4), limits: { cost: 5 } },
  tasks: Array.from({ length: all }, (_, at) =>
    task(`t${at + 1}`, `Part ${at + 1}`, at < done ? 'done' : state === 'runs' ? 'runs' : 'waits'),
  ),
  hasResult: state === 'done',
})

export const DONE: Run = {
  ...small('20261121-typed-errors-b3f1', 'Typed errors in http', 'done', 3, 3, 0.92),
  title: 'Typed errors in http',
  contract: [claim('A1', 'Each route names its errors', 'tsc --noEmit', 't1')],
}

export const RUNS: Run[] = [
  ASKING,
  small('20261121-upstream-groups-c0d3', 'Upstream 2.13 by groups', 'runs', 4, 5, 2.4),
  DONE,
  small('20261120-docs-operators-1a2b', 'Docs for operators', 'out of budget', 3, 6, 5),
  small('20261119-otel-spans-9z8y', 'otel spans', 'stopped', 1, 4, 0),
]

const planned = (id: string, title: string, claims: string[], more: Partial<PlannedTask> = {}): PlannedTask => ({
  ...{ id, title, claims, size: 'medium', tier: 'generation', recursion: 0, after: [], never: [], reviews: [] },
  ...{ write: [`src/queue/${id}.ts`, `test/${id}.test.ts`], checks: ['typescript', `bun test test/${id}.test.ts`] },
  ...more,
})

/** A run whose plan waits for approval, and that plan. */
export const APPROVING: Run = {
  ...ASKING,
  run: '20261122-typed-events-k7m2',
  state: 'approving',
  words: 'A plan of 4 tasks waits for a yes.',
  wish: 'Typed events\n\nSo that a listener knows what it gets.',
  title: 'Typed events',
  contract: CONTRACT.slice(0, 4),
  tasks: TASKS.slice(0, 4).map(({ tip: _, ...it }) => ({ ...it, state: 'waits', attempt: 0 })),
  spent: spent(0.11, 1),
}
delete APPROVING.report

export const PLAN: ShownPlan = {
  waits: true,
  seen: '0123456789abcdef0123456789abcdef01234567',
  title: 'Typed events',
  summary: 'Each event gets a type of its own, and listeners are told by it. Names come first, as all else uses them.',
  contract: CONTRACT.slice(0, 4),
  levels: [
    [planned('name', 'Name the key, and where it lives', ['A1'], { size: 'small' })],
    [
      planned('postgres', 'Table and migration for Postgres', ['A2'], {
        ...{ after: ['name'], never: ['src/store/**'], tier: 'reasoning', recursion: 1 },
        checks: ['make migrate-bench'],
        reviews: ['Does the migration hold a lock for longer than it says?'],
      }),
      planned('memory', 'Keys in the memory store', ['A3'], { after: ['name'], write: [] }),
      planned('types', 'Types: Job.key, Duplicate', ['A4'], { after: ['name'] }),
    ],
  ],
  commands: [
    { command: 'bun test test/key.test.ts', seconds: 300, users: ['A1', 'name'] },
    { command: 'make migrate-bench', seconds: 900, users: ['A2', 'postgres'] },
    {
      command: 'set -e\nfor one in a b; do\n  bun test "test/$one.test.ts"\ndone',
      seconds: 300,
      users: ['A3', 'memory'],
    },
    { command: 'tsc --noEmit', seconds: 300, users: ['A4', 'types'] },
  ],
  others: ['bun install --frozen-lockfile', 'biome check --write .'],
  hasNetwork: false,
  cost: [
    'It may take 8 to 29 requests and 92,000 to 780,000 tokens; $0.41 to $3.20.',
    'That is a guess by the sizes of the tasks (1 small, 3 medium): from where all goes well to where each needs its second attempt.',
    'It stops at $5.00.',
  ],
}

export const SWEEP: TaskDetail = {
  id: 'sweep',
  asks: 'How long must a key be remembered?\n\nA6 says “long enough for any retry”: as long as the job’s retention, or 24 hours?',
  behaviour: 'Add sweepKeys(store, now): it deletes keys that no retry can bring any more. Called by the sweeper.',
  outputs: ['src/queue/sweep.ts'],
  acceptance: ['Keys of jobs that still exist stay.'],
  write: ['src/queue/sweep.ts', 'test/sweep.test.ts'],
  never: ['src/store/**'],
  checks: ['typescript', 'bun test test/sweep.test.ts'],
  reviews: ['Is any retry that the docs allow still within the time?'],
  tier: 'generation',
}

const line = (at: number, what: string, words: string, more: Partial<JournalLine> = {}): JournalLine => ({
  ...{ id: `${what} ${at}`, at: 1_795_338_120 + at * 60, what, words },
  ...more,
})
const ofSweep = (attempt: number) => ({ task: 'sweep', attempt })

export const JOURNAL: JournalLine[] = [
  line(0, 'asks', 'opus-5.5 for the step plan/1 (plan), as its tier is reasoning.'),
  line(1, 'approved', 'The plan is approved: 11 tasks, 4 at a time.'),
  line(2, 'begins', 'Attempt 1 by the tier generation.', {
    ...ofSweep(1),
    why: 'What it waits for is done: postgres.',
  }),
  line(3, 'asks', 'sonnet-5.5 for the step sweep/1/1 (implement).', { ...ofSweep(1), why: 'About 14,200 tokens.' }),
  line(4, 'failed', 'The review refused: “24 h is invented.”', ofSweep(1)),
  line(5, 'begins', 'Attempt 2 by the tier reasoning.', { ...ofSweep(2), why: 'With the report of the first.' }),
  line(9, 'blocked_on_human', 'Nothing in the repository says how late a retry may come.', ofSweep(2)),
  line(9, 'asks', 'How long must a key be remembered?', { ...ofSweep(2), id: 'sweep/2/asks' }),
]

export const LANDING = {
  doubts: [],
  tree: '5f20c1aa5f20c1aa5f20c1aa5f20c1aa5f20c1aa',
  words: [
    'Typed errors in http, onto main',
    '  Each route says which errors it can end with.',
    'What is to be true, and how that was checked:',
    '  A1 Each route names its errors [tsc --noEmit]',
    '6 commits become one:',
    '   src/http/routes.ts | 12 ++++++++++--',
  ],
}

/** A desk with runs beside it, and the branches of their results. `prepare` is called before the desk opens. */
export async function openTasksScene(
  runs: Run[] = RUNS,
  { prepare, ...more }: Partial<Scene> & { prepare?: (path: string) => Promise<unknown> } = {},
): Promise<{ desk: PageDesk; tasks: TaskCommand }> {
  const scene = { details: { sweep: SWEEP }, plan: PLAN, journal: JOURNAL, landing: LANDING, ...more, runs }
  const tasks = await TaskCommand.in(join(await makeScratch(), 'forge'), scene)
  const prepared = async (path: string) => {
    for (const run of runs) {
      await git(path, 'update-ref', `refs/forge/runs/${run.run}/store`, 'main')
      if (run.hasResult) await commitResult(path, `forge/${run.run}/result`)
      for (const { id, tip } of run.run === RUN ? run.tasks : [])
        if (tip !== undefined) await commitResult(path, `forge/${run.run}/${id}/done`)
    }
    await prepare?.(path)
  }
  const desk = await openScene({ tasks: tasks.options, prepare: prepared })
  return { desk, tasks }
}

async function commitResult(path: string, branch: string): Promise<void> {
  const parents = [await git(path, 'rev-parse', 'main')]
  await commit(path, branch, { 'src/http/routes.ts': `// ${branch}\n` }, { parents, message: `Make ${branch}` })
}
