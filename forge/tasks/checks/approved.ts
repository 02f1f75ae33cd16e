/**
 * What the user has approved for a run: its wish, base and limits, its plan, its commands, the answers. Neither a
 * workflow's input nor a plan or file of the repository can claim that: what counts is a signature by a key kept
 * outside of all of them.
 */
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import type { Approvals } from '../../ai/approvals.ts'
import { type SharedSignatures, Signatures, type Signed } from '../../ai/signatures.ts'
import type { Oid, RunId, RunInput, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'

/** The part of a run's input that the user signs. */
type AskedRun = Pick<RunInput, 'wish' | 'plan' | 'base' | 'limits'>

/** A digest of a plan's content. */
export const hashOfPlan = (plan: Plan): string => sha256(JSON.stringify(plan))

const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** The approvals of one run, in its folder. */
export class ApprovedCommands {
  readonly #signatures: Signatures

  /** @param folder The run's folder. `shared`: where other machines have them from, with a hub. */
  constructor(
    approvals: Approvals,
    folder: string,
    repository: Repository,
    readonly run: RunId,
    shared?: SharedSignatures,
  ) {
    this.#signatures = new Signatures(approvals, join(folder, 'approved.json'), repository, shared)
  }

  /** Signs commands that the user has seen. */
  async approve(commands: readonly string[]): Promise<void> {
    await this.#signatures.add(commands.map(command => this.#check(command)))
  }

  /** Signs that all plans and commands of this run are approved, later ones too (`--yes`). */
  async approveAll(): Promise<void> {
    await this.#signatures.add([this.#everything])
  }

  /** Signs the wish, base and limits of the run. */
  async approveAsking(asked: AskedRun): Promise<void> {
    await this.#signatures.add([this.#asking(asked)])
  }

  /** Whether the user has asked for this run, with exactly this wish, base and limits. */
  async hasAsked(asked: AskedRun): Promise<boolean> {
    return await this.#signatures.has(this.#asking(asked))
  }

  /** Signs a plan that the user has seen. */
  async approvePlan(plan: Plan): Promise<void> {
    await this.#signatures.add([this.#plan(plan)])
  }

  /** Whether the user has seen and approved this plan. */
  async hasPlan(plan: Plan): Promise<boolean> {
    return await this.#signatures.has(this.#plan(plan))
  }

  /** Whether the user has approved all plans and commands in advance. */
  async hasAll(): Promise<boolean> {
    return await this.#signatures.has(this.#everything)
  }

  /** Signs the user's answer to a task, or with '' to the run. */
  async signAnswer(task: TaskId | '', answer: Oid): Promise<void> {
    await this.#signatures.add([this.#answer(task, answer)])
  }

  async hasAnswer(task: TaskId | '', answer: Oid): Promise<boolean> {
    // An answer to the run as a whole may be for the task that stopped it.
    const either = [this.#answer(task, answer), this.#answer('', answer)]
    return (await this.#signatures.missing(either)).length < 2
  }

  /** The commands that are not approved, each once. */
  async missing(commands: readonly string[]): Promise<string[]> {
    const missing = await this.#signatures.missing([...new Set(commands)].map(command => this.#check(command)))
    if (missing.length === 0 || (await this.#signatures.has(this.#everything))) return []
    return missing.map(({ words }) => words)
  }

  #check(command: string): Signed {
    return { name: `a check of ${this.run}`, words: command }
  }

  #asking({ wish, plan, base, limits }: AskedRun): Signed {
    const given = Object.entries(limits).filter(([, value]) => value !== undefined)
    const words = JSON.stringify([wish.oid, plan?.oid ?? '', base, given.sort(([a], [b]) => (a < b ? -1 : 1))])
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
