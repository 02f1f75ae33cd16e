/**
 * Files that are open in an editor, as the server has them: it decides in which order edits count, as
 * `@codemirror/collab` wants it from its authority.
 */
import { ChangeSet, Text } from '@codemirror/state'
import { Failure } from '../../../core/failure.ts'
import type { Edit } from '../contract/branches.ts'
import { EDITABLE, encode, type Form } from '../reading/text.ts'

/** What came of edits: taken, with what is to be told to all windows, or made for an older version. */
export type Taken = { accepted: true; edits: Edit[] } | { accepted: false }

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
  #marked: Text
  /** What was edited since the mark. */
  #since: ChangeSet

  constructor(text: string, form: Form) {
    this.#text = Text.of(text.split('\n'))
    this.#form = { lineEnd: form.lineEnd, bom: form.bom }
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
   * no edit of that text, or leads to a text that could not be written or read again.
   */
  take(version: number, edits: readonly Edit[]): Taken {
    if (version !== this.#version) return { accepted: false }
    let text = this.#text
    const changes: ChangeSet[] = []
    for (const edit of edits) {
      const change = changeFrom(edit.changes, text.length)
      text = change.apply(text)
      verifyWholeCharacters(change, text)
      changes.push(change)
    }
    if (text.length > EDITABLE && text.length > this.#text.length)
      throw new Failure('The text would have more than 2 MB: such files are shown and not edited.')
    this.#text = text
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
    if (whole.empty) return undefined
    const change = whole.map(this.#since)
    const { version } = this
    this.#text = change.apply(this.#text)
    this.#version++
    // The other text is the marked one now, and what was typed comes after it.
    this.#marked = whole.apply(this.#marked)
    this.#since = this.#since.map(whole, true)
    return { version, edit: { client: SERVER, changes: change.toJSON() } }
  }
}

/**
 * A change as it came from a page, which could be anybody's. Its form is a list: a number for so many characters kept,
 * or for so many replaced and the lines that stand there instead.
 */
function changeFrom(json: unknown, length: number): ChangeSet {
  if (!Array.isArray(json) || !json.every(isSection)) throw notAnEdit()
  const kept = json.reduce<number>((sum, section) => sum + (typeof section === 'number' ? section : section[0]), 0)
  if (kept !== length) throw notAnEdit()
  for (const section of json) {
    if (typeof section === 'number') continue
    const lines = section.slice(1) as string[]
    // A line end inside of a line would be a line for some and none for others; half a character can't be written.
    if (lines.some(line => line.includes('\n') || !line.isWellFormed())) throw notAnEdit()
    if (lines.some(line => line.includes('\0')))
      throw new Failure('A NUL character would make a binary file of it: what was typed with it is not taken.')
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

/** Throws where a change has left half of a character that takes two of JavaScript's: it can't be written as UTF-8. */
function verifyWholeCharacters(change: ChangeSet, after: Text): void {
  change.iterChangedRanges((_fromA, _toA, from, to) => {
    for (const at of [from, to])
      if (
        !after
          .sliceString(Math.max(0, at - 2), at + 2)
          .replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
          .isWellFormed()
      )
        throw notAnEdit()
  })
}

/** One replacement that makes one text of another: what both begin and end with stays. */
function changeBetween(before: string, after: string): ChangeSet {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  // A character of two halves is not parted.
  if (/[\ud800-\udbff]/.test(before[start - 1] ?? '')) start--
  if (end > 0 && /[\udc00-\udfff]/.test(before.at(-end) ?? '')) end--
  const insert = Text.of(after.slice(start, after.length - end).split('\n'))
  return ChangeSet.of({ from: start, to: before.length - end, insert }, before.length)
}
