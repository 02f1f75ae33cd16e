/**
 * The request of a step: what it is about is gathered, packed to the window of the model that its tier means, and
 * written down as it will be sent. The same step gives the same bytes, whenever it is asked for.
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
import { ModelError, type Request, type Thinking } from '../../ai/request.ts'
import { providerOf, type Settings } from '../../ai/settings.ts'
import type { Summaries } from '../../ai/summaries.ts'
import type { CodeMap } from '../context/map.ts'
import { packContext } from '../context/pack.ts'
import type { Oid, Reference, StepInput, StepKind, Tier } from '../contract.ts'
import { REVIEWERS } from '../plan/estimate.ts'
import { Plan, type Task } from '../plan/schema.ts'
import type { RunStore } from '../runs/store.ts'
import { type About, PROMPT_VERSIONS } from './prompts.ts'
import { toolsFor } from './tools.ts'

/** Tokens that an answer of each kind may have, where the window has room for them: a plan or a new file is long. */
const ANSWER_TOKENS: Record<StepKind, number> = {
  plan: 32_000,
  'check plan': 32_000,
  implement: 32_000,
  resolve: 32_000,
  artifact: 16_000,
  outline: 8_000,
  summarise: 8_000,
  review: 8_000,
}
/** How much the models of a tier think before they answer, where they can. */
const THINKING: Partial<Record<Tier, Thinking>> = { reasoning: 'high', generation: 'low' }
/** Tokens that thoughts may have on top of an answer. */
const THINKING_TOKENS: Record<Thinking, number> = { low: 4_000, medium: 8_000, high: 16_000 }
/** Bytes of a change that a reviewer sees. */
const MAX_DIFF_BYTES = 400_000
/** Lines around each change that a reviewer sees: the files themselves are not shown to it. */
const REVIEW_CONTEXT_LINES = 20

/** A request as it is kept: its key is the hash of these bytes. */
const StoredRequest = v.object({
  model: v.string(),
  kind: v.string(),
  /** The version of the prompt; what was kept before there were versions has none. */
  prompt: v.optional(v.number()),
  attempt: v.number(),
  request: v.custom<Request>(it => typeof it === 'object' && it !== null),
})
export type StoredRequest = v.InferOutput<typeof StoredRequest>

export const parseRequest = (json: unknown): StoredRequest => v.parse(StoredRequest, json)

/**
 * The model that a tier means; of several, `choice` goes through their makers first, so that a second one is another
 * maker's where there are two. Throws a {@link ModelError} that says what to set where there is none.
 */
export function modelFor(settings: Settings, tier: Tier, choice: number): string {
  const names = byProvider(settings.modelsOf(tier))
  const name = names[choice % Math.max(names.length, 1)]
  const missing = settings.missing(name)
  if (name === undefined || missing) throw new ModelError('key', missing ?? `No model is set for the tier ${tier}.`)
  return name
}

/** The first of each maker, then the second of each, and so on. */
function byProvider(names: readonly string[]): string[] {
  const groups = [...Map.groupBy(names, makerOf).values()]
  const most = Math.max(0, ...groups.map(group => group.length))
  return Array.from({ length: most }, (_, at) => groups.flatMap(group => group[at] ?? [])).flat()
}

/** Whose a model is, also where OpenRouter only passes it on. */
function makerOf(name: string): string | undefined {
  const provider = providerOf(name)
  return provider === 'openrouter' ? name.split('/')[1] : provider
}

/**
 * How many models of a tier are asked about a result: where all of them are of one maker, a second one would add no
 * opinion of its own.
 */
export const reviewersOf = (settings: Settings, tier: Tier): number =>
  new Set(settings.modelsOf(tier).map(makerOf)).size > 1 ? REVIEWERS : 1

type RequestSources = {
  objects: Objects
  store: RunStore
  /** The model's name and window. */
  model: { name: string; window: number }
  secrets: readonly string[]
  summaries?: Summaries
  map?: CodeMap
  /** For a review: the commit from which its attempt began. */
  from?: Oid
}

type BuiltRequest = {
  /** What is kept, and its hash. */
  bytes: string
  key: string
  /** An estimate of the tokens that will be sent. */
  tokens: number
  leftOut: string[]
  /** The version of its prompt. */
  prompt: number
}

/** Builds the request of a step. Throws a {@link Failure} where what it is about is gone, or larger than the window. */
export async function buildRequest(input: StepInput, sources: RequestSources): Promise<BuiltRequest> {
  const { objects, store, model, secrets, summaries, map, from } = sources
  const { kind, attempt, depth, base } = input
  const tree = (await objects.info(`${base}^{tree}`))?.oid
  if (!tree) throw new Failure(`The commit ${base.slice(0, 12)} is not in this repository any more.`)
  const { plan, task, about, files } = await gatherAbout(input, store)
  const changed = from === undefined ? [] : (await changedFiles(objects.repository, from, base)).flat()
  if (from !== undefined) about.push({ kind: 'diff', text: await changeSince(objects, from, base) })
  const thinking = THINKING[input.tier]
  const wanted = ANSWER_TOKENS[kind] + (thinking ? THINKING_TOKENS[thinking] : 0)
  const output = Math.max(1024, Math.min(wanted, Math.floor(model.window / 4)))
  const subAgents = depth > 0 && (kind === 'implement' || kind === 'artifact')
  const tools = toolsFor(kind, { subAgents })
  const { system, messages, leftOut } = await packContext({
    objects,
    tree: base,
    kind,
    plan,
    task,
    about,
    files,
    whole: await namedFiles(objects, tree, about),
    changed,
    subAgents,
    forgeMd: await readForgeMd(objects, base),
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
  return { bytes, key, tokens: tokensIn(JSON.stringify([tools, system, messages])), leftOut, prompt }
}

type Gathered = { plan?: Plan; task?: Task; about: About[]; files: string[] }

/** What a step is about, read. A task's plan is what it is a part of; without a task, it is a text like any other. */
async function gatherAbout(input: StepInput, store: RunStore): Promise<Gathered> {
  const gathered: Gathered = { about: [], files: [] }
  for (const reference of await flattened(input.about, store)) {
    // A review judges the change as it is: what an earlier attempt did wrong is not its matter.
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

/** References with those in lists of what sub-agents have found, in the lists' place. */
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

/** What is a text whatever it looks like: a person's or a model's JSON is not taken for what is written down here. */
const PLAIN: readonly string[] = ['plan', 'wish', 'answer', 'question', 'artifact', 'report', 'complaints']

/** A kept text in readable form: of JSON, the words. */
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

/** Files that a person or a failure report names, at most. */
const MAX_NAMED = 20
/** A path in a text: with a slash or an ending, without what punctuation adds. */
const PATH = /[\w@.+-]+(?:\/[\w@.+-]+)+|[\w@+-]+\.[A-Za-z]\w{0,9}/g

/** Files of the tree that are named in a person's answer or in a failure report: the next attempt needs them. */
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

/** What a reviewer looks at: a patch, cut where it is very long. */
async function changeSince(objects: Objects, from: Oid, to: Oid): Promise<string> {
  const patch = await patchOf(objects.repository, from, to, {
    context: REVIEW_CONTEXT_LINES,
    limit: MAX_DIFF_BYTES,
    biggestFile: '512k',
  })
  const text = Buffer.from(patch.text, 'latin1')
    .toString()
    // Ids of blobs say nothing to a reader.
    .replace(/^index .*\n/gm, '')
  return patch.cut ? `${text}\n(It is longer: the rest is left out here.)` : text
}
