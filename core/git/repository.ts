/** Opens repositories, and defines the types for ids, paths and entries. */
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
 * The entry at a path; undefined where there is none. The mode is written as git does: 100644, 100755, 120000, 160000,
 * 040000.
 */
export type Entry = { mode: string; oid: Oid } | undefined

/**
 * A repository, and how git runs in it. `env` names it, so that `cwd` and the user's variables can't point elsewhere.
 */
export type Repository = Where & {
  /** The repository's .git folder; a linked worktree has one of its own. */
  gitDir: string
  /** The .git folder that all worktrees share: refs, objects and the configuration are there. */
  commonDir: string
  /** The folder with the objects. */
  objects: string
  format: Format
  /**
   * The top folder of the work tree from which the repository was opened; undefined in a bare repository and inside a
   * .git folder.
   */
  workTree: string | undefined
  isBare: boolean
  /** History is incomplete: questions about ancestors may get wrong answers. */
  isShallow: boolean
  /** Objects may be missing locally, so git may fetch them from a remote. */
  isPartial: boolean
  /** The folder for temporary folders; never one of the user's. */
  temporary: string
}

/** Text as git names are represented here: its UTF-8 bytes, one character per byte. */
export const asBytes = (text: string): string => Buffer.from(text).toString('latin1')
/** The reverse of {@link asBytes}; bytes that are not UTF-8 are lost. */
export const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

const DIGITS = { sha1: 40, sha256: 64 } as const
/** Whether a text is a full object id in a repository of this format. */
export const isOid = (format: Format, text: string): boolean =>
  text.length === DIGITS[format] && /^[0-9a-f]+$/.test(text)
/** The id of all zeros, which stands for no object. */
export const noOid = (format: Format): Oid => '0'.repeat(DIGITS[format])

/** Splits output of git's `-z` option. */
export const fields = (output: Buffer): string[] => output.toString('latin1').split('\0').slice(0, -1)

const MARK = '--between'

/**
 * Opens the repository that a folder is in, as git finds it: a checkout, a linked worktree, a bare repository, or the
 * one that GIT_DIR and GIT_WORK_TREE in `env` name. Throws a {@link Failure} where there is none.
 */
export async function openRepository(
  folder: string,
  { env = {}, signal }: { env?: Variables; signal?: AbortSignal } = {},
): Promise<Repository> {
  const where: Where = { cwd: folder, env, signal }
  // Paths may contain line ends. Git repeats an unknown option as it is, so MARK separates the paths.
  const paths = ['--absolute-git-dir', MARK, '--git-common-dir', MARK, '--git-path', 'objects', MARK, '--show-toplevel']
  const facts = ['--is-bare-repository', '--is-shallow-repository', '--show-object-format']
  // `--show-toplevel` fails without a work tree, after the other answers were printed.
  const asked = run(where, ['rev-parse', ...facts, '--path-format=absolute', ...paths], { ok: [0, 128] })
  const answer = await asked.catch(async (error: NodeJS.ErrnoException): Promise<never> => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    // This error does not tell a missing folder from a missing git program.
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
  // A pack that came from a promisor remote also shows that the clone is partial.
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
