/** Runs git for the tests, and makes commits. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Environment variables that keep user configuration out of the tests. */
export const PLAIN = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

export type Answer = { code: number; stdout: string; stderr: string }

/** Runs git in a folder, and gives its result for any exit code. */
export async function tryGit(
  cwd: string,
  args: string[],
  input?: string,
  env?: Record<string, string>,
): Promise<Answer> {
  const child = Bun.spawn(['git', '-c', 'safe.directory=*', ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...PLAIN, ...env },
    stdin: input === undefined ? 'ignore' : new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** Runs git in a folder, and throws where it fails. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  return gitWith(cwd, args)
}

export async function gitWith(
  cwd: string,
  args: string[],
  input?: string,
  env?: Record<string, string>,
): Promise<string> {
  const { code, stdout, stderr } = await tryGit(cwd, args, input, env)
  if (code !== 0) throw new Error(`git ${args.join(' ')} in ${cwd}: exit ${code}\n${stderr}${stdout}`)
  return stdout.trimEnd()
}

/** The content of a file; null removes it; an object also sets the mode. */
export type Files = Record<string, string | null | { mode: '100755' | '120000'; content: string }>

export type CommitOptions = { message?: string; author?: string; parents?: string[]; when?: number }

let clock = Date.UTC(2026, 9, 1, 8) / 1000

/**
 * Commits to a branch of a repository, as if it had been pushed. Makes the branch where it does not exist. Gives the
 * commit's id.
 */
export async function commit(repo: string, branch: string, files: Files, options: CommitOptions = {}): Promise<string> {
  const { message = `Change ${Object.keys(files).join(', ')}`, author = 'Una Upstream <una@upstream.example>' } =
    options
  clock += 60
  const when = options.when ?? clock
  const [first = await tipOf(repo, branch), ...others] = options.parents ?? []
  const lines = [
    `commit refs/heads/${branch}\nmark :1\nauthor ${author} ${when} +0000\ncommitter ${author} ${when} +0000\n${data(message)}`,
    first && `from ${first}\n`,
    ...others.map(parent => `merge ${parent}\n`),
  ]
  for (const [path, file] of Object.entries(files)) {
    const name = JSON.stringify(path)
    if (file === null) lines.push(`D ${name}\n`)
    else if (typeof file === 'string') lines.push(`M 100644 inline ${name}\n${data(file)}`)
    else lines.push(`M ${file.mode} inline ${name}\n${data(file.content)}`)
  }
  return gitWith(repo, ['fast-import', '--quiet', '--force'], `${lines.join('')}\nget-mark :1\n`)
}

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

/** Makes a bare repository, as on a server. */
export async function bare(path: string, branch = 'main', format = 'sha1'): Promise<string> {
  await gitWith('/', [
    'init',
    '--quiet',
    '--bare',
    '--template=',
    `--initial-branch=${branch}`,
    `--object-format=${format}`,
    path,
  ])
  return path
}

/**
 * The commit of a branch, or undefined. Reads the file of the ref where a bare repository has one, which is faster than
 * git.
 */
export async function tipOf(repo: string, branch: string): Promise<string | undefined> {
  const loose = await readFile(join(repo, 'refs/heads', branch), 'utf8').catch(() => '')
  if (/^[0-9a-f]{40,64}\n$/.test(loose)) return loose.trim()
  return (await tryGit(repo, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])).stdout.trim() || undefined
}

export async function branchesOf(repo: string, prefix = ''): Promise<string[]> {
  const names = await git(repo, 'for-each-ref', '--format=%(refname:lstrip=2)', `refs/heads/${prefix}`)
  return names ? names.split('\n') : []
}

export const parentsOf = async (repo: string, commitish: string): Promise<string[]> =>
  (await git(repo, 'rev-parse', `${commitish}^@`)).split('\n').filter(Boolean)

export const contains = async (repo: string, ancestor: string, descendant: string): Promise<boolean> =>
  (await tryGit(repo, ['merge-base', '--is-ancestor', ancestor, descendant])).code === 0

export const show = (repo: string, commitish: string, path: string): Promise<string> =>
  git(repo, 'cat-file', 'blob', `${commitish}:${path}`)
