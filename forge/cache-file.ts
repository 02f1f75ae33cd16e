/** A cache in an SQLite file. An unreadable file is replaced. Where the file can't be created, nothing is cached. */
import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'

export class CacheFile implements Disposable {
  #database: Database | undefined

  /** @param tables The SQL that creates missing tables. */
  constructor(
    readonly path: string,
    readonly tables: readonly string[],
  ) {
    this.#database = this.#open() ?? this.#openAnew()
  }

  /** Runs `act` and gives its result, or undefined where it throws: a broken file only costs the cache. */
  try<T>(act: (database: Database) => T): T | undefined {
    if (!this.#database) return undefined
    try {
      return act(this.#database)
    } catch (error) {
      if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
      this.#database.close()
      this.#database = this.#openAnew()
      return undefined
    }
  }

  [Symbol.dispose](): void {
    this.#database?.close()
    this.#database = undefined
  }

  #open(): Database | undefined {
    let database: Database | undefined
    try {
      database = new Database(this.path, { create: true })
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 200')
      for (const table of this.tables) database.exec(table)
      return database
    } catch {
      database?.close()
      return undefined
    }
  }

  #openAnew(): Database | undefined {
    try {
      for (const file of [this.path, `${this.path}-wal`, `${this.path}-shm`]) rmSync(file, { force: true })
    } catch {
      return undefined
    }
    return this.#open()
  }
}
