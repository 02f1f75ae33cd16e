/** A repository of our own to judge in, with the objects of others: what git writes there, the user's never sees. */
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { QUESTIONS } from './bounds.ts'
import { OWN_CONFIG } from './environment.ts'
import type { Format, Repository } from './repository.ts'
import { read, type Where } from './run.ts'

/** Closing it removes it: `await using scratch = await openScratch(…)`. */
export type Scratch = Repository & AsyncDisposable

type ScratchOptions = {
  /** The folder in which its own is made. */
  parent: string
  /** The object folders that it reads from. */
  borrowed: readonly string[]
  format: Format
  signal?: AbortSignal | undefined
  /** Further lines of its configuration. */
  config?: string
}

/**
 * Makes a repository with default configuration, an empty work tree and the objects of others, in a new folder below
 * `parent`. Since those may be a stranger's, no git in it takes more than its bounds. The folder bears this process's
 * name, so that one that was killed can be told from one that runs.
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
    // As gitrepository-layout(5) has it: `git init` takes longer, and asks the user's and the system's wishes.
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

/** What an object folder borrows from, the deepest first: git follows a chain of them only so far. Quoted as in C. */
async function lendersOf(objects: string, where: Where): Promise<string[]> {
  const borrows = await stat(join(objects, 'info/alternates')).catch(() => undefined)
  if (!borrows) return []
  const counted = await read(where, ['count-objects', '-v'], { env: { GIT_OBJECT_DIRECTORY: objects } })
  return [...counted.matchAll(/^alternate: (.+)$/gm)].map(([, lender = '']) => lender).reverse()
}

/** A string as in C: where git reads a list of names, a line that starts with a double quote is one. */
export const quoteInC = (path: string): string => `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`
