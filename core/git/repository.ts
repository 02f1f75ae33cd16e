/** What a repository is to these programs, how one is found, and the names of what is in one. */
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { firstLine, visible } from '../text.ts'
import type { Variables } from './environment.ts'
import { run, type Where } from './run.ts'

/** A full object id: 40 hex digits in a sha1 repository, 64 in a sha256 one. */
export type Oid = string
/** A path inside a repository, one character per byte (latin1), so that any file name survives. See {@link asBytes}. */
export type Path = string
export type Format = 'sha1' | 'sha256'
/**
 * What stands at a path; undefined where nothing does. The mode as git writes it: 100644, 100755, 120000, 160000,
 * 040000.
 */
export type Entry = { mode: string; oid: Oid } | undefined

/** A repository, and how git is run in it: `env` names it, so that `cwd` and the user's variables can't mislead. */
export type Repository = Where & {
  /** Its own .git folder, which a linked worktree has too. */
  gitDir: string
  /** The .git folder that all worktrees share: refs, objects and the configuration are there. */
  commonDir: string
  /** The folder that its objects are in. */
  objects: string
  format: Format
  /** The top of the work tree that it was found from; undefined in a bare repository and inside a .git folder. */
  workTree: string | undefined
  isBare: boolean
  /** History is cut off: what asks for ancestors may answer wrongly. */
  isShallow: boolean
  /** Objects may be missing here, and a remote be asked for them. */
  isPartial: boolean
  /** Where folders for a moment are made; no folder of the user's. */
  temporary: string
}

/** Text as names in git are written here: the bytes of its UTF-8, one character each. */
export const asBytes = (text: string): string => Buffer.from(text).toString('latin1')
/** The reverse, for names that are UTF-8; any other name loses the bytes that are none. */
export const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

const DIGITS = { sha1: 40, sha256: 64 } as const
/** Whether a text is a full object id in a repository of this format. */
export const isOid = (format: Format, text: string): boolean =>
  text.length === DIGITS[format] && /^[0-9a-f]+$/.test(text)
/** The id that means none. */
export const noOid = (format: Format): Oid => '0'.repeat(DIGITS[format])

/** Splits git's `-z` output. */
export const fields = (output: Buffer): string[] => output.toString('latin1').split('\0').slice(0, -1)

const MARK = '--between'

/**
 * The repository that a folder is in, as git itself finds it: a checkout, a linked worktree, a bare repository, or what
 * `env` points at with GIT_DIR and GIT_WORK_TREE. Throws a {@link Failure} where there is none.
 */
export async function openRepository(
  folder: string,
  { env = {}, signal }: { env?: Variables; signal?: AbortSignal } = {},
): Promise<Repository> {
  const where: Where = { cwd: folder, env, signal }
  // A path may have line ends in it. Git repeats an option that it does not know: that tells where a path ends.
  const paths = ['--absolute-git-dir', MARK, '--git-common-dir', MARK, '--git-path', 'objects', MARK, '--show-toplevel']
  const facts = ['--is-bare-repository', '--is-shallow-repository', '--show-object-format']
  // The last fact fails without a work tree, after all others have been told.
  const asked = run(where, ['rev-parse', ...facts, '--path-format=absolute', ...paths], { ok: [0, 128] })
  const answer = await asked.catch(async (error: NodeJS.ErrnoException): Promise<never> => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    // Neither a folder nor a program that is not there can be told from the other by this error.
    const isFolder = await stat(folder).then(
      at => at.isDirectory(),
      () => false,
    )
    if (isFolder) throw new Failure('There is no git on your PATH: install git 2.38 or newer.')
    throw new Failure(`${visible(folder)} is no folder: check its name.`)
  })
  const [first = '', commonDir = '', objects = '', top = ''] = answer.stdout.toString().split(`\n${MARK}\n`)
  const [isBare, isShallow, format, ...rest] = first.split('\n')
  const gitDir = rest.join('\n')
  if (!gitDir || !objects)
    throw new Failure(`There is no git repository in ${visible(folder)} (${visible(firstLine(answer.stderr))}).`)
  // A pack that a remote gave with a promise to give the rest, too.
  const packs = await readdir(join(objects, 'pack')).catch(() => [])
  const workTree = answer.code === 0 ? top.replace(/\n$/, '') : undefined
  return {
    cwd: workTree ?? gitDir,
    env: { ...env, GIT_DIR: gitDir, GIT_WORK_TREE: workTree },
    signal,
    gitDir,
    commonDir,
    objects,
    format: format === 'sha256' ? 'sha256' : 'sha1',
    workTree,
    isBare: isBare === 'true',
    isShallow: isShallow === 'true',
    isPartial: packs.some(name => name.endsWith('.promisor')),
    temporary: tmpdir(),
  }
}
