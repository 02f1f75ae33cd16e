/**
 * The changes of an agent in its workspace, compared with a tree. The content is untrusted: git never runs in it, no
 * link is followed, and everything is limited.
 */
import { lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Objects } from '../../core/git/objects.ts'
import { asBytes, asText, fields, type Oid, type Path } from '../../core/git/repository.ts'
import { run } from '../../core/git/run.ts'
import { openScratch } from '../../core/git/scratch.ts'
import { type FileEntry, isSafeName, listFiles } from '../../core/git/trees.ts'
import { DISABLED, readUntrusted } from '../../core/untrusted.ts'
import { verifyPath } from '../vfs.ts'

/** At most this many bytes of a file are taken over; a larger one is left. */
export const MAX_TAKEN_FILE_BYTES = 2 << 20
/** At most this many bytes of all files together are taken over. */
const MAX_TAKEN_BYTES = 64 << 20
/** At most this many files are read. */
const MAX_FILES_READ = 5_000
/** At most this many files and folders are listed. */
const MAX_FILES_LISTED = 300_000
/** Folders nested deeper than this are left out. */
const MAX_FOLDER_DEPTH = 60
/** At most this many ignore lists are read, and this many bytes of each. */
const [MAX_IGNORE_LISTS, MAX_IGNORE_LIST_BYTES] = [500, 1 << 16]
/** An unused name inside a folder: if it is ignored, the whole folder is. */
const UNUSED_NAME = 'forge-looks-whether-this-is-ignored'

/** A file of the workspace. For a link, `bytes` is its target. */
type WorkspaceFile = { is: 'file' | 'link'; bytes: Buffer; isExecutable: boolean } | { is: 'nothing' } | { is: 'other' }

/** An untrusted folder, and how much more of it may be read. */
export class Workspace {
  #bytes = MAX_TAKEN_BYTES
  #files = MAX_FILES_READ

  constructor(readonly folder: string) {}

  /** Reads a path without following links on the way. `other`: content that can't be taken over. */
  async read(path: Path): Promise<WorkspaceFile> {
    if (!isText(path)) return { is: 'other' }
    const parts = asText(path).split('/')
    for (let depth = 1; depth < parts.length; depth++) {
      const stats = await lstat(join(this.folder, ...parts.slice(0, depth))).catch(() => undefined)
      if (!stats) return { is: 'nothing' }
      if (!stats.isDirectory()) return { is: 'other' }
    }
    const place = join(this.folder, ...parts)
    const stats = await lstat(place).catch(() => undefined)
    if (!stats) return { is: 'nothing' }
    const isTooMuch = this.#files <= 0 || stats.size > Math.min(MAX_TAKEN_FILE_BYTES, this.#bytes)
    if (isTooMuch || !(stats.isFile() || stats.isSymbolicLink())) return { is: 'other' }
    this.#files--
    const file = await readUntrusted(place, MAX_TAKEN_FILE_BYTES + 1).catch(() => undefined)
    if (!file || file.kind === 'other' || file.bytes.length > MAX_TAKEN_FILE_BYTES) return { is: 'other' }
    this.#bytes -= file.bytes.length
    return { is: file.kind, bytes: file.bytes, isExecutable: (stats.mode & 0o100) !== 0 }
  }

  /** The modification time of a file in the .git folder, in milliseconds since 1970; undefined if it is missing. */
  async timeOf(...names: string[]): Promise<number | undefined> {
    const stats = await lstat(join(this.folder, '.git', ...names)).catch(() => undefined)
    return stats?.isFile() ? stats.mtimeMs : undefined
  }

  /**
   * The differences from a tree in files written after some time (milliseconds since 1970): so files that a checkout
   * wrote in another form than committed do not count. Ignored files are skipped.
   */
  async changesFrom(objects: Objects, tree: Oid, since: number): Promise<WorkspaceChanges> {
    const { files, cut } = await listFiles(objects, tree, { limit: MAX_FILES_LISTED })
    const known = new Map(files.map(file => [file.path, file]))
    const { seen, isCut } = await this.#walk(objects, known)
    const changed: WorkspaceChanges = { files: new Map(), deleted: [], odd: [], isCut: isCut || cut }
    const folders = foldersOf(known)
    for (const [path, { isFile, written, moved, size }] of seen) {
      const before = known.get(path)
      // A file that was copied with its old modification time has a new change time (`moved`).
      const isNewer = async ({ oid }: FileEntry) =>
        written >= since || (moved >= since && (await objects.info(oid))?.size !== size)
      if (before && !(await isNewer(before))) continue
      if (before?.mode === '120000' && !isFile && !(await this.#isOther(objects, before))) continue
      const isInTheWay = !before && (folders.has(path) || isBelowFile(path, known))
      const found = isFile && !isInTheWay && isPath(path) ? await this.read(path) : ({ is: 'other' } as const)
      if (found.is !== 'file' || (before && !before.mode.startsWith('100'))) {
        changed.odd.push(path)
        continue
      }
      const mode = before?.mode ?? (isProgram(found) ? '100755' : '100644')
      if (!before || (await isOtherText(objects, before.oid, found.bytes)))
        changed.files.set(path, { mode, bytes: found.bytes })
    }
    const isGone = ({ path, mode }: FileEntry) => mode !== '160000' && !seen.has(path) && isText(path)
    if (!changed.isCut) changed.deleted.push(...files.filter(isGone).map(({ path }) => path))
    return changed
  }

  async #isOther(objects: Objects, { path, oid }: FileEntry): Promise<boolean> {
    const found = await this.read(path)
    if (found.is !== 'link') return true
    return await isOtherText(objects, oid, found.bytes)
  }

  /** Lists all files and links level by level, so that git is asked only once per level what is ignored. */
  async #walk(
    objects: Objects,
    known: ReadonlyMap<Path, FileEntry>,
  ): Promise<{ seen: Map<Path, Seen>; isCut: boolean }> {
    const { repository } = objects
    const folders = foldersOf(known)
    const seen = new Map<Path, Seen>()
    await using rules = await openScratch({ parent: repository.temporary, borrowed: [], format: repository.format })
    await writeLists(objects, rules.temporary, known)
    let looked = 0
    let level: Path[] = ['']
    for (let depth = 0; level.length > 0; depth++) {
      const [below, beside]: [Path[], [Path, Seen][]] = [[], []]
      for (const folder of level) {
        const names = await readdir(join(this.folder, asText(folder)), { withFileTypes: true }).catch(() => [])
        // A new repository made by the agent is skipped. (Forklift has renamed its .git.)
        const isRepository = names.some(({ name }) => name === '.git' || name === `.git${DISABLED}`)
        if (folder !== '' && !folders.has(folder) && isRepository) {
          seen.set(folder, { isFile: false, written: 0, moved: 0, size: 0 })
          continue
        }
        for (const entry of names) {
          const path = folder === '' ? asBytes(entry.name) : `${folder}/${asBytes(entry.name)}`
          // Skips .git, and all files whose name git refuses or is not UTF-8.
          if (!isSafeName(asBytes(entry.name)) || entry.name.includes('\ufffd')) continue
          if (++looked > MAX_FILES_LISTED || depth > MAX_FOLDER_DEPTH) return { seen, isCut: true }
          if (entry.isDirectory()) {
            // A submodule's files belong to another repository.
            if (known.get(path)?.mode !== '160000') below.push(path)
            continue
          }
          const stats = await lstat(join(this.folder, asText(path))).catch(() => undefined)
          if (!stats) continue
          const { mtimeMs: written, ctimeMs: moved, size } = stats
          beside.push([path, { isFile: stats.isFile(), written, moved, size }])
        }
      }
      const unknown = [
        ...below.filter(path => !folders.has(path)).map(path => `${path}/${UNUSED_NAME}`),
        ...beside.flatMap(([path]) => (known.has(path) ? [] : [path])),
      ]
      const ignored = await ignoredOf(rules, unknown)
      for (const [path, found] of beside) if (!ignored.has(path)) seen.set(path, found)
      level = below.filter(path => !ignored.has(`${path}/${UNUSED_NAME}`))
    }
    return { seen, isCut: false }
  }
}

type Seen = { isFile: boolean; written: number; moved: number; size: number }

type WorkspaceChanges = {
  /** Changed and new files of the workspace whose content can be taken over into the branch. */
  files: Map<Path, { mode: string; bytes: Buffer }>
  deleted: Path[]
  /** Paths that have changed but can't be taken over: links, files that are too large, names that git refuses. */
  odd: Path[]
  /** Whether the workspace has more files than were read. */
  isCut: boolean
}

const isProgram = ({ bytes, isExecutable }: { bytes: Buffer; isExecutable: boolean }): boolean =>
  isExecutable && bytes.subarray(0, 2).toString('latin1') === '#!'

/** Whether a file's text differs from a blob in more than line ends, which a checkout may have written. */
async function isOtherText(objects: Objects, oid: Oid, bytes: Buffer): Promise<boolean> {
  const known = (await objects.read(oid, { limit: MAX_TAKEN_FILE_BYTES }))?.bytes
  return known === undefined || unix(known) !== unix(bytes)
}

export const unix = (bytes: Buffer): string => bytes.toString('latin1').replaceAll('\r\n', '\n')

/** Whether a path is UTF-8: files with other names can't be opened here. */
const isText = (path: Path): boolean => asBytes(asText(path)) === path

function foldersOf(known: ReadonlyMap<Path, FileEntry>): Set<Path> {
  const folders = new Set<Path>()
  for (const path of known.keys())
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) folders.add(path.slice(0, at))
  return folders
}

/** Writes the tree's .gitignore files to where git finds them. */
async function writeLists(objects: Objects, folder: string, known: ReadonlyMap<Path, FileEntry>): Promise<void> {
  const lists = [...known.values()].filter(
    ({ path, mode }) => /(^|\/)\.gitignore$/.test(path) && mode.startsWith('100'),
  )
  for (const { path, oid } of lists.slice(0, MAX_IGNORE_LISTS)) {
    const name = asText(path)
    const bytes = (await objects.read(oid, { limit: MAX_IGNORE_LIST_BYTES }))?.bytes
    if (!bytes || !isText(path) || !path.split('/').every(isSafeName)) continue
    await mkdir(join(folder, dirname(name)), { recursive: true })
    await writeFile(join(folder, name), bytes)
  }
}

/** Whether a path would need a folder where the tree has a file. */
function isBelowFile(path: Path, known: ReadonlyMap<Path, FileEntry>): boolean {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
    if (known.has(path.slice(0, at))) return true
  return false
}

function isPath(path: Path): boolean {
  try {
    verifyPath(path)
    return true
  } catch {
    return false
  }
}

async function ignoredOf(rules: Parameters<typeof run>[0], paths: readonly Path[]): Promise<Set<Path>> {
  if (paths.length === 0) return new Set()
  // With ./ in front, no name is taken for a pattern.
  const input = Buffer.from(paths.map(path => `./${path}\0`).join(''), 'latin1')
  const { stdout } = await run(rules, ['check-ignore', '--no-index', '-z', '--stdin'], { input, ok: [0, 1] })
  return new Set(fields(stdout).map(path => path.slice(2)))
}
