/**
 * The .editorconfig files of a branch or a commit that apply to a file (editorconfig.org). They are written by others:
 * files and patterns are bounded, and a pattern is matched in time proportional to its length and that of the path.
 */
import type { Path } from '../../../core/git/repository.ts'
import type { Vfs } from '../../vfs.ts'
import type { EditorConfig } from '../contract/reading.ts'

const NAME = '.editorconfig'
const MAX_FILE_BYTES = 100_000
const MAX_SECTIONS = 200
const MAX_PATTERN_CHARS = 200
/** Files with longer paths get no properties from .editorconfig. */
const MAX_PATH_CHARS = 512
/** At most this many patterns come from the braces of one pattern. */
const MAX_EXPANDED = 50
/** After this many milliseconds, the sections that are left are ignored. */
const MAX_MATCHING_MS = 100
/** A wider indentation is ignored. */
const MAX_WIDTH = 16

interface Section {
  pattern: string
  properties: Map<string, string>
}

/** The properties for a file. Those of nearer folders, and of later sections, win. */
export async function editorConfigOf(files: Pick<Vfs, 'readFile' | 'fileExists'>, path: Path): Promise<EditorConfig> {
  if (path.length > MAX_PATH_CHARS) return {}
  const folders = path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))
  const properties = new Map<string, string>()
  const texts = await Promise.all(folders.map(folder => textIn(files, folder)))
  const parsed = texts.map(text => (text === undefined ? undefined : parse(text)))
  const end = performance.now() + MAX_MATCHING_MS
  const first = parsed.findLastIndex(config => config?.isRoot === true)
  for (const [at, config] of parsed.entries()) {
    if (!config || at < first) continue
    const folder = folders[at] ?? ''
    const below = folder === '' ? path : path.slice(folder.length + 1)
    for (const section of config.sections) {
      if (performance.now() > end || !isMatch(section.pattern, below)) continue
      for (const [name, value] of section.properties) properties.set(name, value)
    }
  }
  return configFrom(properties)
}

async function textIn(files: Pick<Vfs, 'readFile' | 'fileExists'>, folder: string): Promise<string | undefined> {
  const path = folder === '' ? NAME : `${folder}/${NAME}`
  if (!(await files.fileExists(path))) return undefined
  const bytes = await files.readFile(path).catch(() => undefined)
  return bytes && bytes.length <= MAX_FILE_BYTES ? bytes.toString('utf8').replace(/^\ufeff/, '') : undefined
}

function parse(text: string): { isRoot: boolean; sections: Section[] } {
  const sections: Section[] = []
  let isRoot = false
  for (const line of text.split(/\r?\n/)) {
    const words = line.trim()
    if (words === '' || words.startsWith('#') || words.startsWith(';')) continue
    if (words.startsWith('[') && words.endsWith(']')) {
      if (sections.length >= MAX_SECTIONS) break
      // Paths have one character per byte, so the pattern gets the same form.
      const pattern = Buffer.from(words.slice(1, -1)).toString('latin1')
      sections.push({ pattern: pattern.length <= MAX_PATTERN_CHARS ? pattern : '', properties: new Map() })
      continue
    }
    const at = words.indexOf('=')
    if (at < 0) continue
    const name = words.slice(0, at).trim().toLowerCase()
    const value = words
      .slice(at + 1)
      .trim()
      .toLowerCase()
    const section = sections.at(-1)
    if (section) section.properties.set(name, value)
    else if (name === 'root') isRoot = value === 'true'
  }
  return { isRoot, sections }
}

function configFrom(properties: ReadonlyMap<string, string>): EditorConfig {
  const style = properties.get('indent_style')
  const size = properties.get('indent_size')
  const width = widthOf(properties.get('tab_width'))
  const indentSize = size === 'tab' ? width : widthOf(size)
  const tabWidth = width ?? indentSize
  return {
    ...((style === 'tab' || style === 'space') && { indentStyle: style }),
    ...(indentSize !== undefined && { indentSize }),
    ...(tabWidth !== undefined && { tabWidth }),
  }
}

function widthOf(value: string | undefined): number | undefined {
  const width = value !== undefined && /^\d{1,2}$/.test(value) ? Number(value) : undefined
  return width !== undefined && width >= 1 && width <= MAX_WIDTH ? width : undefined
}

// --- Patterns ---

/** A part of a pattern: one character (or one of a set), any number of characters but slashes, or any number of all. */
type Part = { kind: 'one'; takes: (char: string) => boolean } | { kind: 'star' } | { kind: 'stars' }

/** Whether a section's pattern matches a path, relative to the folder of its file. */
export function isMatch(pattern: string, path: string): boolean {
  if (pattern === '') return false
  const isFromHere = pattern.includes('/')
  const full = isFromHere ? pattern.replace(/^\//, '') : `**/${pattern}`
  return expanded(full).some(
    one => matches(partsOf(one), path) || (!isFromHere && matches(partsOf(one.slice(3)), path)),
  )
}

/** Follows all possible positions in the pattern at once, character by character, so that the time has a bound. */
function matches(parts: readonly Part[], path: string): boolean {
  let states = closure(new Set([0]), parts)
  for (const char of path) {
    const next = new Set<number>()
    for (const at of states) {
      const part = parts[at]
      if (!part) continue
      if (part.kind === 'one' && part.takes(char)) next.add(at + 1)
      if (part.kind === 'stars' || (part.kind === 'star' && char !== '/')) next.add(at)
    }
    if (next.size === 0) return false
    states = closure(next, parts)
  }
  return states.has(parts.length)
}

/** Adds the positions in the pattern that `states` lead to without a further character: a star may match nothing. */
function closure(states: Set<number>, parts: readonly Part[]): Set<number> {
  for (const at of states) if (parts[at] && parts[at].kind !== 'one') states.add(at + 1)
  return states
}

function partsOf(pattern: string): Part[] {
  const parts: Part[] = []
  const one = (takes: (char: string) => boolean) => parts.push({ kind: 'one', takes })
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? ''
    const set = char === '[' ? /^\[(!?)([^\]/]+)\]/.exec(pattern.slice(at)) : undefined
    if (char === '\\' && at + 1 < pattern.length) {
      const escaped = pattern[++at]
      one(it => it === escaped)
    } else if (pattern.startsWith('**', at)) {
      parts.push({ kind: 'stars' })
      at++
    } else if (char === '*') parts.push({ kind: 'star' })
    else if (char === '?') one(it => it !== '/')
    else if (set) {
      const [whole = '', not, chars = ''] = set
      one(it => it !== '/' && isIn(chars, it) !== (not === '!'))
      at += whole.length - 1
    } else one(it => it === char)
  }
  return parts
}

function isIn(chars: string, char: string): boolean {
  for (let at = 0; at < chars.length; at++) {
    const [from = '', dash, to = ''] = chars.slice(at, at + 3)
    if (dash === '-' && to !== '') {
      if (char >= from && char <= to) return true
      at += 2
    } else if (from === char) return true
  }
  return false
}

/** Replaces `{a,b}` by each of its parts, and `{1..3}` by each number. */
function expanded(pattern: string): string[] {
  const done: string[] = []
  const left = [pattern]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (done.length + left.length > MAX_EXPANDED) return done
    const [whole, inner, first, last] = /\{([^{}]*,[^{}]*)\}|\{(-?\d{1,6})\.\.(-?\d{1,6})\}/.exec(next) ?? []
    if (whole === undefined) {
      done.push(next)
      continue
    }
    const choices = inner === undefined ? numbersFrom(Number(first), Number(last)) : inner.split(',')
    const current = next
    left.push(...choices.map(choice => current.replace(whole, () => choice)))
  }
  return done
}

function numbersFrom(first: number, last: number): string[] {
  const [from, to] = [Math.min(first, last), Math.max(first, last)]
  return Array.from({ length: Math.min(to - from + 1, MAX_EXPANDED) }, (_, at) => String(from + at))
}
