/**
 * Which files of a large tree are listed one by one, and which are only counted by a folder that stands for them: as
 * many as fit are listed, those near the active files first.
 */
import type { Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { many, visiblePath } from '../../core/text.ts'
import { countFiles, type Folder, folderOf, foldersAbove } from './folders.ts'

export type Outline = {
  /** One line a file or folder, in the order of their paths. */
  text: string
  /** The files that have a line of their own. */
  shown: ReadonlySet<Path>
  /** A sentence about it, where folders stand for files. */
  words?: string
}

type Options = {
  active: readonly Path[]
  /** The most bytes of text. */
  bytes: number
  /** A line about each file, without its path. */
  summariesOf: (files: readonly FileEntry[]) => Promise<string[]>
}

/** Names with a line end or what a person can't see are spelled out. */
const shownName = (path: Path): string => visiblePath(path)

/** What is not listed yet: a folder with all below it, or only the files that are in it itself. */
type Closed = { folder: Folder; part: 'all' | 'files'; distance: number }
type Line = { path: Path; text: string }

/** A folder's files are read before it is known whether they fit: the most times that they may not. */
const MAX_MISSES = 8

/** Always the same for the same folder, which is the top, and the same options. */
export async function makeOutline(root: Folder, options: Options): Promise<Outline> {
  const { active, bytes, summariesOf } = options
  const nearest = nearestBelow(active)
  const closed = new Map<Line, Closed>()
  const levels: Line[][] = []
  const lines = new Set<Line>()
  const shown = new Set<Path>()
  let [length, misses] = [0, 0]
  const add = (line: Line) => {
    lines.add(line)
    length += bytesOf(line)
  }
  const close = (what: Closed, line: Line) => {
    add(line)
    closed.set(line, what)
    const level = levels[what.distance] ?? []
    levels[what.distance] = level
    level.push(line)
  }
  const replace = (line: Line) => {
    lines.delete(line)
    length -= bytesOf(line)
  }
  const count = root.all.files
  const whole: Closed = { folder: root, part: 'all', distance: 0 }
  if (count > 0) close(whole, lineOf(whole))
  for (let level = 0; level < levels.length; level++) {
    // Opening a folder may close a later one on the same level.
    for (const line of levels[level] ?? []) {
      const what = closed.get(line)
      if (!what || misses > MAX_MISSES) continue
      const { folder, part } = what
      const room = bytes - length + bytesOf(line)
      if (part === 'all') {
        const inside = insideOf(what, nearest).map(it => [it, lineOf(it)] as const)
        if (sum(inside.map(([, it]) => bytesOf(it))) > room) continue
        replace(line)
        for (const [it, its] of inside) close(it, its)
        continue
      }
      // The names alone say already that it is too much.
      if (sum(folder.files.map(({ path }) => path.length + 3)) > room) continue
      const texts = await summariesOf(folder.files)
      const made = folder.files.map(({ path }, at) => ({ path, text: `${shownName(path)}: ${texts[at] ?? ''}` }))
      if (sum(made.map(bytesOf)) > room) {
        misses++
        continue
      }
      replace(line)
      for (const it of made) {
        add(it)
        shown.add(it.path)
      }
    }
  }
  const sorted = [...lines].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  const text = sorted.map(line => `${line.text}\n`).join('')
  if (shown.size === count) return { text, shown }
  const words = `${many(count, 'file')} are too many to be listed: ${shown.size.toLocaleString('en')} \
near the active ones are listed, folders stand for the others.`
  return { text, shown, words }
}

const bytesOf = ({ text }: Line): number => Buffer.byteLength(text) + 1
const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)

/**
 * A folder's own files, and the folders in it, with their distance from the nearest active file. Where one is somewhere
 * below, a folder is opened first: what is near can only be seen inside of it.
 */
function insideOf({ folder, distance }: Closed, nearest: ReadonlyMap<Path, number>): Closed[] {
  const own = nearest.get(folder.path) ?? distance
  const folders = folder.folders.map(
    (it): Closed => ({ folder: it, part: 'all', distance: nearest.has(it.path) ? 0 : own + 1 }),
  )
  return folder.files.length > 0 ? [{ folder, part: 'files', distance: own }, ...folders] : folders
}

function lineOf({ folder, part }: Closed): Line {
  const { files, endings } = part === 'all' ? folder.all : countFiles(folder.files)
  const kinds = endings.slice(0, 3).map(([ending, number]) => `${number} ${ending}`)
  const path = folder.path === '' ? '' : `${folder.path}/`
  // A star sorts before the names of the files that it stands for.
  const name = part === 'all' ? path : `${path}*`
  return { path: name, text: `${shownName(name) || './'}: ${many(files, 'file')} (${kinds.join(', ')})` }
}

/** For each folder with an active file somewhere below it, how far below. Without any, the top counts as one. */
function nearestBelow(active: readonly Path[]): ReadonlyMap<Path, number> {
  const nearest = new Map<Path, number>()
  for (const folder of active.length === 0 ? [''] : active.map(folderOf))
    for (const [steps, above] of foldersAbove(folder).entries())
      nearest.set(above, Math.min(steps, nearest.get(above) ?? steps))
  return nearest
}
