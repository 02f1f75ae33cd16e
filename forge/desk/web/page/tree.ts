/** The file tree of a branch or a commit: the folders loaded so far, the open ones, and the rows. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { compareNames } from '../../contract/name-order.ts'
import { foldersAbove, isIn, pathAfter } from '../../contract/paths.ts'
import { type FolderEntry, MAX_ENTRIES } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import { FocusWish } from '../ui/focus.ts'
import { baseName, folderOf, joinPath, readable } from '../ui/names.ts'
import type { Connection } from '../ui/socket.ts'
import { TypeAhead } from '../ui/type-ahead.ts'

export interface TreeRow {
  path: string
  name: string
  kind: 'folder' | 'file' | 'link' | 'submodule'
  /** Whether a file is executable; undefined of anything else, and in a filtered list until it is known. */
  isExecutable?: boolean
  depth: number
  isOpen: boolean
  /** The unsaved change; of a folder `changed` if something in it is unsaved. */
  draft: FolderEntry['draft']
  /** The old path of a renamed file or folder. */
  from: FolderEntry['from']
  /** How the AI's context contains the file. */
  context: FolderEntry['context']
  /** The position among its siblings, from 1. */
  position: number
  siblings: number
}

const REFRESH_DELAY_MS = 50
/** The delay from the last letter of a filter until it is applied, in milliseconds. */
const FILTER_DELAY_MS = 80
/** At most this many files are shown by a filter. */
const MAX_MATCHES = 500

export const FOLDER = '040000'
const LINK = '120000'
const EXECUTABLE = '100755'
export const SUBMODULE = '160000'

export class Tree {
  readonly open: Signal<ReadonlySet<string>>
  /** The row that the keys apply to. */
  readonly selected = signal('')
  /** The paths of the selected rows if there are several; the active row is one of them. */
  readonly chosen = signal<ReadonlySet<string>>(new Set())
  /** What the filter field contains; undefined while there is no filter. */
  readonly filter = signal<string | undefined>(undefined)
  /** Requests the focus for the filter field. */
  readonly filterWish = new FocusWish()
  /** The paths of the files that match the filter; undefined without a filter, or until they are known. */
  readonly matches = signal<readonly string[] | undefined>(undefined)
  /** What is known of them and of the folders above them, by path; they are shown before it is. */
  readonly #matchEntries = signal<ReadonlyMap<string, FolderEntry>>(new Map())
  /** The begin of a name that is being typed. */
  readonly typeAhead = new TypeAhead()
  #filterTimer: ReturnType<typeof setTimeout> | undefined
  /** The row at which a selection of several rows began. */
  #anchor = ''
  /** What is being deleted, and the rows to select once the selected one is gone, the best one first. */
  #leaving: { paths: readonly string[]; next: readonly string[] } | undefined
  readonly problem = signal<string | undefined>(undefined)
  readonly rows: ReadonlySignal<TreeRow[]>
  /** Whether the top folder has been loaded. */
  readonly isThere: ReadonlySignal<boolean>

  readonly #connection: Connection
  #at: At
  readonly #listings = signal<ReadonlyMap<string, FolderEntry[]>>(new Map())
  readonly #asked = new Set<string>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(connection: Connection, at: At, open: string[]) {
    this.#connection = connection
    this.#at = at
    this.open = signal(new Set(open))
    this.rows = computed(() => (this.matches.value ? this.#rowsOfFiles(this.matches.value) : this.#flatten()))
    this.isThere = computed(() => this.#listings.value.has(''))
  }

  /** Follows the branch to its new name. */
  moveTo(at: At): void {
    this.#at = at
    if (this.#asked.size > 0) this.refresh()
  }

  /** Loads the open folders that have not been loaded. */
  load(): void {
    for (const folder of ['', ...this.open.peek()]) {
      if (!this.#asked.has(folder)) this.#ask(folder)
    }
  }

  /** Loads the open folders again after the files have changed. The old rows stay until the answer arrives. */
  refresh(): void {
    this.#asked.clear()
    if (this.matches.peek()) void this.#findMatches()
    const open = this.open.peek()
    const kept = [...this.#listings.peek()].filter(([folder]) => folder === '' || open.has(folder))
    this.#listings.value = new Map(kept)
    this.load()
  }

  /** Calls {@link refresh} after a moment, once for several changes, so that the user's actions go first. */
  refreshSoon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.refresh(), REFRESH_DELAY_MS)
  }

  toggle(folder: string): void {
    const open = new Set(this.open.peek())
    if (!open.delete(folder)) open.add(folder)
    this.open.value = open
    this.load()
  }

  /** Opens the folders above a file and selects it. */
  reveal(path: string): void {
    this.#openAbove(path)
    this.pick(path)
    this.load()
  }

  #openAbove(path: string): void {
    const above = foldersAbove(path)
    const open = this.open.peek()
    if (above.some(folder => !open.has(folder))) this.open.value = new Set([...open, ...above])
  }

  /** Filters the tree by words in the path: an empty text shows all files, undefined ends the filter. */
  filterBy(words: string | undefined): void {
    this.filter.value = words
    clearTimeout(this.#filterTimer)
    if (words === undefined || words.trim() === '') this.matches.value = undefined
    else this.#filterTimer = setTimeout(() => void this.#findMatches(), FILTER_DELAY_MS)
  }

  async #findMatches(): Promise<void> {
    const words = this.filter.peek()
    if (words === undefined || words.trim() === '') return
    try {
      const asked = { at: this.#at, words: words.slice(0, 400), count: MAX_MATCHES }
      const found = await this.#connection.ask('find file', asked)
      if (this.filter.peek() !== words) return
      const files = found.map(({ path }) => path)
      this.matches.value = files
      this.#selectBeside()
      const paths = [...new Set(files.flatMap(file => [file, ...foldersAbove(file)]))].slice(0, MAX_ENTRIES)
      const entries = await this.#connection.ask('entries', { at: this.#at, paths })
      if (this.filter.peek() !== words) return
      this.#matchEntries.value = new Map(entries.map(({ path, ...entry }) => [path, entry]))
    } catch (error) {
      this.problem.value = (error as Error).message
    }
  }

  /** Selects one row. */
  pick(path: string): void {
    this.#leaving = undefined
    this.selected.value = path
    this.#anchor = path
    if (this.chosen.peek().size > 0) this.chosen.value = new Set()
  }

  /** Adds a row to the selected ones, or removes it. */
  toggleChosen(path: string): void {
    const chosen = new Set(this.chosen.peek())
    if (chosen.size === 0 && this.selected.peek() !== '') chosen.add(this.selected.peek())
    if (!chosen.delete(path)) chosen.add(path)
    this.selected.value = path
    this.#anchor = path
    this.chosen.value = chosen
  }

  /** Selects all rows from the one at which the selection began to another one, which becomes active. */
  extendTo(path: string): void {
    const rows = this.rows.peek()
    const ends = [this.#anchor, path].map(end => rows.findIndex(row => row.path === end))
    const [from, to] = [Math.min(...ends), Math.max(...ends)]
    this.selected.value = path
    if (from < 0) return
    this.chosen.value = new Set(rows.slice(from, to + 1).map(row => row.path))
  }

  chooseAll(): void {
    this.chosen.value = new Set(this.rows.peek().map(({ path }) => path))
  }

  /** Whether a row is selected, alone or among several. */
  isChosen(path: string): boolean {
    const { value: chosen } = this.chosen
    return chosen.size > 0 ? chosen.has(path) : this.selected.value === path
  }

  /** The rows that an action on a row applies to, without those in a folder that is among them. */
  rowsFor(row: TreeRow): TreeRow[] {
    const chosen = this.chosen.peek()
    if (!chosen.has(row.path) || chosen.size < 2) return [row]
    const rows = this.rows.peek().filter(({ path }) => chosen.has(path))
    return rows.filter(({ path }) => !foldersAbove(path).some(folder => chosen.has(folder)))
  }

  /**
   * Called before files and folders are deleted. Where the selected row goes with them, the next file or folder beside
   * it is selected then, or the row above. What only a draft deletes stays in the tree until it is saved.
   */
  leave(paths: readonly string[]): void {
    const rows = this.rows.peek()
    const at = rows.findIndex(({ path }) => path === this.selected.peek())
    const gone = rows[at]
    if (!gone) return
    const isStaying = ({ path }: TreeRow) => !paths.some(deleted => isIn(path, deleted))
    const [above, below] = [rows.slice(0, at).toReversed().filter(isStaying), rows.slice(at + 1).filter(isStaying)]
    const beside = below.slice(0, 1).filter(({ path }) => folderOf(path) === folderOf(gone.path))
    this.#leaving = { paths, next: [...beside, ...above, ...below].map(({ path }) => path) }
  }

  /** Selects the row beside a deleted one once that is gone: see {@link leave}. */
  #selectBeside(): void {
    const { paths, next } = this.#leaving ?? { paths: [], next: [] }
    const selected = this.selected.peek()
    if (!paths.some(deleted => isIn(selected, deleted))) return
    const there = new Set(this.rows.peek().map(({ path }) => path))
    const beside = next.find(path => there.has(path))
    if (!there.has(selected) && beside !== undefined) this.pick(beside)
  }

  /** Follows the rename of a file or folder: it stays open, selected and in view, also in another folder. */
  rename(renamed: { from: string; to: string }): void {
    this.open.value = new Set([...this.open.peek()].map(folder => pathAfter(renamed, folder)))
    const [before, after] = [this.selected.peek(), pathAfter(renamed, this.selected.peek())]
    this.selected.value = after
    if (after !== before) {
      this.#openAbove(after)
      this.load()
    }
    this.chosen.value = new Set([...this.chosen.peek()].map(path => pathAfter(renamed, path)))
  }

  async #ask(folder: string): Promise<void> {
    this.#asked.add(folder)
    const at = this.#at
    try {
      const entries = await this.#connection.ask('folder', { at, path: folder })
      this.#listings.value = new Map(this.#listings.peek()).set(folder, entries)
      this.problem.value = undefined
      this.#selectBeside()
    } catch (error) {
      // The branch has been renamed meanwhile: the folder was asked for again.
      if (at !== this.#at) return
      this.#asked.delete(folder)
      if (folder === '') this.problem.value = (error as Error).message
      else this.#forget(folder)
    }
  }

  /** Drops a folder that does not exist any more. */
  #forget(folder: string): void {
    const open = new Set(this.open.peek())
    open.delete(folder)
    this.open.value = open
  }

  #flatten(): TreeRow[] {
    const rows: TreeRow[] = []
    this.#append(rows, '', 0)
    return rows
  }

  #append(rows: TreeRow[], folder: string, depth: number): void {
    const entries = this.#listings.value.get(folder)
    if (!entries) return
    for (const [index, entry] of entries.entries()) {
      const path = joinPath(folder, entry.name)
      const isOpen = kindOf(entry.mode) === 'folder' && this.open.value.has(path)
      const place = { position: index + 1, siblings: entries.length }
      rows.push({ path, name: entry.name, depth, isOpen, ...detailsOf(entry), ...place })
      if (isOpen) this.#append(rows, path, depth + 1)
    }
  }

  /** The rows of some files, with all folders above them. */
  #rowsOfFiles(files: readonly string[]): TreeRow[] {
    const entries = this.#matchEntries.value
    return rowsOfFiles(files).map(row => {
      const entry = entries.get(row.path)
      return entry ? { ...row, ...detailsOf(entry) } : row
    })
  }
}

/** What a row tells of its file or folder. */
function detailsOf({ mode, draft, from, context }: FolderEntry) {
  const kind = kindOf(mode)
  return { kind, draft, from, context, ...(kind === 'file' && { isExecutable: mode === EXECUTABLE }) }
}

/** The rows of some files and of all folders above them, by their paths alone. */
function rowsOfFiles(files: readonly string[]): TreeRow[] {
  const children = new Map<string, Map<string, boolean>>()
  for (const file of files)
    for (const path of [...foldersAbove(file), file]) {
      const folder = folderOf(path).replace(/\/$/, '')
      const siblings = children.get(folder) ?? new Map<string, boolean>()
      children.set(folder, siblings.set(path, path === file && !siblings.get(path) ? false : path !== file))
    }
  const append = (rows: TreeRow[], folder: string, depth: number): TreeRow[] => {
    const nameOf = (path: string) => readable(baseName(path))
    const sorted = [...(children.get(folder) ?? [])].sort(
      ([one, isFolder], [other, isOtherFolder]) =>
        Number(isOtherFolder) - Number(isFolder) || compareNames(nameOf(one), nameOf(other)),
    )
    for (const [index, [path, isFolder]] of sorted.entries()) {
      const kind = isFolder ? ('folder' as const) : ('file' as const)
      const place = { position: index + 1, siblings: sorted.length }
      const unknown = { draft: undefined, from: undefined, context: undefined }
      rows.push({ path, name: baseName(path), kind, depth, isOpen: isFolder, ...unknown, ...place })
      if (isFolder) append(rows, path, depth + 1)
    }
    return rows
  }
  return append([], '', 0)
}

function kindOf(mode: string): TreeRow['kind'] {
  if (mode === FOLDER || mode === '40000') return 'folder'
  if (mode === LINK) return 'link'
  return mode === SUBMODULE ? 'submodule' : 'file'
}
