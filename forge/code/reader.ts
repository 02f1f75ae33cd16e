/** Reads what is known of code files: parsed by tree-sitter, cached by blob id, so that each content is parsed once. */
import { join } from 'node:path'
import { type Objects, oidOf } from '../../core/git/objects.ts'
import type { Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { CacheFile } from '../cache-file.ts'
import { type CodeFacts, NO_FACTS } from './facts.ts'
import { type GrammarName, grammarOf } from './languages.ts'
import { Parsers } from './parsers.ts'

/** The version of the queries and rules: increase it whenever the same content gets other facts. */
const VERSION = 3
/** Larger files, in bytes, have no facts: they are generated. */
const MAX_FILE_BYTES = 1 << 20
/** A longer line, in characters, is generated or minified code. */
const MAX_LINE_CHARS = 20_000
/** At most this many files are read at the same time. */
const FILES_READ_AT_ONCE = 128
/** At most this many rows are kept on disk, some 200 MB. */
const MAX_KEPT_ROWS = 200_000

const TABLE = 'CREATE TABLE IF NOT EXISTS facts (key TEXT UNIQUE NOT NULL, facts BLOB NOT NULL)'

type Row = { facts: Uint8Array<ArrayBuffer> }

export class CodeReader implements Disposable {
  readonly #file: CacheFile
  readonly #parsers: Parsers

  /** @param folder The folder of the cache, outside any repository. */
  constructor(
    readonly objects: Objects,
    folder: string,
    parsers = new Parsers(),
  ) {
    this.#file = new CacheFile(join(folder, `code-${VERSION}.sqlite`), [TABLE])
    this.#parsers = parsers
  }

  /** The facts (definitions, references, imports) of files, in the same order; none for a file that is not parsed. */
  async factsOf(files: readonly FileEntry[]): Promise<CodeFacts[]> {
    const facts: CodeFacts[] = []
    for (let from = 0; from < files.length; from += FILES_READ_AT_ONCE)
      facts.push(...(await Promise.all(files.slice(from, from + FILES_READ_AT_ONCE).map(file => this.#factsOf(file)))))
    return facts
  }

  /** The facts of a text, which may be in no blob, such as a draft. They are kept, too: most texts are read again. */
  async factsOfText(path: Path, text: string): Promise<CodeFacts> {
    const grammar = grammarOf(path)
    if (!grammar || text.length > MAX_FILE_BYTES) return NO_FACTS
    const key = keyOf(oidOf(this.objects.repository.format, { type: 'blob', bytes: Buffer.from(text) }), grammar)
    return this.#known(key) ?? (await this.#parse(key, grammar, text))
  }

  [Symbol.dispose](): void {
    this.#parsers[Symbol.dispose]()
    this.#file[Symbol.dispose]()
  }

  async #factsOf({ path, oid }: FileEntry): Promise<CodeFacts> {
    const grammar = grammarOf(path)
    if (!grammar) return NO_FACTS
    const key = keyOf(oid, grammar)
    const known = this.#known(key)
    if (known) return known
    const object = await this.objects.read(oid, { limit: MAX_FILE_BYTES })
    const bytes = object?.bytes
    if (!bytes || bytes.subarray(0, 8192).includes(0)) return NO_FACTS
    return await this.#parse(key, grammar, bytes.toString('utf8'))
  }

  async #parse(key: string, grammar: GrammarName, text: string): Promise<CodeFacts> {
    if (isGenerated(text)) return NO_FACTS
    const facts = await this.#parsers.parse({ grammar, text })
    // NO_FACTS is not cached: a text that was given up while the machine was busy may be parsed the next time.
    if (facts !== NO_FACTS) this.#keep(key, facts)
    return facts
  }

  #known(key: string): CodeFacts | undefined {
    const row = this.#file.try(database =>
      database.query<Row, [string]>('SELECT facts FROM facts WHERE key = ?').get(key),
    )
    return row ? (JSON.parse(Bun.zstdDecompressSync(row.facts).toString()) as CodeFacts) : undefined
  }

  #keep(key: string, facts: CodeFacts): void {
    const bytes = Bun.zstdCompressSync(JSON.stringify(facts))
    this.#file.try(database => {
      database.query('INSERT OR REPLACE INTO facts (key, facts) VALUES (?, ?)').run(key, bytes)
      database.exec(`DELETE FROM facts WHERE rowid <= (SELECT max(rowid) FROM facts) - ${MAX_KEPT_ROWS}`)
    })
  }
}

const keyOf = (oid: string, grammar: GrammarName): string => `${oid} ${grammar}`

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
