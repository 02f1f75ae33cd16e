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
  const usual = detectedUnit(text) ?? unitOfLanguage(path)
  const size = indentStyle === 'tab' ? undefined : indentSize
  if (size !== undefined && (style === 'space' || usual !== '\t')) return ' '.repeat(size)
  return style === 'space' && usual === '\t' ? '  ' : usual
}

/** What all indented lines of a text begin with; undefined if there are none, or both kinds. */
function styleOf(text: string): EditorConfig['indentStyle'] {
  const first = text.slice(0, MAX_DETECTED_CHARS)
  const [hasTabs, hasSpaces] = [/^\t+\S/m.test(first), /^ {2,}\S/m.test(first)]
  if (hasTabs === hasSpaces) return undefined
  return hasTabs ? 'tab' : 'space'
}

/** The indentation of the first indented line; undefined if there is none. */
function detectedUnit(text: string): string | undefined {
  const [, unit] = /^(\t+| {2,8})\S/m.exec(text.slice(0, MAX_DETECTED_CHARS)) ?? []
  if (unit === undefined) return undefined
  if (unit.startsWith('\t')) return '\t'
  return unit.length % 4 === 0 ? '    ' : '  '
}

function unitOfLanguage(path: string): string {
  const name = baseName(path)
  if (BY_TABS.test(name)) return '\t'
  return BY_FOUR_SPACES.test(name) ? '    ' : '  '
}
