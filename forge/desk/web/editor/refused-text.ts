/**
 * Text that can't be inserted into a file, such as a paste with a NUL. It stays out of the editor's text, so that other
 * edits are not held up, and is shown in a box at its position, with the reason and the actions.
 */
import {
  type EditorState,
  type Extension,
  Facet,
  Prec,
  EditorState as State,
  StateEffect,
  StateField,
  Transaction,
} from '@codemirror/state'
import { Decoration, EditorView, keymap, WidgetType } from '@codemirror/view'
import { h, render } from 'preact'
import { byteSizeOf, type Form, insertedBy, refusalOf, sizeAfter } from '../../contract/editable-text.ts'
import { fitBoxes } from './conflict-editor.ts'
import { RefusedBox, type RefusedText } from './refused-box.tsx'

const SMALL_FORM: Form = { lineEnd: 'LF', bom: false }

/** The line ends and the byte order mark of the file's bytes, which its text does not have. */
export const byteForm = Facet.define<Form, Form>({ combine: ([form]) => form ?? SMALL_FORM })

/** The size that the file would have with the editor's text, in bytes. */
const size = StateField.define<number>({
  create: state => byteSizeOf(state.doc, state.facet(byteForm)),
  update(bytes, transaction) {
    const form = transaction.state.facet(byteForm)
    if (form !== transaction.startState.facet(byteForm)) return byteSizeOf(transaction.newDoc, form)
    return transaction.docChanged ? sizeAfter(bytes, transaction.startState.doc, transaction.changes, form) : bytes
  },
})

export const refuse = StateEffect.define<RefusedText>()
const dismiss = StateEffect.define<RefusedText>()

/** Whether an effect adds or removes a box with refused text. */
export const isAboutRefusedText = (effect: StateEffect<unknown>): boolean => effect.is(refuse) || effect.is(dismiss)

const refusedTexts = StateField.define<readonly RefusedText[]>({
  create: () => [],
  update(texts, transaction) {
    let now = texts
    if (transaction.docChanged && texts.length > 0)
      now = now.map(text => ({ ...text, at: transaction.changes.mapPos(text.at) }))
    for (const effect of transaction.effects) {
      if (effect.is(dismiss)) now = now.filter(text => !isSame(text, effect.value))
      else if (effect.is(refuse)) now = added(now, effect.value)
    }
    return now
  },
  provide: field =>
    EditorView.decorations.compute([field, 'doc'], state => {
      const boxes = state.field(field).map(text => {
        const widget = Decoration.widget({ widget: new RefusedWidget(text), block: true, side: 1 })
        return widget.range(state.doc.lineAt(Math.min(text.at, state.doc.length)).to)
      })
      return Decoration.set(boxes, true)
    }),
})

const isSame = (one: RefusedText, other: RefusedText): boolean =>
  one.at === other.at && one.text === other.text && one.why === other.why

/** Adds a refused text to those shown in boxes. Letters typed one by one at the same place go into one box. */
function added(texts: readonly RefusedText[], text: RefusedText): readonly RefusedText[] {
  const last = texts.findIndex(({ at, isTakenOut }) => at === text.at && !isTakenOut)
  const before = texts[last]
  const isTyped = text.text.length === 1 && text.instead === undefined
  if (!before || !isTyped || before.instead !== undefined) return [...texts.filter(it => !isSame(it, text)), text]
  return texts.with(last, { ...text, text: before.text + text.text })
}

/** The height of a box with one line of text, including margins, in pixels. */
const BOX_HEIGHT = 90

/** Checks each edit before it is applied. Edits from the server were checked by the server. */
const check = State.transactionFilter.of(transaction => {
  if (!transaction.docChanged || transaction.annotation(Transaction.remote)) return transaction
  const { startState, changes, newDoc } = transaction
  const [bytes, form] = [startState.field(size), startState.facet(byteForm)]
  const refusal = refusalOf({ before: startState.doc, change: changes, after: newDoc, size: bytes, form })
  if (!refusal) return transaction
  let at = 0
  changes.iterChangedRanges((_from, to) => {
    at = to
  })
  const box = refuse.of({ at, text: insertedBy(changes), ...refusal })
  return { effects: [box, EditorView.scrollIntoView(at, { yMargin: BOX_HEIGHT })] }
})

export function refusedTextOf(state: EditorState): readonly RefusedText[] {
  return state.field(refusedTexts, false) ?? []
}

/** Inserts a refused text in its acceptable variant. */
function insertInstead(view: EditorView, refused: RefusedText): void {
  const insert = refused.instead?.text ?? refused.text
  const at = Math.min(refused.at, view.state.doc.length)
  view.dispatch({ effects: dismiss.of(refused) })
  view.dispatch({
    changes: { from: at, insert },
    selection: { anchor: at + insert.length },
    userEvent: 'input.paste',
    scrollIntoView: true,
  })
  view.focus()
}

function putAway(view: EditorView, refused: RefusedText): void {
  view.dispatch({ effects: dismiss.of(refused) })
  view.focus()
}

/** The box that the keys act on: the nearest one before the cursor, or the first. */
function boxAtCursor(state: EditorState): RefusedText | undefined {
  const texts = refusedTextOf(state)
  const { head } = state.selection.main
  return texts.findLast(({ at }) => at <= head) ?? texts[0]
}

const canInsert = (refused: RefusedText): boolean => refused.instead !== undefined || refused.isTakenOut === true

const keys = keymap.of([
  {
    key: 'Mod-.',
    run: view => {
      const refused = boxAtCursor(view.state)
      if (!refused || !canInsert(refused)) return false
      insertInstead(view, refused)
      return true
    },
  },
  {
    key: 'Escape',
    run: view => {
      const refused = boxAtCursor(view.state)
      if (refused) putAway(view, refused)
      return refused !== undefined
    },
  },
])

class RefusedWidget extends WidgetType {
  constructor(readonly refused: RefusedText) {
    super()
  }

  override eq(other: RefusedWidget): boolean {
    return isSame(this.refused, other.refused)
  }

  override toDOM(view: EditorView): HTMLElement {
    const box = document.createElement('div')
    box.className = 'refused-host'
    fitBoxes(view)
    this.#draw(box, view)
    return box
  }

  override updateDOM(box: HTMLElement, view: EditorView): boolean {
    this.#draw(box, view)
    return true
  }

  #draw(box: HTMLElement, view: EditorView): void {
    const { refused } = this
    const content = h(RefusedBox, {
      refused,
      ...(canInsert(refused) ? { insert: () => insertInstead(view, refused) } : {}),
      dismiss: () => putAway(view, refused),
    })
    render(content, box)
  }

  override destroy(box: HTMLElement): void {
    render(null, box)
  }

  /** Tells CodeMirror to ignore all events in the box, which handles them. */
  override ignoreEvent(): boolean {
    return true
  }
}

/** A box is as wide as the visible part of the editor, so that its buttons are in view. */
const fit = EditorView.updateListener.of(({ geometryChanged, view }) => {
  if (geometryChanged && refusedTextOf(view.state).length > 0) fitBoxes(view)
})

export function refusedText(): Extension {
  return [size, refusedTexts, check, Prec.low(keys), fit]
}
