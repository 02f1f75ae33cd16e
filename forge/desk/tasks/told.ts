/**
 * What `forge … --json` prints, read as a stranger's, and as the desk tells it to its page. A line that is not
 * understood is left out where it is one of many; where it is all there is, that is said.
 */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import {
  Assertion,
  type CheckedPlan,
  JournalLine,
  type Landing,
  LimitName,
  Limits,
  Plan,
  type Run,
  RunId,
  type RunRow,
  RunState,
  type RunTask,
  Spent,
  type Task,
  TaskId,
  TaskState,
} from '../contract/tasks.ts'

/** Texts are cut where nobody reads on: a model may have written them. */
const text = (most: number) =>
  v.pipe(
    v.string(),
    v.transform(words => (words.length > most ? `${words.slice(0, most)} …` : words)),
  )
const Line = text(2_000)
const Page = text(100_000)
const Lines = (most: number) =>
  v.pipe(
    v.array(Line),
    v.transform(lines => lines.slice(0, most)),
  )
/** What a person signs for is never cut: what is longer than anybody reads is not understood. */
const Whole = v.pipe(v.string(), v.maxLength(20_000))
/** A blob of the run, by its kind and id: that there is one is all that is said of it. */
const Reference = v.unknown()

const ToldTask = v.object({
  id: TaskId,
  title: Line,
  state: TaskState,
  attempt: v.number(),
  doing: Line,
  words: Line,
  dependsOn: v.array(TaskId),
  head: v.optional(v.string()),
  unchecked: v.optional(Line),
})

const Status = v.object({
  run: RunId,
  state: RunState,
  words: Line,
  complaints: Lines(100),
  tasks: v.array(ToldTask),
  spent: Spent,
  result: v.optional(v.string()),
  question: v.optional(Reference),
  report: v.optional(Reference),
})
type Status = v.InferOutput<typeof Status>

const Listed = v.object({ run: RunId, wish: Line, status: v.fallback(v.optional(Status), undefined) })

const ToldRun = v.object({
  ...Status.entries,
  wish: Page,
  limits: Limits,
  // A limit of tokens can't be raised by a person.
  limit: v.fallback(v.optional(LimitName), undefined),
  title: v.optional(Line),
  summary: v.optional(Page),
  contract: v.optional(v.array(v.object({ ...Assertion.entries, says: Line, how: Line })), []),
  asks: v.optional(Page),
  tells: v.optional(Page),
  unchecked: v.optional(Line),
  /** Milliseconds since 1970. */
  began: v.optional(v.number()),
})

const PlannedTask = v.object({
  objective: v.object({ behaviour: Page, outputs: Lines(200), acceptance: Lines(50) }),
  boundaries: v.object({ write: Lines(100), never: v.optional(Lines(100), []) }),
  validation: v.optional(
    v.object({
      checks: v.optional(v.array(v.union([Line, v.object({ command: Line })])), []),
      reviews: v.optional(Lines(10), []),
    }),
    {},
  ),
  tier: v.optional(v.string()),
})
const ToldOneTask = v.object({ id: TaskId, asks: v.optional(Page), task: v.optional(PlannedTask) })

const ToldPlan = v.object({
  ...Plan.entries,
  commands: v.array(v.object({ command: Whole, seconds: v.number(), users: v.array(Line) })),
  others: v.array(Whole),
})

/** Milliseconds since 1970. */
const ToldLine = v.object({ ...JournalLine.entries, id: Line, words: Page, why: v.optional(Page), what: text(100) })

const ToldCheckedPlan = v.object({
  complaints: v.array(v.object({ words: Page, line: v.optional(v.number()) })),
  plan: v.optional(ToldPlan),
})

const ToldLanding = v.object({
  onto: v.string(),
  tree: v.optional(v.string()),
  words: v.array(Line),
  doubts: v.optional(Lines(200), []),
  unchecked: v.optional(Line),
})

/** What `forge` tells people on a terminal to type: the page has buttons for it. */
const WHAT_TO_TYPE = /\n*^What to type\n(?: {2}.*\n?)+/m
const TYPE_ANSWER = /\s*\bAnswer it: forge answer .*$/s
const TYPE_COMMAND = /: forge (?:answer|approve|land|resume|run|show|stop) .*$/s

const withoutCommands = (words: string): string =>
  words.replace(WHAT_TO_TYPE, '\n').replace(TYPE_ANSWER, '').replace(TYPE_COMMAND, '.')

/** `forge runs --json`. */
export function readRuns(lines: readonly string[]): RunRow[] {
  return lines.flatMap(line => {
    const listed = v.safeParse(v.pipe(v.string(), v.parseJson(), Listed), line)
    if (!listed.success) return []
    const { run, wish, status } = listed.output
    return [{ run, wish: wish.split('\n', 1)[0] ?? '', ...countsOf(status), mark: digestOf(line) }]
  })
}

function countsOf(status: Status | undefined): Pick<RunRow, 'state' | 'tasks' | 'spent'> {
  const count = (state: TaskState) => status?.tasks.filter(task => task.state === state).length ?? 0
  const tasks = {
    all: status?.tasks.length ?? 0,
    done: count('done'),
    running: count('runs'),
    asking: count('asks'),
  }
  return { tasks, ...(status && { state: status.state, spent: status.spent }) }
}

export const digestOf = (words: string): string =>
  new Bun.CryptoHasher('sha256').update(words).digest('hex').slice(0, 16)

/** `forge show RUN --json`. */
export function readRun(lines: readonly string[]): Run {
  const told = readOne(ToldRun, lines)
  const {
    run,
    state,
    words,
    wish,
    title,
    summary,
    contract,
    complaints,
    spent,
    limits,
    limit,
    asks,
    tells,
    unchecked,
    began,
  } = told
  return {
    ...{ run, state, words: withoutCommands(words), wish, contract, complaints, spent, limits },
    ...(limit && { limit }),
    tasks: told.tasks.map(taskOf),
    hasResult: told.result !== undefined,
    ...(title !== undefined && { title }),
    ...(summary !== undefined && { summary }),
    ...(asks !== undefined && { asks }),
    ...(tells !== undefined && { report: withoutCommands(tells) }),
    ...(unchecked !== undefined && { unchecked }),
    ...(began !== undefined && { began: began / 1000 }),
  }
}

const taskOf = ({ head, attempt, unchecked, ...task }: v.InferOutput<typeof ToldTask>): RunTask => ({
  ...task,
  words: withoutCommands(task.words),
  ...(unchecked !== undefined && { unchecked }),
  attempt: Math.max(0, Math.trunc(attempt)),
  hasResult: head !== undefined,
})

/** `forge show RUN --plan --json`. */
export const readPlan = (lines: readonly string[]): Plan => readOne(ToldPlan, lines)

/** `forge plan RUN --file PLAN --json`. */
export const readCheckedPlan = (lines: readonly string[]): CheckedPlan => readOne(ToldCheckedPlan, lines)

/** `forge show RUN TASK --json`. */
export function readTask(lines: readonly string[]): Task {
  const { id, asks, task } = readOne(ToldOneTask, lines)
  const { objective, boundaries, validation, tier } = task ?? {}
  return {
    id,
    outputs: objective?.outputs ?? [],
    acceptance: objective?.acceptance ?? [],
    write: boundaries?.write ?? [],
    never: boundaries?.never ?? [],
    checks: validation?.checks.map(check => (typeof check === 'string' ? check : check.command)) ?? [],
    reviews: validation?.reviews ?? [],
    ...(asks !== undefined && { asks }),
    ...(objective && { behaviour: objective.behaviour }),
    ...(tier !== undefined && { tier }),
  }
}

/** The newest of a long journal are shown. */
const MOST_LINES = 2_000

/** `forge show RUN [TASK] --journal --json`. */
export function readJournal(lines: readonly string[]): JournalLine[] {
  return lines.slice(-MOST_LINES).flatMap(line => {
    const told = v.safeParse(v.pipe(v.string(), v.parseJson(), ToldLine), line)
    if (!told.success) return []
    return [{ ...told.output, words: withoutCommands(told.output.words), at: told.output.at / 1000 }]
  })
}

/** `forge land RUN [TASK] --json`. */
export function readLanding(lines: readonly string[]): Landing {
  const { tree, words, doubts, unchecked } = readOne(ToldLanding, lines)
  return { words, doubts, ...(tree !== undefined && { tree }), ...(unchecked !== undefined && { unchecked }) }
}

/** The one thing that was said. */
function readOne<Schema extends v.GenericSchema>(schema: Schema, lines: readonly string[]): v.InferOutput<Schema> {
  const told = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), lines.at(-1) ?? '')
  if (told.success) return told.output
  throw new Failure('The desk does not understand what forge says of this run: are both of one version?')
}
