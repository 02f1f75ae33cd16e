/** Parses the arguments that a model sent to a tool, with error messages that help the model to correct them. */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { short, visible } from '../../core/text.ts'
import { parseJson } from './json.ts'

/**
 * Parses a tool's arguments by their schema. Unambiguous deviations of some models are accepted, such as a list sent as
 * a string of JSON. Throws a {@link Failure} that says what is wrong.
 */
export function parseArguments<Schema extends v.GenericSchema>(schema: Schema, sent: unknown): v.InferOutput<Schema> {
  const whole = typeof sent === 'string' ? fromJson(sent) : sent
  const parsed = v.safeParse(schema, whole)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new Failure(`${sentenceOf(issue)} Nothing was done: send it again.`)
}

/** A list, also when it is sent as a string of JSON, or as its one item without the list. */
export const listOf = <Item extends v.GenericSchema>(item: Item) =>
  v.pipe(
    v.unknown(),
    v.transform(sent => {
      const it = typeof sent === 'string' && /^\s*[[{]/.test(sent) ? fromJson(sent) : sent
      const isOne = typeof it === 'string' || (typeof it === 'object' && it !== null && !Array.isArray(it))
      return isOne ? [it] : it
    }),
    v.array(item),
  )

/** An integer, also when it is sent as a string of digits. */
export const whole = () =>
  v.pipe(
    v.unknown(),
    v.transform(sent => (typeof sent === 'string' && /^\d{1,9}$/.test(sent) ? Number(sent) : sent)),
    v.number(),
    v.integer(),
    v.minValue(1),
  )

function fromJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

function sentenceOf(issue: v.BaseIssue<unknown>): string {
  const where = short(visible(v.getDotPath(issue) ?? ''), 100)
  const { type, expected, received } = issue
  if (!where) return `The arguments must be a JSON object, and were ${short(visible(received), 60)}.`
  if (type === 'strict_object' && expected === 'never') return `There is no argument ${where}.`
  if (type === 'strict_object') return `The argument ${where} is missing.`
  if (type === 'min_length') return `The argument ${where} is empty.`
  if (type === 'max_length') return `The argument ${where} is too long: ${expected?.replace('<=', 'at most ')}.`
  const wanted = (expected ?? 'something else').replace('>=', 'at least ')
  return `The argument ${where} must be ${wanted}, and was ${short(visible(received), 60)}.`
}
