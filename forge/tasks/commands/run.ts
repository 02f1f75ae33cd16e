/** `forge run`: a wish becomes a plan, the plan becomes tasks, and their checked results become a branch. */
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { whyFull } from '../../../core/full-disk.ts'
import { readHead } from '../../../core/git/refs.ts'
import { asText, fields, type Repository } from '../../../core/git/repository.ts'
import { read, run as runGit } from '../../../core/git/run.ts'
import { openState } from '../../../core/state.ts'
import { many, short, visible, visiblePath } from '../../../core/text.ts'
import { hasBatches } from '../../ai/batches/services.ts'
import { whyNoContainer } from '../../ai/closed-container.ts'
import { blackOut } from '../../ai/secrets.ts'
import { providerOf, readSettings, type Settings, TIERS } from '../../ai/settings.ts'
import { CodeReader } from '../../code/reader.ts'
import type { StartedRun } from '../../formats/tasks-json.ts'
import { wishedInWords } from '../context/wished.ts'
import type { Limits, Oid, RunId, RunInput, RunStatus, TierModels } from '../contract.ts'
import { loadClient } from '../engine/engine.ts'
import type { Plan } from '../plan/schema.ts'
import { newRunId, openRunFolder, runsFolder } from '../runs/folder.ts'
import { readPlan } from '../runs/plans.ts'
import { usualLimits } from '../runs/prices.ts'
import { pruneRun } from '../runs/pruning.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { follow } from './follow.ts'
import { settleNetwork } from './network.ts'
import { count, dollars, parse, wrong } from './options.ts'
import { openPlace, openStore, type RunPlace } from './place.ts'
import { openRunServer } from './server.ts'

const USAGE =
  'forge run TASK.md|PLAN|"text" [--base BRANCH] [--plan|--detach] [--yes] [--batch] [--model TIER=NAME] [--budget DOLLARS] [--at-most N]'

export const HELP = `${USAGE}

Plans a large piece of work, asks you, works, checks, and leaves a branch that only you merge (forge land).

  TASK.md, "text"     what you want, as a file or in quotes
  PLAN                a plan that forge run --plan has written, and you may have edited: known by its content
  --base BRANCH       where it starts (default: the branch that is checked out)
  --plan              stop at the plan, and write it to a file
  --detach            start it, print its name and end: the plan waits for forge approve, or for you on the desk
  --json              with --detach: print the name and the warnings as one line of JSON
  --yes               approve the plan and its commands as they come
  --batch             send the requests of the work in batches: at half the price, but an answer may take a day;
                      the planning goes on at once (FORGE_BATCH=1 does the same)
  --batch-all         the planning in batches, too (FORGE_BATCH=all)
  --no-batch          send all now, whatever FORGE_BATCH says
  --budget DOLLARS    what all requests together may cost (default: 5.00 where prices are known)
  --requests N        how many requests may be sent (default: 200 where prices are not known)
  --minutes N         how long it may work
  --at-most N         tasks at the same time (default: 4)
  --model TIER=NAME   the model of a tier for this run, or several with commas; once for each tier
  --network           let all checks of this repository reach the network, from now on; asks first
  --no-network        take that back

Ctrl-C leaves it alone: the run goes on, and forge attach shows it again.

Exit codes
  0  done, or left alone        1  it failed           2  out of budget or time
  4  it waits for you           64 wrong usage`

/** Default limits of a run. `tasks`: as many as a plan can have (plan/schema.ts). */
const DEFAULT_LIMITS = { tasks: 1000, depth: 3, atMost: 4 }
/** Longer wishes, in bytes, are refused: long documents belong into the repository. */
const MAX_WISH_BYTES = 256 << 10
/** The size of the file that shows whether there is room on the disk of a run's folder. */
const VERIFIED_BYTES = 64 << 10

/** The options that limit a run, for each command that begins one. */
export const LIMIT_OPTIONS = {
  budget: { type: 'string' },
  requests: { type: 'string' },
  minutes: { type: 'string' },
  'at-most': { type: 'string' },
} as const

const OPTIONS = {
  base: { type: 'string' },
  plan: { type: 'boolean' },
  detach: { type: 'boolean' },
  json: { type: 'boolean' },
  yes: { type: 'boolean' },
  ...LIMIT_OPTIONS,
  batch: { type: 'boolean' },
  'batch-all': { type: 'boolean' },
  'no-batch': { type: 'boolean' },
  model: { type: 'string', multiple: true },
  network: { type: 'boolean' },
  'no-network': { type: 'boolean' },
} as const

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: OPTIONS, usage: USAGE, words: [1, 1] })
  if (values.plan && values.detach) throw wrong('Either --plan or --detach', USAGE)
  if (values.json && !values.detach) throw wrong('--json needs --detach', USAGE)
  if (!context.isTerminal && !values.yes && !values.plan && !values.detach)
    throw new Failure('There is no terminal to ask on: use --yes, --plan or --detach.', EXIT.usage)
  if (values.network && values['no-network']) throw wrong('Either --network or --no-network', USAGE)
  if (values['no-batch'] && (values.batch || values['batch-all'])) throw wrong('Either --batch or --no-batch', USAGE)
  const models = modelsFrom(values.model ?? [])
  const checking = verifyCanWork(context, values.plan === true, models)
  checking.catch(() => undefined)
  await using place = await openPlace(context)
  const base = await findBase(place, values.base)
  const wish = await readWish(positionals[0] ?? '', context)
  // Git and docker work in processes of their own while the client is loaded, which takes this one a fifth of a second.
  using code = new CodeReader(place.objects, await openState(place.repository, context.env))
  const searching = wishedInWords(code, base, wish.text).catch(() => '')
  loadClient().catch(() => undefined)
  const settings = await checking
  const isSure = values.yes === true
  if (values.network) await settleNetwork(place, { wish: 'give', isSure }, context)
  if (values['no-network']) await settleNetwork(place, { wish: 'take back', isSure }, context)
  // The program that reads the JSON shows the warnings, too.
  const notes: string[] = []
  const warned = values.json ? { ...context, err: (words: string) => void notes.push(words) } : context
  const options = { ...runOptionsFrom(base, { values, settings }, warned), ...(models && { models }) }
  if (values.base === undefined || (values.detach && (await readHead(place.repository)).oid === base))
    await sayUncommitted(place, { base, word: positionals[0] ?? '' }, warned)
  const detached = values.detach && { json: values.json, notes }
  const wished = searching.then(text => blackOut(text, settings.secrets))
  return await beginRun(place, { wish, wished, options, ...(detached && { detached }) }, context)
}

/** What is known of a run before its wish and its plan are stored. */
type RunOptions = Omit<RunInput, 'run' | 'wish' | 'wished' | 'plan'>
/** The options of a command that begins a run. */
type RunValues = Values & BatchValues & { yes?: boolean; plan?: boolean; 'at-most'?: string }

/**
 * Reads limits and choices of a run. Throws a {@link Failure} where one is no number.
 */
export function runOptionsFrom(
  base: Oid,
  { values, settings }: { values: RunValues; settings: Settings },
  context: CommandContext,
): RunOptions {
  return {
    base,
    limits: limitsFrom(values, settings, context),
    isApproved: values.yes === true,
    onlyPlan: values.plan === true,
    ...batchFrom(values, settings, context),
    atMost: count(values['at-most'], '--at-most') ?? DEFAULT_LIMITS.atMost,
  }
}

type Beginning = {
  wish: Wish
  /** What the repository has on the words of the wish. Never rejects. */
  wished?: Promise<string>
  options: RunOptions
  /** Where the run is not followed. `json`: its name and the warnings are printed as JSON. */
  detached?: { json: boolean | undefined; notes: string[] }
}

/** Begins a run and, unless it is detached, follows it. Gives the exit code. Throws a {@link Failure} if it can't. */
export async function beginRun(
  place: RunPlace,
  { wish, wished, options, detached }: Beginning,
  context: CommandContext,
): Promise<ExitCode> {
  const run = newRunId(wish.plan?.title ?? wish.text, new Date())
  // Git and ssh-keygen store and sign the run while this process connects to the server.
  const preparing = prepare(place, run, { wish, ...(wished && { wished }), options }, context)
  preparing.catch(() => undefined)
  await using server = await openRunServer(place, context, { start: true }).catch(async error => {
    await preparing.then(
      () => forget(place, run, context),
      () => undefined,
    )
    throw error
  })
  const input = await preparing
  if (!detached?.json) context.err(`Run ${run}`)
  await server.submit(input)
  if (detached) {
    const { json, notes } = detached
    context.out(json ? JSON.stringify({ run, notes } satisfies StartedRun) : sayStarted(run, options.isApproved))
    return EXIT.done
  }
  const code = await follow({
    server,
    store: openStore(place, run),
    run,
    context,
    // Loaded only here, as it needs most of the tasks: the first request does not wait for that.
    approve: async plan => (await import('./approval.ts')).approvePlan(place, { run, plan }, context),
  })
  if (options.onlyPlan && code === EXIT.done) await writePlan(place, await server.status(run), context)
  return code
}

const sayStarted = (run: RunId, isApproved: boolean): string =>
  isApproved
    ? `Started: forge attach ${run} shows it, forge stop ${run} ends it.`
    : `Started: its plan will wait for you. forge attach ${run} shows it and asks, forge stop ${run} ends it.`

/** Reads `TIER=NAME[,NAME …]`. Undefined where nothing is chosen. Throws a {@link Failure} of wrong usage. */
function modelsFrom(given: readonly string[]): TierModels | undefined {
  if (given.length === 0) return undefined
  const models: TierModels = {}
  for (const text of given) {
    const [, word = '', list = ''] = /^([a-z]+)=(.+)$/.exec(text) ?? []
    const tier = TIERS.find(it => it === word)
    const names = list.split(',').map(name => name.trim())
    if (!tier || models[tier] || !names.every(name => providerOf(name) !== undefined))
      throw new Failure(
        `--model wants a tier (${TIERS.join(', ')}), each once, and a model's name: generation=openai/NAME.`,
        EXIT.usage,
      )
    models[tier] = [...new Set(names)]
  }
  return models
}

type BatchValues = { batch?: boolean; 'batch-all'?: boolean; 'no-batch'?: boolean }

/** Which requests are sent in batches. Says so where a model's provider has none. */
function batchFrom(values: BatchValues, settings: Settings, { err }: CommandContext): Pick<RunInput, 'batch'> {
  const given = values['batch-all'] ? 'all' : values.batch ? 'work' : undefined
  const asked = given ?? settings.batch.sends
  if (values['no-batch'] || !asked) return {}
  const models = new Set(TIERS.flatMap(tier => settings.modelsOf(tier)))
  const without = [...models].filter(model => !hasBatches(model, settings))
  if (without.length > 0) err(`Requests to ${without.join(', ')} are sent now: there are no batches for them.`)
  return without.length === models.size ? {} : { batch: asked }
}

type Values = Partial<Record<'budget' | 'requests' | 'minutes', string>>

function limitsFrom(values: Values, settings: Settings, { err }: CommandContext): Limits {
  const cost = dollars(values.budget, '--budget')
  const requests = count(values.requests, '--requests')
  const minutes = count(values.minutes, '--minutes')
  const given = { ...(cost !== undefined && { cost }), ...(requests !== undefined && { requests }) }
  const models = TIERS.flatMap(tier => settings.modelsOf(tier))
  const { limits, words } = usualLimits(given, models, settings)
  if (words !== undefined) err(words)
  return {
    ...limits,
    ...(minutes !== undefined && { minutes }),
    tasks: DEFAULT_LIMITS.tasks,
    depth: DEFAULT_LIMITS.depth,
  }
}

async function findBase({ repository }: RunPlace, name: string | undefined): Promise<Oid> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name ?? 'HEAD'}^{commit}`]
  const found = await read(repository, args, { ok: [0, 1, 128] })
  if (found) return found
  if (name === undefined) throw new Failure('This repository has no commit yet to start from: make one, and try again.')
  throw new Failure(`There is no branch or commit ${visible(name)}: git branch lists the branches.`)
}

/** At most this many uncommitted files are named. */
const NAMED_FILES = 3

/** Warns about uncommitted changes, since a run begins with a commit. */
async function sayUncommitted(
  { repository }: RunPlace,
  { base, word }: { base: Oid; word: string },
  { cwd, err }: CommandContext,
): Promise<void> {
  const { workTree } = repository
  if (workTree === undefined) return
  const filters = await withoutFilters(repository)
  if (!filters) return
  const quiet = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', ...filters]
  const flags = ['--porcelain', '-z', '--untracked-files=normal', '--no-renames', '--ignore-submodules=all']
  const args = [...quiet, 'status', ...flags]
  const entries = (await read(repository, args)).split('\0').filter(Boolean)
  // Wishes and plans are read by this command, not by the tasks: they need no commit.
  const isWork = (path: string) => !/\.plan\.ya?ml$/.test(path) && join(workTree, path) !== resolve(cwd, word)
  const paths = entries.map(entry => entry.slice(3)).filter(isWork)
  if (paths.length === 0) return
  const more = paths.length > NAMED_FILES ? ' and others' : ''
  const names = paths.slice(0, NAMED_FILES).map(path => short(visiblePath(path), 60))
  err(
    `Not part of this run: what is not committed (${many(paths.length, 'file')}: ${names.join(', ')}${more}). It begins ` +
      `with the commit ${base.slice(0, 12)}; stop it and commit first if it needs them.`,
  )
}

/**
 * Git options that disable all configured filters, which a repository's attributes could use; undefined where a
 * filter's name can't be given on the command line.
 */
async function withoutFilters(repository: Repository): Promise<string[] | undefined> {
  const { stdout } = await runGit(repository, ['config', '-z', '--name-only', '--get-regexp', '^filter\\.'], {
    ok: [0, 1],
  })
  const keys = fields(stdout).map(asText)
  const names = new Set(keys.map(key => key.slice('filter.'.length, key.lastIndexOf('.'))))
  if ([...names].some(name => name.includes('='))) return undefined
  const off = ['clean=', 'smudge=', 'process=', 'required=false']
  return [...names].flatMap(name => off.flatMap(setting => ['-c', `filter.${name}.${setting}`]))
}

type Wish = { text: string; plan?: Plan }

/** Loads what reads and writes plans as files, which few runs need. */
const planFiles = () => import('../plan/file.ts')

/** Reads the wish from the file that the argument names; else the argument is the wish. */
async function readWish(word: string, { cwd }: CommandContext): Promise<Wish> {
  const path = resolve(cwd, word)
  const isFile = word.length < 1000 && (await stat(path).catch(() => undefined))?.isFile()
  const text = isFile ? await readFile(path, 'utf8').catch(error => unreadable(word, error)) : word
  if (text.trim() === '')
    throw new Failure(`${isFile ? visible(word) : 'The wish'} is empty: say what you want.`, EXIT.usage)
  if (isFile) {
    const { isPlan, parsePlanFile } = await planFiles()
    if (/\.plan\.ya?ml$/.test(word) || isPlan(text)) {
      const plan = parsePlanFile(text, word)
      return { text: plan.summary, plan }
    }
  }
  if (text.length > MAX_WISH_BYTES)
    throw new Failure(`${visible(word)} is longer than 256 KB: say what you want in fewer words, and refer to files.`)
  // A word that looks like a file name was probably mistyped, and should not cost money.
  if (!isFile && /^\S+\.(md|txt|ya?ml|json)$/.test(word))
    throw new Failure(`There is no file ${visible(word)}: check its name, or say in words what you want.`)
  return { text }
}

function unreadable(word: string, error: NodeJS.ErrnoException): never {
  throw new Failure(`${visible(word)} can't be read (${error.code}): check its owner and mode.`)
}

/**
 * Verifies, before anything is paid, that there are models to ask and a container engine for the checks. Gives the
 * settings, with the models that were chosen for the run.
 */
export async function verifyCanWork(
  { env, signal }: CommandContext,
  onlyPlan: boolean,
  models: TierModels = {},
): Promise<Settings> {
  const settings = (await readSettings(env)).withModels(models)
  const [planner] = settings.modelsOf('reasoning')
  const { worker } = settings
  // What this machine's worker does not serve, others do.
  const [asksModels, runsChecks] = [
    worker === undefined || worker === 'models',
    worker === undefined || worker === 'checks',
  ]
  const asked = asksModels ? [planner, ...Object.values(models).flat()] : []
  const missing = asked.map(name => settings.missing(name)).find(Boolean)
  if (missing) throw new Failure(missing)
  // Planning alone needs no container engine, as it runs nothing.
  const why = onlyPlan || !runsChecks ? undefined : await whyNoContainer(signal)
  if (why) throw new Failure(`Nothing was begun, and nothing is paid: checks need ${why}`)
  return settings
}

/**
 * Stores what the user has asked for and signed, so that it can be submitted again whatever the server loses. On a
 * failure nothing of it is kept. Throws a {@link Failure} where the disk is full.
 */
async function prepare(
  place: RunPlace,
  run: RunId,
  { wish, wished: searching, options }: Pick<Beginning, 'wish' | 'wished' | 'options'>,
  context: CommandContext,
): Promise<RunInput> {
  const { repository } = place
  try {
    await verifyRoom(await openRunFolder(repository, run, context.env))
    const store = openStore(place, run)
    const asked = {
      ...{ run, wish: store.referenceTo('wish', wish.text), ...options },
      ...(wish.plan && { plan: store.referenceToJson('plan', wish.plan) }),
    }
    const signing = openApproved(place, run, context, store).signRun(asked, wish.plan)
    const [found, keepSigned] = await Promise.all([searching, signing])
    const input = { ...asked, ...(found !== undefined && { wished: store.referenceTo('wished', found) }) }
    // Written at the same time, so it is one commit.
    await Promise.all([
      keepSigned(),
      store.put('wish', wish.text),
      wish.plan && store.putJson('plan', wish.plan),
      found === undefined ? undefined : store.put('wished', found),
      store.set('run.json', `${JSON.stringify({ ...input, began: Date.now() })}\n`),
    ])
    return input
  } catch (error) {
    await forget(place, run, context)
    const full = await whyFull(error, [await runsFolder(repository, context.env), repository.objects])
    throw full === undefined ? error : new Failure(`Nothing has begun. ${full}`)
  }
}

/** Removes what is stored of a run that was not submitted. */
async function forget({ objects }: RunPlace, run: RunId, { env }: CommandContext): Promise<void> {
  await pruneRun(objects, run, { env, all: true }).catch(() => undefined)
}

/** Writes a small file into a run's folder and removes it, so that a full disk is known before anything is paid. */
async function verifyRoom(folder: string): Promise<void> {
  const path = join(folder, 'room')
  await writeFile(path, Buffer.alloc(VERIFIED_BYTES))
  await rm(path)
}

async function writePlan(place: RunPlace, { run, plan: made }: RunStatus, context: CommandContext): Promise<void> {
  const plan = await readPlan(openStore(place, run), made)
  const name = `${run}.plan.yaml`
  const { writePlan: textOf } = await planFiles()
  await writeFile(join(context.cwd, name), textOf(plan), { flag: 'wx' }).catch(error => {
    throw new Failure(`${name} can't be written here (${error.code}): start forge run --plan where you may write.`)
  })
  context.out(`The plan is in ${name}: edit it if you like, then run it with forge run ${name}.`)
}
