/** What the page can ask about comments on the lines of a review. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { At, Count, Oid, Path } from './values.ts'

/** The largest comment, in characters. */
export const MAX_COMMENT_CHARS = 10_000
/** Of a commented line, at most this many characters are kept. */
export const MAX_LINE_CHARS = 500

const Id = v.pipe(v.string(), v.regex(/^[\da-z]{1,40}$/))

/** A comment on a line of a file. */
export const Comment = v.object({
  id: Id,
  /** The commit at which the comment was made; the comment is stored as a note on that commit. */
  commit: Oid,
  /** The file's path now: in a branch, a comment follows the renames of its file. */
  path: Path,
  /** Whether the line is in the reviewed version, or in the one that it is compared with. */
  side: v.picklist(['before', 'after']),
  /**
   * The line's number now, from 1; undefined where the line is gone. Of a line in the version that the review compares
   * with, which the server does not know, it is the number when the comment was made: the page follows it.
   */
  line: v.optional(Count),
  /** The line's number when the comment was made. */
  madeAt: Count,
  /** The text of the line when the comment was made. */
  text: v.string(),
  words: v.string(),
  /** The author's name. */
  author: v.string(),
  /** When the comment was made, in seconds since 1970. */
  time: v.number(),
  isResolved: v.boolean(),
  /** For an answer: the id of its conversation, which is that of the conversation's first comment. */
  answers: v.optional(Id),
})
export type Comment = v.InferOutput<typeof Comment>

/** The id of the conversation that a comment is in. */
export const conversationOf = ({ id, answers }: Pick<Comment, 'id' | 'answers'>): string => answers ?? id

/** Whether a line of a text is that which was commented on, by its stored text. Numbers count from 1. */
export const isLine = (lines: readonly string[], number: number, text: string): boolean =>
  lines[number - 1]?.slice(0, MAX_LINE_CHARS) === text.slice(0, MAX_LINE_CHARS)

/** The number of a commented line in a text: of the nearest line that is the same; undefined if there is none. */
export function nearestLine(lines: readonly string[], line: number, text: string): number | undefined {
  const isSame = (number: number) => isLine(lines, number, text)
  const furthest = Math.max(line, lines.length)
  for (let away = 0; away <= furthest; away++) {
    if (isSame(line - away)) return line - away
    if (isSame(line + away)) return line + away
  }
  return undefined
}

const Words = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(MAX_COMMENT_CHARS))

export const commentQuestions = {
  /** The comments on a branch, or those made on a commit. */
  comments: repeatable({ at: At }, v.array(Comment)),
  comment: question(
    {
      at: At,
      path: Path,
      side: v.picklist(['before', 'after']),
      line: v.pipe(Count, v.minValue(1)),
      text: v.pipe(v.string(), v.maxLength(MAX_LINE_CHARS)),
      words: Words,
      answers: v.optional(Id),
    },
    v.object({ id: Id }),
  ),
  /** Resolves the comments of a conversation, or reopens them. */
  'resolve comments': question(
    { comments: v.array(v.object({ commit: Oid, comment: Id })), isResolved: v.boolean() },
    Nothing,
  ),
  'delete comment': question({ commit: Oid, comment: Id }, Nothing),
}
