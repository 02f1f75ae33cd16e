/**
 * What begins a comment, by the name of a file: for the languages that CodeMirror does not know, or whose mode does not
 * say it, and for files that are too long to be coloured.
 */
import type { CommentTokens } from '@codemirror/commands'
import { baseName } from '../ui/names.ts'

/** Endings of files, and names without an ending (in lower case), by what begins a comment that ends with its line. */
const BY_LINE: Record<string, string> = {
  '#': `awk bash bzl cfg cmake codeowners coffee conf cr dockerfile containerfile env ex exs fish gd gemspec gql graphql
    hcl jl justfile makefile gnumakefile mk nim nix nomad pl pm procfile properties ps1 py pyi r rake rb sh tcl tf tfvars
    toml yaml yml zsh bazel build workspace caddyfile brewfile fastfile gemfile guardfile pipfile podfile rakefile
    snakefile vagrantfile desktop service socket timer po requirements constraints sconstruct gitignore gitattributes
    gitmodules gitconfig dockerignore npmignore npmrc eslintignore prettierignore stylelintignore helmignore vercelignore
    ignore rgignore mailmap editorconfig htaccess crontab bashrc bash_profile bash_aliases profile zshrc zprofile
    zshenv`,
  '//': `adoc asciidoc bicep c cairo cc cjs cpp cs cts cue cxx d dart dot frag fs fsi fsx gleam glsl go gradle groovy gv h
    hlsl hpp hx java jenkinsfile js json5 jsonc jsonnet jsx kt kts less libsonnet m mjs mm move mts odin pas prisma proto
    rs sass scala scss sol styl sv swift thrift ts tsx typ v vert wgsl zig mod work code-workspace babelrc eslintrc
    jshintrc swcrc`,
  '--': 'adb ads elm hs lua sql vhd vhdl',
  ';;': 'clj cljs cljc edn el lisp lsp rkt scm',
  ';': 'ahk asm inf reg',
  '%': 'erl hrl latex sty tex',
  '"': 'vim vimrc',
  "'": 'bas vb vbs',
  '!': 'f90 f95 f03 f08',
  '..': 'rst',
  '//-': 'pug jade',
  '-#': 'haml',
  '@REM': 'bat cmd',
}

/** The same of comments that end by a sign, in languages without comments that end with the line. */
const BY_BLOCK: [open: string, close: string, names: string][] = [
  ['<!--', '-->', 'ejs htm html markdown md plist svelte svg vue xml xsd xsl xslt'],
  ['{{!--', '--}}', 'handlebars hbs'],
  ['{{!', '}}', 'mustache'],
  ['{#', '#}', 'j2 jinja jinja2 njk twig'],
  ['@*', '*@', 'cshtml razor'],
  ['/*', '*/', 'css'],
  ['(*', '*)', 'ml mli'],
]

const TOKENS = new Map<string, CommentTokens>([
  ...Object.entries(BY_LINE).flatMap(([line, names]) => names.split(/\s+/).map(name => [name, { line }] as const)),
  ...BY_BLOCK.flatMap(([open, close, names]) =>
    names.split(' ').map(name => [name, { block: { open, close } }] as const),
  ),
])

/** Names that say the language also before an ending of their own: Makefile.am, Dockerfile.dev, .env.local. */
const WITH_ANY_ENDING = new Set([
  ...['makefile', 'gnumakefile', 'dockerfile', 'containerfile', 'jenkinsfile'],
  ...['env', 'requirements', 'constraints'],
])

/** The files of JSON whose programs read comments in them. */
const JSON_WITH_COMMENTS = /^(tsconfig|jsconfig)(\..+)?\.json$|^(devcontainer|\.eslintrc|\.swcrc)\.json$/

/** The comments of a file; undefined where they are not known. */
export function commentTokensOf(path: string): CommentTokens | undefined {
  const name = baseName(path).toLowerCase()
  if (JSON_WITH_COMMENTS.test(name)) return { line: '//' }
  const [first = '', ...others] = name.replace(/^\./, '').split('.')
  return TOKENS.get(others.at(-1) ?? first) ?? (WITH_ANY_ENDING.has(first) ? TOKENS.get(first) : undefined)
}
