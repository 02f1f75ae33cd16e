/**
 * Reads what a model answered in a step: the one call of the tool `answer`, or a text that is just its JSON. What is no
 * answer is told in words from which a model recovers.
 */
import * as v from 'valibot'
import { many, short, visible } from '../../../core/text.ts'
import { parseJson } from '../../ai/json.ts'
import type { ModelAnswer } from '../../ai/request.ts'
import type { StepKind } from '../contract.ts'
import { ANSWERS, type AnswerOf } from './answers.ts'
import { ANSWER_NAME } from './prompts.ts'

/**
 * An answer as its schema has it, or why it is none; `inShort` has nothing of the answer in it. `isConfused`: it has a
 * signal that is not known, so that a person has to look.
 */
export type ReadAnswer<Kind extends StepKind> =
  | { parsed: AnswerOf<Kind>; words: string; inShort?: never }
  | { parsed?: never; words: string; inShort: string; isConfused: boolean }

const SIGNALS = [
  'success',
  'failure_retryable',
  'failure_terminal',
  'new_tasks_discovered',
  'blocked_on_human',
  'blocked_on_sibling',
]
const CUT = [
  'The answer was cut, since it was longer than an answer may be: answer shorter.',
  'Send edits instead of whole files, or do a part of it and say in words what is left.',
].join(' ')
/** How many complaints about one answer are given. */
const MAX_COMPLAINTS = 5

/** Reads an answer to a step of a kind. */
export function readAnswer<Kind extends StepKind>(
  kind: Kind,
  answer: Pick<ModelAnswer, 'blocks' | 'end'>,
): ReadAnswer<Kind> {
  if (answer.end === 'length') return noAnswer(CUT)
  const calls = answer.blocks.filter(block => block.type === 'call' && block.name === ANSWER_NAME)
  if (calls.length > 1)
    return noAnswer(`There were ${calls.length} calls of the tool ${ANSWER_NAME}: call it once, with everything in it.`)
  const [call] = calls
  const text = answer.blocks.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('')
  const sent = call?.type === 'call' ? call.arguments : jsonIn(text)
  if (sent === undefined) return noAnswer(withoutCall(answer, text))
  const wanted = unwrapped(sent)
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    return noAnswer(
      `The arguments of ${ANSWER_NAME} are no JSON object (${short(visible(JSON.stringify(sent)), 80)}).`,
      `The arguments of ${ANSWER_NAME} are no JSON object.`,
    )
  const whole = withoutStrings(wanted)
  const parsed = v.safeParse(ANSWERS[kind], whole)
  // The schema of each kind is known by its kind alone.
  if (parsed.success) return { parsed: parsed.output as AnswerOf<Kind>, words: parsed.output.words }
  const { signal } = whole as { signal?: unknown }
  if (typeof signal === 'string' && !SIGNALS.includes(signal)) {
    const words = `It ended with the signal ${JSON.stringify(short(visible(signal), 60))}, which nobody knows.`
    return { words: `${words} It is one of ${SIGNALS.join(', ')}.`, inShort: words, isConfused: true }
  }
  return noAnswer(
    complaintsAbout(parsed.issues),
    `The answer does not fit its schema: ${parsed.issues.slice(0, MAX_COMPLAINTS).map(placeOf).join(', ')}.`,
  )
}

const noAnswer = (words: string, inShort = words): ReadAnswer<never> => ({ words, inShort, isConfused: false })

function withoutCall({ end, blocks }: Pick<ModelAnswer, 'blocks' | 'end'>, text: string): string {
  if (end === 'refused') return 'The model refused to answer this.'
  const other = blocks.find(block => block.type === 'call')
  if (other?.type === 'call')
    return `There is no tool ${short(visible(other.name), 60)}: the only one is ${ANSWER_NAME}. Call it once.`
  if (text.trim() === '') return `The answer was empty: call the tool ${ANSWER_NAME} once.`
  const what = `The answer was a text that is not the JSON of ${ANSWER_NAME}`
  return `${what}: call the tool ${ANSWER_NAME} once, with all that is to be said in it.`
}

/** What stands in `answer`, as the tool has it; some models leave that out, or send its JSON as a string. */
function unwrapped(sent: unknown): unknown {
  const whole = typeof sent === 'string' ? (jsonIn(sent) ?? sent) : sent
  if (typeof whole !== 'object' || whole === null || !('answer' in whole)) return whole
  return typeof whole.answer === 'string' ? (jsonIn(whole.answer) ?? whole.answer) : whole.answer
}

/** Lists and objects that some models send as a string of their JSON. */
function withoutStrings(wanted: object): object {
  const nested = ['edits', 'fan_out', 'steps', 'plan', 'findings', 'discovered']
  const entries = Object.entries(wanted).map(([name, value]) => {
    const isNested = nested.includes(name) && typeof value === 'string'
    return [name, isNested ? (jsonIn(value) ?? value) : value] as const
  })
  return Object.fromEntries(entries)
}

/** The JSON that a text is, alone or in the only fence of it. */
function jsonIn(text: string): unknown {
  const fences = [...text.matchAll(/^(`{3,})[^\n`]*\n([\s\S]*?)\n\1[ \t]*$/gm)]
  const [only, another] = fences
  for (const candidate of [text, only && !another ? only[2] : undefined]) {
    if (candidate === undefined || !/^\s*[[{]/.test(candidate)) continue
    try {
      return parseJson(candidate)
    } catch {
      // The other one, or none.
    }
  }
  return undefined
}

function complaintsAbout(issues: readonly v.BaseIssue<unknown>[]): string {
  const told = issues.slice(0, MAX_COMPLAINTS).map(sentenceOf)
  const rest = issues.length - told.length
  const more = rest > 0 ? ` There ${rest === 1 ? 'is' : 'are'} ${many(rest, 'more fault')}.` : ''
  return `The answer does not fit its schema. ${told.join(' ')}${more} Send all of it again.`
}

/** Where in an answer a fault is. */
function placeOf(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  return short(visible(`answer${path.join('')}`), 120)
}

function sentenceOf(issue: v.BaseIssue<unknown>): string {
  const where = placeOf(issue)
  if (issue.received === 'undefined') return `${where} is missing.`
  if (issue.kind === 'validation' && issue.type === 'max_length')
    return `${where} is too long: at most ${issue.expected?.replace(/\D+/, '')}.`
  if (issue.kind === 'validation' && (issue.type === 'non_empty' || issue.type === 'min_length'))
    return `${where} is empty.`
  if (issue.type === 'regex') return `${where} ${issue.message} (it was ${short(visible(issue.received), 60)}).`
  if (!issue.expected) return `${where}: ${short(visible(issue.message), 200)}.`
  return `${where} must be ${visible(issue.expected)}, and was ${short(visible(issue.received), 60)}.`
}
