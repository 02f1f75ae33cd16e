/** The code around some files: who defines what they use, and who uses what they define. */
import type { Oid, Path } from '../../../core/git/repository.ts'

/** A file near others; `isNext`: it is used by them, or uses them. `lines` are the signatures that it offers. */
export type Near = { path: Path; isNext: boolean; lines: string[] }

export interface CodeMap {
  near(tree: Oid, files: readonly Path[]): Promise<Near[]>
}
