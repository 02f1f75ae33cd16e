/**
 * Converts the output of `forge … --json` for the page: texts are cut to what a page shows, and sentences that name
 * commands to type are removed. An invalid line among many is skipped; if it is the only one, that is an error.
 */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import {
  CheckedPlan,
  ListedLesson,
  ListedRun,
  ShownLanding,
  ShownPlan,
  ShownRun,
  ShownTask,
  StartedRun,
  WrittenLine,
} from '../../formats/tasks-json.ts'
import {
  type JournalLine,
  type Landing,
  type Lesson,
  RaisableLimit,
  type Run,
  type RunRow,
  type RunTask,
  type TaskDetail,
  type TaskState,
  TIERS,
} from '../contract/tasks.ts'

/**
 * The most characters that are shown of a text on one line (a title, a sentence), and of a longer one (a wish, a
 * report).
 */
const [MAX_LINE_CHARS, MAX_PAGE_CHARS] = [2_000, 100_000]
/** Text that the user signs is never cut: a plan with a command longer than this is not shown. */
const MAX_COMMAND_CHARS = 20_000
const MAX_COMPLAINTS = 100
/** At most this many lines of a journal are shown, the newest. */
const MAX_JOURNAL_LINES = 2_000

const cut = (words: string, most: number): string => (words.length > most ? `${words.slice(0, most)} …` : words)
const line = (words: string): string => cut(words, MAX_LINE_CHARS)
const page = (words: string): string => cut(words, MAX_PAGE_CHARS)

/** Text that tells terminal users what to type: the page has buttons for it. */
const WHAT_TO_TYPE = /\n*^What to type\n(?: {2}.*\n?)+/m
const TYPE_ANSWER = /\s*\bAnswer it: forge answer .*$/s
const TYPE_COMMAND = /: forge (?:answer|approve|land|resume|run|show|stop) .*$/s

const withoutCommands = (words: string): string =>
  words.replace(WHAT_TO_TYPE, '\n').replace(TYPE_ANSWER, '').replace(TYPE_COMMAND, '.')

/** Parses the output of `forge playbooks --json`. */
export function toldLessons(lines: readonly string[]): Lesson[] {
  return lines.flatMap(text => {
    const listed = v.safeParse(v.pipe(v.string(), v.parseJson(), ListedLesson), text)
    if (!listed.success) return []
    const { id, title, says, date, given, firstTry, retired, text: file } = listed.output
    const shown = { id, title: line(title), says: line(says), date, given, firstTry, text: file }
    return [{ ...shown, ...(retired !== undefined && { retired }) }]
  })
}

/** Parses the output of `forge runs --json`. */
export function toldRuns(lines: readonly string[]): RunRow[] {
  return lines.flatMap(text => {
    const listed = v.safeParse(v.pipe(v.string(), v.parseJson(), ListedRun), text)
    if (!listed.success) return []
    const { run, wish, status } = listed.output
    return [{ run, wish: line(wish.split('\n', 1)[0] ?? ''), ...countsOf(status), mark: digestOf(text) }]
  })
}

function countsOf(status: ListedRun['status']): Pick<RunRow, 'state' | 'tasks' | 'spent'> {
  const count = (state: TaskState) => status?.tasks.filter(task => task.state === state).length ?? 0
  const tasks = {
    all: status?.tasks.length ?? 0,
    done: count('done'),
    running: count('runs'),
    asking: count('asks'),
  }
  return { tasks, state: status?.state, spent: status?.spent }
}

export const digestOf = (words: string): string =>
  new Bun.CryptoHasher('sha256').update(words).digest('hex').slice(0, 16)

/** Parses the output of `forge run --detach --json`. */
export function toldStart(lines: readonly string[]): StartedRun {
  const { run, notes } = readOne(StartedRun, lines)
  return { run, notes: notes.map(line) }
}

/** Parses the output of `forge show RUN --json`. */
export function toldRun(lines: readonly string[]): Run {
  const { contract = [], limits, limit, ...told } = readOne(ShownRun, lines)
  const { cost, requests, minutes } = limits
  return {
    run: told.run,
    state: told.state,
    words: withoutCommands(line(told.words)),
    wish: page(told.wish),
    models: told.models && modelsOf(told.models),
    title: told.title && line(told.title),
    summary: told.summary && page(told.summary),
    contract: contract.map(it => ({ ...it, says: line(it.says), how: line(it.how) })),
    complaints: told.complaints.slice(0, MAX_COMPLAINTS).map(line),
    tasks: told.tasks.map(taskOf),
    spent: told.spent,
    batch: told.batch,
    limits: { cost, requests, minutes },
    limit: v.is(RaisableLimit, limit) ? limit : undefined,
    asks: told.asks && page(told.asks),
    report: told.tells && withoutCommands(page(told.tells)),
    hasResult: told.result !== undefined,
    unchecked: told.unchecked && line(told.unchecked),
    began: told.began === undefined ? undefined : told.began / 1000,
    ...(told.merges && { merges: true as const }),
  }
}

const modelsOf = (models: NonNullable<ShownRun['models']>): string[] =>
  TIERS.flatMap(tier => (models[tier] ? [line(`${tier}: ${models[tier].join(', ')}`)] : []))

const taskOf = (task: ShownRun['tasks'][number]): RunTask => ({
  id: task.id,
  title: line(task.title),
  state: task.state,
  attempt: task.attempt,
  doing: line(task.doing),
  words: withoutCommands(line(task.words)),
  dependsOn: task.dependsOn,
  tip: task.head,
  unchecked: task.unchecked && line(task.unchecked),
})

/** Parses the output of `forge show RUN --plan --json`. */
export const toldPlan = (lines: readonly string[]): ShownPlan => verified(readOne(ShownPlan, lines))

function verified(plan: ShownPlan): ShownPlan {
  const commands = [...plan.commands.map(({ command }) => command), ...plan.others]
  if (commands.some(command => command.length > MAX_COMMAND_CHARS)) throw notUnderstood()
  return plan
}

/** Parses the output of `forge plan RUN --file PLAN --json`. */
export function toldCheckedPlan(lines: readonly string[]): CheckedPlan {
  const { complaints, plan } = readOne(CheckedPlan, lines)
  return { complaints: complaints.map(it => ({ ...it, words: page(it.words) })), plan: plan && verified(plan) }
}

/** Parses the output of `forge show RUN TASK --json`. */
export function toldTask(lines: readonly string[]): TaskDetail {
  const { id, asks, outside, task } = readOne(ShownTask, lines)
  const { objective, boundaries, validation, tier } = task ?? {}
  return {
    id,
    asks: asks && page(asks),
    outside,
    behaviour: objective && page(objective.behaviour),
    outputs: objective?.outputs ?? [],
    acceptance: objective?.acceptance ?? [],
    write: boundaries?.write ?? [],
    never: boundaries?.never ?? [],
    checks: validation?.checks.map(check => (typeof check === 'string' ? check : check.command)) ?? [],
    reviews: validation?.reviews ?? [],
    tier,
  }
}

/** Parses the output of `forge show RUN [TASK] --journal --json`. */
export function toldJournal(lines: readonly string[]): JournalLine[] {
  return lines.slice(-MAX_JOURNAL_LINES).flatMap(text => {
    const told = v.safeParse(v.pipe(v.string(), v.parseJson(), WrittenLine), text)
    if (!told.success) return []
    const { id, at, task, attempt, what, words, why } = told.output
    return [{ id, task, attempt, what, words: withoutCommands(page(words)), why: why && page(why), at: at / 1000 }]
  })
}

/** Parses the output of `forge land RUN [TASK] --json`. */
export function toldLanding(lines: readonly string[]): Landing {
  const { tree, words, doubts, unchecked } = readOne(ShownLanding, lines)
  return { tree, words: words.map(line), doubts: doubts.map(line), unchecked: unchecked && line(unchecked) }
}

/** The single object of the output. */
function readOne<Schema extends v.GenericSchema>(schema: Schema, lines: readonly string[]): v.InferOutput<Schema> {
  const told = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), lines.at(-1) ?? '')
  if (told.success) return told.output
  throw notUnderstood()
}

const notUnderstood = (): Failure =>
  new Failure('The desk does not understand what forge says of this run: are both of one version?')
