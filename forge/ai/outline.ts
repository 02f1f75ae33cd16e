/**
 * Lists the files of a tree for a model: with a line of their own where there is something to say about them, else by
 * name in one line for their folder. In a large tree, folders stand for their files: as many files as fit are listed,
 * those near the active files first.
 */
import type { Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { many, visiblePath } from '../../core/text.ts'
import { countFiles, type Folder, folderOf, foldersAbove } from './folders.ts'
import { cut, isOnlySize } from './languages.ts'

export type Outline = {
  /** The lines, sorted by path. */
  text: string
  /** The files that are named in the text. */
  shown: ReadonlySet<Path>
  /** A sentence that says that folders stand for some of the files; undefined if all are named. */
  words?: string
}

type Options = {
  active: readonly Path[]
  /** Files that the message is about, which get longer summaries. */
  near?: readonly Path[]
  /** The most bytes that the text may have. */
  bytes: number
  /** Gives a line about each file, without its path. */
  summariesOf: (files: readonly FileEntry[]) => Promise<string[]>
}

/**
 * At most this many characters of a file's summary, in trees of few and of many files. Active files, and those that the
 * message is about, get whole summaries.
 */
const MAX_SUMMARY_CHARS = { few: 110, many: 70 }
const FEW_FILES = 40
/** The size of a file is shown from this many kilobytes on. */
const LARGE_KB = 50

/** The lines for the files of a folder. Files with only kind and size as their summary share one line. */
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

/** A name in a list of several, with its size where that is large. A name with a separator in it is quoted. */
function nameWithSize(name: Path, summary: string): string {
  const said = /[,:"]/.test(name) ? JSON.stringify(shownName(name)) : shownName(name)
  const [, size = '', unit = ''] = /([\d.]+) (KB|MB)$/.exec(summary) ?? []
  return unit === 'MB' || Number(size) >= LARGE_KB ? `${said} (${size} ${unit})` : said
}

/** A path with line ends and invisible characters escaped. */
const shownName = (path: Path): string => visiblePath(path)

/**
 * A part of the tree that one line stands for: a folder with everything below it, or only the files directly in it.
 * `distance`: levels to the nearest active file's folder; the nearest parts are expanded first.
 */
type Closed = { folder: Folder; part: 'all' | 'files'; distance: number }
type Line = { path: Path; text: string }

/**
 * A folder's summaries are made before it is known whether they fit. After this many that did not fit, no more are
 * tried.
 */
const MAX_MISSES = 8

/** Makes the outline of a root folder. The same folder and options always give the same result. */
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
    // The bytes left are computed anew for each line: expanding one folder can leave too few for a later one on the
    // same level.
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
      // The file names alone need more bytes than are left.
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
  const where = active.length > 0 ? ' near the active ones' : ''
  const words = `${many(count, 'file')} are too many to be listed: ${shown.size.toLocaleString('en')}${where} \
are listed, folders stand for the others.`
  return { text, shown, words }
}

const bytesOf = ({ text }: Line): number => Buffer.byteLength(text) + 1
const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)

/**
 * The parts of a folder: the files directly in it, and its subfolders, with their distances. A subfolder with an active
 * file in it or below has distance 0.
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
  // `folder/*` sorts before the names of the files that it stands for.
  const name = part === 'all' ? path : `${path}*`
  return { path: name, text: `${shownName(name) || './'}: ${many(files, 'file')} (${kinds.join(', ')})` }
}

/**
 * For each folder with an active file in or below it, how many levels below. Without active files, the root counts as
 * if it had one.
 */
function nearestBelow(active: readonly Path[]): ReadonlyMap<Path, number> {
  const nearest = new Map<Path, number>()
  for (const folder of active.length === 0 ? [''] : active.map(folderOf))
    for (const [steps, above] of foldersAbove(folder).entries())
      nearest.set(above, Math.min(steps, nearest.get(above) ?? steps))
  return nearest
}
