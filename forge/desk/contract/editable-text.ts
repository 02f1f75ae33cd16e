/**
 * Which texts can be edited on the desk. The page checks an edit before applying it, the server does so again, and
 * files are opened by the same limit: so no text can be typed that could not be opened again.
 */
import type { ChangeSet, Text } from '@codemirror/state'
import { MAX_EDITABLE_BYTES } from './limits.ts'

/** The line ends of a text: all \n, all \r\n, or both. */
export type LineEnd = 'LF' | 'CRLF' | 'mixed'
/** What a file's bytes have and its text does not: \r\n in place of \n, and a byte order mark. */
export type Form = { lineEnd: LineEnd; bom: boolean }

/** The line ends of a text in which they are as in its file; a single \r is none. */
export function lineEndOf(text: string): LineEnd {
  if (!text.includes('\r')) return 'LF'
  const isUniform = !/\r(?!\n)|(?<!\r)\n/.test(text)
  return isUniform ? 'CRLF' : 'mixed'
}

const BOM_BYTES = 3
const ENCODER = new TextEncoder()

function bytesIn(text: Text, { lineEnd }: Form): number {
  let bytes = 0
  for (const piece of text.iter()) bytes += ENCODER.encode(piece).length
  return lineEnd === 'CRLF' ? bytes + text.lines - 1 : bytes
}

/** The size of a file with this text, in bytes. */
export const byteSizeOf = (text: Text, form: Form): number => bytesIn(text, form) + (form.bom ? BOM_BYTES : 0)

/** The size after a change, in bytes, computed from the change alone. */
export function sizeAfter(size: number, before: Text, change: ChangeSet, form: Form): number {
  let after = size
  change.iterChanges((fromA, toA, _fromB, _toB, inserted) => {
    after += bytesIn(inserted, form) - bytesIn(before.slice(fromA, toA), form)
  })
  return after
}

/** Why a change is refused, as a sentence, and an acceptable variant of its text, if any. */
export type Refusal = { why: string; instead?: Instead }
export type Instead = { text: string; words: string }

/** A change with the texts before and after it. */
export type Edited = { before: Text; change: ChangeSet; after: Text; size: number; form: Form }

/** Why a change would lead to a text that can't be edited; undefined if it is accepted. */
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

/** All text that a change inserts. Text inserted at different places is joined by line ends. */
export function insertedBy(change: ChangeSet): string {
  const texts: string[] = []
  change.iterChanges((_fromA, _toA, _fromB, _toB, inserted) => {
    if (inserted.length > 0) texts.push(inserted.toString())
  })
  return texts.join('\n')
}

/** A size in megabytes for a refusal, with enough digits to differ from the limit of 2 MB. */
function megabytes(bytes: number): string {
  const words = (bytes / (1 << 20)).toFixed(2)
  return words === '2.00' ? '2 MB and a little more' : `${words} MB`
}

/** Whether a change splits a surrogate pair. */
function breaksCharacter(change: ChangeSet, after: Text): boolean {
  let isBroken = false
  change.iterChanges((_fromA, _toA, from, to, inserted) => {
    if (isBroken) return
    if (!inserted.toString().isWellFormed()) isBroken = true
    for (const at of [from, to]) {
      const around = after.sliceString(Math.max(0, at - 2), at + 2)
      // Half of a surrogate pair at the edge of this piece may be completed outside it.
      if (!around.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '').isWellFormed()) isBroken = true
    }
  })
  return isBroken
}
