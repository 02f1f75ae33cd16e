/**
 * Whether checks of a repository may use the network: only where the user has allowed that for this repository, by a
 * signature of a key kept outside of it. Neither a plan, a workflow's input nor a file of the repository can allow it.
 */
import { join } from 'node:path'
import type { Repository } from '../../core/git/repository.ts'
import type { Approvals } from './approvals.ts'
import { Signatures } from './signatures.ts'

const NETWORK = { name: 'the network of all checks', words: 'every address' }

/** The user's permission for one repository. */
export class NetworkPermission {
  readonly #signatures: Signatures

  /** @param state The repository's state folder. */
  constructor(approvals: Approvals, state: string, repository: Repository) {
    this.#signatures = new Signatures(approvals, join(state, 'network.json'), repository)
  }

  /** Whether the network is allowed. Throws a {@link Failure} where this user's key can't be used. */
  async isGiven(): Promise<boolean> {
    return await this.#signatures.has(NETWORK)
  }

  /** Allows checks to use the network, until `takeBack`. First, the user has to be told what they can reach. */
  async give(): Promise<void> {
    await this.#signatures.add([NETWORK])
  }

  async takeBack(): Promise<void> {
    if (await this.isGiven()) await this.#signatures.clear()
  }
}
