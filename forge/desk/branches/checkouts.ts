/**
 * The work trees of a repository: which branch is checked out in each, and updating a checkout after the desk has moved
 * its branch.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import {
  type Checkout,
  changedIn,
  followBranch,
  listCheckouts,
  mainFolder,
  rebasedIn,
  signsIn,
  underWayIn,
  whyNotFollowing,
} from '../../../core/git/checkouts.ts'
import { isAncestor } from '../../../core/git/commits.ts'
import { changedFiles } from '../../../core/git/diffs.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, isOid, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { firstOf, visible, visiblePath } from '../../../core/text.ts'
import type { LeftBehind } from '../contract/desk.ts'
import type { News } from '../contract/news.ts'
import { headRef } from './branches.ts'

/**
 * A checkout that has to follow its branch, or could not: its files are those of commit `from`, and the branch is at
 * `to`. Recorded before the branch moves, so that it is known even if the process is killed.
 */
const Pending = v.object({
  branch: v.string(),
  from: v.string(),
  to: v.string(),
  /** Whether a notice has said that the checkout could not follow. */
  isTold: v.boolean(),
  /** Why it could not, as a sentence. */
  why: v.optional(v.string()),
})
type Pending = v.InferOutput<typeof Pending>

/** At most this many files are named in a notice. */
const MAX_NAMED_FILES = 3

/** The checkouts of one repository. */
export class Checkouts {
  #last: Promise<void> = Promise.resolve()
  #kept: Promise<void> = Promise.resolve()
  /** The refusals because of what waits in a checkout, by their words, until that has ended. */
  readonly #refusals = new Map<string, { branch: string; checkout: Checkout }>()

  private constructor(
    readonly objects: Objects,
    /** The folder of the main work tree; undefined in a bare repository. */
    readonly main: string | undefined,
    /** The file that records the checkouts that have not followed their branches, by git folder. */
    readonly file: string,
    readonly pending: Map<string, Pending>,
    readonly say: (news: News) => void,
  ) {}

  /** Opens the checkouts of a repository. Those that an earlier process left behind their branches follow them now. */
  static async open(objects: Objects, state: string, say: (news: News) => void): Promise<Checkouts> {
    const file = join(state, 'checkouts.json')
    const pending = await readPending(file, objects.repository)
    const checkouts = new Checkouts(objects, await mainFolder(objects.repository), file, pending, say)
    checkouts.#later(() => checkouts.#resume())
    return checkouts
  }

  get repository(): Repository {
    return this.objects.repository
  }

  /** All existing work trees. HEADs are read as files, since a git process for each would take long. */
  async list(): Promise<Checkout[]> {
    return await listCheckouts(this.repository, this.main)
  }

  /** The checkout on a branch, if any. */
  async of(ref: RefName): Promise<Checkout | undefined> {
    return (await this.list()).find(({ head }) => head === ref)
  }

  /** Sets the HEAD of a checkout to another branch at the same commit, so that no file changes. */
  async turnTo({ folder, gitDir }: Checkout, ref: RefName, message: string): Promise<void> {
    const env = { ...this.repository.env, GIT_DIR: gitDir, GIT_WORK_TREE: folder }
    await run({ cwd: folder, env }, ['symbolic-ref', '-m', message, 'HEAD', asText(ref)])
  }

  /**
   * Records that the checkouts of a branch have to follow it, before it moves. Returns a function that reverts this.
   * Throws a {@link Failure} if a merge, a rebase or the like of the branch waits in one: it would take back the move.
   */
  async announce(branch: string, from: Oid | undefined, to: Oid | undefined): Promise<() => Promise<void>> {
    if (from === to) return async () => undefined
    const empty = emptyTree(this.repository.format)
    const all = await this.list()
    await this.#verifyNothingWaits(branch, all)
    const on = all.filter(({ head }) => head === headRef(branch))
    if (on.length === 0) return async () => undefined
    const before = new Map(this.pending)
    for (const { gitDir } of on) {
      const behind = this.pending.get(gitDir)
      const there = behind?.branch === branch ? behind : { from: from ?? empty, isTold: false }
      this.pending.set(gitDir, { ...there, branch, to: to ?? empty })
    }
    await this.#keep()
    return async () => {
      for (const { gitDir } of on) {
        const old = before.get(gitDir)
        if (old) this.pending.set(gitDir, old)
        else this.pending.delete(gitDir)
      }
      await this.#keep()
    }
  }

  /**
   * Throws a {@link Failure} if a rebase of a branch waits in a checkout: where the branch has another name then, or is
   * deleted, the rebase can't end. Git refuses both, too.
   */
  async verifyNotRebased(branch: string): Promise<void> {
    for (const checkout of await this.list()) {
      const words = await rebaseIn(branch, checkout)
      if (words !== undefined) throw new Failure(`${words} Finish or abort it there first.`)
    }
  }

  async #verifyNothingWaits(branch: string, checkouts: readonly Checkout[]): Promise<void> {
    for (const checkout of checkouts) {
      const words = await whatWaits(branch, checkout)
      if (words === undefined) continue
      this.#refusals.set(words, { branch, checkout })
      throw new Failure(words)
    }
  }

  /** The files and folders that change when what has been the reason of a refusal ends. */
  get signs(): string[] {
    return [...this.#refusals.values()].flatMap(({ checkout }) => signsIn(checkout))
  }

  /** Tells the windows which refusals do not apply any more. */
  async #lookAtRefusals(): Promise<void> {
    if (this.#refusals.size === 0) return
    const checkouts = await this.list()
    for (const [words, { branch, checkout }] of [...this.#refusals]) {
      const now = checkouts.find(({ gitDir }) => gitDir === checkout.gitDir)
      if (now && (await whatWaits(branch, now)) === words) continue
      this.#refusals.delete(words)
      this.say({ say: 'refusal over', words })
    }
  }

  /**
   * Updates the checkouts of a branch that has moved, in the background and one after the other: {@link settled} waits
   * for that. Each failure is reported.
   */
  follow(branch: string, from: Oid | undefined, to: Oid | undefined): void {
    const empty = emptyTree(this.repository.format)
    this.#later(async () => {
      for (const checkout of await this.list())
        if (checkout.head === headRef(branch))
          await this.#followIn(checkout, branch, { from: from ?? empty, to: to ?? empty })
    })
  }

  /** Updates the checkouts of a branch that could not follow it. A failure is reported again. */
  async followAgain(branch: string): Promise<void> {
    this.#later(async () => {
      for (const checkout of await this.list()) {
        const behind = this.pending.get(checkout.gitDir)
        if (checkout.head !== headRef(branch) || behind?.branch !== branch) continue
        await this.#followIn(checkout, branch, behind)
      }
    })
    await this.settled()
  }

  /**
   * Looks again at the checkouts that could not follow their branches. One that was put in order meanwhile, for example
   * by `git reset --hard` or by a commit there, is not behind any more, and neither is one that was removed or is on
   * another branch. Neither do refusals apply any more when what waited in a checkout has ended. Changes nothing in the
   * checkouts.
   */
  async look(): Promise<void> {
    this.#later(async () => {
      await this.#lookAtRefusals()
      const told = [...this.pending].filter(([, { isTold }]) => isTold)
      if (told.length === 0) return
      const checkouts = await this.list()
      for (const [gitDir, behind] of told) {
        const checkout = checkouts.find(it => it.gitDir === gitDir && it.head === headRef(behind.branch))
        if (checkout) await this.#lookInto(checkout, behind)
        else await this.#leave(gitDir, behind)
      }
    })
    await this.#last
  }

  /** A checkout that comes back to the branch follows its next commit from where it stayed behind. */
  async #leave(gitDir: string, behind: Pending): Promise<void> {
    this.pending.set(gitDir, { ...behind, isTold: false })
    await this.#keep()
    this.say({ say: 'checkout follows', branch: behind.branch })
  }

  async #lookInto(checkout: Checkout, behind: Pending): Promise<void> {
    const tip = (await this.objects.info(`${checkout.head}^{commit}`))?.oid
    if (tip === undefined) return
    if (!(await this.#isAt(checkout, behind.from, behind.to, tip))) return
    // The branch may have moved while git ran.
    if (this.pending.get(checkout.gitDir) !== behind) return
    this.pending.delete(checkout.gitDir)
    await this.#keep()
    this.say({ say: 'checkout follows', branch: behind.branch })
    await this.#sayTakenBack(checkout, behind, tip)
  }

  /** Tells the windows which files a commit has set back, as it was made in a checkout that was behind. */
  async #sayTakenBack({ folder }: Checkout, { branch, from, to }: Pending, tip: Oid): Promise<void> {
    if (tip === to || !(await isAncestor(this.repository, to, tip))) return
    const again = new Set((await changedFiles(this.repository, to, tip)).flat())
    const files = (await changedFiles(this.repository, from, to)).flat().filter(path => again.has(path))
    if (files.length === 0) return
    const names = firstOf(files.map(visiblePath), MAX_NAMED_FILES)
    const words = `The new commit of ${visiblePath(branch)} takes back what was done here in ${names}: it was made in ${visible(folder)}, which was behind. ${to.slice(0, 8)} still has it.`
    this.say({ say: 'notice', topic: `taken back in ${branch}`, branch, words, isBad: true })
  }

  /**
   * Whether a checkout that could not follow its branch from one commit to another was put in order since: the files
   * that changed between them are there as in `tip`.
   */
  async #isAt(checkout: Checkout, from: Oid, to: Oid, tip = to): Promise<boolean> {
    const changed = new Set(await changedIn(this.repository, checkout, tip))
    const moved = await changedFiles(this.repository, from, to)
    return !moved.flat().some(path => path !== undefined && changed.has(path))
  }

  /** The checkout that could not follow a branch, and the commits between; `from` is undefined for none. */
  async leftBehind(branch: string): Promise<{ folder: string; from: Oid | undefined; to: Oid } | undefined> {
    const empty = emptyTree(this.repository.format)
    for (const { folder, gitDir, head } of await this.list()) {
      const behind = this.pending.get(gitDir)
      if (head !== headRef(branch) || behind?.branch !== branch || !behind.isTold) continue
      return { folder, from: behind.from === empty ? undefined : behind.from, to: behind.to }
    }
    return undefined
  }

  /** All checkouts that could not follow their branches, and why. */
  async allLeftBehind(): Promise<LeftBehind[]> {
    if (![...this.pending.values()].some(({ isTold }) => isTold)) return []
    const all = (await this.list()).map(async ({ folder, gitDir, head }) => {
      const behind = this.pending.get(gitDir)
      if (!behind?.isTold || head !== headRef(behind.branch)) return []
      const { branch, why = '' } = behind
      return [{ branch, folder, why, isAhead: await this.#isAhead(behind) }]
    })
    return (await Promise.all(all)).flat()
  }

  async #isAhead({ from, to }: Pick<Pending, 'from' | 'to'>): Promise<boolean> {
    return from === emptyTree(this.repository.format) || (await isAncestor(this.repository, from, to))
  }

  /** After the rename of a branch: records a checkout that is behind under the new name, and says it again. */
  async renamed(name: string, to: string): Promise<void> {
    const own = [...this.pending].filter(([, { branch }]) => branch === name)
    for (const [gitDir, behind] of own) this.pending.set(gitDir, { ...behind, branch: to })
    if (own.length === 0) return
    await this.#keep()
    const told = (await this.allLeftBehind()).filter(({ branch }) => branch === to)
    for (const leftBehind of told) this.say({ say: 'checkout left behind', ...leftBehind })
  }

  #later(task: () => Promise<void>): void {
    this.#last = this.#last
      .then(task)
      .catch(error => this.say({ say: 'notice', words: String(error.message ?? error), isBad: true }))
  }

  async #resume(): Promise<void> {
    const checkouts = await this.list()
    for (const [gitDir, { branch, from, to }] of [...this.pending]) {
      const checkout = checkouts.find(it => it.gitDir === gitDir && it.head === headRef(branch))
      const tip = (await this.objects.info(headRef(branch)))?.oid ?? emptyTree(this.repository.format)
      if (checkout && tip === to) await this.#followIn(checkout, branch, { from, to })
      else this.pending.delete(gitDir)
    }
    if (checkouts.length > 0) await this.#keep()
  }

  /**
   * Writes the file of checkouts that still have to follow their branch. Calls run one after the other, since several
   * branches may be saved at once. A failure is ignored: the file only matters if the process is killed, and a full
   * disk should not prevent a save.
   */
  async #keep(): Promise<void> {
    const young = `${this.file}.${process.pid}`
    this.#kept = this.#kept
      .then(() => writeFile(young, JSON.stringify(Object.fromEntries(this.pending))))
      .then(() => rename(young, this.file))
      .catch(() => undefined)
    await this.#kept
  }

  /** Resolves when all pending checkouts were updated to their branch's commit, or could not be. */
  async settled(): Promise<void> {
    await this.#last
  }

  async #followIn(checkout: Checkout, branch: string, { from, to }: { from: Oid; to: Oid }): Promise<void> {
    const behind = this.pending.get(checkout.gitDir)
    const isBehind = behind && behind.from !== from && !(await this.#isAt(checkout, behind.from, from))
    const why = await followBranch(this.repository, checkout, isBehind ? behind.from : from, to)
    // The branch may have moved again while git ran.
    const now = this.pending.get(checkout.gitDir)
    if (why !== '')
      this.pending.set(checkout.gitDir, { branch, to, ...now, from: now?.from ?? from, isTold: true, why })
    else if (now && now.to !== to) this.pending.set(checkout.gitDir, { ...now, from: to, isTold: false })
    else this.pending.delete(checkout.gitDir)
    await this.#keep()
    if (why === '' && behind?.isTold) this.say({ say: 'checkout follows', branch })
    if (why === '') return
    const isAhead = await this.#isAhead({ from: now?.from ?? from, to })
    this.say({ say: 'checkout left behind', branch, folder: checkout.folder, why, isAhead })
  }

  /**
   * The checkout that could not follow the branch to another tree, and why, as a sentence; undefined if all could.
   * Changes nothing.
   */
  async whyNotFollowing(branch: string, from: Oid, to: Oid): Promise<{ folder: string; why: string } | undefined> {
    for (const checkout of await this.list()) {
      if (checkout.head !== headRef(branch)) continue
      const why = await whyNotFollowing(this.repository, checkout, from, to)
      if (why !== '') return { folder: checkout.folder, why }
    }
    return undefined
  }
}

/** Why a branch can't be moved because of what waits in a checkout, and what to do; undefined if nothing does. */
async function whatWaits(branch: string, checkout: Checkout): Promise<string | undefined> {
  const [name, folder] = [visiblePath(branch), visible(checkout.folder)]
  const next = 'Finish or abort it there first, or go on in a new branch.'
  const rebase = await rebaseIn(branch, checkout)
  if (rebase !== undefined) return `${rebase} ${next}`
  const what = checkout.head === headRef(branch) ? await underWayIn(checkout) : undefined
  if (what === undefined) return undefined
  return `A ${what} waits in ${folder}, where ${name} is checked out: its commit would take this back. ${next}`
}

/** A sentence about the rebase of a branch that waits in a checkout; undefined if there is none. */
async function rebaseIn(branch: string, checkout: Checkout): Promise<string | undefined> {
  if ((await rebasedIn(checkout)) !== headRef(branch)) return undefined
  return `A rebase of ${visiblePath(branch)} waits in ${visible(checkout.folder)}: it sets the branch when it ends.`
}

async function readPending(file: string, { format }: Repository): Promise<Map<string, Pending>> {
  const text = await readFile(file, 'utf8').catch(() => '{}')
  const read = v.safeParse(v.pipe(v.string(), v.parseJson(), v.record(v.string(), Pending)), text)
  if (!read.success) return new Map()
  return new Map(Object.entries(read.output).filter(([, { from, to }]) => isOid(format, from) && isOid(format, to)))
}
