/**
 * What the user has approved for a run: its wish, base and limits, its plan, its commands, the answers. Neither a
 * workflow's input nor a plan or file of the repository can claim that: what counts is a signature by a key kept
 * outside of all of them. The signatures lie in the run's store, so they come along to other machines.
 */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { type Approvals, SignedApproval, type Subject } from '../../ai/approvals.ts'
import type { Oid, RunId, RunInput, TaskId } from '../contract.ts'
import { formerIdsOf, repositoryIdOf } from '../engine/repository-id.ts'
import type { Plan } from '../plan/schema.ts'
import type { RunStore } from '../runs/store.ts'

/** The part of a run's input that the user signs. */
type AskedRun = Pick<RunInput, 'wish' | 'plan' | 'base' | 'limits' | 'models'>

/** A digest of a plan's content. */
export const hashOfPlan = (plan: Plan): string => sha256(JSON.stringify(plan))

const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** A statement to sign: what it is about (`name`), and its text. */
type Signed = { name: string; words: string }

const ReadApproval = v.pipe(v.string(), v.parseJson(), SignedApproval)

/** The approvals of one run. They are bound to the repository's id, and count in all its clones. */
export class ApprovedCommands {
  constructor(
    readonly approvals: Approvals,
    readonly store: RunStore,
  ) {}

  get run(): RunId {
    return this.store.run
  }

  /** Signs commands that the user has seen. */
  async approve(commands: readonly string[]): Promise<void> {
    await this.#add(commands.map(command => this.#check(command)))
  }

  /** Signs that all plans and commands of this run are approved, later ones too (`--yes`). */
  async approveAll(): Promise<void> {
    await this.#add([this.#everything])
  }

  /**
   * Signs what a run is asked for with. Where it is approved as it comes, also that all its plans and commands are, and
   * the plan that it begins with. Gives a function that stores the signatures, in one commit with what else is stored
   * in that moment.
   */
  async signRun(asked: AskedRun & { isApproved: boolean }, plan: Plan | undefined): Promise<() => Promise<void>> {
    const all = asked.isApproved ? [this.#everything, ...(plan ? [this.#plan(plan)] : [])] : []
    return await this.#sign([this.#asking(asked), ...all])
  }

  /** Signs the wish, base, limits and models of the run. */
  async approveAsking(asked: AskedRun): Promise<void> {
    await this.#add([this.#asking(asked)])
  }

  /** Whether the user has asked for this run, with exactly this wish and base, and these limits and models. */
  async hasAsked(asked: AskedRun): Promise<boolean> {
    return await this.#has(this.#asking(asked))
  }

  /** As {@link hasAsked}, also by an id that the repository had before it got the one of its hub. */
  async hasEverAsked(asked: AskedRun): Promise<boolean> {
    const scopes = [await this.#scope(), ...(await formerIdsOf(this.#repository))]
    const missing = await Promise.all(scopes.map(scope => this.#missing([this.#asking(asked)], scope)))
    return missing.some(({ length }) => length === 0)
  }

  /** Verifies that the user has asked for this run so. Throws a {@link Failure}. */
  async verifyAsked(asked: AskedRun): Promise<void> {
    if (await this.hasAsked(asked)) return
    throw new Failure(
      `You have not asked for ${this.run} with these limits in this repository: see forge run and forge resume.${await this.ofStrangers()}`,
    )
  }

  /** Signs a plan that the user has seen. */
  async approvePlan(plan: Plan): Promise<void> {
    await this.#add([this.#plan(plan)])
  }

  /** Whether the user has seen and approved this plan. */
  async hasPlan(plan: Plan): Promise<boolean> {
    return await this.#has(this.#plan(plan))
  }

  /** Whether the user has approved all plans and commands in advance. */
  async hasAll(): Promise<boolean> {
    return await this.#has(this.#everything)
  }

  /** Signs the user's answer to a task, or with '' to the run. */
  async signAnswer(task: TaskId | '', answer: Oid): Promise<void> {
    await this.#add([this.#answer(task, answer)])
  }

  async hasAnswer(task: TaskId | '', answer: Oid): Promise<boolean> {
    // An answer to the run as a whole may be for the task that stopped it.
    const either = [this.#answer(task, answer), this.#answer('', answer)]
    return (await this.#missing(either)).length < 2
  }

  /** The commands that are not approved, each once. */
  async missing(commands: readonly string[]): Promise<string[]> {
    const everything = this.#everything
    const missing = await this.#missing([...[...new Set(commands)].map(command => this.#check(command)), everything])
    return missing.includes(everything) ? missing.filter(it => it !== everything).map(({ words }) => words) : []
  }

  /**
   * A sentence about keys that have signed approvals of this run and do not count here; '' where there is none. It
   * follows the sentence that says what is missing.
   */
  async ofStrangers(): Promise<string> {
    const [known, counting] = await Promise.all([this.#known(), this.approvals.counting('command')])
    const stranger = known.find(({ key }) => !counting.names.includes(key))?.key
    return stranger === undefined
      ? ''
      : ` It has approvals by a key that does not count on this machine (${stranger}): forge trust adds it.`
  }

  /** What is stored. What can't be read approves nothing: the user is asked again. */
  async #known(): Promise<SignedApproval[]> {
    const contents = await this.store.all('approvals')
    return contents.flatMap(bytes => {
      const parsed = v.safeParse(ReadApproval, bytes.toString())
      return parsed.success ? [parsed.output] : []
    })
  }

  async #add(signed: readonly Signed[]): Promise<void> {
    const keep = await this.#sign(signed)
    await keep()
  }

  /** Signs what is not signed yet. Gives a function that stores the signatures. */
  async #sign(signed: readonly Signed[]): Promise<() => Promise<void>> {
    const { format } = this.#repository
    const scope = await this.#scope()
    const missing = await this.#missing(signed, scope)
    const approvals = await Promise.all(missing.map(one => this.approvals.sign(subjectOf(one, scope), format)))
    // The key and the signature are parts of the name, since a stored approval is never overwritten.
    const nameOf = (one: SignedApproval) => [one.key, one.name, one.sha256, one.signature].join(' ')
    return async () => {
      await Promise.all(approvals.map(one => this.store.keep('approvals', nameOf(one), JSON.stringify(one))))
    }
  }

  async #has(one: Signed): Promise<boolean> {
    return (await this.#missing([one])).length === 0
  }

  /** Those of `wanted` that were not signed. Throws a {@link Failure} where the user's keys can't be used. */
  async #missing(wanted: readonly Signed[], scoped?: string): Promise<Signed[]> {
    const [known, scope, counting] = await Promise.all([
      this.#known(),
      scoped ?? this.#scope(),
      this.approvals.counting('command'),
    ])
    const byName = Map.groupBy(known, ({ name }) => name)
    const isSigned = (one: Signed) => {
      const about = byName.get(one.name) ?? []
      return about.some(approval => counting.hasSigned(subjectOf(one, scope), this.#repository.format, approval))
    }
    return wanted.filter(one => !isSigned(one))
  }

  /** A command's effect depends on the files beside it, so an approval is bound to the repository. */
  async #scope(): Promise<string> {
    return await repositoryIdOf(this.#repository)
  }

  get #repository() {
    return this.store.objects.repository
  }

  #check(command: string): Signed {
    return { name: `a check of ${this.run}`, words: command }
  }

  #asking({ wish, plan, base, limits, models }: AskedRun): Signed {
    const sorted = (fields: object) =>
      Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
    // Runs of versions without models of their own are signed without them.
    const chosen = models ? [sorted(models)] : []
    const words = JSON.stringify([wish.oid, plan?.oid ?? '', base, sorted(limits), ...chosen])
    return { name: `the asking for ${this.run}`, words }
  }

  #plan(plan: Plan): Signed {
    return { name: `the plan of ${this.run}`, words: hashOfPlan(plan) }
  }

  #answer(task: TaskId | '', answer: Oid): Signed {
    return { name: `an answer of ${this.run}`, words: JSON.stringify([task, answer]) }
  }

  get #everything(): Signed {
    return { name: `all of ${this.run}`, words: 'every command' }
  }
}

const subjectOf = ({ name, words }: Signed, scope: string): Subject => ({
  kind: 'command',
  scope,
  name,
  content: Buffer.from(words),
})
