/**
 * The names that a file defines, as one line of text each: less memory than objects, for a search in all files of a
 * branch. A line has the name, its kind, its line and column, and the name of the definition around it, by tabs.
 */
import type { CodeFacts } from './facts.ts'

export type SymbolLine = { name: string; kind: string; line: number; column: number; container: string }

export function symbolLines({ definitions }: CodeFacts): string {
  return definitions
    .filter(({ kind }) => kind !== 'impl')
    .map(({ name, kind, line, column, inside }) => {
      const container = inside === undefined ? '' : (definitions[inside]?.name ?? '')
      return `${[plain(name), kind, line, column, plain(container)].join('\t')}\n`
    })
    .join('')
}

/** Reads a line of {@link symbolLines}, without its end. */
export function readSymbolLine(text: string): SymbolLine {
  const [name = '', kind = '', line = '1', column = '0', container = ''] = text.split('\t')
  return { name, kind, line: Number(line), column: Number(column), container }
}

/** A name without the characters that separate the parts of a line. */
const plain = (name: string): string => name.replace(/[\t\r\n]+/g, ' ')
