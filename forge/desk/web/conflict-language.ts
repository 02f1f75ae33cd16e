/**
 * The colours of a text with conflicts: its language is read as if the marks, the base and their side were not there,
 * so that what stands behind a conflict is understood as in a file without one.
 */
import { Language } from '@codemirror/language'
import { Compartment, type Extension, Prec } from '@codemirror/state'
import { ViewPlugin } from '@codemirror/view'
import { conflictsIn, endOf } from './conflict-regions.ts'
import { LARGEST_COLOURED, loadLanguage } from './languages.ts'

type Parser = Language['parser']
type Range = { from: number; to: number }

/** Goes before the language that the editor has anyway. `mark`: how many characters a mark has. */
export function coloursAroundConflicts(path: string, mark: number): Extension {
  const own = new Compartment()
  const none: Extension = []
  const load = ViewPlugin.define(view => {
    let isThere = true
    const hasColours = view.state.doc.length < LARGEST_COLOURED && own.get(view.state) === none
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

function aroundConflicts({ data, parser, name }: Language, mark: number): Language {
  const createParse: Parser['createParse'] = (input, fragments, ranges) => {
    const outside = outsideConflicts(input.read(0, input.length), mark)
    if (outside.length === 1) return parser.createParse(input, fragments, ranges)
    // Nothing of an earlier parse is used again: it may have been one of other ranges.
    return parser.createParse(input, [], outside)
  }
  const around: Parser = Object.create(parser, { createParse: { value: createParse } })
  return new Language(data, around, [], name)
}

/** What of a text is code: all but its conflicts, and of those our side, or theirs where we have nothing. */
export function outsideConflicts(text: string, mark: number): Range[] {
  const ranges: Range[] = []
  let at = 0
  for (const region of conflictsIn(text, mark).regions) {
    const { ours, theirs } = region
    const behindFirst = text.indexOf('\n', region.from) + 1
    const beforeLast = text.lastIndexOf('\n', region.to - 1) + 1
    const side =
      ours === ''
        ? { from: beforeLast - theirs.length, to: beforeLast }
        : { from: behindFirst, to: behindFirst + ours.length }
    ranges.push({ from: at, to: region.from }, side)
    at = endOf(text, region)
  }
  ranges.push({ from: at, to: text.length })
  const filled = ranges.filter(({ from, to }) => to > from)
  return filled.length > 0 ? filled : [{ from: 0, to: 0 }]
}
