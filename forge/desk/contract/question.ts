/**
 * Declares questions of the page to the server, once each, by fields and reply. The server parses the fields, and
 * handlers are typed by both; the page asks by name and parses the reply.
 */
import * as v from 'valibot'

export interface Question<
  Fields extends v.GenericSchema = v.GenericSchema,
  Reply extends v.GenericSchema = v.GenericSchema,
> {
  fields: Fields
  reply: Reply
  /** Whether asking twice changes nothing: such a question is repeated if the connection breaks before the reply. */
  isRepeatable: boolean
}

/** Questions by name. */
type Questions = Readonly<Record<string, Question>>

/** Declares a question that is asked at most once: if the connection breaks before the reply, it fails. */
export function question<const Fields extends v.ObjectEntries, Reply extends v.GenericSchema>(
  fields: Fields,
  reply: Reply,
) {
  return { fields: v.object(fields), reply, isRepeatable: false } satisfies Question
}

/** Declares a question that may be repeated, since asking twice changes nothing. */
export function repeatable<const Fields extends v.ObjectEntries, Reply extends v.GenericSchema>(
  fields: Fields,
  reply: Reply,
) {
  return { ...question(fields, reply), isRepeatable: true } satisfies Question
}

/** The reply to a question that only does something: no content. */
export const Nothing = v.void()

export type FieldsOf<Q extends Question> = v.InferOutput<Q['fields']>
export type ReplyOf<Q extends Question> = v.InferOutput<Q['reply']>

/** A function for each question; `window`: the browser window that asked. */
export type Handlers<All extends Questions, Window> = {
  readonly [Name in keyof All]: (
    fields: FieldsOf<All[Name]>,
    window: Window,
  ) => ReplyOf<All[Name]> | Promise<ReplyOf<All[Name]>>
}

/** Calls the handler of a question with its fields, parsed by its declaration. */
export async function handle<All extends Questions, Window>(
  handlers: Handlers<All, Window>,
  name: keyof All,
  fields: unknown,
  window: Window,
): Promise<unknown> {
  return await handlers[name](fields as FieldsOf<All[keyof All]>, window)
}
