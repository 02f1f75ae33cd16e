/**
 * Blanks out the macros of C and C++ that a grammar can't know, such as `FMT_EXPORT` before a class: the parser takes
 * them for types, and its recovery from that error may hide the class that follows.
 */

/** The name of a macro, by convention, and its arguments on the same line. */
const MACRO = String.raw`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?:\([^()\n]*\))?`
const ALONE = new RegExp(String.raw`^[ \t]*${MACRO}[ \t]*(?=(?://.*)?\r?$)`)
/** A macro before a block inside of a function, such as `LIB_CATCH(...) {}`. */
const BEFORE_BLOCK = new RegExp(String.raw`^[ \t]+${MACRO}(?=[ \t]*\{)`)
/** A macro between a keyword and the name of a class, or the condition of an `if`. */
const AFTER_KEYWORD =
  /(?<=\b(?:class|struct|union|if)[ \t]{1,80})[A-Z][A-Z0-9_]+\b(?:\("[^"\n]*"\))?(?=[ \t]+[A-Za-z_(])/g
/** A macro before the words of a declaration: a keyword, or a type and a name. A macro and a name may be a variable. */
const BEFORE_DECLARATION = new RegExp(
  String.raw`${MACRO}(?=[ \t]+(?:template\b|~|[A-Za-z_][\w:]*(?:<[^;{}()\n]{0,200}>)?[ \t*&]+[A-Za-z_]))`,
  'g',
)
/** A macro and a name with parameters, as of a constructor. */
const BEFORE_CALL = new RegExp(String.raw`${MACRO}(?=[ \t]+([A-Za-z_]\w*)\()`, 'g')
/** A macro with arguments as the last parameter of a template, such as a condition. */
const TEMPLATE_PARAMETER =
  /(?<=[<,]\s{0,200})[A-Z][A-Z0-9]*_[A-Z0-9_]+\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)(?=\s*>)/g
/** A cast such as in `unsigned(a) < b`, which the grammar takes for the beginning of template arguments. */
const CAST = /\b(?:un)?signed(?=\()/g
const CLASS_NAME = /\b(?:class|struct)[ \t]+(?:[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?[ \t]+)?([A-Za-z_]\w*)/g

/** A text of C or C++ with spaces in place of such macros, so that all places stay the same. */
export function withoutMacros(text: string): string {
  const classes = new Set([...text.matchAll(CLASS_NAME)].map(([, name]) => name))
  const lines = text.replace(TEMPLATE_PARAMETER, asParameter).split('\n')
  let isDirective = false
  const blanked = lines.map((line, at) => {
    const isOfDirective = isDirective || /^[ \t]*#/.test(line)
    isDirective = isOfDirective && /\\\r?$/.test(line)
    if (isOfDirective) return line
    if (ALONE.test(line) && !isInList(lines, at)) return line.replace(ALONE, blank)
    return line
      .replace(BEFORE_BLOCK, blank)
      .replace(AFTER_KEYWORD, blank)
      .replace(BEFORE_DECLARATION, blank)
      .replace(CAST, word => 'x'.repeat(word.length))
      .replace(BEFORE_CALL, (macro, name) => (classes.has(name) ? blank(macro) : macro))
  })
  return blanked.join('\n')
}

const blank = (macro: string): string => macro.replace(/[^\r\n]/g, ' ')
const asParameter = (macro: string): string => `typename${blank(macro.slice('typename'.length))}`

/** Whether a line may be a part of a list, such as the last name of an enumeration. */
const isInList = (lines: readonly string[], at: number): boolean =>
  /,[ \t\r]*$/.test(codeBeside(lines, at, -1)) || /^[ \t]*[})\],]/.test(codeBeside(lines, at, 1))

/** At most this many lines without code are passed over. */
const MAX_PASSED_LINES = 20

/** The nearest line before (-1) or after (1) another one that has code: no directive, and not only a comment. */
function codeBeside(lines: readonly string[], at: number, step: 1 | -1): string {
  const near = Array.from({ length: MAX_PASSED_LINES }, (_, passed) => lines[at + step * (passed + 1)] ?? '')
  return near.find(line => !/^[ \t\r]*(?:#|\/[/*]|\*|$)/.test(line)) ?? ''
}
