/**
 * The id of a repository, by which machines with clones of their own know that they work on the same runs: the commit
 * at refs/forge/id, made once with a random message. The hub carries it to other clones.
 */
import { createHash, randomBytes } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine } from '../../../core/git/commits.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import { listRefs, type Move, moveRefs, RefMoved, type RefName } from '../../../core/git/refs.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { HUB_IDS } from '../hub/hub-refs.ts'
import { findHub, HubRemote, HubTrouble } from '../hub/remote.ts'

/** The ref of the repository's id. */
const ID_REF = 'refs/forge/id'
/** The prefix of the refs of ids that this repository had before it got the one of its hub. */
const FORMER_IDS = 'refs/forge/former-ids/'
/** The number of digits of the id in the name of a queue. */
const DIGITS = 20

/** The ref of the id that the hub at an address has. Its name has nothing of the address, which can have a key in it. */
function hubIdRef(url: string): RefName {
  const place = url.replace(/\/\/[^/@]*@/, '//')
  return `${HUB_IDS}${createHash('sha256').update(place).digest('hex').slice(0, DIGITS)}`
}

/** The commit of a ref; undefined where there is none. */
async function commitAt(repository: Repository, ref: RefName): Promise<Oid | undefined> {
  const id = await read(repository, ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], { ok: [0, 1] })
  return id || undefined
}

/**
 * The id of a repository, which is made where there is none. With a hub it is the hub's, which is asked once at each
 * address. @throws Failure where the hub has not been reached there yet, and does not answer.
 */
export async function repositoryIdOf(repository: Repository): Promise<Oid> {
  const [id, hub] = await Promise.all([commitAt(repository, ID_REF), findHub(repository)])
  if (hub === undefined) return id ?? (await ownId(repository))
  const ref = hubIdRef(hub.url)
  if (id !== undefined && id === (await commitAt(repository, ref))) return id
  try {
    return await sharedId(repository, new HubRemote(repository, hub.name), ref)
  } catch (error) {
    if (!(error instanceof HubTrouble)) throw error
    throw new Failure(`${error.message} Without a hub: git config --unset forge.hub.`)
  }
}

/** Agrees with the hub on one id: the hub's, or where it has none, the one of this repository. */
async function sharedId(repository: Repository, hub: HubRemote, ref: RefName): Promise<Oid> {
  for (let tries = 1; ; tries++) {
    if (await hub.fetch([`+${ID_REF}:${ref}`])) {
      const theirs = await commitAt(repository, ref)
      if (theirs === undefined) throw new HubTrouble(`The id of the repository on ${hub.words} is no commit.`)
      await takeId(repository, theirs)
      return theirs
    }
    const own = (await commitAt(repository, ID_REF)) ?? (await ownId(repository))
    const isFirst = await hub.push([{ ref: ID_REF, to: own, expected: undefined }])
    if (!isFirst && tries > TRIES) throw new HubTrouble(`The id of the repository can't be written to ${hub.words}.`)
  }
}

/** How often the hub is asked where several machines give it an id at the same time. */
const TRIES = 5

/** Replaces the id of this repository, and remembers the one before, on whose queue runs may be under way. */
async function takeId(repository: Repository, id: Oid): Promise<void> {
  const before = await commitAt(repository, ID_REF)
  if (before === id) return
  const former = before && `${FORMER_IDS}${before.slice(0, DIGITS)}`
  const isKnown = former !== undefined && (await commitAt(repository, former)) !== undefined
  const moves: Move[] = [
    { ref: ID_REF, from: before, to: id },
    ...(former && !isKnown ? [{ ref: former, from: undefined, to: before }] : []),
  ]
  try {
    await moveRefs(repository, moves, { message: 'forge: id of the hub' })
  } catch (error) {
    // Another process has done the same at this moment.
    if (!(error instanceof RefMoved) || (await commitAt(repository, ID_REF)) !== id) throw error
  }
}

async function ownId(repository: Repository): Promise<Oid> {
  const made = await makeId(repository)
  try {
    await moveRefs(repository, [{ ref: ID_REF, from: undefined, to: made }], { message: 'forge: id' })
    return made
  } catch (error) {
    // Another process was first.
    const other = error instanceof RefMoved ? await commitAt(repository, ID_REF) : undefined
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
  return queueNamed(await repositoryIdOf(repository))
}

/** The ids that a repository had before it got the one of its hub. */
export async function formerIdsOf(repository: Repository): Promise<Oid[]> {
  return (await listRefs(repository, [FORMER_IDS])).map(({ oid }) => oid)
}

/**
 * The queues that a repository had before: the one of earlier versions, named after its path on this machine, and those
 * of ids that it had before it got the hub's.
 */
export async function formerQueuesOf(repository: Repository): Promise<string[]> {
  const common = await realpath(repository.commonDir)
  const former = await formerIdsOf(repository)
  const byPath = `forge-${createHash('sha256').update(common).digest('hex').slice(0, 16)}`
  return [byPath, ...former.map(queueNamed)]
}

const queueNamed = (id: Oid): string => `forge/${id.slice(0, DIGITS)}`
