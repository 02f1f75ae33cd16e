/**
 * Whether checks of a repository may reach the network: only where a person has said so for this repository, by a
 * signature of a key outside of it. Neither a plan, a workflow's input nor a file of the repository can say so.
 */
import { join } from 'node:path'
import type { Repository } from '../../../core/git/repository.ts'
import type { Approvals } from '../../ai/approvals.ts'
import { Signatures } from './signatures.ts'

const NETWORK = { name: 'the network of all checks', words: 'every address' }

/** What the person allows, for one repository. */
export class NetworkPermission {
  readonly #signatures: Signatures

  /** @param state The repository's state folder. */
  constructor(approvals: Approvals, state: string, repository: Repository) {
    this.#signatures = new Signatures(approvals, join(state, 'network.json'), repository)
  }

  /** Throws a {@link Failure} where the key of this user can't be used. */
  async isGiven(): Promise<boolean> {
    return await this.#signatures.has(NETWORK)
  }

  /** Allows the network, once the person was told what commands can reach with it. It holds until it is taken back. */
  async give(): Promise<void> {
    await this.#signatures.add([NETWORK])
  }

  async takeBack(): Promise<void> {
    if (await this.isGiven()) await this.#signatures.clear()
  }
}
