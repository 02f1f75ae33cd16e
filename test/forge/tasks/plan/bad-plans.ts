/** Plans that can't be done as they are, each with the linter's complaints, by which a model can correct them. */
import type { Limits, Standing } from '../../../../forge/tasks/contract.ts'
import type { CanRun } from '../../../../forge/tasks/plan/lint.ts'
import type { Plan } from '../../../../forge/tasks/plan/schema.ts'
import { checks, command, plan, review, task } from './plans.ts'

export type Bad = {
  what: string
  plan: Plan
  /** All complaints, in order. */
  says: string[]
  limits?: Partial<Limits>
  canRun?: CanRun
  before?: Plan
  standing?: Standing[]
}

const writes = (...write: string[]) => ({ boundaries: { write }, objective: { outputs: [] } })
const approved = plan([task('a', { claims: ['A1'] }), task('b')])

export const BAD: Bad[] = [
  // --- Names and order
  {
    what: 'two tasks of one id',
    plan: plan([task('a'), task('a', writes('src/other.ts'))]),
    says: ['Two tasks have the id "a": give each an id of its own.'],
  },
  {
    what: 'two assertions of one id',
    plan: plan([task('a', { claims: ['A1'] })], [command('A1', 'bun test'), command('A1', 'tsc --noEmit')]),
    says: ['Two assertions of the contract have the id "A1": number them on.'],
  },
  {
    what: 'a task that waits for one which does not exist',
    plan: plan([task('parser'), task('b', { depends_on: ['parsr'] })]),
    says: [
      'Task "b", depends_on: there is no task "parsr" (did you mean "parser"?); name one of the plan, or leave it away.',
    ],
  },
  {
    what: 'a task that waits for itself',
    plan: plan([task('a', { depends_on: ['a'] })]),
    says: ['Task "a", depends_on: it waits for itself; leave that away.'],
  },
  {
    what: 'a circle of two',
    plan: plan([task('a', { depends_on: ['b'] }), task('b', { depends_on: ['a'] })]),
    says: [
      'The tasks "a" → "b" → "a" wait for each other in a circle (each depends_on the next): leave out one of these depends_on.',
    ],
  },
  {
    what: 'a circle of three behind others',
    plan: plan([
      task('z', { depends_on: ['a'] }),
      task('a', { depends_on: ['b'] }),
      task('b', { depends_on: ['c'] }),
      task('c', { depends_on: ['a'] }),
    ]),
    says: [
      'The tasks "a" → "b" → "c" → "a" wait for each other in a circle (each depends_on the next): leave out one of these depends_on.',
    ],
  },
  // --- The contract
  {
    what: 'an assertion that nobody claims',
    plan: plan([task('a', { claims: ['A1'] })], [command('A1', 'bun test'), command('A2', 'tsc --noEmit')]),
    says: ['Assertion A2: no task claims it; add it to the claims of the task that makes it true, or add such a task.'],
  },
  {
    what: 'an assertion that two claim',
    plan: plan([task('a', { claims: ['A1'] }), task('b', { claims: ['A1'] })]),
    says: ['Assertion A1: the tasks "a", "b" all claim it; leave it to the one after which it is true.'],
  },
  {
    what: 'a claim of what is not in the contract',
    plan: plan([task('a', { claims: ['A1', 'A7'] })]),
    says: ['Task "a", claims: the contract has no assertion A7; claim one of it, or add A7 to it.'],
  },
  {
    what: 'the same claim twice',
    plan: plan([task('a', { claims: ['A1', 'A1'] })]),
    says: ['Task "a", claims: A1 stands there twice; leave one away.'],
  },
  {
    what: 'a contract of reviews alone, though there are tests',
    plan: plan([task('a')], [review('A1')]),
    says: [
      'The contract has only reviews, though the repository has tests ("test/parse.test.ts"): let a command show at least the assertions that a test can show.',
    ],
  },
  {
    what: 'an assertion that is true whatever happens',
    plan: plan([task('a')], [command('A1', 'bun test || true')]),
    says: [
      'Assertion A1: the command "bun test || true" can never fail, since what stands behind "||" ends well: leave that away.',
    ],
  },
  ...['test -f src/parse.ts', '[ -d src ] && ! test -e src/none.ts', 'grep -q "export" src/parse.ts'].map(holds => ({
    what: `an assertion that holds before anything is done (${holds})`,
    plan: plan([task('a')], [command('A1', holds)]),
    says: [
      `Assertion A1: the command "${holds}" ends well already, before anything is done: give one that shows what will be different, or make it a check of the task.`,
    ],
  })),
  {
    what: 'an assertion whose test nobody writes',
    plan: plan([task('a')], [command('A1', 'bun test test/lines.test.ts')]),
    says: [
      'Assertion A1: the command "bun test test/lines.test.ts" names test/lines.test.ts, which does not exist and which no task before it outputs: correct the name, or add it to outputs.',
    ],
  },
  // --- Files
  {
    what: 'a file to read that does not exist',
    plan: plan([task('a', { context: { files: ['src/parser.ts'] } })]),
    says: [
      'Task "a", context.files: "src/parser.ts" does not exist, and no task outputs it (did you mean "src/parse.ts"?); correct the name, or leave it away.',
    ],
  },
  {
    what: 'a file to read in another folder than it is',
    plan: plan([task('a', { context: { tests: ['src/parse.test.ts'] } })]),
    says: [
      'Task "a", context.tests: "src/parse.test.ts" does not exist, and no task outputs it (did you mean "test/parse.test.ts"?); correct the name, or leave it away.',
    ],
  },
  {
    what: 'a document that does not exist',
    plan: plan([task('a', { context: { documents: ['docs/quux.md'] } })]),
    says: [
      'Task "a", context.documents: "docs/quux.md" does not exist, and no task outputs it; correct the name, or leave it away.',
    ],
  },
  {
    what: 'a file to read that comes from a task which it does not wait for',
    plan: plan([task('a'), task('b', { context: { files: ['src/a.ts'] } })]),
    says: ['Task "b", context.files: "src/a.ts" does not exist before the task "a" outputs it; add "a" to depends_on.'],
  },
  {
    what: 'a file to read that the task itself makes',
    plan: plan([task('a', { context: { files: ['src/a.ts'] } })]),
    says: ['Task "a", context.files: "src/a.ts" is made by the task itself; leave it out of the context.'],
  },
  {
    what: 'a folder to read',
    plan: plan([task('a', { context: { files: ['src/deep'] } })]),
    says: ['Task "a", context.files: "src/deep" is a folder; name the files in it that matter.'],
  },
  {
    what: 'an absolute path',
    plan: plan([task('a', { context: { files: ['/src/parse.ts'] } })]),
    says: [
      'Task "a", context.files: "/src/parse.ts" is absolute; name it from the top of the repository, without the slash in front.',
    ],
  },
  {
    what: 'a path out of the repository',
    plan: plan([task('a', { context: { documents: ['../secrets.md'] } })]),
    says: [
      'Task "a", context.documents: "../secrets.md" leads out of a folder by ".."; name the file itself, from the top of the repository.',
    ],
  },
  {
    what: 'a path with backslashes',
    plan: plan([task('a', { context: { files: ['src\\parse.ts'] } })]),
    says: [
      'Task "a", context.files: "src\\parse.ts" has a backslash or a drive; name it from the top, with "/" between names.',
    ],
  },
  {
    what: 'a pattern where files are to be named',
    plan: plan([task('a', { context: { files: ['src/*.ts'] } })]),
    says: ['Task "a", context.files: "src/*.ts" is a pattern; name the files themselves.'],
  },
  {
    what: 'a folder as output',
    plan: plan([task('a', { objective: { outputs: ['src/new/'] }, boundaries: { write: ['src/new/**'] } })]),
    says: ['Task "a", objective.outputs: "src/new/" is a folder; name the files in it.'],
  },
  // --- Boundaries
  {
    what: 'an output outside of what it may write',
    plan: plan([task('a', { boundaries: { write: ['src/b.ts'] } })]),
    says: [
      'Task "a", boundaries.write: the output "src/a.ts" is outside of it; add it, or leave it out of objective.outputs.',
    ],
  },
  {
    what: 'an output inside of what it must never touch',
    plan: plan([task('a', { boundaries: { write: ['src/*.ts'], never: ['src/a*'] } })]),
    says: ['Task "a", boundaries.never: the output "src/a.ts" is inside of it; take it out of one of the two.'],
  },
  {
    what: 'a task that may write nothing',
    plan: plan([task('a', { ...writes('src/**'), boundaries: { write: ['src/deep/**'], never: ['src/'] } })]),
    says: [
      'Task "a", boundaries.never: all that boundaries.write allows is forbidden there, so that it may write nothing; make "never" smaller.',
    ],
  },
  {
    what: 'a folder as boundary that was meant with all in it',
    plan: plan([task('a', writes('src'))]),
    says: [
      'Task "a", boundaries.write: "src" is a folder, and means only itself; write "src/**" for all that is in it.',
    ],
  },
  {
    what: 'a boundary that is no glob',
    plan: plan([task('a', { boundaries: { write: ['src/a.ts', 'src/{a,b.ts'] } })]),
    says: ['Task "a", boundaries.write: "src/{a,b.ts" has braces that do not match, or stand for too many choices.'],
  },
  {
    what: 'a boundary with an exception by "!"',
    plan: plan([task('a', { boundaries: { write: ['src/a.ts', '!src/b.ts'] } })]),
    says: [
      'Task "a", boundaries.write: "!src/b.ts" begins with "!": what may not be written stands in boundaries.never.',
    ],
  },
  {
    what: 'an absolute boundary',
    plan: plan([task('a', { boundaries: { write: ['src/a.ts', '/etc/**'] } })]),
    says: ['Task "a", boundaries.write: "/etc/**" begins with a slash: paths begin at the top of the repository.'],
  },
  {
    what: 'a boundary into git itself',
    plan: plan([task('a', { boundaries: { write: ['src/a.ts', '.git/hooks/**'] } })]),
    says: [
      'Task "a", boundaries.write: ".git/hooks/**" belongs to git or to the forge itself; no task may write there.',
    ],
  },
  {
    what: 'a boundary into the folder of the forge',
    plan: plan([task('a', { boundaries: { write: ['src/a.ts', '.forge/approved_tools.json'] } })]),
    says: [
      'Task "a", boundaries.write: ".forge/approved_tools.json" belongs to git or to the forge itself; no task may write there.',
    ],
  },
  {
    what: 'a boundary of everything, CI and lock files with it',
    plan: plan([task('a', writes('**'))]),
    says: [
      'Task "a", boundaries.write: it reaches ".github/workflows/ci.yml", "bun.lock", "packages/a/package-lock.json" (what a build server obeys, or a lock file) without naming it; put it into boundaries.never, or name it itself in boundaries.write if the task is about it.',
    ],
  },
  {
    what: 'a boundary that reaches a lock file without saying so',
    plan: plan([task('a', writes('packages/*/**'))]),
    says: [
      'Task "a", boundaries.write: it reaches "packages/a/package-lock.json" (what a build server obeys, or a lock file) without naming it; put it into boundaries.never, or name it itself in boundaries.write if the task is about it.',
    ],
  },
  // --- Two tasks
  {
    what: 'two tasks that write one file',
    plan: plan([task('a'), task('b', { boundaries: { write: ['src/b.ts', 'src/a.ts'] } })]),
    says: [
      'The tasks "a" and "b" may both write "src/a.ts" ("src/a.ts"), and neither waits for the other: add one of them to the other\'s depends_on, or make boundaries.write smaller.',
    ],
  },
  {
    what: 'two tasks with the same pattern',
    plan: plan([task('a', writes('src/x/**')), task('b', writes('src/x/**'))]),
    says: [
      'The tasks "a" and "b" may both write "src/x/file" ("src/x/**"), and neither waits for the other: add one of them to the other\'s depends_on, or make boundaries.write smaller.',
    ],
  },
  {
    what: 'two patterns that share a file which does not exist yet',
    plan: plan([task('a', writes('src/*/index.ts')), task('b', writes('src/new/*.ts'))]),
    says: [
      'The tasks "a" and "b" may both write "src/new/index.ts" ("src/*/index.ts" and "src/new/*.ts"), and neither waits for the other: add one of them to the other\'s depends_on, or make boundaries.write smaller.',
    ],
  },
  {
    what: 'two patterns that share a name by their braces and sets',
    plan: plan([task('a', writes('{src,lib}/[a-m]*.ts')), task('b', writes('lib/*q.{ts,js}'))]),
    says: [
      'The tasks "a" and "b" may both write "lib/aq.ts" ("{src,lib}/[a-m]*.ts" and "lib/*q.{ts,js}"), and neither waits for the other: add one of them to the other\'s depends_on, or make boundaries.write smaller.',
    ],
  },
  {
    what: 'two tasks that wait for the same one, but not for each other',
    plan: plan([
      task('base'),
      task('a', { ...writes('src/x.ts'), depends_on: ['base'] }),
      task('b', { ...writes('src/**/x.ts'), depends_on: ['base'] }),
    ]),
    says: [
      'The tasks "a" and "b" may both write "src/x.ts" ("src/x.ts" and "src/**/x.ts"), and neither waits for the other: add one of them to the other\'s depends_on, or make boundaries.write smaller.',
    ],
  },
  // --- Whether it can be checked
  {
    what: 'a task without acceptance',
    plan: plan([task('a', { objective: { acceptance: [] } })]),
    says: ['Task "a", objective.acceptance: nothing says when it is done; list what must hold then.'],
  },
  {
    what: 'a task that nothing checks',
    plan: plan([task('a'), task('b', { validation: { checks: [], reviews: [] } })]),
    says: [
      'Task "b", validation: nothing shows whether it is done; give it a check that fails while it is not, or a review.',
    ],
  },
  {
    what: 'a task that writes code, about which no question is asked',
    plan: plan([task('a', { validation: { reviews: [] } })]),
    says: [
      'Task "a", validation.reviews: it writes code ("src/a.ts"), and nothing is asked that its commands can\'t answer; add one such question (a case that its tests may miss, an error that may be swallowed, what its callers need).',
    ],
  },
  {
    what: 'a check that is always well',
    plan: plan([task('a', checks('true'))]),
    says: [
      'Task "a", validation.checks: the command "true" can never fail, so that it shows nothing: give one that ends with another code than 0 while it is not done.',
    ],
  },
  {
    what: 'a check that says well at its end',
    plan: plan([task('a', checks('bun test; exit 0'))]),
    says: [
      'Task "a", validation.checks: the command "bun test; exit 0" can never fail, since its last part ends well whatever was before: join the parts by "&&".',
    ],
  },
  {
    what: 'a check whose pipe swallows what fails',
    plan: plan([task('a', checks('bun test 2>&1 | tail -20'))]),
    says: [
      'Task "a", validation.checks: the command "bun test 2>&1 | tail -20" can never fail, since a pipe ends as its last program does (tail): leave that away, or begin with "set -o pipefail;".',
    ],
  },
  {
    what: 'a check in the background',
    plan: plan([task('a', checks('bun src/cli.ts &'))]),
    says: [
      'Task "a", validation.checks: the command "bun src/cli.ts &" can never fail, since it runs behind "&": leave that away.',
    ],
  },
  {
    what: 'a check inside of another shell that is always well',
    plan: plan([task('a', checks('bash -c "bun test || :"'))]),
    says: [
      'Task "a", validation.checks: the command "bash -c "bun test || :"" can never fail, since what stands behind "||" ends well: leave that away.',
    ],
  },
  {
    what: 'a program that is not in the image',
    plan: plan([task('a', checks('cargo test'))]),
    says: [
      'Task "a", validation.checks: the command "cargo test" needs the program cargo, which is not in the image that checks run in: take one that is (bash, bun, cat, git, grep, head, make, node, npm, python3, sh, tail, tsc).',
    ],
  },
  {
    what: 'a script that does not exist',
    plan: plan([task('a', checks('./check.sh --all'))]),
    says: [
      'Task "a", validation.checks: the command "./check.sh --all" runs ./check.sh, which does not exist: name a file that is there, or let a task before output it.',
    ],
  },
  {
    what: 'a script that package.json does not have',
    plan: plan([task('a', checks('npm run typecheck'))]),
    says: [
      'Task "a", validation.checks: the command "npm run typecheck" runs the script "typecheck", which package.json does not have: take one that it has (test, lint).',
    ],
  },
  {
    what: 'a test that comes from a task which it does not wait for',
    plan: plan([
      task('a', { objective: { outputs: ['test/a.test.ts'] }, boundaries: { write: ['test/a.test.ts'] } }),
      task('b', checks('bun test test/a.test.ts')),
    ]),
    says: [
      'Task "b", validation.checks: the command "bun test test/a.test.ts" names test/a.test.ts, which does not exist and which no task before it outputs: correct the name, or add it to outputs.',
    ],
  },
  {
    what: 'a check that needs the network',
    plan: plan([task('a', checks('npm install && npm test'))]),
    says: [
      'Task "a", validation.checks: the command "npm install && npm test" needs the network ("npm install"), which checks don\'t have: what it would fetch has to be there already.',
    ],
  },
  {
    what: 'a check that never ends',
    plan: plan([task('a', checks('bun test --watch'))]),
    says: ['Task "a", validation.checks: the command "bun test --watch" never ends (--watch): let it run once.'],
  },
  {
    what: 'a check with an open quote',
    plan: plan([task('a', checks("grep -q 'a README.md"))]),
    says: [
      'Task "a", validation.checks: the command "grep -q \'a README.md" has a quote that is not closed: close it.',
    ],
  },
  {
    what: 'a ready-made check that the repository has nothing for',
    plan: plan([task('a', { validation: { checks: ['python'] } as never })]),
    canRun: { readyMade: new Set(['typescript', 'tests']) },
    says: [
      'Task "a", validation.checks: the ready-made check "python" can\'t run in this repository; take one that can (typescript, tests), or a command.',
    ],
  },
  {
    what: 'a check that takes longer than the run may',
    plan: plan([task('a', { validation: { checks: [{ command: 'bun test', seconds: 1200 }] } as never })]),
    limits: { minutes: 10 },
    says: [
      'Task "a", validation.checks: the command may take 1200 seconds, and the whole run only 10 minutes; give it less.',
    ],
  },
  // --- Limits
  {
    what: 'more tasks than the run may have',
    plan: plan([task('a'), task('b'), task('c')]),
    limits: { tasks: 2 },
    says: ['The plan has 3 tasks, and the run may have 2: join tasks, or leave out what is not needed.'],
  },
  {
    what: 'deeper sub-agents than the run may have',
    plan: plan([task('a', { recursion: 3 })]),
    limits: { depth: 1 },
    says: ['Task "a", recursion: 3 levels of sub-agents are more than the 1 that the run may have; set at most 1.'],
  },
  {
    what: 'more requests than the run may send',
    plan: plan([task('a'), task('b')]),
    limits: { requests: 5 },
    says: [
      'The plan takes at least about 6 requests, and the run may send 5: plan fewer or smaller tasks, or lower tiers, and say in the summary what is left out.',
    ],
  },
  {
    what: 'more tokens than the run may use',
    plan: plan([task('a', { size: 'large' })]),
    limits: { tokens: 50_000 },
    says: [
      'The plan takes at least about 132,000 tokens, and the run may use 50,000: plan fewer or smaller tasks, or lower tiers, and say in the summary what is left out.',
    ],
  },
  {
    what: 'more money than the run may cost',
    plan: plan([task('a', { size: 'large', tier: 'reasoning' })]),
    limits: { cost: 0.5 },
    says: [
      'The plan costs at least about $0.90, and the run may cost $0.50: plan fewer or smaller tasks, or lower tiers, and say in the summary what is left out.',
    ],
  },
  // --- What is done
  {
    what: 'a task that is done and was changed',
    plan: plan([task('a', { claims: ['A1'], title: 'Make it all anew' }), task('b')]),
    before: approved,
    standing: [{ id: 'a', is: 'done' }],
    says: [
      'Task "a" is done, and differs from the plan that holds (title): put it back as it was, and make a new task for what is to change.',
    ],
  },
  {
    what: 'a task that is done and was left out',
    plan: plan([task('b', { claims: ['A1'] })]),
    before: approved,
    standing: [{ id: 'a', is: 'done' }],
    says: ['Task "a" is done, and is not in the new plan: put it back as it was.'],
  },
  {
    what: 'an assertion of a task that is under way and was changed',
    plan: plan([task('a', { claims: ['A1'] }), task('b')], [command('A1', 'bun test src')]),
    before: approved,
    standing: [{ id: 'a', is: 'under way' }],
    says: [
      'Assertion A1 is claimed by the task "a", which is under way: put it back as it was, and forge stop the task first, or wait for its end.',
    ],
  },
]
