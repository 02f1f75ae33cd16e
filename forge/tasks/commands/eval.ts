/**
 * `forge eval`: sends stored requests of runs again, to other models or with the present prompts, and judges the
 * answers.
 */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { openState } from '../../../core/state.ts'
import { many, visible } from '../../../core/text.ts'
import { withCost } from '../../ai/price.ts'
import { openModel } from '../../ai/providers.ts'
import { type Model, ModelError } from '../../ai/request.ts'
import { blackOut } from '../../ai/secrets.ts'
import { readSettings, type Settings, TIERS, type Tier } from '../../ai/settings.ts'
import { Slots } from '../checks/slots.ts'
import { validate } from '../checks/validate.ts'
import type { RunId } from '../contract.ts'
import { type Asking, askingOf } from '../evaluation/ask.ts'
import { type JudgeMeans, judgeAnswer } from '../evaluation/judge.ts'
import { type KeptRequest, keptRequests } from '../evaluation/kept.ts'
import { type EvaluationResult, evaluationTable, keepResult, readResults, rowsOf } from '../evaluation/results.ts'
import { listRuns } from '../runs/folder.ts'
import { missingPrice, priceOf, requestEstimateOf } from '../runs/prices.ts'
import { ANSWERS } from '../steps/answers.ts'
import { personAt, readUser } from '../steps/commits.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { openNetwork } from './network.ts'
import { count, dollars, parse, wrong } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'

const USAGE =
  'forge eval [RUN …] [--model NAME …] [--tier TIER] [--prompt] [--kind KIND …] [--samples N] [--budget DOLLARS] [--no-check] [--json]'

export const HELP = `${USAGE}

Asks the requests that earlier runs have kept once more, and judges the answers as the first ones were judged: whether
they can be read, whether their edits can be made, whether the linter takes their plan, and, for tasks that are done in
one step, whether their checks pass in the container. Prints a table by kind, model and version of the prompt, with the
number of samples; the models of the runs themselves are in it. Without --model, --tier and --prompt it asks nothing,
and shows the results so far. Planners see the same table.

  RUN           only requests of these runs (default: of all, the newest first)
  --model NAME  ask this model; may be repeated
  --tier TIER   ask the models of this tier: ${TIERS.join(', ')}
  --prompt      with the prompts as they are now, where a request has an older version
  --kind KIND   only steps of this kind; may be repeated: ${Object.keys(ANSWERS).join(', ')}
  --samples N   at most so many requests of a kind for each model (default 20)
  --budget D    spend at most so many US dollars (default 1.00)
  --no-check    do not run checks in the container
  --json        as JSON, one object for each row`

const DEFAULTS = { samples: 20, budget: 1 }
/** At most this many requests are sent at the same time. */
const ASKED_AT_ONCE = 4
/** After this many failures to answer, a model is asked nothing more. */
const MAX_FAILURES = 3

const OPTIONS = {
  model: { type: 'string', multiple: true },
  tier: { type: 'string' },
  prompt: { type: 'boolean' },
  kind: { type: 'string', multiple: true },
  samples: { type: 'string' },
  budget: { type: 'string' },
  'no-check': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [0, 1000] })
  const { kind: kinds = [], prompt: isNow = false } = values
  const unknown = kinds.find(kind => !Object.hasOwn(ANSWERS, kind))
  if (unknown !== undefined) throw wrong(`${visible(unknown)} is no kind of step`, USAGE)
  const samples = count(values.samples, '--samples') ?? DEFAULTS.samples
  const budget = dollars(values.budget, '--budget') ?? DEFAULTS.budget
  const settings = await readSettings(context.env)
  const names = namesFrom(settings, values.model ?? [], values.tier)
  await using place = await openPlace(context)
  const runs = await runsOf(place, positionals, context)
  if (names.length > 0 || isNow) {
    const requests = await chosenRequests(place, runs, { kinds, samples })
    if (requests.length === 0) throw new Failure(NOTHING)
    await evaluate(place, requests, { names, isNow, budget, isChecked: !values['no-check'], settings }, context)
  }
  const all = await readResults(place.objects)
  const shown = all.filter(it => positionals.length === 0 || runs.includes(it.run))
  const rows = rowsOf(shown.filter(it => kinds.length === 0 || kinds.includes(it.kind)))
  if (values.json) for (const row of rows) context.out(JSON.stringify(row))
  else for (const line of rows.length > 0 ? evaluationTable(rows) : [NOTHING_YET]) context.out(line)
  return EXIT.done
}

const NOTHING = 'No run here has kept a request that can be judged again: runs keep them from this version of Forge on.'
const NOTHING_YET = 'Nothing is evaluated in this repository yet: forge eval --model NAME asks kept requests again.'

function namesFrom(settings: Settings, models: readonly string[], tier: string | undefined): string[] {
  const isTier = (name: string): name is Tier => TIERS.some(it => it === name)
  if (tier !== undefined && !isTier(tier)) throw wrong(`${visible(tier)} is no tier`, USAGE)
  const names = [...new Set([...models, ...(tier === undefined ? [] : settings.modelsOf(tier))])]
  for (const name of names) {
    const missing = settings.missing(name)
    if (missing !== undefined) throw new Failure(missing)
  }
  return names
}

async function runsOf(place: RunPlace, words: readonly string[], context: CommandContext): Promise<RunId[]> {
  if (words.length > 0) return await Promise.all(words.map(word => findRun(place, word, context)))
  const found = await listRuns(place.repository, context.env)
  return found.filter(({ isInGit }) => isInGit).map(({ run }) => run)
}

/** The stored requests of some runs, at most a given number of each kind of step. */
async function chosenRequests(
  { objects }: RunPlace,
  runs: readonly RunId[],
  { kinds, samples }: { kinds: readonly string[]; samples: number },
): Promise<KeptRequest[]> {
  const chosen: KeptRequest[] = []
  const counts = new Map<string, number>()
  for (const run of runs) {
    for (const kept of await keptRequests(objects, run)) {
      const before = counts.get(kept.kind) ?? 0
      if (before >= samples || (kinds.length > 0 && !kinds.includes(kept.kind))) continue
      counts.set(kept.kind, before + 1)
      chosen.push(kept)
    }
  }
  return chosen
}

type Wanted = { names: readonly string[]; isNow: boolean; budget: number; isChecked: boolean; settings: Settings }

async function evaluate(
  place: RunPlace,
  requests: readonly KeptRequest[],
  { names, isNow, budget, isChecked, settings }: Wanted,
  context: CommandContext,
): Promise<void> {
  const { objects, repository } = place
  const { signal, err, env } = context
  const known = new Set((await readResults(objects)).map(({ key }) => key))
  const models = new Map<string, Model>()
  for (const name of names.length > 0 ? names : new Set(requests.map(({ answer }) => answer.model)))
    models.set(name, await openModel(name, settings))
  const price = missingPrice([...models.keys()], settings, { cost: budget, depth: 0 })
  if (price) throw new Failure(price)
  await using slots = new Slots(repository, await openState(repository, env))
  const who = personAt(await readUser(repository), Math.floor(Date.now() / 1000))
  const judging = async (kept: KeptRequest): Promise<JudgeMeans> => {
    const check = isChecked ? await checkOf(place, kept, { slots, settings }, context) : undefined
    return { objects, signal, who, ...(check && { check }) }
  }
  for (const kept of requests.filter(({ key }) => !known.has(key))) {
    const { usage, model, prompt = 0 } = kept.answer
    const judged = await judgeAnswer(kept, kept.answer, await judging(kept))
    await keepResult(objects, resultOf(kept, { key: kept.key, model, prompt, usage, judged }))
  }
  const asked = requests.flatMap(kept =>
    [...models.values()]
      .filter(model => names.length > 0 || model.name === kept.answer.model)
      .flatMap(model => askingOf(kept, model, settings, { isNow }) ?? [])
      .filter(({ key, stored }) => !known.has(key) && !isAsBefore(kept, stored)),
  )
  const spending = new Spending(budget)
  const failures = new Map<string, number>()
  const ask = async (asking: Asking): Promise<void> => {
    const { kept, stored, key, input } = asking
    const model = models.get(stored.model)
    if (!model || (failures.get(stored.model) ?? 0) >= MAX_FAILURES) return
    const rates = priceOf(stored.model, settings)
    const most = requestEstimateOf({ input, output: stored.request.output }, rates).cost
    if (!spending.reserve(most)) return
    const begun = performance.now()
    let cost = most
    try {
      const answer = await model.ask(stored.request, { signal, onProgress: () => undefined })
      const seconds = (performance.now() - begun) / 1000
      const usage = withCost(answer.usage, rates)
      cost = usage.cost ?? 0
      const judged = await judgeAnswer(kept, answer, await judging(kept))
      const { prompt = 0 } = stored
      await keepResult(objects, resultOf(kept, { key, model: stored.model, prompt, usage, judged, seconds }))
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      failures.set(stored.model, (failures.get(stored.model) ?? 0) + 1)
      err(`${visible(stored.model)} did not answer a request of ${kept.step}: ${error.inRun}`)
    } finally {
      spending.settle(most, cost)
    }
  }
  const waiting = [...asked]
  const askOn = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await ask(next)
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askOn))
  if (spending.refused > 0)
    err(
      `${many(spending.refused, 'request')} of ${asked.length} were not sent, since the budget of ` +
        `$${budget.toFixed(2)} might not have been enough ($${spending.spent.toFixed(4)} is spent): --budget sets another.`,
    )
}

/** Whether the request to send equals the stored one, whose answer exists already. */
const isAsBefore = (kept: KeptRequest, { model, request }: Asking['stored']): boolean =>
  model === kept.stored.model && JSON.stringify(sorted(request)) === JSON.stringify(sorted(kept.stored.request))

const sorted = (request: object) => Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1))

/** What an evaluation may still spend, in US dollars: what a request may cost is set aside before it is sent. */
class Spending {
  spent = 0
  refused = 0
  #reserved = 0

  constructor(private readonly budget: number) {}

  reserve(most: number): boolean {
    if (this.spent + this.#reserved + most > this.budget) {
      this.refused++
      return false
    }
    this.#reserved += most
    return true
  }

  settle(most: number, cost: number): void {
    this.#reserved -= most
    this.spent += cost
  }
}

type Answered = Pick<EvaluationResult, 'key' | 'model' | 'prompt' | 'seconds'> & {
  usage: { input: number; output: number; cost?: number }
  judged: Awaited<ReturnType<typeof judgeAnswer>>
}

function resultOf(kept: KeptRequest, { usage, judged, seconds, ...asked }: Answered): EvaluationResult {
  const { run, step, kind, tier, domain } = kept
  const { input, output, cost } = usage
  return {
    ...asked,
    of: kept.key,
    ...{ run, step, kind, tier, input, output },
    ...judged,
    ...(domain && { domain }),
    ...(cost !== undefined && { cost }),
    ...(seconds !== undefined && { seconds }),
  }
}

type CheckMeans = { slots: Slots; settings: Settings }

/** Runs a task's checks in the container, as far as the user has approved their commands for that run. */
async function checkOf(
  place: RunPlace,
  { run }: KeptRequest,
  { slots, settings }: CheckMeans,
  context: CommandContext,
): Promise<NonNullable<JudgeMeans['check']>> {
  const approved = openApproved(place, run, context)
  const hasNetwork = await (await openNetwork(place, context)).isGiven()
  const store = openStore(place, run)
  return async attempt => {
    const { isGood, words, question } = await validate(
      {
        objects: place.objects,
        slots,
        keep: (kind, text) => store.put(kind, blackOut(text, settings.secrets)),
        commitMended: async head => head,
        unapproved: all => approved.missing(all),
        hasNetwork,
        signal: context.signal,
        onProgress: () => undefined,
      },
      attempt,
    )
    if (!question) return { isGood, words }
    context.err(`The checks of ${visible(attempt.task.id)} were not run: ${words}`)
    return undefined
  }
}
