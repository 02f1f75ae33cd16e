/**
 * What the user's own worker has found out about a run's commits: a fact each, signed with the user's key, in the run's
 * store. Any process that can reach the Temporal server may let the worker check anything, and may report anything
 * about it; what was checked and how it came out, only the worker itself writes here. So a fact names all that it
 * depends on.
 */
import * as v from 'valibot'
import { type Approvals, SignedApproval, type Subject } from '../../ai/approvals.ts'
import type { RunId, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'
import type { RunStore } from '../runs/store.ts'
import { hashOfPlan } from './approved.ts'

const Id = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/))
const Hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))

/** Which model is asked about which commit, by which plan and request. */
const Reviewing = { run: v.string(), task: v.string(), step: v.string(), head: Id, plan: Hash, request: Hash }

export const Fact = v.variant('fact', [
  /** The person has asked for the run from this commit. */
  v.object({ fact: v.literal('asked'), run: v.string(), base: Id }),
  /** The person has approved this plan, by its hash. */
  v.object({ fact: v.literal('approved'), run: v.string(), plan: Hash }),
  /** A commit brings these together and nothing else, by git's own merges. */
  v.object({ fact: v.literal('gathered'), run: v.string(), commit: Id, of: v.array(Id) }),
  /** A resolution of two is what such a merge may be. */
  v.object({ fact: v.literal('judged'), run: v.string(), commit: Id, of: v.array(Id) }),
  v.object({
    fact: v.literal('checked'),
    run: v.string(),
    /** '' where it is all results together. */
    task: v.string(),
    attempt: v.number(),
    /** Against which commit; which one was given, and which one it is after formatters have mended it. */
    base: Id,
    from: Id,
    head: Id,
    /** Of the plan, or of a task's part of it ({@link hashOfPart}); and of all commands, in their order. */
    plan: Hash,
    commands: Hash,
    isGood: v.boolean(),
    /** What was found, as it is kept. */
    report: Id,
    /** Whether nothing that was found out before is needed: all boundaries and checks of all tasks were part of it. */
    isWhole: v.boolean(),
  }),
  /** A model is asked for a plan, by a request whose only instructions are the person's. */
  v.object({ fact: v.literal('planning'), run: v.string(), step: v.string(), request: Hash }),
  /** It has proposed this one. */
  v.object({ fact: v.literal('planned'), run: v.string(), plan: Hash }),
  /** A model is asked about a commit, in the same way. */
  v.object({ fact: v.literal('reviewing'), ...Reviewing }),
  /** What it said to that. */
  v.object({ fact: v.literal('reviewed'), ...Reviewing, isGood: v.boolean() }),
])
export type Fact = v.InferOutput<typeof Fact>
export type FactOf<Kind extends Fact['fact']> = Extract<Fact, { fact: Kind }>

const Stored = v.object({ words: v.pipe(v.string(), v.maxLength(200_000)), signature: SignedApproval })
const ReadFact = v.pipe(v.string(), v.parseJson(), Fact)

/** All that is believed, and whether there is more with signatures of other keys. */
export type BelievedFacts = { facts: Fact[]; hasKey: boolean; ofOthers: number }

/** The facts of one run. */
export class Verdicts {
  constructor(
    readonly approvals: Approvals,
    readonly store: RunStore,
  ) {}

  /** Signs a fact that this process has just found out. Throws a {@link Failure} where the user's key can't be used. */
  async sign(fact: Fact): Promise<void> {
    const words = wordsOf(fact)
    const signature = await this.approvals.sign(subjectOf(this.store.run, words), this.#format)
    // With the key's name: what another key has signed is no reason to sign nothing.
    await this.store.keep('verdicts', nameOf(signature.key, words), JSON.stringify({ words, signature }))
  }

  /** Whether this very fact is there, signed by this user. */
  async has(fact: Fact): Promise<boolean> {
    const key = await this.approvals.keyName()
    if (key === undefined) return false
    const words = wordsOf(fact)
    const oid = await this.store.find('verdicts', nameOf(key, words))
    if (oid === undefined) return false
    const stored = read(await this.store.read({ kind: 'verdict', oid }))
    return stored?.words === words && (await this.#isSigned(stored))
  }

  async all(): Promise<BelievedFacts> {
    const [contents, key] = await Promise.all([this.store.all('verdicts'), this.approvals.keyName()])
    const stored = contents.flatMap(bytes => read(bytes) ?? [])
    const own = stored.filter(({ signature }) => signature.key === key)
    const facts: Fact[] = []
    for (const one of own) {
      if (!(await this.#isSigned(one))) continue
      const fact = v.safeParse(ReadFact, one.words)
      if (fact.success && fact.output.run === this.store.run) facts.push(fact.output)
    }
    return { facts, hasKey: key !== undefined, ofOthers: stored.length - own.length }
  }

  #isSigned({ words, signature }: v.InferOutput<typeof Stored>): Promise<boolean> {
    return this.approvals.isSigned(subjectOf(this.store.run, words), this.#format, [signature])
  }

  get #format() {
    return this.store.objects.repository.format
  }
}

/** A task's part of a plan, by what decides whether it is done; without a task, all of the plan. */
export function hashOfPart(plan: Plan, task: TaskId | undefined): string {
  if (task === undefined) return hashOfPlan(plan)
  const own = plan.tasks.find(({ id }) => id === task)
  const claimed = plan.contract.filter(({ id }) => own?.claims.includes(id))
  return hashOfWords(['part', own, claimed])
}

/** Of anything that JSON can say. */
const hashOfWords = (value: unknown): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('hex')

/** The same fact is the same words, in whichever order its parts were given. */
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
