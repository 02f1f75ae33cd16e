/** A plan in an editor, with the linter's messages below their lines. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { EditorState, type Extension, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, keymap, lineNumbers, WidgetType } from '@codemirror/view'
import type { CheckedPlan } from '../../contract/tasks.ts'
import { coloured } from '../ui/code-style.ts'
import { loadLanguage } from '../ui/languages.ts'
import { visible } from '../ui/names.ts'

type Complaints = CheckedPlan['complaints']

const setComplaints = StateEffect.define<Complaints>()

class ComplaintBelow extends WidgetType {
  constructor(readonly words: string) {
    super()
  }

  override eq(other: ComplaintBelow): boolean {
    return other.words === this.words
  }

  override toDOM(): HTMLElement {
    const line = document.createElement('div')
    line.className = 'plan-complaint'
    line.textContent = visible(this.words)
    return line
  }
}

/** Messages stay at their lines while the text is edited. */
const complaintsBelow = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    const said = transaction.effects.find(effect => effect.is(setComplaints))?.value as Complaints | undefined
    if (!said) return shown.map(transaction.changes)
    const doc = transaction.newDoc
    const placed = said.flatMap(({ words, line }) => (line === undefined || line > doc.lines ? [] : [{ words, line }]))
    const ranges = placed.flatMap(({ words, line }) => {
      const { from, to } = doc.line(Math.max(1, line))
      const widget = new ComplaintBelow(words)
      return [
        Decoration.line({ class: 'plan-wrong' }).range(from),
        Decoration.widget({ widget, block: true, side: 1 }).range(to),
      ]
    })
    return Decoration.set(ranges, true)
  },
  provide: field => EditorView.decorations.from(field),
})

export interface PlanCode {
  text: () => string
  /** Shows the messages, each below its line, and goes to the first. */
  complain: (complaints: Complaints) => void
  goTo: (line: number) => void
  focus: () => void
  end: () => void
}

export interface PlanCodeOptions {
  parent: HTMLElement
  text: string
  nonce: string
  onChange: () => void
  /** Called on Ctrl+Enter. */
  submit: () => void
}

/** Creates an editor for a plan inside an element. */
export function openPlanCode({ parent, text, nonce, onChange, submit }: PlanCodeOptions): PlanCode {
  const extensions: Extension = [
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ 'aria-label': 'Plan' }),
    EditorState.tabSize.of(2),
    lineNumbers(),
    history(),
    coloured,
    complaintsBelow,
    EditorView.lineWrapping,
    EditorView.updateListener.of(({ docChanged }) => {
      if (docChanged) onChange()
    }),
    keymap.of([
      {
        key: 'Mod-Enter',
        run: () => {
          submit()
          return true
        },
      },
      ...defaultKeymap,
      ...historyKeymap,
      indentWithTab,
    ]),
  ]
  const view = new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) })
  loadLanguage('plan.yaml').then(language => {
    if (language) view.dispatch({ effects: StateEffect.appendConfig.of(language) })
  })
  const goTo = (line: number) => {
    const { from } = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)))
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
    view.focus()
  }
  return {
    text: () => view.state.doc.toString(),
    complain: complaints => {
      view.dispatch({ effects: setComplaints.of(complaints) })
      const first = complaints.find(({ line }) => line !== undefined)?.line
      if (first !== undefined) goTo(first)
    },
    goTo,
    focus: () => view.focus(),
    end: () => view.destroy(),
  }
}
