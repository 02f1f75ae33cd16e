/** Cleans a commit message that a model wrote, which is untrusted, to what git's tools expect. */
import { visibleLines } from '../../core/text.ts'

/** At most this many characters for a subject: git's own tools cut longer ones. */
const SUBJECT = 72
/** At most this many characters for a message. */
const MAX_MESSAGE_CHARS = 4000

/** Trailers that a model must not write: those about authors and reviewers, and those that other programs act on. */
const TRAILER =
  /^[ \t]*([a-z]+-)*(signed-off|co-authored|authored|reviewed|acked|tested|approved)-by[ \t]*:|^[ \t]*(forge-[a-z-]+|skip-checks|change-id)[ \t]*:/i
/** Markers that make a CI skip its run. In a model's message they are not allowed. */
const ORDER = /\[((?:skip|no)[ -](?:ci|actions)|(?:ci|actions)[ -]skip)\]|\*\*\*(no_ci)\*\*\*/gi

/**
 * Gives a subject of at most 72 characters and the body, without control characters and trailers. Undefined where
 * nothing is left.
 */
export function cleanMessage(text: string): string | undefined {
  const lines = visibleLines(text.slice(0, 4 * MAX_MESSAGE_CHARS))
    .replace(ORDER, (_, inBrackets, inStars) => `(${inBrackets ?? inStars})`)
    .split('\n')
    .map(line => line.trimEnd())
    .filter(line => !/^```/.test(line) && !TRAILER.test(line))
  const first = lines.findIndex(line => line.trim() !== '')
  if (first < 0) return undefined
  const subject = (lines[first] ?? '').trim()
  const body = lines
    .slice(first + 1)
    .join('\n')
    .replace(/^\n+|\n+$/g, '')
    .replace(/\n{3,}/g, '\n\n')
  const short = shortened(subject)
  const whole = [short, short === subject ? '' : subject, body].filter(Boolean).join('\n\n')
  return whole.slice(0, MAX_MESSAGE_CHARS).toWellFormed().trimEnd()
}

/** A line cut to a subject's length, at the end of a word. */
function shortened(line: string): string {
  const characters = [...line]
  if (characters.length <= SUBJECT) return line
  const start = characters.slice(0, SUBJECT - 1).join('')
  const cut = start.lastIndexOf(' ')
  return `${(cut > SUBJECT / 2 ? start.slice(0, cut) : start).trimEnd()}…`
}
