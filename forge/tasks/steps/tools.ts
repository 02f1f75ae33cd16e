/**
 * The tools of a step. The editing ones are those of the chat, in which no file is quoted inside another text. All are
 * called in one response; their results are not shown to the model.
 */
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { listOf, parseArguments } from '../../ai/arguments.ts'
import { editingTools, readingTools } from '../../ai/built-in-tools.ts'
import type { ToolDescription } from '../../ai/request.ts'
import type { StepKind } from '../contract.ts'
import { type FileEdit, offeredSchema } from './answers.ts'

/** The name of the tool by which every step ends. */
export const ANSWER_NAME = 'answer'
const ANSWER_WORDS: Partial<Record<StepKind, string>> = {
  implement: 'Ends the step. Call it exactly once, behind all edits, in the same response.',
  resolve: 'Ends the step. Call it exactly once, behind all edits, in the same response.',
  plan: 'Ends the step with the plan. Call it exactly once, and not together with tools that read.',
  'check plan': 'Ends the step. Call it exactly once, and not together with tools that read.',
}
const USUAL_WORDS = 'Your whole answer. Call it exactly once: there is no second turn, and nothing else is read.'

/** Whether a kind of step changes files. */
export const mayEdit = (kind: StepKind): boolean => kind === 'implement' || kind === 'resolve'
/** Whether a kind of step makes or checks the run's plan, and so may read files of the whole project first. */
export const isPlanning = (kind: StepKind): boolean => kind === 'plan' || kind === 'check plan'

const namesOf = (tools: readonly { description: ToolDescription }[]): string[] =>
  tools.map(({ description }) => description.name)

export const EDITING_NAMES: readonly string[] = namesOf(editingTools())
export const READING_NAMES: readonly string[] = namesOf(readingTools())

/** The tools of a step's model; always the same for a kind, so that the provider's cache holds. */
export function toolsFor(kind: StepKind, options: { subAgents: boolean }): ToolDescription[] {
  const others = mayEdit(kind) ? editingTools() : isPlanning(kind) ? readingTools() : []
  // Some providers refuse a union at the top of a tool's parameters, so it is in a property.
  const { $schema: _, ...answer } = toJsonSchema(offeredSchema(kind, options), {
    typeMode: 'input',
    errorMode: 'ignore',
  })
  return [
    ...others.map(({ description }) => description),
    {
      name: ANSWER_NAME,
      description: ANSWER_WORDS[kind] ?? USUAL_WORDS,
      parameters: { type: 'object', properties: { answer }, required: ['answer'], additionalProperties: false },
    },
  ]
}

// --- Calls of tools that edit, as edits

const Text = v.string()
const Name = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1000))
const Listed = v.pipe(listOf(v.strictObject({ search: Text, replace: Text })), v.minLength(1), v.maxLength(100))
const CALLS = {
  search_replace: v.strictObject({ path: Name, edits: Listed }),
  write_file: v.strictObject({ path: Name, content: Text, executable: v.optional(v.boolean()) }),
  append_to_file: v.strictObject({ path: Name, content: Text }),
  delete_file: v.strictObject({ path: Name }),
  rename_file: v.strictObject({ from: Name, to: Name }),
}

/** Converts a call of an editing tool to edits. Throws a {@link Failure} where its arguments are invalid. */
export function editsOfCall(name: string, sent: unknown): FileEdit[] {
  switch (name) {
    case 'search_replace': {
      const { path, edits } = parseArguments(CALLS.search_replace, sent)
      return edits.map(edit => ({ kind: 'replace', path, ...edit }))
    }
    case 'write_file': {
      const { executable, ...wanted } = parseArguments(CALLS.write_file, sent)
      return [{ kind: 'write', ...wanted, executable }]
    }
    case 'append_to_file':
      return [{ kind: 'append', ...parseArguments(CALLS.append_to_file, sent) }]
    case 'delete_file':
      return [{ kind: 'delete', ...parseArguments(CALLS.delete_file, sent) }]
    case 'rename_file': {
      const { from, to } = parseArguments(CALLS.rename_file, sent)
      return [{ kind: 'rename', path: from, to }]
    }
    default:
      return []
  }
}
