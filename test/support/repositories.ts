/**
 * The repositories with which a test's world (its own set of folders and servers) begins: upstream's and the fork's on
 * their servers, and a clone of the fork. Git makes them once for each set of options; later worlds get copies, in a
 * tenth of the time.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bare, commit, type Files, git } from './git.ts'

/** The relation of upstream and the fork at the beginning. */
export type Story =
  /** Upstream and the fork changed the same line, and also other files. */
  | 'conflict'
  /** Upstream and the fork changed different files. */
  | 'clean'
  /** Upstream has nothing new. */
  | 'current'
  /** The fork has no commits of its own. */
  | 'pristine'
  /** The two have no common ancestor. */
  | 'unrelated'

export type RepositoryOptions = {
  story?: Story
  /** Origin's default branch, and upstream's. */
  branch?: string
  upstreamBranch?: string
  /** FORK.md in the fork's own commit. */
  forkMd?: string
  /** Additional files of the common ancestor, the fork and upstream. */
  files?: { base?: Files; fork?: Files; upstream?: Files }
  /** False: the remotes are local paths, not GitHub addresses. */
  github?: unknown
  format?: 'sha1' | 'sha256'
}

export const ORIGIN_URL = 'https://github.com/me/fork.git'
export const UPSTREAM_URL = 'https://github.com/them/project.git'
/** The bare repositories, relative to a world's folder. */
export const UPSTREAM = 'servers/them/project.git'
export const ORIGIN = 'servers/me/fork.git'

const numbered = (count: number, change: Record<number, string> = {}): string =>
  Array.from({ length: count }, (_, at) => change[at + 1] ?? `line ${at + 1}`)
    .join('\n')
    .concat('\n')

/** Makes the three repositories with git. */
export async function makeRepositories(root: string, checkout: string, options: RepositoryOptions): Promise<void> {
  const { story = 'conflict', branch = 'main', upstreamBranch = branch, format = 'sha1', files = {} } = options
  const upstream = await bare(join(root, UPSTREAM), upstreamBranch, format)
  const origin = await bare(join(root, ORIGIN), branch, format)
  const base = { 'README.md': '# Project\n', 'greeting.txt': 'hello\n', 'long.txt': numbered(40), ...files.base }
  await commit(upstream, upstreamBranch, base, { message: 'Begin the project' })
  const forker = { author: 'Fay Forker <fay@fork.example>' }
  if (story === 'unrelated') {
    await commit(origin, branch, { 'else.txt': 'something else\n' }, { ...forker, message: 'Begin something else' })
  } else {
    const refs = `refs/heads/${upstreamBranch}:refs/heads/${branch}`
    await git(origin, 'fetch', '--quiet', '--no-write-fetch-head', upstream, refs)
    if (story !== 'pristine') {
      const own = { 'fork.txt': 'ours\n', 'long.txt': numbered(40, { 3: 'line 3 of the fork' }), ...files.fork }
      const greeting: Files = story === 'conflict' ? { 'greeting.txt': 'hello from the fork\n' } : {}
      const forkMd: Files = options.forkMd === undefined ? {} : { 'FORK.md': options.forkMd }
      await commit(origin, branch, { ...own, ...greeting, ...forkMd }, { ...forker, message: 'Make it ours' })
    }
  }
  if (story !== 'current') {
    const theirs = { 'news.txt': 'news\n', 'long.txt': numbered(40, { 38: 'line 38 of upstream' }), ...files.upstream }
    const greeting: Files = story === 'conflict' ? { 'greeting.txt': 'hello from upstream\n' } : {}
    await commit(upstream, upstreamBranch, { ...theirs, ...greeting }, { message: 'Bring news' })
  }
  const onGitHub = options.github !== false
  const there = `url.${join(root, 'servers')}/.insteadOf=https://github.com/`
  await git(root, '-c', there, 'clone', '--quiet', onGitHub ? ORIGIN_URL : origin, checkout)
  await git(checkout, 'remote', 'add', 'upstream', onGitHub ? UPSTREAM_URL : upstream)
}

type Entry = { path: string } & ({ folder: true } | { link: string } | { mode: number; content: Buffer })

const originals = new Map<string, Promise<Entry[]>>()

/** Copies what {@link makeRepositories} makes with GitHub addresses, which has no local paths in it. */
export async function copyRepositories(root: string, checkout: string, options: RepositoryOptions): Promise<void> {
  const { story, branch, upstreamBranch, forkMd, files, format } = options
  const key = JSON.stringify([story, branch, upstreamBranch, forkMd, files, format])
  const original = originals.get(key) ?? takeOriginal(options)
  originals.set(key, original)
  for (const entry of await original) {
    const path = entry.path.startsWith('servers/') ? join(root, entry.path) : join(checkout, entry.path)
    if ('folder' in entry) mkdirSync(path, { recursive: true })
    else if ('link' in entry) symlinkSync(entry.link, path)
    else writeFileSync(path, entry.content, { mode: entry.mode })
  }
  // The index depends on properties of the disk, so it can't be copied.
  await git(checkout, 'read-tree', '--reset', '-u', 'HEAD')
}

/** Reads the servers' repositories, and the clone's `.git` without its index. */
async function takeOriginal(options: RepositoryOptions): Promise<Entry[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'forklift-original-')))
  try {
    const checkout = join(root, 'checkout')
    mkdirSync(join(root, 'servers'))
    await makeRepositories(root, checkout, options)
    const git = read(checkout, '.git').filter(({ path }) => path !== '.git/index')
    return [...read(root, 'servers'), ...git]
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** Reads a folder and everything below it, each folder before its content. */
function read(root: string, folder: string): Entry[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry): Entry[] => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return read(root, path)
    if (entry.isSymbolicLink()) return [{ path, link: readlinkSync(join(root, path)) }]
    return [{ path, mode: statSync(join(root, path)).mode & 0o777, content: readFileSync(join(root, path)) }]
  })
  return [{ path: folder, folder: true }, ...entries]
}
