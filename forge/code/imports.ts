/** The paths in an import, as the language writes them: without extensions, relative ones with a dot in front. */
import type { Node } from '@vscode/tree-sitter-wasm'
import type { GrammarName } from './languages.ts'

export function importsIn(language: GrammarName, { text }: Node): string[] {
  switch (language) {
    case 'python':
      return inPython(text)
    case 'go':
      return [text.slice(1, -1)]
    case 'rust':
      return inRust(text)
    case 'cpp':
      return [`./${text.slice(1, -1)}`]
    case 'java':
      return [text.replace(/^import\s+(?:static\s+)?|[\s;]/g, '').replaceAll('.', '/')]
    default:
      return [text]
  }
}

/**
 * The paths in a Python import: `import a.b as c, d`, or `from ..a import b, c as d`, where b may be a module of a
 * package.
 */
function inPython(text: string): string[] {
  const from = /^from\s+(\.*)([\w.]*)\s+import\s+([\s\S]*)$/.exec(text)
  if (!from) {
    const names = text.replace(/^import\s+/, '').split(',')
    return names.map(it => (it.trim().split(/\s/)[0] ?? '').replaceAll('.', '/')).filter(Boolean)
  }
  const [, dots = '', module = '', names = ''] = from
  const folder = dots === '' ? '' : `./${'../'.repeat(dots.length - 1)}`
  const base = folder + module.replaceAll('.', '/')
  const parts = names.replace(/#.*$/gm, '').replace(/[()]/g, '').split(',')
  const inner = parts.map(it => it.trim().split(/\s/)[0] ?? '').filter(it => /^\w+$/.test(it))
  const start = base === '' || base.endsWith('/') ? base : `${base}/`
  return [base.replace(/\/$/, ''), ...inner.map(it => start + it)].filter(Boolean)
}

/** `mod a;` is a file beside or below; of `use crate::a::b::C`, a, a/b and a/b/C may be files. */
function inRust(text: string): string[] {
  const file = /\bmod\s+(\w+)\s*;/.exec(text)?.[1]
  if (file) return [`./${file}`]
  const path = /\buse\s+(?:crate|super|self)::([\w:]+)/.exec(text)?.[1]
  const names = path?.split('::').filter(Boolean) ?? []
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}
