/** Repositories for the tests of core/git, in a temporary folder that is removed. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import { type Format, openRepository, type Repository } from '../../core/git/repository.ts'
import { bare, gitWith, PLAIN } from './git.ts'

export type Place = AsyncDisposable & {
  folder: string
  /** The path of a bare repository on branch main. */
  path: string
  repository: Repository
  objects: Objects
  git: (...args: string[]) => Promise<string>
}

/** Makes a temporary folder. Its path has no links, so that it can be compared. */
export async function makeFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'core-git-')))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Makes an empty bare repository, opened as the programs open one, with an Objects reader. */
export async function makePlace(format: Format = 'sha1'): Promise<Place> {
  const { path: folder, ...rest } = await makeFolder()
  const path = await bare(join(folder, 'repo.git'), 'main', format)
  const repository = await openRepository(path, { env: PLAIN })
  const objects = openObjects(repository)
  return {
    folder,
    path,
    repository,
    objects,
    git: (...args) => gitWith(path, args),
    [Symbol.asyncDispose]: async () => {
      await objects[Symbol.asyncDispose]()
      await rest[Symbol.asyncDispose]()
    },
  }
}

/** Git's output, one character per byte. */
export async function bytesFrom(cwd: string, ...args: string[]): Promise<string> {
  const child = Bun.spawn(['git', ...args], { cwd, env: { ...process.env, ...PLAIN }, stdout: 'pipe' })
  return Buffer.from(await new Response(child.stdout).bytes()).toString('latin1')
}

/** Waits until a condition is true, by polling; throws after `patience` milliseconds. */
export async function until(isSo: () => boolean | undefined | Promise<boolean>, patience = 60_000): Promise<void> {
  const end = performance.now() + patience
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`It did not become so within ${patience} ms: ${isSo}`)
    await Bun.sleep(10)
  }
}

/** The ids of this process's children whose command line contains some words. */
export async function childrenWith(words: string): Promise<number[]> {
  const list = await new Response(Bun.spawn(['ps', '-A', '-o', 'pid=,ppid=,args=']).stdout).text()
  return list.split('\n').flatMap(line => {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
    return Number(parent) === process.pid && args.includes(words) ? [Number(pid)] : []
  })
}
