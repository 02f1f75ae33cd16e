/**
 * The names that a file offers to other files, as its summary says them: by its syntax, or by patterns of its lines.
 */
import type { Path } from '../../core/git/repository.ts'
import type { CodeFacts, Definition } from '../code/facts.ts'
import { type GrammarName, grammarOfText } from '../code/languages.ts'
import { type LineName, namesByLines } from '../code/line-names.ts'
import type { CodeReader } from '../code/reader.ts'

const MAX_PARAMETERS_CHARS = 40
/** More names than this do not fit into a summary. */
const MAX_NAMES = 60
/** A Makefile's targets say little about it. */
const MAX_TARGETS = 5

/**
 * The names that a text offers: first those at its top, functions with their parameters, then the methods of its
 * classes.
 */
export async function namesOffered(code: CodeReader, path: Path, text: string): Promise<string[]> {
  const grammar = grammarOfText(path, text)
  const names = grammar
    ? namesAmong(await code.factsOfText(path, text), grammar)
    : telling(namesByLines(path, text), path)
  return [...new Set(names)].slice(0, MAX_NAMES)
}

function namesAmong({ definitions, reexports }: CodeFacts, grammar: GrammarName): string[] {
  const depths: number[] = []
  const found: { name: string; said: string; depth: number }[] = []
  for (const definition of definitions) {
    const { inside, name, isOffered } = definition
    const around = inside === undefined ? undefined : definitions[inside]
    // An `impl`, a namespace or a module is no level of its own: what is in it is named directly.
    const isLevel = around !== undefined && !/^(?:impl|module)$/.test(around.kind)
    const depth = inside === undefined ? 0 : (depths[inside] ?? 0) + (isLevel ? 1 : 0)
    depths.push(depth)
    if (isOffered && isTelling(definition, around, grammar))
      found.push({ name, said: saidOf(definition, grammar), depth })
  }
  const own = new Set(found.map(({ name }) => name))
  const others = reexports.filter(name => !own.has(name)).map(name => ({ name, said: name, depth: 0 }))
  const all = [...found, ...others].sort((a, b) => a.depth - b.depth)
  return [...new Map(all.map(it => [it.name, it.said] as const)).values()]
}

/**
 * Whether a definition is worth its place in a summary: no fields, no members of enums, no settings in small letters.
 */
function isTelling({ kind, name }: Definition, around: Definition | undefined, grammar: GrammarName): boolean {
  if (kind === 'field' || kind === 'impl' || around?.kind === 'enum') return false
  if (grammar === 'go') return /^\p{Lu}/u.test(name)
  if (grammar === 'python' && kind === 'variable') return /^(?!TODO|FIXME|XXX|NOTE|HACK)[A-Z][A-Z0-9_]+$/.test(name)
  return !(kind === 'variable' && grammar === 'bash')
}

/** A name, and for a function its parameters, if they are short. */
function saidOf({ name, kind, signature }: Definition, grammar: GrammarName): string {
  // The parameters of a shell function have no names.
  if (grammar === 'bash' || !/^(?:function|method|declaration)$/.test(kind)) return name
  const parameters = parametersIn(signature, name)
  if (parameters === undefined) return name
  return name + (parameters.length <= MAX_PARAMETERS_CHARS ? parameters : '()')
}

/** The parameters in a signature, with their brackets; undefined where there are none. */
function parametersIn(signature: string, name: string): string | undefined {
  const after = signature.slice(signature.indexOf(name) + name.length)
  const from = after.indexOf('(')
  if (from < 0) return undefined
  let depth = 0
  for (let at = from; at < after.length; at++) {
    if (after[at] === '(') depth++
    if (after[at] === ')') depth--
    if (depth > 0) continue
    const written = after.slice(from, at + 1)
    return written.replace(/\(\s+/g, '(').replace(/,?\s+\)/g, ')')
  }
  return '()'
}

/** The names of lines that say something about their file: the keys of settings are the same in most projects. */
function telling(names: readonly LineName[], path: Path): string[] {
  const isSettings = /\.(?:jsonc?|json5|ya?ml|toml|ini|cfg)$/i.test(path)
  const isMarkdown = /\.(?:md|markdown|mdx)$/i.test(path)
  if (isSettings) return []
  // The headings of a changelog are version numbers.
  if (isMarkdown)
    return names.filter(({ level, name }) => level <= 3 && !/^\[?v?\d+\.\d+/.test(name)).map(it => it.name)
  const all = names.filter(({ isOffered }) => isOffered).map(({ name }) => name)
  return /(?:^|\/)(?:GNU)?[Mm]akefile$|\.mk$/.test(path) ? all.slice(0, MAX_TARGETS) : all
}
