/** How a file is indented: by .editorconfig, else like its own lines, else as is usual in its language. */
import { indentUnit } from '@codemirror/language'
import { EditorState, type Extension } from '@codemirror/state'
import type { EditorConfig } from '../../contract/reading.ts'
import { baseName } from '../ui/names.ts'

/** The width of a tab, in columns, if neither the user nor .editorconfig sets it. */
const USUAL_TAB_SIZE = 4
/** The indentation of a text is detected in its first characters. */
const MAX_DETECTED_CHARS = 20_000

/** Make needs tabs, gofmt writes them. */
const BY_TABS = /^(?:(?:gnu)?makefile|go\.(?:mod|work)|.*\.(?:mk|mak|go))$/i
/** The style guides of these languages have four spaces. */
const BY_FOUR_SPACES = /\.(?:py|pyi|rs|java|cs|php|swift|kt|kts)$/i

/** `tabSize`: the width of a tab, in columns, if the user has set it. */
export function indentationOf(path: string, text: string, config: EditorConfig, tabSize?: number): Extension {
  const width = tabSize ?? config.tabWidth ?? USUAL_TAB_SIZE
  return [indentUnit.of(unitOf(path, text, config)), EditorState.tabSize.of(width)]
}

function unitOf(path: string, text: string, { indentStyle, indentSize }: EditorConfig): string {
  if (indentStyle === 'tab') return '\t'
  const usual = detectedUnit(text) ?? unitOfLanguage(path)
  if (indentSize !== undefined && (indentStyle === 'space' || usual !== '\t')) return ' '.repeat(indentSize)
  return indentStyle === 'space' && usual === '\t' ? '  ' : usual
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
