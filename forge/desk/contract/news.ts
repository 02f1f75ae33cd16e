/** News: messages that the server sends without a question. */
import * as v from 'valibot'
import { Edit, File } from './branches.ts'
import { TurnNews } from './chat.ts'
import { DeskInfo, LeftBehind } from './desk.ts'
import { LanguageState, Problem } from './language.ts'
import { Match } from './reading.ts'
import { UserSettings } from './settings.ts'
import { Branch, Count, Gone, Oid, Path } from './values.ts'

const say = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.object({ say: v.literal(kind), ...fields })

export const News = v.variant('say', [
  say('desk', { desk: DeskInfo }),
  /** The user's settings have changed. */
  say('settings', { settings: UserSettings }),
  /**
   * A branch has another tip or other drafts (`isOfDrafts`: only other drafts): its views load again, except open
   * files, which get news of their own.
   */
  say('branch', { branch: Branch, isOfDrafts: v.optional(v.boolean()) }),
  /** An undo or a redo has deleted a branch, in which nothing is left that is not saved: all windows close its tab. */
  say('branch gone', { branch: Branch }),
  /** A branch was renamed: windows that show it follow. */
  say('renamed', { branch: Branch, to: Branch }),
  /** A file or folder was renamed: windows that have it open follow. */
  say('renamed file', { branch: Branch, from: Path, to: Path }),
  /** Files that an operation has removed from a branch: windows close their tabs. */
  say('files gone', { branch: Branch, ...Gone.entries }),
  /** Another window has moved the drafts of a branch to the branch `to`. */
  say('drafts moved', { branch: Branch, to: Branch, ...Gone.entries }),
  /** An operation was undone or redone: all windows open the tabs again that they closed for it. */
  say('undone', { operation: Oid }),
  /** Edits of an open file; the first leads to `version` + 1. A window also receives its own. */
  say('edited', { branch: Branch, path: Path, version: Count, edits: v.array(Edit) }),
  /** An open file was replaced: saved elsewhere, merged, undone, discarded. */
  say('replaced', { branch: Branch, path: Path, file: File }),
  /** A save. `drafts`: those that are left in the branch. */
  say('saved', { branch: Branch, commit: Oid, drafts: v.array(Path) }),
  /** A checkout could not follow its branch. */
  say('checkout left behind', LeftBehind.entries),
  /** A checkout that was left behind has followed the branch. */
  say('checkout follows', { branch: Branch }),
  /** What an action was refused for, in these words, has ended: their notice does not apply any more. */
  say('refusal over', { words: v.string() }),
  /**
   * Matches of a search that is running. `readOnly`: files with matches that can't be edited, with the reason, in a
   * search for what is to be replaced; their matches are left out. `isOfUtf8Alone`: files in other encodings were not
   * searched.
   */
  say('found', {
    search: Count,
    matches: v.array(Match),
    readOnly: v.optional(v.array(v.object({ path: Path, why: v.string() }))),
    isDone: v.boolean(),
    isCut: v.boolean(),
    isOfUtf8Alone: v.optional(v.boolean()),
  }),
  /** The problems of an open file have changed: those in this version of its text. */
  say('problems', { branch: Branch, path: Path, version: Count, problems: v.array(Problem) }),
  /** The state of a language server has changed, of the files that it is for (by the ends of their names). */
  say('language server', { branch: Branch, ends: v.array(v.string()), state: LanguageState }),
  /** Language servers were switched on or off, or their state may have changed: pages ask again. */
  say('language servers', {}),
  /** The progress of an AI's turn in a branch. */
  say('turn', { branch: Branch, news: TurnNews }),
  /** The output of git for a fetch or push in progress; without words, it has ended. */
  say('progress', { words: v.optional(v.string()) }),
  /** A line of Forklift's output, or its exit code. */
  say('forklift', { line: v.optional(v.string()), end: v.optional(Count) }),
  /** Refs, the graph or the runs of Forklift have changed. */
  say('repository', {}),
  /** An operation in a branch waits for a signature; without words, none does any more. */
  say('waiting', { branch: Branch, words: v.optional(v.string()) }),
  /**
   * A message to show once, such as that drafts can't be written. It replaces an earlier one of the same topic.
   * `branch`: the branch that a failure is about, whose tab alone shows it.
   */
  say('notice', {
    words: v.string(),
    isBad: v.boolean(),
    topic: v.optional(v.string()),
    branch: v.optional(Branch),
  }),
])
export type News = v.InferOutput<typeof News>
