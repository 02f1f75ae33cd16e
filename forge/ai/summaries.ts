/**
 * Summaries of all files of a tree, one line each, made without a model. They are cached by blob id outside the
 * repository; losing the cache costs only time.
 */
import type { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Objects } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { CacheFile } from '../cache-file.ts'
import { CodeReader, type StartParser } from '../code/reader.ts'
import { bytesIn } from './fence.ts'
import { type Folder, readFolders } from './folders.ts'
import { isOnlySize, isTest, roughSize, SEPARATOR, summarise, summaryKind } from './languages.ts'
import { namesOffered } from './offered.ts'
import { makeOutline, type Outline } from './outline.ts'

/** To be increased whenever the same content gets another summary: caches of another version are not read. */
export const SUMMARY_VERSION = 6

/** Larger files are not read: generated files say little about themselves at their top. */
const MAX_FILE_BYTES = 256 << 10
/** At most this many files are read at the same time. */
const FILES_READ_AT_ONCE = 128
/** At most this many summaries are kept on disk, about 30 MB. */
const MAX_KEPT_SUMMARIES = 200_000
const MAX_OUTLINES = 16
/**
 * The share of the window that the list of files may fill. MAX_OUTLINE_TOKENS bounds it as well, since each opening
 * (the context sent before a conversation) pays for all of it: a quarter of a window of a million tokens would cost a
 * dollar or more each time, mostly for files that the conversation is not about.
 */
const SHARE = 0.25
const MAX_OUTLINE_TOKENS = 24_000

/** `folder`: that of the caches. `startParser`: how parsers of code are started; see {@link CodeReader}. */
type SummariesOptions = { folder: string; startParser?: StartParser | undefined }

/** Opens the summaries. Dispose them: `using summaries = openSummaries(…)`. */
export function openSummaries(objects: Objects, { folder, startParser }: SummariesOptions): Summaries {
  const cache = new SummaryCache(join(folder, 'summaries.sqlite'))
  return new Summaries(objects, cache, new CodeReader(objects, folder, startParser))
}

/** What a list of summaries is made for. `near`: files that the message is about; `window`: the model's, in tokens. */
type WantedSummaries = { tree: Oid; active: readonly Path[]; near?: readonly Path[]; window: number }

export class Summaries implements Disposable {
  /** The lists of files made last, as each request asks for its list again. */
  readonly #outlines = new Map<string, Promise<Outline>>()

  /** The last tree that was read: the next one shares most of it. */
  #last: Folder | undefined

  constructor(
    readonly objects: Objects,
    readonly cache: SummaryCache,
    readonly code: CodeReader,
  ) {}

  /** The list of a tree's files with their summaries: the same for the same tree, active files and window. */
  async of({ tree, active, near = [], window }: WantedSummaries): Promise<Outline> {
    const bytes = bytesIn(Math.min(window * SHARE, MAX_OUTLINE_TOKENS))
    const key = digest([SUMMARY_VERSION, tree, bytes, active, near])
    const known = this.#outlines.get(key)
    const outline = known ?? this.#read(key, { tree, active, near, bytes })
    this.#outlines.delete(key)
    this.#outlines.set(key, outline)
    for (const old of [...this.#outlines.keys()].slice(0, -MAX_OUTLINES)) this.#outlines.delete(old)
    // Errors are not cached.
    outline.catch(() => this.#outlines.delete(key))
    return await outline
  }

  [Symbol.dispose](): void {
    this.cache[Symbol.dispose]()
    this.code[Symbol.dispose]()
  }

  async #read(
    key: string,
    { tree, active, near, bytes }: { tree: Oid; active: readonly Path[]; near: readonly Path[]; bytes: number },
  ): Promise<Outline> {
    const kept = this.cache.outline(key)
    if (kept) return kept
    const root = await readFolders(this.objects, tree, this.#last)
    this.#last = root
    const outline = await makeOutline(root, { active, near, bytes, summariesOf: group => this.#summariesOf(group) })
    this.cache.keepOutline(key, outline)
    return outline
  }

  async #summariesOf(files: readonly FileEntry[]): Promise<string[]> {
    const keys = files.map(
      ({ path, mode, oid }) => `${oid} ${mode === '100755' ? '100644' : mode} ${summaryKind(path)}`,
    )
    const texts = this.cache.texts(keys)
    const missing = files.flatMap((file, at) => (texts[at] === undefined ? [{ file, at }] : []))
    const made: [key: string, text: string][] = []
    for (let from = 0; from < missing.length; from += FILES_READ_AT_ONCE) {
      const batch = missing.slice(from, from + FILES_READ_AT_ONCE)
      const words = await Promise.all(batch.map(({ file }) => this.#make(file)))
      for (const [index, { at }] of batch.entries()) {
        const text = words[index] ?? ''
        texts[at] = text
        made.push([keys[at] ?? '', text])
      }
    }
    this.cache.keepTexts(made)
    return withoutCommon(texts.map(text => text ?? ''))
  }

  async #make({ path, mode, oid }: FileEntry): Promise<string> {
    if (mode === '160000') return 'a submodule'
    if (mode === '120000') return 'a symbolic link'
    const object = await this.objects.read(oid, { limit: MAX_FILE_BYTES })
    if (!object) return 'not in this repository'
    const { bytes, size } = object
    if (!bytes) return roughSize(size)
    const isRead = !isTest(path) && !bytes.subarray(0, 8192).includes(0)
    const offered = isRead ? await namesOffered(this.code, path, bytes.toString('utf8')) : []
    return summarise(path, bytes, size, offered)
  }
}

/**
 * A first sentence that at least this many files of a folder share, e.g. of a licence, is left out of their summaries;
 * likewise a name such as `String()` that COMMON_NAME_IN_FILES share.
 */
const COMMON_IN_FILES = 3
const COMMON_NAME_IN_FILES = 5

/** Summaries of a folder's files without sentences and names that several of them share. */
function withoutCommon(summaries: readonly string[]): string[] {
  const parted = summaries.map(summary => {
    if (isOnlySize(summary)) return { sentence: summary, names: [] }
    const parts = summary.split(SEPARATOR)
    const names = parts.pop() ?? ''
    return { sentence: parts.join(SEPARATOR), names: names.split(/, (?![^(]*\))/) }
  })
  const sentences = countsOf(parted.map(({ sentence }) => sentence))
  const names = countsOf(parted.flatMap(it => [...new Set(it.names.map(bareName))]))
  return parted.map(({ sentence, names: all }) => {
    const isCommon = all.length > 0 && (sentences.get(sentence) ?? 0) >= COMMON_IN_FILES
    const own = all.filter(name => (names.get(bareName(name)) ?? 0) < COMMON_NAME_IN_FILES)
    return [isCommon ? '' : sentence, (own.length > 0 ? own : all).join(', ')].filter(Boolean).join(SEPARATOR)
  })
}

const bareName = (name: string): string => name.replace(/[(].*/, '')

function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

const digest = (parts: readonly unknown[]): string =>
  new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)

const TABLES = [
  'CREATE TABLE IF NOT EXISTS summaries (key TEXT UNIQUE NOT NULL, text TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS outlines (key TEXT UNIQUE NOT NULL, text TEXT NOT NULL)',
]

/** The summaries made before, in SQLite. */
class SummaryCache implements Disposable {
  readonly #file: CacheFile

  constructor(readonly path: string) {
    this.#file = new CacheFile(path, TABLES)
  }

  texts(keys: readonly string[]): (string | undefined)[] {
    return (
      this.#file.try(database => {
        const find = database.query<{ text: string }, [string]>('SELECT text FROM summaries WHERE key = ?')
        return keys.map(key => find.get(key)?.text)
      }) ?? keys.map(() => undefined)
    )
  }

  keepTexts(made: readonly (readonly [key: string, text: string])[]): void {
    if (made.length === 0) return
    this.#file.try(database => {
      const keep = database.query('INSERT OR REPLACE INTO summaries (key, text) VALUES (?, ?)')
      database.transaction(() => {
        for (const [key, text] of made) keep.run(key, text)
        forgetOldest(database, 'summaries', MAX_KEPT_SUMMARIES)
      })()
    })
  }

  outline(key: string): Outline | undefined {
    return this.#file.try(database => {
      const row = database.query<{ text: string }, [string]>('SELECT text FROM outlines WHERE key = ?').get(key)
      if (!row) return undefined
      const { shown, ...rest } = JSON.parse(row.text) as Omit<Outline, 'shown'> & { shown: Path[] }
      return { ...rest, shown: new Set(shown) }
    })
  }

  keepOutline(key: string, { shown, ...rest }: Outline): void {
    const text = JSON.stringify({ ...rest, shown: [...shown] })
    this.#file.try(database => {
      database.query('INSERT OR REPLACE INTO outlines (key, text) VALUES (?, ?)').run(key, text)
      forgetOldest(database, 'outlines', MAX_OUTLINES)
    })
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]()
  }
}

/** Deletes all but the newest `most` rows: rows are numbered in the order of their insertion. */
function forgetOldest(database: Database, table: 'summaries' | 'outlines', most: number): void {
  database.exec(`DELETE FROM ${table} WHERE rowid <= (SELECT max(rowid) FROM ${table}) - ${most}`)
}
