/** Where F12 finds the declaration of a variable or parameter, in each language with nodes for these. */
import { expect, test } from 'bun:test'
import { EditorState } from '@codemirror/state'
import { declarationOf } from '../../../../forge/desk/web/editor/local-names.ts'
import { loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

/** The text with `^` before the name that declares the one at `|`; unchanged where there is none. */
async function declared(path: string, text: string): Promise<string> {
  const language = (await loadLanguage(path)) ?? []
  const [before = '', after = ''] = text.split('|')
  const state = EditorState.create({ doc: before + after, extensions: language })
  const name = /^\w+/.exec(after)?.[0] ?? ''
  const at = declarationOf(state, name, before.length)
  return at === undefined ? text : `${text.slice(0, at)}^${text.slice(at)}`
}

test.each([
  ['a.rs', 'fn f(seed: u8) { let other = seed; g(|seed) }', 'fn f(^seed: u8) { let other = seed; g(|seed) }'],
  ['a.rs', 'fn f() { let a = 1; { let a = 2; } g(|a) }', 'fn f() { let ^a = 1; { let a = 2; } g(|a) }'],
  ['a.rs', 'fn f() { let (a, b) = c; g(a, |b) }', 'fn f() { let (a, ^b) = c; g(a, |b) }'],
  ['a.rs', 'fn f() { match a { Some(b) => b, c => |c } }', 'fn f() { match a { Some(b) => b, ^c => |c } }'],
  ['a.rs', 'fn f() { let a = 1; self.|a() }', 'fn f() { let a = 1; self.|a() }'],
  ['a.rs', 'fn f() { let ab = 1; let a = 2; b(|ab) }', 'fn f() { let ^ab = 1; let a = 2; b(|ab) }'],
  ['a.rs', 'fn f(a: u8) { let a = g(|a); }', 'fn f(^a: u8) { let a = g(|a); }'],
  ['a.ts', 'function f() { const a = () => |a() }', 'function f() { const ^a = () => |a() }'],
  ['a.ts', 'function f({ a: b }: A) { return () => |b }', 'function f({ a: ^b }: A) { return () => |b }'],
  ['a.ts', 'function f() { for (const a of b) g(|a) }', 'function f() { for (const ^a of b) g(|a) }'],
  ['a.ts', 'function f() { const a = 1; return a.|a }', 'function f() { const a = 1; return a.|a }'],
  ['a.ts', 'function f() { return |g() }', 'function f() { return |g() }'],
  ['a.py', 'def f(a, b=1):\n  c = a\n  return |a + c\n', 'def f(^a, b=1):\n  c = a\n  return |a + c\n'],
  ['a.py', 'def f():\n  c = 1\n  return |c\n', 'def f():\n  ^c = 1\n  return |c\n'],
  ['a.go', 'func f() { a, err := g(); h(a, |err) }', 'func f() { a, ^err := g(); h(a, |err) }'],
  ['a.c', 'int f(char *a) { int b = *a; return |b + *a; }', 'int f(char *a) { int ^b = *a; return |b + *a; }'],
  ['a.c', 'int f(char *a) { int b = *a; return b + *|a; }', 'int f(char *^a) { int b = *a; return b + *|a; }'],
  ['A.java', 'class A { int f(int a) { return |a; } }', 'class A { int f(int ^a) { return |a; } }'],
])('of %s: %s', async (path, text, expected) => {
  expect(await declared(path, text)).toBe(expected)
})
