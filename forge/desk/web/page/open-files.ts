/** Which files are open in this window. What they are is in open-files.ts, which takes the editor along. */
import { signal } from '@preact/signals'
import { pathAfter } from '../../contract/paths.ts'
import type { At } from '../../contract/values.ts'
import type { OpenFile } from '../editor/open-file.ts'

type MakeFile = (at: At, path: string, position: { top: number; cursor: number }) => OpenFile

/** All files that are open in this window, by where they are and their path. */
export class OpenFiles {
  readonly #files = new Map<string, OpenFile>()
  /** Counts up when another file is open: what asks for all of them is shown again. */
  readonly #changed = signal(0)
  /** Those that are closed as soon as the server has all that was typed into them. */
  readonly #unwanted = new Set<string>()
  readonly #make: MakeFile

  constructor(make: MakeFile) {
    this.#make = make
  }

  /** `position`: where it was when it was last shown. */
  open(at: At, path: string, position = { top: 0, cursor: 0 }): OpenFile {
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
   * A file or folder of a branch has another path: its files go on under that, with what was typed in them. What of
   * that is not sent yet is sent at once, but `isAfterBreak`: then all files are asked for first.
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

  async close(at: At, path: string): Promise<void> {
    const file = this.#files.get(keyOf(at, path))
    if (!file) return
    this.#unwanted.add(keyOf(at, path))
    await file.sent()
    // It may have got another name meanwhile.
    const key = keyOf(at, file.path)
    if (!this.#unwanted.delete(key)) return
    file.close()
    this.#files.delete(key)
    this.#sayChanged()
  }

  /** A little later: files are opened where the page is being drawn, and nothing may change meanwhile. */
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
