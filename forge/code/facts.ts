/** What is known of a code file from its syntax: definitions, references, imports. */

export type DefinitionKind =
  | 'function'
  | 'method'
  | 'class'
  | 'interface'
  | 'type'
  | 'enum'
  | 'module'
  | 'variable'
  | 'constant'
  | 'field'
  | 'macro'
  /** A function that is declared without a body, as in a C header. */
  | 'declaration'
  /** A block of methods for a type (Rust's `impl`). It defines no name. */
  | 'impl'

export type Definition = {
  name: string
  kind: DefinitionKind
  /** The definition's first and last line, from 1. */
  start: number
  end: number
  /** The line of its name, from 1, and the name's place in that line in UTF-16 units, from 0. */
  line: number
  column: number
  /** The index of the innermost definition around this one; undefined at the top of the file. */
  inside?: number
  /** The definition without its body, on one line. */
  signature: string
  /** Whether other files can name it, judged by the language's rules for exports and privacy. */
  isOffered: boolean
}

export type CodeFacts = {
  /** In the order of their starts, so that a definition comes after the one around it. */
  definitions: Definition[]
  /** All names in the code, each once; none from comments and strings. */
  references: string[]
  /** What the file imports, as paths without extensions; relative ones begin with a dot. */
  imports: string[]
  /** The names that the file passes on or exports without defining them: `export { a } from 'b'`. */
  reexports: string[]
}

/** A range of a text: line and column of its start, then of its end. Lines count from 1, UTF-16 units from 0. */
export type TextRange = readonly [line: number, column: number, toLine: number, toColumn: number]

export const NO_FACTS: CodeFacts = { definitions: [], references: [], imports: [], reexports: [] }
