/**
 * Parses JSON of a model or another untrusted source. JSON.parse accepts any depth, but code that walks through a deep
 * value, to write or compare it, overflows the stack: an answer already paid for could then not be stored.
 */

/** Deeper JSON is refused. No schema here needs half of this depth. */
const MAX_DEPTH = 200

/** Parses a text. @throws SyntaxError where it is no JSON, or nested more deeply than MAX_DEPTH. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`It is nested deeper than ${MAX_DEPTH} levels.`)
  return JSON.parse(text)
}

/** Whether a text is nested too deeply. For invalid JSON any result is fine, since parsing refuses it. */
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
