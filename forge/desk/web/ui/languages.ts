/** The language of a file by its name or its first line. Each language is a chunk of its own, loaded when needed. */
import { indentService, LanguageSupport, StreamLanguage, type StreamParser } from '@codemirror/language'
import type { Text } from '@codemirror/state'
import { baseName } from './names.ts'
import { isTooDeepToColour } from './nesting.ts'

type Load = () => Promise<LanguageSupport | undefined>

/** `comments`: what Ctrl+/ inserts, if the CodeMirror mode of the language does not say it. */
const stream = (load: () => Promise<StreamParser<unknown>>, comments?: { line: string }): Load => {
  return async () => {
    const parser = await load()
    const languageData = { ...parser.languageData, ...(comments && { commentTokens: comments }) }
    return new LanguageSupport(StreamLanguage.define({ ...parser, languageData }))
  }
}

const javascript = (options: { jsx?: boolean; typescript?: boolean }): Load => {
  return async () => (await import('@codemirror/lang-javascript')).javascript(options)
}

/**
 * Without its keys: Enter would insert the marker of a list, also within an entry. HTML in it has neither closing tags
 * nor an indentation of its own (null keeps that of the line before): four spaces would make code of the text in it.
 */
const markdown: Load = async () => {
  const [{ markdown }, { html }] = await Promise.all([
    import('@codemirror/lang-markdown'),
    import('@codemirror/lang-html'),
  ])
  const htmlTagLanguage = html({ matchClosingTags: false, autoCloseTags: false })
  const { language, support } = markdown({ addKeymap: false, htmlTagLanguage })
  return new LanguageSupport(language, [support, indentService.of(() => null)])
}

const cpp: Load = async () => (await import('./cpp.ts')).cpp()
const html: Load = async () => (await import('@codemirror/lang-html')).html()
const clike = async () => await import('@codemirror/legacy-modes/mode/clike')
const cmake = stream(async () => (await import('./cmake.ts')).cmake as StreamParser<unknown>, { line: '#' })

/** The languages by their names, which are those of VS Code. */
const LANGUAGES = {
  C: cpp,
  'C#': stream(async () => (await clike()).csharp),
  'C++': cpp,
  Clojure: stream(async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure),
  CMake: cmake,
  CoffeeScript: stream(async () => (await import('@codemirror/legacy-modes/mode/coffeescript')).coffeeScript),
  'Common Lisp': stream(async () => (await import('@codemirror/legacy-modes/mode/commonlisp')).commonLisp),
  Crystal: stream(async () => (await import('@codemirror/legacy-modes/mode/crystal')).crystal),
  CSS: async () => (await import('@codemirror/lang-css')).css(),
  D: stream(async () => (await import('@codemirror/legacy-modes/mode/d')).d),
  Dart: stream(async () => (await clike()).dart),
  Diff: stream(async () => (await import('@codemirror/legacy-modes/mode/diff')).diff),
  Dockerfile: stream(async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile),
  // Without its keys: they would take Enter from the editor's own.
  Elixir: async () => new LanguageSupport((await import('codemirror-lang-elixir')).elixirLanguage),
  Elm: stream(async () => (await import('@codemirror/legacy-modes/mode/elm')).elm),
  Erlang: stream(async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang),
  'F#': stream(async () => (await import('@codemirror/legacy-modes/mode/mllike')).fSharp),
  Fortran: stream(async () => (await import('@codemirror/legacy-modes/mode/fortran')).fortran),
  Go: async () => (await import('@codemirror/lang-go')).go(),
  Groovy: stream(async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy),
  Haskell: stream(async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell),
  HTML: html,
  Java: async () => (await import('@codemirror/lang-java')).java(),
  JavaScript: javascript({ jsx: true }),
  JSON: async () => (await import('@codemirror/lang-json')).json(),
  Julia: stream(async () => (await import('@codemirror/legacy-modes/mode/julia')).julia),
  Kotlin: stream(async () => (await clike()).kotlin),
  LaTeX: stream(async () => (await import('@codemirror/legacy-modes/mode/stex')).stex),
  Less: stream(async () => (await import('@codemirror/legacy-modes/mode/css')).less),
  Lua: stream(async () => (await import('@codemirror/legacy-modes/mode/lua')).lua),
  Markdown: markdown,
  'Objective-C': stream(async () => (await clike()).objectiveC),
  OCaml: stream(async () => (await import('@codemirror/legacy-modes/mode/mllike')).oCaml),
  Pascal: stream(async () => (await import('@codemirror/legacy-modes/mode/pascal')).pascal),
  Perl: stream(async () => (await import('@codemirror/legacy-modes/mode/perl')).perl),
  PHP: async () => (await import('@codemirror/lang-php')).php(),
  'Plain text': async () => undefined,
  PowerShell: stream(async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell),
  Properties: stream(async () => (await import('@codemirror/legacy-modes/mode/properties')).properties, { line: '#' }),
  'Protocol Buffers': stream(async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf, {
    line: '//',
  }),
  Python: async () => (await import('@codemirror/lang-python')).python(),
  R: stream(async () => (await import('@codemirror/legacy-modes/mode/r')).r),
  Ruby: stream(async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby),
  Rust: async () => (await import('./rust.ts')).rust(),
  Sass: stream(async () => (await import('@codemirror/legacy-modes/mode/sass')).sass),
  Scala: stream(async () => (await clike()).scala),
  Scheme: stream(async () => (await import('@codemirror/legacy-modes/mode/scheme')).scheme),
  SCSS: stream(async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS),
  'Shell script': stream(async () => (await import('@codemirror/legacy-modes/mode/shell')).shell),
  SQL: async () => (await import('@codemirror/lang-sql')).sql(),
  Svelte: html,
  Swift: stream(async () => (await import('@codemirror/legacy-modes/mode/swift')).swift),
  Tcl: stream(async () => (await import('@codemirror/legacy-modes/mode/tcl')).tcl),
  TOML: stream(async () => (await import('@codemirror/legacy-modes/mode/toml')).toml),
  TypeScript: javascript({ typescript: true }),
  'TypeScript JSX': javascript({ jsx: true, typescript: true }),
  Verilog: stream(async () => (await import('@codemirror/legacy-modes/mode/verilog')).verilog),
  VHDL: stream(async () => (await import('@codemirror/legacy-modes/mode/vhdl')).vhdl),
  'Visual Basic': stream(async () => (await import('@codemirror/legacy-modes/mode/vb')).vb),
  Vue: html,
  XML: async () => (await import('@codemirror/lang-xml')).xml(),
  YAML: async () => (await import('@codemirror/lang-yaml')).yaml(),
} satisfies Record<string, Load>

export type LanguageName = keyof typeof LANGUAGES
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as LanguageName[]
export const isLanguage = (name: string): name is LanguageName => Object.hasOwn(LANGUAGES, name)

const BY_ENDING: Record<string, LanguageName> = {
  js: 'JavaScript',
  cjs: 'JavaScript',
  mjs: 'JavaScript',
  jsx: 'JavaScript',
  ts: 'TypeScript',
  cts: 'TypeScript',
  mts: 'TypeScript',
  tsx: 'TypeScript JSX',
  json: 'JSON',
  jsonc: 'JSON',
  map: 'JSON',
  css: 'CSS',
  scss: 'SCSS',
  less: 'Less',
  html: 'HTML',
  htm: 'HTML',
  vue: 'Vue',
  svelte: 'Svelte',
  md: 'Markdown',
  markdown: 'Markdown',
  py: 'Python',
  pyi: 'Python',
  rs: 'Rust',
  go: 'Go',
  java: 'Java',
  php: 'PHP',
  sql: 'SQL',
  c: 'C',
  h: 'C',
  cc: 'C++',
  cpp: 'C++',
  cxx: 'C++',
  hpp: 'C++',
  xml: 'XML',
  svg: 'XML',
  plist: 'XML',
  yaml: 'YAML',
  yml: 'YAML',
  cs: 'C#',
  kt: 'Kotlin',
  kts: 'Kotlin',
  scala: 'Scala',
  dart: 'Dart',
  m: 'Objective-C',
  sh: 'Shell script',
  bash: 'Shell script',
  zsh: 'Shell script',
  toml: 'TOML',
  ini: 'Properties',
  conf: 'Properties',
  env: 'Properties',
  properties: 'Properties',
  rb: 'Ruby',
  rake: 'Ruby',
  gemspec: 'Ruby',
  swift: 'Swift',
  lua: 'Lua',
  pl: 'Perl',
  pm: 'Perl',
  r: 'R',
  hs: 'Haskell',
  clj: 'Clojure',
  erl: 'Erlang',
  elm: 'Elm',
  groovy: 'Groovy',
  gradle: 'Groovy',
  proto: 'Protocol Buffers',
  ps1: 'PowerShell',
  tex: 'LaTeX',
  diff: 'Diff',
  patch: 'Diff',
  cmake: 'CMake',
  ex: 'Elixir',
  exs: 'Elixir',
  tcl: 'Tcl',
  jl: 'Julia',
  ml: 'OCaml',
  mli: 'OCaml',
  fs: 'F#',
  fsi: 'F#',
  fsx: 'F#',
  coffee: 'CoffeeScript',
  sass: 'Sass',
  cr: 'Crystal',
  d: 'D',
  f: 'Fortran',
  f90: 'Fortran',
  f95: 'Fortran',
  lisp: 'Common Lisp',
  el: 'Common Lisp',
  scm: 'Scheme',
  rkt: 'Scheme',
  pas: 'Pascal',
  v: 'Verilog',
  sv: 'Verilog',
  vhd: 'VHDL',
  vhdl: 'VHDL',
  vb: 'Visual Basic',
}

const BY_NAME: Record<string, LanguageName> = {
  dockerfile: 'Dockerfile',
  containerfile: 'Dockerfile',
  gemfile: 'Ruby',
  rakefile: 'Ruby',
  'cmakelists.txt': 'CMake',
  '.gitconfig': 'Properties',
  '.editorconfig': 'Properties',
  '.npmrc': 'Properties',
  '.bashrc': 'Shell script',
  '.zshrc': 'Shell script',
  '.profile': 'Shell script',
  // Lock files: the ending alone does not tell what is in them.
  'bun.lock': 'JSON',
  'composer.lock': 'JSON',
  'deno.lock': 'JSON',
  'flake.lock': 'JSON',
  'pipfile.lock': 'JSON',
  'cargo.lock': 'TOML',
  'pdm.lock': 'TOML',
  'poetry.lock': 'TOML',
  'uv.lock': 'TOML',
  'chart.lock': 'YAML',
  'pixi.lock': 'YAML',
  'podfile.lock': 'YAML',
  'pubspec.lock': 'YAML',
}

/** The languages of the programs that the first line of a script names, without their versions. */
const BY_PROGRAM: Record<string, LanguageName> = {
  sh: 'Shell script',
  bash: 'Shell script',
  dash: 'Shell script',
  ksh: 'Shell script',
  zsh: 'Shell script',
  node: 'JavaScript',
  bun: 'TypeScript',
  deno: 'TypeScript',
  python: 'Python',
  ruby: 'Ruby',
  perl: 'Perl',
  php: 'PHP',
  lua: 'Lua',
  elixir: 'Elixir',
  tclsh: 'Tcl',
  julia: 'Julia',
  pwsh: 'PowerShell',
}

/** At most this many characters are coloured, since colouring a longer text takes too long. */
export const MAX_COLOURED_LENGTH = 1_000_000

/** Whether a text is coloured in the editor: it is neither too long nor nested too deeply. */
export const isColourable = (text: Text): boolean =>
  text.length < MAX_COLOURED_LENGTH && !isTooDeepToColour(text.toString())

/** The language of a file by its name; with its text, also that of a script whose name does not tell it. */
export function languageOf(path: string, text?: Text): LanguageName {
  const name = baseName(path).toLowerCase()
  // A name without a dot has none: the file `py` is not Python.
  const [, ending = ''] = /\.([^.]*)$/.exec(name) ?? []
  const byName = own(BY_NAME, name) ?? own(BY_ENDING, ending)
  return byName ?? (text ? byProgram(text.line(1).text) : undefined) ?? 'Plain text'
}

/** Loads a language; undefined for plain text, and where it can't be loaded. */
export async function loadNamed(name: LanguageName): Promise<LanguageSupport | undefined> {
  try {
    return await LANGUAGES[name]()
  } catch {
    // Without a connection the chunk can't be loaded: the file is shown in one colour.
    return undefined
  }
}

/** Loads the language of a file: see {@link languageOf}. */
export const loadLanguage = (path: string, text?: Text): Promise<LanguageSupport | undefined> =>
  loadNamed(languageOf(path, text))

const own = (table: Record<string, LanguageName>, key: string): LanguageName | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

/** The language of a script by its first line, such as `#!/usr/bin/env python3`. */
function byProgram(first: string): LanguageName | undefined {
  const [, program = '', asked = ''] = /^#!\s*(\S+)(?:\s+(?:-S\s+)?(\S+))?/.exec(first) ?? []
  const name = baseName(baseName(program) === 'env' ? asked : program).replace(/[\d.]+$/, '')
  return own(BY_PROGRAM, name)
}
