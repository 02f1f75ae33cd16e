/**
 * JSON that a model or a stranger sent. The engine reads any depth, but what walks through a value (to write it down
 * again, to compare it) would end by an overflow of the stack: an answer that was paid for could then not be kept.
 */

/** Nothing that a schema here asks for is nested half as deep. */
const MAX_DEPTH = 200

/**
 * The value that a text is. @throws SyntaxError where it is no JSON, or nested deeper than anything that is asked for.
 */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`It is nested deeper than ${MAX_DEPTH} levels.`)
  return JSON.parse(text)
}

/** Of what is no JSON, any answer: reading it says so. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (isQuoted) {
      if (char === '\\') at++
      else if (char === '"') isQuoted = false
      continue
    }
    if (char === '"') isQuoted = true
    else if (char === '[' || char === '{') depth++
    else if (char === ']' || char === '}') depth--
    if (depth > MAX_DEPTH) return true
  }
  return false
}
