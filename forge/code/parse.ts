/**
 * Finds the definitions, references and imports of a text by tree-sitter. Runs in a process of its own
 * (parser-child.ts), since a stranger's text may make a grammar take long or much memory.
 */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Language, type Node, Parser, Query, type QueryMatch, type Range, type Tree } from '@vscode/tree-sitter-wasm'
import { aroundIn } from './around.ts'
import { type CodeFacts, type Definition, type DefinitionKind, NO_FACTS } from './facts.ts'
import { foldsIn } from './folds.ts'
import { importsIn } from './imports.ts'
import type { GrammarName } from './languages.ts'
import { withoutMacros } from './macros.ts'
import { isOffered } from './offered.ts'
import type { Parsed, ParseOrder } from './parsers.ts'
import { errorChars, isMostlyError, joined, piecesOf } from './pieces.ts'

type Grammar = { parser: Parser; query: Query }

const WASM = dirname(fileURLToPath(import.meta.resolve('@vscode/tree-sitter-wasm')))
const MAX_DEFINITIONS = 5_000
const MAX_REFERENCES = 50_000
const MAX_NAME_CHARS = 200
const MAX_SIGNATURE_CHARS = 300
/**
 * A parse takes at most this long, in milliseconds of processor time: on a busy machine the same text must not lose its
 * facts.
 */
const PARSE_TIMEOUT_MS = 2_000
/** The most memory that the process may have while it parses, in bytes. */
const MAX_PARSE_MEMORY = 1 << 30
/** Milliseconds between two looks at time and memory. */
const LOOK_EVERY_MS = 10

/** The files of a grammar's query, where they are not the one of its name. */
const QUERIES: Partial<Record<GrammarName, readonly string[]>> = {
  javascript: ['ecmascript', 'javascript'],
  typescript: ['ecmascript', 'typescript'],
  tsx: ['ecmascript', 'typescript'],
}

const grammars = new Map<GrammarName, Promise<Grammar>>()
let isReady: Promise<void> | undefined

/**
 * What is known of a text. A text that takes too long to parse, or too much memory, has no facts, no folds and nothing
 * around a range.
 */
export async function parse({ grammar: name, text, wanted }: ParseOrder): Promise<Parsed> {
  const grammar = await loadGrammar(name)
  const { parser } = grammar
  const isOver = limit()
  const tree = parser.parse(text, null, { progressCallback: isOver })
  if (!tree) {
    // Without this, the parser would continue with the text that took too long.
    parser.reset()
    return NOTHING
  }
  try {
    if (wanted.kind === 'around') return { ...NOTHING, around: aroundIn(tree, wanted.ranges) }
    return { ...NOTHING, ...structureIn(name, grammar, { tree, text, isOver }, wanted.kind === 'structure') }
  } finally {
    tree.delete()
  }
}

type Parsing = { tree: Tree; text: string; isOver: () => boolean }
type Structure = Pick<Parsed, 'facts' | 'folds'>
/** `errors`: how much of the text has no syntax tree, in UTF-16 units. */
type FoundFacts = { facts: CodeFacts; errors: number }

/** The facts of a text, and, where wanted, its folds. */
function structureIn(name: GrammarName, grammar: Grammar, parsing: Parsing, areFoldsWanted: boolean): Structure {
  const found = factsIn(name, grammar, parsing)
  const usual = { facts: found.facts, folds: areFoldsWanted ? foldsIn(parsing.tree, parsing.text) : [] }
  const isHidden = name === 'cpp' && parsing.tree.rootNode.hasError
  return (isHidden && structureWithoutMacros(grammar, parsing, found)) || usual
}

/** The structure of a text of C or C++ without its macros; undefined where no more of it has a syntax tree then. */
function structureWithoutMacros(grammar: Grammar, { text, isOver }: Parsing, found: FoundFacts): Structure | undefined {
  const plain = withoutMacros(text)
  const tree = plain === text ? undefined : grammar.parser.parse(plain, null, { progressCallback: isOver })
  if (tree === null) grammar.parser.reset()
  if (!tree) return undefined
  try {
    const { facts, errors } = factsIn('cpp', grammar, { tree, text: plain, isOver })
    if (errors >= found.errors) return undefined
    return { facts: { ...found.facts, definitions: facts.definitions }, folds: foldsIn(tree, text) }
  } finally {
    tree.delete()
  }
}

/** The facts of a text. Where much of it has no syntax tree, its pieces are parsed alone, if less of them has none. */
function factsIn(name: GrammarName, grammar: Grammar, { tree, text, isOver }: Parsing): FoundFacts {
  const { parser } = grammar
  const factsFrom = (part: Tree) => factsWithItems(name, grammar, { tree: part, text, isOver })
  const whole = { facts: factsFrom(tree), errors: errorChars(tree.rootNode) }
  if (!isMostlyError(tree.rootNode)) return whole
  const parts: CodeFacts[] = []
  let errors = 0
  for (const piece of piecesOf(text)) {
    const part = parser.parse(text, null, { includedRanges: [piece], progressCallback: isOver })
    if (!part) {
      parser.reset()
      return whole
    }
    parts.push(factsFrom(part))
    errors += errorChars(part.rootNode)
    part.delete()
  }
  if (errors >= whole.errors) return whole
  const all = joined([...parts, { ...whole.facts, definitions: [] }])
  return { facts: { ...all, definitions: all.definitions.slice(0, MAX_DEFINITIONS) }, errors }
}

/** The facts of a tree, with those of the items in calls of macros, whose content has no syntax in it. */
function factsWithItems(name: GrammarName, { parser, query }: Grammar, { tree, text, isOver }: Parsing): CodeFacts {
  const matches: QueryMatch[] = []
  const trees = [tree]
  try {
    // The items of a macro may be in the call of another one: the trees of these are added while the loop runs.
    for (const { rootNode } of trees) {
      const found = query.matches(rootNode, { progressCallback: isOver })
      matches.push(...found)
      for (const { captures } of found) {
        const items = captures.find(it => it.name === 'items')
        const range = items && withinBraces(items.node)
        if (!range || isOver()) continue
        const part = parser.parse(text, null, { includedRanges: [range], progressCallback: isOver })
        if (part) trees.push(part)
        else parser.reset()
      }
    }
    return factsOf(name, matches)
  } finally {
    for (const part of trees.slice(1)) part.delete()
  }
}

/** The range between the braces that a node begins and ends with, of which the last one may be missing. */
function withinBraces({ firstChild, lastChild }: Node): Range | undefined {
  if (!firstChild || !lastChild || lastChild.startIndex <= firstChild.endIndex) return undefined
  return {
    startIndex: firstChild.endIndex,
    startPosition: firstChild.endPosition,
    endIndex: lastChild.startIndex,
    endPosition: lastChild.startPosition,
  }
}

/** What is sent for a text that is given up. */
const NOTHING: Parsed = { facts: NO_FACTS, folds: [], around: [] }

/** Makes the test of whether a text has taken too long or too much memory. It is called very often while parsing. */
function limit(): () => boolean {
  const begun = process.cpuUsage()
  let looked = performance.now()
  let isOver = false
  return () => {
    const now = performance.now()
    // A look takes some ten microseconds.
    if (isOver || now - looked < LOOK_EVERY_MS) return isOver
    looked = now
    isOver = process.cpuUsage(begun).user > PARSE_TIMEOUT_MS * 1000 || process.memoryUsage.rss() > MAX_PARSE_MEMORY
    return isOver
  }
}

/** The grammar, which is loaded once. */
export async function loadGrammar(name: GrammarName): Promise<Grammar> {
  isReady ??= Parser.init({ locateFile: (file: string) => join(WASM, file) })
  await isReady
  const grammar = grammars.get(name) ?? load(name)
  grammars.set(name, grammar)
  return await grammar
}

async function load(name: GrammarName): Promise<Grammar> {
  const language = await Language.load(join(WASM, `tree-sitter-${name}.wasm`))
  const files = QUERIES[name] ?? [name]
  const queries = await Promise.all(
    files.map(file => readFile(join(import.meta.dirname, 'queries', `${file}.scm`), 'utf8')),
  )
  const parser = new Parser()
  parser.setLanguage(language)
  return { parser, query: new Query(language, queries.join('\n')) }
}

// --- From matches to facts

/** A definition with its nodes. Which other definition it is inside of is not known yet. */
type Found = { kind: DefinitionKind; node: Node; name: Node }

function factsOf(language: GrammarName, matches: readonly QueryMatch[]): CodeFacts {
  const found = new Map<number, Found>()
  const imports: string[] = []
  const references = new Set<string>()
  const reexports = new Set<string>()
  for (const { captures } of matches) {
    const [first] = captures
    if (!first) continue
    if (first.name === 'reference') {
      const { text } = first.node
      if (text.length <= MAX_NAME_CHARS && references.size < MAX_REFERENCES) references.add(text)
      continue
    }
    const passed = captures.find(it => it.name === 'reexport')
    if (passed) {
      if (passed.node.text.length <= MAX_NAME_CHARS) reexports.add(passed.node.text)
      continue
    }
    const imported = captures.find(it => it.name === 'import')
    if (imported) {
      imports.push(...importsIn(language, imported.node))
      continue
    }
    // Several patterns may match the same name: the first one decides which kind of definition it is.
    for (const definition of definitionsIn(captures)) {
      const place = definition.name.startIndex
      if (!found.has(place)) found.set(place, definition)
    }
  }
  const sorted = [...found.values()].sort(
    (a, b) => a.node.startIndex - b.node.startIndex || b.node.endIndex - a.node.endIndex,
  )
  return {
    definitions: inNests(language, sorted.slice(0, MAX_DEFINITIONS)),
    references: [...references],
    imports: [...new Set(imports)],
    reexports: [...reexports],
  }
}

/** Words of C that begin a statement, and are no names. */
const STATEMENTS = /^(?:if|else|for|while|do|switch|return)$/

/** The definitions in a match: several where one declaration has several names. */
function definitionsIn(captures: QueryMatch['captures']): Found[] {
  const whole = captures.find(it => it.name.startsWith('definition.'))
  if (!whole) return []
  const written = whole.name.slice('definition.'.length) as DefinitionKind
  const kind = written === 'variable' && isFunction(whole.node) ? 'function' : written
  return captures.flatMap(({ name: capture, node }) => {
    const isName = capture === 'name' && node.type !== 'qualified_identifier'
    const name = isName ? node : /^(?:name|declarator)$/.test(capture) ? nameInDeclarator(node) : undefined
    return name ? [{ kind, node: whole.node, name }] : []
  })
}

/** The name in a declarator of C: `read` in `int *(*read)(int)`, `close` in `File::close()`. */
function nameInDeclarator(declarator: Node): Node | undefined {
  let node: Node | null = declarator
  for (let depth = 0; node && depth < 20; depth++) {
    if (node.type === 'qualified_identifier') node = node.childForFieldName('name')
    else if (/identifier$|^destructor_name$|^operator_name$/.test(node.type))
      // Behind a macro, the grammar takes `else if (…) {` for a function.
      return STATEMENTS.test(node.text) ? undefined : node
    else if (node.type === 'template_function') node = node.childForFieldName('name')
    else
      node =
        node.childForFieldName('declarator') ??
        node.namedChildren.find(it => it !== null && /declarator|identifier/.test(it.type)) ??
        null
  }
  return undefined
}

/** Whether a variable's value is a function. */
function isFunction(node: Node): boolean {
  const value = node.childForFieldName('value') ?? node.childForFieldName('right')
  return (
    value !== null && /^(?:arrow_function|function_expression|generator_function|lambda|func_literal)$/.test(value.type)
  )
}

/** Puts each definition into the innermost one around it. `found` is sorted by start. */
function inNests(language: GrammarName, found: readonly Found[]): Definition[] {
  const definitions: Definition[] = []
  const open: number[] = []
  const isAround = (outer: Node | undefined, node: Node): boolean =>
    outer !== undefined && outer.id !== node.id && outer.endIndex > node.startIndex
  for (const [at, { kind, node, name }] of found.entries()) {
    while (open.length > 0 && !isAround(found[open.at(-1) ?? 0]?.node, node)) open.pop()
    const inside = open.at(-1)
    const around = inside === undefined ? undefined : definitions[inside]
    const isMember = around !== undefined && /^(?:class|interface|enum|impl)$/.test(around.kind)
    const text = name.text.slice(0, MAX_NAME_CHARS)
    definitions.push({
      name: text,
      kind: kind === 'function' && isMember ? 'method' : kind,
      start: node.startPosition.row + 1,
      end: node.endPosition.row + 1,
      line: name.startPosition.row + 1,
      column: name.startPosition.column,
      ...(inside !== undefined && { inside }),
      signature: signatureOf(language, node),
      isOffered: kind !== 'impl' && isOffered(language, { node, name: text, around }),
    })
    open.push(at)
  }
  return definitions
}

/**
 * Types of nodes around a definition that are shown as part of its signature: `export`, `const`, a template's
 * parameters.
 */
const WRAPPERS =
  /^(?:export_statement|lexical_declaration|variable_declaration|ambient_declaration|template_declaration|type_declaration|const_declaration|var_declaration|expression_statement)$/

/** The definition up to its body, on one line. */
function signatureOf(language: GrammarName, node: Node): string {
  let whole = node
  while (whole.parent && WRAPPERS.test(whole.parent.type) && hasOneDefinition(whole.parent)) whole = whole.parent
  const value = node.childForFieldName('value') ?? node.childForFieldName('right')
  const body = node.childForFieldName('body') ?? value?.childForFieldName('body')
  let last = body?.previousSibling
  while (last && (last.type === 'comment' || last.type === ':')) last = last.previousSibling
  const length = last ? last.endIndex - whole.startIndex : undefined
  // Line comments are removed, as they would comment out the rest when the signature is joined to one line.
  const comment = /^(?:python|ruby|bash)$/.test(language) ? /^([^'"]*?)#.*$/gm : /^([^'"`]*?)\/\/.*$/gm
  const text = whole.text
    .slice(0, length)
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(comment, '$1')
  const shape = node.type === 'type_spec' ? text.replace(/(?<=\b(?:struct|interface) *)\{[\s\S]*/, '') : text
  const line = shape
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/\s*(?:=>|[{:=;])$/, '')
  return line.length <= MAX_SIGNATURE_CHARS ? line : `${line.slice(0, MAX_SIGNATURE_CHARS).toWellFormed()}…`
}

/**
 * Whether a wrapper (a node around a definition) holds only one: each of several, as in `const a = 1, b = 2`, is shown
 * alone.
 */
const hasOneDefinition = (wrapper: Node): boolean =>
  wrapper.namedChildren.filter(it => it !== null && !/comment|decorator|parameters/.test(it.type)).length === 1
