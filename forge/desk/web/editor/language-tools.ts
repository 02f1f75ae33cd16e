/**
 * What the editor does with a language server: problems, completion, what is known of a name, and signatures. The
 * server itself is asked by functions that are passed in.
 */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  pickedCompletion,
} from '@codemirror/autocomplete'
import { type Diagnostic, forEachDiagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import {
  type ChangeSet,
  type EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
  type TransactionSpec,
} from '@codemirror/state'
import {
  type EditorView,
  hoverTooltip,
  keymap,
  showTooltip,
  type Tooltip,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'
import type {
  Abilities,
  Completed,
  Problem,
  Signature,
  TextChange,
  TextPosition,
  TextRange,
} from '../../contract/language.ts'
import { addedGutter } from './added-gutter.ts'

/** Time after which a completion is asked for while something is typed, in milliseconds. */
const COMPLETION_DELAY_MS = 60
/** Signatures are asked for this long after the last key, in milliseconds. */
const SIGNATURE_DELAY_MS = 120
const WORD = /[\p{L}\p{N}_$]*/u
const ONLY_WORD = /^[\p{L}\p{N}_$]*$/u

/** Elements, and a function that removes what keeps them up to date. */
export interface Rendered {
  dom: HTMLElement
  destroy: () => void
}

/** The questions to the server about one file. Each resolves to nothing where it can't be answered. */
export interface LanguageQuestions {
  complete: (
    position: TextPosition,
    prefix: string,
    trigger: string | undefined,
  ) => Promise<{ list: number; items: Completed[]; isIncomplete: boolean } | undefined>
  details: (
    list: number,
    item: number,
  ) => Promise<{ documentation?: string; detail?: string; changes: TextChange[] } | undefined>
  hover: (position: TextPosition) => Promise<{ markdown: string; range?: TextRange | undefined } | undefined>
  signatures: (position: TextPosition) => Promise<Signature[]>
  /** Renders Markdown of the server, which is untrusted. */
  render: (markdown: string) => Rendered
}

/** The position of an offset, as language servers count. */
export function positionAt(doc: Text, offset: number): TextPosition {
  const line = doc.lineAt(Math.min(offset, doc.length))
  return { line: line.number - 1, character: Math.min(offset, doc.length) - line.from }
}

/** The offset of a position; the nearest one that exists. */
export function offsetAt(doc: Text, { line, character }: TextPosition): number {
  if (line >= doc.lines) return doc.length
  const { from, length } = doc.line(line + 1)
  return from + Math.min(character, length)
}

/** Changes of a server as changes of a document. Undefined where they overlap or run backwards. */
export function changesOf(doc: Text, changes: readonly TextChange[]): TransactionSpec['changes'] | undefined {
  const placed = changes.map(({ range, text }) => ({
    from: offsetAt(doc, range.start),
    to: offsetAt(doc, range.end),
    insert: text,
  }))
  placed.sort((one, other) => one.from - other.from || one.to - other.to)
  const isWrong = placed.some(({ from, to }, index) => to < from || from < (placed[index - 1]?.to ?? 0))
  return isWrong ? undefined : placed
}

/**
 * The transaction that shows problems, which were found in `doc`; `typed`: the changes from there to the state. None
 * where the same are shown: it would close the tip of a problem.
 */
export function showProblems(
  state: EditorState,
  doc: Text,
  typed: readonly ChangeSet[],
  problems: readonly Problem[],
): TransactionSpec | undefined {
  const moved = (offset: number, side: 1 | -1) => typed.reduce((at, change) => change.mapPos(at, side), offset)
  const diagnostics = problems.map(({ range, severity, message, source, isUnused }): Diagnostic => {
    const from = Math.min(moved(offsetAt(doc, range.start), 1), state.doc.length)
    const to = Math.min(Math.max(from, moved(offsetAt(doc, range.end), -1)), state.doc.length)
    return { from, to, severity, message, source, ...(isUnused && { markClass: 'cm-unused' }) }
  })
  const shown: Diagnostic[] = []
  forEachDiagnostic(state, (diagnostic, from, to) => shown.push({ ...diagnostic, from, to }))
  const isSame = keysOf(shown) === keysOf(diagnostics)
  return isSame ? undefined : setDiagnostics(state, diagnostics)
}

/** Problems as a text that is the same for the same ones in another order. */
const keysOf = (diagnostics: readonly Diagnostic[]): string =>
  diagnostics
    .map(({ from, to, severity, message, source, markClass }) =>
      JSON.stringify([from, to, severity, message, source, markClass]),
    )
    .sort()
    .join()

/** The editor's extensions while a language server answers. */
export function languageTools(can: Abilities, questions: LanguageQuestions): Extension {
  return [
    addedGutter(lintGutter()),
    can.hovers ? hoverTooltip((view, at) => hoverAt(view, at, questions)) : [],
    can.signs ? signatureTools(can, questions) : [],
  ]
}

/** The completion by a language server. */
export function serverCompletion(can: Abilities, questions: LanguageQuestions): Extension {
  return autocompletion({
    activateOnTyping: true,
    activateOnTypingDelay: COMPLETION_DELAY_MS,
    override: [context => completeAt(context, can, questions)],
  })
}

async function completeAt(
  context: CompletionContext,
  can: Abilities,
  questions: LanguageQuestions,
): Promise<CompletionResult | null> {
  const { state, pos } = context
  const word = context.matchBefore(WORD)
  const from = word?.from ?? pos
  const prefix = state.sliceDoc(from, pos)
  const before = state.sliceDoc(Math.max(0, from - 1), from)
  const trigger = prefix === '' && can.completesAfter.includes(before) ? before : undefined
  if (!context.explicit && trigger === undefined && (prefix === '' || /^\d/.test(prefix))) return null
  const { doc } = state
  const found = await questions.complete(positionAt(doc, pos), prefix, context.explicit ? undefined : trigger)
  if (!found || context.aborted || found.items.length === 0) return null
  const { list, items, isIncomplete } = found
  return {
    from,
    options: items.map((item, index) => optionOf(item, index, { doc, list, questions })),
    ...(isIncomplete ? {} : { validFor: ONLY_WORD }),
  }
}

function optionOf(
  completed: Completed,
  index: number,
  { doc, list, questions }: { doc: Text; list: number; questions: LanguageQuestions },
): Completion {
  const { item, label, kind, detail, filter, text, range } = completed
  return {
    label: filter,
    displayLabel: label,
    ...(kind !== undefined && { type: kind }),
    ...(detail !== undefined && { detail }),
    boost: Math.max(-99, -index),
    info: async () => {
      const more = await questions.details(list, item)
      const words = [more?.detail && `\`\`\`\n${more.detail}\n\`\`\``, more?.documentation].filter(Boolean).join('\n\n')
      return words === '' ? null : questions.render(words)
    },
    apply: (view, completion, from, to) => {
      // The server's range begins before what was typed since: its end is the cursor.
      const start = range ? Math.min(from, offsetAt(doc, range.start)) : from
      view.dispatch({
        changes: { from: start, to, insert: text },
        selection: { anchor: start + text.length },
        annotations: pickedCompletion.of(completion),
        userEvent: 'input.complete',
        scrollIntoView: true,
      })
      addWith(view, doc, start, questions.details(list, item))
    },
  }
}

/** Makes the changes that go with a completion, such as an import: those before it, whose places are as they were. */
async function addWith(
  view: EditorView,
  doc: Text,
  start: number,
  coming: Promise<{ changes: TextChange[] } | undefined>,
): Promise<void> {
  const more = await coming
  const before = (more?.changes ?? []).filter(({ range }) => offsetAt(doc, range.end) <= start)
  const changes = changesOf(doc, before)
  const isSame = view.state.sliceDoc(0, start) === doc.sliceString(0, start)
  if (changes && before.length > 0 && isSame) view.dispatch({ changes, userEvent: 'input.complete' })
}

async function hoverAt(view: EditorView, at: number, questions: LanguageQuestions): Promise<Tooltip | null> {
  const { doc } = view.state
  if (/^\s?$/.test(doc.sliceString(at, at + 1))) return null
  const found = await questions.hover(positionAt(doc, at))
  // The text has changed meanwhile: the place is another one.
  if (!found || view.state.doc !== doc) return null
  return hoverTip(found, doc, at, questions)
}

function hoverTip(
  { markdown, range }: { markdown: string; range?: TextRange | undefined },
  doc: Text,
  at: number,
  { render }: LanguageQuestions,
): Tooltip {
  const pos = range ? Math.min(at, offsetAt(doc, range.start)) : at
  return { pos, end: at, above: true, create: () => render(markdown) }
}

// --- What is shown at the cursor: signatures, and what is known of a name

const showTip = StateEffect.define<Tooltip | null>()

/** A tip that stays until the text or the cursor changes line, or Escape. */
const tipField = StateField.define<Tooltip | null>({
  create: () => null,
  update(tip, transaction) {
    for (const effect of transaction.effects) if (effect.is(showTip)) return effect.value
    if (!tip || (!transaction.docChanged && !transaction.selection)) return tip
    const pos = transaction.changes.mapPos(tip.pos)
    const { doc, selection } = transaction.state
    return doc.lineAt(pos).number === doc.lineAt(selection.main.head).number ? { ...tip, pos } : null
  },
  provide: field => showTooltip.from(field),
})

const closeTip = keymap.of([
  {
    key: 'Escape',
    run: view => {
      if (!view.state.field(tipField, false)) return false
      view.dispatch({ effects: showTip.of(null) })
      return true
    },
  },
])

/** Extensions for tips at the cursor. */
export const tips: Extension = [tipField, closeTip]

/** Shows what is known of the name at the cursor, for the keyboard. */
export async function showHover(view: EditorView, questions: LanguageQuestions): Promise<boolean> {
  const { doc, selection } = view.state
  const found = await questions.hover(positionAt(doc, selection.main.head))
  if (!found || view.state.doc !== doc) return false
  view.dispatch({ effects: showTip.of(hoverTip(found, doc, selection.main.head, questions)) })
  return true
}

/** Shows the signatures of the call at the cursor. */
export async function showSignatures(view: EditorView, questions: LanguageQuestions): Promise<boolean> {
  const { doc, selection } = view.state
  const { head } = selection.main
  const found = await questions.signatures(positionAt(doc, head))
  if (view.state.doc !== doc) return false
  const tip: Tooltip | null =
    found.length === 0 ? null : { pos: head, above: true, create: () => signatureBox(found, questions) }
  view.dispatch({ effects: showTip.of(tip) })
  return tip !== null
}

function signatureBox([first, ...others]: readonly Signature[], { render }: LanguageQuestions): Rendered {
  const box = document.createElement('div')
  box.className = 'cm-signature'
  box.setAttribute('role', 'status')
  const line = document.createElement('code')
  const { label = '', parameter, documentation } = first ?? {}
  const [from, to] = parameter ?? [0, 0]
  const current = document.createElement('strong')
  current.textContent = label.slice(from, to)
  line.append(label.slice(0, from), current, label.slice(to))
  box.append(line)
  if (others.length > 0) {
    const more = document.createElement('span')
    more.className = 'meta'
    more.textContent = ` +${others.length}`
    box.append(more)
  }
  const about = documentation === undefined || documentation === '' ? undefined : render(documentation)
  if (about) box.append(about.dom)
  return { dom: box, destroy: () => about?.destroy() }
}

function signatureTools({ signsAfter }: Abilities, questions: LanguageQuestions): Extension {
  return ViewPlugin.fromClass(
    class {
      #timer: ReturnType<typeof setTimeout> | undefined

      constructor(readonly view: EditorView) {}

      update(update: ViewUpdate): void {
        const isShown = (update.state.field(tipField, false) ?? null) !== null
        const typed = update.transactions.some(it => it.isUserEvent('input.type')) && update.docChanged
        if (!typed) return
        const { head } = update.state.selection.main
        const before = update.state.sliceDoc(Math.max(0, head - 1), head)
        if (!isShown && !signsAfter.includes(before)) return
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => {
          showSignatures(this.view, questions)
        }, SIGNATURE_DELAY_MS)
      }

      destroy(): void {
        clearTimeout(this.#timer)
      }
    },
  )
}
