/**
 * What `forge runs`, `forge show` and `forge land` print with `--json`, one object a line. The tasks write it, the desk
 * reads it. Texts are a model's or a person's, as they were written. Money is in US dollars.
 */
import * as v from 'valibot'
import { Count, Oid } from '../../core/formats/values.ts'

const text = v.string()
const Amount = v.pipe(v.number(), v.minValue(0))

/** As a person types it: a date, a few words, and what makes it the only one (20261122-add-undo-x7k2). */
export const RunId = v.pipe(text, v.regex(/^[a-z0-9][a-z0-9-]{0,79}$/))
export type RunId = v.InferOutput<typeof RunId>
/** As the plan names it. */
export const TaskId = v.pipe(
  text,
  v.regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be lower case letters, digits and dashes'),
)
export type TaskId = v.InferOutput<typeof TaskId>

/** All refs of runs but their branches. */
export const RUNS = 'refs/forge/runs/'

/** The branch of all results of a run together, or of what one of its tasks came to. */
export const resultBranch = (run: string, task?: string): string =>
  `forge/${run}/${task === undefined ? 'result' : `${task}/done`}`

/**
 * A blob that the run keeps alive. `kind` says which schema it has: 'request', 'answer', 'plan', 'report', 'artifact',
 * 'question', 'review', 'validation', …
 */
export const Reference = v.object({ kind: text, oid: Oid })
export type Reference = v.InferOutput<typeof Reference>

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
  // Said by a command, never by a run: it was at work, and its server can't be asked how it is now.
  'unreachable',
])
export type RunState = v.InferOutput<typeof RunState>

export const TaskState = v.picklist(['waits', 'runs', 'asks', 'paused', 'done', 'failed', 'stopped'])
export type TaskState = v.InferOutput<typeof TaskState>

/** What was used: `requests` that were sent, whether or not an answer came; tokens of input and output. */
export const Spent = v.object({ requests: Count, input: Count, output: Count, cost: Amount })
export type Spent = v.InferOutput<typeof Spent>

/** What a run may take in all. Undefined: no such limit. Depth is in levels of sub-agents. */
export const Limits = v.object({
  requests: v.optional(Amount),
  tokens: v.optional(Amount),
  cost: v.optional(Amount),
  minutes: v.optional(Amount),
  tasks: v.optional(Amount),
  depth: Amount,
})
export type Limits = v.InferOutput<typeof Limits>

/** The limits that a person may raise while a run is under way. */
export const LimitName = v.picklist(['requests', 'tokens', 'cost', 'minutes'])
export type LimitName = v.InferOutput<typeof LimitName>

const TaskStatus = v.object({
  id: TaskId,
  title: text,
  state: TaskState,
  attempt: Count,
  /** What it does just now. */
  doing: text,
  /** What of it has passed. */
  head: v.optional(Oid),
  question: v.optional(Reference),
  /** With asks: nothing has to be answered, but set right; `forge resume` lets the same attempt go on. */
  isLacking: v.optional(v.boolean()),
  /** Why it is as it is, where that is not plain. */
  words: text,
  dependsOn: v.array(TaskId),
})

export const RunStatus = v.object({
  run: RunId,
  state: RunState,
  /** Why, as a sentence, where it is not plain. */
  words: text,
  plan: v.optional(Reference),
  /** What the linter says of the last plan. */
  complaints: v.array(text),
  tasks: v.array(TaskStatus),
  spent: Spent,
  /** Milliseconds that it has worked, where its minutes are limited. */
  used: v.optional(Amount),
  question: v.optional(Reference),
  /** With out of budget: by which limit. */
  limit: v.optional(LimitName),
  result: v.optional(Oid),
  report: v.optional(Reference),
})
export type RunStatus = v.InferOutput<typeof RunStatus>

/** `forge runs --json`; without a status where nothing is known of it. */
export const ListedRun = v.object({ run: RunId, wish: text, status: v.fallback(v.optional(RunStatus), undefined) })
export type ListedRun = v.InferOutput<typeof ListedRun>

/** What must be true in the end: by which command, or what a reviewer is asked, and whose task it is. */
export const PlanAssertion = v.object({ id: text, says: text, how: text, isReview: v.boolean(), task: text })
export type PlanAssertion = v.InferOutput<typeof PlanAssertion>

/** Why a result counts as not checked by this user, as the end of a sentence, where it does. */
const unchecked = v.optional(text)

/** `forge show RUN --json`. */
export const ShownRun = v.object({
  ...RunStatus.entries,
  tasks: v.array(v.object({ ...TaskStatus.entries, unchecked })),
  wish: text,
  limits: Limits,
  /** Of the plan, where there is one. */
  title: v.optional(text),
  summary: v.optional(text),
  contract: v.optional(v.array(PlanAssertion)),
  /** What the run as a whole asks. */
  asks: v.optional(text),
  /** What its report says. */
  tells: v.optional(text),
  /** Of all results together. */
  unchecked,
  /** When it was begun, while it is at work: milliseconds since 1970. */
  began: v.optional(v.number()),
})
export type ShownRun = v.InferOutput<typeof ShownRun>

/** `forge show RUN TASK --json`: how it is, what it asks, and how it was planned. */
export const ShownTask = v.object({
  ...TaskStatus.entries,
  asks: v.optional(text),
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

/** A task of a plan that is shown whole. */
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

/** `forge show RUN --plan --json`: a plan in full, to be approved by a person. */
export const ShownPlan = v.object({
  /** Whether it waits for a yes. */
  waits: v.boolean(),
  /** Another one where anything is that a person says yes to. */
  seen: text,
  title: text,
  summary: text,
  contract: v.array(PlanAssertion),
  /** In their order: what stands together may run at the same time. */
  levels: v.array(v.array(PlannedTask)),
  /** For which tasks and assertions each is, and the seconds that it may take. */
  commands: v.array(v.object({ command: text, seconds: Count, users: v.array(text) })),
  /** What the repository itself asks for. */
  others: v.array(text),
  hasNetwork: v.boolean(),
  /** What it may take and cost, and its limits, as sentences. */
  cost: v.array(text),
  /** The plan as a file that a person edits. */
  file: v.optional(text),
})
export type ShownPlan = v.InferOutput<typeof ShownPlan>

/**
 * `forge plan RUN --file PLAN --json`: what is wrong with the plan in that file, and at which line of it, counted from
 * 1; where that is nothing, the plan whole.
 */
export const CheckedPlan = v.object({
  complaints: v.array(v.object({ words: text, line: v.optional(Count) })),
  plan: v.optional(ShownPlan),
})
export type CheckedPlan = v.InferOutput<typeof CheckedPlan>

/** `forge show RUN [TASK] --journal --json`, and the lines of the journal's file: one decision each. */
export const WrittenLine = v.object({
  run: text,
  id: text,
  /** When it was written: milliseconds since 1970, and a count for those of the same one. */
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

/** `forge land RUN [TASK] --json`: without a tree there is nothing to land. */
export const ShownLanding = v.object({
  onto: text,
  tree: v.optional(text),
  words: v.array(text),
  /** What its checks do not show, as sentences: to be looked at first. */
  doubts: v.array(text),
  /** Why it is refused, unless anyway. */
  unchecked: v.optional(text),
})
export type ShownLanding = v.InferOutput<typeof ShownLanding>
