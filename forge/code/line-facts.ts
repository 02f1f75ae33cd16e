/** What is known of a code file in a language without a grammar, by patterns of its lines. */
import { extname } from 'node:path'
import type { Path } from '../../core/git/repository.ts'
import type { CodeFacts, Definition } from './facts.ts'
import { isCodeByLines, type LineKind, namesByLines } from './line-names.ts'

const MAX_DEFINITION_LINES = 150
const MAX_REFERENCES = 50_000

/**
 * Tells apart how files are read: by the patterns of which language. Undefined for a file that is not read by lines.
 */
export const lineLanguageOf = (path: Path): string | undefined =>
  isCodeByLines(path) ? extname(path).toLowerCase() : undefined

export function factsByLines(path: Path, text: string): CodeFacts {
  const lines = text.split('\n')
  const definitions = namesByLines(path, text).flatMap(({ name, kind, line, column, text: signature }): Definition[] =>
    isDefinition(kind)
      ? [{ name, kind, start: line, end: endByIndent(lines, line - 1), line, column, signature, isOffered: true }]
      : [],
  )
  const references = new Set(text.match(/[A-Za-z_$][\w$]{0,199}/g))
  return {
    definitions,
    references: [...references].slice(0, MAX_REFERENCES),
    imports: [...new Set(importsByLines(path, text))],
    reexports: [],
  }
}

const isDefinition = (kind: LineKind): kind is Definition['kind'] => kind !== 'heading' && kind !== 'key'

/** The last line, from 1, of a definition: it goes up to the next line that is not indented more deeply. */
function endByIndent(lines: readonly string[], at: number): number {
  const indentOf = (line: string): number => line.length - line.trimStart().length
  const own = indentOf(lines[at] ?? '')
  let to = at + 1
  for (; to < lines.length && to - at < MAX_DEFINITION_LINES; to++) {
    const line = lines[to] ?? ''
    if (line.trim() === '' || indentOf(line) > own) continue
    const isClosing = /^\s*(?:[)\]}]|end\b)/.test(line)
    if (!isClosing) break
    // A closing bracket may end the parameters: then a block follows.
    if (!/[{:(]\s*$/.test(line)) return to + 1
  }
  return to
}

function importsByLines(path: Path, text: string): string[] {
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
  if (/\.(?:vue|svelte)$/.test(path)) return all(/(?:\bfrom|\bimport|\bimport\()\s*['"]([^'"\n]+)['"]/g)
  if (/\.(?:kts?|scala)$/.test(path)) return all(/^import\s+([\w.]+)/gm).map(it => it.replaceAll('.', '/'))
  return []
}
