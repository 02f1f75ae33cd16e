/** What the page can ask about the code of a branch or commit, as far as its syntax tells. */
import * as v from 'valibot'
import { repeatable } from './question.ts'
import { LinePlace, Match } from './reading.ts'
import { At, Count, Path } from './values.ts'

/** A definition: the line of its name, and its signature on one line as the text. */
export const DefinitionPlace = v.object({ ...Match.entries, kind: v.string() })
export type DefinitionPlace = v.InferOutput<typeof DefinitionPlace>

/** A range: line and column of its start, then of its end. Lines count from 1, columns are UTF-16 units from 0. */
export const LineRange = v.tuple([Count, Count, Count, Count])
export type LineRange = v.InferOutput<typeof LineRange>

/** A function, class, heading or key of a file. */
export const FileSymbol = v.object({
  name: v.string(),
  kind: v.string(),
  /** The number of symbols around it. */
  depth: Count,
  /** The place of its name: the line from 1, the column from 0. */
  line: Count,
  column: Count,
  /** Its first and last line, from 1. */
  start: Count,
  end: Count,
})
export type FileSymbol = v.InferOutput<typeof FileSymbol>

/** `folds`: what can be folded. */
export const FileStructure = v.object({ symbols: v.array(FileSymbol), folds: v.array(LineRange) })
export type FileStructure = v.InferOutput<typeof FileStructure>

/** A definition in a file of the branch. `container`: the name of the definition around it; '' for none. */
export const FoundSymbol = v.object({
  ...LinePlace.entries,
  name: v.string(),
  kind: v.string(),
  container: v.string(),
  column: Count,
})
export type FoundSymbol = v.InferOutput<typeof FoundSymbol>

const MAX_SELECTIONS = 100

export const codeQuestions = {
  /**
   * The definitions of a name, and the lines that mention it, drafts included. They are found by the name alone: others
   * of the same name are among them. Those in the file at `path` come first. `isCut`: there may be more.
   */
  'named places': repeatable(
    { at: At, path: Path, name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(400)) },
    v.object({ definitions: v.array(DefinitionPlace), mentions: v.array(Match), isCut: v.boolean() }),
  ),
  /** The symbols of a file, in the order of their lines, and what can be folded in it. */
  'file structure': repeatable({ at: At, path: Path }, FileStructure),
  /** For each range of a file, what is around it in the syntax, the smallest first; nothing without a grammar. */
  'syntax around': repeatable(
    { at: At, path: Path, ranges: v.pipe(v.array(LineRange), v.maxLength(MAX_SELECTIONS)) },
    v.array(v.array(LineRange)),
  ),
  /**
   * Finds definitions by a few letters of their names, best first, drafts included. `left`: files that are not read
   * yet; they are read in the background, so that asking again finds more.
   */
  'find symbol': repeatable(
    { at: At, words: v.pipe(v.string(), v.maxLength(400)), count: v.pipe(Count, v.maxValue(500)) },
    v.object({ symbols: v.array(FoundSymbol), left: Count }),
  ),
}
