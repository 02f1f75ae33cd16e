/** Draws a run on a terminal: its state, its tasks, and what it has used. */
import { many, short, visible, wrap } from '../../../core/text.ts'
import type { RunState, RunStatus, Spent, TaskState } from '../contract.ts'
import type { Seen } from './look.ts'

/** A sign for each state, whose form says the same as its colour. */
const SIGNS: Record<TaskState, string> = {
  waits: '·',
  runs: '▸',
  asks: '?',
  paused: '=',
  done: '✓',
  failed: '✗',
  stopped: '-',
}
const COLOURS: Record<TaskState, string> = {
  waits: '2',
  runs: '36',
  asks: '33',
  paused: '33',
  done: '32',
  failed: '31',
  stopped: '2',
}

const STATES: Record<RunState, string> = {
  planning: 'is being planned',
  approving: 'waits for its plan to be approved',
  runs: 'runs',
  paused: 'is paused',
  asks: 'waits for an answer',
  done: 'is done',
  failed: 'failed',
  stopped: 'was stopped',
  'out of budget': 'is out of budget',
  unreachable: "can't be reached",
}

/** At most this many lines about the run itself. */
const MAX_HEAD_LINES = 6

export type TerminalLook = { width: number; height: number; hasColours: boolean }

/** A run in at most `height` lines: running and asking tasks are preferred to done and waiting ones. */
export function drawTree(status: Seen, { width, height, hasColours }: TerminalLook): string[] {
  const fits = (line: string) => (line.length > width ? `${line.slice(0, Math.max(width - 1, 0))}…` : line)
  const paint = (line: string, colour: string) => (hasColours ? `\x1b[${colour}m${line}\x1b[0m` : line)
  const head = headOf(status, width)
  const batches = batchWords(status)
  const foot = [fits(usedWords(status)), ...(batches === '' ? [] : [fits(`  ${batches}`)])]
  const room = Math.max(height - head.length - foot.length, 3)
  const chosen = choose(status.tasks, room)
  const idWidth = Math.min(Math.max(...chosen.map(({ id }) => id.length), 0), 30)
  const lines = chosen.map(task => {
    const again = task.attempt > 1 ? ` (attempt ${task.attempt})` : ''
    const what = task.state === 'runs' ? task.doing : task.state === 'waits' ? waitWords(task, status) : task.words
    const says = `${visible(task.title)}${again}${what ? `: ${visible(what)}` : ''}`
    return paint(fits(`  ${SIGNS[task.state]} ${task.id.padEnd(idWidth)}  ${says}`), COLOURS[task.state])
  })
  const left = status.tasks.length - chosen.length
  return [
    ...head,
    ...lines,
    ...(left > 0 ? [fits(`    and ${many(left, 'task')} more: ${taskCounts(status)}`)] : []),
    ...foot,
  ]
}

/** The lines about the run's state. They are not cut, as they say what to type. */
const headOf = (status: RunStatus, width: number): string[] =>
  wrap(stateWords(status), Math.max(width, 20)).slice(0, MAX_HEAD_LINES)

const stateWords = ({ run, state, words }: RunStatus): string =>
  `${run} ${STATES[state]}${words ? `: ${visible(words)}` : ''}`

type Tasks = RunStatus['tasks']

/** The tasks to show: all in the plan's order if there is room, else the most important ones. */
function choose(tasks: Tasks, room: number): Tasks {
  if (tasks.length <= room) return tasks
  const order: TaskState[] = ['asks', 'failed', 'runs', 'paused', 'waits', 'done', 'stopped']
  const rank = new Map(tasks.map((task, at) => [task, order.indexOf(task.state) * tasks.length + at]))
  const chosen = [...tasks].sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0)).slice(0, room - 1)
  return tasks.filter(task => chosen.includes(task))
}

function waitWords({ dependsOn }: Tasks[number], { tasks }: RunStatus): string {
  const open = dependsOn.filter(id => tasks.find(task => task.id === id)?.state !== 'done')
  return open.length > 0 ? `after ${short(open.join(', '), 60)}` : ''
}

/** Counts as in "3 done, 2 run, 10 wait". */
export function taskCounts({ tasks }: RunStatus): string {
  const count = (state: TaskState, word: string) => {
    const found = tasks.filter(task => task.state === state).length
    return found > 0 ? [`${found} ${word}`] : []
  }
  return [
    ...count('done', 'done'),
    ...count('runs', 'under way'),
    ...count('asks', 'asking'),
    ...count('failed', 'failed'),
    ...count('paused', 'paused'),
    ...count('stopped', 'stopped'),
    ...count('waits', 'waiting'),
  ].join(', ')
}

function usedWords(status: Seen, now = Date.now()): string {
  const counts = status.tasks.length > 0 ? `${taskCounts(status)} · ` : ''
  const worked = status.used === undefined ? '' : ` · worked ${(status.used / 60_000).toFixed(1)} minutes`
  const { began, sending } = status
  const asked = sending ? ` · ${sending.count} under way, for ${elapsed(now - sending.since)}` : ''
  const since = began === undefined ? '' : ` · ${elapsed(now - began)} since it began`
  return `  ${counts}${spentInFull(status.spent)}${asked}${worked}${since}`
}

/** How many requests are in batches, and what batches have saved, as a sentence; '' where the run has none. */
export function batchWords({ batch }: Pick<RunStatus, 'batch'>, now = Date.now()): string {
  if (!batch) return ''
  const { out, since = now, answered, saved } = batch
  const money = `$${saved.toFixed(saved < 0.1 ? 4 : 2)}`
  const waits = `${many(out, 'request')} ${out === 1 ? 'is' : 'are'} out in batches, for ${elapsed(now - since)}`
  const came = `${many(answered, 'answer')} came from batches and saved ${money}`
  return [...(out > 0 ? [waits] : []), ...(answered > 0 ? [came] : [])].join('; ')
}

/** A duration as in "12 s", "3 min 5 s", "2 h 10 min". */
function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Usage as in "12 requests, 40,210 tokens, $0.31", without unknown parts. */
export function spentInFull({ requests, input, output, cost }: Spent): string {
  const money = cost > 0 ? [`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`] : []
  return [many(requests, 'request'), many(input + output, 'token'), ...money].join(', ')
}

/** Redraws the same lines on a terminal; elsewhere prints a line for each change. */
export class TerminalDrawing {
  #lines = 0
  #last = ''

  constructor(
    readonly draw: (text: string) => void,
    readonly look: () => TerminalLook,
    readonly isTerminal: boolean,
  ) {}

  show(status: Seen): void {
    if (!this.isTerminal) {
      this.#tell(status)
      return
    }
    const lines = drawTree(status, this.look())
    const text = lines.map(line => `\x1b[2K${line}\n`).join('')
    if (text === this.#last) return
    // Clears the old lines, which may have been longer.
    const back = this.#lines > 0 ? `\x1b[${this.#lines}A\x1b[0J` : ''
    this.draw(`${back}${text}`)
    this.#last = text
    this.#lines = lines.length
  }

  /** Keeps the drawn lines: the next output is written below. */
  leave(): void {
    this.#lines = 0
    this.#last = ''
  }

  readonly #told = new Map<string, string>()

  #tell(status: RunStatus): void {
    const news: string[] = []
    const tell = (name: string, says: string, line: string) => {
      if (this.#told.get(name) === says) return
      this.#told.set(name, says)
      news.push(line)
    }
    tell('', `${status.state} ${status.words}`, `${stateWords(status)}\n`)
    for (const { id, state, attempt, title, words } of status.tasks)
      if (state !== 'waits')
        tell(
          id,
          `${state} ${attempt}`,
          `${SIGNS[state]} ${id}: ${visible(state === 'runs' ? title : words || title)}\n`,
        )
    if (news.length > 0) this.draw(news.join(''))
  }
}
