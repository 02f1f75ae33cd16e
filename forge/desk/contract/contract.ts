/**
 * What the desk's server and its page say to each other, over one WebSocket: JSON, parsed on both sides. The page asks
 * and gets one reply; the server says by itself what has changed (news.ts). A question is declared once, in the file of
 * its subject (question.ts says how); here they are put together.
 */
import * as v from 'valibot'
import { branchQuestions } from './branches.ts'
import { chatQuestions } from './chat.ts'
import { deskQuestions } from './desk.ts'
import { forkliftQuestions } from './forklift.ts'
import { graphQuestions } from './graph.ts'
import { mergingQuestions } from './merging.ts'
import type { FieldsOf, ReplyOf } from './question.ts'
import { readingQuestions } from './reading.ts'
import { stepQuestions } from './steps.ts'
import { tasksQuestions } from './tasks.ts'
import { Count } from './values.ts'

export const questions = {
  ...deskQuestions,
  ...branchQuestions,
  ...readingQuestions,
  ...graphQuestions,
  ...stepQuestions,
  ...mergingQuestions,
  ...chatQuestions,
  ...forkliftQuestions,
  ...tasksQuestions,
}
export type QuestionName = keyof typeof questions

/** What is asked with a question, and what is replied to it. */
export type Fields<Name extends QuestionName> = FieldsOf<(typeof questions)[Name]>
export type Answer<Name extends QuestionName> = ReplyOf<(typeof questions)[Name]>

/** A question as it goes to the server. */
export type Asked = { [Name in QuestionName]: { id: number; ask: Name } & Fields<Name> }[QuestionName]

export const isQuestionName = (name: unknown): name is QuestionName =>
  typeof name === 'string' && Object.hasOwn(questions, name)

/** The answer to a question, or why there is none: what happened, what is kept, what to do. */
export const Reply = v.union([
  v.object({ re: Count, error: v.string() }),
  v.object({ re: Count, value: v.optional(v.unknown()) }),
])
export type Reply = v.InferOutput<typeof Reply>

/**
 * What comes with a page: what it asks first, answered, and how much had been said to all windows before. What is said
 * later the page may have missed, until its own connection is up.
 */
export const PageBeginning = v.object({
  said: Count,
  answers: v.array(v.object({ ask: v.string(), fields: v.unknown(), value: v.unknown() })),
})
export type PageBeginning = v.InferOutput<typeof PageBeginning>

/** The element of the page that has its {@link PageBeginning} as JSON; empty where the page asks for itself. */
export const BEGINNING_ID = 'beginning'

/** Names a question with its fields, whatever the order of these. */
export const questionKey = (ask: string, fields: unknown): string =>
  `${ask} ${JSON.stringify(Object.entries(fields ?? {}).sort())}`
