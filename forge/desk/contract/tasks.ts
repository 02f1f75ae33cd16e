/**
 * What the desk's page is told about runs of the tasks. The desk and the tasks share no code: all of this is what the
 * command `forge` prints (forge/formats/tasks-json.ts), with texts cut to what a page shows.
 *
 * Texts are a model's or a stranger's, and shown as such. Times are seconds since 1970, money is in US dollars.
 */
import * as v from 'valibot'
import {
  CheckedPlan,
  Limits,
  PlanAssertion,
  type PlannedTask,
  RunId,
  RunState,
  resultBranch,
  ShownLanding,
  ShownPlan,
  Spent,
  TaskId,
  TaskState,
  WrittenLine,
} from '../../formats/tasks-json.ts'
import { question, repeatable } from './question.ts'
import { Branch, Count, Oid } from './values.ts'

export {
  type CheckedPlan,
  type PlanAssertion,
  type PlannedTask,
  type RunState,
  resultBranch,
  type ShownPlan,
  type TaskState,
}

/** A run in the list. */
export const RunRow = v.object({
  run: RunId,
  wish: v.string(),
  /** Undefined for a run without a known status. */
  state: v.optional(RunState),
  tasks: v.object({ all: Count, done: Count, running: Count, asking: Count }),
  spent: v.optional(Spent),
  /** Another one where something of the run is different. */
  mark: v.string(),
})
export type RunRow = v.InferOutput<typeof RunRow>

/** All runs, the newest first; `missing`: why there can be none, as a sentence. */
export const Runs = v.object({ missing: v.optional(v.string()), runs: v.array(RunRow) })
export type Runs = v.InferOutput<typeof Runs>

export const RunTask = v.object({
  id: TaskId,
  title: v.string(),
  state: TaskState,
  attempt: Count,
  /** What it does just now. */
  doing: v.string(),
  /** Why it is as it is, where that is not plain. */
  words: v.string(),
  dependsOn: v.array(TaskId),
  /** Its result: the commit that has passed. It is a branch until the run has a result of all its tasks. */
  tip: v.optional(Oid),
  /** Why that counts as not checked by this user, as the end of a sentence, where it does. */
  unchecked: v.optional(v.string()),
})
export type RunTask = v.InferOutput<typeof RunTask>

/** What a run may be out of, and a person can give it more of on the page. */
export const RaisableLimit = v.picklist(['cost', 'requests', 'minutes'])
export type RaisableLimit = v.InferOutput<typeof RaisableLimit>

export const Run = v.object({
  run: RunId,
  state: RunState,
  words: v.string(),
  wish: v.string(),
  /** Of the plan, where there is one. */
  title: v.optional(v.string()),
  summary: v.optional(v.string()),
  contract: v.array(PlanAssertion),
  /** What the linter says of the last plan. */
  complaints: v.array(v.string()),
  tasks: v.array(RunTask),
  spent: Spent,
  limits: v.pick(Limits, ['cost', 'requests', 'minutes']),
  /** What it is out of, where it is out of budget. */
  limit: v.optional(RaisableLimit),
  /** What the run as a whole asks. */
  asks: v.optional(v.string()),
  /** The report to a person whose word is needed. */
  report: v.optional(v.string()),
  /** Whether there is a branch of all results together. */
  hasResult: v.boolean(),
  /** Why that counts as not checked by this user, as the end of a sentence, where it does. */
  unchecked: v.optional(v.string()),
  /** When it was begun, while it is at work. */
  began: v.optional(v.number()),
})
export type Run = v.InferOutput<typeof Run>

/** A task as it was planned. */
export const TaskDetail = v.object({
  id: TaskId,
  asks: v.optional(v.string()),
  behaviour: v.optional(v.string()),
  outputs: v.array(v.string()),
  acceptance: v.array(v.string()),
  /** Files that it may write, and must not. */
  write: v.array(v.string()),
  never: v.array(v.string()),
  checks: v.array(v.string()),
  reviews: v.array(v.string()),
  tier: v.optional(v.string()),
})
export type TaskDetail = v.InferOutput<typeof TaskDetail>

/** One decision. */
export const JournalLine = v.object({
  ...v.pick(WrittenLine, ['id', 'task', 'attempt', 'what', 'words', 'why']).entries,
  at: v.number(),
})
export type JournalLine = v.InferOutput<typeof JournalLine>

/** What a landing would show. */
export const Landing = v.omit(ShownLanding, ['onto'])
export type Landing = v.InferOutput<typeof Landing>

/** A plan as a file: larger ones are no plans that anybody edits. */
const PlanText = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000_000))
/** The sign of a plan that was shown. */
const Seen = v.pipe(v.string(), v.regex(/^[0-9a-f]{40}$/))
/** Globs or paths that a person adds to a task. */
const Additions = v.optional(
  v.pipe(v.array(v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(500))), v.maxLength(50)),
)

/** What a person tells a run; the answer is what `forge` said, line by line. */
export const TasksWord = v.variant('tell', [
  v.object({
    tell: v.literal('answer'),
    run: RunId,
    task: v.optional(TaskId),
    text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(20_000)),
    /** Files that the task may write besides, as globs, and files that it is given besides. */
    mayWrite: Additions,
    with: Additions,
  }),
  /** The plan from now on. `seen`: the sign of it as it was shown; where that is another by now, nothing is done. */
  v.object({ tell: v.literal('plan'), run: RunId, text: PlanText, seen: Seen }),
  /** `seen`: the sign of the plan that was shown. Where it is another by now, nothing is done. */
  v.object({ tell: v.literal('approve'), run: RunId, seen: Seen }),
  v.object({ tell: v.literal('pause'), run: RunId, task: v.optional(TaskId) }),
  v.object({
    tell: v.literal('resume'),
    run: RunId,
    task: v.optional(TaskId),
    /** What all of it may take from now on: in US dollars, requests or minutes. */
    limits: v.optional(
      v.partial(
        v.object({
          cost: v.pipe(v.number(), v.minValue(0.01), v.maxValue(999_999)),
          requests: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999_999_999)),
          minutes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999_999_999)),
        }),
      ),
    ),
  }),
  v.object({ tell: v.literal('stop'), run: RunId, task: v.optional(TaskId) }),
  /**
   * `tree`: what was shown to come of it. Where it is another by now, nothing is done. `anyway`: the person was told
   * that it was not checked.
   */
  v.object({
    tell: v.literal('land'),
    run: RunId,
    task: v.optional(TaskId),
    onto: Branch,
    tree: Oid,
    anyway: v.optional(v.literal(true)),
  }),
])
export type TasksWord = v.InferOutput<typeof TasksWord>

const task = v.optional(TaskId)

/** Nothing is begun or started by looking. */
export const tasksQuestions = {
  /** Another mark where the refs of runs are different. It is cheap to ask for. */
  'tasks mark': repeatable({}, v.object({ mark: v.string() })),
  'tasks runs': repeatable({}, Runs),
  'tasks run': repeatable({ run: RunId }, Run),
  'tasks plan': repeatable({ run: RunId }, ShownPlan),
  /** Changes nothing. */
  'tasks plan check': repeatable({ run: RunId, text: PlanText }, CheckedPlan),
  'tasks task': repeatable({ run: RunId, task: TaskId }, TaskDetail),
  'tasks journal': repeatable({ run: RunId, task }, v.array(JournalLine)),
  'tasks landing': repeatable({ run: RunId, task, onto: Branch }, Landing),
  /** What `forge` said to it, line by line. */
  'tell tasks': question({ word: TasksWord }, v.object({ words: v.array(v.string()) })),
}
