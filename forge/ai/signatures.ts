/** Signatures of the user in a file outside the repository, each for one statement about one repository. */
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { Repository } from '../../core/git/repository.ts'
import { readJson, writeJson } from '../../core/state.ts'
import { type Approvals, SignedApproval, type Subject } from './approvals.ts'

const Stored = v.object({ version: v.literal(1), approvals: v.pipe(v.array(SignedApproval), v.maxLength(5000)) })

/** How often a write is repeated when other processes write at the same time. */
const TRIES = 10

/** A statement to sign: what it is about (`name`), and its text. */
export type Signed = Pick<Subject, 'name'> & { words: string }

/** A file of signatures. They are bound to the repository's path, so a copy does not count in another clone. */
export class Signatures {
  readonly #scope: string

  constructor(
    readonly approvals: Approvals,
    readonly file: string,
    readonly repository: Repository,
  ) {
    this.#scope = new Bun.CryptoHasher('sha256').update(repository.commonDir).digest('hex')
  }

  /** Those of `wanted` that were not signed. Throws a {@link Failure} where the user's key can't be used. */
  async missing(wanted: readonly Signed[]): Promise<Signed[]> {
    // An unreadable file approves nothing: the user is asked again.
    const known = (await readJson(this.file, Stored))?.approvals ?? []
    const missing: Signed[] = []
    for (const one of wanted)
      if (!(await this.approvals.isSigned(this.#subject(one), this.repository.format, known))) missing.push(one)
    return missing
  }

  async has(one: Signed): Promise<boolean> {
    return (await this.missing([one])).length === 0
  }

  /** Signs what the user has seen. */
  async add(signed: readonly Signed[]): Promise<void> {
    const more = await Promise.all(signed.map(one => this.approvals.sign(this.#subject(one), this.repository.format)))
    for (let tries = 1; ; tries++) {
      const known = (await readJson(this.file, Stored))?.approvals ?? []
      const added = more.filter(one => !known.some(other => isDeepStrictEqual(one, other)))
      // Another process may have overwritten the file at the same moment: then write again.
      if (added.length === 0 || tries > TRIES) return
      await writeJson(this.file, { version: 1, approvals: [...known, ...added] })
    }
  }

  async clear(): Promise<void> {
    await writeJson(this.file, { version: 1, approvals: [] })
  }

  #subject({ name, words }: Signed): Subject {
    return { kind: 'command', scope: this.#scope, name, content: Buffer.from(words) }
  }
}
