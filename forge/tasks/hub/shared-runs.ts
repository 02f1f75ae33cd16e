/**
 * Runs that several machines work on, by way of the hub. All of a run's data and commits are behind one ref there, its
 * store: a commit of a task is a parent of a commit of the store, and the names of the run's refs are files in its
 * tree. So the number of refs on the hub does not grow with the tasks, and one compare-and-swap publishes everything
 * together. Where two machines have written, the trees are united: nothing in them is written twice but three small
 * files and those of the refs. Any machine that may push to the hub can write there: decisions are signed
 * (checks/approved.ts, checks/verdicts.ts), and here nothing is lost by it.
 */
import { listCheckouts, mainFolder } from '../../../core/git/checkouts.ts'
import { bytesOf, identityLine, isAncestor, mergeBases } from '../../../core/git/commits.ts'
import { isRefName, type Objects, writeObjects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move, packRefs, RefMoved, type RefName } from '../../../core/git/refs.ts'
import { asBytes, asText, type Entry, fields, isOid, type Oid, type Path } from '../../../core/git/repository.ts'
import { run as runGit } from '../../../core/git/run.ts'
import { entryAt, listFiles, makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import type { RunId } from '../contract.ts'
import { hideDone } from '../runs/done.ts'
import { BRANCHES, isRunId, resultRef, storeRef, verifyRunId } from '../runs/folder.ts'
import { HUB_RUNS } from './hub-refs.ts'
import { findHub, HubRemote, HubTrouble, type Pushed } from './remote.ts'

/** The folder of the store's tree in which each file is the name of a ref and its commit. */
const REFS = 'refs'
/** Files of the store that may be overwritten. All others are written once. */
const OVERWRITTEN = /^(?:(?:run|plan|status)\.json$|refs\/)/
/** The mode of all files of the store. */
const FILE = '100644'
/** How often a push is repeated where other machines are faster. */
const TRIES = 100
/** Milliseconds after which a push that has failed is tried again, though no activity asks for it. */
const LATER_MS = 5_000
/** Milliseconds until a push for which nothing waits. */
const SOON_MS = 500
/** The longest time in milliseconds that a push lets other machines go first. */
const MAX_TURN_MS = 2_000
/** The longest time in milliseconds for the last pushes of a process that ends. */
const SETTLE_MS = 5_000
/** At most this many refs of a run are read from its store. */
const MAX_REFS = 100_000
/** At most this many refs are named in one fetch. */
const MAX_SPECS = 500
/** After this many new refs, all are packed. */
const MANY_REFS = 200
/** At most this many commits become parents of one commit of the store. */
const MAX_PARENTS = 500

/** The runs of a repository that has a hub. */
export class SharedRuns implements Disposable {
  readonly #runs = new Map<RunId, SharedRun>()

  constructor(
    readonly objects: Objects,
    readonly remote: HubRemote,
  ) {}

  /** Opens the hub of a repository; undefined where it has none. Throws a Failure where the setting is wrong. */
  static async open(objects: Objects): Promise<SharedRuns | undefined> {
    const hub = await findHub(objects.repository)
    return hub && new SharedRuns(objects, new HubRemote(objects.repository, hub.name))
  }

  of(run: RunId): SharedRun {
    const known = this.#runs.get(run) ?? new SharedRun(this.objects, this.remote, run)
    this.#runs.set(run, known)
    return known
  }

  /**
   * Fetches all runs of the hub. Gives those that have something new. @throws HubTrouble where that is not possible.
   */
  async fetchAll(): Promise<RunId[]> {
    await this.#fetchStores()
    const { repository } = this.objects
    const there = await listRefs(repository, [HUB_RUNS])
    const own = new Map((await listRefs(repository, [RUNS])).map(({ name, oid }) => [name, oid]))
    const found: RunId[] = []
    for (const { name, oid } of there) {
      const run = name.slice(HUB_RUNS.length)
      if (!isRunId(run) || !(await isCommit(this.objects, oid))) continue
      const tip = own.get(storeRef(run))
      if (tip === oid || (tip !== undefined && (await isAncestor(repository, oid, tip)))) continue
      await this.of(run).unite()
      found.push(run)
    }
    return found
  }

  /**
   * Fetches the stores that differ from what was fetched last, by their names: a pattern would take along whatever else
   * is on the hub, and could be in the way.
   */
  async #fetchStores(): Promise<void> {
    const refs = await this.remote.list(`${RUNS}*/store`)
    const known = new Map((await listRefs(this.objects.repository, [HUB_RUNS])).map(({ name, oid }) => [name, oid]))
    const specs = refs.flatMap(({ name, oid }) => {
      const run = name.slice(RUNS.length, -'/store'.length)
      const isNew = isRunId(run) && name === storeRef(run) && known.get(`${HUB_RUNS}${run}`) !== oid
      return isNew ? [`+${name}:${HUB_RUNS}${run}`] : []
    })
    if (specs.length > 0) for (const part of partsOf(specs, MAX_SPECS)) await this.remote.fetch(part)
  }

  /** Pushes what a worker that was killed has left. Gives the runs. @throws HubTrouble where that is not possible. */
  async pushLeft(): Promise<RunId[]> {
    const { repository } = this.objects
    const own = new Map((await listRefs(repository, [RUNS])).map(({ name, oid }) => [name, oid]))
    const left = (await listRefs(repository, [HUB_RUNS])).filter(({ name, oid }) => {
      const run = name.slice(HUB_RUNS.length)
      const tip = isRunId(run) ? own.get(storeRef(run)) : undefined
      return tip !== undefined && tip !== oid
    })
    const runs = left.map(({ name }) => name.slice(HUB_RUNS.length))
    for (const run of runs) await this.of(run).push()
    return runs
  }

  /** Pushes what nothing has waited for, for some seconds at most. */
  async settle(): Promise<void> {
    const all = Promise.all([...this.#runs.values()].map(run => run.settle()))
    await Promise.race([all, Bun.sleep(SETTLE_MS)])
  }

  [Symbol.dispose](): void {
    for (const run of this.#runs.values()) run[Symbol.dispose]()
  }
}

/** One run: its data in this repository and on the hub. */
export class SharedRun implements Disposable {
  readonly #store: RefName
  readonly #there: RefName
  /** Commits and moved refs that no commit of the store has yet. */
  #commits = new Set<Oid>()
  #refs = new Map<RefName, Oid>()
  /** Commits that are in the store's history already. */
  readonly #carried = new Set<Oid>()
  /** The combined result, where the hub may have another one. */
  #result: Oid | undefined
  readonly #turns = new Turns()
  readonly #pushing = new OneAtATime(
    () => this.#pushAll(),
    () => this.#turns.wait(),
  )
  readonly #fetching = new OneAtATime(() => this.#fetchAll())
  /** The next push after one that has failed, and the next one that nothing waits for. */
  #later: ReturnType<typeof setTimeout> | undefined
  #soon: ReturnType<typeof setTimeout> | undefined
  /** The version of the hub that the store here contains. */
  #contained: Oid | undefined
  #isEnded = false

  constructor(
    readonly objects: Objects,
    readonly remote: HubRemote,
    readonly run: RunId,
  ) {
    this.#store = storeRef(verifyRunId(run))
    this.#there = `${HUB_RUNS}${run}`
  }

  /** Notes commits that the next push has to bring to the hub. */
  carry(commits: Iterable<Oid>): void {
    for (const commit of commits) if (!this.#carried.has(commit)) this.#commits.add(commit)
  }

  /** Notes that a ref of this run is at a commit. */
  moved(ref: RefName, to: Oid): void {
    this.#refs.set(ref, to)
    this.carry([to])
  }

  /** Fetches the run, and unites it with what is here. @throws HubTrouble where the hub does not answer. */
  fetch(): Promise<void> {
    return this.#fetching.next()
  }

  /**
   * Brings everything of the run to the hub that is here when this is called. @throws HubTrouble where the hub does not
   * answer or refuses; it is then tried again by itself, as long as this process lives.
   */
  async push(): Promise<void> {
    clearTimeout(this.#later)
    clearTimeout(this.#soon)
    this.#soon = undefined
    try {
      await this.#pushing.next()
    } catch (error) {
      clearTimeout(this.#later)
      if (!this.#isEnded) this.#later = setTimeout(() => void this.push().catch(() => undefined), LATER_MS)
      this.#later?.unref()
      throw error
    }
  }

  /** Pushes what is here within a second, unless a push comes before. */
  pushSoon(): void {
    this.#soon ??= setTimeout(() => void this.push().catch(() => undefined), SOON_MS)
  }

  /** Pushes what nothing has waited for, before this process ends. */
  async settle(): Promise<void> {
    if (this.#soon || this.#later) await this.push().catch(() => undefined)
  }

  /**
   * Removes the run from the hub, and what is known of the hub's. Gives false where another machine has written what is
   * not known here: then nothing is removed. A combined result that a person has committed to stays. @throws HubTrouble
   * where that is not possible.
   */
  async remove({ result }: { result: boolean }): Promise<boolean> {
    const { repository } = this.objects
    const known = await this.#tipOf(this.#there)
    const there = await this.remote.look(this.#store)
    if (there !== undefined) {
      if (there !== known) return false
      const branch = result ? await this.remote.look(resultRef(this.run)) : undefined
      const isOfRun =
        branch !== undefined && (await isCommit(this.objects, branch)) && (await isAncestor(repository, branch, there))
      const gone: Pushed[] = [
        { ref: this.#store, to: undefined, expected: there },
        ...(isOfRun ? [{ ref: resultRef(this.run), to: undefined, expected: branch }] : []),
      ]
      if (!(await this.remote.push(gone))) return false
    }
    if (known) await this.#move([{ ref: this.#there, from: known, to: undefined }])
    return true
  }

  /**
   * Sets the run's refs here to the commits that the store names. A branch that is checked out stays, and so does one
   * at a commit that the store does not have: a person has committed there, or this machine's worker, which has not
   * pushed yet.
   */
  async nameRefs(): Promise<void> {
    const { repository } = this.objects
    const top = await entryAt(this.objects, this.#store, REFS)
    if (!top) return
    const { files } = await listFiles(this.objects, top.oid, { limit: MAX_REFS })
    const named = await Promise.all(
      files.map(async ({ oid }) => parseRef((await this.objects.read(oid, { limit: 4096 }))?.bytes)),
    )
    const own = new Map(
      (await listRefs(repository, [`${RUNS}${this.run}/`, `${BRANCHES}${this.run}/`])).map(it => [it.name, it.oid]),
    )
    const checkouts = await listCheckouts(repository, await mainFolder(repository))
    const isDone = own.has(resultRef(this.run)) || named.some(it => it?.ref === resultRef(this.run))
    const moves: Move[] = []
    for (const it of named) {
      if (!it || !isOfRun(this.run, it.ref) || !isOid(repository.format, it.oid)) continue
      // The results of tasks are no branches any more once there is a result of all.
      const [, task] = /\/([^/]+)\/done$/.exec(it.ref) ?? []
      const isHidden = isDone && task !== undefined && it.ref.startsWith(BRANCHES) && !own.has(it.ref)
      const ref = isHidden ? `${RUNS}${this.run}/done/${task}` : it.ref
      const from = own.get(ref)
      if (from === it.oid || checkouts.some(({ head }) => head === ref)) continue
      if (!(await isCommit(this.objects, it.oid))) continue
      if (from === undefined || (await this.#has(from))) moves.push({ ref, from, to: it.oid })
    }
    if (moves.length === 0) return
    await this.#move(moves)
    if (isDone) await hideDone(this.objects, this.run)
    // Only a machine that works on the run packs them when it ends. A failure, as by another process, changes nothing.
    if (moves.length >= MANY_REFS) await packRefs(repository).catch(() => undefined)
  }

  /** Unites what was fetched with what is here. */
  async unite(): Promise<void> {
    const theirs = await this.#tipOf(this.#there)
    // What is no store there is replaced by the next push.
    if (!theirs || !(await isCommit(this.objects, theirs))) return
    if (theirs === this.#contained && (await this.#tipOf(this.#store)) !== undefined) return
    await this.#onStore(ours => this.#united(ours, theirs))
    this.#contained = theirs
  }

  /** Whether the store's history has a commit. */
  async #has(commit: Oid): Promise<boolean> {
    const { repository } = this.objects
    return (await isCommit(this.objects, commit)) && (await isAncestor(repository, commit, this.#store))
  }

  async #fetchAll(): Promise<void> {
    if (!(await this.remote.fetch([`+${this.#store}:${this.#there}`]))) {
      // The hub may be another one than before.
      const from = await this.#tipOf(this.#there)
      if (from) await this.#move([{ ref: this.#there, from, to: undefined }])
      return
    }
    await this.unite()
  }

  async #pushAll(): Promise<void> {
    for (let tries = 1; ; tries++) {
      // Where others have just written, too, a push without a look would be refused.
      if (this.#turns.areShared) await this.fetch()
      await this.#include()
      const expected = await this.#tipOf(this.#there)
      if (expected) await this.unite()
      const to = await this.#tipOf(this.#store)
      const result = this.#result
      if (to === undefined || (to === expected && result === undefined)) return
      const refs: Pushed[] = [
        { ref: this.#store, to, expected },
        ...(result ? await this.#replacing(resultRef(this.run), result) : []),
      ]
      if (await this.#turns.taken(() => this.remote.push(refs))) {
        if (this.#result === result) this.#result = undefined
        // Another process may have fetched a newer one meanwhile.
        if (to !== expected) await this.#move([{ ref: this.#there, from: expected, to }]).catch(ignoreMoved)
        this.#contained = to
        return
      }
      if (tries >= TRIES) throw new HubTrouble(`Other machines write to ${this.remote.words} faster than this one.`)
      await this.#turns.wait()
    }
  }

  /** The push of a branch, unless the hub has a commit there that the store has not: a person has pushed it. */
  async #replacing(ref: RefName, to: Oid): Promise<Pushed[]> {
    const there = await this.remote.look(ref)
    return there === undefined || (await this.#has(there)) ? [{ ref, to, expected: there }] : []
  }

  /** Makes noted commits parents of a commit of the store, and writes noted refs into its tree. */
  async #include(): Promise<void> {
    const commits = this.#commits
    const refs = this.#refs
    if (commits.size === 0 && refs.size === 0) return
    this.#commits = new Set()
    this.#refs = new Map()
    try {
      const files = [...refs].map(([ref, oid]) => [pathOf(ref), fileOf(`${oid} ${asText(ref)}\n`)] as const)
      for (const part of partsOf([...commits], MAX_PARENTS))
        await this.#onStore(async tip => ({
          changes: new Map(files),
          base: tip,
          parents: [...(tip ? [tip] : []), ...part],
        }))
      for (const commit of commits) this.#carried.add(commit)
      const result = refs.get(resultRef(this.run))
      if (result) this.#result = result
    } catch (error) {
      for (const commit of commits) this.#commits.add(commit)
      for (const [ref, oid] of refs) if (!this.#refs.has(ref)) this.#refs.set(ref, oid)
      throw error
    }
  }

  /**
   * The union of two versions of the store: the hub's, with what was written here since both were the same. Where both
   * have written a file, it is as the hub has it. (The one here is of an activity that the server has given to another
   * machine meanwhile.) What the hub's has lost of files that are written once is put back.
   */
  async #united(ours: Oid | undefined, theirs: Oid): Promise<NewVersion | Oid | undefined> {
    const { repository } = this.objects
    if (ours === undefined) return theirs
    if (ours === theirs) return undefined
    const [base] = await mergeBases(repository, ours, theirs)
    if (base === theirs) return undefined
    const [own, other] = await Promise.all([ours, theirs].map(tip => differences(this.objects, base, tip)))
    const changes = new Map<Path, TreeChange>()
    for (const [path, { after }] of own ?? [])
      if (after?.mode === FILE && !other?.get(path)?.after) changes.set(path, after)
    for (const [path, { before }] of other ?? [])
      if (before?.mode === FILE && !OVERWRITTEN.test(path)) changes.set(path, before)
    if (changes.size === 0 && base === ours) return theirs
    return { base: theirs, changes, parents: [theirs, ours] }
  }

  /** Writes a new version of the store; repeated where another process has written meanwhile. */
  async #onStore(make: (tip: Oid | undefined) => Promise<NewVersion | Oid | undefined>): Promise<void> {
    for (let tries = 1; ; tries++) {
      const from = await this.#tipOf(this.#store)
      const made = await make(from)
      if (made === undefined) return
      const to = typeof made === 'string' ? made : await this.#commit(made)
      try {
        return await this.#move([{ ref: this.#store, from, to }])
      } catch (error) {
        if (!(error instanceof RefMoved) || tries > TRIES) throw error
      }
    }
  }

  async #commit({ base, changes, parents }: NewVersion): Promise<Oid> {
    const { oid: tree, made } = await makeTree(this.objects, base, changes)
    const date = { seconds: Math.floor(Date.now() / 1000), zone: '+0000' }
    const who = identityLine({ name: 'Forge', email: 'forge@localhost.invalid', date })
    const bytes = bytesOf({ tree, parents, message: `What run ${this.run} keeps\n` }, who, who)
    return (await writeObjects(this.objects.repository, [...made, { type: 'commit', bytes }])).at(-1) ?? ''
  }

  async #tipOf(ref: RefName): Promise<Oid | undefined> {
    return (await this.objects.info(ref))?.oid
  }

  async #move(moves: readonly Move[]): Promise<void> {
    await moveRefsPatiently(this.objects.repository, moves, { message: '', own: 'refs/forge/' })
  }

  [Symbol.dispose](): void {
    this.#isEnded = true
    clearTimeout(this.#later)
    clearTimeout(this.#soon)
  }
}

type NewVersion = { base: Oid | undefined; changes: ReadonlyMap<Path, TreeChange>; parents: Oid[] }

function ignoreMoved(error: unknown): void {
  if (!(error instanceof RefMoved)) throw error
}

const fileOf = (text: string): TreeChange => ({ mode: '100644', bytes: Buffer.from(text) })

/** The path of a ref's file in the store's tree. */
function pathOf(ref: RefName): Path {
  const hex = new Bun.CryptoHasher('sha256').update(ref).digest('hex')
  return `${REFS}/${hex[0]}/${hex[1]}/${hex.slice(2)}`
}

function parseRef(bytes: Buffer | undefined): { oid: Oid; ref: RefName } | undefined {
  const [, oid, ref] = /^([0-9a-f]{40,64}) (refs\/\S+)\n$/.exec(bytes?.toString() ?? '') ?? []
  return oid && ref ? { oid, ref: asBytes(ref) } : undefined
}

const isCommit = async (objects: Objects, oid: Oid): Promise<boolean> => (await objects.info(oid))?.type === 'commit'

/** Whether a ref, named by a store that any machine may write, is one that a run of this id has. */
function isOfRun(run: RunId, ref: RefName): boolean {
  const name = [`${RUNS}${run}/`, `${BRANCHES}${run}/`].find(prefix => ref.startsWith(prefix))
  return name !== undefined && isRefName(ref) && NAMES.test(ref.slice(name.length)) && !ref.endsWith('/result/done')
}

/** The names of a run's refs: those of attempts, results and steps. */
const NAMES = /^(?:attempts\/[^/]+\/[0-9]+|done\/[^/]+|steps\/[0-9a-f]+|[^/]+\/done|result)$/

type Difference = { before: Entry | undefined; after: Entry | undefined }

/** The files that differ between two versions of a store. */
async function differences(objects: Objects, base: Oid | undefined, tip: Oid): Promise<Map<Path, Difference>> {
  const { repository } = objects
  const from = base ?? (await writeObjects(repository, [{ type: 'tree', bytes: Buffer.alloc(0) }]))[0] ?? ''
  const args = ['diff-tree', '-r', '--raw', '-z', '--no-renames', '--no-abbrev', from, tip]
  const { stdout } = await runGit(repository, args)
  const parts = fields(stdout)
  const found = new Map<Path, Difference>()
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [was = '', mode = '', before = '', after = ''] = (parts[at] ?? '').slice(1).split(' ')
    const entryOf = (mode: string, oid: Oid) => (mode === '000000' ? undefined : { mode, oid })
    found.set(parts[at + 1] ?? '', { before: entryOf(was, before), after: entryOf(mode, after) })
  }
  return found
}

function partsOf<Item>(items: readonly Item[], size: number): Item[][] {
  const parts: Item[][] = []
  for (let at = 0; at === 0 || at < items.length; at += size) parts.push(items.slice(at, at + size))
  return parts
}

/**
 * When to push where several machines push to one ref: only one of them can win, and the others have to fetch, unite
 * and push again. The more often this machine has lost, the longer it waits at random; what comes meanwhile goes along.
 */
class Turns {
  /** The longest wait, in durations of a push; 0 where no other machine is in the way. */
  #spread = 0
  #pushMs = 0

  get areShared(): boolean {
    return this.#spread > 0
  }

  async wait(): Promise<void> {
    if (this.areShared) await Bun.sleep(Math.random() * Math.min(this.#pushMs * this.#spread, MAX_TURN_MS))
  }

  /** Pushes, and notes how long it took and whether another machine was faster. */
  async taken(push: () => Promise<boolean>): Promise<boolean> {
    const began = performance.now()
    const isFirst = await push()
    this.#pushMs = performance.now() - began
    if (!isFirst) this.#spread = Math.min(Math.max(4, this.#spread * 2), 32)
    else this.#spread = this.#spread < 2 ? 0 : this.#spread * 0.8
    return isFirst
  }
}

/** Runs one job at a time: callers that come before it begins share it, and it sees all that they have done. */
class OneAtATime {
  #running: Promise<void> | undefined
  #waiting: Promise<void> | undefined

  /** `gather`: waited for before each job, while callers still can join it. */
  constructor(
    private readonly job: () => Promise<void>,
    private readonly gather: () => Promise<void> = async () => undefined,
  ) {}

  next(): Promise<void> {
    this.#waiting ??= this.#after(this.#running)
    return this.#waiting
  }

  async #after(running: Promise<void> | undefined): Promise<void> {
    await running?.catch(() => undefined)
    await this.gather()
    this.#waiting = undefined
    this.#running = this.job()
    await this.#running
  }
}
