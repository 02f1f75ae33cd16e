/**
 * Finds definitions by name in all files of a tree. Files are read in the background, once for each content; a search
 * gives what is known so far.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import type { FileEntry } from '../../../core/git/trees.ts'
import { type Folder, readFolders } from '../../ai/folders.ts'
import { type CodeReader, symbolKey } from '../../code/reader.ts'
import { readSymbolLine, symbolLines } from '../../code/symbol-lines.ts'
import type { FoundSymbol } from '../contract/code.ts'
import { BestSymbols, symbolQuery } from './symbol-match.ts'

/** Files whose symbols are read in one go, between which other questions are answered. */
const FILES_AT_ONCE = 64
const FILES_SEARCHED_AT_ONCE = 500
/** At most this many characters of symbols are kept in memory; further ones are read again from the cache on disk. */
const MAX_KEPT_CHARS = 64_000_000
/** The files of at most this many trees are kept. */
const MAX_KEPT_TREES = 8

type KnownFile = FileEntry & { key: string }

export class SymbolIndex implements Disposable {
  /** The symbols of a content, as lines; '' for one without symbols. */
  readonly #known = new Map<string, string>()
  #chars = 0
  /** The contents that are not in the cache on disk either. */
  readonly #unread = new Set<string>()
  /** The files to read in the background: those of the tree that was asked about last. */
  #waiting: readonly KnownFile[] = []
  #isReading = false
  #isClosed = false
  readonly #trees = new Map<Oid, Promise<readonly KnownFile[]>>()
  #last: Folder | undefined

  constructor(
    readonly objects: Objects,
    readonly code: CodeReader,
  ) {}

  /** Begins to read the files of a tree in the background; need not be awaited. */
  async warm(tree: Oid): Promise<void> {
    if (!this.#trees.has(tree)) await this.find(tree, '', 0)
  }

  /** The definitions whose names match some words, best first, and the number of files that are not read yet. */
  async find(tree: Oid, words: string, count: number): Promise<{ symbols: FoundSymbol[]; left: number }> {
    const files = await this.#filesOf(tree)
    const best = new BestSymbols(symbolQuery(words), count)
    const missing: KnownFile[] = []
    for (let from = 0; from < files.length; from += FILES_SEARCHED_AT_ONCE) {
      const group = files.slice(from, from + FILES_SEARCHED_AT_ONCE)
      const lines = this.#linesOf(group)
      for (const file of group) {
        const known = lines.get(file.key)
        if (known === undefined) missing.push(file)
        else best.look(file.path, known)
      }
      await nextTurn()
    }
    this.#read(missing)
    const symbols = best.found().map(({ path, line }): FoundSymbol => ({ path, ...readSymbolLine(line) }))
    return { symbols, left: missing.length }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#waiting = []
  }

  /** The symbols of files that are known in memory or on disk. */
  #linesOf(files: readonly KnownFile[]): Map<string, string> {
    const found = new Map<string, string>()
    const wanted: string[] = []
    for (const { key } of files) {
      const known = this.#known.get(key)
      if (known !== undefined) found.set(key, known)
      else if (!this.#unread.has(key)) wanted.push(key)
    }
    if (wanted.length === 0) return found
    const kept = this.code.symbolsOf(wanted)
    for (const key of wanted) {
      const lines = kept.get(key)
      if (lines === undefined) {
        this.#unread.add(key)
        continue
      }
      found.set(key, lines)
      this.#keep(key, lines)
    }
    return found
  }

  #keep(key: string, lines: string): void {
    this.#unread.delete(key)
    this.#chars += lines.length - (this.#known.get(key)?.length ?? 0)
    this.#known.set(key, lines)
    for (const [old, text] of this.#known) {
      if (this.#chars <= MAX_KEPT_CHARS) break
      this.#known.delete(old)
      this.#chars -= text.length
    }
  }

  async #filesOf(tree: Oid): Promise<readonly KnownFile[]> {
    const files = this.#trees.get(tree) ?? this.#list(tree)
    this.#trees.delete(tree)
    this.#trees.set(tree, files)
    for (const old of [...this.#trees.keys()].slice(0, -MAX_KEPT_TREES)) this.#trees.delete(old)
    // Errors are not cached.
    files.catch(() => this.#trees.delete(tree))
    return await files
  }

  async #list(tree: Oid): Promise<KnownFile[]> {
    const root = await readFolders(this.objects, tree, this.#last)
    this.#last = root
    const files: KnownFile[] = []
    const add = (folder: Folder) => {
      for (const file of folder.files) {
        const key = file.mode.startsWith('100') ? symbolKey(file) : undefined
        if (key !== undefined) files.push({ ...file, key })
      }
      for (const inner of folder.folders) add(inner)
    }
    add(root)
    return files
  }

  /** Reads files in the background, in place of those that still wait. */
  #read(files: readonly KnownFile[]): void {
    if (files.length === 0) return
    this.#waiting = files
    if (this.#isReading) return
    this.#isReading = true
    this.#readAll().finally(() => {
      this.#isReading = false
    })
  }

  async #readAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const group = this.#waiting.slice(0, FILES_AT_ONCE).filter(({ key }) => !this.#known.has(key))
      this.#waiting = this.#waiting.slice(FILES_AT_ONCE)
      try {
        const facts = await this.code.factsOf(group, { isBackground: true })
        for (const [at, { key }] of group.entries()) {
          const its = facts[at]
          if (its && !this.#isClosed) this.#keep(key, symbolLines(its))
        }
      } catch {
        // A content that can't be read has no symbols; the rest of the tree is read.
        for (const { key } of group) this.#keep(key, '')
      }
    }
  }
}
