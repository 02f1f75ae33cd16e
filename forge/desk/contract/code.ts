/** What the page can ask about the code of a branch or commit, as far as its syntax tells. */
import * as v from 'valibot'
import { repeatable } from './question.ts'
import { Match } from './reading.ts'
import { At, Path } from './values.ts'

/** A definition: the line of its name, and its signature on one line as the text. */
export const DefinitionPlace = v.object({ ...Match.entries, kind: v.string() })
export type DefinitionPlace = v.InferOutput<typeof DefinitionPlace>

export const codeQuestions = {
  /**
   * The definitions of a name, and the lines that mention it, drafts included. They are found by the name alone: others
   * of the same name are among them. Those in the file at `path` come first. `isCut`: there may be more.
   */
  'named places': repeatable(
    { at: At, path: Path, name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(400)) },
    v.object({ definitions: v.array(DefinitionPlace), mentions: v.array(Match), isCut: v.boolean() }),
  ),
}
