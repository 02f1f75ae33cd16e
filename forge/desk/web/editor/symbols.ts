/**
 * The symbols of a file (functions, classes, headings), from the editor's syntax tree. Without a tree, a file has none.
 */
import { ensureSyntaxTree, syntaxTree } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'

type SyntaxNode = ReturnType<typeof syntaxTree>['topNode']

export interface CodeSymbol {
  name: string
  /** The symbol's offset in the text. */
  from: number
  /** The number of symbols that contain this one. */
  depth: number
}

/** At most this many symbols are listed. */
const MAX_SYMBOLS = 5_000
/** At most this many nodes are visited to find the headings above a position. */
const MAX_NODES = 20_000
const MAX_NAME_LENGTH = 80
/** The time limit for parsing a text for its symbols, in milliseconds. */
const PARSE_TIMEOUT_MS = 200

/** The types of nodes that are symbols, by the names in the languages' grammars. */
const SYMBOLS = new Set([
  // JavaScript, TypeScript, Java, PHP
  'FunctionDeclaration',
  'ClassDeclaration',
  'MethodDeclaration',
  'ConstructorDeclaration',
  'InterfaceDeclaration',
  'TypeAliasDeclaration',
  'EnumDeclaration',
  'NamespaceDeclaration',
  'TraitDeclaration',
  // Python, C, C++, PHP
  'FunctionDefinition',
  'ClassDefinition',
  'ClassSpecifier',
  'StructSpecifier',
  'EnumSpecifier',
  'NamespaceDefinition',
  // Rust
  'FunctionItem',
  'StructItem',
  'EnumItem',
  'TraitItem',
  'ImplItem',
  'ModItem',
  // Go
  'FunctionDecl',
  'MethodDecl',
  'TypeSpec',
])
const NAMES = new Set([
  'VariableDefinition',
  'PropertyDefinition',
  'PrivatePropertyDefinition',
  'TypeDefinition',
  'VariableName',
  'Definition',
  'DefName',
  'FieldName',
  'BoundIdentifier',
  'TypeIdentifier',
  'Identifier',
  'FieldIdentifier',
  'QualifiedIdentifier',
  'Name',
])
/** Nodes between a symbol and its name. */
const AROUND_NAMES = new Set(['FunctionDeclarator', 'PointerDeclarator', 'ReferenceDeclarator'])
const BODIES = new Set(['ArrowFunction', 'FunctionExpression', 'ClassExpression'])
const HEADING = /^(?:ATX|Setext)Heading([1-6])$/

/** The symbols around a position, the outermost first. */
export function symbolsAt(state: EditorState, at: number): CodeSymbol[] {
  const tree = syntaxTree(state)
  // Between two nodes, the position belongs to the more deeply nested one.
  const [before, after] = [around(state, tree.resolveInner(at, -1)), around(state, tree.resolveInner(at, 1))]
  const all = [...headingsAbove(state, tree.topNode, at), ...(after.length > before.length ? after : before)]
  return all.map((symbol, depth) => ({ ...symbol, depth }))
}

/** The innermost function, class or type around a position, with its end; not a heading. */
export function definitionAt(state: EditorState, at: number): (CodeSymbol & { to: number }) | undefined {
  const tree = syntaxTree(state)
  for (const side of [1, -1] as const) {
    for (let node: SyntaxNode | null = tree.resolveInner(at, side); node; node = node.parent) {
      const name = nameOf(state, node)
      if (name !== undefined) return { name, from: node.from, to: node.to, depth: 0 }
    }
  }
  return undefined
}

function around(state: EditorState, innermost: SyntaxNode): CodeSymbol[] {
  const found: CodeSymbol[] = []
  for (let node: SyntaxNode | null = innermost; node; node = node.parent) {
    const name = nameOf(state, node)
    if (name !== undefined) found.unshift({ name, from: node.from, depth: 0 })
  }
  return found
}

/** All symbols of a text in their order, as far as it could be parsed in time. */
export function symbolsOf(state: EditorState): CodeSymbol[] {
  const tree = ensureSyntaxTree(state, state.doc.length, PARSE_TIMEOUT_MS) ?? syntaxTree(state)
  const found: CodeSymbol[] = []
  let depth = 0
  const open: SyntaxNode[] = []
  tree.iterate({
    enter: ({ node }) => {
      if (found.length >= MAX_SYMBOLS) return false
      const level = levelOf(node)
      const name = level === undefined ? nameOf(state, node) : headingOf(state, node)
      if (name === undefined) return true
      found.push({ name, from: node.from, depth: level === undefined ? depth : level - 1 })
      if (level === undefined) {
        open.push(node)
        depth++
      }
      return true
    },
    leave: ({ from, to, type }) => {
      const last = open.at(-1)
      if (last?.from !== from || last.to !== to || last.type !== type) return
      open.pop()
      depth--
    },
  })
  return found
}

/** The name of a node that is a symbol. */
function nameOf(state: EditorState, node: SyntaxNode): string | undefined {
  if (node.name === 'VariableDeclaration') {
    return holds(node, BODIES) ? textOf(state, childIn(node, NAMES)) : undefined
  }
  if (!SYMBOLS.has(node.name)) return undefined
  // An impl has no name: its whole head is used, such as `impl Display for Lease`.
  if (node.name === 'ImplItem') return short(state.sliceDoc(node.from, node.lastChild?.from ?? node.to))
  return textOf(state, childIn(node, NAMES) ?? nameWithin(node))
}

/** The node of a function's name, which in C is nested inside the declarator. */
function nameWithin(node: SyntaxNode): SyntaxNode | undefined {
  let declarator = childIn(node, AROUND_NAMES)
  while (declarator) {
    const name = childIn(declarator, NAMES)
    if (name) return name
    declarator = childIn(declarator, AROUND_NAMES)
  }
  return undefined
}

function childIn(node: SyntaxNode, names: ReadonlySet<string>): SyntaxNode | undefined {
  for (let child = node.firstChild; child; child = child.nextSibling) if (names.has(child.name)) return child
  return undefined
}

function holds(node: SyntaxNode, names: ReadonlySet<string>): boolean {
  return childIn(node, names) !== undefined
}

function textOf(state: EditorState, node: SyntaxNode | undefined): string | undefined {
  return node && short(state.sliceDoc(node.from, Math.min(node.to, node.from + MAX_NAME_LENGTH)))
}

function short(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME_LENGTH)
}

function levelOf({ name }: SyntaxNode): number | undefined {
  const level = HEADING.exec(name)?.[1]
  return level === undefined ? undefined : Number(level)
}

function headingOf(state: EditorState, node: SyntaxNode): string {
  const line = state.doc.lineAt(node.from).text.slice(0, 2 * MAX_NAME_LENGTH)
  return short(line.replace(/^\s*#+\s*/, '').replace(/\s+#+\s*$/, ''))
}

/** The headings of the sections around a position. */
function headingsAbove(state: EditorState, top: SyntaxNode, at: number): CodeSymbol[] {
  if (top.name !== 'Document') return []
  const found: CodeSymbol[] = []
  let highest = Number.POSITIVE_INFINITY
  let node = top.childBefore(at + 1)
  for (let steps = 0; node && steps < MAX_NODES && highest > 1; steps++, node = node.prevSibling) {
    const level = levelOf(node)
    if (level === undefined || level >= highest) continue
    highest = level
    found.unshift({ name: headingOf(state, node), from: node.from, depth: 0 })
  }
  return found
}
