/**
 * Whether checks of a repository may reach the network: only where a person has said so for this repository, by a
 * signature of a key outside of it. Neither a plan, a workflow's input nor a file of the repository can say so.
 */
import { join } from 'node:path'
import * as v from 'valibot'
import type { Repository } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'
import { type Approvals, SignedApproval, type Subject } from '../../ai/approvals.ts'

const FILE = 'network.json'
const Stored = v.object({ version: v.literal(1), approvals: v.pipe(v.array(SignedApproval), v.maxLength(10)) })

/** What the person allows, for one repository. */
export class NetworkPermission {
  /**
   * @param state The repository's state folder.
   * @param repository Within which it counts: its own path, so that a copy of that folder means nothing in another.
   */
  constructor(
    readonly approvals: Approvals,
    readonly state: string,
    readonly repository: Repository,
  ) {}

  /** Throws a {@link Failure} where the key of this user can't be used. */
  async isGiven(): Promise<boolean> {
    const stored = await readJson(join(this.state, FILE), Stored)
    return await this.approvals.isSigned(this.#subject, this.repository.format, stored?.approvals ?? [])
  }

  /** For a person who was told what commands can reach then. It holds until it is taken back. */
  async give(): Promise<void> {
    await this.#write([await this.approvals.sign(this.#subject, this.repository.format)])
  }

  async takeBack(): Promise<void> {
    if (await this.isGiven()) await this.#write([])
  }

  async #write(approvals: SignedApproval[]): Promise<void> {
    await writeJson(join(this.state, FILE), { version: 1, approvals })
  }

  get #subject(): Subject {
    const scope = new Bun.CryptoHasher('sha256').update(this.repository.commonDir).digest('hex')
    return { kind: 'command', scope, name: 'the network of all checks', content: Buffer.from('every address') }
  }
}
