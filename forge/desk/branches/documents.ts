/** The open files on the server, which is the authority of `@codemirror/collab`: it decides the order of edits. */
import { ChangeSet, type ChangeSpec, Text } from '@codemirror/state'
import { Failure } from '../../../core/failure.ts'
import type { Edit } from '../contract/branches.ts'
import { afterTyped, DESK_CLIENT, typedAfter } from '../contract/concurrent-edits.ts'
import { byteSizeOf, refusalOf, sizeAfter } from '../contract/editable-text.ts'
import { differingLines, linesOf, startsOf } from '../contract/line-diff.ts'
import { encode, type Form } from '../reading/text.ts'

/**
 * The result of edits: accepted, with the edits to send to all windows; made for an older version; or, with `refused`,
 * not applied, since the text after them could not be edited: `refused` says why.
 */
export type Taken = { accepted: true; edits: Edit[] } | { accepted: false; refused?: string }

/**
 * The text of a file that several windows edit. The {@link marked} text is the one that the server is writing or
 * merging, while edits go on.
 */
export class Document {
  #text: Text
  #form: Form
  #version = 0
  /** The size of the file with this text, in bytes. */
  #size: number
  #marked: Text
  /** The edits since the last {@link mark}. */
  #since: ChangeSet
  /** The texts since then before each edit that removed a conflict marker, as a choice in a conflict does. */
  #beforeChoices: Text[] = []

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

  /** The number of edits that led to the text. */
  get version(): number {
    return this.#version
  }

  /** Applies edits to this version of the text, all or none. Throws {@link NotAnEdit} if one does not fit the text. */
  take(version: number, edits: readonly Edit[]): Taken {
    if (version !== this.#version) return { accepted: false }
    let [text, size] = [this.#text, this.#size]
    const changes: ChangeSet[] = []
    const beforeChoices: Text[] = []
    for (const edit of edits) {
      const change = changeFrom(edit.changes, text.length)
      const after = change.apply(text)
      const refusal = refusalOf({ before: text, change, after, size, form: this.#form })
      if (refusal) return { accepted: false, refused: refusal.why }
      size = sizeAfter(size, text, change, this.#form)
      if (removesMarker(text, change)) beforeChoices.push(text)
      text = after
      changes.push(change)
    }
    this.#text = text
    this.#size = size
    this.#version += changes.length
    this.#beforeChoices.push(...beforeChoices)
    for (const change of changes) this.#since = this.#since.compose(change)
    return { accepted: true, edits: edits.map(({ client }, at) => ({ client, changes: changes[at]?.toJSON() })) }
  }

  /**
   * Remembers the current text, from which {@link become} counts later edits. Returns the bytes of the texts since the
   * last time before each choice in a conflict, and those of the current text as the last.
   */
  mark(): Buffer[] {
    const texts = [...this.#beforeChoices, this.#text]
    this.#marked = this.#text
    this.#since = ChangeSet.empty(this.#text.length)
    this.#beforeChoices = []
    return texts.map(text => encode(text.toString(), this.#form))
  }

  /**
   * Replaces the text as it was at the last {@link mark}; edits made since then are kept. Returns the edit for all
   * windows and the version it applies to; undefined if the text is the same.
   */
  become(text: string, form: Form): { version: number; edit: Edit } | undefined {
    this.#form = { lineEnd: form.lineEnd, bom: form.bom }
    const whole = changeBetween(this.#marked.toString(), text)
    if (whole.empty) {
      this.#size = byteSizeOf(this.#text, this.#form)
      return undefined
    }
    // These were made from another text.
    this.#beforeChoices = []
    const change = afterTyped(whole, this.#since)
    const { version } = this
    this.#text = change.apply(this.#text)
    this.#size = byteSizeOf(this.#text, this.#form)
    this.#version++
    // `text` becomes the marked text, and the edits made since the mark are rebased onto it.
    this.#marked = whole.apply(this.#marked)
    this.#since = typedAfter(whole, this.#since)
    return { version, edit: { client: DESK_CLIENT, changes: change.toJSON() } }
  }
}

/** Whether a change of a text removes the first marker of a conflict. */
function removesMarker(text: Text, change: ChangeSet): boolean {
  let isFound = false
  change.iterChanges((from, to) => {
    isFound ||= to > from && /^<{7}/m.test(text.sliceString(text.lineAt(from).from, to))
  })
  return isFound
}

/**
 * Parses a change from a page: a list with a number for each run of characters kept, or a number of characters replaced
 * and the lines instead of them.
 */
export function changeFrom(json: unknown, length: number): ChangeSet {
  if (!Array.isArray(json) || !json.every(isSection)) throw new NotAnEdit()
  const kept = json.reduce<number>((sum, section) => sum + (typeof section === 'number' ? section : section[0]), 0)
  if (kept !== length) throw new NotAnEdit()
  for (const section of json) {
    if (typeof section === 'number') continue
    const lines = section.slice(1) as string[]
    // A line end inside an inserted line would make two lines of what CodeMirror counts as one.
    if (lines.some(line => line.includes('\n'))) throw new NotAnEdit()
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

/** A change does not fit the text. */
export class NotAnEdit extends Failure {
  constructor() {
    super('What the page sent is no edit of this text: nothing was changed. Load the page again.')
  }
}

/**
 * The change from one text to another, by line: unchanged lines keep their position, so that a concurrent edit stays in
 * its line, even if conflict markers are inserted around it.
 */
export function changeBetween(before: string, after: string): ChangeSet {
  // A last line without a line end equals one with it.
  const [linesA, linesB] = [linesOf(`${before}\n`), linesOf(`${after}\n`)]
  const starts = startsOf(linesA)
  const changes = differingLines(linesA, linesB).map(({ fromA, toA, fromB, toB }) => {
    const from = starts[fromA] ?? 0
    const [removed, added] = [linesA.slice(fromA, toA).join(''), linesB.slice(fromB, toB).join('')]
    // What is inserted or removed at the very end has the line end before it rather than the one after it.
    const isAtEnd = toA === linesA.length && (removed === '' || added === '')
    return isAtEnd ? replacement(from - 1, shifted(removed), shifted(added)) : replacement(from, removed, added)
  })
  return ChangeSet.of(changes, before.length)
}

/** Lines with their last line end moved to their start. */
const shifted = (lines: string): string => (lines === '' ? '' : `\n${lines.slice(0, -1)}`)

/** The replacement of everything between the common start and the common end. */
function replacement(at: number, before: string, after: string): ChangeSpec {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  // Surrogate pairs are not split.
  if (/[\ud800-\udbff]/.test(before[start - 1] ?? '')) start--
  if (end > 0 && /[\udc00-\udfff]/.test(before.at(-end) ?? '')) end--
  const insert = Text.of(after.slice(start, after.length - end).split('\n'))
  return { from: at + start, to: at + before.length - end, insert }
}
