/**
 * A file in both halves of a split. The second view repeats the changes of the first one, and the other way round; each
 * has its own cursor, selection, scroll position and find panel. Only the first view sends changes to the server and
 * keeps the history of undo.
 */
import { historyKeymap, redo, undo } from '@codemirror/commands'
import {
  Annotation,
  type ChangeSet,
  type Extension,
  Facet,
  Prec,
  type StateCommand,
  type StateEffect,
  Transaction,
} from '@codemirror/state'
import { type Command, EditorView, type KeyBinding, keymap, type ViewUpdate } from '@codemirror/view'
import { FIND_BUTTONS } from './find-panel.tsx'

/** A transaction that repeats one of the other view. */
const repeated = Annotation.define<true>()

/**
 * Repeats in `other` what an update has changed in its view: the text, and the effects for which `isShared` returns
 * true.
 */
export function repeatIn(
  other: EditorView,
  { transactions }: ViewUpdate,
  isShared: (effect: StateEffect<unknown>) => boolean,
): void {
  for (const transaction of transactions) {
    const { docChanged, changes } = transaction
    const effects = transaction.effects.filter(isShared)
    if (transaction.annotation(repeated) || (!docChanged && effects.length === 0)) continue
    const userEvent = transaction.annotation(Transaction.userEvent)
    const addToHistory = transaction.annotation(Transaction.addToHistory)
    other.dispatch({
      changes,
      effects,
      annotations: [
        repeated.of(true),
        ...(userEvent === undefined ? [] : [Transaction.userEvent.of(userEvent)]),
        ...(addToHistory === undefined ? [] : [Transaction.addToHistory.of(addToHistory)]),
      ],
      // The edit has passed the filters of its own view.
      filter: false,
    })
  }
}

/** Both views of a file. */
export interface TwoViews {
  first: EditorView
  second: EditorView
}

/**
 * Undoes or redoes the last edit, made in either view. The cursor of the view `asked` goes to the change; the other one
 * keeps its cursor and its scroll position.
 */
function stepIn({ first, second }: TwoViews, asked: EditorView, command: StateCommand): boolean {
  let step: Transaction | undefined
  command({
    state: first.state,
    dispatch: transaction => {
      step = transaction
    },
  })
  if (!step) return false
  const { changes, newSelection, startState } = step
  const at = endOf(changes)
  const annotations = Transaction.addToHistory.of(false)
  if (asked === first) {
    const selection = touches(changes, newSelection.main.head) ? newSelection : { anchor: at }
    first.update([step, step.state.update({ selection, scrollIntoView: true, annotations })])
    return true
  }
  const effects = [first.scrollSnapshot().map(changes) ?? []].flat()
  const selection = startState.selection.map(changes)
  first.update([step, step.state.update({ selection, effects, annotations })])
  second.dispatch({ selection: { anchor: at }, scrollIntoView: true })
  return true
}

/** The end of the last changed range, in the new text. */
function endOf(changes: ChangeSet): number {
  let end = 0
  changes.iterChangedRanges((_fromA, _toA, _fromB, toB) => {
    end = toB
  })
  return end
}

function touches(changes: ChangeSet, position: number): boolean {
  let isTouched = false
  changes.iterChangedRanges((_fromA, _toA, fromB, toB) => {
    isTouched ||= position >= fromB && position <= toB
  })
  return isTouched
}

type Step = (view: EditorView, command: StateCommand) => boolean

/** How edits are undone in an editor whose file can have two views. */
const steps = Facet.define<Step>()

/** Undoes the last edit of the text that a view shows. */
export function undoIn(view: EditorView): boolean {
  const [step] = view.state.facet(steps)
  return step ? step(view, undo) : undo(view)
}

/**
 * Undo and redo of a file. `views`: its two views, while there are two. `onDone`: called with the view in which the
 * cursor is shown at the change. `onNothing`: called for an undo that finds no edit.
 */
export function undoOfTwoViews(
  views: () => TwoViews | undefined,
  { onDone, onNothing }: { onDone: (view: EditorView) => void; onNothing: () => void },
): Extension {
  const step: Step = (view, command) => {
    const both = views()
    const isDone = both ? stepIn(both, view, command) : command(view)
    if (isDone) onDone(view)
    else if (command === undo && !view.state.readOnly) onNothing()
    return isDone
  }
  const bindings = historyKeymap.flatMap((binding): KeyBinding[] => {
    const command = [undo, redo].find(known => known === binding.run)
    const run: Command = view => command !== undefined && step(view, command)
    return command ? [{ ...binding, run, scope: `editor ${FIND_BUTTONS}` }] : []
  })
  const commands: Record<string, StateCommand> = { historyUndo: undo, historyRedo: redo }
  return [
    steps.of(step),
    Prec.high([
      keymap.of(bindings),
      // From the browser's own menu.
      EditorView.domEventHandlers({
        beforeinput: (event, view) => {
          const command = commands[event.inputType]
          if (!command || !views()) return false
          event.preventDefault()
          step(view, command)
          return true
        },
      }),
    ]),
  ]
}
