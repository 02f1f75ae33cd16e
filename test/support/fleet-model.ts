/** A plan of tasks that each write one file, and the model's answers, for runs on several machines. It has no state. */
import type { Heard, Turn } from '../doubles/model-server.ts'
import { saying } from './chaos-model.ts'

/** A plan of `tasks` notes; the last one is written after all others, where it is `isLast`. */
export function notesPlan(tasks: number, { isLast = false } = {}) {
  const ids = Array.from({ length: tasks }, (_, at) => `note-${at + 1}`)
  return {
    title: 'Notes',
    summary: 'A file for each task.',
    contract: ids.map((id, at) => ({
      ...{ id: `A${at + 1}`, says: `${id} is there.` },
      how: { kind: 'command', command: `grep -q "${id}" ${id}.md` },
    })),
    tasks: ids.map((id, at) => ({
      ...{ id, title: `Write ${id}`, claims: [`A${at + 1}`], size: 'small' },
      objective: { behaviour: 'Write it.', outputs: [`${id}.md`], acceptance: ['It is there.'] },
      boundaries: { write: [`${id}.md`] },
      depends_on: isLast && at === tasks - 1 ? ids.slice(0, -1) : [],
    })),
  }
}

/** The files that the tasks of {@link notesPlan} write. */
export const notesOf = (tasks: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: tasks }, (_, at) => [`note-${at + 1}.md`, `# note-${at + 1}\n`]))

/** The model's answers for {@link notesPlan}: the plan at once, the rest after `delay` milliseconds. */
export function notesScript(tasks: number, { delay = 0, isLast = false } = {}): (heard: Heard) => Turn {
  const plan = notesPlan(tasks, { isLast })
  return ({ system, messages }) => {
    const asked = messages.map(({ text }) => text).join('\n')
    const [, kind = ''] = /^# Your task: (.+)$/m.exec(system) ?? []
    if (kind === 'the plan') return saying({ signal: 'success', words: 'Notes.', plan })
    const [, id] = /^# The task ([a-z0-9-]+):/m.exec(asked) ?? []
    if (id === undefined)
      return saying({ signal: 'success', words: 'It goes well.', text: 'It goes well.', verdict: 'valid' })
    const edits = [{ kind: 'write', path: `${id}.md`, content: `# ${id}\n` }]
    return saying({ signal: 'success', words: `Write ${id}.`, edits }, delay)
  }
}
