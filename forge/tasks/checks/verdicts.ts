/**
 * Facts that a worker of the user's has found out about a run's commits, each signed with the key of its machine and
 * kept in the run's store. Any process that can reach the Temporal server can make the worker check anything and can
 * report anything; but what was checked, and with which result, only the worker writes here. So a fact names everything
 * that it depends on.
 */
import * as v from 'valibot'
import { type Approvals, type Counting, SignedApproval, type Subject } from '../../ai/approvals.ts'
import type { RunId, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'
import type { RunStore } from '../runs/store.ts'
import { hashOfPlan } from './approved.ts'

const Id = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))

/** Which model is asked about which commit, by which plan and request. */
const Reviewing = { run: v.string(), task: v.string(), step: v.string(), head: Id, plan: Hash, request: Hash }

export const Fact = v.variant('fact', [
  /** The user has asked for the run from this commit. */
  v.object({ fact: v.literal('asked'), run: v.string(), base: Id }),
  /** The lessons with which the run begins are those of the machine that has begun it: the blob of their list. */
  v.object({ fact: v.literal('pinned'), run: v.string(), lessons: Id }),
  /** The user has approved this plan, by its hash. */
  v.object({ fact: v.literal('approved'), run: v.string(), plan: Hash }),
  /** A commit merges exactly these commits, by git's own merges. */
  v.object({ fact: v.literal('gathered'), run: v.string(), commit: Id, of: v.array(Id) }),
  /** The resolution of a conflict between two commits is a valid merge of them. */
  v.object({ fact: v.literal('judged'), run: v.string(), commit: Id, of: v.array(Id) }),
  v.object({
    fact: v.literal('checked'),
    run: v.string(),
    /** The task; '' for all results together. */
    task: v.string(),
    attempt: v.number(),
    /**
     * `base`: the commit that the result is compared with. `from`: the commit that was handed in. `head`: that commit
     * after formatters changed it.
     */
    base: Id,
    from: Id,
    head: Id,
    /**
     * A hash of the plan, or of a task's part of it ({@link hashOfPart}). `commands`: a hash of all commands in order.
     */
    plan: Hash,
    commands: Hash,
    isGood: v.boolean(),
    /** The blob of the stored report. */
    report: Id,
    /** Whether this fact needs no earlier ones: boundaries and checks of all tasks were part of the check. */
    isWhole: v.boolean(),
  }),
  /** A model is asked for a plan by a request that has no instructions but the user's. */
  v.object({ fact: v.literal('planning'), run: v.string(), step: v.string(), request: Hash }),
  /** The model has proposed this plan. */
  v.object({ fact: v.literal('planned'), run: v.string(), plan: Hash }),
  /** The answer of a model to a request for a plan or a verdict: the blob in which it is stored. */
  v.object({ fact: v.literal('answered'), run: v.string(), request: Hash, answer: Id }),
  /** A model is asked for a verdict on a commit, by a request that has no instructions but the user's. */
  v.object({ fact: v.literal('reviewing'), ...Reviewing }),
  /** The model's verdict. */
  v.object({ fact: v.literal('reviewed'), ...Reviewing, isGood: v.boolean() }),
])
export type Fact = v.InferOutput<typeof Fact>
export type FactOf<Kind extends Fact['fact']> = Extract<Fact, { fact: Kind }>

const Stored = v.object({ words: v.pipe(v.string(), v.maxLength(200_000)), signature: SignedApproval })
const ReadFact = v.pipe(v.string(), v.parseJson(), Fact)

/** The facts with a valid signature. `strangers`: the fingerprints of keys that signed others and do not count. */
export type BelievedFacts = { facts: Fact[]; hasKey: boolean; strangers: string[] }

/** Signs the facts of one run (see {@link Fact}), and looks up the signed ones. */
export class Verdicts {
  constructor(
    readonly approvals: Approvals,
    readonly store: RunStore,
  ) {}

  /** Signs a fact that this process has just found out. Throws a {@link Failure} where the user's key can't be used. */
  async sign(fact: Fact): Promise<void> {
    const keep = await this.signed(fact)
    await keep()
  }

  /**
   * Signs a fact, as {@link sign}. Gives a function that stores it, in one commit with what else is stored in that
   * moment.
   */
  async signed(fact: Fact): Promise<() => Promise<void>> {
    const words = wordsOf(fact)
    const signature = await this.approvals.sign(subjectOf(this.store.run, words), this.#format)
    // The key is a part of the name, since a stored fact is never overwritten: the same fact signed by another key must
    // not take the name of this one.
    return async () => {
      await this.store.keep('verdicts', nameOf(signature.key, words), JSON.stringify({ words, signature }))
    }
  }

  /** Whether exactly this fact is signed by a key that counts. */
  async has(fact: Fact): Promise<boolean> {
    const words = wordsOf(fact)
    const counting = await this.approvals.counting('verdict')
    for (const key of counting.names) {
      const oid = await this.store.find('verdicts', nameOf(key, words))
      const stored = oid === undefined ? undefined : read(await this.store.read({ kind: 'verdict', oid }))
      if (stored?.words === words && this.#isSigned(stored, counting)) return true
    }
    return false
  }

  async all(): Promise<BelievedFacts> {
    const [contents, own, counting] = await Promise.all([
      this.store.all('verdicts'),
      this.approvals.keyName(),
      this.approvals.counting('verdict'),
    ])
    const { names } = counting
    const stored = contents.flatMap(bytes => read(bytes) ?? [])
    const trusted = stored.filter(({ signature }) => names.includes(signature.key))
    const facts: Fact[] = []
    for (const one of trusted) {
      if (!this.#isSigned(one, counting)) continue
      const fact = v.safeParse(ReadFact, one.words)
      if (fact.success && fact.output.run === this.store.run) facts.push(fact.output)
    }
    const others = stored.filter(({ signature }) => !names.includes(signature.key))
    const strangers = [...new Set(others.map(({ signature }) => signature.key))]
    return { facts, hasKey: own !== undefined, strangers }
  }

  #isSigned({ words, signature }: v.InferOutput<typeof Stored>, counting: Counting): boolean {
    return counting.hasSigned(subjectOf(this.store.run, words), this.#format, signature)
  }

  get #format() {
    return this.store.objects.repository.format
  }
}

/** A hash of the part of a plan that decides whether a task is done; without a task, of the whole plan. */
export function hashOfPart(plan: Plan, task: TaskId | undefined): string {
  if (task === undefined) return hashOfPlan(plan)
  const own = plan.tasks.find(({ id }) => id === task)
  const claimed = plan.contract.filter(({ id }) => own?.claims.includes(id))
  return hashOfWords(['part', own, claimed])
}

/** A hash of a JSON value. */
const hashOfWords = (value: unknown): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('hex')

/** A fact as text, the same for any order of its fields. */
const wordsOf = (fact: Fact): string => JSON.stringify(v.parse(Fact, fact))

const nameOf = (key: string, words: string): string => `${key} ${words}`

const subjectOf = (run: RunId, words: string): Subject => ({
  kind: 'verdict',
  scope: '',
  name: `a fact of ${run}`,
  content: Buffer.from(words),
})

function read(bytes: Buffer): v.InferOutput<typeof Stored> | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Stored), bytes.toString())
  return parsed.success ? parsed.output : undefined
}
