/**
 * Checkpoints of a turn, written at each of its steps: a commit at `refs/forge/turns/<branch>`, on the one that the
 * turn began with, whose tree has the current files and conversation. After a crash it can be kept or discarded. The
 * commit that ends the turn deletes the ref in the same transaction.
 */

import { hostname } from 'node:os'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine, parseCommit, textOf } from '../../../core/git/commits.ts'
import { type NewObject, type Objects, oidOf, writeObjects } from '../../../core/git/objects.ts'
import { type Move, RefMoved } from '../../../core/git/refs.ts'
import { isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { makeTree } from '../../../core/git/trees.ts'
import { isRunning } from '../../../core/processes.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { SESSION, type Session } from '../../ai/session.ts'
import { readSession, writeSession } from '../../ai/session-file.ts'
import { FORGE_AUTHOR, type Renamed } from '../../operations.ts'
import type { BranchWork } from '../branches/branch-work.ts'
import { asChanges, type DraftFile, filesBetween } from '../branches/drafts.ts'
import { isInTheWay, moveOwnRefs } from '../branches/moving-refs.ts'
import { whyNotWritten } from '../branches/save.ts'
import { TURNS, turnRef } from '../refs.ts'

/**
 * A folder in a checkpoint's tree for content that requests contain but no file does any more, so that garbage
 * collection keeps it during the turn. It belongs to no file of the branch.
 */
const SENT: Path = '.forge/sent/'

const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The data of a checkpoint besides its files, as JSON after the first line of the commit's message. */
const Body = v.object({
  turn: v.pipe(v.string(), v.regex(/^[0-9a-z-]{1,64}$/)),
  base: v.nullable(v.string()),
  /** The number of entries in the conversation before the turn. */
  from: Count,
  since: v.number(),
  model: v.string(),
  /** `asks`: a request to the model is under way, and may be charged. */
  does: v.picklist(['asks', 'works', 'ended']),
  /** The conflicts of a waiting merge that the AI is asked to resolve, if the message asks only for that. */
  asked: v.optional(v.object({ paths: v.array(v.string()), isOne: v.boolean() })),
  renames: v.optional(v.array(v.object({ from: v.string(), to: v.string() })), []),
  /** Why the turn ended without a commit. */
  words: v.optional(v.string()),
  /** The process that runs the turn, and its machine. */
  by: v.optional(v.object({ host: v.string(), pid: Count })),
})

export type Checkpoint = Omit<v.InferOutput<typeof Body>, 'base' | 'renames'> & {
  /** The commit that the turn began with; undefined in a branch without one. */
  base: Oid | undefined
  session: Session
  /** The differences from the base, without the session. */
  files: ReadonlyMap<Path, DraftFile>
  /** The renames by the turn's tools, each from a path of the base. */
  renames: readonly Renamed[]
}

const OWN = { host: hostname(), pid: process.pid }

/** Where a turn that another process began may still run, in words; undefined if it can't. */
export function whereItRuns({ by }: Checkpoint): string | undefined {
  if (!by) return undefined
  if (by.host !== OWN.host) return `on ${visible(by.host)}`
  return by.pid !== OWN.pid && isRunning(by.pid) ? `on this machine (process ${by.pid})` : undefined
}

/** The checkpoints of one branch's turn. Their ref moves only while the branch is locked: no rename comes between. */
export class Checkpoints {
  #written: Oid | undefined

  constructor(
    readonly work: BranchWork,
    /** The last checkpoint, if the turn is from an earlier process. */
    written?: Oid,
  ) {
    this.#written = written
  }

  /** Writes the first checkpoint of a turn, whose branch is locked. Throws as {@link write} does. */
  async begin(checkpoint: Checkpoint): Promise<void> {
    await this.#inWords(async () => this.#move(await this.#make(checkpoint)))
  }

  /**
   * Writes a checkpoint that replaces the last one. Throws a {@link Failure} if another program has moved the ref, or
   * the disk refuses.
   */
  async write(checkpoint: Checkpoint): Promise<void> {
    await this.#inWords(async () => {
      const commit = await this.#make(checkpoint)
      await this.work.brieflyLocked(() => this.#move(commit))
    })
  }

  /** Converts an error of git or the disk to a sentence for the user. */
  async #inWords(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (error instanceof Failure) throw error
      const { name, room } = this.work
      const why = await whyNotWritten(room.objects.repository, error)
      const kept =
        'What was done so far is there until the desk ends: make it possible to write, then keep or discard it.'
      throw new Failure(`What the AI does in ${visiblePath(name)} can't be written down (${why}). ${kept}`)
    }
  }

  /** Writes the commit of a checkpoint. */
  async #make(checkpoint: Checkpoint): Promise<Oid> {
    const { objects } = this.work.room
    const { session, files, base, ...body } = checkpoint
    const changes = asChanges(files).set(SESSION, { mode: '100644', bytes: writeSession(session) })
    for (const oid of await this.#sentBy(session)) changes.set(SENT + oid, { mode: '100644', oid })
    const tree = await makeTree(objects, base, changes)
    const who = identityLine(FORGE_AUTHOR)
    const message = `A turn of an AI\n\n${JSON.stringify({ ...body, base: base ?? null, by: OWN })}\n`
    const parents = base === undefined ? [] : [base]
    const commit: NewObject = { type: 'commit', bytes: bytesOf({ tree: tree.oid, parents, message }, who, who) }
    const oid = oidOf(objects.repository.format, commit)
    await writeObjects(objects.repository, [...tree.made, commit])
    return oid
  }

  async #sentBy(session: Session): Promise<Oid[]> {
    const { contentOf } = await import('../../ai/opening.ts')
    const oids = contentOf(session)
    const found = await Promise.all(oids.map(oid => this.work.room.objects.info(oid)))
    // Git would refuse a tree with missing objects.
    return oids.filter((_, at) => found[at]?.type === 'blob')
  }

  async #move(to: Oid): Promise<void> {
    const { work } = this
    try {
      await moveOwnRefs(work.room.objects, [{ ref: turnRef(work.name), from: this.#written, to }], '')
      this.#written = to
    } catch (error) {
      const name = visiblePath(work.name)
      if (error instanceof RefMoved)
        throw new Failure(`Another desk has ended this turn in ${name}, or has begun one: this one is over.`)
      if (isInTheWay(error))
        throw new Failure(
          `What an AI did in a branch that is gone is in the way of one in ${name}: see git for-each-ref ${TURNS}.`,
        )
      throw error
    }
  }

  /** The last checkpoint. */
  get written(): Oid | undefined {
    return this.#written
  }

  /** The move that deletes the ref. It holds only while the branch is locked. */
  get end(): Move {
    return { ref: turnRef(this.work.name), from: this.#written, to: undefined }
  }
}

/** Reads a checkpoint; undefined if the commit is none. */
export async function readCheckpoint(objects: Objects, commit: Oid): Promise<Checkpoint | undefined> {
  const object = await objects.read(commit)
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { message } = parseCommit(object.bytes)
  const [, json = ''] = textOf(message, undefined).split(/\n\n(.*)/s)
  const body = v.safeParse(v.pipe(v.string(), v.parseJson(), Body), json)
  if (!body.success) return undefined
  const { base, ...rest } = body.output
  if (base !== null && !(isOid(objects.repository.format, base) && (await objects.info(`${base}^{commit}`))))
    return undefined
  const files = await filesBetween(objects, base ?? undefined, commit)
  const kept = files.get(SESSION)
  files.delete(SESSION)
  for (const path of files.keys()) if (path.startsWith(SENT)) files.delete(path)
  const bytes = kept ? (await objects.read(kept.oid))?.bytes : undefined
  const { session } = readSession(bytes)
  return { ...rest, base: base ?? undefined, session, files }
}
