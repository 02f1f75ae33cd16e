/**
 * What is said of each file of a tree: a line of its own where there is something to say, else its name behind that of
 * its folder. In a large tree, folders stand for their files: as many as fit are listed, those near the active files
 * first.
 */
import type { Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { many, visiblePath } from '../../core/text.ts'
import { countFiles, type Folder, folderOf, foldersAbove } from './folders.ts'
import { cut, isOnlySize } from './languages.ts'

export type Outline = {
  /** Lines, in the order of their paths. */
  text: string
  /** The files that are named. */
  shown: ReadonlySet<Path>
  /** A sentence about it, where folders stand for files. */
  words?: string
}

type Options = {
  active: readonly Path[]
  /** Files that it is asked for: more is said of them. */
  near?: readonly Path[]
  /** The most bytes of text. */
  bytes: number
  /** A line about each file, without its path. */
  summariesOf: (files: readonly FileEntry[]) => Promise<string[]>
}

/** Characters of a summary in trees of few and of many files, unless the file is near what the list is for. */
const MAX_SUMMARY_CHARS = { few: 110, many: 70 }
const FEW_FILES = 40
/** Above this many kilobytes, a file's size is said. */
const LARGE_KB = 50

/** The files of a folder in lines: those of which nothing is known but their kind and size share one. */
function linesOf(
  { path: folder, files }: Folder,
  summaries: readonly string[],
  { told, chars }: { told: ReadonlySet<Path>; chars: number },
): Line[] {
  const all = files.map(({ path }, at) => ({ path, summary: summaries[at] ?? '' }))
  const isPlain = ({ path, summary }: (typeof all)[number]) => isOnlySize(summary) && !told.has(path)
  const plain = all.filter(isPlain)
  const own = plain.length > 1 ? all.filter(it => !isPlain(it)) : all
  const lines = own.map(({ path, summary }) => {
    const said = told.has(path) ? summary : cut(summary, chars)
    return { path, text: said === '' ? shownName(path) : `${shownName(path)}: ${said}` }
  })
  if (plain.length < 2) return lines
  const names = plain.map(({ path, summary }) =>
    nameWithSize(path.slice(folder === '' ? 0 : folder.length + 1), summary),
  )
  const prefix = folder === '' ? '' : `${folder}/`
  return [...lines, { path: `${prefix}*`, text: `${shownName(prefix) || './'}: ${names.join(', ')}` }]
}

/** A name as one of several: what could be taken for two is quoted. */
function nameWithSize(name: Path, summary: string): string {
  const said = /[,:"]/.test(name) ? JSON.stringify(shownName(name)) : shownName(name)
  const [, size = '', unit = ''] = /([\d.]+) (KB|MB)$/.exec(summary) ?? []
  return unit === 'MB' || Number(size) >= LARGE_KB ? `${said} (${size} ${unit})` : said
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
  const { active, near = [], bytes, summariesOf } = options
  const nearest = nearestBelow([...active, ...near])
  const told = new Set([...active, ...near])
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
  const chars = count > FEW_FILES ? MAX_SUMMARY_CHARS.many : MAX_SUMMARY_CHARS.few
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
      const made = linesOf(folder, texts, { told, chars })
      if (sum(made.map(bytesOf)) > room) {
        misses++
        continue
      }
      replace(line)
      for (const it of made) add(it)
      for (const { path } of folder.files) shown.add(path)
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
