/** A cache in an SQLite file. An unreadable file is replaced; where none can be made, nothing is cached. */
import { Database } from 'bun:sqlite'
import { rmSync } from 'node:fs'

export class CacheFile implements Disposable {
  #database: Database | undefined

  /** @param tables What makes its tables, where they are not there. */
  constructor(
    readonly path: string,
    readonly tables: readonly string[],
  ) {
    this.#database = this.#open() ?? this.#openAnew()
  }

  /** Gives what `act` gives, or undefined where that fails: a broken file costs the cache and nothing else. */
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
