/**
 * The work trees of a repository: which branch is checked out where, and how a checkout follows a branch that the desk
 * has moved.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isFull } from '../../core/disk.ts'
import type { RefName } from '../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../core/git/repository.ts'
import { GitError, read, run, type Where } from '../../core/git/run.ts'
import { emptyTree } from '../../core/git/trees.ts'
import { visible } from '../../core/text.ts'
import type { News } from './messages.ts'

/** A work tree: its folder, its own git folder, and the ref that its HEAD is on, if any. */
export type Checkout = { folder: string; gitDir: string; head: RefName | undefined }

/** Where a checkout stands that could not follow: what its files are those of. */
type Behind = { from: Oid; isTold: boolean }

/** The checkouts of one repository. */
export class Checkouts {
  /** The top of the main work tree; undefined where the repository is bare. */
  readonly #main: string | undefined
  readonly #behind = new Map<string, Behind>()
  #last: Promise<void> = Promise.resolve()

  private constructor(
    readonly repository: Repository,
    main: string | undefined,
    readonly say: (news: News) => void,
  ) {
    this.#main = main
  }

  static async open(repository: Repository, say: (news: News) => void): Promise<Checkouts> {
    return new Checkouts(repository, await mainFolder(repository), say)
  }

  /** All work trees that are there. HEADs are read as files: there may be many, and a git for each would take long. */
  async list(): Promise<Checkout[]> {
    const { commonDir } = this.repository
    const linked = join(commonDir, 'worktrees')
    const names = await readdir(linked).catch(() => [])
    const places = await Promise.all(names.map(name => linkedFolder(join(linked, name))))
    const main = this.#main === undefined ? [] : [{ folder: this.#main, gitDir: commonDir }]
    const all = [...main, ...places.filter(place => place !== undefined)]
    const heads = await Promise.all(all.map(({ gitDir }) => headIn(gitDir)))
    return all.map((place, at) => ({ ...place, head: heads[at] }))
  }

  /** The checkout in which a branch is, if any. */
  async of(ref: RefName): Promise<Checkout | undefined> {
    return (await this.list()).find(({ head }) => head === ref)
  }

  /** Puts the HEAD of a checkout on another branch of the same commit: no file changes. */
  async turnTo({ folder, gitDir }: Checkout, ref: RefName, message: string): Promise<void> {
    const env = { ...this.repository.env, GIT_DIR: gitDir, GIT_WORK_TREE: folder }
    await run({ cwd: folder, env }, ['symbolic-ref', '-m', message, 'HEAD', asText(ref)])
  }

  /**
   * Lets the checkouts of a branch follow it from one commit to another, after the branch has moved. It is done behind
   * the caller's back, one after the other: {@link settled} waits for it.
   */
  follow(branch: string, from: Oid | undefined, to: Oid | undefined): void {
    const empty = emptyTree(this.repository.format)
    this.#last = this.#last
      .then(() => this.#followAll(branch, from ?? empty, to ?? empty))
      .catch(error => this.say({ say: 'notice', words: String(error.message ?? error), isBad: true }))
  }

  /** When all checkouts have followed that were to. */
  async settled(): Promise<void> {
    await this.#last
  }

  async #followAll(branch: string, from: Oid, to: Oid): Promise<void> {
    const ref = `refs/heads/${branch}`
    for (const checkout of await this.list())
      if (checkout.head === ref) await this.#followIn(checkout, branch, from, to)
  }

  async #followIn(checkout: Checkout, branch: string, from: Oid, to: Oid): Promise<void> {
    const behind = this.#behind.get(checkout.gitDir)
    const starts = behind && behind.from !== from ? [behind.from, from] : [from]
    let why = ''
    for (const start of starts) {
      why = await this.#switch(checkout, start, to)
      if (why !== '') continue
      this.#behind.delete(checkout.gitDir)
      return
    }
    this.#behind.set(checkout.gitDir, { from: behind?.from ?? from, isTold: true })
    if (!behind?.isTold) this.say({ say: 'checkout left behind', branch, folder: checkout.folder, why })
  }

  /**
   * Takes a checkout from one commit to another as `git checkout` does, all of it or nothing: files that differ from the
   * first are left alone, and where one is in the way nothing is touched. Gives why it could not be done, else ''.
   *
   * No hook of the repository's runs: post-checkout never does by this command, and post-index-change is looked for in
   * a folder that is none. What can run are the filters that the user has configured for files as they are checked out
   * (Git LFS, for one): without them the files would not be what a checkout has.
   */
  async #switch({ folder, gitDir }: Checkout, from: Oid, to: Oid): Promise<string> {
    const env = { ...this.repository.env, GIT_DIR: gitDir, GIT_WORK_TREE: folder }
    const where: Where = { cwd: folder, env }
    const quiet = ['-c', 'core.hooksPath=/dev/null']
    const step = [...quiet, 'read-tree', '-m', '-u', '--no-recurse-submodules', from, to]
    try {
      await run(where, step)
      return ''
    } catch {
      // Git may only not know that a file is what it was: its times have changed. A checkout looks, too.
    }
    try {
      await run(where, [...quiet, 'update-index', '-q', '--refresh'], { ok: 'any' })
      await run(where, step)
      return ''
    } catch (error) {
      if (await isFull(gitDir).catch(() => false)) return 'The disk is full.'
      if (error instanceof GitError) return visible(error.message)
      throw error
    }
  }
}

async function mainFolder(repository: Repository): Promise<string | undefined> {
  const { commonDir, gitDir, workTree } = repository
  const where: Where = { cwd: commonDir, env: { ...repository.env, GIT_DIR: commonDir, GIT_WORK_TREE: undefined } }
  const [isBare, worktree] = await Promise.all([
    read(where, ['config', '--type=bool', '--get', 'core.bare'], { ok: [0, 1] }),
    read(where, ['config', '--get', 'core.worktree'], { ok: [0, 1] }),
  ])
  if (isBare === 'true') return undefined
  if (worktree) return resolve(commonDir, worktree)
  if (gitDir === commonDir && workTree) return workTree
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined
}

/** The folder of a linked work tree; undefined where it has been removed. */
async function linkedFolder(gitDir: string): Promise<{ folder: string; gitDir: string } | undefined> {
  const path = await readFile(join(gitDir, 'gitdir'), 'utf8').catch(() => undefined)
  if (path === undefined) return undefined
  const folder = dirname(resolve(gitDir, path.trimEnd()))
  return (await stat(folder).catch(() => undefined)) && { folder, gitDir }
}

async function headIn(gitDir: string): Promise<RefName | undefined> {
  const head = await readFile(join(gitDir, 'HEAD'), 'latin1').catch(() => '')
  return /^ref: (refs\/.*?)\s*$/.exec(head)?.[1]
}
