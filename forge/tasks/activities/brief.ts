/** Short sentences for a workflow's history; longer texts are blobs. */
import { visible } from '../../../core/text.ts'

/** A sentence for a workflow's history is cut to this many characters. */
const MAX_CHARACTERS = 300

/** Puts a text on one line, cut to at most MAX_CHARACTERS. */
export function brief(words: string): string {
  const line = visible(words.replace(/\s+/g, ' ').trim())
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 2).toWellFormed()} …` : line
}
