/**
 * Which conversations this desk has written, by their content: a fetched branch may bring a conversation that this user
 * never had. It is kept in the desk's state folder, where only this user writes.
 */
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Oid } from '../../../core/git/repository.ts'

export class WrittenHere {
  private constructor(
    readonly path: string,
    readonly oids: Set<Oid>,
  ) {}

  /** One id a line; without the file, nothing was written here yet. */
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

  /** Is to be called before the commit: what was never committed does no harm here. */
  async add(oid: Oid): Promise<void> {
    if (this.oids.has(oid)) return
    await mkdir(dirname(this.path), { recursive: true })
    // A line of its own, also where a full disk has cut the last one.
    await appendFile(this.path, `\n${oid}\n`, { mode: 0o600 })
    this.oids.add(oid)
  }
}
