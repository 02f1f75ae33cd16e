/**
 * The colours of a text with conflicts: its language is read as if the marks, the base and their side were not there,
 * so that what stands behind a conflict is understood as in a file without one.
 */
import { Language } from '@codemirror/language'
import { Compartment, type Extension, Prec } from '@codemirror/state'
import { ViewPlugin } from '@codemirror/view'
import { type PartialParse, Tree } from '@lezer/common'
import { loadLanguage, MAX_COLOURED_LENGTH } from '../ui/languages.ts'
import { outsideConflicts } from './conflict-regions.ts'

type Parser = Language['parser']

/** Goes before the language that the editor has anyway. `mark`: how many characters a mark has. */
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

/** A language that is read around the conflicts of a text. */
export function aroundConflicts({ data, parser, name }: Language, mark: number): Language {
  const createParse: Parser['createParse'] = (input, fragments, ranges) => {
    const outside = outsideConflicts(input.read(0, input.length), mark)
    if (outside.length === 1) return parser.createParse(input, fragments, ranges)
    // Nothing of an earlier parse is used again: it may have been one of other ranges.
    return fromBeginning(parser.createParse(input, [], outside), outside[0]?.from ?? 0)
  }
  const around: Parser = Object.create(parser, { createParse: { value: createParse } })
  return new Language(data, around, [], name)
}

/** A parse of several ranges whose tree begins at the beginning of the text, and not at `offset`, that of the ranges. */
function fromBeginning(parse: PartialParse, offset: number): PartialParse {
  if (offset === 0) return parse
  return {
    advance: () => {
      const tree = parse.advance()
      if (!tree) return null
      const positions = tree.positions.map(position => position + offset)
      return new Tree(tree.type, tree.children, positions, tree.length + offset, tree.propValues)
    },
    get parsedPos() {
      return parse.parsedPos
    },
    stopAt: place => parse.stopAt(place),
    get stoppedAt() {
      return parse.stoppedAt
    },
  }
}
