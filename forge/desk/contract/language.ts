/** What the page can ask the language servers about a file of a branch. Positions count lines and characters from 0. */
import * as v from 'valibot'
import { Nothing, question, repeatable } from './question.ts'
import { LinePlace } from './reading.ts'
import { Branch, Count, Path } from './values.ts'

export const TextPosition = v.object({ line: Count, character: Count })
export type TextPosition = v.InferOutput<typeof TextPosition>
export const TextRange = v.object({ start: TextPosition, end: TextPosition })
export type TextRange = v.InferOutput<typeof TextRange>

/** A replacement of a part of a text. */
export const TextChange = v.object({ range: TextRange, text: v.string() })
export type TextChange = v.InferOutput<typeof TextChange>

export const Problem = v.object({
  range: TextRange,
  severity: v.picklist(['error', 'warning', 'info', 'hint']),
  message: v.string(),
  /** The program and the code of the problem, such as `typescript 2322`; may be empty. */
  source: v.string(),
  /** The code is not used or not reached: it is shown faded. */
  isUnused: v.boolean(),
})
export type Problem = v.InferOutput<typeof Problem>

/** What a server can do. */
const Abilities = v.object({
  completes: v.boolean(),
  /** Characters after which a completion is asked for at once. */
  completesAfter: v.array(v.string()),
  hovers: v.boolean(),
  signs: v.boolean(),
  signsAfter: v.array(v.string()),
  defines: v.boolean(),
  refers: v.boolean(),
  renames: v.boolean(),
  fixes: v.boolean(),
})
export type Abilities = v.InferOutput<typeof Abilities>

/**
 * The state of the language server for a file. `off`: the user has not switched language servers on. `missing`: none
 * can run here. `commands`: those of FORGE.md that prepare the files, and are not approved.
 */
export const LanguageState = v.variant('is', [
  v.object({ is: v.literal('off'), program: v.string() }),
  v.object({ is: v.literal('missing'), program: v.string(), words: v.string() }),
  v.object({ is: v.literal('starting'), program: v.string(), words: v.string() }),
  v.object({
    is: v.literal('ready'),
    program: v.string(),
    can: Abilities,
    commands: v.array(v.string()),
    /** Why a preparing command has failed, as a sentence. */
    words: v.optional(v.string()),
  }),
  /** It was not used for a while. It starts again with the next question whether the file is understood. */
  v.object({ is: v.literal('idle'), program: v.string() }),
  v.object({ is: v.literal('ended'), program: v.string(), words: v.string() }),
])
export type LanguageState = v.InferOutput<typeof LanguageState>

/** An item of a completion. `item`: its number, for details. `range`: what it replaces. */
export const Completed = v.object({
  item: Count,
  label: v.string(),
  kind: v.optional(v.string()),
  detail: v.optional(v.string()),
  filter: v.string(),
  text: v.string(),
  range: v.optional(TextRange),
})
export type Completed = v.InferOutput<typeof Completed>

/** A place of a name: the line from 1, its text, and the range of the name in it. */
export const SymbolPlace = v.object({
  ...LinePlace.entries,
  text: v.string(),
  ranges: v.array(v.tuple([Count, Count])),
})
export type SymbolPlace = v.InferOutput<typeof SymbolPlace>

export const ListedProblem = v.object({ ...SymbolPlace.entries, severity: Problem.entries.severity })
export type ListedProblem = v.InferOutput<typeof ListedProblem>

export const Signature = v.object({
  label: v.string(),
  documentation: v.optional(v.string()),
  /** The range of the current parameter in the label. */
  parameter: v.optional(v.tuple([Count, Count])),
})
export type Signature = v.InferOutput<typeof Signature>

/**
 * What became of edits that a server proposed. `changes`: they are for the asked file only, and the page makes them.
 * Else the desk has made them as drafts, in one operation.
 */
export const Proposed = v.object({
  changes: v.optional(v.array(TextChange)),
  files: Count,
  edits: Count,
  /** The version of the asked file's text that the changes are for. */
  version: Count,
  /** Files that can't be edited, and why. */
  skipped: v.array(v.object({ path: Path, why: v.string() })),
})
export type Proposed = v.InferOutput<typeof Proposed>

const InFile = { branch: Branch, path: Path }
const AtPosition = { ...InFile, position: TextPosition }

export const languageQuestions = {
  /**
   * Begins to ask a language server about a file that the window shows. Undefined: there is none for such files. The
   * server starts with the first such file of a branch.
   */
  'understand file': repeatable(InFile, v.optional(LanguageState)),
  /** Switches language servers on or off for this repository. */
  'switch language servers': question({ isOn: v.boolean() }, Nothing),
  /** Starts the server of a file again. */
  'restart language server': question(InFile, Nothing),
  /** Approves the commands of FORGE.md that prepare the files of a branch, and runs them. */
  'approve preparing': question({ branch: Branch, commands: v.array(v.string()) }, Nothing),
  /** The problems in an open file, and the version of its text. */
  problems: repeatable(InFile, v.object({ version: Count, problems: v.array(Problem) })),
  /** The problems in all files of a branch that its servers have told of, the worst first. */
  'all problems': repeatable({ branch: Branch }, v.array(ListedProblem)),
  /** `trigger`: the typed character that asks for it. */
  complete: repeatable(
    {
      ...AtPosition,
      prefix: v.pipe(v.string(), v.maxLength(400)),
      trigger: v.optional(v.pipe(v.string(), v.maxLength(2))),
    },
    v.object({ list: Count, items: v.array(Completed), isIncomplete: v.boolean() }),
  ),
  /** More about an item of a completion. `changes`: what is to be changed with it, such as an import. */
  'completion details': repeatable(
    { ...InFile, list: Count, item: Count },
    v.object({ detail: v.optional(v.string()), documentation: v.optional(v.string()), changes: v.array(TextChange) }),
  ),
  /** What is known of the name at a position, as Markdown. */
  hover: repeatable(AtPosition, v.optional(v.object({ markdown: v.string(), range: v.optional(TextRange) }))),
  /** The signatures of the call at a position, the one that fits first. */
  signatures: repeatable(AtPosition, v.array(Signature)),
  /** The definitions or references of the name at a position. `outside`: files that are not in the branch. */
  'symbol places': repeatable(
    { ...AtPosition, of: v.picklist(['definitions', 'references']) },
    v.object({ places: v.array(SymbolPlace), outside: v.array(v.string()), isCut: v.boolean() }),
  ),
  /** The name at a position that can be renamed; undefined where none can. */
  'symbol to rename': repeatable(AtPosition, v.optional(v.object({ name: v.string() }))),
  'rename symbol': question({ ...AtPosition, name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(400)) }, Proposed),
  /** The quick fixes for a range, and for the problems in it. */
  'quick fixes': repeatable(
    { ...InFile, range: TextRange },
    v.object({ list: Count, fixes: v.array(v.object({ fix: Count, title: v.string() })) }),
  ),
  'make quick fix': question({ ...InFile, list: Count, fix: Count }, Proposed),
  'format by server': question(
    { ...InFile, tabSize: v.pipe(Count, v.maxValue(32)), usesSpaces: v.boolean() },
    Proposed,
  ),
}
