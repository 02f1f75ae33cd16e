/**
 * Reads what is known of code files: by tree-sitter, or by patterns of lines in a language without a grammar. Cached by
 * blob id, so that each content is read once.
 */
import { join } from 'node:path'
import { type Objects, oidOf } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import { entriesAt, type FileEntry } from '../../core/git/trees.ts'
import { CacheFile } from '../cache-file.ts'
import { type CodeFacts, NO_FACTS, type TextRange } from './facts.ts'
import { type GrammarName, grammarOf, grammarOfText } from './languages.ts'
import { factsByLines, lineLanguageOf } from './line-facts.ts'
import { type Parsed, Parsers, type TextParser, type Wanted } from './parsers.ts'
import { symbolLines } from './symbol-lines.ts'

/** The version of the queries and rules: increase it whenever the same content gets other facts. */
const VERSION = 8
/** Larger files, in bytes, have no facts: they are generated. */
const MAX_FILE_BYTES = 1 << 20
/** A longer line, in characters, is generated or minified code. */
const MAX_LINE_CHARS = 20_000
/** At most this many files are read at the same time. */
const FILES_READ_AT_ONCE = 128
/** At most this many rows are kept on disk, some 250 MB. */
const MAX_KEPT_ROWS = 200_000

/** A row without facts: the text ends each process that parses it, and is not parsed again. */
const FATAL = new Uint8Array(0)

const TABLE = 'CREATE TABLE IF NOT EXISTS facts (key TEXT UNIQUE NOT NULL, facts BLOB NOT NULL, symbols TEXT NOT NULL)'

type Row = { facts: Uint8Array }
/** What is known of a file, with the key under which it is cached; undefined where it must not be cached. */
type Read = { key: string | undefined; facts: CodeFacts; isNew: boolean }

/** The facts of a text, and what can be folded in it. */
export type Structure = { facts: CodeFacts; folds: readonly TextRange[] }

/** `isBackground`: the files are read with what of the processor nothing else takes. */
export type ReadOptions = { isBackground?: boolean }

/** Starts a parser for a reader, which disposes of it. */
export type StartParser = (options: ReadOptions) => TextParser

export class CodeReader implements Disposable {
  readonly #file: CacheFile
  readonly #parsers: TextParser
  readonly #background: TextParser

  /** @param folder The folder of the cache, outside any repository. */
  constructor(
    readonly objects: Objects,
    folder: string,
    startParser: StartParser = options => new Parsers(options),
  ) {
    this.#file = new CacheFile(join(folder, `code-${VERSION}.sqlite`), [TABLE])
    this.#parsers = startParser({ isBackground: false })
    this.#background = startParser({ isBackground: true })
  }

  /** The facts (definitions, references, imports) of files, in the same order; none for a file that is not parsed. */
  async factsOf(files: readonly FileEntry[], options: ReadOptions = {}): Promise<CodeFacts[]> {
    const facts: CodeFacts[] = []
    for (let from = 0; from < files.length; from += FILES_READ_AT_ONCE) {
      const group = files.slice(from, from + FILES_READ_AT_ONCE)
      const read = await Promise.all(group.map(file => this.#read(file, options)))
      this.#keep(read)
      facts.push(...read.map(it => it.facts))
    }
    return facts
  }

  /** The facts of the files at some paths of a tree. Paths without a regular file there are left out. */
  async factsAt(tree: Oid, paths: readonly Path[]): Promise<Map<Path, CodeFacts>> {
    const entries = await entriesAt(this.objects, tree, paths)
    const files = paths.flatMap((path, at): FileEntry[] => {
      const entry = entries[at]
      return entry?.mode.startsWith('100') ? [{ ...entry, path }] : []
    })
    const facts = await this.factsOf(files)
    return new Map(files.map(({ path }, at) => [path, facts[at] ?? NO_FACTS]))
  }

  /** The facts of a text, which may be in no blob, such as a draft. They are kept, too: most texts are read again. */
  async factsOfText(path: Path, text: string): Promise<CodeFacts> {
    const grammar = grammarOfText(path, text)
    const key = this.#keyOfText(languageOf(path, grammar), text)
    if (key === undefined) return NO_FACTS
    const known = this.#known(key)
    if (known) return known
    const facts = await this.#factsIn({ path, text, grammar, key }, this.#parsers)
    if (facts) this.#keep([{ key, facts, isNew: true }])
    return facts ?? NO_FACTS
  }

  /** The facts and folds of a text; undefined where it has no grammar, or is not parsed. */
  async structureOf(path: Path, text: string): Promise<Structure | undefined> {
    const grammar = grammarOfText(path, text)
    const key = this.#keyOfText(grammar, text)
    if (!grammar || key === undefined) return undefined
    const parsed = await this.#parse({ grammar, text, key }, { kind: 'structure' }, this.#parsers)
    if (parsed) this.#keep([{ key, facts: parsed.facts, isNew: true }])
    return parsed
  }

  /** For each range of a text, what is around it in the syntax, the smallest first; undefined without a grammar. */
  async around(
    path: Path,
    text: string,
    ranges: readonly TextRange[],
  ): Promise<readonly (readonly TextRange[])[] | undefined> {
    const grammar = grammarOfText(path, text)
    const key = this.#keyOfText(grammar, text)
    if (!grammar || key === undefined) return undefined
    const parsed = await this.#parse({ grammar, text, key }, { kind: 'around', ranges }, this.#parsers)
    return parsed?.around
  }

  /**
   * The symbols of files that were read before, one per line (symbol-lines.ts), by {@link symbolKey}. Files that were
   * not read are left out.
   */
  symbolsOf(keys: readonly string[]): Map<string, string> {
    const known = this.#file.try(database => {
      const find = database.query<{ symbols: string }, [string]>('SELECT symbols FROM facts WHERE key = ?')
      return new Map(keys.flatMap(key => [[key, find.get(key)?.symbols] as const]))
    })
    return new Map([...(known ?? [])].flatMap(([key, symbols]) => (symbols === undefined ? [] : [[key, symbols]])))
  }

  [Symbol.dispose](): void {
    this.#parsers[Symbol.dispose]()
    this.#background[Symbol.dispose]()
    this.#file[Symbol.dispose]()
  }

  async #read(file: FileEntry, { isBackground = false }: ReadOptions): Promise<Read> {
    const key = symbolKey(file)
    if (key === undefined) return { key: undefined, facts: NO_FACTS, isNew: false }
    const { path, oid } = file
    const known = this.#known(key)
    if (known) return { key, facts: known, isNew: false }
    const object = await this.objects.read(oid, { limit: MAX_FILE_BYTES })
    const bytes = object?.bytes
    if (!bytes || bytes.subarray(0, 8192).includes(0)) return { key, facts: NO_FACTS, isNew: false }
    const parsers = isBackground ? this.#background : this.#parsers
    const facts = await this.#factsIn({ path, text: bytes.toString('utf8'), grammar: grammarOf(path), key }, parsers)
    return { key, facts: facts ?? NO_FACTS, isNew: facts !== undefined }
  }

  /** The facts of a text; undefined where no person wrote it, or it can't be parsed. */
  async #factsIn(
    { path, text, grammar, key }: { path: Path; text: string; grammar: GrammarName | undefined; key: string },
    parsers: TextParser,
  ): Promise<CodeFacts | undefined> {
    if (grammar) return (await this.#parse({ grammar, text, key }, { kind: 'facts' }, parsers))?.facts
    return isGenerated(text) ? undefined : factsByLines(path, text)
  }

  /**
   * Parses a text; undefined where no person wrote it, or it can't be parsed. One that ends its process is not parsed
   * again; another one may be parsed the next time.
   */
  async #parse(
    { grammar, text, key }: { grammar: GrammarName; text: string; key: string },
    wanted: Wanted,
    parsers: TextParser,
  ): Promise<Parsed | undefined> {
    if (isGenerated(text) || this.#rowOf(key)?.facts.length === FATAL.length) return undefined
    const parsed = await parsers.parse({ grammar, text, wanted })
    if (parsed === 'fatal') this.#write([{ key, facts: FATAL, symbols: '' }])
    return typeof parsed === 'string' ? undefined : parsed
  }

  #keyOfText(language: string | undefined, text: string): string | undefined {
    if (language === undefined || text.length > MAX_FILE_BYTES) return undefined
    return keyOf(oidOf(this.objects.repository.format, { type: 'blob', bytes: Buffer.from(text) }), language)
  }

  #rowOf(key: string): Row | undefined {
    const find = 'SELECT facts FROM facts WHERE key = ?'
    return this.#file.try(database => database.query<Row, [string]>(find).get(key)) ?? undefined
  }

  #known(key: string): CodeFacts | undefined {
    const row = this.#rowOf(key)
    if (!row || row.facts.length === FATAL.length) return row && NO_FACTS
    return JSON.parse(Bun.zstdDecompressSync(Buffer.from(row.facts)).toString()) as CodeFacts
  }

  #keep(read: readonly Read[]): void {
    const made = read.flatMap(({ key, facts, isNew }) => (isNew && key !== undefined ? [{ key, facts }] : []))
    this.#write(
      made.map(({ key, facts }) => {
        return { key, facts: Bun.zstdCompressSync(JSON.stringify(facts)), symbols: symbolLines(facts) }
      }),
    )
  }

  #write(rows: readonly (Row & { key: string; symbols: string })[]): void {
    if (rows.length === 0) return
    this.#file.try(database => {
      const keep = database.query('INSERT OR REPLACE INTO facts (key, facts, symbols) VALUES (?, ?, ?)')
      database.transaction(() => {
        for (const { key, facts, symbols } of rows) keep.run(key, facts, symbols)
        database.exec(`DELETE FROM facts WHERE rowid <= (SELECT max(rowid) FROM facts) - ${MAX_KEPT_ROWS}`)
      })()
    })
  }
}

/** The key of a file's symbols; undefined where nothing is known of its language. */
export function symbolKey({ path, oid }: FileEntry): string | undefined {
  const language = languageOf(path, grammarOf(path))
  return language && keyOf(oid, language)
}

const languageOf = (path: Path, grammar: GrammarName | undefined): string | undefined => grammar ?? lineLanguageOf(path)

const keyOf = (oid: Oid, language: string): string => `${oid} ${language}`

/** Whether a text has a line that no person wrote. */
function isGenerated(text: string): boolean {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from)
    const length = (end < 0 ? text.length : end) - from
    if (length > MAX_LINE_CHARS) return true
    if (end < 0) return false
    from = end + 1
  }
  return false
}
