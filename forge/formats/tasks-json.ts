/**
 * The output of `forge runs`, `forge show` and `forge land` with `--json`, one object a line: written by the tasks,
 * read by the desk. Texts are unescaped texts of models and persons. Money is in US dollars.
 */
import * as v from 'valibot'
import { Count, Oid } from '../../core/formats/values.ts'

const text = v.string()
const Amount = v.pipe(v.number(), v.minValue(0))

/** A run's id, as it is typed: a date, a few words and a random suffix (20261122-add-undo-x7k2). */
export const RunId = v.pipe(text, v.regex(/^[a-z0-9][a-z0-9-]{0,79}$/))
export type RunId = v.InferOutput<typeof RunId>
/** A task's id in the plan. */
export const TaskId = v.pipe(
  text,
  v.regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be lower case letters, digits and dashes'),
)
export type TaskId = v.InferOutput<typeof TaskId>

/** The prefix of all refs of runs except their branches. */
export const RUNS = 'refs/forge/runs/'
/** The ref of the results of `forge eval`: a commit with a file for each. */
export const EVALUATIONS = 'refs/forge/evaluations'

/** The branch of a run's combined result, or, with `task`, of that task's result. */
export const resultBranch = (run: string, task?: string): string =>
  `forge/${run}/${task === undefined ? 'result' : `${task}/done`}`

/**
 * A blob that the run keeps alive. `kind` names its schema: 'request', 'answer', 'plan', 'report', 'artifact',
 * 'question', 'review', 'validation', …
 */
export const Reference = v.object({ kind: text, oid: Oid })
export type Reference = v.InferOutput<typeof Reference>

/** A run that was started: the output of `forge run --detach --json`. `notes`: warnings, as sentences. */
export const StartedRun = v.object({ run: RunId, notes: v.array(text) })
export type StartedRun = v.InferOutput<typeof StartedRun>

const Models = v.optional(v.array(text))
/** The models that a run was asked for with, by tier; for other tiers it takes those of the settings. */
export const TierModels = v.object({
  classification: Models,
  summarization: Models,
  generation: Models,
  reasoning: Models,
})
export type TierModels = v.InferOutput<typeof TierModels>

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
  // Set only by commands: the run was at work, and its server can't be reached.
  'unreachable',
])
export type RunState = v.InferOutput<typeof RunState>

export const TaskState = v.picklist(['waits', 'runs', 'asks', 'paused', 'done', 'failed', 'stopped'])
export type TaskState = v.InferOutput<typeof TaskState>

/** What was used: `requests` sent, whether or not an answer came; tokens of input and output; `cost`. */
export const Spent = v.object({ requests: Count, input: Count, output: Count, cost: Amount })
export type Spent = v.InferOutput<typeof Spent>

/** The limits of a whole run; undefined: none. `depth`: levels of sub-agents. */
export const Limits = v.object({
  requests: v.optional(Amount),
  tokens: v.optional(Amount),
  cost: v.optional(Amount),
  minutes: v.optional(Amount),
  tasks: v.optional(Amount),
  depth: Amount,
})
export type Limits = v.InferOutput<typeof Limits>

/** The limits that a person can raise while the run is under way. */
export const LimitName = v.picklist(['requests', 'tokens', 'cost', 'minutes'])
export type LimitName = v.InferOutput<typeof LimitName>

const TaskStatus = v.object({
  id: TaskId,
  title: text,
  state: TaskState,
  attempt: Count,
  /** What the task is doing. */
  doing: text,
  /** The commit that has passed the checks. */
  head: v.optional(Oid),
  question: v.optional(Reference),
  /**
   * With the state `asks`: no answer is needed, but something has to be fixed; `forge resume` then continues the same
   * attempt.
   */
  isLacking: v.optional(v.boolean()),
  /** A sentence that explains `state`, where that does not explain itself. */
  words: text,
  dependsOn: v.array(TaskId),
})

/**
 * A run's requests in batches. `out`: without an answer yet, the first of them since `since`, in milliseconds since
 * 1970. `answered`: those with one, which have cost `saved` US dollars less than if they had been sent now.
 */
export const InBatches = v.object({ out: Count, since: v.optional(v.number()), answered: Count, saved: Amount })
export type InBatches = v.InferOutput<typeof InBatches>

export const RunStatus = v.object({
  run: RunId,
  state: RunState,
  /** A sentence that explains the state, where that does not explain itself. */
  words: text,
  plan: v.optional(Reference),
  /** The linter's complaints about the last plan. */
  complaints: v.array(text),
  tasks: v.array(TaskStatus),
  spent: Spent,
  /** Milliseconds of work so far, where the run has a limit of minutes. */
  used: v.optional(Amount),
  question: v.optional(Reference),
  batch: v.optional(InBatches),
  /** With the state `out of budget`: the limit that was reached. */
  limit: v.optional(LimitName),
  result: v.optional(Oid),
  report: v.optional(Reference),
})
export type RunStatus = v.InferOutput<typeof RunStatus>

/** A line of `forge runs --json`. `status`: undefined where it is unknown. */
export const ListedRun = v.object({ run: RunId, wish: text, status: v.fallback(v.optional(RunStatus), undefined) })
export type ListedRun = v.InferOutput<typeof ListedRun>

/**
 * An assertion of the plan. `how`: the command that shows that it holds, or the question to a reviewer. `task`: the
 * task that is to make it true.
 */
export const PlanAssertion = v.object({ id: text, says: text, how: text, isReview: v.boolean(), task: text })
export type PlanAssertion = v.InferOutput<typeof PlanAssertion>

/**
 * Why it is not certain that this user's own worker has checked a result, as the end of a sentence; undefined where it
 * is certain.
 */
const unchecked = v.optional(text)

/** The output of `forge show RUN --json`. */
export const ShownRun = v.object({
  ...RunStatus.entries,
  tasks: v.array(v.object({ ...TaskStatus.entries, unchecked })),
  wish: text,
  limits: Limits,
  models: v.optional(TierModels),
  /** Title and summary of the plan, where there is one. */
  title: v.optional(text),
  summary: v.optional(text),
  contract: v.optional(v.array(PlanAssertion)),
  /** The question of the run as a whole. */
  asks: v.optional(text),
  /** The text of the run's report for the user. */
  tells: v.optional(text),
  /** Why the combined result of all tasks counts as not checked; undefined where it is checked. */
  unchecked,
  /** When the current work began, in milliseconds since 1970. */
  began: v.optional(v.number()),
  /** Whether the run resolves a merge, whose rest can be finished on the desk. */
  merges: v.optional(v.boolean()),
})
export type ShownRun = v.InferOutput<typeof ShownRun>

/** The output of `forge show RUN TASK --json`: the task's state, question and definition. */
export const ShownTask = v.object({
  ...TaskStatus.entries,
  asks: v.optional(text),
  /** Files that the task has written outside of its boundaries, where it asks the user because of that. */
  outside: v.optional(v.array(text)),
  unchecked,
  task: v.optional(
    v.object({
      objective: v.object({ behaviour: text, outputs: v.array(text), acceptance: v.array(text) }),
      boundaries: v.object({ write: v.array(text), never: v.array(text) }),
      validation: v.object({
        checks: v.array(v.union([text, v.object({ command: text })])),
        reviews: v.array(text),
      }),
      tier: text,
    }),
  ),
})
export type ShownTask = v.InferOutput<typeof ShownTask>

/** A task in the output of a whole plan. */
export const PlannedTask = v.object({
  id: TaskId,
  title: text,
  size: text,
  tier: text,
  /** Levels of sub-agents. */
  recursion: Count,
  after: v.array(TaskId),
  claims: v.array(text),
  write: v.array(text),
  never: v.array(text),
  checks: v.array(text),
  reviews: v.array(text),
})
export type PlannedTask = v.InferOutput<typeof PlannedTask>

/** The output of `forge show RUN --plan --json`: a whole plan, for a person to approve. */
export const ShownPlan = v.object({
  /** Whether the plan waits for an approval. */
  waits: v.boolean(),
  /** A digest of everything that is approved with the plan. */
  seen: text,
  title: text,
  summary: text,
  contract: v.array(PlanAssertion),
  /** The tasks in order: those in one inner list can run at the same time. */
  levels: v.array(v.array(PlannedTask)),
  /** `users`: the tasks and assertions that need the command; `seconds`: its time limit. */
  commands: v.array(v.object({ command: text, seconds: Count, users: v.array(text) })),
  /** Commands of the repository's own FORGE.md. */
  others: v.array(text),
  hasNetwork: v.boolean(),
  /** Estimated cost and limits, as sentences. */
  cost: v.array(text),
  /** The content of the plan's file, for editing. */
  file: v.optional(text),
})
export type ShownPlan = v.InferOutput<typeof ShownPlan>

/**
 * The output of `forge plan RUN --file PLAN --json`: complaints about the plan in that file, each with its line from 1,
 * or, without complaints, the whole plan.
 */
export const CheckedPlan = v.object({
  complaints: v.array(v.object({ words: text, line: v.optional(Count) })),
  plan: v.optional(ShownPlan),
})
export type CheckedPlan = v.InferOutput<typeof CheckedPlan>

/** A decision in the journal: a line of `forge show RUN [TASK] --journal --json` and of the journal's file. */
export const WrittenLine = v.object({
  run: text,
  id: text,
  /** When the line was written, in milliseconds since 1970. `count`: numbers the lines of one millisecond. */
  at: v.number(),
  count: v.number(),
  task: v.optional(text),
  attempt: v.optional(v.number()),
  what: text,
  words: text,
  why: v.optional(text),
  refs: v.optional(v.array(v.object({ kind: text, oid: text }))),
})
export type WrittenLine = v.InferOutput<typeof WrittenLine>

/** A line of `forge playbooks --json`: a lesson, and the text of its file. */
export const ListedLesson = v.object({
  id: text,
  title: text,
  says: text,
  for: v.array(text),
  domain: v.optional(text),
  tier: v.optional(text),
  error: v.optional(text),
  from: v.array(text),
  date: text,
  by: v.picklist(['model', 'person']),
  given: v.number(),
  firstTry: v.number(),
  retired: v.optional(text),
  text,
})
export type ListedLesson = v.InferOutput<typeof ListedLesson>

/** The output of `forge land RUN [TASK] --json`; without a tree there is nothing to merge. */
export const ShownLanding = v.object({
  onto: text,
  tree: v.optional(text),
  words: v.array(text),
  /** What the checks do not show about the result, as sentences that the user should read before landing it. */
  doubts: v.array(text),
  /** Why `forge land` refuses the result without `--anyway`. */
  unchecked: v.optional(text),
})
export type ShownLanding = v.InferOutput<typeof ShownLanding>
