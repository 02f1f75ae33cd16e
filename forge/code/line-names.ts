/**
 * The names that a file without a grammar defines, by patterns of its lines: headings, keys, targets, and the
 * definitions of some languages. Each line is matched alone and cut, so that the time is proportional to the length for
 * any content.
 */
import type { Path } from '../../core/git/repository.ts'
import { visible } from '../../core/text.ts'
import type { DefinitionKind } from './facts.ts'

export type LineKind = DefinitionKind | 'heading' | 'key'

/**
 * A name with its line, from 1, and its place there in UTF-16 units. `depth`: how many names are around it; `level`:
 * that of a heading, from 1, else 0; `text`: the line, without its opening bracket; `isOffered`: whether other files
 * can use it.
 */
export type LineName = {
  name: string
  kind: LineKind
  line: number
  column: number
  depth: number
  level: number
  text: string
  isOffered: boolean
}

/**
 * `depth`: how the depth of a name is found: all names are beside each other, by the indentation, or by the pattern.
 */
type Rules = {
  patterns: readonly (readonly [pattern: RegExp, kind: LineKind])[]
  depth?: 'indentation' | 'heading' | 'section'
  /** Whether code refers to the names, so that other files can use them. */
  isCode?: boolean
  /** The first group is a whole declaration, as `suspend int read`, whose last word is the name. */
  isDeclared?: boolean
  /** The lines of names that only their own file can use. */
  isPrivate?: RegExp
  /** What begins and ends a text of several lines, in which nothing is defined. */
  longText?: RegExp
}

const MAX_LINES = 20_000
const MAX_LINE_CHARS = 240
const MAX_NAMES = 5_000

/** What begins and ends a text of several lines in Elixir, Kotlin, Scala and Swift. */
const LONG_TEXT = /"""|'''/g
/** Makes the pattern of a line with a definition behind some modifiers, such as `private`. */
const afterModifiers = (words: string, definition: string): RegExp =>
  new RegExp(String.raw`^\s*(?:@\w+ )*(?:(?:${words})(?:[[(]\w+[\])])? )*${definition}`)

const JVM_WORDS =
  'public|protected|private|internal|abstract|final|sealed|static|data|open|partial|case|inner|inline|value|override|suspend|operator|infix|tailrec|external|expect|actual|enum|annotation|companion|implicit|lazy|fun'
const JVM: Rules = {
  isCode: true,
  isDeclared: true,
  isPrivate: /^[^({=]*\bprivate\b/,
  longText: LONG_TEXT,
  patterns: [
    [afterModifiers(JVM_WORDS, String.raw`(?:class|interface|enum|record|object|trait|struct) (\w+)`), 'class'],
    [afterModifiers(JVM_WORDS, String.raw`(?:fun|def) (?:<[^>]*> ?)?(?:[\w<>?, ]+\.)?(\w+)`), 'function'],
    [/^ +(?:public|override|open) ([^(=;{]+)\(/, 'method'],
  ],
}
/** Vue and Svelte: what the scripts in them export. */
const COMPONENT: Rules = {
  isCode: true,
  patterns: [
    [/^export (?:default )?(?:async )?function\*? ?(\w+)/, 'function'],
    [/^export (?:default )?(?:abstract )?(?:class|interface|type|enum) (\w+)/, 'class'],
    [/^export (?:const |let |var )(\w+)/, 'variable'],
  ],
}
const SWIFT_WORDS =
  'public|open|final|internal|private|fileprivate|package|static|class|mutating|override|indirect|nonisolated'
const SWIFT: Rules = {
  isCode: true,
  isPrivate: /^[^({=]*\b(?:file)?private\b/,
  longText: LONG_TEXT,
  patterns: [
    [afterModifiers(SWIFT_WORDS, String.raw`func (\w+)`), 'function'],
    [
      afterModifiers(SWIFT_WORDS, String.raw`(?:class|struct|enum|protocol|actor|extension) (?!var\b|let\b)(\w+)`),
      'class',
    ],
  ],
}
const SQL: Rules = {
  isCode: true,
  patterns: [
    [
      /^create (?:or replace )?(?:temporary )?(?:table|view|function|index|type|trigger) (?:if not exists )?([\w."]+)/i,
      'type',
    ],
  ],
}
const PROTO: Rules = { isCode: true, patterns: [[/^(?:message|service|enum) (\w+)/, 'type']] }
const LUA: Rules = {
  isCode: true,
  isPrivate: /^\s*local\b/,
  patterns: [[/^\s*(?:local )?function (?:[\w.]+[.:])?(\w+)/, 'function']],
}
const ELIXIR: Rules = {
  isCode: true,
  isPrivate: /^\s*def(?:macro|guard|n)?p\b/,
  longText: LONG_TEXT,
  patterns: [
    [/^\s*(?:defmodule|defprotocol|defimpl) ([\w.]+)/, 'module'],
    [/^\s*def(?:macro|guard|delegate|n)?p? (?!unquote\b)(\w+[?!]?)/, 'function'],
  ],
}
const MARKDOWN: Rules = { depth: 'heading', patterns: [[/^#{1,6}\s+(.+?)(?:\s+#+)?\s*$/, 'heading']] }
const STYLES: Rules = { patterns: [[/^([.#@:*a-zA-Z][^{;]*)\{/, 'type']] }
const HTML: Rules = {
  patterns: [
    [/<title>([^<]*)/i, 'heading'],
    [/<h[12][^>]*>([^<]*)/i, 'heading'],
    [/\bid="([^"]*)"/i, 'key'],
  ],
}
const JSON_KEYS: Rules = { depth: 'indentation', patterns: [[/^\s*"((?:[^"\\]|\\.)+)"\s*:/, 'key']] }
const YAML: Rules = {
  depth: 'indentation',
  patterns: [[/^\s*(?:- +)?([\w./$-][\w ./$-]*?|"[^"]+"|'[^']+')\s*:(?:\s|$)/, 'key']],
}
const TOML: Rules = {
  depth: 'section',
  patterns: [
    [/^\[+\s*([^\]]+?)\s*\]+/, 'heading'],
    [/^([\w."-]+)\s*=/, 'key'],
  ],
}
const MAKEFILE: Rules = { patterns: [[/^(\w[\w./-]*) *:(?!=)/, 'key']] }
const DOCKERFILE: Rules = { patterns: [[/^((?:FROM|ENTRYPOINT|CMD|EXPOSE) .+)/, 'key']] }

const RULES: readonly (readonly [endings: string, rules: Rules])[] = [
  ['vue svelte', COMPONENT],
  ['kt kts scala', JVM],
  ['swift', SWIFT],
  ['css scss less', STYLES],
  ['html htm xml svg', HTML],
  ['md markdown mdx', MARKDOWN],
  ['json jsonc json5', JSON_KEYS],
  ['yml yaml', YAML],
  ['toml ini cfg', TOML],
  ['mk', MAKEFILE],
  ['sql', SQL],
  ['proto', PROTO],
  ['lua', LUA],
  ['ex exs', ELIXIR],
  ['clj el lisp scm hs', { isCode: true, patterns: [] }],
]

const BY_ENDING: ReadonlyMap<string, Rules> = new Map(
  RULES.flatMap(([endings, rules]) => endings.split(' ').map(ending => [ending, rules] as const)),
)

/** The endings of files without a grammar that have definitions which other files can use. */
export const ENDINGS_BY_LINES: readonly string[] = [...BY_ENDING].flatMap(([ending, { isCode }]) =>
  isCode ? [ending] : [],
)

function rulesOf(path: Path): Rules | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (/^(?:Dockerfile|Containerfile)/.test(name)) return DOCKERFILE
  if (/^(?:GNU)?[Mm]akefile$/.test(name)) return MAKEFILE
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()
  return ending === undefined ? undefined : BY_ENDING.get(ending)
}

/** Whether a file without a grammar has definitions that other files can use, judged by its name. */
export const isCodeByLines = (path: Path): boolean => rulesOf(path)?.isCode === true

/** The names in a file, in the order of its lines. */
export function namesByLines(path: Path, text: string): LineName[] {
  const rules = rulesOf(path)
  if (!rules) return []
  const lines = text.split('\n', MAX_LINES)
  const found: LineName[] = []
  /** The indentation of the names around the current line. */
  const open: number[] = []
  let isFenced = false
  let isLongText = false
  // The fields between two lines of dashes at the top are no headings.
  const front = rules.depth === 'heading' && lines[0]?.trimEnd() === '---' ? lines.findIndex(isDashes) : -1
  for (const [at, whole] of lines.entries()) {
    if (found.length >= MAX_NAMES) break
    if (at <= front) continue
    const line = whole.slice(0, MAX_LINE_CHARS).trimEnd()
    if (rules.depth === 'heading' && /^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced
    if (isFenced) continue
    const wasLongText = isLongText
    if (rules.longText && (line.match(rules.longText)?.length ?? 0) % 2 === 1) isLongText = !isLongText
    if (wasLongText) continue
    const one = nameIn(line, rules) ?? (rules.depth === 'heading' ? underlined(line, lines[at + 1]) : undefined)
    if (!one) continue
    const isOffered = rules.isPrivate?.test(line) !== true
    found.push({ ...one, line: at + 1, depth: depthOf(rules, line, one, open), text: shown(line), isOffered })
  }
  return found
}

const isDashes = (line: string, at: number): boolean => at > 0 && line.trimEnd() === '---'

type Named = Pick<LineName, 'name' | 'kind' | 'column' | 'level'>

function nameIn(line: string, { patterns, depth, isDeclared = false }: Rules): Named | undefined {
  for (const [pattern, kind] of patterns) {
    const match = pattern.exec(line)
    const part = match?.[1]?.trim()
    if (!match || !part) continue
    const written = isDeclared ? part.slice(part.lastIndexOf(' ') + 1).replace(/^[*&]+/, '') : part
    const column = Math.max(0, line.indexOf(written, match.index))
    const level = depth === 'heading' ? (/^#+/.exec(line)?.[0].length ?? 0) : 0
    return { name: written.replace(/\s+/g, ' '), kind, column, level }
  }
  return undefined
}

/** A heading of Markdown with a line of dashes below it. */
function underlined(line: string, next: string | undefined): Named | undefined {
  const isHeading = /^\S.*[^\s|]$/.test(line) && /^(?:=+|-{2,})\s*$/.test(next ?? '') && !/^[-*+>#|]/.test(line)
  const level = next?.startsWith('=') ? 1 : 2
  return isHeading ? { name: line, kind: 'heading', column: 0, level } : undefined
}

function depthOf({ depth }: Rules, line: string, { kind, level }: Named, open: number[]): number {
  if (depth === 'section') {
    // Keys before the first section are beside it.
    if (kind === 'heading') open.push(0)
    return kind === 'heading' ? 0 : Math.min(1, open.length)
  }
  if (depth === 'heading') return depthAmong(open, level)
  if (depth === 'indentation') return depthAmong(open, /^\s*(?:- +)?/.exec(line)?.[0].length ?? 0)
  return 0
}

/** How many of the names before are around one with this indentation. Those that are not are taken out of `open`. */
function depthAmong(open: number[], indentation: number): number {
  while (open.length > 0 && (open.at(-1) ?? 0) >= indentation) open.pop()
  open.push(indentation)
  return open.length - 1
}

const shown = (line: string): string => visible(line.trim().replace(/\s*[{:]$/, ''))
