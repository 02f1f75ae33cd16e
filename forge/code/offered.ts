/** Tells which definitions other files can name, by each language's rules for exports and privacy. */
import type { Node } from '@vscode/tree-sitter-wasm'
import type { Definition } from './facts.ts'
import type { GrammarName } from './languages.ts'

type Asked = { node: Node; name: string; around: Definition | undefined }

export function isOffered(language: GrammarName, asked: Asked): boolean {
  const { node, name, around } = asked
  // No other file can name a definition inside of a function.
  if (around && /^(?:function|method|variable|field)$/.test(around.kind)) return false
  switch (language) {
    case 'typescript':
    case 'tsx':
    case 'javascript':
      if (around) return around.isOffered && !isPrivateMember(node, name)
      return isExported(node, name)
    case 'python':
      return !name.startsWith('_') && (around?.isOffered ?? true)
    case 'go':
      // In Go, other files of the same package can name every definition of a file.
      return true
    case 'rust':
      return isPublicInRust(node, around)
    case 'cpp':
      return !(around?.kind === 'class' && isPrivateInCpp(node)) && !isStatic(node)
    case 'java':
    case 'c-sharp':
    case 'php':
      return !/\bprivate\b/.test(modifiersOf(node)) && (around?.isOffered ?? true)
    default:
      return true
  }
}

/** Whether a class member is private to its class: written as `#name` or `private name`. */
const isPrivateMember = (node: Node, name: string): boolean =>
  name.startsWith('#') || node.namedChildren.some(it => it?.type === 'accessibility_modifier' && it.text === 'private')

/** Whether a top-level definition of JavaScript is exported where it stands, or by name elsewhere in the file. */
function isExported(node: Node, name: string): boolean {
  if (node.type === 'assignment_expression') return true
  let at: Node | null = node
  for (; at?.parent && at.parent.type !== 'program'; at = at.parent) if (at.type === 'export_statement') return true
  if (at?.type === 'export_statement') return true
  const program = at?.parent
  if (!program) return false
  return exportedNames(program).has(name)
}

/** The names that a file exports apart from their definitions: `export { a }`, `module.exports = a`. */
function exportedNames(program: Node): ReadonlySet<string> {
  const known = lastNames?.id === program.id && lastNames.tree === program.tree ? lastNames.names : undefined
  if (known) return known
  const names = new Set<string>()
  for (const child of program.namedChildren) {
    if (child?.type === 'export_statement' && !child.childForFieldName('source')) {
      const clause = child.namedChildren.find(it => it?.type === 'export_clause')
      for (const [, name = ''] of (clause?.text ?? '').matchAll(/[{,]\s*(?:type\s+)?([\w$]+)/g)) names.add(name)
      const value = child.childForFieldName('value')
      if (value?.type === 'identifier') names.add(value.text)
    }
    if (child?.type === 'expression_statement' && /^module\.exports\s*=/.test(child.text))
      for (const [name] of child.text.slice(0, 10_000).matchAll(/[A-Za-z_$][\w$]*/g)) names.add(name)
  }
  lastNames = { id: program.id, tree: program.tree, names }
  return names
}

/**
 * The exported names of the file asked about last, kept since a file's definitions are asked about one after the other.
 */
let lastNames: { id: number; tree: unknown; names: ReadonlySet<string> } | undefined

function isPublicInRust(node: Node, around: Definition | undefined): boolean {
  if (node.type === 'macro_definition') return true
  if (node.type === 'enum_variant' || around?.kind === 'interface') return around?.isOffered ?? true
  const holder = node.parent?.parent
  // The methods of a trait's implementation are as public as the trait.
  if (holder?.type === 'impl_item' && holder.childForFieldName('trait')) return true
  return node.namedChildren.some(it => it?.type === 'visibility_modifier')
}

/** Whether a member stands after `private:` or `protected:`, or before any such word in a `class`. */
function isPrivateInCpp(node: Node): boolean {
  for (let before = node.previousNamedSibling; before; before = before.previousNamedSibling)
    if (before.type === 'access_specifier') return before.text !== 'public'
  return node.parent?.parent?.type === 'class_specifier'
}

const isStatic = (node: Node): boolean =>
  node.parent?.type !== 'field_declaration_list' &&
  node.namedChildren.some(it => it?.type === 'storage_class_specifier' && it.text === 'static')

/** The modifiers of a definition. In PHP, those of a property are in the parent of the node with its name. */
const modifiersOf = (node: Node): string =>
  (node.type === 'property_element' ? (node.parent ?? node) : node).namedChildren
    .filter(it => it !== null && /modifier/.test(it.type))
    .map(it => it?.text)
    .join(' ')
