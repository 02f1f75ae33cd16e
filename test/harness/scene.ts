// A workspace and a state folder as Forklift prepares them for the harness.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Files = Record<string, string | null> // null deletes

export type Scene = {
  base?: Files
  fork?: Files
  upstream?: Files
  upstreamMessage?: string
  branch?: string
  upstreamBranch?: string
  seconds?: number
  forkContext?: string | Buffer
  /** Replaces the valid run.txt. */
  runFile?: string
  /** Lines added to the valid run.txt. */
  moreFacts?: string
}

/** The fork and upstream changed the same line. */
export const conflict: Scene = {
  base: { 'greeting.txt': 'hello\n', 'other.txt': 'one\n' },
  fork: { 'greeting.txt': 'hello, fork\n' },
  upstream: { 'greeting.txt': 'hello, upstream\n', 'other.txt': 'two\n' },
}
/** The fork and upstream changed different files. */
export const clean: Scene = {
  base: { 'fork.txt': 'a\n', 'upstream.txt': 'a\n' },
  fork: { 'fork.txt': 'b\n' },
  upstream: { 'upstream.txt': 'b\n' },
}

export const gitEnv = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Someone',
  GIT_AUTHOR_EMAIL: 'someone@example.invalid',
  GIT_COMMITTER_NAME: 'Someone',
  GIT_COMMITTER_EMAIL: 'someone@example.invalid',
}

export function git(cwd: string, ...args: string[]): string {
  const run = Bun.spawnSync(['git', '-c', 'safe.directory=*', ...args], { cwd, env: gitEnv })
  if (run.exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${run.stderr}`)
  return run.stdout.toString().trim()
}

function commit(cwd: string, message: string, files: Files): string {
  for (const [name, content] of Object.entries(files)) {
    if (content === null) rmSync(join(cwd, name))
    else writeFileSync(join(cwd, name), content)
  }
  git(cwd, 'add', '--all')
  git(cwd, 'commit', '-q', '--allow-empty', '-m', message)
  return git(cwd, 'rev-parse', 'HEAD')
}

/** Makes both folders below `root`. */
export function setScene(root: string, scene: Scene) {
  const folder = mkdtempSync(join(root, 'run with spaces '))
  const workspace = join(folder, 'workspace')
  const state = join(folder, 'state')
  for (const path of [workspace, state]) mkdirSync(path)
  const branch = scene.branch ?? 'main'
  const upstreamBranch = scene.upstreamBranch ?? 'main'
  git(workspace, 'init', '-q', '-b', branch, '--template=')
  const base = commit(workspace, 'base', scene.base ?? {})
  const upstream = commit(workspace, scene.upstreamMessage ?? 'upstream moves on', scene.upstream ?? {})
  git(workspace, 'reset', '-q', '--hard', base)
  const start = commit(workspace, 'the fork differs', scene.fork ?? {})
  git(workspace, 'update-ref', `refs/remotes/upstream/${upstreamBranch}`, upstream)
  mkdirSync(join(workspace, '.git/info'), { recursive: true })
  writeFileSync(join(workspace, '.git/info/exclude'), 'STUCK.md\n')
  const facts = [
    `branch=${branch}`,
    `upstream_branch=${upstreamBranch}`,
    `start=${start}`,
    `upstream=${upstream}`,
    `seconds=${scene.seconds ?? 60}`,
  ]
  writeFileSync(join(state, 'run.txt'), scene.runFile ?? `${facts.join('\n')}\n${scene.moreFacts ?? ''}`)
  if (scene.forkContext) writeFileSync(join(state, 'fork-context.md'), scene.forkContext)
  return { folder, workspace, state, branch, start, upstream }
}

export function isMerged(workspace: string, branch: string, upstream: string): boolean {
  const command = ['git', '-c', 'safe.directory=*', 'merge-base', '--is-ancestor', upstream, branch]
  return Bun.spawnSync(command, { cwd: workspace, env: gitEnv }).exitCode === 0
}
