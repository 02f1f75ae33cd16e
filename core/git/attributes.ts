/** Reads the .gitattributes of a commit. Git itself reads them only from a work tree. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unattended } from './environment.ts'
import type { Objects } from './objects.ts'
import { asText, fields, type Oid, type Path, type Repository } from './repository.ts'
import { run, type Where } from './run.ts'
import { isFolder, isSafeName, readTree, type TreeEntry } from './trees.ts'

/** A temporary folder to run git in, in which only the given attributes apply. Disposing removes it. */
type AttributesPlace = Where & AsyncDisposable

const NAME = '.gitattributes'
/** Git ignores larger .gitattributes files. */
export const MAX_ATTRIBUTES_BYTES = 100 << 20
/** At most this many digits in a conflict marker size: for 2,000,000,000 git writes outside of its memory. */
const MAX_MARKER_SIZE_DIGITS = 3

/** Reads the .gitattributes of a commit that apply to some paths, by their folder: '' or a path with a trailing `/`. */
export async function attributesFor(objects: Objects, commit: Oid, paths: readonly Path[]): Promise<Map<Path, Buffer>> {
  const found = new Map<Path, Buffer>()
  const folders = new Map<Path, Promise<TreeEntry[]>>()
  const folder = (path: Path): Promise<TreeEntry[]> => {
    const known = folders.get(path)
    if (known) return known
    const entries = readFolder(path)
    folders.set(path, entries)
    return entries
  }
  const readFolder = async (path: Path): Promise<TreeEntry[]> => {
    if (path === '') return await readTree(objects, commit)
    const [, above = '', name] = /^(.*\/)?([^/]*)\/$/s.exec(path) ?? []
    const entry = (await folder(above)).find(it => it.name === name)
    return entry && isFolder(entry) ? await readTree(objects, entry.oid) : []
  }
  const above = (path: Path) => path.split('/').map((_, depth, parts) => [...parts.slice(0, depth), ''].join('/'))
  const wanted = [...new Set(paths.flatMap(above))]
  const read = await Promise.all(
    wanted.map(async path => {
      const file = (await folder(path)).find(({ name, mode }) => name === NAME && mode.startsWith('100'))
      return file && (await objects.read(file.oid, { limit: MAX_ATTRIBUTES_BYTES }))?.bytes
    }),
  )
  for (const [at, bytes] of read.entries()) if (bytes) found.set(wanted[at] ?? '', bytes)
  return found
}

/**
 * Makes an empty work tree with only these .gitattributes files in it. Several can be open at a time; none affects
 * another, or the repository's own work tree and index.
 */
export async function openAttributesPlace(
  repository: Repository,
  attributes: ReadonlyMap<Path, Buffer>,
): Promise<AttributesPlace> {
  const top = await mkdtemp(join(repository.temporary, 'attributes-'))
  const close = () => rm(top, { recursive: true, force: true })
  try {
    for (const [folder, bytes] of attributes) await put(top, folder, bytes)
  } catch (error) {
    await close()
    throw error
  }
  return {
    cwd: top,
    env: { ...repository.env, GIT_WORK_TREE: top, GIT_INDEX_FILE: join(top, '.git/none') },
    signal: repository.signal,
    bounds: repository.bounds,
    [Symbol.asyncDispose]: close,
  }
}

/** The paths of the attributes files for all repositories, of the user and of the system. They may not exist. */
export async function attributesFilesOfUser(repository: Repository): Promise<string[]> {
  const { HOME = '', XDG_CONFIG_HOME, GIT_ATTR_NOSYSTEM } = unattended(repository.env)
  const wanted = ['config', '--type=path', '-z', '--get', 'core.attributesFile']
  const [own, system] = await Promise.all([
    run(repository, wanted, { ok: [0, 1] }),
    // Git before 2.42 does not know this variable.
    run(repository, ['var', 'GIT_ATTR_SYSTEM'], { ok: 'any' }),
  ])
  const usual = join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git/attributes')
  const ofSystem = system.code === 0 ? system.stdout.toString().trim() : '/etc/gitattributes'
  const isWithoutSystem = /^(1|true|yes|on)$/i.test(GIT_ATTR_NOSYSTEM ?? '')
  return [own.code === 0 ? asText(fields(own.stdout)[0] ?? '') : usual, ...(isWithoutSystem ? [] : [ofSystem])]
}

/**
 * Reads the value of an attribute for some paths in a commit, from its .gitattributes and the user's own files
 * (info/attributes, {@link attributesFilesOfUser}). Paths for which the attribute is unspecified or unset are missing
 * from the result; `set` stands for an attribute without a value. Reads only the folders that lead to the paths.
 */
export async function checkAttribute(
  objects: Objects,
  commit: Oid,
  name: string,
  paths: readonly Path[],
): Promise<Map<Path, string>> {
  await using place = await openAttributesPlace(objects.repository, await attributesFor(objects, commit, paths))
  const input = Buffer.from(paths.map(path => `${path}\0`).join(''), 'latin1')
  const { stdout } = await run(place, ['check-attr', '-z', '--stdin', name], { input })
  const words = fields(stdout)
  const values = new Map<Path, string>()
  for (const [at, path] of paths.entries()) {
    const value = words[3 * at + 2]
    if (value !== undefined && value !== 'unspecified' && value !== 'unset') values.set(path, value)
  }
  return values
}

async function put(top: string, folder: Path, bytes: Buffer): Promise<void> {
  // An untrusted tree may have folder names like `..`, which no checkout has.
  if (!folder.split('/').slice(0, -1).every(isSafeName)) return
  const place = Buffer.from(`${Buffer.from(join(top, '/')).toString('latin1')}${folder}`, 'latin1')
  try {
    await mkdir(place, { recursive: true })
    await writeFile(Buffer.concat([place, Buffer.from(NAME)]), withShortMarkers(bytes))
  } catch (error) {
    // Skip folders whose names the file system cannot store.
    if (!['ENAMETOOLONG', 'EILSEQ', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/**
 * Removes values of the attribute conflict-marker-size that are too large for git from the content of a .gitattributes
 * file.
 */
function withShortMarkers(bytes: Buffer): Buffer {
  const name = 'conflict-marker-size='
  if (!bytes.includes(name)) return bytes
  const isShort = (size: string) => size.length <= MAX_MARKER_SIZE_DIGITS && /^\d+$/.test(size)
  const [first = '', ...rest] = bytes.toString('latin1').split(name)
  const kept = rest.map(text => {
    const size = /^[^ \t\r\n]*/.exec(text)?.[0] ?? ''
    return isShort(size) ? text : text.slice(size.length)
  })
  // Where the value of conflict-marker-size is removed, git uses its default size.
  return Buffer.from([first, ...kept].join(name), 'latin1')
}
