/** What a file offers to other files and imports from them, for the packer. */
import type { Path } from '../../../core/git/repository.ts'
import type { CodeFacts } from '../../code/facts.ts'
import type { CodeReader } from '../../code/reader.ts'

/**
 * A name with its definition as one line, without the body; members of a class are indented. `at`: the index of the
 * definition's first line from 0; `end`: that of the line after its last one.
 */
export type Offer = { name: string; line: string; at: number; end: number }

/**
 * `offers`: in the order of the file's lines. `imports`: as paths without extensions; relative ones begin with a dot.
 * `classes`: the indexes, from 0, of the lines that name a class, an interface or the type of an `impl`.
 */
type Interface = { offers: readonly Offer[]; imports: readonly string[]; classes: ReadonlySet<number> }
export type ReadInterface = (path: Path, text: string) => Promise<Interface>

/**
 * Makes a function that reads a file's definitions and imports. Without a reader (`code`), nothing is known of files.
 */
export const readInterfaceBy =
  (code?: CodeReader): ReadInterface =>
  async (path, text) => {
    if (!code) return { offers: [], imports: [], classes: new Set() }
    const facts = await code.factsOfText(path, text)
    const classes = facts.definitions.filter(({ kind }) => /^(?:class|interface|impl)$/.test(kind))
    return { offers: offersAmong(facts), imports: facts.imports, classes: new Set(classes.map(({ line }) => line - 1)) }
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
