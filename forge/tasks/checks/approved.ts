/**
 * Which runs may spend, how much, and which commands of a plan may run: what the person has asked for, seen and signed
 * for, and nothing else. A workflow's input, a plan or a file of the repository can say what they like; what counts is a
 * signature by a key outside of all of them.
 */
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import type { Approvals } from '../../ai/approvals.ts'
import type { Limits, RunId } from '../contract.ts'
import { Signatures, type Signed } from './signatures.ts'

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

  /** For all commands of this run, also those that come later: the person has said so (`--yes`). */
  async approveAll(): Promise<void> {
    await this.#signatures.add([this.#everything])
  }

  /** What the run may take, as the person has asked for it. */
  async approveLimits(limits: Limits): Promise<void> {
    await this.#signatures.add([this.#asking(limits)])
  }

  /** Whether the person has asked for this run with just these limits. */
  async hasLimits(limits: Limits): Promise<boolean> {
    return await this.#signatures.has(this.#asking(limits))
  }

  /** Those of the commands that nobody has approved, each once. */
  async missing(commands: readonly string[]): Promise<string[]> {
    const missing = await this.#signatures.missing([...new Set(commands)].map(command => this.#check(command)))
    if (missing.length === 0 || (await this.#signatures.has(this.#everything))) return []
    return missing.map(({ words }) => words)
  }

  #check(command: string): Signed {
    return { name: `a check of ${this.run}`, words: command }
  }

  #asking(limits: Limits): Signed {
    const given = Object.entries(limits).filter(([, value]) => value !== undefined)
    const words = JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)))
    return { name: `the limits of ${this.run}`, words }
  }

  get #everything(): Signed {
    return { name: `all of ${this.run}`, words: 'every command' }
  }
}
