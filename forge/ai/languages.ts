/**
 * Describes a file without a model: the first sentence of its comment or heading, and the names that it offers. Each
 * line is matched alone and cut, so that the time is proportional to the length for any content.
 */
import type { Path } from '../../core/git/repository.ts'
import { visible } from '../../core/text.ts'

/** The comment syntax: `//` and slash-star; `#`; `--`; `<!-- -->`; `;`; or text that is its own comment. */
type Comments = 'c' | 'hash' | 'dashes' | 'html' | 'semicolon' | 'python' | 'text' | 'any' | 'none'

type Language = { name: string; comments: Comments }

/** At most this many bytes of a file are read for what its comments say. */
const MAX_HEADER_BYTES = 32 << 10
const MAX_LINE_CHARS = 240
const MAX_SENTENCE_CHARS = 110
const MAX_SUMMARY_CHARS = 190

const SCRIPT: Language = { name: 'JavaScript', comments: 'c' }
const SHELL: Language = { name: 'shell', comments: 'hash' }
const HTML: Language = { name: 'HTML', comments: 'html' }
const MAKEFILE: Language = { name: 'Makefile', comments: 'hash' }
const DOCKERFILE: Language = { name: 'Dockerfile', comments: 'hash' }
const PYTHON: Language = { name: 'Python', comments: 'python' }
const RUBY: Language = { name: 'Ruby', comments: 'hash' }
const TEXT: Language = { name: 'text', comments: 'text' }
const OTHER: Language = { name: '', comments: 'any' }

const BY_ENDING: ReadonlyMap<string, Language> = new Map(
  (
    [
      ['ts tsx mts cts', { name: 'TypeScript', comments: 'c' }],
      ['js jsx mjs cjs vue svelte', SCRIPT],
      ['py pyi', PYTHON],
      ['go', { name: 'Go', comments: 'c' }],
      ['rs', { name: 'Rust', comments: 'c' }],
      ['java', { name: 'Java', comments: 'c' }],
      ['kt kts', { name: 'Kotlin', comments: 'c' }],
      ['cs', { name: 'C#', comments: 'c' }],
      ['scala', { name: 'Scala', comments: 'c' }],
      ['c h', { name: 'C', comments: 'c' }],
      ['cc cpp cxx hh hpp hxx', { name: 'C++', comments: 'c' }],
      ['rb rake gemspec', RUBY],
      ['php', { name: 'PHP', comments: 'c' }],
      ['swift', { name: 'Swift', comments: 'c' }],
      ['sh bash zsh', SHELL],
      ['css scss less', { name: 'CSS', comments: 'c' }],
      ['html htm xml svg', HTML],
      ['md markdown mdx', { name: 'Markdown', comments: 'text' }],
      ['json jsonc json5', { name: 'JSON', comments: 'none' }],
      ['yml yaml', { name: 'YAML', comments: 'hash' }],
      ['toml ini cfg', { name: 'TOML', comments: 'hash' }],
      ['mk', MAKEFILE],
      ['sql', { name: 'SQL', comments: 'dashes' }],
      ['proto', { name: 'Protocol Buffers', comments: 'c' }],
      ['lua', { name: 'Lua', comments: 'dashes' }],
      ['ex exs', { name: 'Elixir', comments: 'hash' }],
      ['clj el lisp scm', { name: 'Lisp', comments: 'semicolon' }],
      ['hs', { name: 'Haskell', comments: 'dashes' }],
      ['txt rst adoc', TEXT],
    ] as const
  ).flatMap(([endings, language]) => endings.split(' ').map(ending => [ending, language] as const)),
)

/** The language of a file, by its name, or else by its first line. */
function languageOf(path: Path, firstLine: string): Language {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (/^(?:Dockerfile|Containerfile)/.test(name)) return DOCKERFILE
  if (/^(?:GNU)?[Mm]akefile$/.test(name)) return MAKEFILE
  if (/^(?:README|LICENSE|COPYING|NOTICE|CHANGELOG|AUTHORS)$/.test(name)) return TEXT
  if (/^(?:Rakefile|Gemfile)$/.test(name)) return RUBY
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase()
  const byEnding = ending === undefined ? undefined : BY_ENDING.get(ending)
  if (byEnding) return byEnding
  const interpreter = /^#!.*?\b(bash|sh|zsh|python|node|bun|deno|ruby)/.exec(firstLine)?.[1]
  if (!interpreter) return OTHER
  if (interpreter === 'python') return PYTHON
  if (interpreter === 'ruby') return RUBY
  return /sh$/.test(interpreter) ? SHELL : SCRIPT
}

/** Whether a file contains tests, judged by its path. */
export const isTest = (path: Path): boolean =>
  /(?:^|\/)(?:tests?|__tests__|specs?|testdata|fixtures)\/|(?:^|\/)test_[^/]*$|[._](?:test|spec)\.[^/]*$/.test(path)

/**
 * What a summary depends on besides the content: the same bytes under another name may be in another language, or be a
 * test.
 */
export const summaryKind = (path: Path): string => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ending = name.lastIndexOf('.')
  return `${(ending > 0 ? name.slice(ending + 1) : name).slice(0, 40)}${isTest(path) ? ' test' : ''}`
}

/** Separates the parts of a summary. */
export const SEPARATOR = ' · '

/**
 * A summary of about 50 tokens on one line, without the path. `bytes`: the beginning of the file; `size`: the size of
 * the whole; `offered`: the names that it offers (offered.ts).
 */
export function summarise(path: Path, bytes: Buffer, size: number, offered: readonly string[]): string {
  if (size === 0) return 'empty'
  const start = bytes.subarray(0, MAX_HEADER_BYTES)
  if (start.includes(0)) return `binary, ${roughSize(size)}`
  const text = start.toString('utf8')
  if (text.startsWith('version https://git-lfs.github.com/spec/v1\n')) return 'a pointer of Git LFS'
  const lines = text.split('\n', MAX_HEADER_LINES).map(line => line.slice(0, MAX_LINE_CHARS).trimEnd())
  const language = languageOf(path, lines[0] ?? '')
  const sentence = firstSentence(lines, language.comments)
  const names = isTest(path) ? [] : offered.filter(it => it !== sentence)
  const parts = [sentence, names.join(', ')].filter(Boolean)
  const isKnownByEnding = /\.[A-Za-z0-9]+$/.test(path) || parts.length === 0
  const what = isKnownByEnding || language.name === '' ? parts : [language.name, ...parts]
  if (what.length === 0) return [language.name, roughSize(size)].filter(Boolean).join(', ')
  return cut(visible(what.join(SEPARATOR)), MAX_SUMMARY_CHARS)
}

/** A rough size for a model: 812 bytes, 3 KB, 1.2 MB. */
export const roughSize = (size: number): string => {
  if (size < 1000) return `${size} bytes`
  return size < 1_000_000 ? `${Math.round(size / 1000)} KB` : `${(size / 1_000_000).toFixed(1)} MB`
}

/** Whether a summary consists of only the kind and size of the file. */
export const isOnlySize = (summary: string): boolean =>
  summary === '' || summary === 'empty' || /^(?:[\w+# ]{1,20}, )?[\d.]+ (?:bytes|KB|MB)$/.test(summary)

/** Cuts a text to at most `length` characters, between words. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = text.lastIndexOf(' ', length)
  return `${text.slice(0, end > length / 2 ? end : length)}…`.toWellFormed()
}

/** Phrases of a licence, which say nothing about a file. */
const LICENSE =
  /copyright|licen[sc]e|SPDX|all rights reserved|permission is hereby|redistributions? (?:and|of)|provided "?as is|warrant(?:y|ies)|©/i
/**
 * Lines that may stand above a file's first comment. Judged by line and not by forge/code: most of the languages here
 * have no grammar, and a summary is made of the first lines, without a parser for each file.
 */
const BEFORE =
  /^(?:#!|<\?|<!doctype|['"]use |package |import |from |#include|#pragma|#ifndef|#define|using |require|namespace |export \{|\/\/\/ <|@|---|$)/i

/**
 * The first sentence about the file in the comments before any code. A comment is ignored from its first licence
 * paragraph on. A module's documentation string (Python) is preferred to comments above it.
 */
function firstSentence(lines: readonly string[], comments: Comments): string {
  if (comments === 'none') return ''
  const header = lines.slice(0, MAX_HEADER_LINES)
  const found = openingComments(comments === 'text' ? withoutFrontMatter(header) : header, comments)
  const own = found.filter(({ isOwnText }) => isOwnText)
  for (const { paragraphs } of [...own, ...found]) {
    const licence = paragraphs.findIndex(words => LICENSE.test(words))
    const about = licence < 0 ? paragraphs : paragraphs.slice(0, licence)
    const first = about.find(
      words => /[\p{L}\p{N}]/u.test(words) && !/^(?:TODO|FIXME|XXX|HACK)\b|^https?:\/\/\S+$/i.test(words),
    )
    if (first) return sentenceOf(first)
  }
  return ''
}

/** A text without its front matter, the fields at its top between two lines of dashes. */
function withoutFrontMatter(lines: readonly string[]): readonly string[] {
  const end = lines[0] === '---' ? lines.indexOf('---', 1) : -1
  return lines.slice(end + 1)
}

/** A comment, by paragraphs. `isOwnText`: it is the language's documentation of a module (Python's docstring). */
type Comment = { paragraphs: string[]; isOwnText: boolean }

/** At most this many lines are read for comments: licences are long, and the description follows them. */
const MAX_HEADER_LINES = 160

/** The comments before any code. */
function openingComments(lines: readonly string[], comments: Comments): Comment[] {
  const found: Comment[] = []
  let current: { lines: string[]; isOwnText: boolean } | undefined
  const close = () => {
    const paragraphs = (current?.lines ?? []).join('\n').split(/\n\s*\n/)
    const words = paragraphs
      .map(it =>
        it
          .replace(/\s+/g, ' ')
          .replace(/^[\\\s]+/, '')
          .trim(),
      )
      .filter(Boolean)
    if (words.length > 0) found.push({ paragraphs: words, isOwnText: current?.isOwnText ?? false })
    current = undefined
  }
  let isInside = false
  for (const line of lines) {
    const wasInside = isInside
    const comment = commentOn(line, comments, isInside)
    isInside = comment.isInside
    if (comment.text === undefined) {
      close()
      if (!BEFORE.test(line)) break
      continue
    }
    const isOwnText = comments === 'python' && (wasInside || isInside || /^\s*[rRuU]?("""|''')/.test(line))
    if (current && current.isOwnText !== isOwnText) close()
    current ??= { lines: [], isOwnText }
    current.lines.push(isOrder(comment.text) ? '' : comment.text)
  }
  close()
  return found
}

/** Removes markup from a line of text: pictures, HTML tags, and directives and fields of reStructuredText. */
const proseOf = (line: string): string =>
  /^(?:\.\.(?: |$)|:[\w -]{1,40}:)/.test(line)
    ? ''
    : line
        .replace(/\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])(?:\]\([^)]*\))?|<\/?[a-z][^<>]*>/gi, '')
        .replace(/^[#=*\-\s]+/, '')
        .trim()

/** Whether a comment is a directive for a linter or an editor. */
const isOrder = (words: string): boolean =>
  /^(?:eslint|biome|prettier|tslint|@ts-|@flow|jshint|global |vim?:|-\*-|coding[:=]|pylint|noqa|type: ignore|shellcheck|frozen_string_literal|go:|\+build|syntax=|!)/.test(
    words,
  )

function sentenceOf(paragraph: string): string {
  // Rulers around headings are removed.
  const words = paragraph.replace(/^[-=*~#_]{2,}\s+|\s*[-=*~#_]{3,}$/g, '')
  const end = /[.!?](?= |$)/.exec(words)?.index ?? -1
  return cut(end > 0 ? words.slice(0, end + 1) : words, MAX_SENTENCE_CHARS)
}

/**
 * `text`: what a comment says on one line; empty where it says nothing there, undefined where the line is not a
 * comment. `isInside`: the comment goes on in the next line.
 */
type CommentLine = { text: string | undefined; isInside: boolean }

function commentOn(line: string, comments: Comments, isInside: boolean): CommentLine {
  const here = line.trim()
  const inside = (end: string, text: string): CommentLine => {
    const at = text.indexOf(end)
    const words = at < 0 ? text : text.slice(0, at)
    return { text: words.replace(/^[*!\s]+/, '').trim(), isInside: at < 0 }
  }
  const after = (start: RegExp): CommentLine => ({
    text: start.test(here) && !here.startsWith('#!') ? here.replace(start, '').trim() : undefined,
    isInside: false,
  })
  switch (comments) {
    case 'c':
      if (isInside) return inside('*/', here)
      return here.startsWith('/*') ? inside('*/', here.slice(2)) : after(/^\/\/[/!]?/)
    case 'html':
      if (isInside) return inside('-->', here)
      return here.startsWith('<!--') ? inside('-->', here.slice(4)) : { text: undefined, isInside: false }
    case 'python': {
      if (isInside) return inside('"""', here)
      const doc = /^[rRuU]?("""|''')/.exec(here)
      return doc ? inside('"""', here.slice(doc[0].length).replaceAll("'''", '"""')) : after(/^#+/)
    }
    case 'hash':
      return after(/^#+/)
    case 'dashes':
      return after(/^--+/)
    case 'any':
      return after(/^(?:\/\/+|#+|--+|;+|%+)/)
    case 'semicolon':
      return after(/^;+/)
    case 'text':
      return { text: proseOf(here), isInside: false }
    case 'none':
      return { text: undefined, isInside: false }
  }
}
