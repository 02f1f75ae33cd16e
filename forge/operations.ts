/**
 * Records each change that the desk or a command makes to the user's refs as a commit on `refs/forge/operations`, in
 * the same transaction: the refs before and after. Its parents are the previous operation and all commits that no ref
 * has any more, which keeps them from garbage collection. A lost object that is no commit (an annotated tag) can't be a
 * parent and gets its own ref.
 */
import * as v from 'valibot'
import { bytesOf, identityLine, parseCommit, textOf } from '../core/git/commits.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../core/git/objects.ts'
import { moveRefsPatiently } from '../core/git/patience.ts'
import { type Move, RefMoved, type RefName } from '../core/git/refs.ts'
import { isOid, type Oid, type Path } from '../core/git/repository.ts'

export const OPERATIONS = 'refs/forge/operations'
/** The prefix of refs that keep the tips of landed branches, with all their commits. */
export const KEPT = 'refs/forge/kept/'
/** The author of commits that the forge makes for its own records. */
export const FORGE_AUTHOR = { name: 'Forge', email: 'forge@forge.invalid' }
/** The prefix of refs that keep lost objects which are no commits, by their ids. */
export const LOST = 'refs/forge/lost/'

/** At most this many read operations are cached. */
const MAX_KEPT_OPERATIONS = 2_000

/**
 * The kind of the operations by which the forge itself removes drafts of deleted branches that are in the way of a
 * branch. Undo and Redo skip them.
 */
export const PUT_ASIDE = 'put aside'

const RenamedRecord = v.object({ from: v.string(), to: v.string() })

const UpstreamRecord = v.object({ remote: v.string(), merge: v.string() })
/** The upstream of a branch as git's configuration has it. */
export type Upstream = v.InferOutput<typeof UpstreamRecord>

/** The record of an operation: JSON after the first line of its commit's message. */
const Body = v.object({
  kind: v.string(),
  words: v.string(),
  previous: v.nullable(v.string()),
  of: v.optional(v.string()),
  remote: v.optional(v.string()),
  /** Earlier versions have recorded one rename, not a list. */
  renamed: v.optional(v.union([RenamedRecord, v.array(RenamedRecord)])),
  upstream: v.optional(v.object({ before: v.optional(UpstreamRecord), after: v.optional(UpstreamRecord) })),
  refs: v.array(v.object({ ref: v.string(), before: v.optional(v.string()), after: v.optional(v.string()) })),
})

/** A renamed file or folder. */
export type Renamed = { from: Path; to: Path }

export type Operation = {
  id: Oid
  kind: string
  /** A short description, e.g. `save lease.ts to main`. */
  words: string
  /** The time of the operation, in seconds since 1970. */
  time: number
  refs: { ref: RefName; before?: Oid | undefined; after?: Oid | undefined }[]
  /** The operation that this one undid or redid. */
  of?: Oid | undefined
}

/** An operation with the fields that the page is not sent. */
export type Recorded = Operation & {
  previous: Oid | undefined
  renamed: readonly Renamed[]
  /** The remote where the operation deleted a tag. */
  remote?: string | undefined
  /** The upstream of the branch, if the operation has changed that. */
  upstream?: UpstreamChange | undefined
}

type UpstreamChange = { before?: Upstream | undefined; after?: Upstream | undefined }

export type NewOperation = {
  kind: string
  /** A short description, e.g. `save lease.ts to main`. */
  words: string
  /** The operation that this one undoes or redoes. */
  of?: Oid
  /** The remote where the operation deletes a tag. */
  remote?: string | undefined
  /** The upstream of the branch, if the operation changes that. */
  upstream?: UpstreamChange
  moves: readonly Move[]
  /** The refs' changes to record, if some of the refs were moved before this call; by default those of `moves`. */
  refs?: Operation['refs']
  /** The files and folders that the operation renames on the branch, in this order. */
  renamed?: readonly Renamed[]
  /** Objects to write before the refs are moved. */
  made?: readonly NewObject[]
}

/** The operations of one repository. */
export class Operations {
  #last: Promise<unknown> = Promise.resolve()
  /** Operations read lately, as each search for the next undo reads many. They never change. */
  readonly #read = new Map<Oid, Recorded>()

  constructor(readonly objects: Objects) {}

  /**
   * Moves refs, all or none, and records that in the same transaction. Throws RefMoved where a ref has changed
   * meanwhile; then nothing is moved.
   */
  async record(operation: NewOperation): Promise<Oid> {
    // One at a time, since each operation names the one before.
    const next = this.#last.then(() => this.#record(operation))
    this.#last = next.catch(() => undefined)
    return await next
  }

  async #record(operation: NewOperation): Promise<Oid> {
    let unwritten = operation.made ?? []
    for (;;) {
      const previous = (await this.objects.info(OPERATIONS))?.oid
      const kept = await this.#keep(operation)
      const commit = this.#commitFor(operation, previous, kept.commits)
      await writeObjects(this.objects.repository, [...unwritten, EMPTY, commit])
      unwritten = []
      const oid = oidOf(this.objects.repository.format, commit)
      try {
        const own = { ref: OPERATIONS, from: previous, to: oid }
        const moves = [...operation.moves, ...kept.moves, own]
        await moveRefsPatiently(this.objects.repository, moves, {
          message: `forge: ${operation.words}`,
          own: 'refs/forge/',
        })
        return oid
      } catch (error) {
        // Another process has recorded an operation first: retry on top of it.
        if (!(error instanceof RefMoved) || error.ref !== OPERATIONS) throw error
      }
    }
  }

  /**
   * Keeps the old values of refs from garbage collection: gives the commits that become parents of the record, and the
   * refs to make for other objects.
   */
  async #keep({ moves, refs = refsOf(moves), made = [] }: NewOperation): Promise<{ commits: Oid[]; moves: Move[] }> {
    const { format } = this.objects.repository
    // The operation itself writes them: they are not in the repository yet.
    const newCommits = new Set(made.filter(({ type }) => type === 'commit').map(commit => oidOf(format, commit)))
    const lost = [...new Set(refs.flatMap(({ before }) => (before === undefined ? [] : [before])))]
    const infos = await Promise.all(lost.map(oid => this.objects.info(oid)))
    const others = lost.filter((_, at) => infos[at] !== undefined && infos[at].type !== 'commit')
    const isKept = await Promise.all(others.map(oid => this.objects.info(LOST + oid)))
    return {
      commits: lost.filter((oid, at) => infos[at]?.type === 'commit' || newCommits.has(oid)),
      moves: others.map((oid, at) => ({ ref: LOST + oid, from: isKept[at]?.oid, to: oid })),
    }
  }

  #commitFor(
    { kind, words, of, remote, upstream, moves, renamed = [], refs = refsOf(moves) }: NewOperation,
    previous: Oid | undefined,
    lost: readonly Oid[],
  ): NewObject {
    const { format } = this.objects.repository
    const more = { of, remote, upstream, ...(renamed.length > 0 && { renamed }) }
    const body = { kind, words, previous: previous ?? null, ...more, refs }
    const parents = [...new Set([...(previous ? [previous] : []), ...lost])]
    const who = identityLine(FORGE_AUTHOR)
    const message = `${words}\n\n${JSON.stringify(body)}\n`
    const tree = oidOf(format, EMPTY)
    return { type: 'commit', bytes: bytesOf({ tree, parents, message }, who, who) }
  }

  /** Reads an operation; undefined where the id is none. */
  async find(id: Oid): Promise<Recorded | undefined> {
    if (!isOid(this.objects.repository.format, id)) return undefined
    const known = this.#read.get(id)
    if (known) return known
    const found = await this.#find(id)
    if (!found) return undefined
    if (this.#read.size >= MAX_KEPT_OPERATIONS) this.#read.clear()
    this.#read.set(id, found)
    return found
  }

  async #find(id: Oid): Promise<Recorded | undefined> {
    const object = await this.objects.read(id)
    if (object?.type !== 'commit' || !object.bytes) return undefined
    const { message, committer } = parseCommit(object.bytes)
    const [, json = ''] = textOf(message, undefined).split(/\n\n(.*)/s)
    const body = v.safeParse(Body, parseJson(json))
    if (!body.success) return undefined
    const { kind, words, of, remote, upstream, previous, renamed, refs } = body.output
    const ids = [of, previous ?? undefined, ...refs.flatMap(({ before, after }) => [before, after])]
    if (!ids.every(it => it === undefined || isOid(this.objects.repository.format, it))) return undefined
    const time = committer.date?.seconds ?? 0
    const known = { previous: previous ?? undefined, renamed: [renamed ?? []].flat(), remote, upstream }
    return { id, kind, words, time, refs, ...(of && { of }), ...known }
  }

  /** All operations, the newest first. */
  async *newestFirst(): AsyncGenerator<Recorded> {
    for (let id = (await this.objects.info(OPERATIONS))?.oid; id !== undefined; ) {
      const found = await this.find(id)
      if (!found) return
      yield found
      id = found.previous
    }
  }

  /** `count` operations, the newest first, after the first `from`. */
  async list(from: number, count: number): Promise<Operation[]> {
    const found: Operation[] = []
    let at = 0
    for await (const operation of this.newestFirst()) {
      if (at++ < from) continue
      if (found.length >= count) break
      const { previous, renamed, remote, upstream, ...told } = operation
      found.push(told)
    }
    return found
  }

  /** The operation that undo would take back: the newest one that changes refs of `part` and is not undone. */
  async nextToUndo(part?: RefFilter): Promise<Recorded | undefined> {
    const seen = new Set<Oid>()
    for await (const operation of this.newestFirst()) {
      if (operation.kind === PUT_ASIDE || (part && !isAbout(operation, part))) continue
      if (operation.of) {
        // Only the newest undo or redo of an operation counts.
        if (seen.has(operation.of)) continue
        seen.add(operation.of)
        if (operation.kind === 'redo') return await this.find(operation.of)
        continue
      }
      if (!seen.has(operation.id)) return operation
    }
    return undefined
  }

  /** The operation that redo would do again: the last one undone, unless refs of `part` have changed since. */
  async nextToRedo(part?: RefFilter): Promise<Recorded | undefined> {
    const again = new Set<Oid>()
    for await (const operation of this.newestFirst()) {
      if (operation.kind === PUT_ASIDE || (part && !isAbout(operation, part))) continue
      if (!operation.of) return undefined
      if (operation.kind === 'redo') again.add(operation.of)
      else if (!again.delete(operation.of)) return operation
    }
    return undefined
  }

  /** The parts that the newest operations changed, at most `count`; `partOf` maps a ref to its part. */
  async recentParts(count: number, partOf: (ref: RefName) => string | undefined): Promise<Set<string>> {
    const parts = new Set<string>()
    let at = 0
    for await (const { refs } of this.newestFirst()) {
      if (at++ >= count) break
      for (const { ref } of refs) {
        const part = partOf(ref)
        if (part !== undefined) parts.add(part)
      }
    }
    return parts
  }
}

/** Selects refs: an operation matches if it moved one of them. */
export type RefFilter = (ref: RefName) => boolean

const isAbout = ({ refs }: Operation, part: RefFilter): boolean => refs.some(({ ref }) => part(ref))

/** The changes of refs to record for some moves. */
export const refsOf = (moves: readonly Move[]): Operation['refs'] =>
  moves.filter(({ from, to }) => from !== to).map(({ ref, from, to }) => ({ ref, before: from, after: to }))

const EMPTY: NewObject = { type: 'tree', bytes: new Uint8Array() }

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
