/**
 * All activities of the workflows, in memory: a commit is the set of what was written, a blob is its text, and a script
 * answers in place of a model. All calls are recorded, so that a test can compare them.
 */
import { createHash } from 'node:crypto'
import { ApplicationFailure, Context } from '@temporalio/activity'
import type {
  Activities,
  BatchActivities,
  Constructed,
  Finished,
  Gathered,
  Linted,
  List,
  NewJournalLine,
  Oid,
  Outcome,
  PersonAnswer,
  Received,
  Reference,
  Remembered,
  RunInput,
  RunStatus,
  Signal,
  StepInput,
  StepPlace,
  StepResult,
  TaskPlace,
  TaskShape,
  Tier,
  Validated,
} from '../../forge/tasks/contract.ts'

/** The model's answer to a step. Missing fields are as for a model that does well. */
export type Said = {
  signal?: Outcome
  words?: string
  plan?: TaskShape[]
  steps?: string[]
  isGood?: boolean
  /** The text that is written; '' changes nothing. */
  writes?: string
  text?: string
  fanOut?: { id: string; tier?: Tier; asks?: string }[]
  question?: string
  sibling?: string
  /** What is wrong with the answer or its edits, where they can't be used. */
  complaint?: string
  /** The answer's own signal, which no program knows: a step of kind `classify` is asked what it means. */
  unknown?: string
  /** For the kind `classify`: the signal that was meant. */
  meant?: Signal
}

/** A step as the script sees it, with the texts of everything that it refers to. */
export type Asked = StepInput & { told: string[] }
export type Script = (asked: Asked, signal: AbortSignal) => Said | Promise<Said>

/** A test's replacements for activities that ask no model. */
export type Overrides = {
  validate?: (input: TaskPlace & { head: Oid }) => Partial<Validated> | undefined
  finish?: (tries: number) => Partial<Finished> | undefined
  /** Results that can't be merged: pairs of labels that conflict with each other. */
  conflicts?: [string, string][]
  judge?: (resolved: string[]) => string | undefined
  lint?: (tasks: TaskShape[]) => string[]
  /** What was stored in git by the run before it was submitted again. */
  remembered?: Omit<Remembered, 'answers'> & { answers: PersonAnswer[] }
  /** What a plan allows in addition to the previous one. */
  widens?: (tasks: TaskShape[]) => string[]
  /** Called before each activity; makes it fail by throwing. */
  before?: (activity: string, input: unknown) => void | Promise<void>
  /** The most requests that the run may make. */
  requests?: number
}

export const shape = (id: string, more: Partial<TaskShape> = {}): TaskShape => ({
  id,
  title: `Make ${id}`,
  dependsOn: [],
  tier: 'generation',
  recursion: 0,
  isSmall: true,
  reviews: 0,
  isAlone: false,
  ...more,
  hash: JSON.stringify([id, more]),
})

const hash = (words: string): string => createHash('sha1').update(words).digest('hex')
const SPENT = { requests: 1, input: 100, output: 10, cost: 0.01 }

/** The activities of runs without batches. */
type Unbatched = Omit<Activities, keyof BatchActivities>

export class ScriptedActivities {
  readonly blobs = new Map<Oid, string>()
  readonly commits = new Map<Oid, string[]>()
  readonly answers = new Map<string, Said>()
  readonly journal = new Map<string, NewJournalLine>()
  readonly remembered: (PersonAnswer & { kind: string })[] = []
  readonly escalated: { task?: string; words: string; status: RunStatus }[] = []
  readonly rested: RunStatus[] = []
  readonly delivered = new Map<string, Oid>()
  readonly began: RunInput[] = []
  /** Steps that were sent to the model, in order; steps with a stored answer are not. */
  readonly sent: Asked[] = []
  readonly #constructed = new Map<string, Asked>()
  limit: number
  inFlight = 0
  mostInFlight = 0
  finishes = 0

  constructor(
    public script: Script,
    readonly overrides: Overrides = {},
  ) {
    this.limit = overrides.requests ?? Number.POSITIVE_INFINITY
  }

  put(kind: string, words: string): Reference {
    const oid = hash(`${kind} ${words}`)
    this.blobs.set(oid, words)
    return { kind, oid }
  }

  words = ({ oid }: Reference): string => this.blobs.get(oid) ?? ''

  commit(labels: string[]): Oid {
    const sorted = [...new Set(labels)].sort()
    const oid = hash(`commit ${sorted.join('\n')}`)
    this.commits.set(oid, sorted)
    return oid
  }

  labels = (oid: Oid): string[] => this.commits.get(oid) ?? []

  /** The journal, one line each: 'begins parser Make parser: attempt 1 …'. */
  story = (): string[] => [...this.journal.values()].map(({ what, task, words }) => [what, task, words].join(' '))

  /** The activities as plain functions, as a worker calls them. */
  functions(): Unbatched {
    const all: Unbatched = {
      construct: async input => this.#construct(input),
      send: async input => this.#send(input),
      receive: async input => this.#receive(input),
      serialize: async ({ base, parsed, kind, step }) => this.#serialize(base, parsed, kind, step),
      transition: async ({ received, serialized, sent }) => this.#transition(received, serialized, sent.spent),
      keepWords: async ({ kind, words }) => this.put(kind, words),
      keepItems: async ({ kind, items }) => this.#list(kind, items),
      readItems: async ({ list, from }) => {
        const items = JSON.parse(this.words(list)).slice(from, from + 100)
        const next = from + items.length
        return { items, ...(items.length === 100 && { next }) }
      },
      lintPlan: async ({ parsed }) => this.#lint(parsed),
      gather: async ({ base, results, resolved }) => this.#gather(resolved ?? base, results),
      judge: async ({ resolved }) => this.#judge(resolved),
      validate: async input => this.#validate(input),
      reportFailure: async ({ task, attempt, words, outcome }) =>
        this.put('report', `${task}/${attempt} ${outcome}: ${words}`),
      deliver: async ({ task, head }) => void this.delivered.set(task, head),
      begin: async input => this.#begin(input),
      note: async ({ lines }) => {
        for (const line of lines) if (!this.journal.has(line.id)) this.journal.set(line.id, line)
      },
      remember: async ({ run: _, ...answer }) => void this.remembered.push(answer),
      escalate: async ({ task, words, status }) => {
        this.escalated.push({ words, status, ...(task !== undefined && { task }) })
        return this.put('question', words)
      },
      rest: async status => void this.rested.push(status),
      gatherLessons: async () => ({ base: '' }),
      keepLessons: async () => undefined,
      unlearned: async () => [],
      finish: async ({ base, results, resolved }) => this.#finish(resolved ?? base, JSON.parse(this.words(results))),
    }
    return this.#watched(all)
  }

  #watched(all: Unbatched): Unbatched {
    const { before } = this.overrides
    if (!before) return all
    const entries = Object.entries(all).map(([name, activity]) => [
      name,
      async (input: never) => {
        await before(name, input)
        return await activity(input)
      },
    ])
    return Object.fromEntries(entries)
  }

  #begin(input: RunInput) {
    this.began.push(input)
    if (input.limits.requests !== undefined) this.limit = input.limits.requests
    const { answers, ...known } = this.overrides.remembered ?? { answers: [] }
    return { ...known, ...(answers.length > 0 && { answers: this.#list('answers', answers) }) }
  }

  #list(kind: string, items: readonly unknown[]): List {
    return { ...this.put(kind, JSON.stringify(items)), count: items.length }
  }

  /** The texts behind the references that a step is given, including those in lists of sub-agents' findings. */
  #told(about: readonly Reference[]): string[] {
    return about.flatMap(it => (it.kind === 'found' ? this.#told(JSON.parse(this.words(it))) : [this.words(it)]))
  }

  #construct(input: StepInput): Constructed {
    const asked = { ...input, told: this.#told(input.about) }
    const key = hash(JSON.stringify(input))
    this.#constructed.set(key, asked)
    return { request: { kind: 'request', oid: key }, key, model: `model-${input.tier}-${input.choice}` }
  }

  async #send({ key, model }: StepPlace & Constructed) {
    const before = this.answers.get(key)
    const asked = this.#constructed.get(key)
    if (!asked) throw new Error(`Nobody constructed ${key}.`)
    if (!before) {
      if (this.sent.length >= this.limit)
        throw ApplicationFailure.nonRetryable('The requests are used up.', 'OutOfBudget', 'requests')
      this.sent.push(asked)
      this.inFlight++
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight)
      const beating = setInterval(() => Context.current().heartbeat(), 100)
      try {
        this.answers.set(key, await this.script(asked, Context.current().cancellationSignal))
      } finally {
        clearInterval(beating)
        this.inFlight--
      }
    }
    const answer = this.put('answer', JSON.stringify({ key, said: this.answers.get(key) }))
    return { answer, model, spent: SPENT, wasThere: before !== undefined }
  }

  #receive({ answer, meant }: Parameters<Unbatched['receive']>[0]): Received {
    const { key, said } = JSON.parse(this.words(answer)) as { key: string; said: Said }
    if (said.unknown === undefined) return { parsed: answer, words: '' }
    const words = `The signal ${said.unknown} is unknown.`
    if (meant === undefined) return { words, isConfused: true, unclear: this.put('unclear', words) }
    const read: Said = { ...said, signal: meant }
    return { parsed: this.put('answer', JSON.stringify({ key, said: read })), words: '' }
  }

  #said = (parsed: Reference): Said => JSON.parse(this.words(parsed)).said

  #serialize(base: Oid, parsed: Reference, kind: StepInput['kind'], step: string) {
    const said = this.#said(parsed)
    if ((said.signal ?? 'success') !== 'success' || said.fanOut?.length) return {}
    if (kind === 'artifact') return { artifact: this.put('artifact', said.text ?? `found by ${step}`) }
    if (kind !== 'implement' && kind !== 'resolve') return {}
    const written = said.writes ?? step
    return { commit: written ? this.commit([...this.labels(base), written]) : base }
  }

  #transition(
    { parsed, words: unread, isConfused }: Received,
    serialized: { commit?: Oid; artifact?: Reference } | undefined,
    spent: StepResult['spent'],
  ): StepResult {
    if (!parsed) return { outcome: isConfused ? 'confused' : 'failure_retryable', words: unread, spent }
    const { signal = 'success', words = 'Done.', complaint, ...said } = this.#said(parsed)
    if (complaint !== undefined)
      return { outcome: 'failure_retryable', words: complaint, spent, evidence: this.put('complaints', complaint) }
    const agents = said.fanOut?.map(({ id, tier = 'generation', asks = id }) => ({
      id,
      tier,
      asks: this.put('asks', asks),
    }))
    return {
      outcome: signal,
      words,
      spent,
      parsed,
      ...serialized,
      ...(said.steps && { steps: said.steps.map(step => this.put('step', step)) }),
      ...(said.isGood !== undefined && { isGood: said.isGood }),
      ...(said.plan && { plan: this.put('plan', JSON.stringify(said.plan)) }),
      ...(agents && { fanOut: this.#list('agents', agents) }),
      ...(said.question && { question: this.put('question', said.question) }),
      ...(said.sibling && { sibling: said.sibling }),
      ...(said.meant && { meant: said.meant }),
    }
  }

  #lint(parsed: Reference): Linted {
    const tasks: TaskShape[] = JSON.parse(this.words(parsed))
    const complaints = this.overrides.lint?.(tasks) ?? []
    const widens = this.overrides.widens?.(tasks) ?? ['It is another plan.']
    if (complaints.length === 0) return { plan: parsed, tasks: this.#list('shapes', tasks), complaints, widens }
    return { complaints, report: this.put('report', complaints.join(' ')), widens }
  }

  /** Merges results one after another. Stops at the first that has an unresolved conflict with those merged before. */
  #gather(base: Oid, results: Oid[]): Gathered {
    let labels = this.labels(base)
    for (const result of results) {
      const theirs = this.labels(result)
      const pair = this.overrides.conflicts?.find(
        ([a, b]) => !labels.includes(b) && labels.includes(a) && theirs.includes(b),
      )
      if (pair) {
        const ours = this.commit(labels)
        return { commit: ours, conflicts: { ours, theirs: result, report: this.put('conflict', pair.join(' and ')) } }
      }
      labels = [...labels, ...theirs]
    }
    return { commit: this.commit(labels) }
  }

  #judge(resolved: Oid) {
    const refusal = this.overrides.judge?.(this.labels(resolved))
    const report = this.put('report', refusal ?? 'It is a good merge.')
    return { report, words: refusal ?? '', ...(!refusal && { commit: resolved }) }
  }

  #validate(input: TaskPlace & { head: Oid }): Validated {
    const report = this.put('validation', `${input.task}/${input.attempt}`)
    return { isGood: true, head: input.head, report, words: '', ...this.overrides.validate?.(input) }
  }

  #finish(base: Oid, results: { head: Oid }[]): Finished {
    const { commit, conflicts } = this.#gather(
      base,
      results.map(({ head }) => head),
    )
    const report = this.put('validation', 'contract')
    if (conflicts) return { isGood: false, head: commit, report, words: 'In conflict.', conflicts }
    this.finishes++
    return { isGood: true, head: commit, report, words: '', ...this.overrides.finish?.(this.finishes) }
  }
}
