/**
 * The work trees of a repository: which branch is checked out where, and how a checkout follows a branch that was moved
 * from outside of it. No change of the user's is overwritten: the whole work tree follows, or nothing does.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isFull } from '../full-disk.ts'
import { firstLine, visible } from '../text.ts'
import type { RefName } from './refs.ts'
import type { Oid, Path, Repository } from './repository.ts'
import { GitError, read, run, type Where } from './run.ts'
import { whyGitFailed } from './troubles.ts'

/** A work tree: its folder, its own git folder, and the ref that its HEAD points to, if any. */
export type Checkout = { folder: string; gitDir: string; head: RefName | undefined }

/**
 * Lists all existing work trees; `main` is the folder of the main one ({@link mainFolder}). Reads the HEAD files
 * directly, since a git process for each of many work trees would take long.
 */
export async function listCheckouts({ commonDir }: Repository, main: string | undefined): Promise<Checkout[]> {
  const linked = join(commonDir, 'worktrees')
  const names = await readdir(linked).catch(() => [])
  const places = await Promise.all(names.map(name => linkedFolder(join(linked, name))))
  const first = main === undefined ? [] : [{ folder: main, gitDir: commonDir }]
  const all = [...first, ...places.filter(place => place !== undefined)]
  const heads = await Promise.all(all.map(({ gitDir }) => headIn(gitDir)))
  return all.map((place, at) => ({ ...place, head: heads[at] }))
}

const whereOf = (repository: Repository, { folder, gitDir }: Checkout): Where => ({
  cwd: folder,
  env: { ...repository.env, GIT_DIR: gitDir, GIT_WORK_TREE: folder },
})

const REBASE_FOLDERS = ['rebase-merge', 'rebase-apply']
const SIGNS = { MERGE_HEAD: 'merge', CHERRY_PICK_HEAD: 'cherry-pick', REVERT_HEAD: 'revert' } as const

/**
 * The branch that is being rebased in a checkout, whose HEAD is at a commit meanwhile; undefined if none is. The end of
 * the rebase, and its abort, set the branch.
 */
export async function rebasedIn({ gitDir }: Checkout): Promise<RefName | undefined> {
  for (const folder of REBASE_FOLDERS) {
    const name = await readFile(join(gitDir, folder, 'head-name'), 'latin1').catch(() => undefined)
    if (name !== undefined) return name.trimEnd()
  }
  return undefined
}

/** The files and folders that are there while {@link rebasedIn} or {@link underWayIn} finds something. */
export const signsIn = ({ gitDir }: Checkout): string[] =>
  [...REBASE_FOLDERS, ...Object.keys(SIGNS)].map(name => join(gitDir, name))

/** The operation that is in progress in a checkout; undefined where there is none. */
export async function underWayIn({ gitDir }: Checkout): Promise<(typeof SIGNS)[keyof typeof SIGNS] | undefined> {
  for (const [name, command] of Object.entries(SIGNS)) {
    const isThere = await stat(join(gitDir, name)).then(
      () => true,
      () => false,
    )
    if (isThere) return command
  }
  return undefined
}

/**
 * Why a checkout could not follow its branch from one commit to another, as the end of a sentence; '' where it could.
 * Changes nothing.
 */
export async function whyNotFollowing(repository: Repository, checkout: Checkout, from: Oid, to: Oid): Promise<string> {
  const where = whereOf(repository, checkout)
  const quiet = ['-c', 'core.hooksPath=/dev/null']
  const step = [...quiet, 'read-tree', '-n', '-m', '-u', '--no-recurse-submodules', from, to]
  const dry = async (): Promise<string> => {
    const { code, stderr } = await run(where, step, { ok: 'any' })
    return code === 0 ? '' : inWords(firstLine(stderr))
  }
  // The index may only be stale: refresh it and try again.
  if ((await dry()) === '') return ''
  await run(where, ['update-index', '-q', '--refresh'], { ok: 'any' })
  return await dry()
}

/**
 * Moves a checkout from one commit to another as `git checkout` does. Files with changes are left alone; if one is in
 * the way, nothing is changed. Gives why it could not be done, else ''.
 * No hook of the repository runs: post-checkout never runs for this command, and post-index-change is looked for in a
 * folder that does not exist. Filters that the user has configured (such as Git LFS) do run: without them the files
 * would have the wrong content.
 */
export async function followBranch(repository: Repository, checkout: Checkout, from: Oid, to: Oid): Promise<string> {
  const where = whereOf(repository, checkout)
  const quiet = ['-c', 'core.hooksPath=/dev/null']
  const step = [...quiet, 'read-tree', '-m', '-u', '--no-recurse-submodules', from, to]
  try {
    await run(where, step)
    return ''
  } catch {
    // Possibly only the timestamps of files changed: refresh the index, as `git checkout` does.
  }
  try {
    await whileLocked(async () => {
      await run(where, [...quiet, 'update-index', '-q', '--refresh'], { ok: 'any' })
      await run(where, step)
    })
    return ''
  } catch (error) {
    if (await isFull(checkout.gitDir).catch(() => false)) return 'The disk is full.'
    const why = whyGitFailed(error)
    if (why !== undefined) return `${why.charAt(0).toUpperCase()}${why.slice(1)}.`
    if (error instanceof GitError) return inWords(error.message)
    throw error
  }
}

/** The pauses before further tries while another git process has locked the index, in milliseconds: 3 s in all. */
const LOCK_PAUSES_MS = [50, 100, 200, 400, 750, 1500]

const LOCKED = /Unable to create '(.*index\.lock)': File exists/

/** Runs an update of an index, and again while another git process has locked that. */
async function whileLocked(update: () => Promise<void>): Promise<void> {
  for (const pause of LOCK_PAUSES_MS) {
    try {
      return await update()
    } catch (error) {
      if (!(error instanceof GitError) || !LOCKED.test(error.stderr)) throw error
    }
    await sleep(pause)
  }
  await update()
}

/**
 * The files of a checkout that are not as in a commit, in its folder or in its index. Untracked files do not count, and
 * nothing is changed.
 */
export async function changedIn(repository: Repository, checkout: Checkout, commit: Oid): Promise<Path[]> {
  const quiet = ['-c', 'core.hooksPath=/dev/null']
  // Unlike git diff-index, git diff does not list files that only have a new time stamp.
  const listed = ['diff', '--no-renames', '--no-ext-diff', '--no-textconv', '--name-only', '-z']
  const where = whereOf(repository, checkout)
  const [files, index] = await Promise.all([
    run(where, [...quiet, ...listed, commit, '--']),
    run(where, [...quiet, ...listed, '--cached', commit, '--']),
  ])
  return [files, index].flatMap(({ stdout }) => stdout.toString('latin1').split('\0').slice(0, -1))
}

/**
 * Turns git's message about a file that is in the way, or a locked index, into a sentence. Any other message only gets
 * a full stop.
 */
function inWords(message: string): string {
  const words = visible(message)
  const [, changed] = /Entry '(.+)' (?:not uptodate|would be overwritten by merge)/.exec(words) ?? []
  if (changed !== undefined) return `${changed} has changes there that are not committed.`
  const [, unknown] = /Untracked working tree file '(.+)' would be/.exec(words) ?? []
  return unknown === undefined ? words.replace(/\.*$/, '.') : `${unknown} lies there and is not git's.`
}

/** The folder of the main work tree; undefined where the repository is bare. */
export async function mainFolder(repository: Repository): Promise<string | undefined> {
  const { commonDir, gitDir, workTree } = repository
  // The repository was opened from its main work tree.
  if (gitDir === commonDir && workTree !== undefined) return workTree
  const where: Where = { cwd: commonDir, env: { ...repository.env, GIT_DIR: commonDir, GIT_WORK_TREE: undefined } }
  const [isBare, worktree] = await Promise.all([
    read(where, ['config', '--type=bool', '--get', 'core.bare'], { ok: [0, 1] }),
    read(where, ['config', '--get', 'core.worktree'], { ok: [0, 1] }),
  ])
  if (isBare === 'true') return undefined
  if (worktree) return resolve(commonDir, worktree)
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined
}

/** The folder of a linked work tree; undefined where it has been removed. */
async function linkedFolder(gitDir: string): Promise<{ folder: string; gitDir: string } | undefined> {
  const path = await readFile(join(gitDir, 'gitdir'), 'utf8').catch(() => undefined)
  if (path === undefined) return undefined
  const folder = dirname(resolve(gitDir, path.trimEnd()))
  return (await stat(folder).catch(() => undefined)) && { folder, gitDir }
}

/** The content of the HEAD file where refs are not files (reftable): only git can read that HEAD. */
const NOT_IN_A_FILE = 'refs/heads/.invalid'

/** The ref that the HEAD in a git folder, or in a remote's folder of refs, points to, if any. */
export async function headIn(gitDir: string): Promise<RefName | undefined> {
  const head = await readFile(join(gitDir, 'HEAD'), 'latin1').catch(() => '')
  const ref = /^ref: (refs\/.*?)\s*$/.exec(head)?.[1]
  if (ref !== NOT_IN_A_FILE) return ref
  const where: Where = { cwd: gitDir, env: { GIT_DIR: gitDir } }
  const { stdout } = await run(where, ['symbolic-ref', '--quiet', 'HEAD'], { ok: [0, 1] })
  return stdout.toString('latin1').trimEnd() || undefined
}
