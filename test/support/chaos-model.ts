/**
 * The model's answers in the chaos tests: a plan of a dozen tasks with an outline, sub-agents, a failing attempt and a
 * conflict between tasks, and their edits. It has no state: the same request gets the same answer.
 */
import type { Heard, Turn } from '../doubles/model-server.ts'
import { callsOf } from '../doubles/task-calls.ts'

type Answer = Record<string, unknown>
type Wish = { files: string[]; after?: string[]; size?: 'small' | 'medium'; recursion?: number; check?: string }

const NOTES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta']

/** What each task writes, and its dependencies, by its id. */
const TASKS: Record<string, Wish> = {
  ...Object.fromEntries(NOTES.map(name => [name, { files: [`notes/${name}.md`] }])),
  // These two conflict: one moves a folder in which the other makes a file.
  move: { files: ['old/one.md', 'old/two.md', 'new/one.md', 'new/two.md'] },
  more: { files: ['old/three.md'], check: 'grep -rq "by more" old new' },
  outlined: { files: ['steps/1.md', 'steps/2.md', 'steps/3.md'], size: 'medium', after: ['alpha'] },
  asking: { files: ['asked.md'], recursion: 1, after: ['beta'] },
  failing: { files: ['right.md'], check: 'grep -q "^right$" right.md', after: ['gamma', 'delta'] },
  last: { files: ['last.md'], after: ['move', 'more', 'outlined', 'asking', 'failing', 'epsilon', 'zeta'] },
}

const commandOf = (id: string, { files, check }: Wish): string => check ?? `grep -q "by ${id}" ${files.at(-1)}`

const PLAN = {
  title: 'A dozen notes',
  summary: 'Every task writes its own notes; some stand on others.',
  contract: Object.entries(TASKS).map(([id, wish], at) => ({
    id: `A${at + 1}`,
    says: `What ${id} writes is there.`,
    how: { kind: 'command', command: commandOf(id, wish) },
  })),
  tasks: Object.entries(TASKS).map(([id, { files, after = [], size = 'small', recursion = 0 }], at) => ({
    id,
    title: `Write what ${id} has to write`,
    objective: {
      behaviour: `Write the files of ${id}.`,
      outputs: id === 'more' ? [] : files.filter(file => id !== 'move' || file.startsWith('new/')),
      acceptance: [`What ${id} writes is there.`],
    },
    claims: [`A${at + 1}`],
    boundaries: { write: files },
    depends_on: after,
    size,
    recursion,
  })),
}

const write = (path: string, content: string) => ({ kind: 'write', path, content })
const rename = (path: string, to: string) => ({ kind: 'rename', path, to })
const done = (words: string, edits: object[]): Answer => ({ signal: 'success', words, edits })

/** The model's answer to a request. */
export function answerTo({ system, messages }: Pick<Heard, 'system' | 'messages'>): Answer {
  const asked = messages.map(({ text }) => text).join('\n')
  const [, kind = ''] = /^# Your task: (.+)$/m.exec(system) ?? []
  if (kind === 'the plan') return { signal: 'success', words: 'A dozen tasks.', plan: PLAN }
  if (kind === 'an outline') {
    const steps = TASKS.outlined?.files.map(path => ({ does: `Write the file ${path} now.`, files: [] }))
    return { signal: 'success', words: 'One file after the other.', steps }
  }
  if (kind === 'a text') {
    const [, about] = /Say something about (\w+)\./.exec(asked) ?? []
    return { signal: 'success', words: `Something about ${about}.`, text: `${about} is good to know.` }
  }
  if (kind === 'bring two changes together') return done('Both are there.', [])
  const [, id = ''] = /^# The task ([a-z-]+):/m.exec(asked) ?? []
  return workOf(id, asked)
}

function workOf(id: string, asked: string): Answer {
  const { files = [] } = TASKS[id] ?? {}
  switch (id) {
    case 'move':
      return done('Move the notes.', [
        rename('old/one.md', 'new/one.md'),
        rename('old/two.md', 'new/two.md'),
        write('new/two.md', 'two\nby move\n'),
      ])
    case 'outlined': {
      const [, path = ''] = /Write the file (\S+) now\./.exec(asked) ?? []
      return done(`Write ${path}.`, [write(path, `${path}\nby outlined\n`)])
    }
    case 'asking': {
      const found = [...asked.matchAll(/^(\w+) is good to know\./gm)].map(([, about]) => about)
      if (found.length > 0) return done('Write what was found.', [write('asked.md', `${found.join()}\nby asking\n`)])
      const agents = ['trees', 'rivers', 'stones'].map(about => ({ id: about, asks: `Say something about ${about}.` }))
      return { ...done('Ask first.', []), fan_out: agents }
    }
    case 'failing': {
      const isAgain = asked.includes('# Why the last attempt failed')
      return done('Write it.', [write('right.md', isAgain ? 'right\n' : 'wrong\n')])
    }
    default:
      return done(
        `Write the note of ${id}.`,
        files.map(path => write(path, `# ${path}\nby ${id}\n`)),
      )
  }
}

/** A turn of the model server, after a delay in milliseconds. */
export const turnFor = (heard: Heard, delay: number): Turn => saying(answerTo(heard), delay)

/** The files of a chaos test's repository. */
export const FILES = {
  'README.md': '# Notes\n',
  'old/one.md': 'one\n',
  'old/two.md': 'two\n',
}

// --- Many requests at once -------------------------------------------------------------------------------------------

/** A plan of `tasks` that each ask `agents` sub-agents, and then write the results. */
export function fansOut(tasks: number, agents: number) {
  const names = Array.from({ length: tasks }, (_, at) => `fan-${'abcdefgh'[at]}`)
  const fileOf = (id: string) => `${id}.md`
  const plan = {
    ...{ title: 'Many voices', summary: 'Every task asks many.' },
    contract: names.map((id, at) => ({
      ...{ id: `A${at + 1}`, says: `What ${id} has found is there.` },
      how: { kind: 'command', command: `grep -q "${agents} answers" ${fileOf(id)}` },
    })),
    tasks: names.map((id, at) => ({
      ...{ id, title: `Ask for ${id}`, claims: [`A${at + 1}`], size: 'small', recursion: 1 },
      objective: { behaviour: 'Ask, then write.', outputs: [fileOf(id)], acceptance: ['What was found is there.'] },
      boundaries: { write: [fileOf(id)] },
    })),
  }
  return ({ system, messages }: Pick<Heard, 'system' | 'messages'>): Answer => {
    const asked = messages.map(({ text }) => text).join('\n')
    const [, kind = ''] = /^# Your task: (.+)$/m.exec(system) ?? []
    if (kind === 'the plan') return { signal: 'success', words: 'Many voices.', plan }
    if (kind === 'a text')
      return { signal: 'success', words: 'Said.', text: `answer to ${/Say (\S+)\./.exec(asked)?.[1]}` }
    const [, id = ''] = /^# The task ([a-z-]+):/m.exec(asked) ?? []
    const found = new Set([...asked.matchAll(/^answer to (\S+)/gm)].map(([, about]) => about))
    if (found.size > 0) return done('Write it.', [write(fileOf(id), `${found.size} answers\n`)])
    const fan_out = Array.from({ length: agents }, (_, at) => ({ id: `voice-${at}`, asks: `Say ${id}-${at}.` }))
    return { ...done('Ask first.', []), fan_out }
  }
}

/** A turn with an answer as its only tool call. */
export const saying = (answer: Answer, delay = 0): Turn => ({
  calls: callsOf(answer),
  delay,
})
