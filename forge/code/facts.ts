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
  /** Lines from 1; `line` is the one with the name, `end` the definition's last one. */
  start: number
  line: number
  end: number
  /** The column of the name, in UTF-16 code units from 0. */
  column: number
  /** The index of the innermost definition around this one; undefined at the top of the file. */
  inside?: number
  /** The definition without its body, on one line. */
  signature: string
  /** Whether other files can name it, judged by the language's rules for exports and privacy. */
  isOffered: boolean
}

/** Names in code: no comments, no strings. Each place is three numbers: index of the name, line from 1, column. */
export type References = { names: string[]; places: number[] }

export type CodeFacts = {
  /** In the order of their starts, so that a definition comes after the one around it. */
  definitions: Definition[]
  references: References
  /** What the file imports, as paths without extensions; relative ones begin with a dot. */
  imports: string[]
}

export const NO_FACTS: CodeFacts = { definitions: [], references: { names: [], places: [] }, imports: [] }
