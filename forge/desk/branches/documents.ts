/**
 * Files that are open in an editor, as the server has them: it decides in which order edits count, as
 * `@codemirror/collab` wants it from its authority.
 */
import { ChangeSet, type ChangeSpec, Text } from '@codemirror/state'
import { diffArrays } from 'diff'
import { Failure } from '../../../core/failure.ts'
import type { Edit } from '../contract/branches.ts'
import { byteSizeOf, refusalOf, sizeAfter } from '../contract/editable-text.ts'
import { encode, type Form } from '../reading/text.ts'

/**
 * What came of edits: taken, with what is to be told to all windows; made for an older version; or refused, and why,
 * since they lead to a text that can't be edited.
 */
export type Taken = { accepted: true; edits: Edit[] } | { accepted: false; refused?: string }

/** The name under which the server itself edits: after a merge, for example. */
const SERVER = 'forge'

/**
 * One file's text, which several windows edit. Its {@link marked} text is what the server is just working with (writing
 * it, merging it), while edits go on.
 */
export class Document {
  #text: Text
  #form: Form
  #version = 0
  /** The bytes of the text in its form. */
  #size: number
  #marked: Text
  /** What was edited since the mark. */
  #since: ChangeSet

  constructor(text: string, form: Form) {
    this.#text = Text.of(text.split('\n'))
    this.#form = { lineEnd: form.lineEnd, bom: form.bom }
    this.#size = byteSizeOf(this.#text, this.#form)
    this.#marked = this.#text
    this.#since = ChangeSet.empty(this.#text.length)
  }

  get text(): string {
    return this.#text.toString()
  }

  get form(): Form {
    return this.#form
  }

  /** How many edits led to the text. */
  get version(): number {
    return this.#version
  }

  /**
   * Takes edits that were made to this version of the text, all of them or none. Throws a {@link Failure} where one is
   * no edit of that text.
   */
  take(version: number, edits: readonly Edit[]): Taken {
    if (version !== this.#version) return { accepted: false }
    let [text, size] = [this.#text, this.#size]
    const changes: ChangeSet[] = []
    for (const edit of edits) {
      const change = changeFrom(edit.changes, text.length)
      const after = change.apply(text)
      const refusal = refusalOf({ before: text, change, after, size, form: this.#form })
      if (refusal) return { accepted: false, refused: refusal.why }
      size = sizeAfter(size, text, change, this.#form)
      text = after
      changes.push(change)
    }
    this.#text = text
    this.#size = size
    this.#version += changes.length
    for (const change of changes) this.#since = this.#since.compose(change)
    return { accepted: true, edits: edits.map(({ client }, at) => ({ client, changes: changes[at]?.toJSON() })) }
  }

  /** Marks the text as it is now, and gives its bytes. */
  mark(): Buffer {
    this.#marked = this.#text
    this.#since = ChangeSet.empty(this.#text.length)
    return encode(this.text, this.#form)
  }

  /**
   * Makes of the marked text another one; what was typed since the mark stays typed. Gives the edit, to be told to all
   * windows, and the version that it was made to; undefined where the text is the same.
   */
  become(text: string, form: Form): { version: number; edit: Edit } | undefined {
    this.#form = { lineEnd: form.lineEnd, bom: form.bom }
    const whole = changeBetween(this.#marked.toString(), text)
    if (whole.empty) {
      this.#size = byteSizeOf(this.#text, this.#form)
      return undefined
    }
    // At one place the server's lines come first, as a window has it that hears of them.
    const change = whole.map(this.#since, true)
    const { version } = this
    this.#text = change.apply(this.#text)
    this.#size = byteSizeOf(this.#text, this.#form)
    this.#version++
    // The other text is the marked one now, and what was typed comes after it.
    this.#marked = whole.apply(this.#marked)
    this.#since = this.#since.map(whole)
    return { version, edit: { client: SERVER, changes: change.toJSON() } }
  }
}

/**
 * A change as it came from a page, not validated. Its form is a list: a number for so many characters kept, or for so
 * many replaced and the lines that stand there instead.
 */
function changeFrom(json: unknown, length: number): ChangeSet {
  if (!Array.isArray(json) || !json.every(isSection)) throw notAnEdit()
  const kept = json.reduce<number>((sum, section) => sum + (typeof section === 'number' ? section : section[0]), 0)
  if (kept !== length) throw notAnEdit()
  for (const section of json) {
    if (typeof section === 'number') continue
    const lines = section.slice(1) as string[]
    // A line end inside of a line would be a line for some and none for others.
    if (lines.some(line => line.includes('\n'))) throw notAnEdit()
  }
  return ChangeSet.fromJSON(json)
}

const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
type Section = number | [number, ...string[]]
function isSection(section: unknown): section is Section {
  if (!Array.isArray(section)) return isLength(section)
  const [length, ...lines] = section
  return isLength(length) && lines.every(line => typeof line === 'string')
}

const notAnEdit = (): Failure =>
  new Failure('What the page sent is no edit of this text: nothing was changed. Load the page again.')

/** In a text that differs in more lines, one replacement will do: to find the lines that are the same would take long. */
const MAX_EDITED_LINES = 2_000

/**
 * What makes one text of another, line by line: lines that stay keep their places, so that what is typed in one of them
 * meanwhile stays in it, also where marks of a conflict come to stand around it.
 */
function changeBetween(before: string, after: string): ChangeSet {
  const hunks = diffArrays(linesOf(before), linesOf(after), { maxEditLength: MAX_EDITED_LINES })
  if (!hunks) return ChangeSet.of(replacement(0, before, after), before.length)
  const changes: ChangeSpec[] = []
  let from = 0
  let removed = ''
  let added = ''
  const end = () => {
    if (removed !== added) changes.push(replacement(from, removed, added))
    from += removed.length
    removed = ''
    added = ''
  }
  for (const hunk of hunks) {
    const text = hunk.value.join('')
    if (hunk.removed) removed += text
    else if (hunk.added) added += text
    else {
      end()
      from += text.length
    }
  }
  end()
  return ChangeSet.of(changes, before.length)
}

/** The lines of a text, each with its end. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? []

/** One replacement that makes one text of another: what both begin and end with stays. */
function replacement(at: number, before: string, after: string): ChangeSpec {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  // A character of two halves is not parted.
  if (/[\ud800-\udbff]/.test(before[start - 1] ?? '')) start--
  if (end > 0 && /[\udc00-\udfff]/.test(before.at(-end) ?? '')) end--
  const insert = Text.of(after.slice(start, after.length - end).split('\n'))
  return { from: at + start, to: at + before.length - end, insert }
}
