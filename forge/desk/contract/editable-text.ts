/**
 * Which texts can be edited on the desk. The page checks an edit before it takes it into its text, the server before it
 * takes it into its own, and a file is opened by the same limit: so no text can be typed that could not be opened again.
 */
import type { ChangeSet, Text } from '@codemirror/state'
import { MAX_EDITABLE_BYTES } from './limits.ts'

/** How lines end: all with \n, all with \r\n, or some this way and some that. */
export type LineEnd = 'LF' | 'CRLF' | 'mixed'
/** What a file's bytes have that its text does not show: \r\n where the text has \n, and a byte order mark. */
export type Form = { lineEnd: LineEnd; bom: boolean }

const BOM_BYTES = 3
const ENCODER = new TextEncoder()

function bytesIn(text: Text, { lineEnd }: Form): number {
  let bytes = 0
  for (const piece of text.iter()) bytes += ENCODER.encode(piece).length
  return lineEnd === 'CRLF' ? bytes + text.lines - 1 : bytes
}

/** How many bytes a file with this text has. */
export const byteSizeOf = (text: Text, form: Form): number => bytesIn(text, form) + (form.bom ? BOM_BYTES : 0)

/** How many bytes it has after a change, which are counted by the change alone. */
export function sizeAfter(size: number, before: Text, change: ChangeSet, form: Form): number {
  let after = size
  change.iterChanges((fromA, toA, _fromB, _toB, inserted) => {
    after += bytesIn(inserted, form) - bytesIn(before.slice(fromA, toA), form)
  })
  return after
}

/** Why a change can't be taken, in a sentence for the person, and its text as it could be, with the words of a button. */
export type Refusal = { why: string; instead?: Instead }
export type Instead = { text: string; words: string }

/** A text before a change, what the change inserts, and the text after it. */
export type Edited = { before: Text; change: ChangeSet; after: Text; size: number; form: Form }

/** Why a change would lead to a text that can't be edited; undefined where it can be taken. */
export function refusalOf({ before, change, after, size, form }: Edited): Refusal | undefined {
  const inserted = insertedBy(change)
  const nuls = inserted.split('\0').length - 1
  if (nuls > 0) {
    const many = nuls === 1 ? 'a NUL character' : `${nuls} NUL characters`
    const instead = { text: inserted.replaceAll('\0', ''), words: 'Insert without NUL' }
    return { why: `The text has ${many}, which would make a binary file of this one.`, instead }
  }
  if (breaksCharacter(change, after)) {
    const isWhole = inserted.isWellFormed()
    const why = 'The text has half of a character, which can’t be written as UTF-8.'
    return isWhole ? { why } : { why, instead: { text: inserted.toWellFormed(), words: 'Insert with \ufffd' } }
  }
  const bytes = sizeAfter(size, before, change, form)
  if (bytes <= MAX_EDITABLE_BYTES || bytes <= size) return undefined
  return { why: `The file would have ${megabytes(bytes)}, and files of more than 2 MB are not edited here.` }
}

/** All that a change inserts. Where it inserts in several places, each begins a line. */
export function insertedBy(change: ChangeSet): string {
  const texts: string[] = []
  change.iterChanges((_fromA, _toA, _fromB, _toB, inserted) => {
    if (inserted.length > 0) texts.push(inserted.toString())
  })
  return texts.join('\n')
}

/** With as many digits that it differs from the limit. */
function megabytes(bytes: number): string {
  const words = (bytes / (1 << 20)).toFixed(2)
  return words === '2.00' ? '2 MB and a little more' : `${words} MB`
}

/** Whether a change leaves half of a character that takes two of JavaScript's. */
function breaksCharacter(change: ChangeSet, after: Text): boolean {
  let isBroken = false
  change.iterChanges((_fromA, _toA, from, to, inserted) => {
    if (isBroken) return
    if (!inserted.toString().isWellFormed()) isBroken = true
    for (const at of [from, to]) {
      const around = after.sliceString(Math.max(0, at - 2), at + 2)
      // What is cut at the ends of this piece is no half.
      if (!around.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '').isWellFormed()) isBroken = true
    }
  })
  return isBroken
}
