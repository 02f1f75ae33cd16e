/**
 * Builds the request of a step: reads what it is about, packs it for the window of the tier's model, and gives the
 * bytes to store. The same step always gives the same bytes.
 */
import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { changedFiles, patchOf } from '../../../core/git/diffs.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { visible } from '../../../core/text.ts'
import { tokensIn } from '../../ai/fence.ts'
import { readForgeMd } from '../../ai/forge-md.ts'
import { listedModel } from '../../ai/model-list.ts'
import { ModelError, type Request, type Thinking } from '../../ai/request.ts'
import { providerOf, type Settings } from '../../ai/settings.ts'
import type { Summaries } from '../../ai/summaries.ts'
import type { CodeMap } from '../context/map.ts'
import { mergeWords } from '../context/merge-words.ts'
import { packContext } from '../context/pack.ts'
import type { Oid, Reference, StepInput, StepKind, Tier } from '../contract.ts'
import { lessonsFor, lessonsToName } from '../lessons/choose.ts'
import type { Lesson } from '../lessons/lesson.ts'
import { REVIEWERS } from '../plan/estimate.ts'
import { Plan, type Task } from '../plan/schema.ts'
import type { MergedRun, MergePart } from '../runs/merging.ts'
import type { RunStore } from '../runs/store.ts'
import { type About, PROMPT_VERSIONS } from './prompts.ts'
import { toolsFor } from './tools.ts'

/** The most tokens of an answer by kind, where the window has room for them: a plan or a new file is long. */
const ANSWER_TOKENS: Record<StepKind, number> = {
  plan: 32_000,
  'check plan': 32_000,
  implement: 32_000,
  resolve: 32_000,
  artifact: 16_000,
  outline: 8_000,
  summarise: 8_000,
  extract: 4_000,
  classify: 1_000,
  review: 8_000,
}
/** The thinking effort by tier, where the user has not set it. */
const THINKING: Partial<Record<Tier, Thinking>> = { reasoning: 'high', generation: 'low' }
/** The most tokens for thinking, in addition to the answer. */
const THINKING_TOKENS: Record<Thinking, number> = { low: 4_000, medium: 8_000, high: 16_000, xhigh: 32_000 }
/** At most this many bytes of a diff are shown to a reviewer. */
const MAX_DIFF_BYTES = 400_000
/** Context lines in a diff for a reviewer, as the files themselves are not shown. */
const REVIEW_CONTEXT_LINES = 20

/** A stored request. Its key is the hash of these bytes. */
const StoredRequest = v.object({
  model: v.string(),
  kind: v.string(),
  /** The version of the prompt; undefined in old requests. */
  prompt: v.optional(v.number()),
  attempt: v.number(),
  request: v.custom<Request>(it => typeof it === 'object' && it !== null),
})
export type StoredRequest = v.InferOutput<typeof StoredRequest>

export const parseRequest = (json: unknown): StoredRequest => v.parse(StoredRequest, json)

/**
 * The model of a tier. `choice`: which of several, ordered so that the second one is of another maker where there are
 * two. Throws a {@link ModelError} that says what to set where there is none.
 */
export function modelFor(settings: Settings, tier: Tier, choice: number): string {
  const names = byProvider(settings.modelsOf(tier))
  const name = names[choice % Math.max(names.length, 1)]
  const missing = settings.missing(name)
  if (name === undefined || missing) throw new ModelError('key', missing ?? `No model is set for the tier ${tier}.`)
  if (listedModel(name)?.can.includes('tools') === false)
    throw new ModelError(
      'no such model',
      `${name} can't call tools, by which every step answers: set another model for the tier ${tier}.`,
    )
  return name
}

/** A model's thinking efforts, from low to high. */
const EFFORTS: readonly Thinking[] = ['low', 'medium', 'high', 'xhigh']

/**
 * How much a tier's model is to think: as the user has set it, else by the tier. Undefined for models that are known
 * not to think; one that does not know the effort gets the next lower one that it knows, else its lowest.
 */
export function thinkingFor(settings: Settings, tier: Tier, model: string): Thinking | undefined {
  const wanted = settings.thinking(tier) ?? THINKING[tier]
  if (wanted === undefined || wanted === 'none') return undefined
  const { can, efforts } = listedModel(model) ?? {}
  if (can?.includes('thinking') === false) return undefined
  const known = EFFORTS.filter(effort => efforts?.includes(effort))
  if (known.length === 0) return wanted
  return known.findLast(effort => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(wanted)) ?? known[0]
}

/** The first model of each maker, then the second of each, and so on. */
function byProvider(names: readonly string[]): string[] {
  const groups = [...Map.groupBy(names, makerOf).values()]
  const most = Math.max(0, ...groups.map(group => group.length))
  return Array.from({ length: most }, (_, at) => groups.flatMap(group => group[at] ?? [])).flat()
}

/** The maker of a model, also where it is reached by OpenRouter. */
function makerOf(name: string): string | undefined {
  const provider = providerOf(name)
  return provider === 'openrouter' ? name.split('/')[1] : provider
}

/**
 * How many models of a tier review a result: one, where all are of the same maker, as a second one would add no other
 * opinion.
 */
export const reviewersOf = (settings: Settings, tier: Tier): number =>
  new Set(settings.modelsOf(tier).map(makerOf)).size > 1 ? REVIEWERS : 1

/** A part of a merge, and the merge. */
export type Merging = { merged: MergedRun; part: MergePart }

type RequestSources = {
  objects: Objects
  store: RunStore
  /** The model's name and window. `thinking`: how much it is to think. */
  model: { name: string; window: number; thinking?: Thinking | undefined }
  secrets: readonly string[]
  summaries?: Summaries
  map?: CodeMap
  /** For a review: the commit from which its attempt began. */
  from?: Oid
  /** The part of a merge that the step's task resolves. */
  merging?: Merging | undefined
  /** The lessons that are pinned for the run. */
  lessons?: readonly Lesson[]
}

type BuiltRequest = {
  /** The bytes to store. `key`: their hash. */
  bytes: string
  key: string
  /** The estimated tokens of the request. */
  tokens: number
  leftOut: string[]
  /** The version of the prompt. */
  prompt: number
  /** The lessons that the request contains. */
  lessons: readonly Lesson[]
}

/**
 * Builds the request of a step to its model. Throws a {@link Failure} where a stored text that it needs is gone, or the
 * request is larger than the model's window.
 */
export async function buildRequest(input: StepInput, sources: RequestSources): Promise<BuiltRequest> {
  const { objects, store, model, secrets, summaries, map, from, merging, lessons: pinned = [] } = sources
  const { kind, attempt, depth, base } = input
  const tree = (await objects.info(`${base}^{tree}`))?.oid
  if (!tree) throw new Failure(`The commit ${base.slice(0, 12)} is not in this repository any more.`)
  const { plan, task, about, files } = await gatherAbout(input, store)
  const changed = from === undefined ? [] : (await changedFiles(objects.repository, from, base)).flat()
  if (merging) about.push({ kind: 'conflict', text: await mergeWords(objects, merging.merged, merging.part) })
  if (from !== undefined) about.push({ kind: 'diff', text: await changeSince(objects, from, base) })
  const lessons = lessonsFor({ kind, tier: input.tier, task, texts: about.map(({ text }) => text) }, pinned)
  const { thinking } = model
  const wanted = ANSWER_TOKENS[kind] + (thinking ? THINKING_TOKENS[thinking] : 0)
  const longest = listedModel(model.name)?.output ?? wanted
  const output = Math.max(1024, Math.min(wanted, longest, Math.floor(model.window / 4)))
  const subAgents = depth > 0 && (kind === 'implement' || kind === 'artifact')
  const tools = toolsFor(kind, { subAgents })
  const { system, messages, leftOut, hasLessons } = await packContext({
    objects,
    tree: base,
    kind,
    plan,
    task,
    about,
    lessons,
    lessonsToName: lessonsToName(input, pinned),
    files,
    whole: await namedFiles(objects, tree, about),
    changed,
    subAgents,
    // The checks of a merge run on the whole of it, not on a part.
    forgeMd: merging
      ? { ...(await readForgeMd(objects, merging.merged.ours)), checks: [] }
      : await readForgeMd(objects, base),
    window: model.window,
    output,
    tools,
    summaries,
    map,
    secrets,
  })
  const request: Request = { tools, system, messages, output, mustCall: true, ...(thinking && { thinking }) }
  const prompt = PROMPT_VERSIONS[kind]
  const bytes = JSON.stringify({ model: model.name, kind, prompt, attempt, request } satisfies StoredRequest)
  const key = createHash('sha256').update(bytes).digest('hex')
  const tokens = tokensIn(JSON.stringify([tools, system, messages]))
  return { bytes, key, tokens, leftOut, prompt, lessons: hasLessons ? lessons : [] }
}

type Gathered = { plan?: Plan; task?: Task; about: About[]; files: string[] }

/**
 * Reads the texts that a step is about. For a step of a task, the first plan among them is taken as the plan that the
 * task is part of; for any other step, a plan is a text like the others.
 */
async function gatherAbout(input: StepInput, store: RunStore): Promise<Gathered> {
  const gathered: Gathered = { about: [], files: [] }
  for (const reference of await flattened(input.about, store)) {
    // A review judges the change as it is, without reports of earlier attempts.
    if (reference.kind === 'report' && input.kind === 'review') continue
    const text = await store.readText(reference)
    if (reference.kind === 'plan' && input.task !== undefined && !gathered.plan) {
      const plan = v.parse(Plan, JSON.parse(text))
      const task = plan.tasks.find(({ id }) => id === input.task)
      if (!task) throw new Failure(`The plan has no task ${visible(input.task)}.`)
      Object.assign(gathered, { plan, task })
      continue
    }
    const { words, files } = keptWords(reference, text)
    gathered.about.push({ kind: reference.kind, text: words })
    gathered.files.push(...files)
  }
  return gathered
}

const References = v.array(v.object({ kind: v.string(), oid: v.string() }))

/** Replaces each reference to a list of sub-agents' findings by the references in that list. */
async function flattened(about: readonly Reference[], store: RunStore): Promise<Reference[]> {
  const all = about.map(async reference =>
    reference.kind === 'found' ? v.parse(References, await store.readJson(reference)) : [reference],
  )
  return (await Promise.all(all)).flat()
}

const WithFiles = v.object({ text: v.string(), files: v.optional(v.array(v.string()), []) })
const WithWords = v.looseObject({
  signal: v.string(),
  words: v.string(),
  answers: v.optional(v.array(v.object({ question: v.string(), answer: v.string(), why: v.string() })), []),
  findings: v.optional(v.array(v.object({ path: v.optional(v.string()), says: v.string() })), []),
  discovered: v.optional(v.array(v.object({ title: v.string(), why: v.string() })), []),
})

/** Kinds of texts that are always plain text: JSON of a person or a model must not be taken for this program's own. */
const PLAIN: readonly string[] = [
  ...['plan', 'wish', 'answer', 'question', 'artifact', 'report', 'complaints'],
  ...['failures', 'asked and answered', 'lessons kept', 'unclear'],
]

/** A stored text in readable form: of JSON, the sentences in it. */
export function keptWords({ kind }: Pick<Reference, 'kind'>, text: string): { words: string; files: string[] } {
  if (PLAIN.includes(kind) || !/^\s*\{/.test(text)) return { words: text, files: [] }
  const json = jsonOf(text)
  const texts = v.safeParse(WithFiles, json)
  if (texts.success) return { words: texts.output.text, files: texts.output.files }
  const answer = v.safeParse(WithWords, json)
  if (!answer.success) return { words: text, files: [] }
  const { words, answers, findings, discovered } = answer.output
  const said = answers.filter(it => it.answer !== 'fine').map(it => `- ${it.question}, ${it.answer}: ${it.why}`)
  const found = findings.map(({ path, says }) => `- ${path === undefined ? '' : `${path}: `}${says}`)
  const tasks = discovered.map(({ title, why }) => `- ${title}: ${why}`)
  return { words: [words, ...said, ...found, ...tasks].join('\n'), files: [] }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** At most this many files are added to a request because an answer of the user or a failure report names them. */
const MAX_NAMED = 20
/** A path in a text: with a slash or an extension, without punctuation around it. */
const PATH = /[\w@.+-]+(?:\/[\w@.+-]+)+|[\w@+-]+\.[A-Za-z]\w{0,9}/g

/** Existing files that are named in the user's answer or in a failure report: the next attempt needs them. */
async function namedFiles(objects: Objects, tree: Oid, about: readonly About[]): Promise<string[]> {
  const texts = about.filter(({ kind }) => kind === 'answer' || kind === 'report' || kind === 'complaints')
  const words = texts.flatMap(({ text }) => text.match(PATH) ?? [])
  const paths = [...new Set(words.map(path => path.replace(/^\.\//, '').replace(/\.+$/, '')))].slice(0, 10 * MAX_NAMED)
  const there: string[] = []
  for (const path of paths) {
    if (there.length === MAX_NAMED) break
    const entry = await entryAt(objects, tree, path).catch(() => undefined)
    if (entry?.mode.startsWith('100')) there.push(path)
  }
  return there
}

/** The diff for a reviewer, cut where it is very long. */
async function changeSince(objects: Objects, from: Oid, to: Oid): Promise<string> {
  const patch = await patchOf(objects.repository, from, to, {
    context: REVIEW_CONTEXT_LINES,
    limit: MAX_DIFF_BYTES,
    biggestFile: '512k',
  })
  const text = Buffer.from(patch.text, 'latin1')
    .toString()
    // Blob ids say nothing to a reader.
    .replace(/^index .*\n/gm, '')
  return patch.cut ? `${text}\n(It is longer: the rest is left out here.)` : text
}
