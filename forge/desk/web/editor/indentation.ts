/**
 * How a file is indented: as the user has chosen for it, else by tabs or spaces like its own lines, else by
 * .editorconfig, else as is usual in its language. The number of spaces is that of .editorconfig first.
 */
import { indentUnit } from '@codemirror/language'
import { EditorState, type Extension } from '@codemirror/state'
import type { Indentation } from '../../contract/desk.ts'
import type { EditorConfig } from '../../contract/reading.ts'
import { baseName } from '../ui/names.ts'

/** The width of a tab, in columns, if neither the user nor .editorconfig sets it. */
const USUAL_TAB_SIZE = 4
/** The indentation of a text is detected in its first characters. */
const MAX_DETECTED_CHARS = 20_000

/** The numbers of spaces that are detected: of two that are as frequent, the first one. */
const SIZES = [2, 4, 8]

/** Make takes nothing else before the commands of a rule, whatever .editorconfig says. */
const NEEDS_TABS = /^(?:(?:gnu)?makefile|.*\.(?:mk|mak))$/i
/** What gofmt writes. */
const BY_TABS = /^(?:go\.(?:mod|work)|.*\.go)$/i
/** The style guides of these languages have four spaces. */
const BY_FOUR_SPACES = /\.(?:py|pyi|rs|java|cs|php|swift|kt|kts)$/i

interface Wanted {
  /** The indentation that the user has chosen for this file. */
  chosen: Indentation | undefined
  config: EditorConfig
  /** The width of a tab, in columns, if the user has set it for all files. */
  tabSize: number | undefined
}

export function indentationOf(path: string, text: string, { chosen, config, tabSize }: Wanted): Extension {
  const width = chosen?.by === 'tabs' ? chosen.size : (tabSize ?? config.tabWidth ?? USUAL_TAB_SIZE)
  const unit = chosen ? unitOfChoice(chosen) : unitOf(path, text, config)
  return [indentUnit.of(unit), EditorState.tabSize.of(width)]
}

function unitOfChoice({ by, size }: Indentation): string {
  return by === 'tabs' ? '\t' : ' '.repeat(size)
}

function unitOf(path: string, text: string, { indentStyle, indentSize }: EditorConfig): string {
  if (NEEDS_TABS.test(baseName(path))) return '\t'
  const style = styleOf(text) ?? indentStyle
  if (style === 'tab') return '\t'
  const detected = style === 'space' ? detectedSize(text) : undefined
  const usual = detected === undefined ? unitOfLanguage(path) : ' '.repeat(detected)
  const size = indentStyle === 'tab' ? undefined : indentSize
  if (size !== undefined && (style === 'space' || usual !== '\t')) return ' '.repeat(size)
  return style === 'space' && usual === '\t' ? '  ' : usual
}

/** What more of the indented lines of a text begin with; undefined if there are none, or as many of both. */
function styleOf(text: string): EditorConfig['indentStyle'] {
  const first = text.slice(0, MAX_DETECTED_CHARS)
  const count = (pattern: RegExp) => first.match(pattern)?.length ?? 0
  const [tabs, spaces] = [count(/^\t+\S/gm), count(/^ {2,}\S/gm)]
  if (tabs === spaces) return undefined
  return tabs > spaces ? 'tab' : 'space'
}

/**
 * The most frequent difference between the indentation of a line and that of the one before, in spaces, as VS Code
 * detects it; undefined if there is none. How often a width occurs does not tell it: most lines of a class are on the
 * second level.
 */
function detectedSize(text: string): number | undefined {
  const lines = linesBegun(text.slice(0, MAX_DETECTED_CHARS))
  const counts = new Map<number, number>()
  for (const [at, line] of lines.entries()) {
    const difference = differenceOf(lines[at - 1] ?? '', line)
    if (difference !== undefined) counts.set(difference, (counts.get(difference) ?? 0) + 1)
  }
  const count = (size: number) => counts.get(size) ?? 0
  const size = SIZES.toSorted((one, other) => count(other) - count(one))[0] ?? 0
  if (count(size) === 0) return undefined
  return size === 4 && isByTwo(lines) ? 2 : size
}

/** The lines that are neither blank nor continue one that ends in a backslash, as of a macro. */
function linesBegun(text: string): string[] {
  const lines = text.split('\n')
  return lines.filter((line, at) => line.trim() !== '' && !/\\\s*$/.test(lines[at - 1] ?? ''))
}

/**
 * Whether lines that seem to be indented by four spaces are by two: continued lines are often twice as deep as others.
 * Then many lines are at two, six or ten spaces.
 */
function isByTwo(lines: readonly string[]): boolean {
  const widths = lines.map(line => widthOf(line) ?? 0).filter(width => width > 0)
  return widths.filter(width => width % 4 === 2).length > widths.length / 3
}

/** The difference between the indentations of two lines, in spaces; undefined where it says nothing. */
function differenceOf(before: string, line: string): number | undefined {
  const [one, other] = [widthOf(before), widthOf(line)]
  if (one === undefined || other === undefined) return undefined
  // A deeper line after a comma is aligned with something in the line before.
  return other > one && before.trimEnd().endsWith(',') ? undefined : Math.abs(one - other)
}

/** The spaces that a line begins with; undefined for one that begins with a tab. */
function widthOf(line: string): number | undefined {
  const [spaces = ''] = /^ */.exec(line) ?? []
  return line[spaces.length] === '\t' ? undefined : spaces.length
}

function unitOfLanguage(path: string): string {
  const name = baseName(path)
  if (BY_TABS.test(name)) return '\t'
  return BY_FOUR_SPACES.test(name) ? '    ' : '  '
}
