/** What a file offers to others and imports: by its syntax, or by patterns of its lines where there is no grammar. */
import type { Path } from '../../../core/git/repository.ts'
import type { CodeFacts } from '../../code/facts.ts'
import { grammarOfText } from '../../code/languages.ts'
import { isCodeByLines, namesByLines } from '../../code/line-names.ts'
import type { CodeReader } from '../../code/reader.ts'

/**
 * A name with its definition as one line, without the body; members of a class are indented. `at`: the index of the
 * definition's first line from 0; `end`: that of the line after its last one, where that is known.
 */
export type Offer = { name: string; line: string; at: number; end?: number }

/**
 * `offers`: in the order of the file's lines. `imports`: as paths without extensions; relative ones begin with a dot.
 */
type Interface = { offers: readonly Offer[]; imports: readonly string[] }
export type ReadInterface = (path: Path, text: string) => Promise<Interface>

/**
 * Makes a function that reads a file's definitions and imports. Without a parser (`code`), nothing is known of files in
 * a language with a grammar.
 */
export const readInterfaceBy =
  (code?: CodeReader): ReadInterface =>
  async (path, text) => {
    if (!grammarOfText(path, text)) return { offers: offersByLines(path, text), imports: importsByLines(path, text) }
    if (!code) return { offers: [], imports: [] }
    const facts = await code.factsOfText(path, text)
    return { offers: offersAmong(facts), imports: facts.imports }
  }

/** What a file in a language without a grammar offers. */
export const offersByLines = (path: Path, text: string): Offer[] =>
  isCodeByLines(path)
    ? namesByLines(path, text).map(({ name, line, text: said }) => ({ name, line: said, at: line - 1 }))
    : []

/** The imports of a file in a language without a grammar. */
function importsByLines(path: Path, text: string): string[] {
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
  if (/\.(?:vue|svelte)$/.test(path)) return all(/(?:\bfrom|\bimport|\bimport\()\s*['"]([^'"\n]+)['"]/g)
  if (/\.(?:kts?|scala)$/.test(path)) return all(/^import\s+([\w.]+)/gm).map(it => it.replaceAll('.', '/'))
  return []
}

/** The names that a file offers: those of its definitions that other files can name. */
export function offersAmong({ definitions }: CodeFacts): Offer[] {
  const depths: number[] = []
  return definitions.flatMap(({ name, kind, signature, start, end, inside, isOffered }) => {
    const depth = inside === undefined ? 0 : (depths[inside] ?? 0) + 1
    depths.push(depth)
    return isOffered && kind !== 'field' ? [{ name, line: '  '.repeat(depth) + signature, at: start - 1, end }] : []
  })
}
