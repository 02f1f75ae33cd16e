/** Which files exist and which ones tasks may write, for the linter. */
import { isLockFile, steersCi } from '../../../core/steering.ts'
import type { TaskId } from '../contract.ts'
import { fits, folderOfGlob, type Glob, isLiteral, plain, readGlob } from './globs.ts'
import type { Task } from './schema.ts'

/** Which tasks may write which files; each pattern is parsed once. */
export class Writes {
  readonly #literals = new Map<string, Set<TaskId>>()
  readonly #patterns = new Map<string, { glob: Glob; owners: Set<TaskId> }>()
  readonly #reached = new Map<string, Set<TaskId>>()

  constructor(tasks: readonly Task[]) {
    for (const { id, boundaries } of tasks) {
      for (const text of boundaries.write.map(plain)) {
        if (isLiteral(text)) this.#literals.set(text, (this.#literals.get(text) ?? new Set()).add(id))
        const known = this.#patterns.get(text)
        const glob = known || isLiteral(text) ? undefined : readGlob(text)
        if (known) known.owners.add(id)
        else if (glob && typeof glob !== 'string') this.#patterns.set(text, { glob, owners: new Set([id]) })
      }
    }
  }

  /** Whether one of the tasks in `by` may write a file; without `by`, whether any task may. */
  reach(path: string, by?: readonly TaskId[]): boolean {
    const owners = this.#reached.get(path) ?? this.#find(path)
    this.#reached.set(path, owners)
    return by ? by.some(id => owners.has(id)) : owners.size > 0
  }

  #find(path: string): Set<TaskId> {
    const patterns = [...this.#patterns.values()].filter(({ glob }) => fits(glob, path))
    return new Set([...(this.#literals.get(path) ?? []), ...patterns.flatMap(({ owners }) => [...owners])])
  }
}

const TEST = /(?:^|\/)(?:test_[^/]*\.py|[^/]*[._-](?:test|spec)\.[a-z]+|[^/]*_test\.(?:go|py))$/

/** Whether a file is a test, by its name or folder. */
export const isTestFile = (path: string): boolean =>
  TEST.test(path) || /(?:^|\/)(?:tests?|__tests__|specs?)\//.test(path)

/** The files and folders of a tree, with what the linter of plans looks up in them. */
export class Files {
  readonly files: ReadonlySet<string>
  readonly folders: ReadonlySet<string>
  /** An example of a test file, judged by its name; undefined where there is none. */
  readonly test: string | undefined
  readonly ciAndLocks: readonly string[]
  readonly #byName = new Map<string, string[]>()

  constructor(paths: readonly string[]) {
    this.files = new Set(paths)
    const folders = new Set<string>()
    for (const path of paths) {
      for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
        const folder = path.slice(0, at)
        if (folders.has(folder)) break
        folders.add(folder)
      }
      const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
      const same = this.#byName.get(name)
      if (same) same.push(path)
      else this.#byName.set(name, [path])
    }
    this.folders = folders
    this.test = paths.find(path => TEST.test(path))
    this.ciAndLocks = paths.filter(path => steersCi(path) || isLockFile(path))
  }

  has(path: string): boolean {
    return this.files.has(path) || this.folders.has(path)
  }

  /** The end of a sentence that suggests an existing path for one that does not exist; '' where none is similar. */
  like(path: string): string {
    const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
    const stem = name.replace(/\.[^.]*$/, '')
    const same = this.#byName.get(name) ?? [...this.#byName].find(([it]) => it.replace(/\.[^.]*$/, '') === stem)?.[1]
    const near =
      same ?? [...this.#byName].find(([it]) => it[0] === name[0] && name.length > 4 && distance(it, name) <= 2)?.[1]
    return near?.[0] === undefined ? '' : ` (did you mean ${JSON.stringify(near[0])}?)`
  }
}

/** The edit distance: how many characters have to be changed, inserted or removed. */
export function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 3) return 4
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost))
    }
    row = next
  }
  return row[other.length] ?? 0
}

/**
 * Whether globs name a CI or lock file on purpose and do not match it by chance: a pattern has to name the folder of
 * CI, or the name of the lock file.
 */
export const speakOf = (globs: readonly Glob[], path: string): boolean =>
  globs.some(glob => {
    const text = plain(glob.text)
    if (!fits(glob, path)) return false
    if (isLiteral(text)) return true
    return steersCi(path) ? steersCi(`${folderOfGlob(text)}/`) : text.endsWith(`/${path.split('/').at(-1)}`)
  })
