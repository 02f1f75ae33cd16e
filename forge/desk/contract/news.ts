/** Messages that the server sends without a question. */
import * as v from 'valibot'
import { Edit, File } from './branches.ts'
import { TurnNews } from './chat.ts'
import { DeskInfo } from './desk.ts'
import { Match } from './reading.ts'
import { Branch, Count, Oid, Path } from './values.ts'

const say = <const Kind extends string, const Fields extends v.ObjectEntries>(kind: Kind, fields: Fields) =>
  v.object({ say: v.literal(kind), ...fields })

export const News = v.variant('say', [
  say('desk', { desk: DeskInfo }),
  /**
   * A branch has another tip or other drafts (`isOfDrafts`: only these): what is shown of it is to be asked for again,
   * but for files that are open, of which the server says by itself what becomes of them.
   */
  say('branch', { branch: Branch, isOfDrafts: v.optional(v.boolean()) }),
  /** A branch was renamed: windows that show it follow to the new name. */
  say('renamed', { branch: Branch, to: Branch }),
  /** A file or folder has another path: windows that show it go on under that, and have it open there. */
  say('renamed file', { branch: Branch, from: Path, to: Path }),
  /** Edits of an open file, the first of which leads to `version` + 1. The window's own come back, too. */
  say('edited', { branch: Branch, path: Path, version: Count, edits: v.array(Edit) }),
  /** An open file has another text altogether: saved elsewhere, merged, undone, discarded. */
  say('replaced', { branch: Branch, path: Path, file: File }),
  /** `drafts`: those that are left in the branch. */
  say('saved', { branch: Branch, commit: Oid, drafts: v.array(Path) }),
  /** A checkout of the branch could not follow: why, and in which folder. */
  say('checkout left behind', { branch: Branch, folder: v.string(), why: v.string() }),
  /** A checkout that was left behind has followed the branch. */
  say('checkout follows', { branch: Branch }),
  /**
   * The drafts that have to be settled by the person, all that are left: none, where another window has done it. Also
   * said where one of them is about other texts than before.
   */
  say('found', { search: Count, matches: v.array(Match), isDone: v.boolean(), isCut: v.boolean() }),
  /** What an AI does in a branch. */
  say('turn', { branch: Branch, news: TurnNews }),
  /** What git says of a fetch or push that is under way; without words, it has ended. */
  say('progress', { words: v.optional(v.string()) }),
  /** A line that Forklift printed, and how it ended. */
  say('forklift', { line: v.optional(v.string()), end: v.optional(Count) }),
  /** Refs, the graph or the runs of Forklift are not what they were. */
  say('repository', {}),
  /**
   * What was to be done in a branch waits for a commit that a person has to sign; without words, nothing does any more.
   */
  say('waiting', { branch: Branch, words: v.optional(v.string()) }),
  /**
   * Something that a person should know, once: drafts can't be written, for example. What is said of a topic later takes
   * the place of what was said before.
   */
  say('notice', { words: v.string(), isBad: v.boolean(), topic: v.optional(v.string()) }),
])
export type News = v.InferOutput<typeof News>
