/**
 * The conversations that this desk has written, by content: a fetched branch may contain one that this user never had.
 * Kept in the desk's state folder, where only this user writes.
 */
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Oid } from '../../../core/git/repository.ts'

export class WrittenHere {
  private constructor(
    readonly path: string,
    readonly oids: Set<Oid>,
  ) {}

  /** Reads the record, one blob id per line; without the file, no conversation was written here yet. */
  static async open(path: string): Promise<WrittenHere> {
    const text = await readFile(path, 'latin1').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    return new WrittenHere(path, new Set(text.split('\n').filter(Boolean)))
  }

  has(oid: Oid): boolean {
    return this.oids.has(oid)
  }

  /** Records a conversation. Called before its commit: the id of one that is never committed does no harm. */
  async add(oid: Oid): Promise<void> {
    if (this.oids.has(oid)) return
    await mkdir(dirname(this.path), { recursive: true })
    // The line begins with a newline, since a full disk may have cut the last line.
    await appendFile(this.path, `\n${oid}\n`, { mode: 0o600 })
    this.oids.add(oid)
  }
}
