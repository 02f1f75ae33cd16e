/** The states of runs and tasks as signs and words, and untrusted text made safe to show. */
import type { JournalLine, RunRow, RunState, RunTask, TaskState } from '../../contract/tasks.ts'
import { money } from '../ui/figures.ts'
import type { IconName } from '../ui/icons.tsx'
import { visible } from '../ui/names.ts'

export interface StateSign {
  icon: IconName
  tone: string
  word: string
}

export const TASK_SIGNS: Record<TaskState, StateSign> = {
  waits: { icon: 'dashed', tone: '', word: 'waiting' },
  runs: { icon: 'arc', tone: 'by-ai spin', word: 'running' },
  asks: { icon: 'question', tone: 'is-warn', word: 'waiting for you' },
  paused: { icon: 'pause', tone: '', word: 'paused' },
  done: { icon: 'check', tone: 'is-ok', word: 'passed' },
  failed: { icon: 'alert', tone: 'is-bad', word: 'failed' },
  stopped: { icon: 'stop', tone: '', word: 'stopped' },
}

export const RUN_SIGNS: Record<RunState, StateSign> = {
  planning: { icon: 'arc', tone: 'by-ai spin', word: 'planning' },
  approving: { icon: 'question', tone: 'is-warn', word: 'plan to approve' },
  runs: { icon: 'arc', tone: 'by-ai spin', word: 'running' },
  paused: { icon: 'pause', tone: '', word: 'paused' },
  asks: { icon: 'question', tone: 'is-warn', word: 'waiting for you' },
  done: { icon: 'check', tone: 'is-ok', word: 'done' },
  failed: { icon: 'alert', tone: 'is-bad', word: 'failed' },
  stopped: { icon: 'stop', tone: '', word: 'stopped' },
  'out of budget': { icon: 'warning', tone: 'is-warn', word: 'out of budget' },
  unreachable: { icon: 'warning', tone: 'is-warn', word: 'unreachable' },
}

const UNKNOWN: StateSign = { icon: 'dashed', tone: '', word: 'not running' }

export const runSign = ({ state }: Pick<RunRow, 'state'>): StateSign => (state ? RUN_SIGNS[state] : UNKNOWN)

/** The state of a task in a few words. */
export function taskWords(task: RunTask, tasks: readonly RunTask[]): string {
  const { word } = TASK_SIGNS[task.state]
  const again = task.attempt > 1 ? `attempt ${task.attempt}` : ''
  if (task.state === 'runs') return [again, task.doing].filter(Boolean).join(' · ') || word
  if (task.state === 'waits') {
    const open = task.dependsOn.filter(id => tasks.find(other => other.id === id)?.state !== 'done')
    return open.length > 0 ? `after ${open.join(', ')}` : word
  }
  return [word, again].filter(Boolean).join(' · ')
}

const JOURNAL_SIGNS: Record<string, Omit<StateSign, 'word'>> = {
  asks: { icon: 'bot', tone: 'by-ai' },
  begins: { icon: 'chevron-right', tone: '' },
  approved: { icon: 'user', tone: '' },
  answered: { icon: 'user', tone: '' },
  success: { icon: 'check', tone: '' },
  passed: { icon: 'check', tone: 'is-ok' },
  failed: { icon: 'alert', tone: 'is-bad' },
  halted: { icon: 'alert', tone: 'is-bad' },
  confused: { icon: 'alert', tone: 'is-bad' },
  degraded: { icon: 'warning', tone: 'is-warn' },
  failure_retryable: { icon: 'alert', tone: 'is-bad' },
  failure_terminal: { icon: 'alert', tone: 'is-bad' },
  blocked_on_human: { icon: 'question', tone: 'is-warn' },
  blocked_on_sibling: { icon: 'hourglass', tone: '' },
  batch: { icon: 'hourglass', tone: '' },
  'batch answers': { icon: 'check', tone: '' },
  'batch lost': { icon: 'warning', tone: 'is-warn' },
  paused: { icon: 'pause', tone: '' },
  stopped: { icon: 'stop', tone: '' },
}

/** Journal entries after which a question is closed. */
const ANSWERS = ['answered', 'approved', 'passed', 'failed', 'stopped', 'success']

/** Whether the question in a journal line was answered, or became irrelevant, by a later line of the journal. */
export const isAnswered = (line: JournalLine, later: readonly JournalLine[]): boolean =>
  later.some(({ what, task }) => task === line.task && ANSWERS.includes(what))

/**
 * The sign of a journal line. `asks` is a question to the user if its id ends with /asks, else a step's request to a
 * model. Only an open question is amber.
 */
export function journalSign({ what, id }: JournalLine, isSettled: boolean): Omit<StateSign, 'word'> {
  if (what === 'asks' && id.endsWith('/asks')) return { icon: 'question', tone: isSettled ? '' : 'is-warn' }
  if (what === 'blocked_on_human' && isSettled) return { icon: 'question', tone: '' }
  return JOURNAL_SIGNS[what] ?? { icon: 'commit', tone: '' }
}

/** The cost, if the provider has prices; else the number of requests. */
export function spentWords({ cost, requests }: { cost: number; requests: number }): string {
  const price = cost > 0 ? money(cost) : undefined
  return price ?? (requests === 0 ? '' : `${requests.toLocaleString('en')} ${requests === 1 ? 'request' : 'requests'}`)
}

/** Shows text of several lines, with invisible characters escaped. */
export function Told({ text, class: look = '' }: { text: string; class?: string }) {
  return <div class={`told ${look}`}>{text.trim().split('\n').map(visible).join('\n')}</div>
}
