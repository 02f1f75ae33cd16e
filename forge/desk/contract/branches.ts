/** What the page can ask about branches: editing and saving files, and undo. */
import * as v from 'valibot'
import { MAX_REPLACED_MATCHES } from './limits.ts'
import { WaitingKind } from './merging.ts'
import { Nothing, question, repeatable } from './question.ts'
import { At, Branch, Count, Gone, Oid, Part, Path, Paths, RefName } from './values.ts'

/**
 * How other programs moved a branch that has drafts: from which commit to which, the number of new commits and their
 * authors. None of these commits was made by a save on the desk. `gone`: the number of commits that the branch does not
 * have any more, as after a rebase.
 */
export const Moved = v.object({
  from: Oid,
  to: Oid,
  commits: Count,
  by: v.array(v.string()),
  gone: v.optional(Count),
  /** The drafts that are in conflict for another reason: before that, or since, as by drafts that were moved here. */
  otherConflicts: v.optional(v.array(Path)),
})
export type Moved = v.InferOutput<typeof Moved>

/** A local branch. `session`: whether an AI has a conversation in it. */
export const BranchInfo = v.object({
  name: Branch,
  tip: Oid,
  committed: v.number(),
  subject: v.string(),
  session: v.boolean(),
  /**
   * The branch's upstream, and how many commits the branch is ahead and behind. `isLocal`: it is a branch of this
   * repository, from which the branch is pulled, but to which it is not pushed.
   */
  upstream: v.optional(v.object({ name: v.string(), ahead: Count, behind: Count, isLocal: v.boolean() })),
  /** The name of an upstream that is configured and does not exist (any more). */
  goneUpstream: v.optional(v.string()),
  /** The folder of the work tree in which the branch is checked out; undefined for none. */
  checkout: v.optional(v.string()),
  /** Files with unsaved changes. */
  drafts: v.array(Path),
  /** The files that the AI has changed in a turn that is not over: they are shown so, and are no drafts. */
  changedByAi: v.optional(v.array(Path)),
  /** The old paths of those that it has renamed: what is typed in such a file is a draft of that path meanwhile. */
  renamedByAi: v.optional(v.array(Path)),
  /** The commit at which the turn of {@link changedByAi} began, if the branch has been moved since. */
  turnBase: v.optional(Oid),
  /** Unsaved files that conflict with the branch's new commit. */
  conflicts: v.optional(v.array(Path)),
  /** The state of the turn in this branch: running, waiting for an answer, or unfinished; undefined for none. */
  turn: v.optional(v.picklist(['running', 'waits', 'unfinished'])),
  /** The kind of merge that waits in this branch; undefined for none. */
  merging: v.optional(WaitingKind),
  moved: v.optional(Moved),
  /** Why what is typed can't be written into the repository now, as the end of a sentence; undefined if it can be. */
  unwritten: v.optional(v.string()),
  /** What Undo in this branch would revert, in words. */
  canUndo: v.optional(v.string()),
  /** What Redo in this branch would do again, in words. */
  canRedo: v.optional(v.string()),
})
export type BranchInfo = v.InferOutput<typeof BranchInfo>

/** A branch that was deleted while it had drafts or a turn of its AI, which are kept. */
export const DeletedBranch = v.object({
  branch: Branch,
  drafts: v.array(Path),
  /** Whether a turn of its AI runs, or waits to be kept or discarded. */
  hasTurn: v.optional(v.boolean()),
  /** Why what is typed can't be written into the repository now, as the end of a sentence; undefined if it can be. */
  unwritten: v.optional(v.string()),
})
export type DeletedBranch = v.InferOutput<typeof DeletedBranch>

const LineEnd = v.picklist(['LF', 'CRLF', 'mixed'])

/** The content of a file. Only `text` without `readOnly` can be edited. */
export const File = v.variant('kind', [
  v.object({
    kind: v.literal('text'),
    /** The text, with \n between lines. In a file of mixed line ends each \r is a character of the text. */
    text: v.string(),
    /** The number of edits since the server opened the file. */
    version: Count,
    /**
     * The run of the desk that has opened the file, if it can be edited. Where the next answer names another one, the
     * desk has ended meanwhile, and may have lost the last edits.
     */
    run: v.optional(v.string()),
    /** The text in the branch's last commit, of a renamed file under its old path; undefined if the file is new. */
    saved: v.optional(v.string()),
    /** The text in the repository, while what is typed can't be written into it. */
    written: v.optional(v.string()),
    /** Whether a draft added the file, or renamed it: the last commit has none at this path, or another one. */
    isNewPath: v.optional(v.boolean()),
    lineEnd: LineEnd,
    /** The line ends in the branch's last commit, where `saved` is its text. */
    savedLineEnd: v.optional(LineEnd),
    bom: v.boolean(),
    /** The guessed encoding of a file that is not UTF-8. */
    encoding: v.optional(v.string()),
    mode: v.string(),
    /** Why the file can't be edited, as a sentence. */
    readOnly: v.optional(v.string()),
    /**
     * Whether the file was deleted, by a draft or a commit from outside, while it had unsaved changes here. Until it is
     * edited (`isRestored`: it is a draft again), the text is only in the windows that show it.
     */
    deleted: v.optional(v.object({ by: v.picklist(['draft', 'commit']), isRestored: v.boolean() })),
  }),
  v.object({ kind: v.literal('image'), mode: v.string(), size: Count, type: v.string(), oid: Oid }),
  /**
   * Content that can't be shown as text: not UTF-8, too large, a link, a submodule, or a Git LFS pointer; `what`
   * describes it.
   */
  v.object({ kind: v.literal('other'), mode: v.string(), size: Count, what: v.string() }),
  v.object({ kind: v.literal('nothing') }),
])
export type File = v.InferOutput<typeof File>

/** What a file's bytes have and its text does not: see {@link File}. */
export const Form = v.object({ lineEnd: LineEnd, bom: v.boolean() })

/** An edit of @codemirror/collab: the client's id, and a ChangeSet as JSON. */
export const Edit = v.object({ client: v.string(), changes: v.unknown() })
export type Edit = v.InferOutput<typeof Edit>

/** The replacement of a part of a line: the line from 1, the characters from 0. */
export const LineEdit = v.object({
  line: v.pipe(Count, v.minValue(1)),
  from: Count,
  to: Count,
  insert: v.pipe(v.string(), v.maxLength(100_000)),
})
export type LineEdit = v.InferOutput<typeof LineEdit>

/** An operation of the desk on refs. */
export const Operation = v.object({
  id: Oid,
  kind: v.string(),
  /** A short description, e.g. `save lease.ts to main`. */
  words: v.string(),
  time: v.number(),
  refs: v.array(v.object({ ref: v.string(), before: v.optional(Oid), after: v.optional(Oid) })),
  /** The operation that this one undid or redid. */
  of: v.optional(Oid),
  /** Whether a later operation has undone or redone this one. Then only that later one can be undone. */
  isPast: v.optional(v.boolean()),
  /** Why the operation can't be undone now, and what to do first, in sentences. */
  inTheWay: v.optional(v.string()),
})
export type Operation = v.InferOutput<typeof Operation>

const Commit = v.object({ commit: Oid })
/** A list of the files and folders of one action: 1 to 1,000. */
const Some = <Item extends v.GenericSchema>(item: Item) => v.pipe(v.array(item), v.nonEmpty(), v.maxLength(1_000))
/**
 * What an undo or a redo did, to which refs, and the operation that it undid or did again; `of` is undefined if there
 * was nothing to undo or redo, which the words say. `moved`: the branches between which it moved all drafts. `deleted`:
 * the branches that it deleted. `withoutTurn`: the branch whose last turn of the AI it undid or discarded.
 */
export const Reversed = v.object({
  words: v.string(),
  refs: v.array(RefName),
  of: v.optional(Oid),
  moved: v.optional(v.object({ from: Branch, to: Branch })),
  deleted: v.optional(v.array(Branch)),
  withoutTurn: v.optional(Branch),
})
export type Reversed = v.InferOutput<typeof Reversed>

const SaveResult = v.object({ commit: v.optional(Oid) })
const Parts = v.pipe(v.array(Part), v.maxLength(20_000))

/** The commit that deleted or renamed a file, if one did, and whether the file can be restored. */
const DeletedFile = v.object({
  commit: v.optional(v.object({ oid: Oid, subject: v.string() })),
  /** The path that the file has now, if it was renamed. */
  renamedTo: v.optional(Path),
  canRestore: v.boolean(),
})
export type DeletedFile = v.InferOutput<typeof DeletedFile>

export const branchQuestions = {
  /** Opens a file. From then on the server sends news about it (`edited`). */
  open: repeatable({ at: At, path: Path }, File),
  close: repeatable({ at: At, path: Path }, Nothing),
  /**
   * Sends edits. Not accepted if other edits came first, which arrive as news; if the resulting text is not allowed
   * (`refused`: why); or if they do not fit the text of this version (`isOfOtherText`): the page has another one, and
   * has to open the file again.
   */
  edit: question(
    { branch: Branch, path: Path, version: Count, edits: v.array(Edit) },
    v.object({ accepted: v.boolean(), refused: v.optional(v.string()), isOfOtherText: v.optional(v.boolean()) }),
  ),
  /**
   * Adds text to a draft that had not reached the desk when its page was closed. `since`: the commit of the branch at
   * that time; `start`: a text that the desk had; `steps`: changes (ChangeSets as JSON) that lead from each text to the
   * next one, the last of them to all that was typed. A file that has changed otherwise is merged with it, or gets a
   * conflict. The reply has the present names of the branch and the file.
   */
  'add unsent text': repeatable(
    {
      branch: Branch,
      path: Path,
      since: v.optional(Oid),
      start: v.string(),
      steps: v.pipe(v.array(v.unknown()), v.nonEmpty(), v.maxLength(1_000)),
      ...Form.entries,
    },
    v.object({ branch: Branch, path: Path, isConflict: v.boolean() }),
  ),
  /** Commits drafts. No commit if nothing has changed. */
  save: question({ branch: Branch, paths: Paths, message: v.optional(v.string()) }, SaveResult),
  /** Updates the checkouts that stayed behind the branch; news say whether they follow now. */
  'follow again': question({ branch: Branch }, Nothing),
  /**
   * After a checkout could not follow a save: the new branch `to` gets the saved commits and the drafts, and the branch
   * goes back to the checkout's commit.
   */
  'save elsewhere': question({ branch: Branch, to: Branch }, Commit),
  /**
   * Moves the drafts to the new branch `to` at commit `from`: the branch's own, or that where it was before it was
   * moved.
   */
  'drafts elsewhere': question({ branch: Branch, from: Oid, to: Branch }, Gone),
  /** Moves the drafts to the branch `to`, which exists, and merges them with what that has. */
  'drafts onto': question({ branch: Branch, to: Branch }, Gone),
  /** Commits some of the drafts' changes; what is left out stays a draft. */
  'save parts': question({ branch: Branch, parts: Parts, message: v.optional(v.string()) }, Commit),
  /** Takes some of a commit's changes back, as drafts of a branch; the operation can be undone. */
  'take back': question({ branch: Branch, commit: Oid, parts: Parts }, Nothing),
  /**
   * Merges what a stash has put away into the drafts of a branch; the stash stays. The reply has the files whose drafts
   * are in conflict with it, and the stash's name (`stash@{0}`) at that time, if it has one. The operation can be
   * undone.
   */
  'apply stash': question(
    { branch: Branch, commit: Oid },
    v.object({ conflicts: v.array(Path), name: v.optional(v.string()) }),
  ),
  /**
   * Drops a stash; the operation can be undone, which makes it the newest one. The reply has the name that it had last.
   */
  'drop stash': question({ commit: Oid }, v.object({ name: v.string() })),
  /** Discards drafts; the operation can be undone. */
  discard: question({ branch: Branch, paths: v.array(Path) }, Gone),
  /**
   * Replaces parts of lines in several files, which become drafts in one operation. `tree`: the tree that the edits
   * were made for; nothing is replaced if one of the files has changed since. `words`: what is replaced by what. The
   * reply has the files that can't be edited, and why.
   */
  'replace in files': question(
    {
      branch: Branch,
      tree: Oid,
      words: v.pipe(v.string(), v.maxLength(1_000)),
      files: v.pipe(
        v.array(v.object({ path: Path, edits: v.pipe(v.array(LineEdit), v.maxLength(MAX_REPLACED_MATCHES)) })),
        v.maxLength(MAX_REPLACED_MATCHES),
      ),
    },
    v.object({ files: Count, edits: Count, skipped: v.array(v.object({ path: Path, why: v.string() })) }),
  ),
  /** Gives all lines of a file these line ends, as a draft; the operation can be undone. */
  'change line ends': question(
    { branch: Branch, path: Path, lineEnd: v.picklist(['LF', 'CRLF']) },
    v.object({ isChanged: v.boolean() }),
  ),
  /** Makes a file executable, or not, as a draft; the operation can be undone. */
  'set executable': question({ branch: Branch, path: Path, isExecutable: v.boolean() }, Nothing),
  /** The default message of a save. */
  message: repeatable({ branch: Branch, paths: Paths }, v.object({ message: v.string() })),
  /** Adds an empty file as a draft. */
  'new file': question({ branch: Branch, path: Path }, Nothing),
  /**
   * Adds files with content, as drafts, all or none. If some exist and `isReplacing` is not set, nothing is done, and
   * the reply lists these.
   */
  'add files': question(
    { branch: Branch, files: Some(v.object({ path: Path, base64: v.string() })), isReplacing: v.boolean() },
    v.object({ existing: v.array(Path) }),
  ),
  /** Moves or renames files and folders as drafts, all or none, in this order. */
  move: question({ branch: Branch, moves: Some(v.object({ from: Path, to: Path })) }, Nothing),
  /**
   * Copies files and folders of a branch (with their drafts) or a commit into a branch, as drafts, all or none. With
   * `findsNames`, a copy whose name is taken gets another one (see paths.ts). The reply has the new paths.
   */
  copy: question(
    { at: At, branch: Branch, copies: Some(v.object({ from: Path, to: Path })), findsNames: v.boolean() },
    v.object({ paths: v.array(Path) }),
  ),
  /** Deletes files and folders as drafts, all or none. The reply has the operation. */
  delete: question({ branch: Branch, paths: Some(Path) }, v.object({ operation: v.optional(Oid) })),
  /**
   * Restores a deleted file as a draft: with the text that windows still show of it, or else with its last content,
   * which can be undone.
   */
  'restore file': question({ branch: Branch, path: Path }, Nothing),
  /** What is known of a file that a branch does not have any more. */
  'deleted file': repeatable({ branch: Branch, path: Path }, DeletedFile),
  /**
   * What the deletion of a branch would take: how many of its commits no other branch, remote branch or tag has
   * (`commits`), and its drafts, also those of other windows and desks. `tip`: its last commit.
   */
  'branch deletion': repeatable(
    { branch: Branch },
    v.object({ commits: Count, tip: v.optional(Oid), drafts: v.array(Path) }),
  ),
  /**
   * Creates a branch at a commit; the untracked files of a stash become its drafts. `tracks`: the remote-tracking ref
   * that becomes the branch's upstream.
   */
  'new branch': question({ branch: Branch, from: v.nullable(Oid), tracks: v.optional(RefName) }, Nothing),
  /** Sets the upstream of a branch to a remote-tracking ref; null unsets it. */
  'set upstream': question({ branch: Branch, upstream: v.nullable(RefName) }, Nothing),
  'rename branch': question({ branch: Branch, to: Branch }, Nothing),
  /**
   * Deletes a branch, unless it was moved since it was at the commit `before`, or has drafts that are not in `drafts`,
   * as the user has seen it.
   */
  'delete branch': question({ branch: Branch, before: v.optional(Oid), drafts: v.optional(v.array(Path)) }, Nothing),
  /** The current name of a branch that may have been renamed. */
  'name now': repeatable({ branch: Branch }, v.object({ branch: Branch })),
  /**
   * The current paths of files, in the same order, after renames since the branch was at a commit; those of them that
   * the branch does not have any more; and the commit that it is at now.
   */
  'paths now': repeatable(
    { branch: Branch, since: Oid, paths: v.pipe(v.array(Path), v.maxLength(1_000)) },
    v.object({ paths: v.array(Path), missing: v.array(Path), tip: v.optional(Oid) }),
  ),
  /** Restores a deleted branch at its last commit. */
  'restore branch': repeatable({ branch: Branch }, Nothing),
  /** Lists `count` operations after the newest `from`, newest first. */
  operations: repeatable({ from: Count, count: Count }, v.array(Operation)),
  /** Undoes an operation; without one, the last of the branch, or of all. */
  undo: question({ operation: v.optional(Oid), branch: v.optional(Branch) }, Reversed),
  redo: question({ branch: v.optional(Branch) }, Reversed),
  /** Why this undo or redo would be refused now, in the words of its refusal; undefined if nothing is in the way. */
  'why not reversed': repeatable(
    { kind: v.picklist(['undo', 'redo']), operation: v.optional(Oid), branch: v.optional(Branch) },
    v.object({ why: v.optional(v.string()) }),
  ),
}
