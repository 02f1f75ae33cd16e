/** What a repository is to this program, and the names of what is in one. */
import type { Where } from './run.ts'

/** A full object id: 40 hex digits in a sha1 repository, 64 in a sha256 one. */
export type Oid = string
/** A path inside a repository, one character per byte (latin1), so that any file name survives. */
export type Path = string
export type Format = 'sha1' | 'sha256'
/** What stands at a path; undefined where nothing does. The mode as git writes it: 100644, 100755, 120000, 160000, 040000. */
export type Entry = { mode: string; oid: Oid } | undefined

/** A repository, and how git is run in it: `env` names it, so that `cwd` and the user's variables can't mislead. */
export type Repository = Where & {
  /** Its own .git folder, which a linked worktree has too. */
  gitDir: string
  /** The folder that its objects are in. */
  objects: string
  format: Format
}
