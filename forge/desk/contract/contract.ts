/**
 * The protocol between the desk's server and its page, over one WebSocket: JSON, parsed on both sides. Each question of
 * the page gets one reply; the server sends news of changes (news.ts). A question is declared once, in the file of its
 * subject (see question.ts); here all are put together.
 */
import * as v from 'valibot'
import { branchQuestions } from './branches.ts'
import { chatQuestions } from './chat.ts'
import { codeQuestions } from './code.ts'
import { commentQuestions } from './comments.ts'
import { deskQuestions } from './desk.ts'
import { forkliftQuestions } from './forklift.ts'
import { graphQuestions } from './graph.ts'
import { languageQuestions } from './language.ts'
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
  ...codeQuestions,
  ...languageQuestions,
  ...commentQuestions,
  ...graphQuestions,
  ...stepQuestions,
  ...mergingQuestions,
  ...chatQuestions,
  ...forkliftQuestions,
  ...tasksQuestions,
}
export type QuestionName = keyof typeof questions

/** The fields of a question. */
export type Fields<Name extends QuestionName> = FieldsOf<(typeof questions)[Name]>
export type Answer<Name extends QuestionName> = ReplyOf<(typeof questions)[Name]>

/** A question as sent to the server. */
export type Asked = { [Name in QuestionName]: { id: number; ask: Name } & Fields<Name> }[QuestionName]

export const isQuestionName = (name: unknown): name is QuestionName =>
  typeof name === 'string' && Object.hasOwn(questions, name)

/** The answer to a question, or an error: what happened, what is kept, what to do. */
export const Reply = v.union([
  v.object({ re: Count, error: v.string() }),
  v.object({ re: Count, value: v.optional(v.unknown()) }),
])
export type Reply = v.InferOutput<typeof Reply>

/**
 * What the server embeds in a page: the answers to its first questions, and `said`, the number of news that were sent
 * to all windows before. News after these may be missed until the connection is open.
 */
export const PageBeginning = v.object({
  said: Count,
  answers: v.array(v.object({ ask: v.string(), fields: v.unknown(), value: v.unknown() })),
})
export type PageBeginning = v.InferOutput<typeof PageBeginning>

/** The id of the element that contains the {@link PageBeginning} as JSON; it is empty if the page has to ask. */
export const BEGINNING_ID = 'beginning'

/** The key of a question (a request of the page): equal for the same fields in any order. */
export const questionKey = (ask: string, fields: unknown): string =>
  `${ask} ${JSON.stringify(Object.entries(fields ?? {}).sort())}`
