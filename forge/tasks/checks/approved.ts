/**
 * What the person has said of a run: what it is to do, from where and for how much, which plan holds, which commands
 * may run, what they answered. A workflow's input, a plan or a file of the repository can say what they like; what
 * counts is a signature by a key outside of all of them.
 */
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import type { Approvals } from '../../ai/approvals.ts'
import type { Oid, RunId, RunInput, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'
import { Signatures, type Signed } from './signatures.ts'

/** What of a run a person asks for: what stands in the rest of its input, others may say. */
type AskedRun = Pick<RunInput, 'wish' | 'plan' | 'base' | 'limits'>

/** A plan by its content: the same one gives the same. */
export const hashOfPlan = (plan: Plan): string => sha256(JSON.stringify(plan))

const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** The approvals of one run, in its folder. */
export class ApprovedCommands {
  readonly #signatures: Signatures

  /** @param folder The run's folder. */
  constructor(
    approvals: Approvals,
    folder: string,
    repository: Repository,
    readonly run: RunId,
  ) {
    this.#signatures = new Signatures(approvals, join(folder, 'approved.json'), repository)
  }

  /** For commands that the person has seen. */
  async approve(commands: readonly string[]): Promise<void> {
    await this.#signatures.add(commands.map(command => this.#check(command)))
  }

  /** For all plans and commands of this run, also those that come later: the person has said so (`--yes`). */
  async approveAll(): Promise<void> {
    await this.#signatures.add([this.#everything])
  }

  /** What the run is to do, from where, and what it may take. */
  async approveAsking(asked: AskedRun): Promise<void> {
    await this.#signatures.add([this.#asking(asked)])
  }

  /** Whether the person has asked for this run, for just this and with just these limits. */
  async hasAsked(asked: AskedRun): Promise<boolean> {
    return await this.#signatures.has(this.#asking(asked))
  }

  /** For a plan that the person has seen. */
  async approvePlan(plan: Plan): Promise<void> {
    await this.#signatures.add([this.#plan(plan)])
  }

  /** Whether the person has seen this plan and approved it. */
  async hasPlan(plan: Plan): Promise<boolean> {
    return await this.#signatures.has(this.#plan(plan))
  }

  /** Whether the person has approved all plans and commands as they come. */
  async hasAll(): Promise<boolean> {
    return await this.#signatures.has(this.#everything)
  }

  /** For an answer of the person's to a task, or with '' to the run. */
  async signAnswer(task: TaskId | '', answer: Oid): Promise<void> {
    await this.#signatures.add([this.#answer(task, answer)])
  }

  async hasAnswer(task: TaskId | '', answer: Oid): Promise<boolean> {
    // What was said to the run as a whole may be for the task that holds it.
    const either = [this.#answer(task, answer), this.#answer('', answer)]
    return (await this.#signatures.missing(either)).length < 2
  }

  /** Those of the commands that were not approved, each once. */
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
