/** The names that a file offers to others: by its syntax, or by patterns of its lines where there is no grammar. */
import type { Path } from '../../../core/git/repository.ts'
import { offersOf } from '../../ai/languages.ts'
import type { CodeFacts } from '../../code/facts.ts'
import { grammarOf } from '../../code/languages.ts'
import type { CodeReader } from '../../code/reader.ts'

/**
 * A name with its definition as one line, without the body; members of a class are indented. `at`: the index of the
 * definition's first line from 0; `end`: that of the line after its last one, where that is known.
 */
export type Offer = { name: string; line: string; at: number; end?: number }

/** Reads the offers of a file's text, in the order of its lines. */
export type ReadOffers = (path: Path, text: string) => Promise<readonly Offer[]>

/** Without a reader, patterns of lines are used for all languages. */
export const readOffersBy =
  (code?: CodeReader): ReadOffers =>
  async (path, text) =>
    code && grammarOf(path) ? offersAmong(await code.factsOfText(path, text)) : offersOf(path, text)

/** The names that a file offers: those of its definitions that other files can name. */
export function offersAmong({ definitions }: CodeFacts): Offer[] {
  const depths: number[] = []
  return definitions.flatMap(({ name, kind, signature, start, end, inside, isOffered }) => {
    const depth = inside === undefined ? 0 : (depths[inside] ?? 0) + 1
    depths.push(depth)
    return isOffered && kind !== 'field' ? [{ name, line: '  '.repeat(depth) + signature, at: start - 1, end }] : []
  })
}
