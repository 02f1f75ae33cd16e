/** The languages with a grammar, by the names of their files, or by their first line. */
import type { Path } from '../../core/git/repository.ts'
import { ENDINGS_BY_LINES, isCodeByLines } from './line-names.ts'

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

const BY_INTERPRETER: Readonly<Record<string, GrammarName>> = {
  bash: 'bash',
  sh: 'bash',
  python: 'python',
  ruby: 'ruby',
  node: 'javascript',
  bun: 'typescript',
  deno: 'typescript',
}

/** The grammar for a text, by the name of its file, or by its first line where that names an interpreter. */
export function grammarOfText(path: Path, text: string): GrammarName | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name.includes('.', 1)) return grammarOf(path)
  const interpreter = /^#!.{0,200}?\b(bash|sh|python|ruby|node|bun|deno)/.exec(text)?.[1]
  return grammarOf(path) ?? (interpreter === undefined ? undefined : BY_INTERPRETER[interpreter])
}

/** The grammar for a file, by its name; undefined where there is none. */
export function grammarOf(path: Path): GrammarName | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()
  return BY_NAME.get(name) ?? (ending === undefined ? undefined : BY_ENDING.get(ending))
}

/** What the paths of files end with that have definitions which other files can use, in any case. */
export const CODE_ENDINGS: readonly string[] = [
  ...[...BY_ENDING.keys(), ...ENDINGS_BY_LINES].map(ending => `.${ending}`),
  ...BY_NAME.keys(),
]

/** Whether a file has definitions that other files can use, judged by its name. */
export const isCode = (path: Path): boolean => grammarOf(path) !== undefined || isCodeByLines(path)
