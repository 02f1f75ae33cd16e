/** Signatures of the user in a file outside the repository, each for one statement about one repository. */
import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { Oid, Repository } from '../../core/git/repository.ts'
import { readJson, writeJson } from '../../core/state.ts'
import { type Approvals, SignedApproval, type Subject } from './approvals.ts'

const Stored = v.object({ version: v.literal(1), approvals: v.pipe(v.array(SignedApproval), v.maxLength(5000)) })

/** How often a write is repeated when other processes write at the same time. */
const TRIES = 10

/** A statement to sign: what it is about (`name`), and its text. */
export type Signed = Pick<Subject, 'name'> & { words: string }

/** Signatures in the store of a run of the tasks, which the machines that work on it share by their hub. */
export type SharedSignatures = {
  store: {
    all: (folder: 'approvals') => Promise<Buffer[]>
    keep: (folder: 'approvals', key: string, content: string) => Promise<unknown>
  }
  /** The repository's id, which its clones share. */
  id: Oid
}

/**
 * A file of signatures. They are bound to the repository's path, so a copy does not count in another clone. Those that
 * are shared (with `shared`) are bound to the repository's id instead, and are also in the run's store.
 */
export class Signatures {
  readonly #scope: string

  constructor(
    readonly approvals: Approvals,
    readonly file: string,
    readonly repository: Repository,
    private readonly shared?: SharedSignatures,
  ) {
    const scope = shared ? `repository ${shared.id}` : repository.commonDir
    this.#scope = new Bun.CryptoHasher('sha256').update(scope).digest('hex')
  }

  /** Those of `wanted` that were not signed. Throws a {@link Failure} where the user's key can't be used. */
  async missing(wanted: readonly Signed[]): Promise<Signed[]> {
    // An unreadable file approves nothing: the user is asked again.
    const known = (await readJson(this.file, Stored))?.approvals ?? []
    const missing = await this.#missing(wanted, known)
    if (missing.length === 0 || !this.shared) return missing
    const contents = await this.shared.store.all('approvals')
    return await this.#missing(
      missing,
      contents.flatMap(bytes => readShared(bytes) ?? []),
    )
  }

  async #missing(wanted: readonly Signed[], known: readonly SignedApproval[]): Promise<Signed[]> {
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
    await Promise.all(
      more.map(one =>
        this.shared?.store.keep('approvals', `${one.key} ${one.name} ${one.sha256}`, JSON.stringify(one)),
      ),
    )
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

function readShared(bytes: Buffer): SignedApproval | undefined {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), SignedApproval), bytes.toString())
  return parsed.success ? parsed.output : undefined
}
