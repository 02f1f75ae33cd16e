/** The languages with a grammar, by the names of their files. */
import type { Path } from '../../core/git/repository.ts'

/** The name of a grammar, as in the file names of its wasm and of its query. */
export type GrammarName = (typeof GRAMMARS)[number]['name']

export const GRAMMARS = [
  { name: 'typescript', endings: 'ts mts cts' },
  { name: 'tsx', endings: 'tsx' },
  { name: 'javascript', endings: 'js jsx mjs cjs' },
  { name: 'python', endings: 'py pyi' },
  { name: 'go', endings: 'go' },
  { name: 'rust', endings: 'rs' },
  // The grammar of C++ also parses C, except for names that are keywords in C++.
  { name: 'cpp', endings: 'c h cc cpp cxx hh hpp hxx' },
  { name: 'java', endings: 'java' },
  { name: 'c-sharp', endings: 'cs' },
  { name: 'ruby', endings: 'rb rake gemspec' },
  { name: 'php', endings: 'php' },
  { name: 'bash', endings: 'sh bash' },
] as const

const BY_ENDING: ReadonlyMap<string, GrammarName> = new Map(
  GRAMMARS.flatMap(({ name, endings }) => endings.split(' ').map(ending => [ending, name] as const)),
)
const BY_NAME: ReadonlyMap<string, GrammarName> = new Map([
  ['Rakefile', 'ruby'],
  ['Gemfile', 'ruby'],
])

/** The grammar for a file, by its name; undefined where there is none. */
export function grammarOf(path: Path): GrammarName | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()
  return BY_NAME.get(name) ?? (ending === undefined ? undefined : BY_ENDING.get(ending))
}
