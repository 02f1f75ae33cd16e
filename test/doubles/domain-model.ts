/**
 * A model for the demo of work whose product is not code: `bun test/doubles/domain-model.ts text|data` prints the
 * settings for it, and runs until it is ended. For either kind of work it makes one mistake, which a check finds.
 */
import { type Heard, ModelServer } from './model-server.ts'
import { callsOf } from './task-calls.ts'

type Answer = Record<string, unknown>
type Made = { words: string; files: Record<string, string> }
/** A domain: its plan, what the model writes for each task (at its second attempt, too), and what was learned. */
type Work = { plan: Answer; tasks: Record<string, (isAgain: boolean) => Made>; lesson: Answer }

const shown = (id: string, says: string, command: string) => ({ id, says, how: { kind: 'command', command } })

type Wish = {
  claims: string[]
  behaviour: string
  writes: string
  files: string[]
  after?: string[]
  checks?: string[]
}

const task = (id: string, title: string, { claims, behaviour, writes, files, after = [], checks = [] }: Wish) => ({
  ...{ id, title, claims, depends_on: after, size: 'small', tier: 'summarization' },
  objective: { behaviour, outputs: [writes], acceptance: [behaviour] },
  boundaries: { write: [writes] },
  context: { files },
  validation: { checks },
})

const REPORT = (range: string) => `# The tides of Nordhafen

## Range

At springs the mean range is 3.1 metres.[^1] The largest that was measured is 3.6 metres.[^2]

## Currents

The ebb is strongest two hours after high water, with up to four knots.[^3] At neaps the current is below two knots.[^4]

## Advice

Leave at slack water before the flood.[^5]

[^1]: sources/pilot.md: "${range}"
[^2]: sources/survey.md: "a largest range of 3.6 metres, in September"
[^3]: sources/pilot.md: "the ebb runs strongest two hours after high water and reaches four knots"
[^4]: sources/survey.md: "At neaps the current in the channel stayed below two knots"
[^5]: sources/pilot.md: "Small craft should leave at slack water before the flood"
`

const TEXT: Work = {
  plan: {
    title: 'A report on the tides of Nordhafen',
    summary: 'One text, from the two sources alone. A program compares each quote with its source, word for word.',
    contract: [
      shown('A1', 'Each statement cites words that are in its source.', 'bun check.ts citations report.md'),
      shown('A2', 'Each requirement has its section.', 'bun check.ts requirements report.md'),
    ],
    tasks: [
      task('report', 'Write the report', {
        claims: ['A1', 'A2'],
        behaviour: 'Write report.md as TASK.md and requirements.md say, with a footnote for each statement.',
        writes: 'report.md',
        files: ['TASK.md', 'requirements.md', 'sources/pilot.md', 'sources/survey.md', 'check.ts'],
        checks: ['citations', 'complete', 'format'],
      }),
    ],
  },
  tasks: {
    report: isAgain => ({
      words: 'Write the report on the tides.',
      files: {
        'report.md': REPORT(
          isAgain ? 'The mean spring range at Nordhafen is 3.1 metres' : 'The spring range is 3.1 metres',
        ),
      },
    }),
  },
  lesson: {
    id: 'quotes-word-for-word',
    title: 'Citing a source in a report',
    says: 'A quote in a footnote is compared with its source word for word: copy it, and shorten nothing inside of it.',
    for: ['change'],
    domain: 'text',
  },
}

const ROWS = [
  { ship: 'Albatros', harbour: 'Nordhafen', date: '2026-01-03', cents: 1250 },
  { ship: 'Möwe', harbour: 'Südhafen', date: '2026-01-04', cents: 800 },
  { ship: 'Albatros', harbour: 'Südhafen', date: '2026-01-31', cents: 800 },
  { ship: 'Kormoran', harbour: 'Nordhafen', date: '2026-02-02', cents: 1250 },
  { ship: 'Möwe', harbour: 'Nordhafen', date: '2026-02-11', cents: 1250 },
]
const rowsAsJson = (rows: readonly object[]): string =>
  `[\n${rows.map(row => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`

const DATA: Work = {
  plan: {
    title: 'Clean data of the harbour dues',
    summary: 'First the rows, by the schema and each once; then the sums, which stand on them.',
    contract: [
      shown('A1', 'The rows fit the schema, and none is lost, doubled or made up.', 'bun check.ts rows'),
      shown('A2', 'The summary has the sums of the rows.', 'bun check.ts summary'),
    ],
    tasks: [
      task('rows', 'Make the rows', {
        claims: ['A1'],
        behaviour: 'Write data/dues.json: all rows of raw/, each once, with the fields of schema.json.',
        writes: 'data/dues.json',
        files: ['TASK.md', 'schema.json', 'raw/january.csv', 'raw/february.csv', 'check.ts'],
        checks: ['format'],
      }),
      task('summary', 'Sum them up', {
        claims: ['A2'],
        behaviour: 'Write data/summary.csv: harbour,count,cents for each harbour, in alphabetical order.',
        writes: 'data/summary.csv',
        files: ['TASK.md', 'check.ts'],
        after: ['rows'],
      }),
    ],
  },
  tasks: {
    rows: isAgain => ({
      words: isAgain ? 'Make the rows, each once.' : 'Make the rows.',
      files: { 'data/dues.json': rowsAsJson(isAgain ? ROWS : [...ROWS, ...ROWS.slice(2, 3)]) },
    }),
    summary: () => ({
      words: 'Sum up the dues of each harbour.',
      files: { 'data/summary.csv': 'harbour,count,cents\nNordhafen,3,3750\nSüdhafen,2,1600\n' },
    }),
  },
  lesson: {
    id: 'rows-in-two-months',
    title: 'Bringing monthly lists together',
    says: 'The lists of two months can have the same row at their border: it counts once.',
    for: ['plan', 'change'],
    domain: 'data',
  },
}

/** The model's answer to a step, by the text of the request. */
function answerTo(work: Work, { system, messages }: Heard): Answer {
  const asked = messages.map(({ text }) => text).join('\n')
  const [, kind] = /^# Your task: (.+)$/m.exec(system) ?? []
  if (kind === 'the plan') return { signal: 'success', words: 'A plan.', plan: work.plan }
  if (kind === 'lessons') return { signal: 'success', words: 'One lesson.', lessons: [work.lesson] }
  const [, id = ''] = /^# The task ([a-z-]+):/m.exec(asked) ?? []
  const made = work.tasks[id]?.(asked.includes('# Why the last attempt failed'))
  if (!made) return { signal: 'failure_terminal', words: 'This model only knows the work of the demo.' }
  const edits = Object.entries(made.files).map(([path, content]) => ({ kind: 'write', path, content }))
  return { signal: 'success', words: made.words, edits }
}

const work = { text: TEXT, data: DATA }[process.argv[2] ?? '']
if (!work) throw new Error('Name a domain: text or data')
const server = await ModelServer.start(async heard => ({
  calls: callsOf(answerTo(work, heard)),
  delay: Number(process.env.TASK_MODEL_DELAY ?? 300),
}))
for (const [name, value] of Object.entries(server.environment('openai'))) console.log(`${name}=${value}`)
