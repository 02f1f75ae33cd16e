/**
 * The types that flows and activities exchange. They go into histories, so they are small: long texts are blobs, of
 * which only references are passed. Types only: flows import nothing else.
 */
import type {
  LimitName,
  Limits,
  Reference,
  RunId,
  RunState,
  RunStatus,
  Spent,
  TaskId,
  TaskState,
  TierModels,
  WrittenLine,
} from '../formats/tasks-json.ts'

export type { LimitName, Limits, Reference, RunId, RunState, RunStatus, Spent, TaskId, TaskState, TierModels }

/** The id of a commit, tree or blob, in hex. */
export type Oid = string

/** A list that may be long: a blob with a JSON array, which a flow reads in parts. `count`: the number of items. */
export type List = Reference & { count: number }

/** How capable a model has to be, from low to high; the user's settings name the models. */
export type Tier = 'classification' | 'summarization' | 'generation' | 'reasoning'

/** The purpose of a step. Each kind has its own prompt, schema and context; all have the same five activities. */
export type StepKind =
  | 'plan'
  | 'outline'
  | 'implement'
  | 'artifact'
  | 'review'
  | 'resolve'
  | 'summarise'
  | 'check plan'
  | 'extract'
  | 'classify'

/** How a step can end, as the model says in its answer. */
export type Signal =
  | 'success'
  | 'failure_retryable'
  | 'failure_terminal'
  | 'new_tasks_discovered'
  | 'blocked_on_human'
  | 'blocked_on_sibling'

/** The outcome of a step. `confused` (it can't be classified) stops the whole run, and the user is asked. */
export type Outcome = Signal | 'confused'

// --- A step

/** The place of a step. `step` is unique in its run: 'plan/1', 'parser/1/2', 'parser/1/2/api-docs'. */
export type StepPlace = { run: RunId; task?: TaskId; attempt: number; step: string }

export type StepInput = StepPlace & {
  kind: StepKind
  tier: Tier
  /**
   * The index of the step's model among those of its tier: a second reviewer is of another provider where there are
   * two.
   */
  choice: number
  /** The commit whose files the step sees. */
  base: Oid
  /** The levels of sub-agents that the step may still ask for. */
  depth: number
  /** Whether the step's requests are sent in batches. */
  inBatch?: boolean
  /** The texts that the step is about: plan, outline step, report of the last failure, artifacts, answers … */
  about: Reference[]
}

/**
 * A request as it will be sent. `key`: the hash of its bytes, by which its answer is found. `kind`, `tier` and `prompt`
 * are stored with the answer, for statistics.
 */
export type Constructed = {
  request: Reference
  key: string
  model: string
  kind?: StepKind
  tier?: Tier
  /** The version of the prompt for this kind of step. */
  prompt?: number
}
export type Sent = { answer: Reference; model: string; spent: Spent; wasThere: boolean }
/**
 * A parsed answer. Without `parsed` it could not be read: `words` says why in short, `evidence` in full. `isConfused`:
 * its signal is not one of {@link Signal}; then `unclear` is what a model is shown that says which one was meant, where
 * there is such a model.
 */
export type Received = {
  parsed?: Reference
  words: string
  isConfused?: boolean
  evidence?: Reference
  unclear?: Reference
}
/**
 * The result of applying an answer: a commit where it changed files; `words` and `evidence` where it can't be applied.
 */
export type Serialized = { commit?: Oid; artifact?: Reference; words?: string; evidence?: Reference }

export type SubAgent = { id: string; tier: Tier; asks: Reference }

/** How a step ended. Fields for only some signals are undefined otherwise. */
export type StepResult = {
  outcome: Outcome
  /** How the step ended, as a short line for the journal. */
  words: string
  parsed?: Reference
  /** For an answer that could not be read or applied: what is wrong with it, in full. */
  evidence?: Reference
  commit?: Oid
  /** A text that the step has written. With the kind `looked`: what a planner asked to see before it plans. */
  artifact?: Reference
  /** For an outline: its steps in order, a blob for each. */
  steps?: Reference[]
  /** For a review: whether the reviewer accepts what it was shown. */
  isGood?: boolean
  /** For the kind `classify`: the signal that was meant; undefined where that can't be told. */
  meant?: Signal
  /** For the kinds `plan`, and `check plan` where the plan has to change: the proposed plan, as `lintPlan` takes it. */
  plan?: Reference
  /** With the outcome `success`: what the step wants to find out before it is done, a list of {@link SubAgent}. */
  fanOut?: List
  /** With the outcome `blocked_on_human`: the question. */
  question?: Reference
  /** With the outcome `blocked_on_sibling`: the task that this one waits for. */
  sibling?: TaskId
  spent: Spent
}

/** The five activities of a step. Each may be repeated after a crash, and then finds the results of its first try. */
export interface StepActivities {
  /** Packs the context and stores the request. */
  construct(input: StepInput): Promise<Constructed>
  /**
   * Asks the model, unless its answer is stored. Fails with an `ApplicationFailure`: of type ModelError, with the
   * trouble as its first detail, retryable after the provider's delay or not at all; or of type OutOfBudget where a
   * limit (its first detail) would be exceeded, never retryable. Its message is a sentence for the user.
   */
  send(input: StepPlace & Constructed): Promise<Sent>
  /** Parses the answer. `meant`: the signal to read in place of one that is unknown. */
  receive(input: StepPlace & { kind: StepKind; answer: Reference; meant?: Signal }): Promise<Received>
  /** Applies edits to `base` and commits them on the attempt's ref, or stores an artifact. */
  serialize(input: StepPlace & { kind: StepKind; base: Oid; key: string; parsed: Reference }): Promise<Serialized>
  /** Decides how the step ended, and writes a line about it into the journal. */
  transition(input: StepInput & { received: Received; serialized?: Serialized; sent: Sent }): Promise<StepResult>
  /** Stores sentences of the flow as a blob of that kind, so that a request can include them. */
  keepWords(input: StepPlace & { kind: string; words: string }): Promise<Reference>
}

/**
 * Times for batches, in milliseconds. `window`: how long requests are gathered for one. `look`: after which a flow
 * looks for answers without a signal. `wait`: how long an answer is waited for.
 */
export type BatchPace = { window: number; look: number; wait: number }

/**
 * The reply to a request that is to go into a batch. `there`: its answer is stored already. `out`: a collector (the
 * workflow that submits batches) has it. `now`: it has to be sent as a single request. `full`: the budget has no room
 * for it beside the requests in batches.
 */
export type Enlisted = { is: 'there'; sent: Sent } | { is: 'out' | 'full'; pace: BatchPace } | { is: 'now' }

/** A request in a batch, whose answer a flow waits for. `since`: when the wait began, in milliseconds since 1970. */
export type WaitingRequest = StepPlace & Constructed & { since: number }

/**
 * A request as given to a collector, the workflow that submits requests in batches. `output`: the most tokens of its
 * answer. `waiter`: the id of the workflow to wake when there is an answer. `room`: with a hub, what is set aside for
 * it.
 */
export type BatchRequest = StepPlace &
  Constructed & { output: number; bytes: number; waiter: string; room?: { tokens: number; cost: number } }

/** Requests that are submitted as one batch. `list`: the requests, stored in git by the run `home`. */
export type Submission = { id: string; home: RunId; list: List }

/**
 * The input of a collector (the workflow that gathers a model's requests into batches). Where it continues in a new
 * history, `waiting` and `out` are what it had at the end of the one before.
 */
export type CollectorInput = {
  model: string
  pace: BatchPace
  /** The most requests and bytes of one batch. */
  limits: { requests: number; bytes: number }
  waiting?: BatchRequest[]
  out?: (Submission & { began: number; waiters: string[] })[]
}

/** A request for a batch. `before`: an earlier submission that may have sent this request already. */
export type GivenRequest = { request: BatchRequest; before?: Submission }

/**
 * The activities that send model requests in batches. Some are called by a collector, the workflow that gathers the
 * requests of all runs for one model: there, `run` is the run whose store keeps the submission (the batch's record).
 */
export interface BatchActivities {
  /** Reserves budget for a request, and gives it to the collector of its model. */
  enlist(input: StepPlace & Constructed & { waiter: string }): Promise<Enlisted>
  /**
   * Looks for the answers to requests of one run. `isTimer`: no signal has come for long, so it also finds requests
   * that no collector has, or that have waited too long. Gives the stored answers by their steps (`there`), and the
   * steps whose requests have to be sent singly (`now`).
   */
  lookUp(input: {
    run: RunId
    requests: WaitingRequest[]
    isTimer: boolean
    now: number
  }): Promise<{ there: { step: string; sent: Sent }[]; now: string[] }>
  /** Tells the collectors that the workflow `waiter` no longer waits for the answers to these requests. */
  withdraw(input: { run: RunId; waiter: string; requests: { model: string; key: string }[] }): Promise<void>
  /**
   * Submits a batch, or finds the one that an interrupted try has submitted. `not`: the ids of batches that were found
   * in earlier tries but belong to other submissions.
   */
  submitBatch(input: {
    run: RunId
    model: string
    submission: Submission
    not: string[]
  }): Promise<{ batch: string; isSure: boolean }>
  lookAtBatch(input: { run: RunId; model: string; batch: string }): Promise<{ is: 'under way' | 'ended' | 'gone' }>
  cancelBatch(input: { run: RunId; model: string; batch: string }): Promise<void>
  /** Stores the answers of a batch. `isOther`: the batch has none of these requests, so it was found by mistake. */
  collectBatch(input: {
    run: RunId
    model: string
    submission: Submission
    batch: string
    isSure: boolean
  }): Promise<{ isOther: boolean }>
  /** Records that all requests of a submission have to be sent as single requests. `words`: the reason. */
  failBatch(input: { run: RunId; model: string; submission: Submission; words: string }): Promise<void>
  /** Releases the budget of requests that were never submitted. */
  dropRequests(input: { run: RunId; keys: string[] }): Promise<void>
}

/** Store and read what is too long for a workflow's history; run as local activities, within a workflow task. */
export interface ListActivities {
  /** Stores a list as a blob. */
  keepItems(input: { run: RunId; kind: string; items: unknown[] }): Promise<List>
  /**
   * Items of the list beginning with the index `from`, at most some ten thousand bytes; `next`: the index of the first
   * item not read.
   */
  readItems(input: { run: RunId; list: Reference; from: number }): Promise<{ items: unknown[]; next?: number }>
}

// --- A plan

/** What the run's workflow has to know of a task; everything else is in the plan's blob. */
export type TaskShape = {
  id: TaskId
  title: string
  dependsOn: TaskId[]
  tier: Tier
  /** The levels of sub-agents that the task's steps may ask for. */
  recursion: number
  /** Whether the task is done in a single step, without an outline. */
  isSmall: boolean
  /** How many models review the task's result. */
  reviews: number
  /** Whether the task runs while no other task does, since its boundaries are unknown. */
  isAlone: boolean
  /** A hash of the task's part of the plan: its definition, and the assertions that it claims. */
  hash: string
  /** The kind of the task's steps: of a merge in parts, they resolve conflicts. Undefined: they change files. */
  kind?: 'resolve'
}

/** A plan accepted by the linter, or the first complaints about it, as sentences; `report` has all of them. */
export type Linted = {
  plan?: Reference
  /** A list of {@link TaskShape}. */
  tasks?: List
  complaints: string[]
  report?: Reference
  /** What the plan allows beyond the one approved before: wider boundaries, other commands, a higher cost. */
  widens: string[]
  /** The first differences from the plan approved before. */
  changes?: string[]
}

/**
 * The progress of a task in the current plan, for the linter of a new one: tasks that are done or under way stay as
 * they are; stopped ones claim and write nothing any more. `standing` is a list of {@link Standing}.
 */
export type Standing = { id: TaskId; is: 'done' | 'under way' | 'stopped' }

export interface PlanActivities {
  /** Lints the plan in `parsed`, which is a model's answer or a person's file. */
  lintPlan(input: { run: RunId; parsed: Reference; base: Oid; standing?: List }): Promise<Linted>
}

// --- A task

/** The merged commit, or the conflicts that git can't resolve; `report` describes these for a resolve step. */
export type Gathered = { commit: Oid; conflicts?: { ours: Oid; theirs: Oid; report: Reference } }

/** The result of checks. `head`: another commit than before where a formatter changed something. */
export type Validated = { isGood: boolean; head: Oid; report: Reference; words: string; question?: Reference }

/**
 * The result of checks of the combined result. `review`: the assertions without a command that have to be reviewed
 * again, since no reviewer has seen exactly these files; `count` models of `tier` review them.
 */
export type Finished = Validated & {
  conflicts?: Gathered['conflicts']
  review?: { asks: Reference; count: number; tier: Tier }
  /** Assertions whose command passed before their task began, too: it does not show that anything was done. */
  heldBefore?: string[]
}

export type TaskPlace = { run: RunId; task: TaskId; attempt: number }

export interface TaskActivities {
  /**
   * Merges the results of a task's dependencies into the run's base, in the given order, and sets the attempt's ref to
   * that. After a conflict was resolved, it is called again with that merge as `resolved`, and continues from it.
   */
  gather(input: TaskPlace & { base: Oid; results: Oid[]; plan: Reference; resolved?: Oid }): Promise<Gathered>
  /**
   * Judges the resolution of a conflict by core/review; gives a commit with both parents where it is valid. Without
   * `task`, the conflict is between the results of tasks, which are merged at the end of the run.
   */
  judge(
    input: Omit<TaskPlace, 'task'> & { task?: TaskId; ours: Oid; theirs: Oid; resolved: Oid },
  ): Promise<{ commit?: Oid; report: Reference; words: string }>
  /** Checks the boundaries by the diff, runs formatters, then the checks in the container. */
  validate(input: TaskPlace & { plan: Reference; base: Oid; head: Oid }): Promise<Validated>
  /** Stores a report of why an attempt failed, for the next attempt and the user. */
  reportFailure(input: TaskPlace & { outcome: Outcome; words: string; evidence: Reference[] }): Promise<Reference>
  /** Sets `forge/<run>/<task>` to the commit that passed. */
  deliver(input: TaskPlace & { head: Oid }): Promise<void>
}

// --- A run

export type RunInput = {
  run: RunId
  /** What the user wants. `plan`: a plan to use from the start. */
  wish: Reference
  /** What the repository has on the words of the wish, for planners; undefined: the worker searches it. */
  wished?: Reference
  plan?: Reference
  base: Oid
  limits: Limits
  /** Whether plans and their commands are approved without asking the user (--yes). */
  isApproved: boolean
  /** Whether the run stops after planning. */
  onlyPlan: boolean
  /** The most tasks at the same time. */
  atMost: number
  /** Which of the run's requests are sent in batches: those of tasks, or all, the planner's too; undefined: none. */
  batch?: 'work' | 'all' | undefined
  /** The models of tiers for this run, in order of preference; for other tiers those of the settings. */
  models?: TierModels | undefined
  /**
   * After more events than this the run continues with a new history; undefined: a default far below the server's
   * limit.
   */
  events?: number
}

/**
 * Earlier decisions, as found in git: a run continues with them even if its server has lost everything. `facts`: for
 * planners, the same for the whole run.
 */
export type Remembered = {
  approvedPlan?: Reference
  /** A list of {@link PersonAnswer}. */
  answers?: List
  facts?: Reference[]
  /** The tasks that have passed already: a list of {@link PassedBefore}. Present only with an approved plan. */
  passed?: List
  /** For each tier the next more capable one that has another model. */
  above?: Partial<Record<Tier, Tier>>
  /** Milliseconds that the run had worked before it was submitted again, where its minutes are limited. */
  used?: number
  /** Whether lessons are drawn from the run when it has ended. */
  learns?: boolean
}
/**
 * A task that has passed. `hash`: that of the task's part of the plan when it passed ({@link TaskShape.hash}); if that
 * part has changed since, its commit is checked again.
 */
export type PassedBefore = { task: TaskId; attempt: number; head: Oid; from: Oid; hash: string }
export type PersonAnswer = { task: TaskId | ''; count: number; answer: Reference }

export interface RunActivities {
  /**
   * Creates the run's folder and refs where they are missing, and gives the earlier decisions. Called again with new
   * limits when the user has changed them.
   */
  begin(input: RunInput): Promise<Remembered>
  /** Writes lines to the journal, in this order; each `id` is written once. */
  note(input: { run: RunId; lines: NewJournalLine[] }): Promise<void>
  /** Stores a decision of the user: an approval (`task` '' and `answer` the plan), or an answer to a question. */
  remember(input: { run: RunId; kind: 'approval' | 'answer' } & PersonAnswer): Promise<void>
  /** Stores the escalation report: for the terminal and the desk, and as a file. */
  escalate(input: {
    run: RunId
    task?: TaskId
    plan?: Reference
    words: string
    evidence: Reference[]
    status: RunStatus
    /** Where nothing is asked: the command that continues the run. */
    resume?: string
  }): Promise<Reference>
  /** Stores the status whenever the run stops to wait or continues, so that it can be read without a server. */
  rest(status: RunStatus): Promise<void>
  /**
   * Merges all results on `forge/<run>/result` (from `resolved`, as `gather` does), and checks the contract. `results`:
   * a list of {@link TaskResult}.
   */
  finish(input: { run: RunId; base: Oid; plan: Reference; results: List; resolved?: Oid }): Promise<Finished>
}

/** How lessons are drawn from a run that has ended. */
export interface LessonActivities {
  /**
   * Counts for each lesson whether it helped, and stores the run's failures and the user's answers, from which a step
   * of kind extract draws lessons. Without `about` there is nothing to learn from. `inBatch`: the run's requests were
   * sent in batches.
   */
  gatherLessons(input: { run: RunId }): Promise<{ about?: Reference[]; base: Oid; inBatch?: boolean }>
  /**
   * Adds the lessons of an answer, as far as they may be kept. Without an answer, only the outcomes of the run's
   * lessons are counted.
   */
  keepLessons(input: { run: RunId; parsed?: Reference }): Promise<void>
  /** The runs that have ended and were not learned from yet, of this repository: at most some dozens. */
  unlearned(): Promise<RunId[]>
}

/** The result of a task. */
export type TaskResult = { task: TaskId; head: Oid }

/** How a run has ended, as its workflow returns it; everything else is in its query and in git. */
export type RunEnd = { state: 'done' | 'stopped'; words: string; result?: Oid; report?: Reference }

/**
 * What a running attempt is doing: the answer to the query `doing` of its workflow. `isHeld`: the attempt begins
 * nothing new until the run lets it continue.
 */
export type AttemptStatus = { attempt: number; doing: string; isHeld: boolean; spent: Spent }

/** A decision for the journal. `id` is the same when it is repeated after a crash. */
export type NewJournalLine = Omit<WrittenLine, 'at' | 'count'>

export type Activities = StepActivities &
  BatchActivities &
  ListActivities &
  PlanActivities &
  TaskActivities &
  RunActivities &
  LessonActivities

/** What the user can tell a running run: Temporal updates, which refuse with a sentence. */
export type RunUpdates = {
  approve: (plan: Reference) => Promise<void>
  /** `task` '' answers the run's own question. */
  answer: (task: TaskId | '', answer: Reference) => Promise<void>
  /** Switches the run to another plan. `answered`: the user's answer to a task's question, given with the plan. */
  mend: (plan: Reference, answered?: { task: TaskId; answer: Reference }) => Promise<void>
  /** Asks a planner to change the plan, by instructions in words; the change waits for approval. */
  replan: (answer: Reference) => Promise<void>
  pause: (task?: TaskId) => Promise<void>
  resume: (task?: TaskId) => Promise<void>
  stop: (task?: TaskId) => Promise<void>
  /** Changes limits; a run that is out of budget continues. */
  raise: (limits: Partial<Limits>) => Promise<void>
}

/** The type of the failure of an update that a run refused only because of the moment: it is sent again. */
export const ASK_AGAIN = 'AskAgain'
