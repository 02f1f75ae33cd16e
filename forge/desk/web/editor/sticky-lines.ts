/**
 * Keeps the first lines of the functions and classes around the top of the editor in view. For assistive technology,
 * the path above the editor says the same, so these lines are hidden from it.
 */
import { syntaxTree } from '@codemirror/language'
import type { EditorState, Extension, Line } from '@codemirror/state'
import { EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view'
import { highlightTree } from '@lezer/highlight'
import { codeStyle } from '../ui/code-style.ts'
import { lineInFile } from './conflict-editor.ts'
import { type CodeSymbol, isStructureNew, symbolsAt } from './symbols.ts'

/** At most this many lines stay in view, and at most this share of the editor's height. */
const MAX_LINES = 5
const MAX_SHARE = 0.3
/** At most this many characters of a line are shown. */
const MAX_CHARS = 300

/** A line that stays in view: its offset, and the number that the gutter has beside it. */
interface Sticky {
  from: number
  number: number
}

/** What is read from the layout before the lines are drawn. */
interface Measured {
  lines: Sticky[]
  /** Pixels from the top of the editor to its text, from the left edge to the line numbers' end, and to the text. */
  top: number
  numbers: number
  indent: number
}

class StickyLines {
  readonly #view: EditorView
  readonly #box: HTMLElement
  #shown = ''
  height = 0

  constructor(view: EditorView) {
    this.#view = view
    this.#box = document.createElement('div')
    this.#box.className = 'cm-sticky'
    this.#box.setAttribute('aria-hidden', 'true')
    this.#box.addEventListener('mousedown', this.#go)
    view.dom.append(this.#box)
    view.scrollDOM.addEventListener('scroll', this.#look, { passive: true })
    this.#look()
  }

  update(update: ViewUpdate): void {
    // Gutters that come and go move the text.
    const isReconfigured = update.transactions.some(({ reconfigured }) => reconfigured)
    const isNew = update.docChanged || update.geometryChanged || update.viewportChanged || isReconfigured
    const isColoured = syntaxTree(update.startState) !== syntaxTree(update.state)
    if (isNew || isColoured || isStructureNew(update.startState, update.state)) {
      if (update.docChanged || isColoured) this.#shown = ''
      this.#look()
    }
  }

  destroy(): void {
    this.#view.scrollDOM.removeEventListener('scroll', this.#look)
    this.#box.remove()
    this.#view.dom.style.removeProperty('--sticky-height')
  }

  readonly #look = (): void => {
    this.#view.requestMeasure({
      key: this,
      read: () => this.#measure(),
      write: measured => this.#draw(measured),
    })
  }

  /** Puts the cursor at the line that was clicked, and shows it at the top. */
  readonly #go = (event: MouseEvent): void => {
    event.preventDefault()
    const line = event.target instanceof Element ? event.target.closest<HTMLElement>('.cm-sticky-line') : null
    const from = Number(line?.dataset.from ?? Number.NaN)
    if (!(from <= this.#view.state.doc.length)) return
    this.#view.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: 'start', yMargin: 0 }),
      userEvent: 'select.pointer',
    })
    this.#view.focus()
  }

  #measure(): Measured {
    const { scrollDOM, contentDOM, dom } = this.#view
    const box = scrollDOM.getBoundingClientRect()
    const numbers = scrollDOM.querySelector('.cm-lineNumbers')?.getBoundingClientRect()
    return {
      lines: this.#linesAround(),
      top: box.top - dom.getBoundingClientRect().top,
      numbers: (numbers?.right ?? box.left) - box.left,
      indent: contentDOM.getBoundingClientRect().left - box.left + scrollDOM.scrollLeft,
    }
  }

  #linesAround(): Sticky[] {
    const view = this.#view
    const { state, defaultLineHeight: height } = view
    const top = view.scrollDOM.getBoundingClientRect().top - view.documentTop
    const most = mostLinesIn(view)
    const lines: Sticky[] = []
    if (top <= 0) return lines
    for (let index = 0; index < most; index++) {
      // The first line that is not covered by the lines found so far.
      const y = top + index * height
      const { from } = view.lineBlockAtHeight(y)
      const around = distinct(symbolsAt(state, from).flatMap(symbol => headOf(state, symbol) ?? []))
      const next = around[index]
      if (!next) break
      const isAbove = view.lineBlockAt(next.from).top < y
      const isBelow = view.lineBlockAt(next.to).bottom > y + height
      if (!isAbove || !isBelow) break
      lines.push({ from: next.head.from, number: lineInFile(state, next.head.number) })
    }
    return lines
  }

  #draw({ lines, top, numbers, indent }: Measured): void {
    const shown = JSON.stringify([lines, numbers, indent])
    const { style } = this.#box
    style.top = `${top}px`
    if (shown === this.#shown) return
    this.#shown = shown
    this.height = lines.length * this.#view.defaultLineHeight
    this.#view.dom.style.setProperty('--sticky-height', `${this.height}px`)
    this.#box.replaceChildren(...lines.map(line => this.#drawn(line, numbers, indent)))
    this.#box.hidden = lines.length === 0
  }

  #drawn({ from, number }: Sticky, numbers: number, indent: number): HTMLElement {
    const { state } = this.#view
    const row = document.createElement('div')
    row.className = 'cm-sticky-line'
    row.dataset.from = String(from)
    const count = document.createElement('span')
    count.className = 'cm-sticky-number'
    count.style.width = `${numbers}px`
    count.textContent = String(number)
    const code = document.createElement('span')
    code.style.marginLeft = `${indent - numbers}px`
    const to = Math.min(state.doc.lineAt(from).to, from + MAX_CHARS)
    let at = from
    const add = (end: number, look: string) => {
      if (end <= at) return
      const piece = document.createElement('span')
      piece.className = look
      piece.textContent = state.sliceDoc(at, end)
      code.append(piece)
      at = end
    }
    highlightTree(
      syntaxTree(state),
      codeStyle,
      (start, end, look) => {
        add(Math.min(start, to), '')
        add(Math.min(end, to), look)
      },
      from,
      to,
    )
    add(to, '')
    row.append(count, code)
    return row
  }
}

const mostLinesIn = ({ scrollDOM, defaultLineHeight }: EditorView): number =>
  Math.min(MAX_LINES, Math.floor((scrollDOM.clientHeight * MAX_SHARE) / defaultLineHeight))

/** The height in pixels that the lines can have; 0 where they are switched off. */
export const mostHeightOfSticky = (view: EditorView): number =>
  view.plugin(plugin) ? mostLinesIn(view) * view.defaultLineHeight : 0

/** A symbol of several lines, with the one that stays in view. */
interface Headed {
  from: number
  to: number
  head: Line
}

/** A symbol with its head: the line of its name, or its first one if the name is in the last, as in C's typedef. */
function headOf({ doc }: EditorState, { from, to, at }: CodeSymbol): Headed | undefined {
  const [first, named] = [doc.lineAt(from), doc.lineAt(at)]
  if (first.to >= to) return undefined
  return { from, to, head: named.to >= to ? first : named }
}

/** Without those that have the same head as the one around them, as the struct of a typedef. */
const distinct = (symbols: readonly Headed[]): Headed[] =>
  symbols.filter(({ head }, at) => head.from !== symbols[at - 1]?.head.from)

const plugin = ViewPlugin.fromClass(StickyLines)

/** The height in pixels of the lines that are shown now. */
const heightOfSticky = (view: EditorView): number => view.plugin(plugin)?.height ?? 0

/** The height in pixels of the lines that come where the cursor's line is the first one below them. */
function heightAboveCursor(view: EditorView): number {
  const { state, defaultLineHeight } = view
  const { from } = state.doc.lineAt(state.selection.main.head)
  const heads = distinct(symbolsAt(state, from).flatMap(symbol => headOf(state, symbol) ?? []))
  const above = heads.filter(({ head }) => head.to < from)
  return Math.min(above.length, mostLinesIn(view)) * defaultLineHeight
}

/** Shows the lines, and keeps the cursor from going below them, and below those that come where it goes. */
export const STICKY_LINES: Extension = [
  plugin,
  EditorView.scrollMargins.of(view => ({ top: Math.max(heightOfSticky(view), heightAboveCursor(view)) })),
]
export const NO_STICKY_LINES: Extension = []
