/** The work on branches: files as they are typed and saved, and what can be undone. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { At, Branch, Count, Oid, Path, Paths, RefName } from './values.ts'

/** How another program moved a branch while there were drafts in it: by how many commits, and their authors. */
export const Moved = v.object({ from: Oid, to: Oid, commits: Count, by: v.array(v.string()) })
export type Moved = v.InferOutput<typeof Moved>

/** A local branch. `session`: an AI has a conversation in it. */
export const BranchInfo = v.object({
  name: Branch,
  tip: Oid,
  committed: v.number(),
  subject: v.string(),
  session: v.boolean(),
  /** The branch that it follows, and how many commits each has that the other lacks. */
  upstream: v.optional(v.object({ name: v.string(), ahead: Count, behind: Count })),
  /** The folder of the work tree in which it is checked out. */
  checkout: v.optional(v.string()),
  /** Files with text that is not saved yet. */
  drafts: v.array(Path),
  /** Those of them that are in conflict with what has become of the branch. */
  conflicts: v.optional(v.array(Path)),
  /** An AI is at work in it, waits for the person, or has ended badly. */
  turn: v.optional(v.picklist(['running', 'waits', 'unfinished'])),
  /** What waits in it for a person. */
  merging: v.optional(v.picklist(['merge', 'rebase', 'cherry-pick', 'revert'])),
  moved: v.optional(Moved),
  /** What an undo and a redo in this branch would take back and do again. */
  canUndo: v.optional(v.string()),
  canRedo: v.optional(v.string()),
})
export type BranchInfo = v.InferOutput<typeof BranchInfo>

/** What is shown for a file. Only `text` without `readOnly` can be edited. */
export const File = v.variant('kind', [
  v.object({
    kind: v.literal('text'),
    /** With \n between lines. In a file of mixed line ends the \r are characters of the text. */
    text: v.string(),
    /** How many edits led to this text since the server has it: the first one is 0. */
    version: Count,
    /** The same file in the branch's last commit; undefined where it is new. */
    saved: v.optional(v.string()),
    lineEnd: v.picklist(['LF', 'CRLF', 'mixed']),
    bom: v.boolean(),
    mode: v.string(),
    /** Why it can't be edited, as a sentence. */
    readOnly: v.optional(v.string()),
  }),
  v.object({ kind: v.literal('image'), mode: v.string(), size: Count, type: v.string(), oid: Oid }),
  /**
   * Bytes that are no UTF-8, a file that is too large, a link, a submodule, a pointer of Git LFS: said in a sentence.
   */
  v.object({ kind: v.literal('other'), mode: v.string(), size: Count, what: v.string() }),
  v.object({ kind: v.literal('nothing') }),
])
export type File = v.InferOutput<typeof File>

/** An edit as @codemirror/collab has it: the id of the client, and a ChangeSet as JSON. */
export const Edit = v.object({ client: v.string(), changes: v.unknown() })
export type Edit = v.InferOutput<typeof Edit>

/** What the desk did to refs, and what it would take back. */
export const Operation = v.object({
  id: Oid,
  kind: v.string(),
  /** What it did, in a few words: save lease.ts to main. */
  words: v.string(),
  time: v.number(),
  refs: v.array(v.object({ ref: v.string(), before: v.optional(Oid), after: v.optional(Oid) })),
  /** The operation that it undid or did again. */
  of: v.optional(Oid),
  /** A later operation has undone it, or done it again: that one is to be taken back instead. */
  isPast: v.optional(v.boolean()),
  /** Why it can't be undone now, as a sentence's part: main has moved since. */
  inTheWay: v.optional(v.string()),
})
export type Operation = v.InferOutput<typeof Operation>

const Commit = v.object({ commit: Oid })
/** What an undo or a redo did, and to which refs. */
const Reversed = v.object({ words: v.string(), refs: v.array(RefName) })

export const branchQuestions = {
  /** From then on the server says `edited` of the file. */
  open: repeatable({ at: At, path: Path }, File),
  close: repeatable({ at: At, path: Path }, Nothing),
  /** Not accepted where other edits came first, which come as news, or where no text can be like that: why (`refused`). */
  edit: question(
    { branch: Branch, path: Path, version: Count, edits: v.array(Edit) },
    v.object({ accepted: v.boolean(), refused: v.optional(v.string()) }),
  ),
  /** No commit where nothing was different. */
  save: question(
    { branch: Branch, paths: Paths, message: v.optional(v.string()) },
    v.object({ commit: v.optional(Oid) }),
  ),
  /**
   * Where a checkout could not follow: the new branch `to` gets the saved commits and the drafts, and the branch goes
   * back to where the checkout is.
   */
  'save elsewhere': question({ branch: Branch, to: Branch }, Commit),
  /** The new branch `to` gets the drafts, at the commit `from` where the branch was before it moved. */
  'drafts elsewhere': question({ branch: Branch, from: Oid, to: Branch }, Nothing),
  /** Discards drafts; the operation can be undone. */
  discard: question({ branch: Branch, paths: v.array(Path) }, Nothing),
  /** The message that a save would make by itself. */
  message: repeatable({ branch: Branch, paths: Paths }, v.object({ message: v.string() })),
  'new file': question({ branch: Branch, path: Path }, Commit),
  rename: question({ branch: Branch, from: Path, to: Path }, Commit),
  delete: question({ branch: Branch, path: Path }, Commit),
  'new branch': question({ branch: Branch, from: v.nullable(Oid) }, Nothing),
  'rename branch': question({ branch: Branch, to: Branch }, Nothing),
  'delete branch': question({ branch: Branch }, Nothing),
  /** The name of a branch now, if it was renamed; else the same name. */
  'name now': repeatable({ branch: Branch }, v.object({ branch: Branch })),
  /** The paths of files now, in the same order: those that were renamed since the branch was at a commit have others. */
  'paths now': repeatable(
    { branch: Branch, since: Oid, paths: v.pipe(v.array(Path), v.maxLength(1_000)) },
    v.object({ paths: v.array(Path) }),
  ),
  /** Makes a branch again where it was when it vanished. */
  'restore branch': repeatable({ branch: Branch }, Nothing),
  /** The newest first. */
  operations: repeatable({ from: Count, count: Count }, v.array(Operation)),
  /** Without an operation: the last one, of all or of those about a branch. */
  undo: question({ operation: v.optional(Oid), branch: v.optional(Branch) }, Reversed),
  redo: question({ branch: v.optional(Branch) }, Reversed),
}
