/** Sentences that go into a history: all that is longer is a blob. */
import { visible } from '../../../core/text.ts'

/** Characters of a sentence in a history. */
const MAX_CHARACTERS = 300

/** The first words of what may be long, on one line. */
export function brief(words: string): string {
  const line = visible(words.replace(/\s+/g, ' ').trim())
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 2).toWellFormed()} …` : line
}
