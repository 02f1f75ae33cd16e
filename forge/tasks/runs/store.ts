/**
 * What a run keeps in git: every blob that a reference names, answers by the key of their request, decisions, the
 * journal's lines. All of it is the tree of one commit, to which a ref of the run points:
 *
 *   kept/a/b/REST       a blob by its id, so that no garbage collection takes it
 *   answers/a/b/REST    an answer by its request's key
 *   journal/a/b/REST    a line of the journal by the hash of its id
 *   decisions/a/b/REST  a decision of the user, by the hash of what it is about
 *   verdicts/a/b/REST   what a worker of the user's found out, signed, by the hash of the key's name and the fact
 *   approvals/a/b/REST  what the user has approved, signed (checks/approved.ts)
 *   batches/a/b/REST    the state of requests in batches (batch-records.ts), by the hash of the record's name
 *   run.json plan.json  the run as the user requested it, and the current plan
 *   status.json         the status of the run when it last rested or continued
 *   escalations/a/b/REST  the data of a report to the user, by the hash of the report's id
 *   refs/a/b/REST       with a hub: the commit and the name of a ref of the run (hub/shared-runs.ts)
 *
 * All but the three JSON files and the refs are written once: a second writer gets the existing file. So nothing
 * depends on the order in which processes write. What is written at the same time goes into one commit, so a killed
 * process has written all of it or nothing.
 */
import { createHash } from 'node:crypto'
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine } from '../../../core/git/commits.ts'
import { type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { RefMoved } from '../../../core/git/refs.ts'
import type { Path } from '../../../core/git/repository.ts'
import { entryAt, listFiles, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import type { Oid, Reference, RunId } from '../contract.ts'
import { storeRef, verifyRunId } from './folder.ts'

/** Folders whose files are never overwritten. */
type Once = 'answers' | 'journal' | 'decisions' | 'escalations' | 'verdicts' | 'approvals' | 'batches'
/** Files that are overwritten. */
type Last = 'run.json' | 'plan.json' | 'status.json'

/** At most this many files of a folder are listed. */
const MAX_LISTED_FILES = 1_000_000
/** At most this many bytes in a blob of a run. */
const MAX_BLOB_BYTES = 64 << 20
/** How often a commit is retried when other processes commit first. */
const TRIES = 200

type Wish = {
  path: Path
  bytes: Uint8Array
  oid: Oid
  /** Whether an existing file is not overwritten. */
  isOnce: boolean
  resolve: (oid: Oid) => void
  reject: (reason: unknown) => void
}

const jsonOf = (value: unknown): string => `${JSON.stringify(value)}\n`
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const placeOf = (folder: string, hex: string): Path => `${folder}/${hex[0]}/${hex[1]}/${hex.slice(2)}`

/** The store of one run. Any number of processes may have it open. */
export class RunStore {
  readonly ref: string
  #waiting: Wish[] = []
  #isWriting = false

  constructor(
    readonly objects: Objects,
    readonly run: RunId,
    private readonly now: () => number = Date.now,
    /** Called after each commit of this process, as each leaves obsolete objects. */
    private readonly afterCommit: () => void = () => undefined,
  ) {
    this.ref = storeRef(verifyRunId(run))
  }

  /** Stores text or bytes; when this resolves, they are in git. */
  async put(kind: string, content: string | Uint8Array): Promise<Reference> {
    const reference = this.referenceTo(kind, content)
    await this.#write(placeOf('kept', reference.oid), Buffer.from(content as string), reference.oid, false)
    return reference
  }

  /** The reference that {@link put} gives, before anything is stored. */
  referenceTo(kind: string, content: string | Uint8Array): Reference {
    const bytes = Buffer.from(content as string)
    return { kind, oid: oidOf(this.objects.repository.format, { type: 'blob', bytes }) }
  }

  /** Stores a value as JSON. Equal values whose fields were added in the same order give the same bytes. */
  putJson(kind: string, value: unknown): Promise<Reference> {
    return this.put(kind, jsonOf(value))
  }

  /** The reference that {@link putJson} gives, before anything is stored. */
  referenceToJson(kind: string, value: unknown): Reference {
    return this.referenceTo(kind, jsonOf(value))
  }

  /** The bytes of a reference. Throws a {@link Failure} where they are gone. */
  async read({ kind, oid }: Reference): Promise<Buffer> {
    const object = await this.objects.read(oid, { limit: MAX_BLOB_BYTES })
    if (object?.bytes && object.type === 'blob') return object.bytes
    throw new Failure(`The ${kind} ${oid.slice(0, 12)} of run ${this.run} is not in this repository any more.`)
  }

  async readText(reference: Reference): Promise<string> {
    return (await this.read(reference)).toString()
  }

  /** Parsed JSON; the caller validates it. */
  async readJson(reference: Reference): Promise<unknown> {
    return JSON.parse(await this.readText(reference))
  }

  /** The id of the file of this name; undefined where there is none. */
  async find(folder: Once, name: string): Promise<Oid | undefined> {
    return await this.#at(placeOf(folder, hexOf(folder, name)))
  }

  /**
   * Stores bytes under a name, unless there is a file of that name. Gives the id of that file's content, old or new.
   */
  async keep(folder: Once, name: string, content: string | Uint8Array): Promise<Oid> {
    const bytes = Buffer.from(content as string)
    const oid = oidOf(this.objects.repository.format, { type: 'blob', bytes })
    return await this.#write(placeOf(folder, hexOf(folder, name)), bytes, oid, true)
  }

  /** The contents of all files in a folder, in no order. */
  async all(folder: Once): Promise<Buffer[]> {
    const top = await this.#at(folder)
    if (top === undefined) return []
    const { files } = await listFiles(this.objects, top, { limit: MAX_LISTED_FILES })
    return await Promise.all(files.map(({ oid }) => this.read({ kind: folder, oid })))
  }

  /** Overwrites a file. */
  async set(name: Last, content: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(content as string)
    await this.#write(name, bytes, oidOf(this.objects.repository.format, { type: 'blob', bytes }), false)
  }

  /** Reads a file; undefined where it was never written. */
  async get(name: Last): Promise<Buffer | undefined> {
    const oid = await this.#at(name)
    return oid === undefined ? undefined : await this.read({ kind: name, oid })
  }

  async #at(path: Path): Promise<Oid | undefined> {
    const tip = await this.#tip()
    return tip === undefined ? undefined : (await entryAt(this.objects, tip, path))?.oid
  }

  async #tip(): Promise<Oid | undefined> {
    return (await this.objects.info(this.ref))?.oid
  }

  #write(path: Path, bytes: Uint8Array, oid: Oid, isOnce: boolean): Promise<Oid> {
    const { promise, resolve, reject } = Promise.withResolvers<Oid>()
    this.#waiting.push({ path, bytes, oid, isOnce, resolve, reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  /** Commits all waiting writes, group by group. Never throws: errors are passed to the waiting callers. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true
    // Everything requested in the same moment goes into one commit.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0)
      try {
        const written = await this.#commit(group)
        for (const { path, oid, resolve } of group) resolve(written.get(path) ?? oid)
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    // No await between the check for waiting files and this, so that a later caller starts the writing anew.
    this.#isWriting = false
  }

  /**
   * Commits a group of files to write, on top of what other processes have written meanwhile. Gives the ids of the
   * group's files, by path: of a file that exists and is not overwritten, the existing id.
   */
  async #commit(group: readonly Wish[]): Promise<Map<Path, Oid>> {
    const { repository } = this.objects
    for (let tries = 1; ; tries++) {
      const tip = await this.#tip()
      const there = await this.#thereOf(group, tip)
      const changes = new Map<Path, TreeChange>()
      const oids = new Map(there)
      for (const { path, bytes, oid, isOnce } of group) {
        if (isOnce && oids.has(path)) continue
        if (isOnce) oids.set(path, oid)
        changes.set(path, { mode: '100644', bytes })
      }
      const { oid: tree, made } = await makeTree(this.objects, tip, changes)
      const before = tip === undefined ? undefined : (await this.objects.info(`${tip}^{tree}`))?.oid
      if (tree === before) return oids
      const who = identityLine({
        name: 'Forge',
        email: 'forge@localhost.invalid',
        date: { seconds: Math.floor(this.now() / 1000), zone: '+0000' },
      })
      const parents = tip === undefined ? [] : [tip]
      const commit = bytesOf({ tree, parents, message: `What run ${this.run} keeps\n` }, who, who)
      const to = (await writeObjects(repository, [...made, { type: 'commit', bytes: commit }])).at(-1)
      try {
        const moves = [{ ref: this.ref, from: tip, to }]
        await moveRefsPatiently(repository, moves, { message: '', own: 'refs/forge/' })
        this.afterCommit()
        return oids
      } catch (error) {
        // Another process has committed first: retry on top of that.
        if (!(error instanceof RefMoved) || tries > TRIES) throw error
      }
    }
  }

  /** Of the files to write, those that exist already and must not be overwritten, with the ids of their blobs. */
  async #thereOf(group: readonly Wish[], tip: Oid | undefined): Promise<Map<Path, Oid>> {
    if (tip === undefined) return new Map()
    const once = [...new Set(group.filter(({ isOnce }) => isOnce).map(({ path }) => path))]
    const entries = await Promise.all(once.map(path => entryAt(this.objects, tip, path)))
    return new Map(once.flatMap((path, at) => (entries[at] ? [[path, entries[at].oid] as const] : [])))
  }
}

/** Gives the name of a file in hex. The name of an answer is a hash already. */
const hexOf = (folder: Once, name: string): string =>
  folder === 'answers' && /^[0-9a-f]{64}$/.test(name) ? name : sha256(name)
