/**
 * A lesson: a short piece of advice that came from earlier runs of this repository, with when it applies and what came
 * of it. It is kept as Markdown with a front matter, and is only ever advice: no program reads orders from it.
 */
import * as v from 'valibot'
import { TIERS } from '../plan/schema.ts'
import { DOMAINS, type Domain } from '../runs/domains.ts'

/** At most this many characters in a lesson, in its title, and in the name of the error that it is about. */
export const MAX_LESSON = { says: 600, title: 100, error: 160 }
/** A lesson is retired when it was given to this many tasks and none of them passed at its first attempt. */
const GIVEN_IN_VAIN = 10
/** At most this many runs are named in a lesson: the newest. */
const MAX_RUNS = 5

/** What kind of step a lesson is for: planning, or changing files. */
export const AUDIENCES = ['plan', 'change'] as const

export const LessonId = v.pipe(
  v.string(),
  v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be words in lower case with hyphens between them'),
  v.maxLength(60),
)

const day = v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date as YYYY-MM-DD'))
const number = v.pipe(v.string(), v.regex(/^\d{1,9}$/, 'must be a whole number'), v.transform(Number))
const line = (most: number) => v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(most))
const names = v.pipe(
  v.string(),
  v.transform(text => text.split(',').map(name => name.trim())),
  v.transform(all => all.filter(Boolean)),
)

/** The front matter, a line for each field. */
const FrontMatter = v.strictObject({
  id: LessonId,
  title: line(MAX_LESSON.title),
  for: v.optional(v.pipe(names, v.array(v.picklist(AUDIENCES)), v.minLength(1)), 'plan, change'),
  domain: v.optional(v.picklist(DOMAINS)),
  tier: v.optional(v.picklist(TIERS)),
  error: v.optional(line(MAX_LESSON.error)),
  from: v.optional(names, ''),
  date: day,
  by: v.optional(v.picklist(['model', 'person']), 'person'),
  given: v.optional(number, '0'),
  first_try: v.optional(number, '0'),
  retired: v.optional(day),
})

export type Lesson = {
  id: string
  /** The title, one line, for lists of lessons. */
  title: string
  /** What helps, in a few sentences. */
  says: string
  /** The kinds of steps that it is for. */
  for: readonly (typeof AUDIENCES)[number][]
  domain?: Domain
  tier?: (typeof TIERS)[number]
  /** Words of the failure that it is about. */
  error?: string
  /** The runs that it came from, the newest last. */
  from: readonly string[]
  /** When it was last learned or edited, as YYYY-MM-DD. */
  date: string
  /** Who wrote its text: a model's words never replace a person's. */
  by: 'model' | 'person'
  /** How many tasks it was given to. `firstTry`: how many of these passed at their first attempt. */
  given: number
  firstTry: number
  /** The date since which the lesson is not given to tasks any more. */
  retired?: string
}

/** A lesson as a file. */
export function lessonAsMarkdown(lesson: Lesson): string {
  const fields = [
    ['id', lesson.id],
    ['title', lesson.title],
    ['for', lesson.for.join(', ')],
    ['domain', lesson.domain],
    ['tier', lesson.tier],
    ['error', lesson.error],
    ['from', lesson.from.join(', ')],
    ['date', lesson.date],
    ['by', lesson.by],
    ['given', `${lesson.given}`],
    ['first_try', `${lesson.firstTry}`],
    ['retired', lesson.retired],
  ].filter(([, value]) => value)
  return `---\n${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}---\n\n${lesson.says.trim()}\n`
}

/** Parses the file of a lesson. Gives a sentence for each complaint where it is none. */
export function parseLesson(text: string): Lesson | { complaints: string[] } {
  const [, head, body] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text) ?? []
  if (head === undefined || body === undefined) return { complaints: ['It begins with no front matter between ---.'] }
  const fields: Record<string, string> = {}
  for (const row of head.split(/\r?\n/).filter(it => it.trim() !== '')) {
    const [, name, value = ''] = /^([a-z_]+):\s*(.*?)\s*$/.exec(row) ?? []
    if (!name) return { complaints: [`A line of the front matter is not NAME: VALUE (${row.slice(0, 60)}).`] }
    if (value !== '') fields[name] = value
  }
  const parsed = v.safeParse(FrontMatter, fields)
  const says = body.trim()
  const complaints = (parsed.issues ?? []).map(issue => `${String(issue.path?.[0]?.key ?? '')}: ${issue.message}.`)
  if (says === '') complaints.push('It says nothing.')
  if (says.length > MAX_LESSON.says) complaints.push(`It has more than ${MAX_LESSON.says} characters.`)
  if (!parsed.success || complaints.length > 0) return { complaints }
  const { first_try: firstTry, domain, tier, error, retired, ...rest } = parsed.output
  return {
    ...rest,
    says,
    firstTry,
    ...(domain && { domain }),
    ...(tier && { tier }),
    ...(error && { error }),
    ...(retired && { retired }),
  }
}

/**
 * A lesson's counts after it was given to one more task. `isFirstTry`: whether the task passed at its first attempt.
 */
export function counted(lesson: Lesson, isFirstTry: boolean, today: string): Lesson {
  const given = lesson.given + 1
  const firstTry = lesson.firstTry + (isFirstTry ? 1 : 0)
  const isInVain = given >= GIVEN_IN_VAIN && firstTry === 0
  return { ...lesson, given, firstTry, ...(isInVain && !lesson.retired && { retired: today }) }
}

/** What a lesson says, without regard to blanks, case and punctuation: two such lessons are the same. */
export const sameness = ({ says }: Pick<Lesson, 'says'>): string =>
  says
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

/**
 * A lesson that was learned once more. A person's words stay. A model's new words replace its old ones, and begin to be
 * counted anew, where they say something else.
 */
export function relearned(before: Lesson, fresh: Lesson): Lesson {
  const from = [...new Set([...before.from, ...fresh.from])].slice(-MAX_RUNS)
  if (before.by === 'person' || sameness(before) === sameness(fresh)) return { ...before, from, date: fresh.date }
  return { ...fresh, from }
}
