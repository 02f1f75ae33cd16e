/**
 * Plans as YAML files for people to read and edit, since YAML allows texts of several lines and comments. Default
 * values are left out, and added when a file is read.
 */
import * as v from 'valibot'
import { isMap, isNode, LineCounter, parseDocument, stringify } from 'yaml'
import { Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import { Plan } from './schema.ts'

const HEAD = `# A plan of the forge: what must be true in the end, and the tasks that make it so.
# Change what you like, and give the file back. docs/plan.md says what each field means.
`
/** Larger files, in bytes, are refused. */
const MAX_PLAN_BYTES = 8 << 20
const MAX_COMPLAINTS = 20
/** At most this many uses of YAML aliases in all. */
const MAX_ALIASES = 1000

/** Writes a plan as text; {@link parsePlanFile} gives an equal one. */
export const writePlan = (plan: Plan): string =>
  HEAD + stringify(withoutDefaults(plan), { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false })

/**
 * Whether a text is, or was meant to be, a plan: by its content, not by the file's name. A plan with invalid YAML
 * counts too, so that it is corrected and not taken for a wish.
 */
export function isPlan(text: string): boolean {
  const parts = ['contract', 'tasks']
  if (text.length > MAX_PLAN_BYTES) return false
  if (text.startsWith(HEAD.split('\n', 1)[0] ?? '')) return true
  if (!parts.every(part => text.includes(part))) return false
  const document = parseDocument(text.replace(/^\ufeff/, ''), { prettyErrors: false, logLevel: 'silent' })
  if (document.errors.length > 0) return parts.every(part => new RegExp(`^"?${part}"? *:`, 'm').test(text))
  return isMap(document.contents) && parts.every(part => document.has(part))
}

/**
 * Reads a plan that the user may have edited. `name`: the file's, for messages. @throws Failure with a sentence and a
 * line for each error.
 */
export function parsePlanFile(text: string, name: string): Plan {
  const shown = visible(name)
  if (text.length > MAX_PLAN_BYTES) throw new Failure(`${shown} is larger than 8 MB: that is no plan.`)
  const lines = new LineCounter()
  const document = parseDocument(text.replace(/^\ufeff/, ''), { lineCounter: lines, prettyErrors: false })
  const at = (offset: number): string => `${shown}, line ${lines.linePos(offset).line}`
  const [broken] = document.errors
  if (broken)
    throw new Failure(`${at(broken.pos[0])}: this is no YAML (${visible(sentence(broken.message))}): correct it there.`)
  const value = readValue(() => document.toJS({ maxAliasCount: MAX_ALIASES }), shown)
  const placeOf = (path: readonly PropertyKey[]): string => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true)
      if (isNode(node) && node.range) return at(node.range[0])
    }
    return at(0)
  }
  const parsed = v.safeParse(Plan, value)
  const wrong = (parsed.issues ?? []).map(issue => {
    const path = (issue.path ?? []).map(({ key }) => key as PropertyKey)
    return `${placeOf(path)}: ${visible(complaint(issue, path))}`
  })
  const unknown = unknownFields(Plan, value).map(
    ({ path, known }) =>
      `${placeOf(path)}: ${visible(nameOf(path))} is no field of a plan: remove it, or correct its name (${known.join(', ')}).`,
  )
  const complaints = [...wrong, ...unknown].slice(0, MAX_COMPLAINTS)
  if (complaints.length > 0 || !parsed.success) throw new Failure(complaints.join('\n'))
  return parsed.output
}

/** Complaints about a value that should be a plan, for the model that wrote it. */
export function complaintsOf(value: unknown): string[] {
  const { issues = [] } = v.safeParse(Plan, value)
  return issues.slice(0, MAX_COMPLAINTS).map(issue =>
    complaint(
      issue,
      (issue.path ?? []).map(({ key }) => key as PropertyKey),
    ),
  )
}

/** Reads a value, refusing nested aliases by which a small file could expand without bound. */
function readValue(read: () => unknown, name: string): unknown {
  try {
    return read()
  } catch {
    throw new Failure(`${name} repeats parts of itself (by & and *) too often: write them out.`)
  }
}

const sentence = (words: string): string => words.split('\n')[0]?.replace(/[.:]$/, '') ?? ''

/** A path of a field with numbers from 1: tasks.1 is the first task. */
function nameOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the plan'
  return path.map(key => (typeof key === 'number' ? String(key + 1) : String(key))).join('.')
}

function complaint(issue: v.BaseIssue<unknown>, path: readonly PropertyKey[]): string {
  const name = nameOf(path)
  const isMissing = issue.received === 'undefined'
  if (isMissing) return `${name} is missing: add it.`
  switch (issue.type) {
    case 'non_empty':
      return `${name} is empty: say something there.`
    case 'max_length':
      return `${name} is too long: it may have at most ${issue.expected?.replace('<=', '')} ${Array.isArray(issue.input) ? 'entries' : 'characters'}.`
    case 'min_length':
      return `${name} has too few entries: it needs at least ${issue.expected?.replace('>=', '')}.`
    case 'min_value':
    case 'max_value':
    case 'integer':
      return `${name} is ${String(issue.input)}, and must be a whole number ${issue.expected ?? ''}`
        .trimEnd()
        .concat('.')
    case 'regex':
      return `${name} ${issue.message}.`
    default:
      return `${name} must be ${inWords(issue.expected ?? 'something else')}, and is ${inWords(issue.received)}.`
  }
}

const WORDS: Record<string, string> = {
  Object: 'a group of fields',
  Array: 'a list',
  string: 'text',
  number: 'a number',
}
const inWords = (type: string): string =>
  type
    .replace(/[()]/g, '')
    .split(/ ?\| ?/)
    .map(it => WORDS[it] ?? it)
    .join(' or ')

// --- Defaults, and fields that are none

/** The default values of a plan's fields. */
const DEFAULTS = {
  seconds: 300,
  never: [],
  context: { files: [], tests: [], documents: [] },
  files: [],
  tests: [],
  documents: [],
  validation: { checks: [], reviews: [] },
  checks: [],
  reviews: [],
  depends_on: [],
  tier: 'generation',
  recursion: 0,
  size: 'medium',
} as const satisfies Record<string, unknown>

function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(
    ([name, inner]) => !(name in DEFAULTS && Bun.deepEquals(inner, DEFAULTS[name as keyof typeof DEFAULTS])),
  )
  return Object.fromEntries(fields.map(([name, inner]) => [name, withoutDefaults(inner)]))
}

type Unknown = { path: PropertyKey[]; known: string[] }

/** Fields that the schema does not have: a mistyped name must not be ignored silently. */
function unknownFields(schema: v.GenericSchema, value: unknown, path: PropertyKey[] = []): Unknown[] {
  const inner = schema as {
    wrapped?: v.GenericSchema
    entries?: Record<string, v.GenericSchema>
    item?: v.GenericSchema
    options?: readonly unknown[]
  }
  if (inner.wrapped) return unknownFields(inner.wrapped, value, path)
  if (inner.item && Array.isArray(value)) {
    const item = inner.item
    return value.flatMap((it, at) => unknownFields(item, it, [...path, at]))
  }
  if (typeof value !== 'object' || value === null) return []
  const options = (inner.options ?? []).filter((it): it is v.GenericSchema => typeof it === 'object' && it !== null)
  if (options.length > 0) {
    const fitting = options.find(it => v.safeParse(it, value).success)
    return fitting ? unknownFields(fitting, value, path) : []
  }
  const { entries } = inner
  if (!entries) return []
  return Object.entries(value).flatMap(([name, it]) => {
    const field = Object.hasOwn(entries, name) ? entries[name] : undefined
    if (field) return unknownFields(field, it, [...path, name])
    return [{ path: [...path, name], known: Object.keys(entries) }]
  })
}
