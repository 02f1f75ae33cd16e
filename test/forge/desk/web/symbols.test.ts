/** The symbols of a file in the editor: those around a place, and how they move while the text is edited. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { foldable } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import { asBytes } from '../../../../core/git/repository.ts'
import { CodeReader } from '../../../../forge/code/reader.ts'
import { structureOf } from '../../../../forge/desk/code/structure.ts'
import {
  definitionAt,
  setStructure,
  structured,
  symbolsAt,
  symbolsOf,
} from '../../../../forge/desk/web/editor/symbols.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

let place: Place
let code: CodeReader
beforeAll(async () => {
  place = await makePlace()
  code = new CodeReader(place.objects, place.folder)
})
afterAll(async () => {
  code[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

async function stateOf(path: string, doc: string): Promise<EditorState> {
  const state = EditorState.create({ doc, extensions: structured() })
  const structure = await structureOf(code, asBytes(path), doc)
  return state.update({ effects: setStructure.of(structure) }).state
}

const TEXTS: Record<string, { text: string; symbols: string[] }> = {
  'a.ts': {
    text: 'export class Keeper {\n  async keep(): Promise<void> {}\n  #hidden() {}\n}\nconst f = () => 1\nconst n = 1\ninterface I { a(): 1 }\ntype T = 1\nfunction g() {}\n',
    symbols: ['Keeper', '  keep', '  #hidden', 'f', 'n', 'I', '  a', 'T', 'g'],
  },
  'a.py': { text: 'class A:\n    def b(self):\n        pass\n\ndef c():\n    pass\n', symbols: ['A', '  b', 'c'] },
  'a.rs': {
    text: 'struct A;\nimpl Display for A {\n    fn fmt(&self) {}\n}\nfn main() {}\n',
    symbols: ['A', 'impl Display for A', '  fmt', 'main'],
  },
  'a.rb': { text: 'module A\n  def b\n  end\nend\n', symbols: ['A', '  b'] },
  run: { text: '#!/bin/sh\nstart() {\n  :\n}\n', symbols: ['start'] },
  'a.md': {
    text: '---\ntitle: a\n---\n\n# One\n\n```sh\n# no heading\n```\n\n## Two ##\n\nThree\n---\n',
    symbols: ['One', '  Two', '  Three'],
  },
  'a.json': { text: '{\n  "a": {\n    "b": 1\n  },\n  "c": 2\n}\n', symbols: ['a', '  b', 'c'] },
  'a.yml': { text: 'on:\n  push: 1\njobs:\n  - name: x\n', symbols: ['on', '  push', 'jobs', '  name'] },
  'a.toml': { text: 'name = 1\n[tool]\nlevel = 2\n', symbols: ['name', 'tool', '  level'] },
  'a.ex': {
    text: 'defmodule Tide.Chart do\n  @moduledoc """\n  Use it so:\n\n      defmodule MyChart do\n      end\n  """\n\n  def high?(at), do: low(at)\n\n  defmacro __using__(_) do\n    quote do\n      def unquote(name)(), do: 1\n      def inner!(), do: 1\n    end\n  end\n\n  defp low(at) when is_integer(at) do\n    at\n  end\nend\n\ndefimpl Sea, for: Tide do\nend\n',
    symbols: ['Tide.Chart', '  high?', '  __using__', '    inner!', '  low', 'Sea'],
  },
  'a.kt': {
    text: 'class Tide(\n    private val at: Int,\n) {\n    companion object {\n        private fun low(): Int = 1\n    }\n\n    override suspend fun next(\n        at: Int,\n    ): Int {\n        return at\n    }\n}\n\nfun <T> List<T>.second(): T = this[1]\n',
    symbols: ['Tide', '  low', '  next', 'second'],
  },
  'a.scala': {
    text: 'case class Tide(at: Int)\n\nobject Tide {\n  private[sea] def low(at: Int): Int = at\n  implicit def next[T](at: T): T = {\n    at\n  }\n}\n',
    symbols: ['Tide', 'Tide', '  low', '  next'],
  },
  'a.swift': {
    text: 'public struct Tide {\n    private(set) var at = 0\n    static func low() -> Int { 1 }\n\n    @discardableResult\n    private func next() -> Int {\n        at\n    }\n}\n\nextension Tide: Sea {\n    class func of() {}\n}\n',
    symbols: ['Tide', '  low', '  next', 'Tide', '  of'],
  },
  'a.lua': {
    text: 'local M = {}\n\nlocal function low(at)\n  return at\nend\n\nfunction M.high(at)\n  local function inner() end\n  return low(at)\nend\n\nfunction M:next() end\n',
    symbols: ['low', 'high', '  inner', 'next'],
  },
  'a.txt': { text: '# not a heading\n', symbols: [] },
}

test('without a grammar a function ends with its own lines, not where the next one begins', async () => {
  const state = await stateOf('a.ex', TEXTS['a.ex']?.text ?? '')
  const namesAt = (words: string) => symbolsAt(state, state.doc.toString().indexOf(words)).map(({ name }) => name)
  expect(namesAt('Use it so')).toEqual(['Tide.Chart'])
  expect(namesAt('inner!')).toEqual(['Tide.Chart', '__using__', 'inner!'])
  expect(namesAt('is_integer')).toEqual(['Tide.Chart', 'low'])
  const macro = definitionAt(state, state.doc.toString().indexOf('quote do'))
  expect(state.sliceDoc(macro?.from, macro?.to)).toMatch(/^ {2}defmacro __using__.*inner!.*\n {2}end$/s)
})

test.each(Object.entries(TEXTS))('the symbols of %s', async (path, { text, symbols }) => {
  const found = symbolsOf(await stateOf(path, text))
  expect(found.map(({ name, depth }) => '  '.repeat(depth) + name)).toEqual(symbols)
})

test('those around a place are from the outside in, also after edits above and beside it', async () => {
  const text = TEXTS['a.ts']?.text ?? ''
  const state = await stateOf('a.ts', text)
  const names = (of: EditorState, words: string) =>
    symbolsAt(of, of.doc.toString().indexOf(words)).map(({ name }) => name)
  expect(names(state, 'Promise')).toEqual(['Keeper', 'keep'])
  expect(names(state, '() => 1')).toEqual(['f'])
  expect(definitionAt(state, text.indexOf('Promise'))?.name).toBe('keep')
  expect(definitionAt(state, text.indexOf('const n'))).toBeUndefined()
  const edited = state.update({
    changes: [
      { from: 0, insert: '// Above.\n\n' },
      { from: text.indexOf('{}'), insert: '/* beside */ ' },
    ],
  }).state
  expect(names(edited, 'Promise')).toEqual(['Keeper', 'keep'])
  expect(symbolsOf(edited).find(({ name }) => name === '#hidden')?.at).toBe(edited.doc.toString().indexOf('#hidden'))
})

test('of several symbols in one line, the one at the place is around it', async () => {
  const state = await stateOf('a.ts', 'const one = 1, two = 2\n')
  expect(symbolsAt(state, 8).map(({ name }) => name)).toEqual(['one'])
  expect(symbolsAt(state, 18).map(({ name }) => name)).toEqual(['two'])
})

test('the headings around a place are those of its section', async () => {
  const text = '# One\n\n## Two\n\na\n\n## Three\n\nb\n\n# Four\n\nc\n'
  const state = await stateOf('a.md', text)
  const at = (words: string) => symbolsAt(state, text.indexOf(words)).map(({ name }) => name)
  expect([at('a\n'), at('b\n'), at('c\n')]).toEqual([['One', 'Two'], ['One', 'Three'], ['Four']])
})

test.each([
  ['a.ts', 'function a(\n  b: 1,\n) {\n  return [\n    1,\n  ]\n}\n', [1, 4], ['  b: 1,', '1,']],
  ['a.py', 'def a():\n    b()\n\nc()\n', [1], ['b()']],
  ['a.rb', 'def a\n  b\nend\n', [1], ['b']],
  ['a.sh', 'if a; then\n  b\nfi\n', [1], ['b']],
  ['a.go', '/* one\n   two */\nfunc a() {\n\tb()\n}\n', [1, 3], ['two */', 'b()']],
])('what can be folded in %s begins in its lines', async (path, text, lines, inside) => {
  const state = await stateOf(path, text)
  const folds = Array.from({ length: state.doc.lines }, (_, at) => state.doc.line(at + 1)).flatMap(line => {
    const fold = foldable(state, line.from, line.to)
    return fold ? [{ line: line.number, text: state.sliceDoc(fold.from, fold.to) }] : []
  })
  expect(folds.map(({ line }) => line)).toEqual(expect.arrayContaining(lines))
  for (const [at, words] of inside.entries())
    expect(folds.find(({ line }) => line === lines[at])?.text).toContain(words.trim())
})
