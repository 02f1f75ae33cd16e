/**
 * Lints a plan without asking a model: finds out whether it can be carried out as it is. Each complaint is one sentence
 * that names task and field and says what would be right, so that the plan's author, a model or a person, can correct
 * it.
 */
import type { Objects } from '../../../core/git/objects.ts'
import { asBytes, asText, type Oid } from '../../../core/git/repository.ts'
import { isSafeName, listFiles } from '../../../core/git/trees.ts'
import { many, visible } from '../../../core/text.ts'
import { isOfTheForge } from '../../ai/model-files.ts'
import { isCode } from '../../code/languages.ts'
import type { Limits, Standing, TaskId, TaskShape } from '../contract.ts'
import { mergedBy } from '../runs/merging.ts'
import { type CommandRoom, whyNotRun } from './commands.ts'
import { isDoneInOneStep, isReviewed, type PriceOf, planEstimateOf, REVIEWERS, type ReviewersOf } from './estimate.ts'
import { distance, Files, isTestFile, speakOf, Writes } from './files.ts'
import { fits, isCovered, isLiteral, plain, readGlob } from './globs.ts'
import { graphOf, type TaskGraph } from './graph.ts'
import { holdsAlready } from './holds-already.ts'
import { heritage, overlaps } from './overlaps.ts'
import { filesOfCheck } from './own-files.ts'
import type { Check, Plan, READY_MADE, Task } from './schema.ts'

/** What is available to a plan's checks. An undefined field is unknown and causes no complaint. */
export type CanRun = {
  /** The programs in the container image in which checks run. */
  programs?: ReadonlySet<string>
  /** The ready-made checks that fit the repository. */
  readyMade?: ReadonlySet<(typeof READY_MADE)[number]>
  hasNetwork?: boolean
}

export type Linting = {
  objects: Objects
  /** The files at the beginning of the run: a tree, or a commit. */
  tree: Oid
  limits: Limits
  canRun?: CanRun
  priceOf?: PriceOf
  reviewersOf?: ReviewersOf
  /** The current plan, and the progress of its tasks. */
  before?: Plan
  standing?: readonly Standing[]
  /** The names of the lessons that tasks can ask for; undefined: not known. */
  lessons?: ReadonlySet<string>
}

/** `tasks` is empty where there are complaints; `notes`: sentences for the journal about an accepted plan. */
type LintedPlan = { tasks: PlannedShape[]; complaints: string[]; notes: string[] }
/** What the flow has to know of a task, without the hash of its part of the plan. */
export type PlannedShape = Omit<TaskShape, 'hash'>

/** At most this many complaints, as neither a model nor a person can handle more at once. */
const MAX_COMPLAINTS = 60
/** At most this many files of a repository are listed, to check paths of the plan against them. */
const MAX_FILES = 2_000_000
const EXAMPLE_OF_CI = '.github/workflows/ci.yml'

/** Lints a plan that fits its schema. */
export async function lintPlan(plan: Plan, linting: Linting): Promise<LintedPlan> {
  const { objects, tree, standing = [] } = linting
  const { files } = await listFiles(objects, tree, { limit: MAX_FILES })
  const there = new Files(files.map(({ path }) => asText(path)))
  const scripts = there.files.has('package.json') ? await scriptsOf(objects, tree) : undefined
  const writes = new Writes(plan.tasks)
  const context: LintContext = {
    plan,
    linting,
    there,
    writes,
    // Tasks that may change package.json may change its scripts.
    scripts: writes.reach('package.json') ? undefined : scripts,
    graph: graphOf(plan.tasks),
    isMerge: (await mergedBy(objects, tree)) !== undefined,
    standing: new Map(standing.map(({ id, is }) => [id, is])),
  }
  const complaints = new Set<string>()
  for await (const sentence of allIn(context)) {
    if (complaints.size === MAX_COMPLAINTS) {
      complaints.add('There are further complaints, which will be told when these are mended.')
      break
    }
    complaints.add(visible(sentence))
  }
  if (complaints.size > 0) return { tasks: [], complaints: [...complaints], notes: [] }
  const { reviewersOf = () => REVIEWERS } = linting
  const isDone = (id: TaskId): boolean => context.standing.get(id) === 'done'
  const isOpen = (id: TaskId): boolean => !context.standing.has(id)
  const heirs =
    standing.length === 0 ? new Map<TaskId, TaskId[]>() : heritage(plan.tasks, context.graph, { isDone, isOpen })
  const tasks = plan.tasks.map(task => {
    const shape = shapeOf(task, plan, reviewersOf)
    return { ...shape, dependsOn: [...shape.dependsOn, ...(heirs.get(task.id) ?? [])] }
  })
  return { tasks, complaints: [], notes: [...notesOn(tasks), ...ownChecks(context)].map(visible) }
}

async function* allIn(context: LintContext): AsyncGenerator<string> {
  yield* complaintsIn(context)
  yield* heldAlready(context)
}

/** Larger files, in bytes, are not searched for what an assertion's command would find. */
const MAX_LOOKED_BYTES = 1 << 20

/** Complaints about assertions that hold before anything is done: checking these would show nothing. */
async function* heldAlready({ plan, linting, there, standing }: LintContext): AsyncGenerator<string> {
  const { objects, tree } = linting
  const root = await objects.info(`${tree}^{tree}`)
  const textOf = async (path: string): Promise<string | undefined> => {
    if (!root || !there.files.has(path)) return undefined
    return (await objects.read(`${root.oid}:${path}`, { limit: MAX_LOOKED_BYTES }))?.bytes?.toString()
  }
  const before = {
    isFile: (path: string) => there.files.has(path),
    isFolder: (path: string) => there.folders.has(path),
    textOf,
  }
  for (const { id, how } of plan.contract) {
    const isOpen = plan.tasks.some(task => task.claims.includes(id) && !standing.has(task.id))
    if (!isOpen || how.kind !== 'command' || !(await holdsAlready(how.command, before))) continue
    yield `Assertion ${id}: the command ${quote(how.command)} ends well already, before anything is done: give one that shows what will be different, or make it a check of the task.`
  }
}

/** Yields complaints one by one, so that the caller can stop early. */
function* complaintsIn(context: LintContext): Generator<string> {
  yield* ids(context)
  yield* contract(context)
  yield* limits(context)
  yield* frozen(context)
  for (const task of context.plan.tasks) if (!context.standing.has(task.id)) yield* oneTask(task, context)
  yield* unknownLessons(context)
  // Tasks that are done or stopped write nothing any more.
  yield* overlaps(context.plan.tasks, context.graph, id => ['done', 'stopped'].includes(context.standing.get(id) ?? ''))
}

/** Complaints about tasks that name a lesson which does not exist. */
function* unknownLessons({ plan, linting: { lessons }, standing }: LintContext): Generator<string> {
  if (!lessons) return
  for (const { id, context } of plan.tasks)
    for (const name of standing.has(id) ? [] : (context.playbooks ?? []).filter(it => !lessons.has(it)))
      yield `Task ${quote(id)}, context.playbooks: there is no lesson ${quote(name)}: name one that is told here (forge playbooks), or leave it out.`
}

type LintContext = {
  plan: Plan
  linting: Linting
  there: Files
  writes: Writes
  scripts: ReadonlySet<string> | undefined
  graph: TaskGraph
  /** The progress of the tasks that have begun; a task that is not in it is open. */
  standing: ReadonlyMap<TaskId, Standing['is']>
  /** Whether the run resolves a merge: its plan is no planner's, and no test shows that a side is right. */
  isMerge: boolean
}

/** Sentences about what is done differently from what a reader of the plan would expect. */
function notesOn(tasks: readonly PlannedShape[]): string[] {
  const single = [...new Set(tasks.filter(({ reviews }) => reviews === 1).map(({ tier }) => tier))]
  return single.map(
    tier =>
      `Results of the tier ${tier} are reviewed by one model instead of two, as all its models are of one provider: ` +
      `name one of another provider in FORGE_TIER_${tier.toUpperCase()} for a second opinion.`,
  )
}

/** At most this many notes are given on tasks that may change an existing check. */
const MAX_NAMED_CHECKS = 20

/**
 * Notes on tasks that may change a file of an existing check: the user has to look at such a change, as the check
 * itself can't judge it.
 */
function ownChecks({ plan, there, writes, standing }: LintContext): string[] {
  const commands = new Set([
    ...plan.contract.flatMap(({ how }) => (how.kind === 'command' ? [how.command] : [])),
    ...plan.tasks.flatMap(({ validation }) =>
      validation.checks.flatMap(it => (typeof it === 'string' ? [] : [it.command])),
    ),
  ])
  const notes = [...commands].flatMap(command =>
    filesOfCheck(command)
      .filter(path => there.files.has(path))
      .flatMap(path => {
        const owners = plan.tasks.filter(({ id }) => !standing.has(id) && writes.reach(path, [id]))
        return owners.map(
          ({ id }) =>
            `Task ${quote(id)} may change ${path}, which the check ${quote(command)} runs: look at it when you land.`,
        )
      }),
  )
  return notes.slice(0, MAX_NAMED_CHECKS)
}

const shapeOf = (task: Task, plan: Plan, reviewersOf: ReviewersOf): PlannedShape => ({
  id: task.id,
  title: task.title,
  dependsOn: [...new Set(task.depends_on)],
  tier: task.tier,
  recursion: task.recursion,
  isSmall: isDoneInOneStep(task),
  reviews: isReviewed(task, plan) ? reviewersOf(task.tier) : 0,
  isAlone: task.boundaries.write.length === 0,
})

// --- Names and order

const quote = (text: string): string => `"${text}"`
const listed = (names: readonly string[], most = 6): string => {
  const shown = names.slice(0, most).map(quote).join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}

function* ids({ plan, graph }: LintContext): Generator<string> {
  for (const id of twice(plan.tasks.map(it => it.id)))
    yield `Two tasks have the id ${quote(id)}: give each an id of its own.`
  for (const id of twice(plan.contract.map(it => it.id)))
    yield `Two assertions of the contract have the id ${quote(id)}: number them on.`
  const known = plan.tasks.map(({ id }) => id)
  const isKnown = new Set(known)
  for (const { id, depends_on } of plan.tasks)
    for (const other of depends_on)
      if (!isKnown.has(other))
        yield `Task ${quote(id)}, depends_on: there is no task ${quote(other)}${meant(other, known)}; name one of the plan, or leave it away.`
  for (const ring of graph.rings)
    yield ring.length === 1
      ? `Task ${quote(ring[0] ?? '')}, depends_on: it waits for itself; leave that away.`
      : `The tasks ${[...ring, ring[0] ?? ''].map(quote).join(' → ')} wait for each other in a circle (each depends_on the next): leave out one of these depends_on.`
}

function twice(names: readonly string[]): string[] {
  const seen = new Set<string>()
  const again = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) again.add(name)
    seen.add(name)
  }
  return [...again]
}

/** A suggestion of the nearest name, where one is near enough. */
function meant(name: string, names: readonly string[]): string {
  const near = names.find(it => distance(it, name) <= Math.max(1, Math.floor(name.length / 4)))
  return near === undefined ? '' : ` (did you mean ${quote(near)}?)`
}

function* contract(context: LintContext): Generator<string> {
  const { plan, linting, there, standing, isMerge } = context
  const known = new Set(plan.contract.map(({ id }) => id))
  const claimers = new Map<string, string[]>()
  for (const { id, claims } of plan.tasks) {
    for (const claim of twice(claims)) yield `Task ${quote(id)}, claims: ${claim} stands there twice; leave one away.`
    for (const claim of new Set(claims)) {
      if (!known.has(claim))
        yield `Task ${quote(id)}, claims: the contract has no assertion ${claim}; claim one of it, or add ${claim} to it.`
      if (standing.get(id) !== 'stopped') claimers.set(claim, [...(claimers.get(claim) ?? []), id])
    }
  }
  for (const { id, how } of plan.contract) {
    const by = claimers.get(id) ?? []
    if (by.length === 0)
      yield `Assertion ${id}: no task claims it; add it to the claims of the task that makes it true, or add such a task.`
    // Another task may have to make true again what a done task has claimed.
    if (by.filter(task => standing.get(task) !== 'done').length > 1)
      yield `Assertion ${id}: the tasks ${listed(by)} all claim it; leave it to the one after which it is true.`
    if (how.kind !== 'command') continue
    const exists = (path: string): boolean =>
      there.has(path) || context.graph.outputs.has(path) || context.writes.reach(path)
    for (const why of whyNotRun(how.command, commandRoom(context, exists)))
      yield `Assertion ${id}: the command ${quote(how.command)} ${why}.`
    yield* tooLong(`Assertion ${id}`, how, linting)
  }
  const canBeRun = there.test !== undefined && linting.canRun?.programs?.size !== 0
  if (!isMerge && plan.contract.every(({ how }) => how.kind === 'review') && canBeRun)
    yield `The contract has only reviews, though the repository has tests (${quote(there.test ?? '')}): let a command show at least the assertions that a test can show.`
}

function* tooLong(where: string, { seconds }: Check, { limits }: Linting): Generator<string> {
  if (limits.minutes !== undefined && seconds > limits.minutes * 60)
    yield `${where}: the command may take ${seconds} seconds, and the whole run only ${limits.minutes} minutes; give it less.`
}

function commandRoom({ linting, scripts }: LintContext, exists: (path: string) => boolean): CommandRoom {
  const { programs, hasNetwork = false } = linting.canRun ?? {}
  return { programs, hasNetwork, exists, scripts }
}

async function scriptsOf(objects: Objects, tree: Oid): Promise<ReadonlySet<string> | undefined> {
  const root = await objects.info(`${tree}^{tree}`)
  const file = root && (await objects.read(`${root.oid}:package.json`, { limit: 1 << 20 }))
  try {
    const { scripts } = JSON.parse(file?.bytes?.toString() ?? '') as { scripts?: unknown }
    return new Set(Object.keys(typeof scripts === 'object' && scripts !== null ? scripts : {}))
  } catch {
    return undefined
  }
}

// --- Limits, and what is done or under way

function* limits({ plan, linting, standing }: LintContext): Generator<string> {
  const { limits: most, priceOf = () => undefined } = linting
  if (most.tasks !== undefined && plan.tasks.length > most.tasks)
    yield `The plan has ${many(plan.tasks.length, 'task')}, and the run may have ${most.tasks}: join tasks, or leave out what is not needed.`
  for (const { id, recursion } of plan.tasks)
    if (recursion > most.depth)
      yield `Task ${quote(id)}, recursion: ${recursion} levels of sub-agents are more than the ${most.depth} that the run may have; set at most ${most.depth}.`
  const { requests, tokens, cost } = planEstimateOf(plan, priceOf, {
    done: [...standing.keys()],
    reviewersOf: linting.reviewersOf,
  })
  const smaller = 'plan fewer or smaller tasks, or lower tiers, and say in the summary what is left out'
  if (most.requests !== undefined && requests.low > most.requests)
    yield `The plan takes at least about ${many(requests.low, 'request')}, and the run may send ${most.requests}: ${smaller}.`
  if (most.tokens !== undefined && tokens.low > most.tokens)
    yield `The plan takes at least about ${many(tokens.low, 'token')}, and the run may use ${most.tokens.toLocaleString('en')}: ${smaller}.`
  if (most.cost !== undefined && cost && cost.low > most.cost)
    yield `The plan costs at least about $${cost.low.toFixed(2)}, and the run may cost $${most.cost.toFixed(2)}: ${smaller}.`
}

/** The fields of a task that say how it is checked. */
const CHECKS: readonly string[] = ['validation', 'claims']

/**
 * Complaints about changed tasks that are done or under way. The checks of a done task may change; they are run again
 * then.
 */
function* frozen({ plan, linting, standing }: LintContext): Generator<string> {
  const { before } = linting
  if (!before) return
  const now = new Map(plan.tasks.map(task => [task.id, task]))
  const assertions = new Map(plan.contract.map(it => [it.id, it]))
  for (const task of before.tasks) {
    const is = standing.get(task.id)
    if (is !== 'done' && is !== 'under way') continue
    const way =
      is === 'done' ? 'make a new task for what is to change' : `forge stop the task first, or wait for its end`
    const same = now.get(task.id)
    if (!same) {
      yield `Task ${quote(task.id)} is ${is}, and is not in the new plan: put it back as it was.`
      continue
    }
    const fields = Object.keys(task).filter(
      name =>
        !(is === 'done' && CHECKS.includes(name)) &&
        !Bun.deepEquals(same[name as keyof Task], task[name as keyof Task]),
    )
    if (fields.length > 0)
      yield `Task ${quote(task.id)} is ${is}, and differs from the plan that holds (${fields.join(', ')}): put it back as it was, and ${way}.`
    if (is === 'done') continue
    for (const claim of task.claims) {
      const old = before.contract.find(({ id }) => id === claim)
      if (old && !Bun.deepEquals(assertions.get(claim), old))
        yield `Assertion ${claim} is claimed by the task ${quote(task.id)}, which is under way: put it back as it was, and ${way}.`
    }
  }
}

// --- One task

function* oneTask(task: Task, context: LintContext): Generator<string> {
  const { linting, there, writes, graph } = context
  const at = (field: string): string => `Task ${quote(task.id)}, ${field}`
  if (task.objective.acceptance.length === 0)
    yield `${at('objective.acceptance')}: nothing says when it is done; list what must hold then.`
  const { checks, reviews } = task.validation
  if (checks.length + reviews.length + task.claims.length === 0)
    yield `${at('validation')}: nothing shows whether it is done; give it a check that fails while it is not, or a review.`
  else yield* unreviewed(task, context)
  yield* pathsOf(task)
  yield* boundariesOf(task, context)
  yield* contextOf(task, context)

  const before = graph.before(task.id)
  const outputs = new Set([...task.objective.outputs.map(plain), ...before.flatMap(id => graph.outputsOf(id))])
  const makers = [task.id, ...before]
  const exists = (path: string): boolean =>
    there.has(path) ||
    outputs.has(path) ||
    [...outputs].some(it => it.startsWith(`${path}/`)) ||
    // A task may also create a file that its outputs do not name, where the globs of its boundaries allow it.
    writes.reach(path, makers)
  for (const check of checks) {
    if (typeof check === 'string') {
      const { readyMade } = linting.canRun ?? {}
      if (readyMade && !readyMade.has(check))
        yield `${at('validation.checks')}: the ready-made check ${quote(check)} can't run in this repository; take one that can (${[...readyMade].join(', ') || 'none'}), or a command.`
      continue
    }
    for (const why of whyNotRun(check.command, commandRoom(context, exists)))
      yield `${at('validation.checks')}: the command ${quote(check.command)} ${why}.`
    yield* tooLong(at('validation.checks'), check, linting)
  }
}

/**
 * Complaints about tasks that write logic without a reviewer: commands test only the cases that their author has
 * thought of.
 */
function* unreviewed(task: Task, { plan }: LintContext): Generator<string> {
  // Tasks of the lower tiers are mechanical: a rename, a constant.
  const isLogic = task.tier === 'generation' || task.tier === 'reasoning'
  if (!isLogic || isReviewed(task, plan)) return
  const code = codeOf(task)
  if (code.length > 0)
    yield `Task ${quote(task.id)}, validation.reviews: it writes code (${listed(code, 3)}), and nothing is asked that its commands can't answer; add one such question (a case that its tests may miss, an error that may be swallowed, what its callers need).`
}

/** The source files in a task's outputs and boundaries. */
function codeOf({ objective, boundaries }: Task): string[] {
  const named = [...objective.outputs, ...boundaries.write.filter(isLiteral)].map(plain)
  return [...new Set(named)].filter(path => isCode(asBytes(path)) && !isTestFile(path))
}

/** Complaints about invalid paths. */
function* pathsOf({ id, objective, context }: Task): Generator<string> {
  const fields: [string, readonly string[]][] = [
    ['objective.outputs', objective.outputs],
    ['context.files', context.files],
    ['context.tests', context.tests],
    ['context.documents', context.documents],
  ]
  for (const [field, paths] of fields) {
    for (const path of paths) {
      const why = whyNoPath(path)
      if (why) yield `Task ${quote(id)}, ${field}: ${quote(path)} ${why}.`
    }
  }
}

function whyNoPath(path: string): string | undefined {
  if (path.startsWith('/')) return 'is absolute; name it from the top of the repository, without the slash in front'
  if (/^[A-Za-z]:[\\/]|\\/.test(path)) return 'has a backslash or a drive; name it from the top, with "/" between names'
  if (path.split('/').includes('..'))
    return 'leads out of a folder by ".."; name the file itself, from the top of the repository'
  if (isForges(path)) return 'belongs to git or to the forge itself, which no task may touch; leave it away'
  if (/[*?{]/.test(path)) return 'is a pattern; name the files themselves'
  const names = plain(path).split('/')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (names.slice(0, -1).includes('') || /[\x00-\x1f\x7f]/.test(path)) return 'is no name of a file; correct it'
  return names.at(-1) === '' ? 'is a folder; name the files in it' : undefined
}

const isForges = (path: string): boolean => {
  const names = plain(path)
    .split('/')
    .filter(name => name !== '' && !/[*?[{]/.test(name) && name !== '.' && name !== '..')
  return names.some(name => !isSafeName(asBytes(name))) || isOfTheForge(asBytes(plain(path)))
}

function* boundariesOf(task: Task, { there }: LintContext): Generator<string> {
  const { id, objective, boundaries } = task
  const at = (field: string): string => `Task ${quote(id)}, boundaries.${field}`
  const read = (field: 'write' | 'never') => boundaries[field].map(text => [text, readGlob(text)] as const)
  for (const field of ['write', 'never'] as const)
    for (const [text, glob] of read(field)) if (typeof glob === 'string') yield `${at(field)}: ${quote(text)} ${glob}.`
  for (const text of boundaries.write)
    if (isForges(text))
      yield `${at('write')}: ${quote(text)} belongs to git or to the forge itself; no task may write there.`
  const globs = read('write').flatMap(([, glob]) => (typeof glob === 'string' ? [] : [glob]))
  const never = read('never').flatMap(([, glob]) => (typeof glob === 'string' ? [] : [glob]))
  if (globs.length === 0) return
  if (globs.every(glob => isCovered(glob, never)))
    yield `${at('never')}: all that boundaries.write allows is forbidden there, so that it may write nothing; make "never" smaller.`
  for (const path of objective.outputs.map(plain)) {
    if (whyNoPath(path)) continue
    if (!globs.some(glob => fits(glob, path)))
      yield `${at('write')}: the output ${quote(path)} is outside of it; add it, or leave it out of objective.outputs.`
    else if (never.some(glob => fits(glob, path)))
      yield `${at('never')}: the output ${quote(path)} is inside of it; take it out of one of the two.`
  }
  const folder = globs.find(({ text }) => isLiteral(text) && there.folders.has(plain(text)))
  if (folder)
    yield `${at('write')}: ${quote(folder.text)} is a folder, and means only itself; write ${quote(`${plain(folder.text)}/**`)} for all that is in it.`
  const reached = [...there.ciAndLocks, EXAMPLE_OF_CI].filter(path => {
    const glob = globs.find(it => fits(it, path))
    return glob && !speakOf(globs, path) && !never.some(it => fits(it, path))
  })
  if (reached.length > 0)
    yield `${at('write')}: it reaches ${listed([...new Set(reached)], 3)} (what a build server obeys, or a lock file) without naming it; put it into boundaries.never, or name it itself in boundaries.write if the task is about it.`
}

function* contextOf({ id, context }: Task, { there, graph }: LintContext): Generator<string> {
  const before = new Set(graph.before(id))
  for (const field of ['files', 'tests', 'documents'] as const) {
    for (const path of context[field].map(plain)) {
      if (whyNoPath(path) || there.files.has(path)) continue
      const where = `Task ${quote(id)}, context.${field}: ${quote(path)}`
      const makers = graph.makersOf(path)
      if (makers.some(maker => before.has(maker))) continue
      const maker = makers.find(it => it !== id)
      if (maker !== undefined)
        yield `${where} does not exist before the task ${quote(maker)} outputs it; add ${quote(maker)} to depends_on.`
      else if (makers.length > 0) yield `${where} is made by the task itself; leave it out of the context.`
      else if (there.folders.has(path)) yield `${where} is a folder; name the files in it that matter.`
      else
        yield `${where} does not exist, and no task outputs it${there.like(path)}; correct the name, or leave it away.`
    }
  }
}
