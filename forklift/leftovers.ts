/**
 * Makes folders that an agent could write safe for people to open with git, and removes them. Nothing in them is run or
 * followed. Each step takes a few processes, however many files there are, and has a time limit.
 */
import { execFile } from 'node:child_process'
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { harnessStateOf, workspaceOf } from '../core/formats/forklift-run.ts'
import { QUESTIONS } from '../core/git/bounds.ts'
import { fields } from '../core/git/repository.ts'
import { run as runGit } from '../core/git/run.ts'
import { openScratch } from '../core/git/scratch.ts'
import { isSafeName } from '../core/git/trees.ts'
import { shellIn } from '../core/shell.ts'
import { DISABLED } from '../core/untrusted.ts'

type Place = { path: string }

/** Time limit in seconds of each process that goes over all files of the agent. */
const STEP_SECONDS = 60
const MAX_LISTED_BYTES = 32 << 20

/**
 * The folder with a copy of the workspace's original git configuration and info/, kept until they are restored. The
 * agent can't access it.
 */
const settingsOf = (run: Place): string => join(run.path, 'git-settings')
const SETTINGS = ['config', 'info']

/** Copies the workspace's git configuration, before an agent can change it. */
export async function keepGitSettings(run: Place): Promise<void> {
  await mkdir(settingsOf(run))
  for (const name of SETTINGS)
    await cp(join(workspaceOf(run), '.git', name), join(settingsOf(run), name), { recursive: true })
}

/** Whether Forklift has put the original git configuration back in place of the agent's: then its copy is gone. */
export const isSafeToLookAt = async (run: Place): Promise<boolean> => !(await isFolder(settingsOf(run)))

/** Files of the agent's .git that are kept: its history. All others tell git what to run or where to read. */
const KEPT_FILES = ['HEAD', 'index', 'packed-refs', 'MERGE_HEAD', 'MERGE_MSG', 'MERGE_MODE', 'AUTO_MERGE', 'ORIG_HEAD']
const KEPT_FOLDERS = ['objects', 'refs', 'logs']
/** Folders and files that git trusts without checking objects, or that make it read other objects. */
const CACHES = ['objects/info', 'refs/replace']
const CACHE_FILES = ['*.rev', '*.bitmap', 'multi-pack-index*']

/** Folder names by which git or another version control system recognises a repository and obeys its configuration. */
const OPENERS = ['.git', '.hg', '.jj', '.sl']

/**
 * Makes sure that git runs nothing of the agent's in the workspace or below it: the original configuration is restored,
 * hooks are removed, and folders that git would take for another repository are renamed. Gives a sentence where that
 * fails; the folders are then closed (chmod 0).
 */
export async function makeSafeToLookAt(run: Place): Promise<string | undefined> {
  const folders = [workspaceOf(run), harnessStateOf(run)]
  let changed: string | undefined
  try {
    if (await isFolder(workspaceOf(run))) {
      await openFolders(folders)
      changed = await resetGit(run)
      await disableOthers(folders).catch(() => deleteOpeners(folders))
      // Git refuses to open a folder that belongs to another user, here the agent's.
      if (process.getuid?.() === 0) await chown(workspaceOf(run), 0, 0)
    }
    await rm(settingsOf(run), { recursive: true, force: true })
    return changed
  } catch {
    for (const folder of folders) await chmod(folder, 0).catch(() => undefined)
    return 'What the agent left could not be made safe to look at, so its folders are closed (chmod 0): run no git in them.'
  }
}

/**
 * Restores the original git configuration, and moves the agent's other git files to a folder that git does not open.
 * Gives a sentence where the result differs from the agent's state.
 */
async function resetGit(run: Place): Promise<string | undefined> {
  const dotGit = join(workspaceOf(run), '.git')
  if (!(await lstat(dotGit).catch(() => undefined))) return undefined
  const aside = join(await mkdtemp(join(harnessStateOf(run), 'git-of-the-agent-')), 'git')
  await rename(dotGit, aside)
  if (!(await isFolder(aside))) return undefined
  await mkdir(dotGit)
  for (const name of KEPT_FILES)
    if ((await lstat(join(aside, name)).catch(() => undefined))?.isFile())
      await rename(join(aside, name), join(dotGit, name))
  for (const name of KEPT_FOLDERS)
    if (await isFolder(join(aside, name))) await rename(join(aside, name), join(dotGit, name))
  const sh = shell()
  // If objects are borrowed or linked from elsewhere, they stay among the agent's files: the workspace is no repository
  // then.
  const objects = join(dotGit, 'objects')
  const odd = await sh`find ${objects} '(' ! -type f ! -type d -o -ipath ${'*/info/*alternates'} ')' -print -quit`
  if (odd.stdout !== '') await rename(objects, join(aside, 'objects'))
  const caches = CACHE_FILES.flatMap(name => ['-o', '-name', name])
  await sh`cd ${dotGit} && rm -rf ${CACHES} && find . ! -type d '(' ! -type f ${caches} ')' -delete`
  await dropPackedReplacements(dotGit)
  for (const name of SETTINGS) await cp(join(settingsOf(run), name), join(dotGit, name), { recursive: true })
  const index = join(dotGit, 'index')
  if (!(await lstat(index).catch(() => undefined)) || (await hasSafeNames(run, index))) return undefined
  await rename(index, join(aside, 'index'))
  return "The agent's index can't be trusted and was put aside: git reset in the workspace makes a new one."
}

/**
 * Whether an index has only names that git itself would write. Git trusts an index: a checkout would also write a file
 * named `.git/config`, which the next git command obeys. The index is read from a repository of our own.
 */
async function hasSafeNames(run: Place, index: string): Promise<boolean> {
  const config = await readFile(join(settingsOf(run), 'config'), 'utf8')
  const format = /objectformat\s*=\s*sha256/i.test(config) ? 'sha256' : 'sha1'
  await using scratch = await openScratch({ parent: run.path, borrowed: [], format })
  const bounds = { ...QUESTIONS, seconds: STEP_SECONDS }
  try {
    const { stdout } = await runGit(scratch, ['ls-files', '-z'], { env: { GIT_INDEX_FILE: index }, bounds })
    return fields(stdout).every(path => path.split('/').every(isSafeName))
  } catch {
    return false
  }
}

/** Removes refs that replace objects (refs/replace/) from packed-refs. */
async function dropPackedReplacements(dotGit: string): Promise<void> {
  if (!(await lstat(join(dotGit, 'packed-refs')).catch(() => undefined))) return
  // A line that begins with ^ belongs to the ref in the line before it.
  const program = '/ refs\\/replace\\// { skipped = 1; next } /^\\^/ && skipped { next } { skipped = 0; print }'
  const { exitCode } = await shell()`cd ${dotGit} && LC_ALL=C awk ${program} packed-refs > packed-refs.kept \
    && mv packed-refs.kept packed-refs`
  if (exitCode !== 0) throw new Error('the list of packed refs could not be read')
}

/**
 * Renames everything that git would open as a repository: submodules, bare repositories, and folders that look like
 * one.
 */
async function disableOthers(folders: string[]): Promise<void> {
  const names = ['HEAD', ...OPENERS].flatMap((name, at) => [...(at > 0 ? ['-o'] : []), '-iname', name])
  const find = [...folders, '-depth', '(', ...names, ')', '-print0']
  const { stdout } = await promisify(execFile)('find', find, {
    encoding: 'latin1',
    maxBuffer: MAX_LISTED_BYTES,
    timeout: STEP_SECONDS * 1000,
    killSignal: 'SIGKILL',
  })
  const own = new Set(folders.map(folder => Buffer.from(join(folder, '.git')).toString('latin1')))
  for (const path of stdout.split('\0').filter(Boolean)) {
    if (own.has(path)) continue
    const folder = path.slice(0, path.lastIndexOf('/'))
    const isHead = path.slice(folder.length + 1).toLowerCase() === 'head'
    if (isHead && (own.has(folder) || !(await looksBare(folder)))) continue
    await rename(bytes(path), bytes(path + DISABLED))
  }
}

/** Whether git would take a folder with a HEAD file for a repository. */
async function looksBare(folder: string): Promise<boolean> {
  const has = async (name: string) => (await lstat(bytes(`${folder}/${name}`)).catch(() => undefined)) !== undefined
  return (await has('commondir')) || ((await has('objects')) && (await has('refs')))
}

/** Deletes, by one process, what {@link disableOthers} can't rename: too many or too long names, or names in use. */
async function deleteOpeners(folders: string[]): Promise<void> {
  const [workspace = ''] = folders
  const others = ['!', '-path', `${workspace.replace(/[*?[\\]/g, '\\$&')}/.git/HEAD`]
  const names = ['HEAD', ...OPENERS].flatMap((name, at) => [...(at > 0 ? ['-o'] : []), '-iname', name])
  const { exitCode } = await shell()`find ${folders} '(' ${names} ')' ! -type d ${others} -delete`
  if (exitCode !== 0) throw new Error('find could not delete what opens a repository')
}

/**
 * Removes an agent's folders, including those without access rights. False where that took too long or something is
 * left; a later call continues.
 */
export async function removeFolders(paths: string[], signal?: AbortSignal): Promise<boolean> {
  const remove = async () => (await shell(signal)`rm -rf -- ${paths} 2>/dev/null`).exitCode === 0
  if (await remove()) return true
  await openFolders(paths, signal)
  return await remove()
}

/** Gives the owner access to these folders and all below them. (chmod changes a folder before it enters it.) */
export async function openFolders(paths: string[], signal?: AbortSignal): Promise<void> {
  const sh = shell(signal)
  const closed = await sh`find ${paths} -type d ! -perm -700 -print -quit 2>/dev/null`
  if (closed.stdout !== '' || closed.exitCode !== 0) await sh`chmod -R u+rwX -- ${paths} 2>/dev/null`
}

const shell = (signal?: AbortSignal) => shellIn({ cwd: '/', signal }, { nothrow: true, timeout: `${STEP_SECONDS}s` })

const bytes = (path: string): Buffer => Buffer.from(path, 'latin1')

const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined))?.isDirectory() ?? false
