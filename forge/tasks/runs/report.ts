/**
 * The report to a user who has to decide: the state of the plan, what was done, the task, how it failed, the supposed
 * cause, the question, and what to type. On the screen it is shortened to fit; the file has all of it.
 */
import { many, visible, visibleLines, wrap } from '../../../core/text.ts'
import { fenced } from '../../ai/fence.ts'
import type { Reference, RunStatus, TaskId, TaskState } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'
import type { RunStore } from './store.ts'

export type Escalation = {
  status: RunStatus
  /** The task; undefined for a report about the whole run. */
  task?: TaskId
  plan?: Plan
  /** The supposed cause of the failures. */
  words: string
  /** How each attempt failed, as far as that was stored. */
  evidence: string[]
  question?: string
  /** Where nothing is asked: the command that continues the run. */
  resume?: string
}

/** Stores the data of a report, so that it can be shown on a screen of any size. */
export async function keepEscalation(store: RunStore, report: Reference, escalation: Escalation): Promise<void> {
  await store.keep('escalations', report.oid, `${JSON.stringify(escalation)}\n`)
}

/**
 * Reads the data of a report; undefined where the reference is no report. It was written by this program and is not
 * validated.
 */
export async function readEscalation(store: RunStore, report: Reference): Promise<Escalation | undefined> {
  const oid = await store.find('escalations', report.oid)
  return oid === undefined ? undefined : ((await store.readJson({ kind: 'escalation', oid })) as Escalation)
}

/** The size of a screen in lines and columns. */
type Screen = { lines: number; columns: number }

const STATES: Record<TaskState, string> = {
  done: 'done',
  runs: 'at work',
  asks: 'asks',
  failed: 'failed',
  paused: 'paused',
  stopped: 'stopped',
  waits: 'waiting',
}

/** Formats the report for one screen. */
export function reportForTerminal(escalation: Escalation, { lines = 40, columns = 100 }: Partial<Screen> = {}): string {
  const { status, task, words, evidence, question } = escalation
  const fixed = [...headOf(escalation, columns), ...statesOf(status, columns, lines >= 32 ? 2 : 1)]
  const last = ['', 'What to type', ...commandsFor(escalation).map(([command]) => cut(`  ${command}`, columns))]
  const left = Math.max(4, lines - fixed.length - last.length)
  // The question is the most important part, the first failure the least.
  const asked = question === undefined ? [] : block('The question', question, Math.ceil(left * 0.35), columns)
  const wrong = block(
    'What went wrong',
    words,
    Math.ceil((left - asked.length) * (evidence.length > 0 ? 0.4 : 1)),
    columns,
  )
  const room = left - asked.length - wrong.length
  const failures = task === undefined ? [] : evidence.slice(-2)
  const each = Math.floor(room / Math.max(failures.length, 1))
  const told = each >= 3 ? failures.flatMap((text, at) => block(nameOf(failures, at), text, each, columns)) : []
  return `${[...fixed, ...told, ...wrong, ...asked, ...last].slice(0, lines).join('\n')}\n`
}

function headOf({ status, task, plan }: Escalation, columns: number): string[] {
  const about = status.tasks.find(({ id }) => id === task)
  const subject = task === undefined ? 'the run' : `task ${task}${about ? `, ${about.title}` : ''}`
  const head = `Run ${status.run} needs a word of yours about ${subject}.`
  const title = plan ? [cut(`Plan: ${visible(plan.title)}`, columns)] : []
  return [...wrap(visible(head), columns).slice(0, 2), ...title]
}

/** The number of tasks in each state, and their names. */
function statesOf({ tasks, spent }: RunStatus, columns: number, most: number): string[] {
  const groups = Map.groupBy(tasks, ({ state }) => state)
  const rows = Object.entries(STATES).flatMap(([state, name]) => {
    const group = groups.get(state as TaskState) ?? []
    if (group.length === 0) return []
    const label = `  ${group.length} ${name}: `
    const names = wrap(group.map(({ id }) => id).join(', '), columns - label.length)
    const shown = names.slice(0, most)
    if (names.length > most) shown.push(`${cut(shown.pop() ?? '', columns - label.length - 2)} …`)
    return shown.map((line, at) => `${at === 0 ? label : ' '.repeat(label.length)}${line}`)
  })
  const cost = spent.cost > 0 ? `, $${spent.cost.toFixed(2)}` : ''
  const used = `  ${many(spent.requests, 'request')} so far, ${many(spent.input + spent.output, 'token')}${cost}`
  return ['', ...rows, used]
}

/** A heading and a text, cut to `most` lines in all. */
function block(heading: string, text: string, most: number, columns: number): string[] {
  const lines = wrap(text, columns - 2).filter((line, at, all) => line !== '' || (at > 0 && all[at - 1] !== ''))
  const room = Math.max(1, most - 2)
  const shown = lines.length > room ? [...lines.slice(0, room - 1), '… (all of it: the report’s file)'] : lines
  return ['', heading, ...shown.slice(0, room).map(line => cut(`  ${line}`, columns))]
}

const nameOf = (failures: readonly string[], at: number): string =>
  failures.length === 1 ? 'How it failed' : at === 0 ? 'The first attempt' : 'The second attempt'

const cut = (line: string, columns: number): string =>
  line.length <= columns ? line : `${line.slice(0, columns - 1).toWellFormed()}…`

/** At most this many files outside of a task's boundaries are offered to be allowed. */
const MAX_FILES_OUTSIDE = 5

/**
 * Files that a task has written outside of its boundaries, according to the reports of its checks. Only plain names:
 * these can be typed on a command line without quotes.
 */
export function filesOutside({ evidence }: Escalation): string[] {
  const said = evidence.flatMap(text => [...text.matchAll(/^- (\w[\w./-]*) is outside of what the task may write$/gm)])
  return [...new Set(said.map(([, path = '']) => path))].slice(0, MAX_FILES_OUTSIDE)
}

/** The commands that the user can type now, and what each does. */
function commandsFor(escalation: Escalation): [command: string, does: string][] {
  const { status, task, resume } = escalation
  const { run } = status
  const outside = task === undefined || resume !== undefined ? [] : filesOutside(escalation)
  const options = outside.map(path => ` --may-write ${path}`).join('')
  const widens: [string, string][] =
    outside.length > 0
      ? [[`forge answer ${run} ${task} "…"${options}`, `lets it write ${outside.join(', ')} from now on`]]
      : []
  return [
    ...widens,
    resume === undefined
      ? [`forge answer ${run}${task === undefined ? '' : ` ${task}`} "…"`, 'answers; it goes on with that']
      : [resume, 'lets it go on'],
    [`forge show ${run} --journal`, 'tells everything that was decided'],
    [
      `forge stop ${run}${task === undefined ? '' : ` ${task}`}`,
      task === undefined ? 'ends the run' : 'gives up this task',
    ],
  ]
}

/** Formats the whole report as Markdown, with untrusted texts in fences. */
export function reportAsMarkdown(escalation: Escalation): string {
  const { status, task, plan, words, evidence, question } = escalation
  const about = status.tasks.find(({ id }) => id === task)
  const planned = plan?.tasks.find(({ id }) => id === task)
  const rows = status.tasks.map(
    it => `| ${it.id} | ${STATES[it.state]} | ${it.attempt} | ${escaped(it.title)} | ${escaped(it.words)} |`,
  )
  const parts = [
    `# Run ${status.run} needs a word of yours${task === undefined ? '' : ` about the task ${task}`}`,
    plan && `Plan: ${escaped(plan.title)}`,
    question !== undefined && `## The question\n\n${quoted(question)}`,
    `## What went wrong\n\n${quoted(words)}`,
    about && `## The task\n\n${task}: ${escaped(about.title)}, attempt ${about.attempt}.`,
    planned && quoted(planned.objective.behaviour),
    ...evidence.map(
      (text, at) => `## ${evidence.length === 1 ? 'How it failed' : `Failure ${at + 1}`}\n\n${quoted(text)}`,
    ),
    rows.length > 0 &&
      `## How the plan stands\n\n| Task | State | Attempt | What | |\n|---|---|---|---|---|\n${rows.join('\n')}`,
    `## What to type\n\n${commandsFor(escalation)
      .map(([command, does]) => `- \`${command}\` ${does}`)
      .join('\n')}`,
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

/** An untrusted text in a fence that nothing in it can close. */
const quoted = (text: string): string => fenced(visibleLines(text.trim()))
const escaped = (text: string): string => visible(text).replace(/[\\`*_[\]<>|#]/g, '\\$&')
