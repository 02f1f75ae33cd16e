/** The message of a commit as a model writes it: a stranger's text, made into what git's tools expect. */
import { visibleLines } from '../../core/text.ts'

/** The longest subject that git's own tools don't cut, in characters. */
const SUBJECT = 72
/** The most characters of a message. */
const MAX_MESSAGE_CHARS = 4000

/** Trailers about authors and reviewers, and those that other programs obey: a model must not write them. */
const TRAILER =
  /^[ \t]*([a-z]+-)*(signed-off|co-authored|authored|reviewed|acked|tested|approved)-by[ \t]*:|^[ \t]*(forge-[a-z-]+|skip-checks|change-id)[ \t]*:/i
/** Words that would stop a check of what is pushed: an order to a machine, and no description. */
const ORDER = /\[((?:skip|no)[ -](?:ci|actions)|(?:ci|actions)[ -]skip)\]|\*\*\*(no_ci)\*\*\*/gi

/**
 * A subject of at most 72 characters and what stands below it, without control characters and without trailers.
 * Undefined where there is nothing left.
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

/** A line that is too long for a subject, up to the last word that has room. */
function shortened(line: string): string {
  const characters = [...line]
  if (characters.length <= SUBJECT) return line
  const start = characters.slice(0, SUBJECT - 1).join('')
  const cut = start.lastIndexOf(' ')
  return `${(cut > SUBJECT / 2 ? start.slice(0, cut) : start).trimEnd()}…`
}
