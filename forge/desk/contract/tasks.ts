/**
 * What the desk's page is told about runs of the tasks. The desk and the tasks share no code: all of this is what the
 * command `forge` says, as far as the desk understands it.
 *
 * Texts are a model's or a stranger's, and shown as such. Times are seconds since 1970, money is in US dollars.
 */
import * as v from 'valibot'
import { question, repeatable } from './question.ts'
import { Branch, Count, Oid } from './values.ts'

/** Both become words of a command line: they can't be options. */
export const RunId = v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,79}$/))
export const TaskId = v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,39}$/))

const Amount = v.pipe(v.number(), v.minValue(0))

export const RunState = v.picklist([
  'planning',
  'approving',
  'runs',
  'paused',
  'asks',
  'done',
  'failed',
  'stopped',
  'out of budget',
  'unreachable',
])
export type RunState = v.InferOutput<typeof RunState>

export const TaskState = v.picklist(['waits', 'runs', 'asks', 'paused', 'done', 'failed', 'stopped'])
export type TaskState = v.InferOutput<typeof TaskState>

export const Spent = v.object({ requests: Count, input: Count, output: Count, cost: Amount })
export type Spent = v.InferOutput<typeof Spent>

/** A run in the list. */
export const RunRow = v.object({
  run: RunId,
  wish: v.string(),
  /** Undefined for one of which nothing is known but that it is there. */
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
  /** Whether something of it has passed: then it is a branch. */
  hasResult: v.boolean(),
  /** Why that counts as not checked by this user, as the end of a sentence, where it does. */
  unchecked: v.optional(v.string()),
})
export type RunTask = v.InferOutput<typeof RunTask>

/** What must be true in the end: by which command, or what a reviewer is asked, and whose task it is. */
export const Assertion = v.object({
  id: v.string(),
  says: v.string(),
  how: v.string(),
  isReview: v.boolean(),
  task: v.string(),
})
export type Assertion = v.InferOutput<typeof Assertion>

export const Limits = v.object({
  cost: v.optional(Amount),
  requests: v.optional(Amount),
  minutes: v.optional(Amount),
})

/** What a run may be out of, and a person can give it more of. */
export const LimitName = v.picklist(['cost', 'requests', 'minutes'])
export type LimitName = v.InferOutput<typeof LimitName>

export const Run = v.object({
  run: RunId,
  state: RunState,
  words: v.string(),
  wish: v.string(),
  /** Of the plan, where there is one. */
  title: v.optional(v.string()),
  summary: v.optional(v.string()),
  contract: v.array(Assertion),
  /** What the linter says of the last plan. */
  complaints: v.array(v.string()),
  tasks: v.array(RunTask),
  spent: Spent,
  limits: Limits,
  /** What it is out of, where it is out of budget. */
  limit: v.optional(LimitName),
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

/** A task as it stands in a plan that waits for a yes. */
export const PlannedTask = v.object({
  id: TaskId,
  title: v.string(),
  size: v.string(),
  tier: v.string(),
  /** Levels of sub-agents. */
  recursion: Count,
  after: v.array(TaskId),
  claims: v.array(v.string()),
  write: v.array(v.string()),
  never: v.array(v.string()),
  checks: v.array(v.string()),
  reviews: v.array(v.string()),
})
export type PlannedTask = v.InferOutput<typeof PlannedTask>

/** A plan, whole, for a person who is to say yes to it. */
export const Plan = v.object({
  /** Whether it waits for a yes. */
  waits: v.boolean(),
  /** Another one where anything is that a person says yes to. */
  seen: v.string(),
  title: v.string(),
  summary: v.string(),
  contract: v.array(Assertion),
  /** In their order: what stands together may run at the same time. */
  levels: v.array(v.array(PlannedTask)),
  /** For which tasks and assertions each is, and the seconds that it may take. */
  commands: v.array(v.object({ command: v.string(), seconds: Count, users: v.array(v.string()) })),
  /** What the repository itself asks for. */
  others: v.array(v.string()),
  hasNetwork: v.boolean(),
  /** What it may take and cost, and its limits, as sentences. */
  cost: v.array(v.string()),
  /** The plan as a file that a person edits; only of the one that is there. */
  file: v.optional(v.string()),
})
export type Plan = v.InferOutput<typeof Plan>

/** A plan as a person has edited it: what is wrong with it, and at which line, or the plan whole. */
export const CheckedPlan = v.object({
  complaints: v.array(v.object({ words: v.string(), line: v.optional(Count) })),
  plan: v.optional(Plan),
})
export type CheckedPlan = v.InferOutput<typeof CheckedPlan>

/** A task as it was planned. */
export const Task = v.object({
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
export type Task = v.InferOutput<typeof Task>

/** One decision. */
export const JournalLine = v.object({
  id: v.string(),
  at: v.number(),
  task: v.optional(v.string()),
  attempt: v.optional(Count),
  what: v.string(),
  words: v.string(),
  why: v.optional(v.string()),
})
export type JournalLine = v.InferOutput<typeof JournalLine>

/**
 * What a landing would show: without a tree there is nothing to land. `unchecked`: why it is refused, unless anyway.
 */
export const Landing = v.object({
  tree: v.optional(v.string()),
  words: v.array(v.string()),
  /** What its checks do not show, as sentences: to be looked at first. */
  doubts: v.array(v.string()),
  unchecked: v.optional(v.string()),
})
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
   * that nobody has checked it.
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

/** The branches of a run's results. */
export const resultBranch = (run: string, task?: string): string =>
  `forge/${run}/${task === undefined ? 'result' : `${task}/done`}`

const task = v.optional(TaskId)

/** Nothing is begun or started by looking. */
export const tasksQuestions = {
  /** Another mark where the refs of runs are different. It is cheap to ask for. */
  'tasks mark': repeatable({}, v.object({ mark: v.string() })),
  'tasks runs': repeatable({}, Runs),
  'tasks run': repeatable({ run: RunId }, Run),
  'tasks plan': repeatable({ run: RunId }, Plan),
  /** Changes nothing. */
  'tasks plan check': repeatable({ run: RunId, text: PlanText }, CheckedPlan),
  'tasks task': repeatable({ run: RunId, task: TaskId }, Task),
  'tasks journal': repeatable({ run: RunId, task }, v.array(JournalLine)),
  'tasks landing': repeatable({ run: RunId, task, onto: Branch }, Landing),
  /** What `forge` said to it, line by line. */
  'tell tasks': question({ word: TasksWord }, v.object({ words: v.array(v.string()) })),
}
