#!/usr/bin/env bun
/** `bun docs/plan.ts` writes docs/plan.md from the schema of plans, so that the page agrees with the parser. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type * as v from 'valibot'
import { writePlan } from '../forge/tasks/plan/file.ts'
import { Plan } from '../forge/tasks/plan/schema.ts'

export const PAGE = join(import.meta.dir, 'plan.md')

/** The fields of a valibot schema that the page describes; which exist depends on the schema's kind. */
type Told = {
  type: string
  wrapped?: v.GenericSchema
  default?: unknown
  pipe?: readonly { type: string; kind: string; description?: string; requirement?: unknown; message?: unknown }[]
  entries?: Record<string, v.GenericSchema>
  item?: v.GenericSchema
  options?: readonly unknown[]
  literal?: unknown
}

const told = (schema: unknown): Told => schema as Told

/** All checks of a Valibot schema besides the type, including those of the schemas that it extends by a pipe. */
const actionsOf = (schema: unknown): NonNullable<Told['pipe']> =>
  (told(schema).pipe ?? []).flatMap((it, at) => (at === 0 ? actionsOf(it) : [it]))

/** The rows of the table, one for each field; the fields of an object follow the object's own row. */
function rowsOf(schema: v.GenericSchema, name = ''): string[] {
  const { wrapped, default: usual } = told(schema)
  const inner = wrapped ?? schema
  const { entries, item, options } = told(inner)
  const words = actionsOf(inner).findLast(({ type }) => type === 'description')?.description ?? ''
  const own = name === '' ? [] : [row(name, kindOf(inner), words, wrapped && usual)]
  const variants = options?.filter(it => told(it).entries).map(it => told(it).entries ?? {}) ?? []
  const fields = entries ?? (item && told(item).entries) ?? Object.assign({}, ...variants)
  const literals = (field: string): string =>
    variants
      .flatMap(it => told(it[field]).literal ?? [])
      .map(it => `\`${it}\``)
      .join(' or ')
  const prefix = name === '' ? '' : `${name}${item ? '[]' : ''}.`
  return [
    ...own,
    ...Object.entries<v.GenericSchema>(fields).flatMap(([field, it]) => {
      const isLiteral = told(it).type === 'literal'
      return isLiteral ? [row(prefix + field, '', `${literals(field)}.`, undefined)] : rowsOf(it, prefix + field)
    }),
  ]
}

function row(name: string, kind: string, words: string, usual: unknown): string {
  const shown = usual === undefined || JSON.stringify(usual) === '{}' ? '' : `\`${JSON.stringify(usual)}\``
  return `| \`${name}\` | ${[words, kind].filter(Boolean).join(' ')} | ${shown} |`
}

/** A short description of the allowed values. */
function kindOf(schema: v.GenericSchema): string {
  const { type, item, options } = told(schema)
  const pipe = actionsOf(schema)
  const most = pipe.find(it => it.type === 'max_length')?.requirement
  const pattern = pipe.find(it => it.type === 'regex')?.message
  switch (type) {
    case 'string':
      if (typeof pattern === 'string') return `It ${pattern}.`
      return most === undefined ? '' : `At most ${Number(most).toLocaleString('en')} characters.`
    case 'number': {
      const [low, high] = ['min_value', 'max_value'].map(kind => pipe.find(it => it.type === kind)?.requirement)
      return `A whole number from ${low} to ${high}.`
    }
    case 'array':
      return `A list of ${kindOfItems(item)}at most ${Number(most).toLocaleString('en')}.`
    case 'picklist':
      return `One of ${(options ?? []).map(it => `\`${it}\``).join(', ')}.`
    default:
      return ''
  }
}

function kindOfItems(item: v.GenericSchema | undefined): string {
  const { type, options } = told(item)
  if (type !== 'union') return ''
  const names = (options ?? []).flatMap(it => told(it).options ?? [])
  return `${names.map(it => `\`${it}\``).join(', ')} or a group of \`command\` and \`seconds\`, `
}

const EXAMPLE: Plan = {
  title: 'Count lines',
  summary: 'Counting is a function of its own, so that the command and the page share it.',
  contract: [
    {
      id: 'A1',
      says: '`tide --lines FILE` prints how many lines a file has.',
      how: { kind: 'command', command: 'bun test test/lines.test.ts', seconds: 300 },
    },
    {
      id: 'A2',
      says: 'README says so.',
      how: { kind: 'command', command: "grep -q -- '--lines' README.md", seconds: 300 },
    },
  ],
  tasks: [
    {
      id: 'count',
      title: 'Count the lines of a text',
      objective: {
        behaviour:
          'Add `countLines(text)` to src/lines.ts, beside `splitLines`, which it uses.\nA text without a line end at its end has one line more than it has line ends.',
        outputs: ['src/lines.ts', 'test/lines.test.ts'],
        acceptance: ['The empty text has no line.'],
      },
      claims: ['A1'],
      boundaries: { write: ['src/lines.ts', 'src/cli.ts', 'test/lines.test.ts'], never: [] },
      context: {
        files: ['src/cli.ts'],
        tests: ['test/cli.test.ts'],
        documents: [],
      },
      validation: { checks: ['typescript'], reviews: ['Is a text that ends in CRLF counted right?'] },
      depends_on: [],
      tier: 'generation',
      recursion: 0,
      size: 'small',
    },
    {
      id: 'readme',
      title: 'Say it in README',
      objective: {
        behaviour: 'One line in the list of options.',
        outputs: ['README.md'],
        acceptance: ['It has an example.'],
      },
      claims: ['A2'],
      boundaries: { write: ['README.md'], never: [] },
      context: { files: [], tests: [], documents: [] },
      validation: { checks: [], reviews: [] },
      depends_on: ['count'],
      tier: 'summarization',
      recursion: 0,
      size: 'small',
    },
  ],
}

/** The text of the page about plans, docs/plan.md. */
export const planPage = (): string => `<!-- Made from forge/tasks/plan/schema.ts by docs/plan.ts: change those. -->
# Plans

\`forge run\` has a plan made before anything else, and shows it; \`--plan\` stops there and writes it into a file that you
may edit and give back. It is YAML; JSON is read, too. A plan says what must be true in the end (the contract), and
which tasks make it so. With it you see what it may cost, with its requests sent now and in batches.

\`\`\`yaml
${writePlan(EXAMPLE).trimEnd()}
\`\`\`

## Fields

What has a default may be left out. Paths and globs begin at the top of the repository, without a slash.

| Field | | Default |
|---|---|---|
${rowsOf(Plan).join('\n')}

Globs: \`*\` is any characters but \`/\`, \`?\` one of them, \`[a-z]\` one of some, \`**\` any folders or none, \`{a,b}\` either. A
glob with \`/\` at its end is all that is below.

## What is refused

A plan is checked before anything of it is paid, a model's and yours alike. Refused, with a sentence that says what
would be right:

- tasks that wait for each other in a circle, or for one that does not exist; ids that stand there twice;
- assertions that no task claims, or more than one; a contract of reviews alone where there are tests; assertions whose
  command only looks for files, or for words in one, and would end well before anything is done;
- files to read that do not exist and that no task before outputs; paths that are absolute or lead out of the repository;
- outputs outside of what the task may write; boundaries into \`.git\` or \`.forge\`; those that reach CI or lock files
  without naming them;
- two tasks that may write the same file, also one that does not exist yet, where neither waits for the other. A task
  whose \`write\` is empty runs alone;
- checks that can't run (a program that is not in the image, a file that is not there, the network), that never end, or
  that can't fail (\`… || true\`, \`… | tail\`); tasks that nothing checks, or that don't say when they are done;
- tasks that write code and have no question for a reviewer (\`validation.reviews\`, or an assertion of kind \`review\`);
- more tasks, levels of sub-agents, requests, tokens or money than the run may have;
- changes of tasks that are done or under way; but what a done task claims, and how it is checked, may change: it is
  checked again then.
`

if (import.meta.main) await writeFile(PAGE, planPage())
