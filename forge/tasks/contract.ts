/**
 * What flows and activities say to each other. Flows are replayed from their history, so all of this is small: what is
 * long is a blob of the repository, and only its name goes through here. Types alone: flows import nothing else.
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
  WrittenLine,
} from '../formats/tasks-json.ts'

export type { LimitName, Limits, Reference, RunId, RunState, RunStatus, Spent, TaskId, TaskState }

/** The id of a commit, tree or blob, in hex. */
export type Oid = string

/** A list that may be long: a blob with a JSON array, which a flow reads in parts. `count`: how many items it has. */
export type List = Reference & { count: number }

/** How capable a model has to be; which one that is, the user's settings say. In this order, from low to high. */
export type Tier = 'classification' | 'summarization' | 'generation' | 'reasoning'

/** What a step is for: another prompt, schema and context for each, the same five activities for all. */
export type StepKind = 'plan' | 'outline' | 'implement' | 'artifact' | 'review' | 'resolve' | 'summarise' | 'check plan'

/** How a step can end by the model's own word. */
export type Signal =
  | 'success'
  | 'failure_retryable'
  | 'failure_terminal'
  | 'new_tasks_discovered'
  | 'blocked_on_human'
  | 'blocked_on_sibling'

/** An outcome that can't be classified stops the whole run, and a person is asked. */
export type Outcome = Signal | 'confused'

// --- A step

/** Where a step belongs. `step` is unique in its run: 'plan/1', 'parser/1/2', 'parser/1/2/api-docs'. */
export type StepPlace = { run: RunId; task?: TaskId; attempt: number; step: string }

export type StepInput = StepPlace & {
  kind: StepKind
  tier: Tier
  /** Of a tier's models which one: a second reviewer is another provider's where there are two. */
  choice: number
  /** The commit whose files it sees. */
  base: Oid
  /** How many levels of sub-agents it may still ask for. */
  depth: number
  /** What it is about: the plan, the outline's step, the report of the last failure, artifacts, a person's answer … */
  about: Reference[]
}

/**
 * A request as it will be sent; `key` is the hash of all that is in it, by which its answer is found again. Kind, tier
 * and prompt are written down with the answer, for statistics.
 */
export type Constructed = {
  request: Reference
  key: string
  model: string
  kind?: StepKind
  tier?: Tier
  /** The version of the kind's prompt. */
  prompt?: number
}
export type Sent = { answer: Reference; model: string; spent: Spent; wasThere: boolean }
/**
 * An answer as its schema reads it. Without `parsed` it could not be read: `words` say why in short, `evidence` in full. `isConfused`: it has a signal that is not one of {@link Signal}.
 */
export type Received = { parsed?: Reference; words: string; isConfused?: boolean; evidence?: Reference }
/** What became of it: a commit where it changed files; `words`, and in full `evidence`, where it can't be applied. */
export type Serialized = { commit?: Oid; artifact?: Reference; words?: string; evidence?: Reference }

export type SubAgent = { id: string; tier: Tier; asks: Reference }

/** How a step ended. What only some signals have is undefined with all others. */
export type StepResult = {
  outcome: Outcome
  /** One short line for the journal. */
  words: string
  parsed?: Reference
  /** What is wrong with an answer that could not be read or applied, in full. */
  evidence?: Reference
  commit?: Oid
  /** A text; of kind `looked`, what a planner wanted to see before it plans. */
  artifact?: Reference
  /** With an outline: its steps in order, a blob for each. */
  steps?: Reference[]
  /** With a review: its verdict. */
  isGood?: boolean
  /**
   * With plan, and with check plan where the plan is no longer right: the plan that is proposed, as `lintPlan` takes
   * it.
   */
  plan?: Reference
  /** With success: what it wants to have found out before it is done, a list of {@link SubAgent}. */
  fanOut?: List
  /** With blocked_on_human. */
  question?: Reference
  /** With blocked_on_sibling: the task that it waits for. */
  sibling?: TaskId
  spent: Spent
}

/** A step's five activities. Each may be done again after a crash, and then finds what it did. */
export interface StepActivities {
  /** Packs the context and writes the request. */
  construct(input: StepInput): Promise<Constructed>
  /**
   * Asks the model, unless its answer is there. Fails as `ApplicationFailure` of type ModelError, with the
   * trouble's name as the first of its details: retryable with the provider's own delay, or not; of type OutOfBudget
   * where it would pass a limit (never retryable; its name is the first of the details). Its message is a sentence for
   * a person.
   */
  send(input: StepPlace & Constructed): Promise<Sent>
  receive(input: StepPlace & { kind: StepKind; answer: Reference }): Promise<Received>
  /** Applies edits to `base` and commits them on the attempt's ref, or keeps an artifact. */
  serialize(input: StepPlace & { kind: StepKind; base: Oid; key: string; parsed: Reference }): Promise<Serialized>
  /** Decides how the step ended, and writes the journal's line. */
  transition(input: StepInput & { received: Received; serialized?: Serialized; sent: Sent }): Promise<StepResult>
  /** Keeps a few sentences of the flow's own as a blob of that kind, so that a request can be about them. */
  keepWords(input: StepPlace & { kind: string; words: string }): Promise<Reference>
}

/** How flows keep and read what is too long for their history. Called within a flow's task alone. */
export interface ListActivities {
  /** Keeps a list as a blob. */
  keepItems(input: { run: RunId; kind: string; items: unknown[] }): Promise<List>
  /** Some of its items, from that one on, in at most some ten thousand bytes; `next` where there are more. */
  readItems(input: { run: RunId; list: Reference; from: number }): Promise<{ items: unknown[]; next?: number }>
}

// --- A plan

/** What the flow has to know of a task; everything else stands in the plan's blob. */
export type TaskShape = {
  id: TaskId
  title: string
  dependsOn: TaskId[]
  tier: Tier
  /** Levels of sub-agents that its steps may ask for. */
  recursion: number
  /** A small one is done in a single step, without an outline. */
  isSmall: boolean
  /** How many models are asked about its result. */
  reviews: number
  /** Whether it runs while no other one does: its boundaries are not known. */
  isAlone: boolean
  /** A hash of its part of the plan: its definition, and the assertions that it claims. */
  hash: string
}

/**
 * A plan that the linter lets through, or why it does not: a sentence for each of the first complaints; all of them
 * stand in `report`.
 */
export type Linted = {
  plan?: Reference
  /** A list of {@link TaskShape}. */
  tasks?: List
  complaints: string[]
  report?: Reference
  /** What a new plan allows beyond the one that was approved before: wider boundaries, other commands, a higher cost. */
  widens: string[]
  /** The first of all that is different from that one. */
  changes?: string[]
}

/**
 * How far the tasks of the plan that holds are, for the linter of another one: those that are done or under way stay as
 * they are; those that were stopped claim and write nothing any more. A list of {@link Standing}.
 */
export type Standing = { id: TaskId; is: 'done' | 'under way' | 'stopped' }

export interface PlanActivities {
  /** `parsed` is a model's plan or a person's. */
  lintPlan(input: { run: RunId; parsed: Reference; base: Oid; standing?: List }): Promise<Linted>
}

// --- A task

/** Files that two sides changed in ways which git can't bring together; `report` has them for a resolve step. */
export type Gathered = { commit: Oid; conflicts?: { ours: Oid; theirs: Oid; report: Reference } }

/** What checks say of an attempt: `head` is another commit than before where a formatter mended something. */
export type Validated = { isGood: boolean; head: Oid; report: Reference; words: string; question?: Reference }

/**
 * What checks say of all results together. `review`: assertions that no command shows, to be reviewed once more because
 * no reviewer has seen the files in this state; by how many models, and of which tier.
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
   * The run's base with the results of what the task depends on, and the attempt's ref on
   * it. Results are merged in the order given. After a conflict was resolved it is
   * called again with that merge as `resolved`: it goes on from there, and what is in it already adds nothing.
   */
  gather(input: TaskPlace & { base: Oid; results: Oid[]; plan: Reference; resolved?: Oid }): Promise<Gathered>
  /**
   * Whether a resolution is what such a merge may be, by core/review; a commit with both parents where it is. Without
   * `task` it is one between results, at the run's end.
   */
  judge(
    input: Omit<TaskPlace, 'task'> & { task?: TaskId; ours: Oid; theirs: Oid; resolved: Oid },
  ): Promise<{ commit?: Oid; report: Reference; words: string }>
  /** Boundaries from the diff, what can be mended by itself, then the checks in the container. */
  validate(input: TaskPlace & { plan: Reference; base: Oid; head: Oid }): Promise<Validated>
  /** Writes down why an attempt failed, for the next one and for a person. */
  reportFailure(input: TaskPlace & { outcome: Outcome; words: string; evidence: Reference[] }): Promise<Reference>
  /** Sets `forge/<run>/<task>` to the attempt that passed. */
  deliver(input: TaskPlace & { head: Oid }): Promise<void>
}

// --- A run

export type RunInput = {
  run: RunId
  /** What the person wants, or a plan that they bring along. */
  wish: Reference
  plan?: Reference
  base: Oid
  limits: Limits
  /** Whether plans, and their commands, are approved as they come. */
  isApproved: boolean
  /** Stop at the plan. */
  onlyPlan: boolean
  /** Tasks at the same time. */
  atMost: number
  /** Events after which the run goes on with a new history; without it, long before the server's own limit. */
  events?: number
}

/**
 * What was decided before, found in git: a run whose server has lost everything goes on with it. `facts` are for
 * planners, and stay the same for the whole run.
 */
export type Remembered = {
  approvedPlan?: Reference
  /** A list of {@link PersonAnswer}. */
  answers?: List
  facts?: Reference[]
  /** With a plan: a list of {@link PassedBefore}. */
  passed?: List
  /** For each tier the next more capable one that has another model. */
  above?: Partial<Record<Tier, Tier>>
  /** Milliseconds that it has worked before, where its minutes are counted. */
  used?: number
}
/**
 * A task that has passed, and by which part of a plan ({@link TaskShape.hash}); where that is another one than the
 * plan's that holds, it has to be checked again.
 */
export type PassedBefore = { task: TaskId; attempt: number; head: Oid; from: Oid; hash: string }
export type PersonAnswer = { task: TaskId | ''; count: number; answer: Reference }

export interface RunActivities {
  /**
   * Makes the run's folder and refs where they are not there, and gives what is remembered. Called again with larger
   * limits where a person raised them: those hold from then on.
   */
  begin(input: RunInput): Promise<Remembered>
  /** Lines in the journal, in this order; the same `id` twice is written once. */
  note(input: { run: RunId; lines: NewJournalLine[] }): Promise<void>
  /** Keeps what a person decided: an approval (`task` '' and `answer` the plan), or an answer to a question. */
  remember(input: { run: RunId; kind: 'approval' | 'answer' } & PersonAnswer): Promise<void>
  /** The escalation report: for the terminal and the desk, and as a file. */
  escalate(input: {
    run: RunId
    task?: TaskId
    plan?: Reference
    words: string
    evidence: Reference[]
    status: RunStatus
    /** Where the run is held by no question: what a person types to let it go on. */
    resume?: string
  }): Promise<Reference>
  /** Keeps how a run is, so that it can be read where no server is: whenever it rests, and when it goes on. */
  rest(status: RunStatus): Promise<void>
  /**
   * Gathers all results on `forge/<run>/result`, from `resolved` as `gather` does, and checks the contract. `results` is
   * a list of {@link TaskResult}.
   */
  finish(input: { run: RunId; base: Oid; plan: Reference; results: List; resolved?: Oid }): Promise<Finished>
}

/** What a task came to. */
export type TaskResult = { task: TaskId; head: Oid }

/** How a run has ended, as its workflow gives it: all else is answered by its query and kept in git. */
export type RunEnd = { state: 'done' | 'stopped'; words: string; result?: Oid; report?: Reference }

/** What an attempt that is under way does just now: the answer of its query `doing`. */
export type AttemptStatus = { attempt: number; doing: string; isHeld: boolean; spent: Spent }

/** One decision, for people. `id` is the same when it is made again after a crash. */
export type NewJournalLine = Omit<WrittenLine, 'at' | 'count'>

export type Activities = StepActivities & ListActivities & PlanActivities & TaskActivities & RunActivities

/** What a person may tell a run while it is under way. Each is a Temporal update, refused with a sentence. */
export type RunUpdates = {
  approve: (plan: Reference) => Promise<void>
  /** `task` '' answers the run's own question. */
  answer: (task: TaskId | '', answer: Reference) => Promise<void>
  /** Another plan from now on; `answered` is what a person says with it to a task that asks. */
  mend: (plan: Reference, answered?: { task: TaskId; answer: Reference }) => Promise<void>
  /** What is to be different about the plan, in words: a planner makes a change of it, which waits for a yes. */
  replan: (answer: Reference) => Promise<void>
  pause: (task?: TaskId) => Promise<void>
  resume: (task?: TaskId) => Promise<void>
  stop: (task?: TaskId) => Promise<void>
  /** Other limits from now on; a run that is out of budget goes on with them. */
  raise: (limits: Partial<Limits>) => Promise<void>
}
