/**
 * What the page can ask about runs of the tasks. The desk and the tasks share no code: the data is the output of the
 * command `forge` (forge/formats/tasks-json.ts), with texts cut to what a page shows.
 *
 * Texts are from models or strangers, and untrusted. Times are seconds since 1970, costs are in US dollars.
 */
import * as v from 'valibot'
import {
  CheckedPlan,
  InBatches,
  Limits,
  ListedLesson,
  PlanAssertion,
  type PlannedTask,
  RunId,
  RunState,
  resultBranch,
  ShownLanding,
  ShownPlan,
  Spent,
  StartedRun,
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
  /** The run's state; undefined if it is unknown. */
  state: v.optional(RunState),
  tasks: v.object({ all: Count, done: Count, running: Count, asking: Count }),
  spent: v.optional(Spent),
  /** A value that changes whenever the run does. */
  mark: v.string(),
})
export type RunRow = v.InferOutput<typeof RunRow>

/** All runs, newest first; `missing`: why there can be none, as a sentence. */
export const Runs = v.object({ missing: v.optional(v.string()), runs: v.array(RunRow) })
export type Runs = v.InferOutput<typeof Runs>

export const RunTask = v.object({
  id: TaskId,
  title: v.string(),
  state: TaskState,
  attempt: Count,
  /** The task's current action. */
  doing: v.string(),
  /** A sentence that explains the task's state, if necessary; else ''. */
  words: v.string(),
  dependsOn: v.array(TaskId),
  /** The task's result: the commit that passed. It has a branch until the run has a result of all its tasks. */
  tip: v.optional(Oid),
  /** Why it is not certain that this user's own worker has checked the result, as the end of a sentence. */
  unchecked: v.optional(v.string()),
})
export type RunTask = v.InferOutput<typeof RunTask>

/** The limits that a run can reach, and that can be raised on the page. */
export const RaisableLimit = v.picklist(['cost', 'requests', 'minutes'])
export type RaisableLimit = v.InferOutput<typeof RaisableLimit>

export const Run = v.object({
  run: RunId,
  state: RunState,
  words: v.string(),
  wish: v.string(),
  /** The models that the run was asked for with, a line for each of their tiers; undefined where it has none. */
  models: v.optional(v.array(v.string())),
  /** The plan's title, if there is a plan. */
  title: v.optional(v.string()),
  /** The plan's summary, if there is a plan. */
  summary: v.optional(v.string()),
  contract: v.array(PlanAssertion),
  /** The linter's messages about the last plan. */
  complaints: v.array(v.string()),
  tasks: v.array(RunTask),
  spent: Spent,
  /** The run's requests in batches. `since` is in milliseconds since 1970, unlike other times here. */
  batch: v.optional(InBatches),
  limits: v.pick(Limits, ['cost', 'requests', 'minutes']),
  /** The limit that was reached, if the run is out of budget. */
  limit: v.optional(RaisableLimit),
  /** The question to the user about the run as a whole. */
  asks: v.optional(v.string()),
  /** The report of the checks of the combined result, once the run is done. */
  report: v.optional(v.string()),
  /** Whether there is a branch with the result of all tasks. */
  hasResult: v.boolean(),
  /** Why it is not certain that this user's own worker has checked the result, as the end of a sentence. */
  unchecked: v.optional(v.string()),
  /** When the run's current work began, in seconds since 1970; undefined while it is not active. */
  began: v.optional(v.number()),
  /** Whether the run resolves a merge in parts, so that a person can finish it on the desk. */
  merges: v.optional(v.literal(true)),
})
export type Run = v.InferOutput<typeof Run>

/** A task as planned. */
export const TaskDetail = v.object({
  id: TaskId,
  asks: v.optional(v.string()),
  /** Files that the task has written outside of its boundaries, where it asks because of that. */
  outside: v.optional(v.array(v.string())),
  behaviour: v.optional(v.string()),
  outputs: v.array(v.string()),
  acceptance: v.array(v.string()),
  /** The files that the task may write, as globs. */
  write: v.array(v.string()),
  /** The files that the task must not write, as globs. */
  never: v.array(v.string()),
  checks: v.array(v.string()),
  reviews: v.array(v.string()),
  tier: v.optional(v.string()),
})
export type TaskDetail = v.InferOutput<typeof TaskDetail>

/** An entry of the journal. */
export const JournalLine = v.object({
  ...v.pick(WrittenLine, ['id', 'task', 'attempt', 'what', 'words', 'why']).entries,
  at: v.number(),
})
export type JournalLine = v.InferOutput<typeof JournalLine>

/** The preview of a landing: what merging a run's or a task's result into the user's branch would change. */
export const Landing = v.omit(ShownLanding, ['onto'])
export type Landing = v.InferOutput<typeof Landing>

/** A lesson that runs have learned. */
export const Lesson = v.pick(ListedLesson, ['id', 'title', 'says', 'date', 'given', 'firstTry', 'retired', 'text'])
export type Lesson = v.InferOutput<typeof Lesson>
const LessonId = v.pipe(v.string(), v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/), v.maxLength(60))

/** The text of a plan's file. A text of more characters is refused. */
const PlanText = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000_000))
/** The hash of a plan that was shown. */
const Seen = v.pipe(v.string(), v.regex(/^[0-9a-f]{40}$/))
/** Globs or paths that the user adds to a task. */
const Additions = v.optional(
  v.pipe(v.array(v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(500))), v.maxLength(50)),
)

/** Answers and decisions for a run; the reply is the output of `forge`, by line. */
export const TasksWord = v.variant('tell', [
  v.object({
    tell: v.literal('answer'),
    run: RunId,
    task: v.optional(TaskId),
    text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(20_000)),
    /** Additional files that the task may write, as globs. */
    mayWrite: Additions,
    /** Additional files whose content the task's requests contain. */
    with: Additions,
    /** The answer allows no files that its text names and the task may not write; without this, `forge` refuses it. */
    onlyWords: v.optional(v.literal(true)),
  }),
  /** Replaces the plan. `seen`: the hash of the plan that was shown; if the plan has changed since, nothing is done. */
  v.object({ tell: v.literal('plan'), run: RunId, text: PlanText, seen: Seen }),
  /** Has the planner change the plan of a run that is under way; the changed plan waits for approval. */
  v.object({
    tell: v.literal('replan'),
    run: RunId,
    text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(20_000)),
  }),
  /** `seen`: the hash of the plan that was shown; if the plan has changed since, nothing is done. */
  v.object({ tell: v.literal('approve'), run: RunId, seen: Seen }),
  v.object({ tell: v.literal('pause'), run: RunId, task: v.optional(TaskId) }),
  v.object({
    tell: v.literal('resume'),
    run: RunId,
    task: v.optional(TaskId),
    /** New limits of the whole run: US dollars, requests or minutes. */
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
  /** Replaces a lesson. `text`: the new content of the lesson's file. */
  v.object({
    tell: v.literal('edit lesson'),
    id: LessonId,
    text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(20_000)),
  }),
  v.object({ tell: v.literal('remove lesson'), id: LessonId }),
  /**
   * `tree`: the tree in the preview; if the result is another tree by now, nothing is done. `anyway`: land a result
   * that is not checked, as the user was told.
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

/** The tiers of models, from high to low. */
export const TIERS = ['reasoning', 'generation', 'summarization', 'classification'] as const
export type Tier = (typeof TIERS)[number]

const byTier = <Value>(value: Value) => ({
  reasoning: value,
  generation: value,
  summarization: value,
  classification: value,
})
/** A model's name, or several with commas. `forge` checks it. */
const Model = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(500), v.regex(/^[^\p{Cc}]*$/u))

/** A run to start. `cost`: its budget in US dollars; forge's default if undefined. */
const newRun = {
  wish: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200_000)),
  base: Branch,
  cost: v.optional(v.pipe(v.number(), v.minValue(0.01), v.maxValue(999_999))),
  /** How many minutes it may work; no limit if undefined. */
  minutes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(999_999_999))),
  /** How many tasks may run at the same time. */
  atMost: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)),
  /** Whether the requests of the work are sent in batches. */
  isBatched: v.boolean(),
  /** The models to ask in this run, by tier; for other tiers those of the settings. */
  models: v.optional(v.partial(v.object(byTier(Model)))),
}

const task = v.optional(TaskId)

/** The requests of the page about tasks. All only read, except the last four, which start or change something. */
export const tasksQuestions = {
  /** A value that changes whenever the refs of runs do, and the runs that have refs, newest first; cheap to ask for. */
  'tasks mark': repeatable({}, v.object({ mark: v.string(), runs: v.array(RunId) })),
  'tasks runs': repeatable({}, Runs),
  'tasks run': repeatable({ run: RunId }, Run),
  'tasks plan': repeatable({ run: RunId }, ShownPlan),
  /** Lints an edited plan, and changes nothing. */
  'tasks plan check': repeatable({ run: RunId, text: PlanText }, CheckedPlan),
  'tasks task': repeatable({ run: RunId, task: TaskId }, TaskDetail),
  'tasks journal': repeatable({ run: RunId, task }, v.array(JournalLine)),
  'tasks lessons': repeatable({}, v.array(Lesson)),
  'tasks landing': repeatable({ run: RunId, task, onto: Branch }, Landing),
  /** Starts a run. The reply comes before its plan is made, with the warnings of `forge`. */
  'start run': question(newRun, StartedRun),
  /** Starts a run that continues the merge of a run of Forklift in parts; its plan waits for approval. */
  'resolve in parts': question({ forklift: v.pipe(v.string(), v.regex(/^[\w.-]{1,300}$/)) }, StartedRun),
  /** Opens the merge of a run as a branch in which it waits, with what is resolved, and returns the branch. */
  'open merge': question({ run: RunId }, v.object({ branch: Branch })),
  /** Gives a run a command of the user. The reply has the output of `forge`, by line. */
  'tell tasks': question({ word: TasksWord }, v.object({ words: v.array(v.string()) })),
}
