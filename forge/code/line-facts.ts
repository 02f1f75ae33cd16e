/** What is known of a code file in a language without a grammar, by patterns of its lines. */
import { extname } from 'node:path'
import type { Path } from '../../core/git/repository.ts'
import type { CodeFacts, Definition } from './facts.ts'
import { isCodeByLines, type LineKind, namesByLines } from './line-names.ts'

const MAX_REFERENCES = 50_000

/**
 * Tells apart how files are read: by the patterns of which language. Undefined for a file that is not read by lines.
 */
export const lineLanguageOf = (path: Path): string | undefined =>
  isCodeByLines(path) ? extname(path).toLowerCase() : undefined

/** What is known of a text. A definition is inside of the one whose lines it is among. */
export function factsByLines(path: Path, text: string): CodeFacts {
  const names = namesByLines(path, text).flatMap(({ kind, ...name }) => (isDefinition(kind) ? [{ ...name, kind }] : []))
  const ends = endsByIndent(
    text.split('\n'),
    names.map(({ line }) => line),
  )
  const open: number[] = []
  const definitions = names.map(({ name, kind, line, column, text: signature, isOffered }, at): Definition => {
    const end = ends[at] ?? line
    while (open.length > 0 && (ends[open.at(-1) ?? 0] ?? 0) < line) open.pop()
    const inside = open.at(-1)
    open.push(at)
    return {
      name,
      kind,
      start: line,
      end,
      line,
      column,
      ...(inside !== undefined && { inside }),
      signature,
      isOffered,
    }
  })
  const references = new Set(text.match(/[A-Za-z_$][\w$]{0,199}/g))
  return {
    definitions,
    references: [...references].slice(0, MAX_REFERENCES),
    imports: [...new Set(importsByLines(path, text))],
    reexports: [],
  }
}

const isDefinition = (kind: LineKind): kind is Definition['kind'] => kind !== 'heading' && kind !== 'key'

/**
 * The last lines, from 1, of the definitions that begin at these lines: each goes up to the next line that is not
 * indented more deeply, with its closing bracket or `end`.
 */
function endsByIndent(lines: readonly string[], starts: readonly number[]): number[] {
  const ends = starts.map(() => lines.length)
  /** The definitions whose end is not found yet, each indented more deeply than the one before. */
  const open: { at: number; indent: number }[] = []
  let [next, last] = [0, 0]
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    const indent = line.length - line.trimStart().length
    const isClosing = /^\s*(?:[)\]}]|end\b)/.test(line)
    for (let top = open.at(-1); top && indent <= top.indent; top = open.at(-1)) {
      const isOwnEnd = isClosing && indent === top.indent
      // A closing bracket may end the parameters: then a block follows.
      if (isOwnEnd && /[{:(]\s*$/.test(line)) break
      ends[top.at] = isOwnEnd ? at + 1 : last
      open.pop()
    }
    last = at + 1
    for (; starts[next] === at + 1; next++) open.push({ at: next, indent })
  }
  return ends
}

function importsByLines(path: Path, text: string): string[] {
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
  if (/\.(?:vue|svelte)$/.test(path)) return all(/(?:\bfrom|\bimport|\bimport\()\s*['"]([^'"\n]+)['"]/g)
  if (/\.(?:kts?|scala)$/.test(path)) return all(/^import\s+([\w.]+)/gm).map(it => it.replaceAll('.', '/'))
  return []
}
