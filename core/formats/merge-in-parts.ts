/**
 * How a merge was made in parts, as a line of the merge commit's message: the tasks write it when the merge is landed
 * or opened on the desk, and Forklift shows it on the pull request's page. Any commit can have such a line, so what it
 * says is a claim of the commit's author.
 */
import * as v from 'valibot'
import { Count } from './values.ts'

/** The bounds of what is written and read. `list`: the models and the questions. `text`: characters of each. */
const MAX = { list: 10, text: 300, line: 12_000 }
const TRAILER = 'Forge-Merge'

const Text = v.pipe(v.string(), v.maxLength(MAX.text))
const MergeInParts = v.object({
  /** The parts that models have resolved, and the files in conflict in them. */
  parts: Count,
  files: Count,
  /** The models, each with the number of parts that it has resolved. */
  models: v.pipe(v.array(v.object({ model: Text, parts: Count })), v.maxLength(MAX.list)),
  /** The model of an agent that had resolved conflicts before, and how many. */
  before: v.optional(v.object({ model: Text, conflicts: Count })),
  /** How many files in conflict were left for a person. */
  left: Count,
  /** What a person was asked, and answered. `count`: how many questions there were. */
  asked: v.object({
    count: Count,
    first: v.pipe(v.array(v.object({ question: Text, answer: Text })), v.maxLength(MAX.list)),
  }),
})
export type MergeInParts = v.InferOutput<typeof MergeInParts>

const cut = (text: string): string =>
  text.length <= MAX.text ? text : `${text.slice(0, MAX.text - 1).toWellFormed()}…`

/** The line for a commit's message. Longer lists and texts are cut. */
export function mergeInPartsLine({ models, before, asked, ...counts }: MergeInParts): string {
  const shown: MergeInParts = {
    ...counts,
    models: models.slice(0, MAX.list).map(it => ({ ...it, model: cut(it.model) })),
    ...(before && { before: { ...before, model: cut(before.model) } }),
    asked: {
      count: asked.count,
      first: asked.first.slice(0, MAX.list).map(it => ({ question: cut(it.question), answer: cut(it.answer) })),
    },
  }
  return `${TRAILER}: ${JSON.stringify(shown)}`
}

/** Reads the first such line in a message, or in several; undefined where there is none that is valid. */
export function mergeInPartsIn(message: string): MergeInParts | undefined {
  for (const [, json = ''] of message.matchAll(new RegExp(`^${TRAILER}: (\\{.*\\})\\r?$`, 'gm'))) {
    if (json.length > MAX.line) continue
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), MergeInParts), json)
    if (parsed.success) return parsed.output
  }
  return undefined
}

/** A message without such lines. */
export const withoutMergeInParts = (message: string): string =>
  message.replace(new RegExp(`^${TRAILER}: .*\\n?`, 'gm'), '')
