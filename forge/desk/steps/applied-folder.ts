/**
 * The folder `.forge` when a commit is applied somewhere else in its own branch. Git's merge finds a conflict in nearly
 * every conversation there, since each turn adds its entries at the end of the same file: here the entries that the
 * commit adds are added, and those that it removes are removed.
 */
import type { MergedTree } from '../../../core/git/merges.ts'
import { type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Entry, Oid, Path } from '../../../core/git/repository.ts'
import { emptyTree, entryAt, isFolder, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { SESSION, type Session, withoutOpening } from '../../ai/session.ts'
import { readSession, writeSession } from '../../ai/session-file.ts'
import { filesBetween } from '../branches/drafts.ts'
import { FORGE_FOLDER, withOwnFolder } from '../branches/forge-folder.ts'
import type { WrittenHere } from '../branches/written-here.ts'

/** A larger conversation, in bytes, is taken as the commit has it. */
const MAX_SESSION_BYTES = 32 << 20

/**
 * The trees or commits of an applied change: the differences from `from` to `to`, applied to `tree`. A conversation
 * that is put together from ones written on this desk is recorded in `writtenHere`.
 */
export type FolderChange = { tree: Oid; from: Oid; to: Oid; writtenHere: WrittenHere }

/** A merge in which the folder .forge has the changes between two commits, and no conflicts. */
export async function withAppliedFolder(
  objects: Objects,
  { tree, from, to, writtenHere }: FolderChange,
  merge: MergedTree,
): Promise<MergedTree> {
  const folders = await Promise.all([tree, from, to].map(it => entryAt(objects, it, FORGE_FOLDER)))
  const [own, before, after] = folders
  if (isSame(before, after)) return await withOwnFolder(objects, tree, merge)
  if (isSame(own, before) || !folders.every(it => !it || isFolder(it))) return await withOwnFolder(objects, to, merge)
  const [mine = '', base = '', theirs = ''] = folders.map(it => it?.oid ?? emptyTree(objects.repository.format))
  const changes = new Map<Path, TreeChange>()
  for (const path of (await filesBetween(objects, base, theirs)).keys()) {
    const sides = await Promise.all([mine, base, theirs].map(it => entryAt(objects, it, path)))
    changes.set(path, `${FORGE_FOLDER}/${path}` === SESSION ? await sessionOf(objects, sides, writtenHere) : sides[2])
  }
  const folder = await writeTree(objects, mine, changes)
  const isEmpty = folder === emptyTree(objects.repository.format)
  const kept = await writeTree(
    objects,
    tree,
    new Map([[FORGE_FOLDER, isEmpty ? undefined : { mode: '040000', oid: folder }]]),
  )
  return await withOwnFolder(objects, kept, merge)
}

const isSame = (one: Entry, other: Entry): boolean => one?.oid === other?.oid && one?.mode === other?.mode

/** A conversation with the entries that a commit adds, and without those that it removes. */
async function sessionOf(objects: Objects, sides: readonly Entry[], writtenHere: WrittenHere): Promise<TreeChange> {
  const [own, , after] = sides
  if (!after) return undefined
  const [mine, base, theirs] = await Promise.all(sides.map(side => readSide(objects, side)))
  if (!mine || !base || !theirs) return after
  const added = without(theirs.messages, base.messages)
  const removed = without(base.messages, theirs.messages)
  const messages = [...without(mine.messages, removed), ...added]
  // The opening counts the entries of its own conversation.
  const bytes = writeSession({ ...withoutOpening(theirs), messages })
  if (writtenHere.has(after.oid) && (!own || writtenHere.has(own.oid)))
    await writtenHere.add(oidOf(objects.repository.format, { type: 'blob', bytes }))
  return { mode: own?.mode ?? after.mode, bytes }
}

/** Reads one side's conversation: an empty one where there is none; undefined for one that can't be read. */
async function readSide(objects: Objects, side: Entry): Promise<Session | undefined> {
  if (!side) return readSession(undefined).session
  const blob = await objects.read(side.oid, { limit: MAX_SESSION_BYTES })
  if (blob?.type !== 'blob' || !blob.bytes) return undefined
  const { session, unreadable } = readSession(blob.bytes)
  return unreadable === undefined ? session : undefined
}

type Messages = Session['messages']

/** The entries that are not among others; of equal ones, only as many are left out as the others have. */
function without(entries: Messages, others: Messages): Messages {
  const left = new Map<string, number>()
  for (const entry of others) {
    const key = JSON.stringify(entry)
    left.set(key, (left.get(key) ?? 0) + 1)
  }
  return entries.filter(entry => {
    const key = JSON.stringify(entry)
    const count = left.get(key) ?? 0
    left.set(key, count - 1)
    return count <= 0
  })
}
