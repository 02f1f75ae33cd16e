/**
 * Records how other programs moved branches that have drafts: from which commit to which. Kept in the desk's state
 * folder, so that the notice survives a restart; if writing fails, only the record is lost.
 */
import { join } from 'node:path'
import * as v from 'valibot'
import { isOid, type Repository } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'
import { Moved } from '../contract/branches.ts'

const File = v.record(v.string(), Moved)

export class MovedBranches {
  #last: Promise<unknown> = Promise.resolve()

  private constructor(
    readonly file: string,
    readonly all: Map<string, Moved>,
  ) {}

  static async open(state: string, { format }: Repository): Promise<MovedBranches> {
    const file = join(state, 'moved.json')
    const kept = Object.entries((await readJson(file, File)) ?? {})
    return new MovedBranches(file, new Map(kept.filter(([, { from, to }]) => isOid(format, from) && isOid(format, to))))
  }

  of(branch: string): Moved | undefined {
    return this.all.get(branch)
  }

  /** Records how a branch was moved; undefined removes the record. */
  keep(branch: string, moved: Moved | undefined): void {
    if (moved === undefined && !this.all.has(branch)) return
    if (moved) this.all.set(branch, moved)
    else this.all.delete(branch)
    const write = () => writeJson(this.file, Object.fromEntries(this.all))
    this.#last = this.#last.then(write).catch(() => undefined)
  }

  /** Resolves when all is written, or could not be. */
  async settled(): Promise<void> {
    await this.#last
  }
}
