/**
 * The id of a repository, by which machines with clones of their own know that they work on the same runs: the commit
 * at refs/forge/id, made once with a random message. The hub carries it to other clones.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFile, realpath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { bytesOf, identityLine } from '../../../core/git/commits.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import { listRefs, type Move, moveRefs, RefMoved, type RefName } from '../../../core/git/refs.ts'
import { type Oid, openRepository, type Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { HUB_IDS } from '../hub/hub-refs.ts'
import { findHub, HubRemote, HubTrouble } from '../hub/remote.ts'

/** The ref of the repository's id. */
const ID_REF = 'refs/forge/id'
/** The prefix of the refs of ids that this repository had before it got the one of its hub. */
const FORMER_IDS = 'refs/forge/former-ids/'
/** The number of digits of the id in the name of a queue. */
const DIGITS = 20
/** The file in a repository that says where it was when it was last asked for its id, so that a copy is noticed. */
const PLACE_FILE = 'forge-place.json'
/** `inode`: the file system's number of the folder, which a mount at another path keeps. */
const Place = v.object({ path: v.string(), inode: v.number() })
type Place = v.InferOutput<typeof Place>

/**
 * The ref of the id that the hub at an address has. Its name has nothing of the address, which can have a key in it.
 */
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
 * address; without one, a copy of a repository gets an id of its own. @throws Failure where the hub has not been
 * reached there yet, and does not answer.
 */
export async function repositoryIdOf(repository: Repository): Promise<Oid> {
  const [id, hub] = await Promise.all([commitAt(repository, ID_REF), findHub(repository)])
  if (hub === undefined) return await idWithoutHub(repository, id)
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

async function idWithoutHub(repository: Repository, id: Oid | undefined): Promise<Oid> {
  const [here, before] = await Promise.all([placeOf(repository.commonDir), keptPlace(repository)])
  if (here && here.path === before?.path) return id ?? (await ownId(repository))
  // With the id of another repository on this machine, each would be given tasks of runs that it does not have.
  const isCopy = here && before && id !== undefined && (await isAt(before, { ...here, id }))
  const own = id === undefined || isCopy ? await ownId(repository, id) : id
  // Where it can't be written, the repository can't be worked on either.
  if (here) await writeFile(join(here.path, PLACE_FILE), `${JSON.stringify(here)}\n`).catch(() => undefined)
  return own
}

/** Whether another repository with this id is still at a place. */
async function isAt({ path }: Place, { id, inode }: { id: Oid; inode: number }): Promise<boolean> {
  const there = await placeOf(path)
  if (!there || there.inode === inode) return false
  const other = await openRepository(path).catch(() => undefined)
  return other !== undefined && (await commitAt(other, ID_REF).catch(() => undefined)) === id
}

async function placeOf(folder: string): Promise<Place | undefined> {
  const [path, info] = await Promise.all([realpath(folder), stat(folder)]).catch(() => [])
  return path === undefined || info === undefined ? undefined : { path, inode: info.ino }
}

async function keptPlace({ commonDir }: Repository): Promise<Place | undefined> {
  try {
    return v.parse(Place, JSON.parse(await readFile(join(commonDir, PLACE_FILE), 'utf8')))
  } catch {
    // A file that is missing or can't be read is written again.
    return undefined
  }
}

/** Makes a new id, in place of the one `before`. */
async function ownId(repository: Repository, before?: Oid): Promise<Oid> {
  const made = await makeId(repository)
  try {
    await moveRefs(repository, [{ ref: ID_REF, from: before, to: made }], { message: 'forge: id' })
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
