/** What a model sent to a tool, taken apart; and what is wrong with it in a sentence from which it learns. */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { short, visible } from '../../core/text.ts'
import { parseJson } from './json.ts'

/**
 * The arguments of a tool, by their schema. What some models send instead is understood where it can mean nothing else:
 * JSON in a string for an object or a list. Throws a {@link Failure}.
 */
export function parseArguments<Schema extends v.GenericSchema>(schema: Schema, sent: unknown): v.InferOutput<Schema> {
  const whole = typeof sent === 'string' ? fromJson(sent) : sent
  const parsed = v.safeParse(schema, whole)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new Failure(`${sentenceOf(issue)} Nothing was done: send it again.`)
}

/** A list that may have been sent as a string of JSON, or its one item without the list. */
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

/** A number that may have been sent as its digits. */
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
