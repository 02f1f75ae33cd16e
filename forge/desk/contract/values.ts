/**
 * The values that questions and news are made of. Names of files, branches and refs are byte strings, one character per
 * byte (latin1), so that any name survives; the page decodes them for display alone. Times are seconds since 1970.
 */
import * as v from 'valibot'
import { Count, Oid } from '../../../core/formats/values.ts'

export { Count, Oid }

export const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))
export const Branch = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))
export const RefName = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1100))

/** Files of a branch, or all of them. */
export const Paths = v.union([v.array(Path), v.literal('all')])

/** A branch as it is being worked on, drafts included, or a commit, which never changes. */
export const At = v.variant('kind', [
  v.object({ kind: v.literal('branch'), branch: Branch }),
  v.object({ kind: v.literal('commit'), commit: Oid }),
])
export type At = v.InferOutput<typeof At>

export const Person = v.object({ name: v.string(), email: v.string() })

/** A file that differs between two trees. */
export const Change = v.object({
  path: Path,
  /** Where a renamed file was. */
  from: v.optional(Path),
  status: v.picklist(['added', 'changed', 'deleted', 'renamed', 'mode']),
  /** What is there before and after; undefined for nothing. */
  before: v.optional(v.object({ mode: v.string(), oid: Oid })),
  after: v.optional(v.object({ mode: v.string(), oid: Oid })),
  /** Lines; undefined where the file is binary or too large. */
  added: v.optional(Count),
  deleted: v.optional(Count),
})
export type Change = v.InferOutput<typeof Change>
