/**
 * The values in questions and news. Names of files, branches and refs are byte strings, one character per byte
 * (latin1), so that any name is preserved; the page decodes them only to show them. Times are seconds since 1970.
 */
import * as v from 'valibot'
import { Count, Oid } from '../../../core/formats/values.ts'

export { Count, Oid }

export const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))
export const Branch = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1024))
export const RefName = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1100))

/** Some files of a branch, or all. */
export const Paths = v.union([v.array(Path), v.literal('all')])

/** A branch with its drafts, or a commit. */
export const At = v.variant('kind', [
  v.object({ kind: v.literal('branch'), branch: Branch }),
  v.object({ kind: v.literal('commit'), commit: Oid }),
])
export type At = v.InferOutput<typeof At>

export const Person = v.object({ name: v.string(), email: v.string() })

/** A file that differs between two trees. */
export const Change = v.object({
  path: Path,
  /** The old path of a renamed file. */
  from: v.optional(Path),
  status: v.picklist(['added', 'changed', 'deleted', 'renamed', 'mode']),
  /** The entries before and after; undefined if there is none. */
  before: v.optional(v.object({ mode: v.string(), oid: Oid })),
  after: v.optional(v.object({ mode: v.string(), oid: Oid })),
  /** Line counts; undefined if the file is binary or too large. */
  added: v.optional(Count),
  deleted: v.optional(Count),
})
export type Change = v.InferOutput<typeof Change>

/** An image in a pixel format, whose content the page fetches by its blob: its media type, and its size in bytes. */
export const Image = v.object({ type: v.string(), size: Count })
export type Image = v.InferOutput<typeof Image>

/** Lines of the old version of a file and those that stand for them in the new one: from 0, `to` exclusive. */
export const LineRange = v.object({ fromA: Count, toA: Count, fromB: Count, toB: Count })
export type LineRange = v.InferOutput<typeof LineRange>

/**
 * The changes of a file: all of them, or those in the given ranges of lines, which are in order. `lineEnds` and `mode`:
 * whether the change of all line ends, and that of the file mode, are taken beside these lines. `shown`: the blobs
 * between which they were chosen, where these may have changed since; the changes between others are not taken.
 */
export const Part = v.object({
  path: Path,
  lines: v.optional(v.pipe(v.array(LineRange), v.maxLength(20_000))),
  lineEnds: v.optional(v.boolean()),
  mode: v.optional(v.boolean()),
  shown: v.optional(v.object({ before: v.optional(Oid), after: v.optional(Oid) })),
})
export type Part = v.InferOutput<typeof Part>

/** The files that the branch does not have any more without their drafts, and the operation that removed these. */
export const Gone = v.object({ gone: v.array(Path), operation: v.optional(Oid) })
export type Gone = v.InferOutput<typeof Gone>
