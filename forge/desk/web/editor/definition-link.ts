/** With Ctrl held (the command key on a Mac), the name below the pointer is a link to its definition. */
import { type Extension, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, ViewPlugin } from '@codemirror/view'
import { isCommandKey } from '../ui/keys.ts'

interface Place {
  from: number
  to: number
}

const setLink = StateEffect.define<Place | undefined>()
const LINK = Decoration.mark({ class: 'cm-definition-link' })

const link = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let next = transaction.docChanged ? Decoration.none : value
    for (const effect of transaction.effects) {
      if (!effect.is(setLink)) continue
      next = effect.value ? Decoration.set(LINK.range(effect.value.from, effect.value.to)) : Decoration.none
    }
    return next
  },
  provide: field => EditorView.decorations.from(field),
})

/** Underlines the name below the pointer while the key is held. */
const hovering = ViewPlugin.fromClass(
  class {
    readonly #view: EditorView
    #pointer: { x: number; y: number } | undefined

    constructor(view: EditorView) {
      this.#view = view
      view.contentDOM.addEventListener('mousemove', this.#moved)
      view.contentDOM.addEventListener('mouseleave', this.#left)
      window.addEventListener('keydown', this.#pressed)
      window.addEventListener('keyup', this.#pressed)
      window.addEventListener('blur', this.#left)
    }

    destroy(): void {
      this.#view.contentDOM.removeEventListener('mousemove', this.#moved)
      this.#view.contentDOM.removeEventListener('mouseleave', this.#left)
      window.removeEventListener('keydown', this.#pressed)
      window.removeEventListener('keyup', this.#pressed)
      window.removeEventListener('blur', this.#left)
    }

    readonly #moved = (event: MouseEvent): void => {
      this.#pointer = { x: event.clientX, y: event.clientY }
      this.#show(isCommandKey(event))
    }

    readonly #pressed = (event: KeyboardEvent): void => this.#show(isCommandKey(event))

    readonly #left = (): void => {
      this.#pointer = undefined
      this.#show(false)
    }

    #show(isHeld: boolean): void {
      const view = this.#view
      const place = isHeld && this.#pointer ? nameAt(view, this.#pointer) : undefined
      const shown = view.state.field(link).iter()
      const isSame = place ? shown.value !== null && shown.from === place.from && shown.to === place.to : !shown.value
      if (!isSame) view.dispatch({ effects: setLink.of(place) })
    }
  },
)

/** The name at a point of the window. */
function nameAt(view: EditorView, point: { x: number; y: number }): Place | undefined {
  const at = view.posAtCoords(point)
  const word = at === null ? null : view.state.wordAt(at)
  if (!word || !/^[\p{L}_$]/u.test(view.state.sliceDoc(word.from, word.to))) return undefined
  // Beside the text of a line, the nearest position is its end.
  const [start, end] = [view.coordsAtPos(word.from, 1), view.coordsAtPos(word.to, -1)]
  const isOn = start && end && point.x >= start.left && point.x <= end.right
  return isOn ? { from: word.from, to: word.to } : undefined
}

/** The extension. `open`: called for a click on a link, with the cursor at the name. */
export function definitionLink(open: () => void): Extension {
  return [
    link,
    hovering,
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        const isLink = event.button === 0 && isCommandKey(event) && !event.altKey && !event.shiftKey
        const place = isLink ? nameAt(view, { x: event.clientX, y: event.clientY }) : undefined
        if (!place) return false
        event.preventDefault()
        view.dispatch({
          selection: { anchor: place.from },
          effects: setLink.of(undefined),
          userEvent: 'select.pointer',
        })
        view.focus()
        open()
        return true
      },
    }),
    // Ctrl is for links, so that Alt adds a cursor, as in VS Code.
    EditorView.clickAddsSelectionRange.of(event => event.altKey && !event.shiftKey),
  ]
}
