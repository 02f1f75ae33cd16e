/** Where the variable or parameter at the cursor is declared in the function around it, by the syntax of the editor. */
import { ensureSyntaxTree } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'

/** Milliseconds that the text up to the cursor may take to be parsed. */
const PARSE_MS = 200
/** At most this many characters before the cursor are searched. */
const MAX_CHARS = 200_000

/** The nodes of names that declare something: in Rust, JavaScript, Java and Go. */
const DECLARED = /^(?:BoundIdentifier|VariableDefinition|Definition|DefName)$/
/** The nodes of names that use a variable. */
const USED = /^(?:Identifier|VariableName)$/
/** What is around the name in a declaration of Python, C or C++, whose nodes of names are the same as in a use. */
const DECLARATIONS =
  /^(?:ParamList|AssignStatement|ForStatement|ParameterDeclaration|InitDeclarator|Declaration|(?:Pointer|Reference|Array)Declarator)$/
const FUNCTIONS =
  /^(?:FunctionItem|Function(?:Declaration|Definition|Expression|Decl|Literal)|Method(?:Decl|Declaration)|ConstructorDeclaration|ArrowFunction|ClosureExpression|LambdaExpression)$/
/** What a declared name is known in, besides functions. */
const BLOCKS =
  /^(?:Block|CompoundStatement|MatchArm|CatchClause|(?:If|While)Expression|For(?:Expression|Statement)|EnhancedForStatement|\w*Comprehension\w*)$/

/**
 * The offset of the name that declares the variable at an offset: the nearest one before it in a block around it.
 * Undefined where there is none, or the name is that of something else.
 */
export function declarationOf(state: EditorState, name: string, at: number): number | undefined {
  const tree = ensureSyntaxTree(state, at, PARSE_MS)
  const node = tree?.resolveInner(at, 1)
  if (!tree || !node || !(USED.test(node.name) || DECLARED.test(node.name))) return undefined
  const around = outermostFunction(node)
  if (!around) return undefined
  const from = Math.max(around.from, at - MAX_CHARS)
  const text = state.sliceDoc(from, at + name.length)
  let own: number | undefined
  for (let found = text.lastIndexOf(name); found >= 0; found = found === 0 ? -1 : text.lastIndexOf(name, found - 1)) {
    const other = tree.resolveInner(from + found, 1)
    const isWhole = other.from === from + found && other.to === other.from + name.length
    if (!isWhole || !isDeclaration(other)) continue
    const { scope, inScope } = scopeOf(other)
    if (!scope || !contains(scope, at)) continue
    // In the value of a declaration, its name is mostly that of an earlier one: `let a = a + 1`.
    if (other.from === at || !contains(inScope, at)) return other.from
    own ??= other.from
  }
  return own
}

function outermostFunction(node: SyntaxNode): SyntaxNode | undefined {
  let found: SyntaxNode | undefined
  for (let at: SyntaxNode | null = node; at; at = at.parent) if (FUNCTIONS.test(at.name)) found = at
  return found
}

function isDeclaration(node: SyntaxNode): boolean {
  if (DECLARED.test(node.name)) return true
  const { parent } = node
  if (!parent || !USED.test(node.name) || !DECLARATIONS.test(parent.name)) return false
  if (parent.name === 'InitDeclarator') return node.prevSibling === null
  // What comes after the operator is the value.
  for (let before = node.prevSibling; before; before = before.prevSibling)
    if (/^(?:AssignOp|in)$/.test(before.name)) return false
  return true
}

/** The block or function in which a declared name is known, and what of it has the declaration. */
function scopeOf(node: SyntaxNode): { scope: SyntaxNode | null; inScope: SyntaxNode } {
  let inScope = node
  while (inScope.parent && !FUNCTIONS.test(inScope.parent.name) && !BLOCKS.test(inScope.parent.name))
    inScope = inScope.parent
  return { scope: inScope.parent, inScope }
}

const contains = (node: SyntaxNode, at: number): boolean => node.from <= at && at < node.to
