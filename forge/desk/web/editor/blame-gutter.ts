/** The gutter with the commits from which the lines of a file come. */
import type { EditorState, Extension } from '@codemirror/state'
import { type EditorView, GutterMarker, gutter } from '@codemirror/view'
import type { Blame, BlamedCommit } from '../../contract/reading.ts'
import { modelName, shortId, withoutTricks } from '../ui/names.ts'
import { age, fullTime } from '../ui/times.ts'
import { addedGutter } from './added-gutter.ts'
import { savedLineOf } from './change-marks.ts'

/** The commits of a blame, by line of the saved text. */
export interface LineCommits {
  /** The commit of a line, from 1. */
  commitOf: (line: number) => BlamedCommit | undefined
  /** The number of a line in its commit, from 1. */
  numberOf: (line: number) => number | undefined
}

export function lineCommits({ lines, commits }: Blame): LineCommits {
  const byOid = new Map(commits.map(commit => [commit.oid, commit]))
  const byLine: (BlamedCommit | undefined)[] = []
  const numbers: number[] = []
  for (const { commit, line, from, count } of lines) {
    for (let at = 0; at < count; at++) {
      byLine[line + at] = byOid.get(commit)
      numbers[line + at] = from + at
    }
  }
  return { commitOf: line => byLine[line], numberOf: line => numbers[line] }
}

/**
 * The commit of a line of the editor; undefined for an unsaved line, null for the empty one after the last line end.
 */
export function commitOfLine(state: EditorState, commits: LineCommits, line: number): BlamedCommit | undefined | null {
  if (line === state.doc.lines && state.doc.line(line).length === 0) return null
  const saved = savedLineOf(state, line)
  return saved === undefined ? undefined : commits.commitOf(saved)
}

/** The number that a line of the editor has in its commit; 1 where it is not known. */
export function numberInCommit(state: EditorState, commits: LineCommits, line: number): number {
  const saved = savedLineOf(state, line)
  return (saved === undefined ? undefined : commits.numberOf(saved)) ?? 1
}

export const NOT_SAVED = 'Not saved'

/** The end of an author's name where a model made the commit. */
const withModel = (model: string | undefined): string => (model === undefined ? '' : ` with ${modelName(model)}`)

/** The author, model and age of a commit: `Mira Okafor with large-model, 3 mon`. */
export const blameWords = ({ name, model, authored, isCut }: BlamedCommit): string =>
  `${withoutTricks(name)}${withModel(model)}, ${age(authored)}${isCut ? ', or earlier: the clone is shallow' : ''}`

function spanOf(look: string, words: string): HTMLElement {
  const span = document.createElement('span')
  span.className = look
  span.textContent = words
  return span
}

class BlameMarker extends GutterMarker {
  constructor(
    readonly commit: BlamedCommit | undefined,
    /** Whether the line is the first drawn one of several with the same commit: only that one shows the commit. */
    readonly isFirst: boolean,
  ) {
    super()
    this.elementClass = isFirst ? 'blame-first' : ''
  }

  override readonly elementClass: string

  override eq(other: GutterMarker): boolean {
    return other instanceof BlameMarker && other.commit === this.commit && other.isFirst === this.isFirst
  }

  override toDOM(): Node {
    const words = document.createElement('span')
    if (!this.isFirst) return words
    if (!this.commit) {
      words.className = 'blame-draft'
      words.textContent = NOT_SAVED
      return words
    }
    const { oid, name, model, authored, subject } = this.commit
    const author = spanOf('blame-name cut', withoutTricks(name))
    if (model !== undefined) author.append(spanOf('by-ai', withModel(model)))
    const by = model === undefined ? '' : `\n${author.textContent}`
    words.className = 'blame-words'
    words.title = `${shortId(oid)} ${withoutTricks(subject)}${by}\n${fullTime(authored)}`
    words.append(author, spanOf('', age(authored)))
    return words
  }
}

/** Shows a commit at a line of the file, by its number in that commit. */
export type OpenBlamed = (commit: BlamedCommit, line: number) => void

/**
 * Shows the commit of each line in the gutter. `open`: shows a clicked commit. For screen readers, the commit of the
 * cursor's line is also shown above the text.
 */
export function blameGutter(commits: LineCommits, open: OpenBlamed): Extension {
  const numberAt = (view: EditorView, at: number) => view.state.doc.lineAt(at).number
  const commitAt = (view: EditorView, number: number) => commitOfLine(view.state, commits, number)
  const column = gutter({
    class: 'cm-blame',
    lineMarker(view, { from }) {
      const number = numberAt(view, from)
      const commit = commitAt(view, number)
      if (commit === null) return null
      // The first line that is drawn is mostly above the view: its commit stays at the top, as styles say.
      const isFirstDrawn = from <= view.viewport.from
      return new BlameMarker(commit, isFirstDrawn || commitAt(view, number - 1) !== commit)
    },
    lineMarkerChange: update => update.docChanged || update.transactions.length > 0,
    domEventHandlers: {
      mousedown(view, { from }, event) {
        const commit = commitAt(view, numberAt(view, from))
        if (!(event instanceof MouseEvent) || event.button !== 0) return false
        event.preventDefault()
        if (commit) open(commit, numberInCommit(view.state, commits, numberAt(view, from)))
        return true
      },
    },
  })
  return addedGutter(column)
}
