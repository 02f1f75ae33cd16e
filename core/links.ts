/** Finds symbolic links in a tree, and the CI files that are reached through them. */
import { LIMITS, TooLarge } from './git/bounds.ts'
import type { Objects } from './git/objects.ts'
import type { Entry, Oid, Path } from './git/repository.ts'
import { run } from './git/run.ts'
import { canHoldCi, steersCi } from './steering.ts'

/**
 * A link to another path of the same tree ('' is the top). `isToFile`: its target is a file; otherwise it may be a
 * folder.
 */
export type SymbolicLink = { path: Path; target: Path; isToFile: boolean }

/** Lists the links of a commit that lead to another path in it. */
export async function linksOf(objects: Objects, commit: Oid): Promise<SymbolicLink[]> {
  const { stdout } = await run(objects.repository, ['ls-tree', '-r', '-z', '--full-tree', commit])
  const found: { path: Path; oid: Oid }[] = []
  for (let at = stdout.indexOf(LINK); at >= 0; at = stdout.indexOf(LINK, at + 1)) {
    // The bytes that mark a link may also be part of a file's name.
    if (at > 0 && stdout[at - 1] !== 0) continue
    const [name, end] = [stdout.indexOf('\t', at), stdout.indexOf(0, at)]
    const oid = stdout.toString('latin1', at + LINK.length, name)
    found.push({ oid, path: stdout.toString('latin1', name + 1, end) })
  }
  if (found.length > LIMITS.links) throw new TooLarge(`it has ${found.length} links, and ${LIMITS.links} are followed`)
  const paths = new Set(found.map(({ path }) => path))
  const contents = await Promise.all(found.map(({ oid }) => objects.read(oid, { limit: MAX_TARGET_BYTES })))
  return found.flatMap(({ path }, at) => {
    const target = resolve(path, contents[at]?.bytes?.toString('latin1') ?? '')
    if (target === undefined) return []
    const isToFile = !paths.has(target) && stdout.includes(Buffer.from(`\t${target}\0`, 'latin1'))
    return [{ path, target, isToFile }]
  })
}

/** The mode and type by which git lists a symbolic link. */
const LINK = '120000 blob '
/** At most this many bytes of a link's target: a path is no longer on nearly every system. */
const MAX_TARGET_BYTES = 4096

/** The target of a link, from the top of the tree; undefined where it is outside of the tree. */
function resolve(path: Path, target: string): Path | undefined {
  if (target === '' || target.startsWith('/')) return undefined
  const parts = path.split('/').slice(0, -1)
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join('/')
}

/** Whether a path steers CI: by its own name, by the name of a link to it, or as a link to a CI file. */
export type SteersCi = (path: Path, entry: Entry) => boolean

/** Makes the function that tells, for a tree with these symbolic links, whether a path steers CI. */
export function steersCiThrough(links: readonly SymbolicLink[]): SteersCi {
  const through = linksIntoCi(links)
  const toFiles = new Set(links.flatMap(({ path, isToFile }) => (isToFile ? [path] : [])))
  return (path, entry) => {
    if (steersCi(path) || through.some(link => steersCi(nameThrough(link, path) ?? ''))) return true
    const isPlain = !entry || entry.mode.startsWith('100')
    return !isPlain && !toFiles.has(path) && canHoldCi(path)
  }
}

type Alias = { name: Path; target: Path }

/** The name of a file through a link; undefined where the link does not lead to it. */
function nameThrough({ name, target }: Alias, path: Path): Path | undefined {
  if (path === target) return name
  const folder = target === '' ? '' : `${target}/`
  return path.startsWith(folder) ? `${name}/${path.slice(folder.length)}` : undefined
}

/** At most this many links to CI files: more than any project has, though links may lead to links. */
const MAX_CI_LINKS = 1_000
/** At most this many links are followed one after another. */
const MAX_HOPS = 8

/**
 * The links that stand for CI files or folders, with their final targets. A link may lead through another link, and a
 * folder that it leads to may contain links.
 */
function linksIntoCi(links: readonly SymbolicLink[]): Alias[] {
  const isOfCi = (name: Path, { isToFile }: SymbolicLink) => (isToFile ? steersCi(name) : canHoldCi(name))
  const byPath = new Map(links.map(link => [link.path, link]))
  const found = new Map<Path, Alias>()
  const add = (name: Path, link: SymbolicLink) => {
    for (let [target, hop]: [Path | undefined, number] = [link.target, 0]; target !== undefined; hop++) {
      found.set(`${name}\0${target}`, { name, target })
      if (found.size > MAX_CI_LINKS) throw new TooLarge(`it has more than ${MAX_CI_LINKS} links to files that steer CI`)
      target = hop < MAX_HOPS ? followed(byPath, target) : undefined
    }
  }
  for (const link of links) if (isOfCi(link.path, link)) add(link.path, link)
  if (found.size === 0) return []
  for (let [round, before]: [number, number] = [0, 0]; round < MAX_HOPS && found.size > before; round++) {
    before = found.size
    for (const alias of [...found.values()]) {
      for (const link of links) {
        const name = link.path === alias.target ? undefined : nameThrough(alias, link.path)
        if (name !== undefined && name.length < MAX_TARGET_BYTES && isOfCi(name, link)) add(name, link)
      }
    }
  }
  return [...found.values()]
}

/** Replaces the first link on a path with its target; undefined where there is no link on it. */
function followed(byPath: ReadonlyMap<Path, SymbolicLink>, path: Path): Path | undefined {
  const parts = path.split('/')
  for (let depth = 1; depth <= parts.length; depth++) {
    const link = byPath.get(parts.slice(0, depth).join('/'))
    if (link) return [link.target, ...parts.slice(depth)].filter(Boolean).join('/')
  }
  return undefined
}
