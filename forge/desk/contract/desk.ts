/** What the page can ask about the desk as a whole, and the layout of a window. */
import * as v from 'valibot'
import { BranchInfo, DeletedBranch } from './branches.ts'
import { Nothing, question, repeatable } from './question.ts'
import { settingQuestions, UserSettings } from './settings.ts'
import { At, Branch, Count, Path, Person } from './values.ts'

/** The state of the desk, without contents of files. */
export const DeskInfo = v.object({
  /** The repository's name. */
  name: v.string(),
  /** The repository's main folder. */
  folder: v.string(),
  isBare: v.boolean(),
  /** Whether the repository is a shallow clone, whose history ends before its beginning. */
  isShallow: v.boolean(),
  isEmpty: v.boolean(),
  /** Files with unsaved changes in the branch of HEAD, if it has no commit yet. */
  firstDrafts: v.optional(v.array(Path)),
  /** The branch of HEAD, if on one. */
  head: v.optional(Branch),
  /** The default branch: the base of reviews unless another one is chosen. */
  main: v.optional(Branch),
  /** The identity for commits; undefined if git has none, which saving then explains. */
  identity: v.optional(Person),
  branches: v.array(BranchInfo),
  /** Deleted branches with drafts, which can be restored. */
  deleted: v.optional(v.array(DeletedBranch)),
  canUndo: v.optional(v.string()),
  canRedo: v.optional(v.string()),
  /** The hooks of this repository, which the desk does not run. */
  hooks: v.array(v.string()),
})
export type DeskInfo = v.InferOutput<typeof DeskInfo>

/** A checkout of a branch that could not follow it: its folder, and why, as a sentence. */
export const LeftBehind = v.object({
  branch: Branch,
  folder: v.string(),
  why: v.string(),
  /** Whether the branch has only got new commits, as by a save; not where some were taken back, as by an undo. */
  isAhead: v.boolean(),
})
export type LeftBehind = v.InferOutput<typeof LeftBehind>

/** The layout of a window, restored after a restart. The server stores the positions without interpreting them. */
const PaneLayout = v.optional(
  v.object({ width: v.optional(v.pipe(Count, v.maxValue(4000))), isShown: v.optional(v.boolean()) }),
)

const ViewKind = v.picklist(['review', 'history', 'find'])

/** A pane of a tab that shows no file. `at`: its place among the tab's panes. */
const ViewLayout = v.object({
  kind: ViewKind,
  at: Count,
  /** For the history of a file, or of some lines of it. */
  path: v.optional(Path),
  lines: v.optional(v.object({ from: Count, to: Count, words: v.string() })),
})
export type ViewLayout = v.InferOutput<typeof ViewLayout>

/** What a review compares with, if the user has chosen it. */
const BaseLayout = v.object({
  kind: v.picklist(['branch', 'remote branch', 'tag', 'commit', 'own merge']),
  name: v.string(),
  at: At,
})

/** What the Tab key inserts. `size`: how many spaces, or the columns of a tab character. */
export const Indentation = v.object({
  by: v.picklist(['spaces', 'tabs']),
  size: v.pipe(Count, v.minValue(1), v.maxValue(16)),
})
export type Indentation = v.InferOutput<typeof Indentation>

/** A search in all files: what was typed, the switches, and the matches that are not to be replaced. */
export const SearchLayout = v.object({
  words: v.string(),
  files: v.string(),
  replacement: v.string(),
  isReplacing: v.boolean(),
  isRegex: v.boolean(),
  matchCase: v.boolean(),
  matchWord: v.boolean(),
  preservesCase: v.optional(v.boolean()),
  leftOut: v.array(v.object({ path: Path, line: Count, from: Count, text: v.string() })),
})
export type SearchLayout = v.InferOutput<typeof SearchLayout>

/** A scroll position: the first visible line, from 1, and as its decimals the part of it that is out of view. */
const FirstLine = v.optional(v.pipe(v.number(), v.minValue(1)))
/** The line of a cursor, from 1, its column, from 0, and the first characters of the line, to find it again. */
export const CursorLine = v.object({ line: Count, column: Count, text: v.pipe(v.string(), v.maxLength(100)) })
export type CursorLine = v.InferOutput<typeof CursorLine>

export const Layout = v.object({
  tabs: v.array(
    v.object({
      at: At,
      files: v.array(
        v.object({
          path: Path,
          firstLine: FirstLine,
          cursor: Count,
          cursorLine: v.optional(CursorLine),
          /** The indentation and the name of the language, if the user has chosen them for this file. */
          indentation: v.optional(Indentation),
          language: v.optional(v.string()),
        }),
      ),
      active: v.optional(Path),
      views: v.optional(v.array(ViewLayout)),
      /** The pane that is shown, if it is none of a file. */
      view: v.optional(ViewKind),
      base: v.optional(BaseLayout),
      /** The changes that are marked as viewed in the review, by path and blobs; the last one at the end. */
      viewed: v.optional(v.array(v.string())),
      search: v.optional(SearchLayout),
      /**
       * The file in the other half of a split, and whether that is the right one; its scroll position and cursor there,
       * if the file is in both halves.
       */
      split: v.optional(
        v.object({
          path: Path,
          isRight: v.boolean(),
          firstLine: FirstLine,
          cursor: v.optional(Count),
          cursorLine: v.optional(CursorLine),
        }),
      ),
      /** The pinned files. */
      pinned: v.optional(v.array(Path)),
      /** The file in the preview tab. */
      previewed: v.optional(Path),
      folders: v.array(v.string()),
    }),
  ),
  active: Count,
  /** The panes beside the graph and the editor, as far as set by the user: width in pixels, and whether shown. */
  panes: v.optional(v.object({ refs: PaneLayout, commit: PaneLayout, side: PaneLayout, split: PaneLayout })),
})
export type Layout = v.InferOutput<typeof Layout>

export const deskQuestions = {
  ...settingQuestions,
  desk: repeatable(
    {},
    v.object({
      desk: DeskInfo,
      layout: v.optional(Layout),
      settings: UserSettings,
      leftBehind: v.array(LeftBehind),
    }),
  ),
  /** Whether news was sent to all windows since a page was made: see PageBeginning. */
  'has missed': question({ said: Count }, v.boolean()),
  /** Asks for a sign that the desk answers. */
  ping: repeatable({}, Nothing),
  'keep layout': repeatable({ layout: Layout }, Nothing),
}
