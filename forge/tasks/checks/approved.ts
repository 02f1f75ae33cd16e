/**
 * Which runs may spend, how much, and which commands of a plan may run: what the person has asked for, seen and signed
 * for, and nothing else. A workflow's input, a
 * plan or a file of the repository can say what they like; what counts is a signature by a key outside of all of them.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Repository } from '../../../core/git/repository.ts'
import { type Approvals, SignedApproval, type Subject } from '../../ai/approvals.ts'
import type { Limits, RunId } from '../contract.ts'

const FILE = 'approved.json'
const Approved = v.object({ version: v.literal(1), approvals: v.pipe(v.array(SignedApproval), v.maxLength(5000)) })

/** The approvals of one run, in its folder. */
export class ApprovedCommands {
  /**
   * @param folder The run's folder.
   * @param repository Within which they count: its own path, so that those of one clone mean nothing in another.
   */
  constructor(
    readonly approvals: Approvals,
    readonly folder: string,
    readonly repository: Repository,
    readonly run: RunId,
  ) {}

  /** For commands that the person has seen. */
  async approve(commands: readonly string[]): Promise<void> {
    await this.#add(commands.map(command => this.#subject(command)))
  }

  /** For all commands of this run, also those that come later: the person has said so (`--yes`). */
  async approveAll(): Promise<void> {
    await this.#add([this.#everything])
  }

  /** What the run may take, as the person has asked for it. */
  async approveLimits(limits: Limits): Promise<void> {
    await this.#add([this.#asking(limits)])
  }

  /** Whether the person has asked for this run with just these limits. */
  async hasLimits(limits: Limits): Promise<boolean> {
    return await this.approvals.isSigned(this.#asking(limits), this.repository.format, await this.#read())
  }

  /** Those of the commands that nobody has approved, each once. */
  async missing(commands: readonly string[]): Promise<string[]> {
    const { format } = this.repository
    const known = await this.#read()
    if (await this.approvals.isSigned(this.#everything, format, known)) return []
    const missing: string[] = []
    for (const command of new Set(commands))
      if (!(await this.approvals.isSigned(this.#subject(command), format, known))) missing.push(command)
    return missing
  }

  #subject(command: string): Subject {
    const name = `a check of ${this.run}`
    return { kind: 'command', scope: this.#scope, name, content: Buffer.from(command) }
  }

  #asking(limits: Limits): Subject {
    const given = Object.entries(limits).filter(([, value]) => value !== undefined)
    const content = Buffer.from(JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1))))
    return { kind: 'command', scope: this.#scope, name: `the limits of ${this.run}`, content }
  }

  get #everything(): Subject {
    const content = Buffer.from('every command')
    return { kind: 'command', scope: this.#scope, name: `all of ${this.run}`, content }
  }

  get #scope(): string {
    return new Bun.CryptoHasher('sha256').update(this.repository.commonDir).digest('hex')
  }

  async #add(subjects: Subject[]): Promise<void> {
    const signed = await Promise.all(subjects.map(it => this.approvals.sign(it, this.repository.format)))
    const known = await this.#read()
    const approvals = [...known, ...signed]
    const draft = join(this.folder, `${FILE}.${crypto.randomUUID()}`)
    await writeFile(draft, `${JSON.stringify({ version: 1, approvals })}\n`, { mode: 0o600, flag: 'wx' })
    await rename(draft, join(this.folder, FILE))
  }

  async #read(): Promise<SignedApproval[]> {
    try {
      const text = await readFile(join(this.folder, FILE), 'utf8')
      const parsed = v.safeParse(Approved, JSON.parse(text))
      return parsed.success ? parsed.output.approvals : []
    } catch {
      // What can't be read approves nothing: the person is asked again.
      return []
    }
  }
}
