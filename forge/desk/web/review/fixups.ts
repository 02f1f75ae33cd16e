/** Commits that are to be squashed into an older one, named as by `git commit --fixup` and `--squash`. */
import type { CommitRow } from '../../contract/reading.ts'

/** `isFixup`: the older commit keeps its message. `of`: how the subject names that commit. */
interface Fixup {
  isFixup: boolean
  of: string
}

/** What a commit's subject says of the commit to squash it into; undefined for any other subject. */
export function fixupIn(subject: string): Fixup | undefined {
  const [, kind, of] = /^(fixup|squash)! +(?:(?:fixup|squash)! +)*(\S.*)$/.exec(subject) ?? []
  return of === undefined ? undefined : { isFixup: kind === 'fixup', of }
}

/**
 * The commit of a line, newest first, that a commit is to be squashed into: the nearest older one that its subject
 * names by subject, by hash, or by the beginning of the subject, as git has it. Undefined where there is none.
 */
export function commitToFix(line: readonly CommitRow[], { oid, subject }: CommitRow): CommitRow | undefined {
  const { of } = fixupIn(subject) ?? {}
  const at = line.findIndex(commit => commit.oid === oid)
  if (of === undefined || at < 0) return undefined
  const older = line.slice(at + 1)
  return (
    older.find(commit => commit.subject === of) ??
    older.find(commit => /^[0-9a-f]{7,}$/.test(of) && commit.oid.startsWith(of)) ??
    older.find(commit => commit.subject.startsWith(of))
  )
}
