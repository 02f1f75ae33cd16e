/**
 * Files with a filter (`filter=` in .gitattributes): Git LFS, git-crypt, and others. The repository contains the output
 * of the filter, a program that runs in a checkout. The desk runs no program of a repository, so it neither edits nor
 * creates such a file: its content would be committed unfiltered.
 *
 * Other attributes change nothing. The repository's content is edited: a text with `working-tree-encoding` is UTF-8
 * there, and one with `text` or `eol` has the line ends with which it was added. A new file has \n, as git add would
 * make it; a file with \r\n in the repository keeps it by line, where git add would change all lines at once, if `text`
 * is set.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { attributesFilesOfUser, checkAttribute, MAX_ATTRIBUTES_BYTES } from '../../../core/git/attributes.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { isPointer } from './text.ts'

/** Git is asked only if an attributes file contains this word. */
const WORD = 'filter'
/** Larger files, in bytes, are no pointers of Git LFS. */
const MAX_POINTER_BYTES = 1024
/** At most this many answers are cached. */
const MAX_KEPT_ANSWERS = 10_000

/** A file's content: `bytes` until it is written. */
type WithContent = { oid: Oid; bytes?: Buffer }

/** The filters of a repository's files, cached by the attributes that define them. */
export class Filters {
  /** Whether a .gitattributes contains the word `filter`, by its blob. */
  readonly #mentions = new Map<Oid, boolean>()
  /** The filter of a path, or undefined, by the path and the blobs of all .gitattributes above it. */
  readonly #known = new Map<string, string | undefined>()
  /** The files with attributes for all repositories: git is asked once for their paths, and they are read each time. */
  #ofUser: Promise<string[]> | undefined

  constructor(readonly objects: Objects) {}

  /** The name of a file's filter on a commit; undefined for none. */
  async of(tip: Oid | undefined, path: Path): Promise<string | undefined> {
    return (await this.ofMany(tip, [path])).get(path)
  }

  /** The filters of many paths, with one git process at most; paths without a filter are missing. */
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
      // An attribute without a value names no filter.
      const value = values.get(path) === 'set' ? undefined : values.get(path)
      this.#known.set(key, value)
      if (value !== undefined) found.set(path, value)
    }
    return found
  }

  /** Throws a {@link Failure} if one of these files has a filter. */
  async verifyNone(tip: Oid | undefined, paths: readonly Path[]): Promise<void> {
    const [first] = await this.ofMany(tip, paths)
    if (first) throw new Failure(whyFiltered(...first))
  }

  /**
   * Throws a {@link Failure} if one of these files has a filter. A pointer of Git LFS is allowed: it is what the filter
   * writes.
   */
  async verifyContents(tip: Oid | undefined, files: ReadonlyMap<Path, WithContent | undefined>): Promise<void> {
    for (const [path, filter] of await this.ofMany(tip, [...files.keys()])) {
      const file = files.get(path)
      if (filter === 'lfs' && file && (await this.#isPointer(file))) continue
      throw new Failure(whyFiltered(path, filter))
    }
  }

  async #isPointer({ oid, bytes }: WithContent): Promise<boolean> {
    const content = bytes ?? (await this.objects.read(oid, { limit: MAX_POINTER_BYTES }))?.bytes
    return content !== undefined && isPointer(content)
  }

  /**
   * The content of all attributes files outside of the tree: the user's, for this repository and for all, and the
   * system's.
   */
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
    // A folder with a newline in its name can't be queried; attributes in it are ignored.
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

/** Why a file with a filter is read-only. */
export function whyFiltered(path: Path, filter: string): string {
  const name = filter === 'lfs' ? 'Git LFS keeps' : `the filter ${visible(filter)} keeps`
  return `${visiblePath(path)} is a file that ${name} (.gitattributes), which the desk does not run: edit it in a checkout.`
}
