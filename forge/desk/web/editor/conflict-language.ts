/**
 * Syntax colours of a text with conflicts: the parser skips the markers, the base and the other side, so that the text
 * after a conflict is coloured as in a file without one.
 */
import { Language } from '@codemirror/language'
import { Compartment, type Extension, Prec } from '@codemirror/state'
import { ViewPlugin } from '@codemirror/view'
import { loadLanguage, MAX_COLOURED_LENGTH } from '../ui/languages.ts'
import { outsideConflicts } from './conflict-regions.ts'

type Parser = Language['parser']

/** Must have precedence over the editor's language. `mark`: the length of a conflict marker, in characters. */
export function coloursAroundConflicts(path: string, mark: number): Extension {
  const own = new Compartment()
  const none: Extension = []
  const load = ViewPlugin.define(view => {
    let isThere = true
    const hasColours = view.state.doc.length < MAX_COLOURED_LENGTH && own.get(view.state) === none
    if (hasColours) {
      loadLanguage(path).then(support => {
        if (support && isThere)
          view.dispatch({ effects: own.reconfigure(aroundConflicts(support.language, mark).extension) })
      })
    }
    return {
      destroy: () => {
        isThere = false
      },
    }
  })
  return [Prec.high(own.of(none)), load]
}

/** Wraps a language so that it is parsed around the conflicts of a text. */
export function aroundConflicts({ data, parser, name }: Language, mark: number): Language {
  const createParse: Parser['createParse'] = (input, fragments, ranges) => {
    const outside = outsideConflicts(input.read(0, input.length), mark)
    if (outside.length === 1) return parser.createParse(input, fragments, ranges)
    // Markdown's parser shifts all positions by the start of the first range: an empty range at 0 makes this 0.
    const [first] = outside
    if (name === 'markdown' && first && first.from > 0) outside.unshift({ from: 0, to: 0 })
    // No fragment of an earlier parse is reused, since it may belong to other ranges.
    return parser.createParse(input, [], outside)
  }
  const around: Parser = Object.create(parser, { createParse: { value: createParse } })
  return new Language(data, around, [], name)
}
