/**
 * The journal of a run: one line for each decision, for people. A line is first stored in git, where repetitions are
 * recognised, and then appended to a file in the run's folder, for any pager. A line torn by a crash is ended by the
 * next one, and counts as never written. A lost file is rebuilt from git with the next line.
 */
import { Database } from 'bun:sqlite'
import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { blackOutFor } from '../../ai/secrets.ts'
import { WrittenLine } from '../../formats/tasks-json.ts'
import type { NewJournalLine } from '../contract.ts'
import type { RunStore } from './store.ts'

type JournalOptions = {
  store: RunStore
  /** The run's folder. */
  folder: string
  /** Values that must never be written. */
  secrets: readonly string[]
  now?: () => number
}

/** Milliseconds to wait for another process, which writes a few lines. */
const LOCK_TIMEOUT_MS = 30_000

const lockFile = (folder: string): string => join(folder, 'journal.lock')

/** Takes a lock: an open transaction on an empty database, which the system releases when the process ends. */
function openLock(folder: string): Database {
  const lock = new Database(lockFile(folder), { create: true })
  lock.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`)
  return lock
}

export const journalFile = (folder: string): string => join(folder, 'journal.jsonl')

/** Writes the journal of a run. Dispose it to close its files. */
export class Journal implements Disposable {
  #lock: Database
  readonly #ids = new Set<string>()
  /** How many bytes of the file have been read. */
  #read = 0
  #count = 0
  /** The time of the newest line that is known, in milliseconds since 1970. */
  #last = 0

  /** Opens the journal. A file that is missing on this machine is rebuilt from git. */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options)
    try {
      if (!existsSync(journalFile(options.folder))) journal.#append(await readJournal(options.store))
      else journal.#append([])
      return journal
    } catch (error) {
      journal[Symbol.dispose]()
      throw error
    }
  }

  private constructor(private readonly options: JournalOptions) {
    this.#lock = openLock(options.folder)
  }

  /** Writes a line, unless there is one with its id. When this resolves, the line is in git and on the disk. */
  async note(line: NewJournalLine): Promise<void> {
    const { store, secrets, now = Date.now } = this.options
    const clean = blackOutFor(secrets)
    const { words, why, ...rest } = line
    // Times are strictly increasing, even if the clock is set back.
    this.#last = Math.max(now(), this.#last + 1)
    const at = this.#last
    const wanted = { ...rest, at, count: this.#count++, words: clean(words), ...(why && { why: clean(why) }) }
    const oid = await store.keep('journal', line.id, `${JSON.stringify(wanted)}\n`)
    // If the line was stored before, that stored line is written here.
    const kept = parseLine(await store.readText({ kind: 'line', oid }))
    if (!kept) return
    const isLost = !existsSync(journalFile(this.options.folder))
    this.#append(isLost ? await readJournal(store) : [kept])
  }

  #append(lines: readonly WrittenLine[]): void {
    this.#verifyLock()
    this.#lock.exec('BEGIN IMMEDIATE')
    try {
      const file = openSync(journalFile(this.options.folder), 'a+', 0o600)
      try {
        const isTorn = this.#catchUp(file)
        const fresh = lines.filter(({ id }) => !this.#ids.has(id))
        if (fresh.length === 0) return
        const bytes = Buffer.from(`${isTorn ? '\n' : ''}${fresh.map(line => `${JSON.stringify(line)}\n`).join('')}`)
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
    } finally {
      this.#lock.exec('ROLLBACK')
    }
  }

  /** If the run's folder was deleted, recreates it with a new lock file, which other processes find. */
  #verifyLock(): void {
    const { folder } = this.options
    if (existsSync(lockFile(folder))) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#lock.close()
    this.#lock = openLock(folder)
  }

  /** Reads new lines of the file; gives whether its last line has no line end. */
  #catchUp(file: number): boolean {
    const { size } = fstatSync(file)
    if (size < this.#read) {
      this.#read = 0
      this.#ids.clear()
    }
    const bytes = Buffer.alloc(size - this.#read)
    for (let at = 0; at < bytes.length; ) {
      const more = readSync(file, bytes, at, bytes.length - at, this.#read + at)
      if (more === 0) break
      at += more
    }
    const end = bytes.lastIndexOf(10) + 1
    // The last line may be complete except for its line end.
    for (const line of parseLines(bytes.toString())) {
      this.#ids.add(line.id)
      this.#last = Math.max(this.#last, line.at)
    }
    this.#read += end
    return end < bytes.length
  }

  [Symbol.dispose](): void {
    this.#lock.close()
  }
}

/**
 * All lines of a run in order: from git, or, where that has none (its refs are gone or on another machine), from the
 * file in the run's folder.
 */
export async function readJournal(store: RunStore, folder?: string): Promise<WrittenLine[]> {
  const contents = await store.all('journal')
  const lines = contents.flatMap(bytes => parseLines(bytes.toString()))
  if (lines.length === 0 && folder !== undefined)
    lines.push(...parseLines(await readFile(journalFile(folder), 'utf8').catch(() => '')))
  return lines.sort((a, b) => a.at - b.at || a.count - b.count || (a.id < b.id ? -1 : 1))
}

/** Parses a journal's file. Invalid lines are left out, as is a line with the id of an earlier one. */
export function parseLines(text: string): WrittenLine[] {
  const ids = new Set<string>()
  return text
    .split('\n')
    .flatMap(row => parseLine(row) ?? [])
    .filter(({ id }) => !ids.has(id) && ids.add(id))
}

function parseLine(row: string): WrittenLine | undefined {
  try {
    const parsed = v.safeParse(WrittenLine, JSON.parse(row))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}
