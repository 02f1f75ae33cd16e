/** The desk as a whole, and what a window shows. */
import * as v from 'valibot'
import { BranchInfo } from './branches.ts'
import { Nothing, question, repeatable } from './question.ts'
import { At, Branch, Count, Path, Person } from './values.ts'

/** All of the desk but the contents of files. */
export const DeskInfo = v.object({
  /** The repository's name, and its folder. */
  name: v.string(),
  folder: v.string(),
  isBare: v.boolean(),
  isEmpty: v.boolean(),
  /** Where HEAD is, if on a branch: the default for reviews. */
  head: v.optional(Branch),
  /** Whose name commits bear; undefined where git knows none, and what to do then is said when something is saved. */
  identity: v.optional(Person),
  branches: v.array(BranchInfo),
  canUndo: v.optional(v.string()),
  canRedo: v.optional(v.string()),
  /** The hooks of this repository, which the desk does not run. */
  hooks: v.array(v.string()),
})
export type DeskInfo = v.InferOutput<typeof DeskInfo>

/**
 * What a window shows: it is there again after a restart. The server keeps it and does not look inside the positions.
 */
const PaneLayout = v.optional(
  v.object({ width: v.optional(v.pipe(Count, v.maxValue(4000))), isShown: v.optional(v.boolean()) }),
)

export const Layout = v.object({
  tabs: v.array(
    v.object({
      at: At,
      files: v.array(v.object({ path: Path, top: Count, cursor: Count })),
      active: v.optional(Path),
      folders: v.array(v.string()),
    }),
  ),
  active: Count,
  /** The panes beside the graph, as far as a person has chosen: their widths in pixels, and whether they are shown. */
  panes: v.optional(v.object({ refs: PaneLayout, commit: PaneLayout })),
})
export type Layout = v.InferOutput<typeof Layout>

export const deskQuestions = {
  desk: repeatable({}, v.object({ desk: DeskInfo, layout: v.optional(Layout) })),
  /** Whether anything was said to all windows since a page was made: see PageBeginning. */
  'has missed': question({ said: Count }, v.boolean()),
  'keep layout': repeatable({ layout: Layout }, Nothing),
}
