/**
 * The journal of a run: one line a decision, for people. Each is in git first, where the same one is written once
 * whatever dies, and then in a file of the run's folder, which any pager reads. A line that a crash has torn is ended
 * by the next one, and counts as never written.
 */
import { Database } from 'bun:sqlite'
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { blackOutFor } from '../../ai/secrets.ts'
import type { JournalLine } from '../contract.ts'
import type { RunStore } from './store.ts'

const Line = v.object({
  run: v.string(),
  id: v.string(),
  /** When it was written: milliseconds since 1970, and a count for those of the same one. */
  at: v.number(),
  count: v.number(),
  task: v.optional(v.string()),
  attempt: v.optional(v.number()),
  what: v.string(),
  words: v.string(),
  why: v.optional(v.string()),
  refs: v.optional(v.array(v.object({ kind: v.string(), oid: v.string() }))),
})
/** A line as it is written down. */
export type WrittenLine = v.InferOutput<typeof Line>

export type JournalOptions = {
  store: RunStore
  /** The run's folder. */
  folder: string
  /** What must never be written. */
  secrets: readonly string[]
  now?: () => number
}

/** Milliseconds that another process is waited for: it writes a few lines. */
const PATIENCE = 30_000

export const journalFile = (folder: string): string => join(folder, 'journal.jsonl')

/** To be closed. */
export class Journal implements Disposable {
  readonly #lock: Database
  readonly #ids = new Set<string>()
  /** How far the file has been read. */
  #read = 0
  #count = 0

  constructor(private readonly options: JournalOptions) {
    // An open transaction on an empty database: a lock that the system lets go of when its process ends.
    this.#lock = new Database(join(options.folder, 'journal.lock'), { create: true })
    this.#lock.exec(`PRAGMA busy_timeout = ${PATIENCE}`)
  }

  /** Writes a line, unless there is one of its id. When this is done, it is in git and on the disk. */
  async note(line: JournalLine): Promise<void> {
    const { store, secrets, now = Date.now } = this.options
    const clean = blackOutFor(secrets)
    const { words, why, ...rest } = line
    const wanted = { ...rest, at: now(), count: this.#count++, words: clean(words), ...(why && { why: clean(why) }) }
    const oid = await store.keep('journal', line.id, `${JSON.stringify(wanted)}\n`)
    // Where it was written before, that one is written here, too.
    const kept = parseLine(await store.readText({ kind: 'line', oid }))
    if (kept) this.#append(kept)
  }

  #append(line: WrittenLine): void {
    this.#lock.exec('BEGIN IMMEDIATE')
    try {
      const file = openSync(journalFile(this.options.folder), 'a+', 0o600)
      try {
        const isTorn = this.#catchUp(file)
        if (this.#ids.has(line.id)) return
        const bytes = Buffer.from(`${isTorn ? '\n' : ''}${JSON.stringify(line)}\n`)
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
    } finally {
      this.#lock.exec('ROLLBACK')
    }
  }

  /** Reads what is new in the file; gives whether its last line has no end. */
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
    // The last one may be whole but for its end.
    for (const line of parseLines(bytes.toString())) this.#ids.add(line.id)
    this.#read += end
    return end < bytes.length
  }

  [Symbol.dispose](): void {
    this.#lock.close()
  }
}

/** All lines of a run, from git, in the order in which they were written. */
export async function readJournal(store: RunStore): Promise<WrittenLine[]> {
  const contents = await store.all('journal')
  const lines = contents.flatMap(bytes => parseLines(bytes.toString()))
  return lines.sort((a, b) => a.at - b.at || a.count - b.count || (a.id < b.id ? -1 : 1))
}

/** The lines of a journal's file; what is none is left out, and of two with one id the second. */
export function parseLines(text: string): WrittenLine[] {
  const ids = new Set<string>()
  return text
    .split('\n')
    .flatMap(row => parseLine(row) ?? [])
    .filter(({ id }) => !ids.has(id) && ids.add(id))
}

function parseLine(row: string): WrittenLine | undefined {
  try {
    const parsed = v.safeParse(Line, JSON.parse(row))
    return parsed.success ? parsed.output : undefined
  } catch {
    return undefined
  }
}
