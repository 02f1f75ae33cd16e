/**
 * The files that are open in this window. `MakeFile`, which makes an open file, is passed in, so that this module does
 * not load the editor's code.
 */
import { signal } from '@preact/signals'
import { pathAfter } from '../../contract/paths.ts'
import type { At } from '../../contract/values.ts'
import type { LeftPosition, OpenFile } from '../editor/open-file.ts'

type MakeFile = (at: At, path: string, position: LeftPosition) => OpenFile

/** All files that are open in this window, by branch or commit, and path. */
export class OpenFiles {
  readonly #files = new Map<string, OpenFile>()
  /** Increases when a file is opened or closed, so that components that read the list of open files render again. */
  readonly #changed = signal(0)
  /** Files that are closed as soon as the server has all text typed into them. */
  readonly #unwanted = new Set<string>()
  readonly #make: MakeFile

  constructor(make: MakeFile) {
    this.#make = make
  }

  /** Opens a file. `position`: its first line and cursor when last shown. */
  open(at: At, path: string, position: LeftPosition = { cursor: 0 }): OpenFile {
    const key = keyOf(at, path)
    this.#unwanted.delete(key)
    const known = this.#files.get(key)
    if (known) return known
    const file = this.#make(at, path, position)
    this.#files.set(key, file)
    this.#sayChanged()
    file.ask()
    return file
  }

  find(at: At, path: string): OpenFile | undefined {
    return this.#files.get(keyOf(at, path))
  }

  of(branch: string): OpenFile[] {
    this.#changed.value
    return [...this.#files.values()].filter(({ at }) => at.kind === 'branch' && at.branch === branch)
  }

  all(): OpenFile[] {
    return [...this.#files.values()]
  }

  /**
   * Follows the rename of a file or folder in a branch: open files get the new path and keep the text typed into them.
   * Unsent text is sent at once; with `isAfterBreak`, all files are loaded first.
   */
  rename(branch: string, renamed: { from: string; to: string }, isAfterBreak = false): void {
    for (const file of this.of(branch)) {
      const path = pathAfter(renamed, file.path)
      if (path === file.path) continue
      const [key, other] = [keyOf(file.at, file.path), keyOf(file.at, path)]
      this.#files.delete(key)
      this.#files.set(other, file)
      if (this.#unwanted.delete(key)) this.#unwanted.add(other)
      file.moveTo(path, isAfterBreak)
    }
    this.#sayChanged()
  }

  /**
   * Follows the rename of a branch: its open files go on with what was typed, sent or not. A file that is open under
   * the new name, too, is closed under the old one when its text is sent.
   */
  renameBranch(from: string, to: string): void {
    for (const file of this.of(from)) {
      const [key, other] = [keyOf(file.at, file.path), keyOf({ kind: 'branch', branch: to }, file.path)]
      if (this.#files.has(other)) {
        void this.close(file.at, file.path)
        continue
      }
      this.#files.delete(key)
      this.#files.set(other, file)
      if (this.#unwanted.delete(key)) this.#unwanted.add(other)
      file.moveToBranch(to)
    }
    this.#sayChanged()
  }

  async close(at: At, path: string): Promise<void> {
    const file = this.#files.get(keyOf(at, path))
    if (!file) return
    this.#unwanted.add(keyOf(at, path))
    await file.sent()
    // The file, or its branch, may have been renamed meanwhile.
    const key = keyOf(file.at, file.path)
    if (!this.#unwanted.delete(key)) return
    file.close()
    this.#files.delete(key)
    this.#sayChanged()
  }

  /**
   * Reports an opened or closed file, in a microtask: files are opened while the page is rendered, when no signal may
   * change.
   */
  #sayChanged(): void {
    queueMicrotask(() => {
      this.#changed.value++
    })
  }
}

export function keyOf(at: At, path: string): string {
  return `${placeOf(at)}\0${path}`
}

export function placeOf(at: At): string {
  return at.kind === 'branch' ? `branch ${at.branch}` : `commit ${at.commit}`
}
