/**
 * Moves refs with retries while another git process has locked them, and removes locks that killed processes left.
 * Where one name is a folder of another (`a` and `a/b`), the refs are moved in two transactions.
 */
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listRefs, type Move, moveRefs, type RefName } from './refs.ts'
import type { Repository } from './repository.ts'
import { GitError } from './run.ts'

/**
 * At most this many tries while another process has locked a ref; about four times as many where the ref is one of the
 * caller's own, whose lock a killed process may have left.
 */
const TRIES = 6
/** Milliseconds between two tries to move refs. */
const RETRY_MS = 50

type How = {
  message: string
  /** The prefix of the caller's own refs, with a slash at its end. */
  own: string
}

/**
 * Moves refs as {@link moveRefs} does, and retries while another git process has locked one of them. A lock that stays
 * on a ref below `own` was left by a killed process and is removed. A lock on any other ref may belong to another
 * program, so it is left to the user. Throws what moveRefs throws.
 *
 * Git does not delete `a` and create `a/b` in one transaction. Such refs are created in a second one. Until then, refs
 * below `own` ({@link movingRefs}) name their objects, which garbage collections keep. If the process is killed between
 * the two, {@link finishMoves} creates them.
 */
export async function moveRefsPatiently(repository: Repository, moves: readonly Move[], how: How): Promise<void> {
  const late = moves.filter(move => isBlocked(move, moves))
  if (late.length === 0) return await movePatiently(repository, moves, how)
  const marks = late.map(({ ref, to }): Move => ({ ref: movingRef(how.own, ref), from: undefined, to }))
  const first = [...moves.filter(move => !late.includes(move)), ...marks]
  await movePatiently(repository, first, how)
  try {
    await movePatiently(repository, [...late, ...reversed(marks)], how)
  } catch (error) {
    // If this fails, too, the objects stay at the marks for the next start.
    await movePatiently(repository, reversed(first), how).catch(() => undefined)
    throw error
  }
}

/** Whether a ref can't be created before another one of the moves is deleted. */
const isBlocked = ({ ref, from, to }: Move, moves: readonly Move[]): boolean =>
  from === undefined && to !== undefined && moves.some(it => it.to === undefined && isFolderOfOther(it.ref, ref))

/** Whether one of two names is a folder of the other, so that git can't keep both refs. */
export const isFolderOfOther = (one: RefName, other: RefName): boolean =>
  one.startsWith(`${other}/`) || other.startsWith(`${one}/`)

const reversed = (moves: readonly Move[]): Move[] => moves.map(({ ref, from, to }) => ({ ref, from: to, to: from }))

/** The prefix of the refs that name the objects of refs to be created. */
export const movingRefs = (own: string): string => `${own}moving/`

/**
 * The ref that names the object of a ref until that is created. Folders and names begin with different characters, so
 * that no two of these refs are in each other's way.
 */
const movingRef = (own: string, ref: RefName): RefName =>
  movingRefs(own) +
  ref
    .split('/')
    .map((name, at, all) => (at < all.length - 1 ? '+' : '=') + name)
    .join('/')

const refOfMoving = (own: string, name: RefName): RefName =>
  name
    .slice(movingRefs(own).length)
    .split('/')
    .map(part => part.slice(1))
    .join('/')

/** Creates the refs that a killed process has not created. Returns those that can't be created now. */
export async function finishMoves(repository: Repository, own: string): Promise<RefName[]> {
  const left: RefName[] = []
  for (const { name, oid } of await listRefs(repository, [movingRefs(own)])) {
    const ref = refOfMoving(own, name)
    const mark = { ref: name, from: oid, to: undefined }
    const [there] = (await listRefs(repository, [ref])).filter(it => it.name === ref)
    const moves = there?.oid === oid ? [mark] : [{ ref, from: undefined, to: oid }, mark]
    await movePatiently(repository, moves, { message: 'forge: finish a rename', own }).catch(() => left.push(ref))
  }
  return left
}

async function movePatiently(repository: Repository, moves: readonly Move[], { message, own }: How): Promise<void> {
  let seen: string | undefined
  for (let tries = 1; ; tries++) {
    try {
      return await moveRefs(repository, moves, { message })
    } catch (error) {
      const lock = error instanceof GitError ? LOCKED.exec(error.stderr)?.[1] : undefined
      if (lock === undefined) throw error
      const now = await identityOf(lock)
      const isOwn = lock.startsWith(join(repository.commonDir, own))
      if (tries >= TRIES && !isOwn) throw error
      if (tries >= 2 * TRIES && now !== undefined && now === seen) await rm(lock, { force: true })
      if (tries > 4 * TRIES) throw error
      // Remembers the lock file by its inode and time: it is removed only if the same file is still there after another
      // TRIES tries.
      if (tries === TRIES) seen = now
    }
    await sleep(RETRY_MS)
  }
}

const LOCKED = /Unable to create '(.*\.lock)': File exists/s

async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  return found && `${found.ino} ${found.mtimeNs}`
}
