/** The language of a file by its name or its first line. Each language is a chunk of its own, loaded when needed. */
import { LanguageSupport, StreamLanguage, type StreamParser } from '@codemirror/language'
import type { Text } from '@codemirror/state'
import { baseName } from './names.ts'
import { isTooDeepToColour } from './nesting.ts'

type Load = () => Promise<LanguageSupport>

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

const shell = stream(async () => (await import('@codemirror/legacy-modes/mode/shell')).shell)
const cpp: Load = async () => (await import('./cpp.ts')).cpp()
const css: Load = async () => (await import('@codemirror/lang-css')).css()
const html: Load = async () => (await import('@codemirror/lang-html')).html()
const json: Load = async () => (await import('@codemirror/lang-json')).json()
// Without its keys: Enter would insert the marker of a list, also within an entry.
const markdown: Load = async () => (await import('@codemirror/lang-markdown')).markdown({ addKeymap: false })
const python: Load = async () => (await import('@codemirror/lang-python')).python()
const xml: Load = async () => (await import('@codemirror/lang-xml')).xml()
const yaml: Load = async () => (await import('@codemirror/lang-yaml')).yaml()
const clike = async () => await import('@codemirror/legacy-modes/mode/clike')
const toml = stream(async () => (await import('@codemirror/legacy-modes/mode/toml')).toml)
const ruby = stream(async () => (await import('@codemirror/legacy-modes/mode/ruby')).ruby)
const docker = stream(async () => (await import('@codemirror/legacy-modes/mode/dockerfile')).dockerFile)
const properties = stream(async () => (await import('@codemirror/legacy-modes/mode/properties')).properties, {
  line: '#',
})
const cmake = stream(async () => (await import('./cmake.ts')).cmake as StreamParser<unknown>, { line: '#' })

const BY_ENDING: Record<string, Load> = {
  js: javascript({ jsx: true }),
  cjs: javascript({ jsx: true }),
  mjs: javascript({ jsx: true }),
  jsx: javascript({ jsx: true }),
  ts: javascript({ typescript: true }),
  cts: javascript({ typescript: true }),
  mts: javascript({ typescript: true }),
  tsx: javascript({ jsx: true, typescript: true }),
  json,
  jsonc: json,
  lock: json,
  map: json,
  css,
  scss: stream(async () => (await import('@codemirror/legacy-modes/mode/css')).sCSS),
  less: stream(async () => (await import('@codemirror/legacy-modes/mode/css')).less),
  html,
  htm: html,
  vue: html,
  svelte: html,
  md: markdown,
  markdown,
  py: python,
  pyi: python,
  rs: async () => (await import('@codemirror/lang-rust')).rust(),
  go: async () => (await import('@codemirror/lang-go')).go(),
  java: async () => (await import('@codemirror/lang-java')).java(),
  php: async () => (await import('@codemirror/lang-php')).php(),
  sql: async () => (await import('@codemirror/lang-sql')).sql(),
  c: cpp,
  h: cpp,
  cc: cpp,
  cpp,
  cxx: cpp,
  hpp: cpp,
  xml,
  svg: xml,
  plist: xml,
  yaml,
  yml: yaml,
  cs: stream(async () => (await clike()).csharp),
  kt: stream(async () => (await clike()).kotlin),
  kts: stream(async () => (await clike()).kotlin),
  scala: stream(async () => (await clike()).scala),
  dart: stream(async () => (await clike()).dart),
  m: stream(async () => (await clike()).objectiveC),
  sh: shell,
  bash: shell,
  zsh: shell,
  toml,
  ini: properties,
  conf: properties,
  env: properties,
  properties,
  rb: ruby,
  rake: ruby,
  gemspec: ruby,
  swift: stream(async () => (await import('@codemirror/legacy-modes/mode/swift')).swift),
  lua: stream(async () => (await import('@codemirror/legacy-modes/mode/lua')).lua),
  pl: stream(async () => (await import('@codemirror/legacy-modes/mode/perl')).perl),
  pm: stream(async () => (await import('@codemirror/legacy-modes/mode/perl')).perl),
  r: stream(async () => (await import('@codemirror/legacy-modes/mode/r')).r),
  hs: stream(async () => (await import('@codemirror/legacy-modes/mode/haskell')).haskell),
  clj: stream(async () => (await import('@codemirror/legacy-modes/mode/clojure')).clojure),
  erl: stream(async () => (await import('@codemirror/legacy-modes/mode/erlang')).erlang),
  elm: stream(async () => (await import('@codemirror/legacy-modes/mode/elm')).elm),
  groovy: stream(async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy),
  gradle: stream(async () => (await import('@codemirror/legacy-modes/mode/groovy')).groovy),
  proto: stream(async () => (await import('@codemirror/legacy-modes/mode/protobuf')).protobuf, { line: '//' }),
  ps1: stream(async () => (await import('@codemirror/legacy-modes/mode/powershell')).powerShell),
  tex: stream(async () => (await import('@codemirror/legacy-modes/mode/stex')).stex),
  diff: stream(async () => (await import('@codemirror/legacy-modes/mode/diff')).diff),
  patch: stream(async () => (await import('@codemirror/legacy-modes/mode/diff')).diff),
  cmake,
}

const BY_NAME: Record<string, Load> = {
  dockerfile: docker,
  containerfile: docker,
  gemfile: ruby,
  rakefile: ruby,
  'cmakelists.txt': cmake,
  '.gitconfig': properties,
  '.editorconfig': properties,
  '.npmrc': properties,
  '.bashrc': shell,
  '.zshrc': shell,
  '.profile': shell,
}

/** The languages of the programs that the first line of a script names, without their versions. */
const BY_PROGRAM: Record<string, Load | undefined> = {
  ...{ sh: shell, bash: shell, dash: shell, ksh: shell, zsh: shell },
  ...{ node: BY_ENDING.js, bun: BY_ENDING.ts, deno: BY_ENDING.ts },
  ...{ python, ruby, perl: BY_ENDING.pl, php: BY_ENDING.php, lua: BY_ENDING.lua, pwsh: BY_ENDING.ps1 },
}

/** At most this many characters are coloured, since colouring a longer text takes too long. */
export const MAX_COLOURED_LENGTH = 1_000_000

/** Whether a text is coloured in the editor: it is neither too long nor nested too deeply. */
export const isColourable = (text: Text): boolean =>
  text.length < MAX_COLOURED_LENGTH && !isTooDeepToColour(text.toString())

/** Lock files without a syntax to colour. */
const PLAIN = new Set(['yarn.lock', 'gemfile.lock', 'flake.lock'])
const TOML_LOCKS = new Set(['cargo.lock', 'uv.lock', 'poetry.lock'])

/** Loads the language of a file; with its text, also that of a script whose name does not tell it. */
export async function loadLanguage(path: string, text?: Text): Promise<LanguageSupport | undefined> {
  const name = baseName(path).toLowerCase()
  const load = find(name) ?? (text && !PLAIN.has(name) ? byProgram(text.line(1).text) : undefined)
  try {
    return await load?.()
  } catch {
    // Without a connection the chunk can't be loaded: the file is shown in one colour.
    return undefined
  }
}

function find(name: string): Load | undefined {
  if (TOML_LOCKS.has(name)) return toml
  if (PLAIN.has(name)) return undefined
  const ending = name.slice(name.lastIndexOf('.') + 1)
  const byName = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined
  const byEnding = Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined
  return byName ?? byEnding
}

/** The language of a script by its first line, such as `#!/usr/bin/env python3`. */
function byProgram(first: string): Load | undefined {
  const [, program = '', asked = ''] = /^#!\s*(\S+)(?:\s+(?:-S\s+)?(\S+))?/.exec(first) ?? []
  const name = baseName(baseName(program) === 'env' ? asked : program).replace(/[\d.]+$/, '')
  return Object.hasOwn(BY_PROGRAM, name) ? BY_PROGRAM[name] : undefined
}
