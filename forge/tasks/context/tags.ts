/**
 * What each code file defines and refers to, cached by blob id: names as numbers, so that those of twenty thousand
 * files are read in a moment; defining lines are read only where they are shown.
 */
import { join } from 'node:path'
import type { FileEntry } from '../../../core/git/trees.ts'
import { CacheFile } from '../../cache-file.ts'
import { type CodeFacts, NO_FACTS } from '../../code/facts.ts'
import type { CodeReader, ReadOptions } from '../../code/reader.ts'
import { offersAmong } from './offers.ts'

/** Names as numbers by {@link numberOf}, sorted, without repetitions. */
export type Tags = { defines: Uint32Array; refers: Uint32Array }
/** A defined name and the line that defines it. */
type DefinitionLine = { name: number; line: string }

/** The version of how tags are computed: increase it whenever the same content gets other tags. */
const VERSION = 4
const MAX_DEFINITIONS_PER_FILE = 400
const MAX_REFERENCES_PER_FILE = 2000
/** At most this many files are read at the same time. */
const FILES_READ_AT_ONCE = 256
/** At most this many rows are kept on disk, about 400 MB. */
const MAX_KEPT_ROWS = 200_000

const TABLE =
  'CREATE TABLE IF NOT EXISTS tags (key TEXT UNIQUE NOT NULL, defines BLOB NOT NULL, refers BLOB NOT NULL, lines TEXT NOT NULL)'

/**
 * A name as a number. Its two lowest bits are the weight: 0 low (short, or private by its form), 1 normal, 2 high (long
 * and made of several words).
 */
export function numberOf(name: string): number {
  const isLong = name.length >= 8 && (/[a-z][A-Z]/.test(name) || name.includes('_'))
  const kind = name.length < 4 || name.startsWith('_') ? 0 : isLong ? 2 : 1
  return ((Bun.hash.xxHash32(name) & ~3) | kind) >>> 0
}

export class TagStore implements Disposable {
  readonly #file: CacheFile

  constructor(
    readonly code: CodeReader,
    folder: string,
  ) {
    this.#file = new CacheFile(join(folder, `tags-${VERSION}.sqlite`), [TABLE])
  }

  /**
   * The tags of files (the names that each defines and refers to), in the same order; missing ones are computed.
   * `isBackground`: whether to leave the processor to others, asked anew for each group of files.
   */
  async of(files: readonly FileEntry[], { isBackground = (): boolean => false } = {}): Promise<Tags[]> {
    const keys = files.map(keyOf)
    const known = this.#load(keys)
    // Several files may have the same content.
    const missing = [...new Map(files.map((file, at) => [keys[at] ?? '', file]))].filter(([key]) => !known.has(key))
    for (let from = 0; from < missing.length; from += FILES_READ_AT_ONCE) {
      const group = missing.slice(from, from + FILES_READ_AT_ONCE).map(([, file]) => file)
      const made = await this.#make(group, { isBackground: isBackground() })
      for (const { key, tags } of made) known.set(key, tags)
      this.#keep(made)
    }
    return keys.map(key => known.get(key) ?? NONE)
  }

  /** The defining lines of a file, in order. */
  async signaturesOf(file: FileEntry): Promise<DefinitionLine[]> {
    const key = keyOf(file)
    const row = this.#file.try(database =>
      database.query<{ lines: string }, [string]>('SELECT lines FROM tags WHERE key = ?').get(key),
    )
    const lines = row?.lines ?? (await this.#make([file]))[0]?.lines ?? '[]'
    return JSON.parse(lines) as DefinitionLine[]
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }

  #load(keys: readonly string[]): Map<string, Tags> {
    const known = new Map<string, Tags>()
    this.#file.try(database => {
      const find = database.query<Row, [string]>('SELECT defines, refers FROM tags WHERE key = ?')
      for (const key of keys) {
        const row = known.has(key) ? undefined : find.get(key)
        if (row) known.set(key, { defines: numbersIn(row.defines), refers: numbersIn(row.refers) })
      }
    })
    return known
  }

  #keep(made: readonly Made[]): void {
    this.#file.try(database => {
      const keep = database.query('INSERT OR REPLACE INTO tags (key, defines, refers, lines) VALUES (?, ?, ?, ?)')
      database.transaction(() => {
        for (const { key, tags, lines } of made) keep.run(key, bytesOf(tags.defines), bytesOf(tags.refers), lines)
        database.exec(`DELETE FROM tags WHERE rowid <= (SELECT max(rowid) FROM tags) - ${MAX_KEPT_ROWS}`)
      })()
    })
  }

  async #make(files: readonly FileEntry[], options: ReadOptions = {}): Promise<Made[]> {
    const facts = await this.code.factsOf(files, options)
    return files.map((file, at) => madeOf(keyOf(file), facts[at] ?? NO_FACTS))
  }
}

function madeOf(key: string, facts: CodeFacts): Made {
  const lines = offersAmong(facts)
    .slice(0, MAX_DEFINITIONS_PER_FILE)
    .map(({ name, line }): DefinitionLine => ({ name: numberOf(name), line }))
  const refers = new Set<number>()
  for (const name of facts.references) {
    if (refers.size >= MAX_REFERENCES_PER_FILE) break
    if (NAME.test(name)) refers.add(numberOf(name))
  }
  const tags = { defines: sorted(lines.map(({ name }) => name)), refers: sorted(refers) }
  return { key, tags, lines: JSON.stringify(lines) }
}

/** Names of 3 to 64 characters: shorter ones occur everywhere, and do not tell where they are defined. */
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]{2,63}$/u

type Row = { defines: Uint8Array; refers: Uint8Array }
type Made = { key: string; tags: Tags; lines: string }

export const NONE: Tags = { defines: new Uint32Array(), refers: new Uint32Array() }

/**
 * The key of a file's tags. It includes the extension, since the same bytes are parsed differently under another one.
 */
const keyOf = ({ path, oid }: FileEntry): string => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return `${oid} ${name.slice(name.lastIndexOf('.') + 1).slice(0, 40)}`
}

const sorted = (numbers: Iterable<number>): Uint32Array => new Uint32Array(new Set(numbers)).sort()
const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
/** A copy, since bytes of the file may not be aligned for numbers. */
const numbersIn = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer)
