/**
 * A model for the demo of the tasks, without a key: `bun test/doubles/task-model.ts` prints the settings for it, and
 * runs until it is ended. It has one plan, makes one mistake, and asks one question.
 */
import { type Heard, ModelServer, type Turn } from './model-server.ts'
import { callsOf } from './task-calls.ts'

const PLAN = {
  title: 'Tags for notes',
  summary:
    'A tag is a word with # in a note. One small function finds them (tags.ts); listing and counting by tag stand on it, and can be done at the same time; a page of docs comes last. Nothing of the existing code changes.',
  contract: [
    command('A1', 'The tags of a note are found, each once, without their #.', 'bun test test/tags.test.ts'),
    command('A2', 'Notes can be listed by a tag, whatever its case.', 'bun test test/search.test.ts'),
    command('A3', 'Tags can be counted, the most frequent first.', 'bun test test/count.test.ts'),
    command('A4', 'A page of docs says how tags are written.', "grep -q '#' docs/tags.md"),
  ],
  tasks: [
    task('tags', 'Find the tags of a note', ['A1'], {
      behaviour: 'Add tagsOf(note) to src/tags.ts: the words that begin with #, without it, each once. With tests.',
      files: ['src/tags.ts', 'test/tags.test.ts'],
      context: ['src/notes.ts'],
      reviews: ['Is there a word that it takes for a tag and that is none?'],
    }),
    task('search', 'List notes by tag', ['A2'], {
      behaviour: 'Add withTag(notes, tag) to src/search.ts, on top of tagsOf. Upper and lower case are the same.',
      files: ['src/search.ts', 'test/search.test.ts'],
      context: ['src/notes.ts', 'src/tags.ts'],
      after: ['tags'],
      reviews: ['Is there a tag that is written in two ways and not found?'],
    }),
    task('count', 'Count tags', ['A3'], {
      behaviour: 'Add countTags(notes) to src/count.ts, on top of tagsOf: pairs of tag and count, the largest first.',
      files: ['src/count.ts', 'test/count.test.ts'],
      context: ['src/notes.ts', 'src/tags.ts'],
      after: ['tags'],
      reviews: ['Are tags counted that stand in one note twice?'],
    }),
    task('docs', 'Explain tags', ['A4'], {
      behaviour: 'Write docs/tags.md: how tags are written, listed and counted.',
      files: ['docs/tags.md'],
      context: ['src/search.ts', 'src/count.ts'],
      after: ['search', 'count'],
      checks: ['citations', 'complete', 'format'],
    }),
  ],
}

function command(id: string, says: string, shown: string) {
  return { id, says, how: { kind: 'command', command: shown } }
}

type Wish = {
  behaviour: string
  files: string[]
  context: string[]
  after?: string[]
  checks?: string[]
  reviews?: string[]
}

function task(
  id: string,
  title: string,
  claims: string[],
  { behaviour, files, context, after, checks, reviews }: Wish,
) {
  return {
    id,
    title,
    objective: { behaviour, outputs: files, acceptance: [behaviour] },
    claims,
    boundaries: { write: files },
    context: { files: context },
    validation: { checks: checks ?? [], reviews: reviews ?? [] },
    depends_on: after ?? [],
    size: 'small',
  }
}

const TAGS = `import type { Note } from './notes.ts'

/** The tags of a note, each once, in the order in which they come. */
export const tagsOf = ({ text }: Note): string[] => [
  ...new Set([...text.matchAll(/#([\\p{L}\\p{N}_-]+)/gu)].map(([, tag = '']) => tag)),
]
`
const TAGS_TEST = `import { expect, test } from 'bun:test'
import { tagsOf } from '../src/tags.ts'

test('words with # are tags, each once', () => {
  expect(tagsOf({ text: 'buy #milk and more #milk for #café' })).toEqual(['milk', 'café'])
  expect(tagsOf({ text: 'nothing here # at all' })).toEqual([])
})
`
const SEARCH = (isRight: boolean) => `import type { Note } from './notes.ts'
import { tagsOf } from './tags.ts'

/** The notes that have a tag, whatever its case. */
export const withTag = (notes: Note[], tag: string): Note[] =>
  notes.filter(note => tagsOf(note).${isRight ? 'some(it => it.toLowerCase() === tag.toLowerCase())' : 'includes(tag)'})
`
const SEARCH_TEST = `import { expect, test } from 'bun:test'
import { withTag } from '../src/search.ts'

test('notes are listed by tag, whatever its case', () => {
  const notes = [{ text: '#Home is where' }, { text: '#work' }]
  expect(withTag(notes, 'home')).toEqual([{ text: '#Home is where' }])
})
`
const COUNT = `import type { Note } from './notes.ts'
import { tagsOf } from './tags.ts'

/** All tags with how many notes have them, the most frequent first. */
export function countTags(notes: Note[]): [tag: string, count: number][] {
  const counts = new Map<string, number>()
  for (const tag of notes.flatMap(tagsOf)) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return [...counts].sort(([a, x], [b, y]) => y - x || a.localeCompare(b))
}
`
const COUNT_TEST = `import { expect, test } from 'bun:test'
import { countTags } from '../src/count.ts'

test('tags are counted, the most frequent first', () => {
  expect(countTags([{ text: '#b #a' }, { text: '#b' }])).toEqual([['b', 2], ['a', 1]])
})
`
const docs = (audience: string) => `# Tags

${audience}

A tag is a word with \`#\` in front of it, such as \`#home\`. A note may have any number.

## Listing

\`withTag(notes, 'home')\` gives the notes with that tag; upper and lower case are the same.

## Counting

\`countTags(notes)\` gives all tags with how many notes have them, the most frequent first.
`

const LESSON = {
  id: 'tags-without-case',
  title: 'Comparing tags',
  says: 'Tags are compared without regard to case; the test of a listing has one that is written in two ways.',
  for: ['plan', 'change'],
  domain: 'typescript',
}

type Answer = Record<string, unknown>
const write = (path: string, content: string) => ({ kind: 'write', path, content })
const done = (words: string, ...edits: object[]): Answer => ({ signal: 'success', words, edits })

/** The model's answer to a step, by the text of the request. */
function answerTo({ system, messages }: Heard): Answer {
  const asked = messages.map(({ text }) => text).join('\n')
  const [, kind] = /^# Your task: (.+)$/m.exec(system) ?? []
  if (kind === 'the plan') return { signal: 'success', words: 'Four small tasks.', plan: PLAN }
  if (kind === 'lessons') return { signal: 'success', words: 'One lesson.', lessons: [LESSON] }
  if (kind === 'a review') return { signal: 'success', words: 'It does what it should.', verdict: 'good', findings: [] }
  const [, id] = /^# The task ([a-z-]+):/m.exec(asked) ?? []
  const isAgain = asked.includes('# Why the last attempt failed')
  switch (id) {
    case 'tags':
      return done('Find the tags of a note.', write('src/tags.ts', TAGS), write('test/tags.test.ts', TAGS_TEST))
    case 'search':
      return done(
        isAgain ? 'List notes by tag, whatever its case.' : 'List notes by tag.',
        write('src/search.ts', SEARCH(isAgain)),
        write('test/search.test.ts', SEARCH_TEST),
      )
    case 'count':
      return done('Count tags.', write('src/count.ts', COUNT), write('test/count.test.ts', COUNT_TEST))
    case 'docs':
      return explain(asked)
    default:
      return { signal: 'failure_terminal', words: 'This model only knows the work of the demo.' }
  }
}

function explain(asked: string): Answer {
  const [, answer] = /^# What the person answered\n+(.+)$/m.exec(asked) ?? []
  if (answer) return done('Explain tags.', write('docs/tags.md', docs(`Written ${answer.replace(/\.$/, '')}.`)))
  const question = 'Who is the page for: those who write notes, or those who build on the code?'
  return { signal: 'blocked_on_human', words: 'The wish does not say for whom.', question }
}

const play = async (heard: Heard): Promise<Turn> => ({
  calls: callsOf(answerTo(heard)),
  delay: Number(process.env.TASK_MODEL_DELAY ?? 300),
})

const server = await ModelServer.start(play)
for (const [name, value] of Object.entries(server.environment('openai'))) console.log(`${name}=${value}`)
