/**
 * The id of a repository, by which machines with clones of their own know that they work on the same runs: the commit
 * at refs/forge/id, made once with a random message. The hub carries it to other clones.
 */
import { createHash, randomBytes } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { bytesOf, identityLine } from '../../../core/git/commits.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import { moveRefs, RefMoved } from '../../../core/git/refs.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'

/** The ref of the repository's id. */
export const ID_REF = 'refs/forge/id'
/** The number of digits of the id in the name of a queue. */
const DIGITS = 20

/** The id of a repository; undefined where none was made yet. */
export async function findRepositoryId(repository: Repository): Promise<Oid | undefined> {
  const id = await read(repository, ['rev-parse', '--verify', '--quiet', `${ID_REF}^{commit}`], { ok: [0, 1] })
  return id || undefined
}

/** The id of a repository, which is made where there is none. */
export async function repositoryIdOf(repository: Repository): Promise<Oid> {
  const id = await findRepositoryId(repository)
  if (id !== undefined) return id
  const made = await makeId(repository)
  try {
    await moveRefs(repository, [{ ref: ID_REF, from: undefined, to: made }], { message: 'forge: id' })
    return made
  } catch (error) {
    // Another process was first.
    const other = error instanceof RefMoved ? await findRepositoryId(repository) : undefined
    if (other === undefined) throw error
    return other
  }
}

async function makeId(repository: Repository): Promise<Oid> {
  const date = { seconds: Math.floor(Date.now() / 1000), zone: '+0000' }
  const who = identityLine({ name: 'Forge', email: 'forge@localhost.invalid', date })
  const message = `The id of this repository for its runs: ${randomBytes(16).toString('hex')}\n`
  const [tree = ''] = await writeObjects(repository, [{ type: 'tree', bytes: Buffer.alloc(0) }])
  const [made = ''] = await writeObjects(repository, [
    { type: 'commit', bytes: bytesOf({ tree, parents: [], message }, who, who) },
  ])
  return made
}

/**
 * The task queue of a repository: one for all its clones that share its id, whatever their paths and machines. So no
 * worker gets another repository's tasks.
 */
export async function queueOf(repository: Repository): Promise<string> {
  return `forge/${(await repositoryIdOf(repository)).slice(0, DIGITS)}`
}

/** The queue that earlier versions used for a repository: named after its path on this machine. */
export async function formerQueueOf(repository: Pick<Repository, 'commonDir'>): Promise<string> {
  const common = await realpath(repository.commonDir)
  return `forge-${createHash('sha256').update(common).digest('hex').slice(0, 16)}`
}
