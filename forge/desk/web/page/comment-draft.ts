/** The comment that is being written in a review. The browser keeps it until it is sent or given up. */
import { batch, signal } from '@preact/signals'
import * as v from 'valibot'
import { Comment, nearestLine } from '../../contract/comments.ts'
import { Count, Oid, Path } from '../../contract/values.ts'
import { keepText, keptText, parsedAs } from './kept.ts'
import { textKey } from './texts-of-places.ts'

/** A line of a diff: of the reviewed version, or of the one that it is compared with. */
const CommentPlace = v.object({
  ...v.pick(Comment, ['path', 'side']).entries,
  line: Count,
  /** The id of the conversation that is answered: the field stays below it. */
  answers: v.optional(v.string()),
  /** Whether the line has changed since: the file has no line with its text, which had the number `line`. */
  isChanged: v.optional(v.boolean()),
})
export type CommentPlace = v.InferOutput<typeof CommentPlace>

/** A commented line in words: its number, which for a removed line is that in the version that is compared with. */
export const lineWords = ({ side, line }: Pick<CommentPlace, 'side' | 'line'>): string =>
  `${side === 'before' ? 'removed line' : 'line'} ${line}`

/**
 * Whether two places are the same; that of an answer is where its conversation stands. A line that has changed
 * since is at no place.
 */
export function isSamePlace(one: CommentPlace, other: CommentPlace | undefined): boolean {
  if (one.answers !== undefined || other?.answers !== undefined) return one.answers === other?.answers
  if (one.isChanged || other?.isChanged) return false
  return one.path === other?.path && one.side === other.side && one.line === other.line
}

/** The file in which a comment was begun, and the commit of the branch at that time: its renames since are followed. */
const Origin = v.object({ path: Path, commit: Oid })
type Origin = v.InferOutput<typeof Origin>

/** `line`: the text of the commented line. */
const Kept = v.object({
  ...{ place: CommentPlace, line: v.string(), words: v.string() },
  origin: v.optional(Origin),
})

export class CommentDraft {
  /** Undefined while no comment is written. */
  readonly place = signal<CommentPlace | undefined>(undefined)
  readonly words = signal('')
  /** Increases when a comment is begun, also where its field is open already: the field then takes the focus. */
  readonly begun = signal(0)
  /** The selection in the field, while another field takes its place. */
  selection: [start: number, end: number] | undefined
  /** Whether the next field gets the focus: the comment was just begun, or the field before had it when it went. */
  wantsFocus = false
  /** Keeps the selection of the shown field, and whether it has the focus, for the field that takes its place. */
  keepFocus: (() => void) | undefined
  /** Undefined for a comment on a commit, whose files have no other names. */
  origin: Origin | undefined

  /** The text of the commented line, as far as known. */
  #line: string | undefined
  #key: string

  /** `place`: a key that identifies the branch and its repository. */
  constructor(place: string) {
    this.#key = textKey('comment in', place)
    this.restore()
  }

  /** The text of the commented line; '' while it is unknown. */
  get line(): string {
    return this.#line ?? ''
  }

  /** Goes on with the comment that the browser keeps, unless one is being written. */
  restore(): void {
    if (this.place.peek()) return
    const before = parsedAs(Kept, keptText(this.#key))
    if (!before) return
    this.place.value = before.place
    this.words.value = before.words
    this.#line = before.line
    this.origin = before.origin
  }

  /** Follows the branch to its new name; what the browser keeps has moved already. */
  moveTo(place: string): void {
    this.#key = textKey('comment in', place)
  }

  /**
   * Begins a comment. One that has words already stays where it is and takes the focus, since they are about its line.
   * Returns whether the comment is at the given place. `commit`: that of the branch now.
   */
  begin(place: CommentPlace, commit: string | undefined): boolean {
    const isSame = isSamePlace(place, this.place.peek())
    const isWritten = this.words.peek().trim() !== ''
    if (!isSame && !isWritten) this.#line = undefined
    if (!isWritten) this.origin = commit === undefined ? undefined : { path: place.path, commit }
    this.wantsFocus = true
    batch(() => {
      if (!isWritten) this.place.value = place
      this.begun.value++
    })
    return isSame || !isWritten
  }

  /** `line`: the text of the commented line. */
  write(words: string, line: string): void {
    const place = this.place.peek()
    this.words.value = words
    this.#line = line
    keepText(this.#key, place && words !== '' ? JSON.stringify({ place, line, words, origin: this.origin }) : '')
  }

  /** The comment was sent, or is given up. */
  end(): void {
    this.place.value = undefined
    this.words.value = ''
    this.selection = undefined
    this.wantsFocus = false
    this.origin = undefined
    keepText(this.#key, '')
  }

  /** Follows the file to its new path. */
  followFile(path: string): void {
    const place = this.place.peek()
    if (!place) return
    this.place.value = { ...place, path }
    this.write(this.words.peek(), this.line)
  }

  /**
   * Follows the commented line into another version of its file, whose lines are `now`. `before`: the lines of the
   * version that was shown, if one was, and the number in `now` of each of them. A line whose text is not where it was
   * is found by its text; where that is nowhere, the comment stays one on the line as it was.
   */
  follow(
    side: CommentPlace['side'],
    now: readonly string[],
    before?: { lines: readonly string[]; numberNow: (line: number) => number },
  ): void {
    const place = this.place.peek()
    if (place?.side !== side || place.answers !== undefined) return
    const { isChanged, ...known } = place
    const text = (this.#line ?? before?.lines[place.line - 1])?.replace(/\r$/, '')
    const moved = isChanged ? undefined : before?.numberNow(place.line)
    const isThere = moved !== undefined && (text === undefined || now[moved - 1] === text)
    const line = isThere || text === undefined ? moved : nearestLine(now, place.line, text)
    const isGone = line === undefined && text !== undefined
    const next = { ...known, line: line ?? place.line, ...(isGone && { isChanged: true }) }
    if (next.line === place.line && isGone === (isChanged === true)) return
    // The other field may be made before this one goes.
    this.keepFocus?.()
    this.place.value = next
    this.write(this.words.peek(), text ?? now[next.line - 1] ?? '')
  }
}
