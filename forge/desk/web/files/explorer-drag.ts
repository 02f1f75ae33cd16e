/** Dragging files and folders of the explorer into a folder. A drop previews the move. */
import { type Signal, signal } from '@preact/signals'
import type { Page, Tab } from '../page/state.ts'
import type { TreeRow } from '../page/tree.ts'
import { folderOf } from '../ui/names.ts'
import { movesInto, previewMove } from './file-moves.ts'
import { addFiles, droppedFiles } from './file-transfers.ts'

/** A closed folder opens when the pointer has stayed over it this long, in milliseconds. */
const OPEN_DELAY_MS = 700

export class ExplorerDrag {
  /** The folder into which a drop would move ('' for the top); undefined while nothing can be dropped. */
  readonly target: Signal<string | undefined> = signal(undefined)
  #paths: string[] = []
  #opening: ReturnType<typeof setTimeout> | undefined
  /** The path of the row under the pointer. */
  #over: string | undefined

  constructor(
    readonly page: Page,
    readonly tab: Tab,
  ) {}

  /** Whether a row can be dragged: only in a branch, and nothing that a draft has deleted. */
  isPossible(row: TreeRow): boolean {
    return this.tab.at.kind === 'branch' && row.draft !== 'deleted' && row.kind !== 'submodule'
  }

  /** Whether rows, or files of this computer, are dragged over the tree. */
  get isUnderWay(): boolean {
    return this.#paths.length > 0 || this.target.value !== undefined
  }

  begin(event: DragEvent, row: TreeRow): void {
    if (!this.tab.tree.isChosen(row.path)) this.tab.tree.pick(row.path)
    this.#paths = this.tab.tree.rowsFor(row).map(({ path }) => path)
    // Firefox starts no drag without data.
    event.dataTransfer?.setData('text/plain', this.#paths.join('\n'))
    if (event.dataTransfer) event.dataTransfer.effectAllowed = 'move'
  }

  /** Handles a drag of rows, or of files of this computer, over a row or over the empty part of the tree. */
  over(event: DragEvent, row: TreeRow | undefined): void {
    const folder = folderAt(row)
    if (hasFiles(event) && this.tab.at.kind === 'branch' && !this.page.isGone(this.tab.at)) {
      this.#openSoon(row)
      this.target.value = folder
      event.preventDefault()
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy'
      return
    }
    if (this.#paths.length === 0) return
    this.#openSoon(row)
    const isPossible = movesInto(this.#paths, folder).length > 0
    this.target.value = isPossible ? folder : undefined
    if (isPossible) event.preventDefault()
  }

  drop(event: DragEvent): void {
    const { value: folder } = this.target
    if (folder !== undefined && event.dataTransfer && hasFiles(event)) {
      event.preventDefault()
      void addFiles(this.page, this.tab, folder, droppedFiles(event.dataTransfer.items))
    } else if (folder !== undefined) {
      event.preventDefault()
      void previewMove(this.page, this.tab, this.#paths, folder)
    }
    this.end()
  }

  /** Handles the pointer leaving the tree: nothing is a target any more, but the drag goes on. */
  leave(): void {
    this.#openSoon(undefined)
    this.target.value = undefined
  }

  end(): void {
    clearTimeout(this.#opening)
    this.#opening = undefined
    this.#paths = []
    this.target.value = undefined
  }

  /** Whether a row is the folder into which a drop would move. */
  isTarget({ path, kind }: TreeRow): boolean {
    const { value: folder } = this.target
    return folder !== undefined && kind === 'folder' && path === folder
  }

  #openSoon(row: TreeRow | undefined): void {
    if (this.#over === row?.path) return
    this.#over = row?.path
    clearTimeout(this.#opening)
    if (row?.kind !== 'folder' || row.isOpen) return
    this.#opening = setTimeout(() => this.tab.tree.toggle(row.path), OPEN_DELAY_MS)
  }
}

/** Whether the drag is of files of this computer, from outside of the page. */
const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true

/** The folder of a row: itself, or the one that its file is in; the top without a row. */
export function folderAt(row: TreeRow | undefined): string {
  if (!row) return ''
  return row.kind === 'folder' ? row.path : folderOf(row.path).replace(/\/$/, '')
}
