/**
 * A temporary repository with access to the objects of other repositories, in which merges are judged: nothing that
 * git writes there reaches the user's repository.
 */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { QUESTIONS } from './bounds.ts'
import { OWN_CONFIG } from './environment.ts'
import type { Format, Repository } from './repository.ts'
import { read, type Where } from './run.ts'

/** A temporary repository, which is removed when disposed: `await using scratch = await openScratch(…)`. */
export type Scratch = Repository & AsyncDisposable

type ScratchOptions = {
  /** The folder in which the temporary folder is made. */
  parent: string
  /** The object folders to read from. */
  borrowed: readonly string[]
  format: Format
  signal?: AbortSignal | undefined
  /** Additional lines for the repository's configuration. */
  config?: string
}

/**
 * Makes a repository with default configuration and an empty work tree in a new folder below `parent`. It reads the
 * objects of others, which may be untrusted, so git is bounded in it. The folder's name has this process's id, so that
 * folders of killed processes can be found.
 */
export async function openScratch({ parent, borrowed, format, signal, config = '' }: ScratchOptions): Promise<Scratch> {
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, `scratch-${hostname()}-${process.pid}-`))
  const gitDir = join(folder, '.git')
  const objects = join(gitDir, 'objects')
  const where: Where = {
    cwd: folder,
    env: { ...OWN_CONFIG, GIT_DIR: gitDir, GIT_WORK_TREE: folder },
    signal,
    bounds: QUESTIONS,
  }
  const close = () => rm(folder, { recursive: true, force: true })
  try {
    // The files of gitrepository-layout(5): `git init` would take longer, and follow the user's and system's
    // configuration.
    await mkdir(join(objects, 'info'), { recursive: true })
    await mkdir(join(gitDir, 'refs/heads'), { recursive: true })
    await writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n')
    const version = '[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = '
    await writeFile(join(gitDir, 'config'), `${version}${format}\n${config}`)
    const lenders = await Promise.all(borrowed.map(from => lendersOf(from, where)))
    const alternates = [...lenders.flat(), ...borrowed.map(quoteInC)]
    await writeFile(join(objects, 'info/alternates'), `${alternates.join('\n')}\n`)
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...where,
    gitDir,
    commonDir: gitDir,
    objects,
    format,
    workTree: folder,
    isBare: false,
    isShallow: false,
    isPartial: false,
    temporary: folder,
    [Symbol.asyncDispose]: close,
  }
}

/** All object folders that a folder borrows from, deepest first: git follows only a short chain. Quoted as in C. */
async function lendersOf(objects: string, where: Where): Promise<string[]> {
  const borrows = await stat(join(objects, 'info/alternates')).catch(() => undefined)
  if (!borrows) return []
  const counted = await read(where, ['count-objects', '-v'], { env: { GIT_OBJECT_DIRECTORY: objects } })
  return [...counted.matchAll(/^alternate: (.+)$/gm)].map(([, lender = '']) => lender).reverse()
}

/** Quotes a path as in C: git reads lines that begin with a double quote that way. */
export const quoteInC = (path: string): string => `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`
