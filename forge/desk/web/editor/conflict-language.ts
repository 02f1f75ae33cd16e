/**
 * Syntax colours of a text with conflicts: the parser skips the markers, the base and the other side, so that the text
 * after a conflict is coloured as in a file without one.
 */
import { Language } from '@codemirror/language'
import { Compartment, type Extension, Prec } from '@codemirror/state'
import { ViewPlugin } from '@codemirror/view'
import { type PartialParse, Tree } from '@lezer/common'
import { isColourable, loadLanguage } from '../ui/languages.ts'
import { outsideConflicts } from './conflict-regions.ts'

type Parser = Language['parser']

/**
 * Colours the code around conflicts. Must have precedence over the editor's language. `mark`: the length of a conflict
 * marker, in characters.
 */
export function coloursAroundConflicts(path: string, mark: number): Extension {
  const own = new Compartment()
  const none: Extension = []
  const load = ViewPlugin.define(view => {
    let isThere = true
    const hasColours = isColourable(view.state.doc) && own.get(view.state) === none
    if (hasColours) {
      loadLanguage(path, view.state.doc).then(support => {
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
    const [first] = outside
    const isWhole = outside.length === 1 && first?.from === 0 && first.to === input.length
    if (isWhole) return parser.createParse(input, fragments, ranges)
    // No fragment of an earlier parse is reused, since it may belong to other ranges.
    return ofWholeText(parser.createParse(input, [], outside), first?.from ?? 0, input.length)
  }
  const around: Parser = Object.create(parser, { createParse: { value: createParse } })
  return new Language(data, around, [], name)
}

/**
 * Wraps a parse of several ranges: its tree would begin at `offset`, where the first range begins, and end with the
 * last one. The wrapped one is as long as the text (`end`): with a shorter tree, the editor keeps the colours of the
 * tree before.
 */
function ofWholeText(parse: PartialParse, offset: number, end: number): PartialParse {
  return {
    advance: () => {
      const tree = parse.advance()
      if (!tree) return null
      const positions = tree.positions.map(position => position + offset)
      const length = parse.stoppedAt === null ? end : tree.length + offset
      return new Tree(tree.type, tree.children, positions, length, tree.propValues)
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
