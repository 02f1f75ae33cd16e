/** Finds text that is nested so deeply that parsing or drawing it would freeze the page. */

/**
 * Markers of Markdown that begin a line: quotes and lists in each other. Each repetition can match in one way only, so
 * that a text can't make the search itself slow.
 */
const marker = (blanks: string): string => `(?:(?:[-*+]|\\d{1,9}[.)])[ \\t]+|>${blanks})`
/** Too many for a parser of Markdown that is asked for all of its tokens. */
const DEEP_MARKDOWN = new RegExp(`^[ \\t>]{160,}[^ \\t>\\n]|^[ \\t]*${marker('[ \\t]+')}{24,}`, 'm')
/** Too many for the editor. */
const DEEP_MARKERS = new RegExp(`^[ \\t]*${marker('[ \\t]*')}{100,}`, 'm')
const MAX_OPEN_BRACKETS = 1_000

/** Whether Markdown has quotes and lists nested so deeply that it is shown as source. */
export const isDeepMarkdown = (text: string): boolean => DEEP_MARKDOWN.test(text)

/** Whether a text of any language is nested too deeply to be coloured. */
export function isTooDeepToColour(text: string): boolean {
  if (DEEP_MARKERS.test(text)) return true
  let open = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === ROUND || code === SQUARE || code === CURLY) open++
    else if (open > 0 && (code === END_ROUND || code === END_SQUARE || code === END_CURLY)) open--
    if (open > MAX_OPEN_BRACKETS) return true
  }
  return false
}

const [ROUND, END_ROUND, SQUARE, END_SQUARE, CURLY, END_CURLY] = [40, 41, 91, 93, 123, 125]
