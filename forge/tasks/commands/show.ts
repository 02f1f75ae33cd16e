/** `forge show`: prints the state of a run or a task, or its journal (what has happened, one line each). */
import { join } from 'node:path'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visible, visibleLines } from '../../../core/text.ts'
import { TIERS } from '../../ai/settings.ts'
import type { ShownPlan, ShownRun, ShownTask } from '../../formats/tasks-json.ts'
import type { Oid, RunInput, RunStatus, TaskId, TierModels } from '../contract.ts'
import { writePlan } from '../plan/file.ts'
import { contractOf } from '../plan/schema.ts'
import { findDone, findResult } from '../runs/done.ts'
import { runsFolder } from '../runs/folder.ts'
import { readJournal } from '../runs/journal.ts'
import { mergedBy } from '../runs/merging.ts'
import { readPlan, readRunInput, readWish } from '../runs/plans.ts'
import { filesOutside, readEscalation } from '../runs/report.ts'
import type { RunStore } from '../runs/store.ts'
import { journalStory } from '../runs/story.ts'
import { keptWords } from '../steps/request.ts'
import { lookAtPlan, tellPlan } from './approval.ts'
import { openBelieved } from './checked.ts'
import type { CommandContext } from './context.ts'
import { columnsOf, nextSteps, questionsOf, toAnswer } from './follow.ts'
import { lookSomehow, type Seen } from './look.ts'
import { parse, wrong } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'
import { findRunServer } from './server.ts'
import { drawTree } from './tree.ts'

const USAGE = 'forge show RUN [TASK] [--plan | --journal] [--json]'

export const HELP = `${USAGE}

Shows how a run is: its tasks, what they came to, what it has used. With TASK, that task alone.

  --plan      the plan, whole: what, in which order, which commands, and what it may cost
  --journal   every decision that was made, as a story
  --json      the same as JSON`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { plan: { type: 'boolean' }, journal: { type: 'boolean' }, json: { type: 'boolean' } } as const
  const { values, positionals } = parse(argv, { options, usage: USAGE, words: [0, 2] })
  const [word = 'last', task] = positionals
  if (values.plan && (values.journal || task !== undefined)) throw wrong('--plan is for a whole run, by itself', USAGE)
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  const store = openStore(place, run)
  if (values.journal) {
    const folder = join(await runsFolder(place.repository, context.env), run)
    const lines = (await readJournal(store, folder)).filter(line => task === undefined || line.task === task)
    if (values.json) for (const line of lines) context.out(JSON.stringify(line))
    else for (const line of journalStory(lines)) context.out(line)
    return EXIT.done
  }
  const status = await look(place, store, context)
  if (!status)
    throw new Failure(`Nothing is known of the run ${run} but its refs: forge resume ${run} submits it again.`)
  if (values.plan) return await showPlan(place, status, values.json === true, context)
  const unchecked = await uncheckedIn(place, status, context)
  if (task !== undefined)
    return await showTask(store, status, task, { isJson: values.json === true, unchecked, context })
  if (values.json) context.out(JSON.stringify(await inFull(store, status, unchecked)))
  else await showRun(store, status, { unchecked, context })
  return EXIT.done
}

async function look(place: RunPlace, store: RunStore, context: CommandContext): Promise<Seen | undefined> {
  const server = await findRunServer(place, context)
  try {
    return (await lookSomehow(server, store, context.env)).status
  } finally {
    if (!(server instanceof Failure)) await server[Symbol.asyncDispose]()
  }
}

/** A run with the texts that its status only references: wish, plan in short, questions, report. */
async function inFull(
  store: RunStore,
  status: RunStatus,
  unchecked: ReadonlyMap<TaskId | '', string>,
): Promise<ShownRun> {
  const { limits, base, models } = await readRunInput(store)
  const merged = await mergedBy(store.objects, base)
  const plan = status.plan && (await readPlan(store, status.plan))
  return {
    ...status,
    tasks: status.tasks.map(task => ({ ...task, unchecked: unchecked.get(task.id) })),
    unchecked: unchecked.get(''),
    ...(merged && merged.parts.length > 0 && { merges: true }),
    wish: await readWish(store),
    limits,
    ...(models && { models }),
    title: plan?.title,
    summary: plan?.summary,
    contract: plan && contractOf(plan),
    asks: status.question && (await store.readText(status.question)),
    tells: status.report && (await store.readText(status.report)),
  }
}

/** Why passed results count as not checked by this user, by task, and with '' for the combined result. */
async function uncheckedIn(
  place: RunPlace,
  { run, tasks }: RunStatus,
  context: CommandContext,
): Promise<Map<TaskId | '', string>> {
  const done = tasks.filter(({ state }) => state === 'done').map(({ id }) => id)
  const results = await Promise.all(done.map(async id => [id, (await findDone(place.objects, run, id))?.tip] as const))
  const ofAll = (await findResult(place.objects, run))?.tip
  const tips = new Map<TaskId | '', Oid | undefined>([['', ofAll], ...results])
  const found = new Map<TaskId | '', string>()
  if ([...tips.values()].every(tip => tip === undefined)) return found
  const plan = await readPlan(openStore(place, run))
  try {
    const believed = await openBelieved(place, { run, plan }, context)
    for (const [task, tip] of tips) {
      const why = tip === undefined ? undefined : await believed.whyNot(task === '' ? undefined : task, tip)
      if (why !== undefined) found.set(task, why)
    }
  } catch (error) {
    // If the user's signing key can't be used, the rest of the status is still shown.
    if (!(error instanceof Failure)) throw error
    found.set('', error.message.replace(/\.$/, ''))
  }
  return found
}

/** Prints the plan that waits for approval, or the current one. */
async function showPlan(
  place: RunPlace,
  status: RunStatus,
  isJson: boolean,
  context: CommandContext,
): Promise<ExitCode> {
  const looked = await lookAtPlan(place, status.run, status.plan, context)
  const file = writePlan(looked.plan)
  const shown: ShownPlan = { waits: status.state === 'approving', ...looked.inFull, file }
  if (isJson) context.out(JSON.stringify({ run: status.run, ...shown }))
  else tellPlan(looked, context)
  return EXIT.done
}

type Shown = { unchecked: ReadonlyMap<TaskId | '', string>; context: CommandContext }

async function showRun(store: RunStore, status: RunStatus, { unchecked, context }: Shown): Promise<void> {
  const wish = await readWish(store)
  context.out(`Wish: ${visible(wish.split('\n', 1)[0] ?? '')}`)
  // A run whose input can't be read has a status all the same.
  const { models } = await readRunInput(store).catch((): Partial<RunInput> => ({}))
  if (models) context.out(`Models of this run: ${modelsInWords(models)}`)
  const columns = columnsOf(context)
  const look = { width: columns, height: 10_000, hasColours: false }
  for (const line of drawTree(status, look)) context.out(line)
  if (status.complaints.length > 0) {
    context.out('What the linter says of the last plan:')
    for (const complaint of status.complaints) context.out(`  ${visible(complaint)}`)
  }
  if (status.report) {
    context.out(unchecked.has('') ? 'What is said of the contract:' : 'How the contract was checked:')
    const { words } = keptWords(status.report, await store.readText(status.report))
    for (const line of visibleLines(words.trim()).split('\n')) context.out(`  ${line}`)
  }
  for (const [task, why] of unchecked)
    context.out(`${task === '' ? 'The result' : `What ${task} came to`} was not checked by you: ${why}.`)
  for (const line of await questionsOf(store, status, columns)) context.out(line)
  if (endsWithSteps(status)) for (const line of nextSteps(status)) context.out(line)
}

/** The chosen models, by tier from high to low. */
const modelsInWords = (models: TierModels): string =>
  TIERS.toReversed()
    .flatMap(tier => (models[tier] ? [`${tier} ${models[tier].map(visible).join(', ')}`] : []))
    .join('; ')

const endsWithSteps = ({ state }: RunStatus): boolean =>
  ['approving', 'asks', 'paused', 'out of budget', 'failed', 'stopped', 'unreachable'].includes(state)

/** A status without the question of the run as a whole. */
const withoutQuestion = ({ question: _, ...status }: RunStatus): RunStatus => status

async function showTask(
  store: RunStore,
  status: RunStatus,
  id: string,
  { isJson, unchecked, context }: Shown & { isJson: boolean },
): Promise<ExitCode> {
  const state = status.tasks.find(task => task.id === id)
  if (!state)
    throw new Failure(`The run ${status.run} has no task ${visible(id)}: forge show ${status.run} lists them.`)
  const plan = status.plan && (await readPlan(store, status.plan))
  const task = plan?.tasks.find(it => it.id === id)
  const why = unchecked.get(id)
  if (isJson) {
    const asks = state.question && (await store.readText(state.question))
    const escalation = state.question && (await readEscalation(store, state.question))
    const outside = escalation ? filesOutside(escalation) : []
    const shown: ShownTask = { ...state, task, asks, ...(outside.length > 0 && { outside }), unchecked: why }
    context.out(JSON.stringify(shown))
    return EXIT.done
  }
  context.out(`${id}: ${visible(state.title)}`)
  const attempt = state.attempt === 0 ? 'not begun' : `attempt ${state.attempt}`
  context.out(`  ${state.state}, ${attempt}${state.words ? `: ${visible(state.words)}` : ''}`)
  if (task) for (const line of visibleLines(task.objective.behaviour).split('\n')) context.out(`  ${line}`)
  const done = state.head && (await findDone(store.objects, status.run, id))
  if (done) context.out(`  Its result is ${done.isBranch ? `branch ${done.name}, at ` : ''}${done.tip.slice(0, 12)}.`)
  if (why !== undefined) context.out(`  It was not checked by you: ${why}.`)
  if (state.state === 'asks') {
    for (const line of await questionsOf(store, { ...withoutQuestion(status), tasks: [state] }, columnsOf(context)))
      context.out(line)
    context.out(`  ${toAnswer(status.run, state)}`)
    context.out('')
  }
  const lines = (await readJournal(store)).filter(line => line.task === id)
  for (const line of journalStory(lines)) context.out(line)
  return EXIT.done
}
