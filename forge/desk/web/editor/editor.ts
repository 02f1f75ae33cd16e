/** The editor's features, as extensions of CodeMirror. Its styles are in editor/editor.css. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import {
  type CommentTokens,
  cursorSyntaxLeft,
  cursorSyntaxRight,
  defaultKeymap,
  history,
  historyField,
  historyKeymap,
  indentLess,
  toggleBlockComment,
} from '@codemirror/commands'
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language'
import { gotoLine, highlightSelectionMatches, openSearchPanel, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, type Extension, type Text } from '@codemirror/state'
import {
  type Command,
  crosshairCursor,
  drawSelection,
  dropCursor,
  EditorView,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from '@codemirror/view'
import type { Form } from '../../contract/editable-text.ts'
import { coloured } from '../ui/code-style.ts'
import { continueComment } from './block-comments.ts'
import { withBrowserCursor } from './browser-cursor.ts'
import { changeMarks } from './change-marks.ts'
import { crlf } from './crlf.ts'
import { definitionLink } from './definition-link.ts'
import { findPanel, openFind } from './find-panel.tsx'
import { goToLine, keepFocus, selectLines } from './gutter-clicks.ts'
import { commentKey, indentLines, insertLineAbove, moveLineDownByEnter, selectAllOccurrences } from './line-commands.ts'
import { byteForm, refusedText } from './refused-text.ts'
import { headOfCenteredBox, steadyInWindow } from './steady-cursor.ts'
import { NO_STICKY_LINES, STICKY_LINES } from './sticky-lines.ts'
import { isStructureNew, structured } from './symbols.ts'
import { typedOver } from './typed-over.ts'
import { noTypedRanges, typedRangesOf } from './typed-ranges.ts'

/** The completion without a language server: on request. */
export const WORD_COMPLETION: Extension = autocompletion({ activateOnTyping: false })
/** The extension used when lines are not wrapped. */
export const NOT_WRAPPED: Extension = []
/** The extensions with which typing an opening bracket or quote adds the closing one, and without. */
export const [CLOSING, NOT_CLOSING]: [Extension, Extension] = [closeBrackets(), []]

/** The parts of an editor that change while it is open. Each editor has its own. */
export class Adjustable {
  readonly language = new Compartment()
  readonly collaboration = new Compartment()
  readonly readOnly = new Compartment()
  readonly wrapping = new Compartment()
  /** The line ends and the byte order mark of the file. */
  readonly form = new Compartment()
  /** The width of a tab, and what the Tab key inserts. */
  readonly indentation = new Compartment()
  readonly brackets = new Compartment()
  /** The lines at the top that stay in view. */
  readonly sticky = new Compartment()
  /** The gutter with the commits of the lines. */
  readonly blame = new Compartment()
  /** Which completions are offered, and when. */
  readonly completion = new Compartment()
  /** The tools of a language server. */
  readonly server = new Compartment()
  /** The history of undo. Of two views of a file, only the first has one. */
  readonly history = new Compartment()
  /** What is done after each update. */
  readonly listener = new Compartment()
  /** Extensions of some files only, such as the conflicts of a merge. */
  readonly more = new Compartment()
}

export interface EditorSettings {
  nonce: string
  saved: Text | undefined
  isReadOnly: boolean
  isWrapped: boolean
  closesBrackets: boolean
  hasStickyLines: boolean
  /** Called for a click on a name with Ctrl held, and for the keys that expand and shrink the selection. */
  onDefinition: (view: EditorView) => void
  onExpand: (view: EditorView) => void
  onShrink: (view: EditorView) => void
  /** The comments of files of this name; undefined where they are not known. */
  comments: () => CommentTokens | undefined
  /** Called for the key that comments lines, where no comments are known. */
  onNoComments: () => void
  indentation: Extension
  /** The line ends and the byte order mark of the file; undefined if it is read-only. */
  form: Form | undefined
  collaboration: Extension
  adjustable: Adjustable
}

/** Converts the line ends of pasted text, which has those of its origin, to \n. */
const pasteWithoutReturns = EditorView.clipboardInputFilter.of(text => text.replace(/\r\n?/g, '\n'))

/** Adds a class while text is selected, since the active line's background would cover the selection. */
const selectionShown = EditorView.editorAttributes.of(view => {
  const hasSelection = view.state.selection.ranges.some(range => !range.empty)
  return hasSelection ? { class: 'has-selection' } : null
})

/** The columns beside the cursor that stay in view. With less, the first letters of lines are cut after a long one. */
const COLUMNS_BESIDE = 12

/** Keeps some columns beside the cursor in view where a file is scrolled to the side. */
const columnsBeside = EditorView.scrollMargins.of(view => {
  if (view.lineWrapping) return null
  const columns = Math.min(COLUMNS_BESIDE * view.defaultCharacterWidth, view.scrollDOM.clientWidth / 6)
  const gutters = view.scrollDOM.querySelector<HTMLElement>('.cm-gutters')?.offsetWidth ?? 0
  return { left: gutters + columns, right: columns }
})

const SHORT: Record<string, string> = { '\r': '\\r', '\u0000': '\\0', '\u200b': '\\u200b' }

/** The controls of the text's direction that CodeMirror does not know as special; any can hide what code does. */
const OTHER_DIRECTIONS = /[\u202a-\u202c\u2068]/

/** Shows an invisible character as its escape. */
function shownCharacter(code: number, words: string | null): HTMLElement {
  const sign = document.createElement('span')
  const character = String.fromCodePoint(code)
  sign.textContent = SHORT[character] ?? `\\u${code.toString(16).padStart(4, '0')}`
  sign.title = words ?? ''
  sign.setAttribute('aria-label', words ?? sign.textContent)
  sign.className = character === '\r' ? 'cm-specialChar is-return' : 'cm-specialChar'
  return sign
}

/** The keys of VS Code. On a Mac, Alt with the arrows selects words. */
const EXPAND_KEYS = { key: 'Shift-Alt-ArrowRight', mac: 'Ctrl-Shift-Cmd-ArrowRight' }
const SHRINK_KEYS = { key: 'Shift-Alt-ArrowLeft', mac: 'Ctrl-Shift-Cmd-ArrowLeft' }

/**
 * Commands of CodeMirror whose keys are others': those of a block comment are the desk's, to discard all changes, and
 * Alt with an arrow is the browser's, to go back and forward.
 */
const LEFT_OUT: readonly Command[] = [toggleBlockComment, cursorSyntaxLeft, cursorSyntaxRight]

/** A command that always handles its key. */
const ran = (act: (view: EditorView) => void) => (view: EditorView) => {
  act(view)
  return true
}

/** A history of undo that is empty, also in place of another one. */
export const emptyHistory = (): Extension => [
  history(),
  historyField.init(() => NO_HISTORY.field(historyField)),
  noTypedRanges(),
]
const NO_HISTORY = EditorState.create({ extensions: history() })

/** The history of undo of a state, for a later state that has the same text. */
export const historyOf = (state: EditorState): Extension => [
  history(),
  historyField.init(() => state.field(historyField)),
  typedRangesOf(state),
]

export function editorExtensions(settings: EditorSettings): Extension {
  const { adjustable } = settings
  return [
    EditorView.cspNonce.of(settings.nonce),
    EditorView.contentAttributes.of({ 'aria-label': 'Editor' }),
    // Only \n ends a line: a \r is a character of the text, and is shown.
    EditorState.lineSeparator.of('\n'),
    EditorState.allowMultipleSelections.of(true),
    pasteWithoutReturns,
    adjustable.blame.of([]),
    lineNumbers({ domEventHandlers: { mousedown: selectLines } }),
    settings.saved === undefined
      ? gutter({ class: 'cm-marks', renderEmptyElements: true, domEventHandlers: { mousedown: goToLine } })
      : changeMarks(settings.saved),
    structured(),
    foldGutter({
      domEventHandlers: { mousedown: keepFocus },
      foldingChanged: ({ startState, state }) => isStructureNew(startState, state),
    }),
    highlightSpecialChars({ render: shownCharacter, addSpecialChars: OTHER_DIRECTIONS }),
    highlightActiveLine(),
    selectionShown,
    columnsBeside,
    steadyInWindow,
    headOfCenteredBox,
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    adjustable.history.of(emptyHistory()),
    drawSelection(),
    withBrowserCursor,
    dropCursor(),
    rectangularSelection({ eventFilter: event => event.altKey && event.shiftKey && event.button === 0 }),
    crosshairCursor({ key: 'Alt' }),
    definitionLink(settings.onDefinition),
    adjustable.sticky.of(settings.hasStickyLines ? STICKY_LINES : NO_STICKY_LINES),
    bracketMatching(),
    typedOver,
    adjustable.brackets.of(settings.closesBrackets ? CLOSING : NOT_CLOSING),
    adjustable.indentation.of(settings.indentation),
    adjustable.completion.of(WORD_COMPLETION),
    adjustable.server.of([]),
    indentOnInput(),
    findPanel,
    coloured,
    settings.form ? [adjustable.form.of(byteForm.of(settings.form)), refusedText(), crlf] : [],
    adjustable.language.of([]),
    adjustable.collaboration.of(settings.collaboration),
    adjustable.readOnly.of(EditorState.readOnly.of(settings.isReadOnly)),
    adjustable.wrapping.of(settings.isWrapped ? EditorView.lineWrapping : NOT_WRAPPED),
    commentKey(settings.comments, settings.onNoComments),
    keymap.of([
      { ...EXPAND_KEYS, run: ran(settings.onExpand) },
      { ...SHRINK_KEYS, run: ran(settings.onShrink) },
      { key: 'Mod-Shift-Enter', run: insertLineAbove },
      { key: 'Mod-]', run: indentLines },
      { key: 'Tab', run: indentLines, shift: indentLess },
      { key: 'Enter', run: moveLineDownByEnter },
      { key: 'Enter', run: continueComment },
      ...closeBracketsKeymap,
      ...defaultKeymap.filter(({ run }) => run === undefined || !LEFT_OUT.includes(run)),
      { key: 'Mod-f', run: openFind, scope: 'editor search-panel' },
      { key: 'Mod-Shift-l', run: selectAllOccurrences },
      // Without CodeMirror's command to go to a line: the palette does that.
      ...searchKeymap.filter(({ run }) => run !== gotoLine && run !== openSearchPanel),
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
    ]),
  ]
}
