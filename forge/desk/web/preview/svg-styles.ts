/**
 * Finds which elements the style rules of an SVG make refer to others. Only rules of the simplest form are read; the
 * references of any other style sheet count for all elements.
 */
import { identifiersIn } from './svg-references.ts'

/** Addresses and comments. An unclosed one extends to the end of the text, as in CSS. */
const COMMENT = /url\([^)]*(?:\)|$)|"[^"\\\n]*"|'[^'\\\n]*'|\/\*[\s\S]*?(?:\*\/|$)/gi
/** Blanks are those of CSS: others are letters in it. Each repetition can match in one way only. */
const RULE =
  /([\w \t\n\r\f.#,>+~*:-]+)\{((?:[^{}"'()[\]\\]|"[^"\\\n{}]*"|'[^'\\\n{}]*'|\((?:[^{}"'()[\]\\]|"[^"\\\n{}]*"|'[^'\\\n{}]*')*\))*)\}[ \t\n\r\f]*/y

const ALL = '*'
/** The number of selectors with functions that doubles the cost of each element: they can test many others for it. */
const SELECTORS_PER_ELEMENT = 10

/** How much longer a style sheet makes it to find the rules of an element. */
export const matchingCostOf = (sheet: string): number =>
  1 + (sheet.match(/:[^\s:;({]+\(/g)?.length ?? 0) / SELECTORS_PER_ELEMENT

/** The ids that style rules refer to, by what the rules call elements: `path`, `.class`, `#id`, or `*`. */
export class Styles {
  constructor(readonly byKey: ReadonlyMap<string, ReadonlySet<string>>) {}

  /** The ids that an element refers to by rules. `keys`: its name, id and classes, in lower case. */
  referencesOf(keys: readonly string[]): ReadonlySet<string> {
    const found = new Set<string>()
    if (this.byKey.size === 0) return found
    for (const key of [ALL, ...keys]) for (const id of this.byKey.get(key) ?? []) found.add(id)
    return found
  }
}

export function stylesFrom(texts: readonly string[]): Styles {
  const byKey = new Map<string, Set<string>>()
  const add = (key: string, ids: Iterable<string>) => {
    const known = byKey.get(key) ?? new Set()
    for (const id of ids) known.add(id)
    byKey.set(key, known)
  }
  for (const text of texts) {
    if (!/[#\\]/.test(text)) continue
    const rules = rulesIn(text)
    if (!rules) add(ALL, identifiersIn(text))
    for (const { subjects, declarations } of rules ?? []) {
      const ids = identifiersIn(declarations)
      if (ids.size > 0) for (const subject of subjects) add(subject, ids)
    }
  }
  return new Styles(byKey)
}

interface Rule {
  subjects: string[]
  declarations: string
}

/** The rules of a style sheet; undefined if there is anything else in it. */
function rulesIn(text: string): Rule[] | undefined {
  const plain = text.replace(COMMENT, piece => (piece.startsWith('/*') ? ' ' : piece))
  const rules: Rule[] = []
  let at = 0
  while (at < plain.length) {
    RULE.lastIndex = at
    const [, selectors = '', declarations = ''] = RULE.exec(plain) ?? []
    if (RULE.lastIndex === 0) return undefined
    at = RULE.lastIndex
    rules.push({ subjects: selectors.split(',').map(subjectOf), declarations })
  }
  return rules
}

/** What the last part of a selector names: `.b` for `g .b:hover`. The selector can say more, which is left out. */
function subjectOf(selector: string): string {
  const last =
    selector
      .trim()
      .split(/[ \t\n\r\f>+~]+/)
      .at(-1) ?? ''
  const [plain = ''] = last.split(':', 1)
  const pieces = plain.match(/[.#]?[^.#]+/g) ?? []
  return (pieces.find(piece => /^[.#]/.test(piece)) ?? pieces[0] ?? ALL).toLowerCase()
}
