/**
 * Files that a filter keeps (`filter=` in .gitattributes): Git LFS, git-crypt, and others. In the repository they are
 * what the filter makes of them, by a program that runs in a checkout. The desk runs no program of a repository: so it
 * edits no such file and makes none, since its content would go into the history as nobody wants it there.
 *
 * Other attributes change nothing here. What is edited is the content as the repository has it: there a text with
 * `working-tree-encoding` is UTF-8, and one with `text` or `eol` has the line ends that it was given when it was added.
 * A new file has \n, as git itself would add it; a file that has \r\n in the repository keeps it, line by line, where
 * git add would change all of its lines at once, if `text` says so.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { attributesFilesOfUser, checkAttribute, MAX_ATTRIBUTES_BYTES } from '../../../core/git/attributes.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'

/** Git is asked only if an attributes file contains this word. */
const WORD = 'filter'
/** How many answers are cached. */
const MAX_KEPT_ANSWERS = 10_000

/** The filters of a repository's files. What was found out is kept, by the attributes that it is from. */
export class Filters {
  /** Whether there is a word of filters in a .gitattributes, by its id. */
  readonly #mentions = new Map<Oid, boolean>()
  /** The filter of a path, or none, by the path and the ids of the .gitattributes that lead to it. */
  readonly #known = new Map<string, string | undefined>()
  /** Where attributes are that hold for all repositories: git is asked once, and what stands there read each time. */
  #ofUser: Promise<string[]> | undefined

  constructor(readonly objects: Objects) {}

  /** The name of the filter that keeps a file on a commit; undefined for none. */
  async of(tip: Oid | undefined, path: Path): Promise<string | undefined> {
    return (await this.ofMany(tip, [path])).get(path)
  }

  /** The same for many paths, by one git at most: those without a filter are missing. */
  async ofMany(tip: Oid | undefined, paths: readonly Path[]): Promise<Map<Path, string>> {
    const found = new Map<Path, string>()
    if (tip === undefined) return found
    const own = await this.#ownAttributes()
    const folders = new Map<Path, Promise<Oid | undefined>>()
    const unknown = new Map<Path, string>()
    for (const path of paths) {
      const above = path.split('/').map((_, depth, parts) => [...parts.slice(0, depth), ''].join('/'))
      const ids = await Promise.all(above.map(folder => this.#attributesIn(tip, folder, folders)))
      const there = ids.filter(oid => oid !== undefined)
      const mentions = await Promise.all(there.map(oid => this.#mentionsFilters(oid)))
      if (!own.includes(WORD) && !mentions.includes(true)) continue
      const key = [path, own, ...ids].join('\0')
      const known = this.#known.get(key)
      if (known !== undefined) found.set(path, known)
      else if (!this.#known.has(key)) unknown.set(path, key)
    }
    if (unknown.size === 0) return found
    const values = await checkAttribute(this.objects, tip, WORD, [...unknown.keys()])
    if (this.#known.size > MAX_KEPT_ANSWERS) this.#known.clear()
    for (const [path, key] of unknown) {
      // Without a value it names no filter.
      const value = values.get(path) === 'set' ? undefined : values.get(path)
      this.#known.set(key, value)
      if (value !== undefined) found.set(path, value)
    }
    return found
  }

  /** Throws a {@link Failure} where a filter keeps one of these files. */
  async verifyNone(tip: Oid | undefined, paths: readonly Path[]): Promise<void> {
    const [first] = await this.ofMany(tip, paths)
    if (first) throw new Failure(whyFiltered(...first))
  }

  /** The user's own attributes, for this repository and for all, and the system's. */
  async #ownAttributes(): Promise<string> {
    const { repository } = this.objects
    this.#ofUser ??= attributesFilesOfUser(repository).catch(error => {
      this.#ofUser = undefined
      throw error
    })
    const files = [join(repository.commonDir, 'info/attributes'), ...(await this.#ofUser)]
    const texts = await Promise.all(files.map(file => readFile(file, 'latin1').catch(() => '')))
    return texts.join('\0')
  }

  async #attributesIn(tip: Oid, folder: Path, known: Map<Path, Promise<Oid | undefined>>): Promise<Oid | undefined> {
    // A folder with a line end in its name can't be asked for by name: no project has attributes in there.
    if (folder.includes('\n')) return undefined
    const asked = known.get(folder) ?? this.objects.info(`${tip}:${folder}.gitattributes`).then(info => info?.oid)
    known.set(folder, asked)
    return await asked
  }

  async #mentionsFilters(oid: Oid): Promise<boolean> {
    const known = this.#mentions.get(oid)
    if (known !== undefined) return known
    const mentions = (await this.objects.read(oid, { limit: MAX_ATTRIBUTES_BYTES }))?.bytes?.includes(WORD) ?? false
    this.#mentions.set(oid, mentions)
    return mentions
  }
}

/** Why a file with a filter is only shown. */
export function whyFiltered(path: Path, filter: string): string {
  const name = filter === 'lfs' ? 'Git LFS keeps' : `the filter ${visible(filter)} keeps`
  return `${visiblePath(path)} is a file that ${name} (.gitattributes), which the desk does not run: edit it in a checkout.`
}
