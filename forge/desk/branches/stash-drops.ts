/** Drops a stash, as an operation that can be undone. */
import { Failure } from '../../../core/failure.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { dropStash, listStashes, STASH, storeStash } from '../../../core/git/stash.ts'
import type { Recorded } from '../../operations.ts'
import type { How } from './branch-operations.ts'
import type { OpenBranches } from './open-branches.ts'

/** The kind of operation that drops a stash. */
export const DROP_STASH = 'drop stash'

/** Drops a stash. Returns the name that it had. Throws a {@link Failure} where the commit is no stash any more. */
export async function dropStashAt(branches: OpenBranches, oid: Oid): Promise<{ name: string }> {
  const { objects } = branches.room
  const stash = (await listStashes(objects)).find(({ tip }) => tip === oid)
  if (!stash) throw isGone(oid)
  await drop(branches, oid, { kind: DROP_STASH, words: `drop ${stash.name} (${oid.slice(0, 8)})` })
  return { name: stash.name }
}

/**
 * Undoes or redoes such an operation. A stash that comes back is the newest one, wherever it was before: git adds
 * stashes at the top alone. Returns what it is now, as a sentence; undefined where it was dropped.
 */
export async function reverseDrop(branches: OpenBranches, { refs }: Recorded, how: How): Promise<string | undefined> {
  const { objects } = branches.room
  const { before, after } = refs[0] ?? {}
  if (before === undefined) {
    if (after !== undefined) await drop(branches, after, how)
    return undefined
  }
  if ((await listStashes(objects)).some(({ tip }) => tip === before))
    throw new Failure(`The stash ${before.slice(0, 8)} is there again: nothing was undone.`)
  await storeStash(objects, before)
  await record(branches, how, { after: before })
  return 'it is stash@{0} now'
}

async function drop(branches: OpenBranches, oid: Oid, how: How): Promise<void> {
  const { objects } = branches.room
  if ((await dropStash(objects, oid)) === undefined) throw isGone(oid)
  try {
    await record(branches, how, { before: oid })
  } catch (error) {
    // Without the record, nothing keeps the stash from garbage collection.
    await storeStash(objects, oid)
    throw error
  }
}

const isGone = (oid: Oid): Failure => new Failure(`${oid.slice(0, 8)} is no stash any more: nothing was dropped.`)

/** The ref of the newest stash stands for the one that was dropped, which may be an older one. */
async function record({ room }: OpenBranches, how: How, change: { before?: Oid; after?: Oid }): Promise<void> {
  await room.operations.record({ ...how, moves: [], refs: [{ ref: STASH, ...change }] })
  room.say({ say: 'repository' })
}
