/**
 * Parses a model's answer in a step: one call of the tool `answer`, or a text that is its JSON, with calls of editing
 * or reading tools beside it. An invalid answer is explained to the model.
 */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { many, short, visible } from '../../../core/text.ts'
import { parseJson } from '../../ai/json.ts'
import type { CallBlock, ModelAnswer } from '../../ai/request.ts'
import type { Signal, StepKind } from '../contract.ts'
import { ANSWERS, type AnswerOf, type FileEdit, type LookAnswer, SIGNALS as OFFERED } from './answers.ts'
import { ANSWER_NAME, EDITING_NAMES, editsOfCall, isPlanning, mayEdit, READING_NAMES } from './tools.ts'

/**
 * A parsed answer, or why it is invalid. `inShort`: the reason without content of the answer. `isConfused`: its signal
 * is unknown, so that a model is asked what it meant (`unclear` is what that is shown), or the user has to look.
 */
type ReadAnswer<Kind extends StepKind> =
  | { parsed: AnswerOf<Kind>; words: string; inShort?: never }
  | { parsed?: never; words: string; inShort: string; isConfused: boolean; unclear?: string }

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
/** At most this many complaints about one answer are reported to the model. */
const MAX_COMPLAINTS = 5
/** One response of a planner may contain at most this many calls of reading tools. */
export const MAX_LOOKS = 12

type Sent = Pick<ModelAnswer, 'blocks' | 'end'>

/**
 * Parses an answer to a step of a kind. `meant`: read in place of an unknown signal, where the kind has it; an answer
 * with a known signal is parsed unchanged.
 */
export function readAnswer<Kind extends StepKind>(kind: Kind, answer: Sent, meant?: Signal): ReadAnswer<Kind> {
  if (answer.end === 'length') return noAnswer(CUT)
  const calls = answer.blocks.filter((block): block is CallBlock => block.type === 'call')
  const answers = calls.filter(({ name }) => name === ANSWER_NAME)
  if (answers.length > 1)
    return noAnswer(
      `There were ${answers.length} calls of the tool ${ANSWER_NAME}: call it once, with everything in it.`,
    )
  const others = calls.filter(({ name }) => name !== ANSWER_NAME)
  const looks = isPlanning(kind) ? others.filter(({ name }) => READING_NAMES.includes(name)) : []
  // Reading calls come first: a plan sent along was made without their results.
  if (looks.length > 0) return lookedAt(looks) as ReadAnswer<Kind>
  const edits = mayEdit(kind) ? others.filter(({ name }) => EDITING_NAMES.includes(name)) : []
  const stray = others.find(call => !edits.includes(call))
  if (stray) return noAnswer(`There is no tool ${short(visible(stray.name), 60)} here: ${toolsOf(kind)}.`)
  const [call] = answers
  const text = answer.blocks.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('')
  const sent = call ? call.arguments : jsonIn(text)
  if (sent === undefined) return noAnswer(withoutCall(answer, text, edits.length))
  const wanted = unwrapped(sent)
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    return noAnswer(
      `The arguments of ${ANSWER_NAME} are no JSON object (${short(visible(JSON.stringify(sent)), 80)}).`,
      `The arguments of ${ANSWER_NAME} are no JSON object.`,
    )
  return readParts(kind, withoutStrings(wanted), edits, meant)
}

/** Parses the answer itself, and the editing calls beside it. */
function readParts<Kind extends StepKind>(
  kind: Kind,
  whole: object,
  calls: readonly CallBlock[],
  meant?: Signal,
): ReadAnswer<Kind> {
  const parsed = v.safeParse(ANSWERS[kind], whole)
  if (!parsed.success) {
    const { signal } = whole as { signal?: unknown }
    if (typeof signal !== 'string' || SIGNALS.includes(signal)) {
      const places = parsed.issues.slice(0, MAX_COMPLAINTS).map(placeOf)
      return noAnswer(complaintsAbout(parsed.issues), `The answer does not fit its schema: ${places.join(', ')}.`)
    }
    if (meant && OFFERED[kind].includes(meant)) return readParts(kind, { ...whole, signal: meant }, calls)
    const words = `It ended with the signal ${JSON.stringify(short(visible(signal), 60))}, which is unknown.`
    const unclear = unclearWords(signal, whole)
    return { words: `${words} It is one of ${SIGNALS.join(', ')}.`, inShort: words, isConfused: true, unclear }
  }
  const { output } = parsed
  const why = 'verdict' in output ? contradictionIn(output) : undefined
  if (why) return noAnswer(why)
  // TypeScript does not know the schema of this kind.
  if (!('edits' in output)) return { parsed: output as AnswerOf<Kind>, words: output.words }
  const edits: FileEdit[] = []
  const complaints: string[] = []
  for (const [at, { name, arguments: sent }] of calls.entries()) {
    try {
      edits.push(...editsOfCall(name, sent))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      complaints.push(`Call ${at + 1} (${name}): ${error.message}`)
    }
  }
  if (complaints.length > 0)
    return noAnswer(
      ['Nothing was changed.', ...complaints.slice(0, MAX_COMPLAINTS), 'Send all of it again.'].join(' '),
      `Nothing was changed, as ${many(complaints.length, 'call')} could not be read.`,
    )
  const all = { ...output, edits: [...edits, ...output.edits] }
  return { parsed: all as AnswerOf<Kind>, words: output.words }
}

/** At most this many characters of an answer's own words are shown to the model that says what its signal meant. */
const MAX_UNCLEAR = 4000

/** An answer's unknown signal, its words, and the names of its other fields that every answer may have. */
function unclearWords(signal: string, whole: object): string {
  const fields = new Map(Object.entries(whole))
  const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  const told = UNCLEAR_FIELDS.filter(name => fields.has(name)).map(name => {
    return `${name}: ${short(asText(fields.get(name)), MAX_UNCLEAR)}`
  })
  return [`signal: ${short(visible(signal), 200)}`, ...told].join('\n')
}

/** The fields of an answer that say how its step ended. */
const UNCLEAR_FIELDS = ['words', 'question', 'sibling', 'discovered', 'needs']

/** Why a verdict contradicts itself: it is good, but a question was answered with no. Undefined where it does not. */
function contradictionIn({
  verdict,
  answers,
}: {
  verdict: string
  answers: { question: string; answer: string }[]
}): string | undefined {
  const doubtful = answers.filter(({ answer }) => answer !== 'fine')
  if (verdict === 'bad' || doubtful.length === 0) return undefined
  const named = doubtful.map(({ question, answer }) => `${short(visible(question), 20)} is answered "${answer}"`)
  return `The verdict is good, and ${named.join(', ')}: make it bad with findings, or correct the answers. Send all of it again.`
}

function lookedAt(calls: readonly CallBlock[]): ReadAnswer<'plan'> {
  const looks = calls.slice(0, MAX_LOOKS).map(call => ({ name: call.name, arguments: call.arguments }))
  const words = `It looks at ${many(looks.length, 'place')} before it plans.`
  const parsed: LookAnswer = { signal: 'success', words, looks }
  return { parsed, words }
}

function toolsOf(kind: StepKind): string {
  const others = mayEdit(kind) ? EDITING_NAMES : isPlanning(kind) ? READING_NAMES : []
  return others.length === 0
    ? `the only one is ${ANSWER_NAME}. Call it once`
    : `there are ${others.join(', ')} and ${ANSWER_NAME}`
}

const noAnswer = (words: string, inShort = words): ReadAnswer<never> => ({ words, inShort, isConfused: false })

function withoutCall({ end }: Sent, text: string, edits: number): string {
  if (end === 'refused') return 'The model refused to answer this.'
  if (edits > 0)
    return (
      `There ${edits === 1 ? 'is' : 'are'} ${many(edits, 'edit')} and no call of ${ANSWER_NAME}, so nothing was changed. ` +
      `Send all edits and ${ANSWER_NAME} in one response. If you can make one call only, put them into its field edits: ` +
      '{"kind": "replace", "path", "search", "replace"}, {"kind": "write", "path", "content"}, ' +
      '{"kind": "append", "path", "content"}, {"kind": "delete", "path"} or {"kind": "rename", "path", "to"} each.'
    )
  if (text.trim() === '') return `The answer was empty: call the tool ${ANSWER_NAME} once.`
  const what = `The answer was a text that is not the JSON of ${ANSWER_NAME}`
  return `${what}: call the tool ${ANSWER_NAME} once, with all that is to be said in it.`
}

/** The field `answer` of the tool's arguments; some models leave it out, or send its JSON as a string. */
function unwrapped(sent: unknown): unknown {
  const whole = typeof sent === 'string' ? (jsonIn(sent) ?? sent) : sent
  if (typeof whole !== 'object' || whole === null || !('answer' in whole)) return whole
  return typeof whole.answer === 'string' ? (jsonIn(whole.answer) ?? whole.answer) : whole.answer
}

/** An object in which lists and objects sent as strings of JSON are parsed. */
function withoutStrings(wanted: object): object {
  const nested = ['edits', 'fan_out', 'steps', 'plan', 'answers', 'findings', 'discovered', 'needs', 'lessons']
  const entries = Object.entries(wanted).map(([name, value]) => {
    const isNested = nested.includes(name) && typeof value === 'string'
    return [name, isNested ? (jsonIn(value) ?? value) : value] as const
  })
  return Object.fromEntries(entries)
}

/** Parses a text that is JSON, or whose only code fence is JSON. */
function jsonIn(text: string): unknown {
  const fences = [...text.matchAll(/^(`{3,})[^\n`]*\n([\s\S]*?)\n\1[ \t]*$/gm)]
  const [only, another] = fences
  for (const candidate of [text, only && !another ? only[2] : undefined]) {
    if (candidate === undefined || !/^\s*[[{]/.test(candidate)) continue
    try {
      return parseJson(candidate)
    } catch {
      // This candidate is not JSON: try the next one.
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

/** The path of a faulty field in an answer. */
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
