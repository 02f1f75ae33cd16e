/**
 * How a question of the page to the server is declared: once, by its fields and its reply. The server parses the
 * fields, and its handler of the question is typed by both; the page calls by the name and parses the reply.
 */
import * as v from 'valibot'

export interface Question<
  Fields extends v.GenericSchema = v.GenericSchema,
  Reply extends v.GenericSchema = v.GenericSchema,
> {
  fields: Fields
  reply: Reply
  /** Whether asking twice changes nothing: then it is asked again after the connection broke before the reply. */
  isRepeatable: boolean
}

/** Questions by their names. */
type Questions = Readonly<Record<string, Question>>

/** Declares a question that is asked at most once: where the connection breaks before the reply, asking fails. */
export function question<const Fields extends v.ObjectEntries, Reply extends v.GenericSchema>(
  fields: Fields,
  reply: Reply,
) {
  return { fields: v.object(fields), reply, isRepeatable: false } satisfies Question
}

/** Declares a question that may be asked again, since asking twice changes nothing. */
export function repeatable<const Fields extends v.ObjectEntries, Reply extends v.GenericSchema>(
  fields: Fields,
  reply: Reply,
) {
  return { ...question(fields, reply), isRepeatable: true } satisfies Question
}

/** The reply that says only that it was done. */
export const Nothing = v.void()

export type FieldsOf<Q extends Question> = v.InferOutput<Q['fields']>
export type ReplyOf<Q extends Question> = v.InferOutput<Q['reply']>

/** A function for each question; `window` is the one that asks. */
export type Handlers<All extends Questions, Window> = {
  readonly [Name in keyof All]: (
    fields: FieldsOf<All[Name]>,
    window: Window,
  ) => ReplyOf<All[Name]> | Promise<ReplyOf<All[Name]>>
}

/** Calls the handler of a question, whose fields were parsed by what it declares. */
export async function handle<All extends Questions, Window>(
  handlers: Handlers<All, Window>,
  name: keyof All,
  fields: unknown,
  window: Window,
): Promise<unknown> {
  return await handlers[name](fields as FieldsOf<All[keyof All]>, window)
}
