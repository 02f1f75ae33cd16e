/** Expands the selection to what is around it in the syntax, step by step, and shrinks it again. */
import { selectParentSyntax } from '@codemirror/commands'
import { EditorSelection, type SelectionRange, type Text } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import type { LineRange } from '../../contract/code.ts'
import { placeOf, rangeOf } from './symbols.ts'

/** Asks for what is around each range, the smallest first. Empty where the syntax of the file is not known. */
export type AskAround = (ranges: LineRange[]) => Promise<LineRange[][]>

interface Place {
  from: number
  to: number
}

/** At most this many selections are expanded at once. */
const MAX_SELECTIONS = 100

export class SyntaxSelection {
  /** The selections before each step, the first one first. */
  #before: EditorSelection[] = []
  /** What is around each range of the first selection, the smallest first. */
  #around: readonly (readonly Place[])[] = []
  /** The text and the selection after the last step: after another change, the steps begin anew. */
  #doc: Text | undefined
  #shown: EditorSelection | undefined
  /** Steps that wait for the answer. */
  #waiting = 0

  /** Selects what is around the selection. */
  async expand(view: EditorView, ask: AskAround): Promise<void> {
    if (this.#isCurrent(view)) {
      this.#step(view)
      return
    }
    this.#waiting++
    if (this.#waiting > 1) return
    const { doc, selection } = view.state
    const words = selection.ranges.slice(0, MAX_SELECTIONS).map(range => wordOr(view, range))
    const ranges = words.map(({ from, to }): LineRange => [...placeOf(doc, from), ...placeOf(doc, to)])
    let around: LineRange[][] = []
    try {
      around = await ask(ranges)
    } catch {
      // Without an answer, the syntax that the editor knows is used.
    }
    const steps = this.#waiting
    this.#waiting = 0
    if (view.state.doc !== doc || !view.state.selection.eq(selection)) return
    this.#before = []
    this.#around = words.map((word, index) => [word, ...(around[index] ?? []).map(range => rangeOf(doc, range))])
    this.#doc = doc
    this.#shown = selection
    for (let step = 0; step < steps; step++) this.#step(view)
  }

  /** Goes back to the selection before the last step. */
  shrink(view: EditorView): void {
    const before = this.#isCurrent(view) ? this.#before.pop() : undefined
    if (before) this.#show(view, before)
  }

  #isCurrent(view: EditorView): boolean {
    return this.#doc === view.state.doc && this.#shown?.eq(view.state.selection) === true
  }

  #step(view: EditorView): void {
    const { selection } = view.state
    const ranges = selection.ranges.map((range, index) => {
      const next = this.#around[index]?.find(place => isLarger(place, range))
      return next ? EditorSelection.range(next.from, next.to) : range
    })
    const next = EditorSelection.create(ranges, selection.mainIndex)
    if (!next.eq(selection)) {
      this.#before.push(selection)
      this.#show(view, next)
    } else if (this.#around.every(places => places.length < 2) && selectParentSyntax(view)) {
      this.#before.push(selection)
      this.#shown = view.state.selection
    }
  }

  #show(view: EditorView, selection: EditorSelection): void {
    view.dispatch({ selection, userEvent: 'select' })
    this.#shown = view.state.selection
  }
}

/** The word at an empty selection; else the selection. */
function wordOr(view: EditorView, { from, to, head }: SelectionRange): Place {
  return (from === to ? view.state.wordAt(head) : undefined) ?? { from, to }
}

function isLarger({ from, to }: Place, other: Place): boolean {
  return from <= other.from && to >= other.to && to - from > other.to - other.from
}
