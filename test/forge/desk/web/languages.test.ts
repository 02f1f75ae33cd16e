/** The languages of files, by their names and by the first lines of scripts. */
import { expect, test } from 'bun:test'
import { ensureSyntaxTree } from '@codemirror/language'
import { EditorState, Text } from '@codemirror/state'
import { type EditorView, keymap } from '@codemirror/view'
import { commentTokensOf } from '../../../../forge/desk/web/editor/comment-tokens.ts'
import { commentKey } from '../../../../forge/desk/web/editor/line-commands.ts'
import { coloursOf, piecesOf } from '../../../../forge/desk/web/ui/coloured.ts'
import { languageOf, loadLanguage } from '../../../../forge/desk/web/ui/languages.ts'

/** The text after Ctrl+/ on its only line; undefined where it says that no comments are known. */
async function commented(path: string, doc: string, isColoured = true): Promise<string | undefined> {
  const language = isColoured ? await loadLanguage(path) : undefined
  let isUnknown = false
  const key = commentKey(
    () => commentTokensOf(path),
    () => {
      isUnknown = true
    },
  )
  let state = EditorState.create({ doc, extensions: [key, language ?? []] })
  const [binding] = state.facet(keymap).flat()
  binding?.run?.({
    state,
    dispatch: (transaction: { state: EditorState }) => (state = transaction.state),
  } as unknown as EditorView)
  return isUnknown ? undefined : state.doc.toString()
}

const COMMENTED: Record<string, string> = {
  'a.ini': '# a = 1',
  'a.conf': '# a = 1',
  '.env': '# a = 1',
  '.gitconfig': '# a = 1',
  'a.proto': '// a = 1',
  'a.cmake': '# a = 1',
  'CMakeLists.txt': '# a = 1',
  'a.toml': '# a = 1',
  'a.ts': '// a = 1',
  'poetry.lock': '# a = 1',
  Makefile: '# a = 1',
  'rules.mk': '# a = 1',
  '.gitignore': '# a = 1',
  'web/.npmrc': '# a = 1',
  '.editorconfig': '# a = 1',
  '.env.local': '# a = 1',
  'Dockerfile.dev': '# a = 1',
  'requirements.txt': '# a = 1',
  'a.tf': '# a = 1',
  'a.graphql': '# a = 1',
  'a.ex': '# a = 1',
  'a.zig': '// a = 1',
  'a.jsonc': '// a = 1',
  'tsconfig.build.json': '// a = 1',
  'a.bat': '@REM a = 1',
  'page.ejs': '<!-- a = 1 -->',
  'page.hbs': '{{!-- a = 1 --}}',
  'page.html': '<!-- a = 1 -->',
  'a.lua': '-- a = 1',
}

for (const [path, text] of Object.entries(COMMENTED)) {
  test(`Ctrl+/ comments a line of ${path}`, async () => {
    expect(await commented(path, 'a = 1')).toBe(text)
  })
}

test('Ctrl+/ comments a line of a file that is too long to be coloured', async () => {
  expect(await commented('a.ts', 'a', false)).toBe('// a')
  expect(await commented('a.css', 'a', false)).toBe('/* a */')
})

test.each(['package.json', 'a.csv', 'c.csv', 'LICENSE', 'README.txt', 'constructor', '__proto__'])(
  'Ctrl+/ says that no comments are known for %s',
  async path => {
    expect(await commented(path, 'a')).toBeUndefined()
  },
)

test('a lock file has the language that its program writes, and is plain text where that is none', () => {
  const languages = (names: string[]) => [...new Set(names.map(name => languageOf(`in/${name}`)))]
  expect(languages(['bun.lock', 'composer.lock', 'deno.lock', 'flake.lock', 'Pipfile.lock'])).toEqual(['JSON'])
  expect(languages(['Cargo.lock', 'pdm.lock', 'poetry.lock', 'uv.lock'])).toEqual(['TOML'])
  expect(languages(['Chart.lock', 'Podfile.lock', 'pixi.lock', 'pubspec.lock'])).toEqual(['YAML'])
  expect(languages(['mix.lock', 'rebar.lock', 'yarn.lock', 'Gemfile.lock', 'some.lock'])).toEqual(['Plain text'])
})

test('a file without an ending does not have the language of an ending that it is named as', () => {
  expect(['f', 'py', 'in.py/h'].map(name => languageOf(name))).toEqual(['Plain text', 'Plain text', 'Plain text'])
  expect(['.py', 'a.b.py'].map(name => languageOf(name))).toEqual(['Python', 'Python'])
})

test('a script without an ending has the language of the program in its first line', async () => {
  const nameOf = async (path: string, first: string) =>
    (await loadLanguage(path, Text.of([first, 'x'])))?.language.name ?? 'none'
  expect(await nameOf('bin/run', '#!/bin/sh')).toBe('shell')
  expect(await nameOf('bin/run', '#! /usr/bin/env -S bash -eu')).toBe('shell')
  expect(await nameOf('exe/jekyll', '#!/usr/bin/env ruby')).toBe('ruby')
  expect(await nameOf('tool', '#!/usr/local/bin/python3.11 -u')).toBe('python')
  expect(await nameOf('tool', '#!/usr/bin/env bun')).toBe('typescript')
  // The name of the file is what counts where it tells the language.
  expect(await nameOf('tool.rb', '#!/bin/sh')).toBe('ruby')
  for (const first of ['', '#!', '#!/usr/bin/env', '#!/opt/constructor', 'echo #!/bin/sh'])
    expect(await nameOf('tool', first)).toBe('none')
})

test('a text in each language has colours: keywords, strings and comments are told apart', async () => {
  const texts: [path: string, text: string, looks: string[]][] = [
    ['a.ex', 'def low(at), do: "one" # two', ['x-key: def', 'x-str: "one"', 'x-note: # two']],
    ['mix.exs', 'defmodule Sea do\nend', ['x-key: defmodule', 'x-key: do', 'x-key: end']],
    ['a.tcl', 'proc low {at} {return 1} ;# two', ['x-key: proc', 'x-key: return', 'x-note: # two']],
    ['a.jl', 'function low() "one" end # two', ['x-key: function', 'x-str: "one"', 'x-note: # two']],
    ['a.ml', 'let low = "one" (* two *)', ['x-key: let', 'x-note: (* two *)']],
    ['a.fs', 'let low = "one" // two', ['x-key: let', 'x-note: // two']],
    ['a.coffee', 'return "one" # two', ['x-key: return', 'x-str: "one"', 'x-note: # two']],
    ['a.cr', 'def low; "one"; end # two', ['x-key: def', 'x-note: # two']],
    ['a.scm', '(define low "one") ; two', ['x-str: "one"', 'x-note: ; two']],
    ['a.f90', 'end program ! two', ['x-key: end', 'x-note: ! two']],
    ['a.sv', 'module low; // two', ['x-key: module', 'x-note: // two']],
    ['a.vhd', 'entity low is -- two', ['x-key: entity', 'x-note: -- two']],
  ]
  for (const [path, text, looks] of texts) {
    const found = (await colouredLines(path, text)).flat()
    for (const look of looks) expect({ path, found }).toEqual({ path, found: expect.arrayContaining([look]) })
  }
})

const CMAKE = `# Sets a(n option)
set(WORDS "a(b) ''" "")
string(REGEX MATCH "V ([0-9]+) \\"\${NAME}(" OUT) # not "closed
#[[ A comment (
of two lines ]] if (ON)
set(RAW [=[a ]] (" b]=] 3.8)
else ()
`

/** The coloured pieces of each line, with their classes. */
async function colouredLines(path: string, words: string): Promise<string[][]> {
  const text = Text.of(words.split('\n'))
  const colours = await coloursOf(path, text)
  return [...text.iterLines()].map((line, at) =>
    piecesOf(line, colours.get(at + 1), [])
      .filter(({ look }) => look !== '')
      .map(({ text: piece, look }) => `${look}: ${piece}`),
  )
}

test('strings, comments and commands of CMake are told apart, whatever is in them', async () => {
  expect(await colouredLines('CMakeLists.txt', CMAKE)).toEqual([
    ['x-note: # Sets a(n option)'],
    ['x-call: set', `x-str: "a(b) ''"`, 'x-str: ""'],
    ['x-call: string', 'x-str: "V ([0-9]+) \\"', 'x-str: ("', 'x-note: # not "closed'],
    ['x-note: #[[ A comment ('],
    ['x-note: of two lines ]]', 'x-key: if', 'x-num: ON'],
    ['x-call: set', 'x-str: [=[a ]] (" b]=]', 'x-num: 3.8'],
    ['x-key: else'],
    [],
  ])
})

const MACROS = `#define CHECK(condition) \\
  if (!(condition) /* has failed */ \\
  ) fail("/*") /* at the end */
int one; // one
#define PATH "/*"
/* # in a comment
 # define /* two */
int three;
/* four */
`

test('a comment or a string in a macro does not end it, and what follows has the colours of code', async () => {
  const lines = await colouredLines('check.h', MACROS)
  expect(lines.slice(2, 4)).toEqual([
    ['x-note:   ) fail("/*") ', 'x-note: /* at the end */'],
    ['x-type: int', 'x-note: // one'],
  ])
  expect(lines.slice(5)).toEqual([
    ['x-note: /* # in a comment'],
    ['x-note:  # define /* two */'],
    ['x-type: int'],
    ['x-note: /* four */'],
    [],
  ])
  // What is typed changes no other line, as in the editor, which parses only what has changed.
  const support = await loadLanguage('check.h')
  if (!support) throw new Error('C++ was not loaded.')
  let state = EditorState.create({ doc: MACROS, extensions: support })
  ensureSyntaxTree(state, state.doc.length, 10_000)
  const at = MACROS.indexOf('/* has')
  for (const [from, to, insert] of [
    [at, at + 2, ''],
    [at, at, '/*'],
  ] as const) {
    state = state.update({ changes: { from, to, insert } }).state
    const tree = ensureSyntaxTree(state, state.doc.length, 10_000)
    expect(String(tree)).toBe(String(support.language.parser.parse(state.doc.toString())))
  }
  expect(state.doc.toString()).toBe(MACROS)
})
