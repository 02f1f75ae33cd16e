/** Follows a run on the terminal until it ends, waits for the user, or the user quits. */
import { createInterface } from 'node:readline/promises'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { wrap } from '../../../core/text.ts'
import type { Oid, Reference, RunId, RunStatus } from '../contract.ts'
import { NoAnswer, UnknownRun } from '../engine/client.ts'
import { readEscalation, reportForTerminal } from '../runs/report.ts'
import type { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'
import { lookAtRun } from './look.ts'
import type { RunServer } from './server.ts'
import { TerminalDrawing } from './tree.ts'

/** The user's reply to a plan: yes (maybe edited), no, what to change, or nothing yet. */
export type PlanWord =
  | { says: 'yes'; plan: Reference }
  | { says: 'no' }
  | { says: 'change'; answer: Reference }
  | { says: 'later' }

type Following = {
  server: RunServer
  store: RunStore
  run: RunId
  context: CommandContext
  /** Shows a plan to the user and gives the reply. */
  approve: (plan: Reference) => Promise<PlanWord>
}

/** Milliseconds between two queries of the run's status. */
const POLL_MS = 400
/** At most this many unanswered queries in a row, as a worker may be busy. */
const MAX_SILENCES = 3
/** The run's status is queried at most this many times in a row while a model still writes the question to the user. */
const MAX_POLLS_FOR_QUESTION = 8

/** Follows the run and gives the exit code. Ctrl-C only ends the following. */
export async function follow(following: Following): Promise<ExitCode> {
  const { server, run, context } = following
  const { stdout } = process
  const look = () => ({
    width: stdout.columns || 100,
    height: Math.max((stdout.rows || 30) - 1, 6),
    hasColours: context.isTerminal && !context.env.NO_COLOR,
  })
  const drawing = new TerminalDrawing(context.draw, look, context.isTerminal)
  let patience = MAX_POLLS_FOR_QUESTION
  let edited: { of: Oid; plan: Reference } | undefined
  let silences = 0
  let last: RunStatus | undefined
  for (;;) {
    if (context.signal.aborted) return detach(following)
    const looked = await lookAtRun(server, following.store, context.env).catch(error => {
      if (!(error instanceof NoAnswer) || silences++ === MAX_SILENCES) throw error
      // Shown at the first unanswered query: the user would take the last drawing for the present state.
      if (last) drawing.show({ ...last, state: 'unreachable', words: error.message })
      else if (silences === 1) context.err(error.message)
      return undefined
    })
    if (!looked) continue
    silences = 0
    const { status, isUnderWay } = looked
    if (!status) throw new Failure(notUnderWay(run))
    last = status
    drawing.show(status)
    if (!isUnderWay && exitCodeOf(status) === undefined) throw new Failure(notUnderWay(run))
    const code = exitCodeOf(status)
    if (isBeingAsked(status) && patience-- > 0) {
      await pause(context.signal)
      continue
    }
    if (code !== undefined) return await sayEnd(following, status, code)
    if (status.state === 'approving' && status.plan) {
      if (!context.isTerminal) return sayToApprove(following)
      drawing.leave()
      // A plan that the user edited and the linter refused is shown again for further editing.
      const shown = edited?.of === status.plan.oid ? edited.plan : status.plan
      const word = await following.approve(shown)
      if (context.signal.aborted) return detach(following)
      if (word.says === 'later') return sayLater(run, context)
      if (word.says === 'yes') edited = { of: status.plan.oid, plan: word.plan }
      await tellWord(following, word).catch(error => sayRefused(error, context))
    }
    await pause(context.signal)
  }
}

/** Sends the user's reply to a run. Throws a {@link Failure} where the run refuses it. */
export async function tellWord(
  { server, run }: Pick<Following, 'server' | 'run'>,
  word: Exclude<PlanWord, { says: 'later' }>,
): Promise<void> {
  if (word.says === 'yes') await server.update(run, 'approve', word.plan)
  else if (word.says === 'no') await server.update(run, 'stop')
  else await server.update(run, 'answer', '', word.answer)
}

/** Prints why the linter refuses a plan, which can then be edited again. Rethrows any other error. */
export function sayRefused(error: unknown, context: CommandContext): void {
  if (!(error instanceof Failure) || error instanceof UnknownRun) throw error
  context.out(error.message)
}

/**
 * The exit code for a run that does not continue by itself; undefined for one that does. Requests sent before may still
 * be under way: their answers are stored, and nothing follows from them without the user.
 */
function exitCodeOf({ state }: RunStatus): ExitCode | undefined {
  switch (state) {
    case 'done':
      return EXIT.done
    case 'failed':
    case 'stopped':
    case 'unreachable':
      return EXIT.error
    case 'out of budget':
      return EXIT.outOfBudget
    case 'asks':
    case 'paused':
      return EXIT.asks
    default:
      return undefined
  }
}

/** Whether a question is still being written, as right after a run has halted. */
const isBeingAsked = ({ state, question, tasks }: RunStatus): boolean =>
  (state === 'asks' || state === 'out of budget') && !question && !tasks.some(task => task.question)

async function sayEnd({ store, run, context }: Following, status: RunStatus, code: ExitCode): Promise<ExitCode> {
  if (code === EXIT.done) {
    // A run without a result stopped at its plan, and has nothing to land.
    if (status.result) context.out(`Done. Have a look with forge land ${run}, which merges only what you agree to.`)
    return code
  }
  const columns = columnsOf(context)
  for (const line of await questionsOf(store, status, columns)) context.out(line)
  for (const line of nextSteps(status)) context.out(line)
  return code
}

const notUnderWay = (run: RunId): string =>
  `The run ${run} is not under way: forge resume ${run} submits it again; what is done stays done.`

/** The terminal's width, or a default. */
export const columnsOf = ({ isTerminal }: CommandContext): number =>
  (isTerminal ? process.stdout.columns : undefined) || 100

/** All questions of a run as text, each shorter than a screen. */
export async function questionsOf(store: RunStore, status: RunStatus, columns: number): Promise<string[]> {
  const lines: string[] = []
  const tell = async (heading: string, reference: Reference) => {
    const escalation = await readEscalation(store, reference)
    if (escalation) {
      lines.push('', ...reportForTerminal(escalation, { columns, lines: 36 }).trimEnd().split('\n'))
      return
    }
    const text = wrap(await store.readText(reference), Math.max(columns - 2, 20))
    lines.push('', heading, ...text.map(line => `  ${line}`))
  }
  if (status.question && status.state !== 'approving') await tell('The run asks', status.question)
  const asking = status.tasks.filter(({ state, question }) => state === 'asks' && question)
  for (const { id, question } of asking.slice(0, MAX_ASKING_TASKS))
    if (question && question.oid !== status.question?.oid) await tell(`${id} asks`, question)
  const more = asking.slice(MAX_ASKING_TASKS).map(({ id }) => id)
  if (more.length > 0) lines.push('', ...wrap(`And so do ${more.join(', ')}: forge show ${status.run} TASK`, columns))
  return lines.length > 0 ? [...lines, ''] : []
}

/** The commands that the user can type next, where a run does not continue by itself. */
export function nextSteps({ run, state, tasks, limit, question }: RunStatus): string[] {
  const asking = tasks.filter(task => task.state === 'asks')
  switch (state) {
    case 'asks':
      return [
        ...asking.slice(0, MAX_ASKING_TASKS).map(task => `  ${toAnswer(run, task)}`),
        ...(asking.length === 0 ? [`  forge answer ${run} "…"`] : []),
        ...(asking.length === 0 && tasks.length > 0 && question ? [`  forge resume ${run}`] : []),
      ]
    case 'paused':
      return [`  forge resume ${run}`]
    case 'out of budget':
      return [`  forge resume ${run} ${RAISES[limit ?? 'cost']}`]
    case 'approving':
      return [`  forge attach ${run}`, `  forge resume ${run} --yes`]
    case 'stopped':
    case 'failed':
      return [`  forge show ${run} --journal`, `  forge resume ${run}`]
    case 'unreachable':
      return [`  forge doctor`, `  forge attach ${run}`]
    default:
      return [`  forge show ${run} --journal`]
  }
}

/** The command to type for a task that waits for the user: an answer, or, where something was missing, a resume. */
export const toAnswer = (run: RunId, { id, isLacking }: RunStatus['tasks'][number]): string =>
  isLacking ? `forge resume ${run} ${id}` : `forge answer ${run} ${id} "…"`

/** The option that raises each limit. */
const RAISES = { cost: '--budget DOLLARS', requests: '--requests N', tokens: '--requests N', minutes: '--minutes N' }
/** At most this many asking tasks are shown in full. */
const MAX_ASKING_TASKS = 3

function detach({ run, context }: Following): ExitCode {
  context.out('')
  context.out(`Left alone: the run goes on. forge attach ${run} shows it again, forge stop ${run} ends it.`)
  return EXIT.done
}

function sayToApprove({ run, context }: Following): ExitCode {
  context.out(
    `The plan waits for a yes: forge attach ${run} at a terminal shows it and asks, forge resume ${run} --yes approves it unseen.`,
  )
  return EXIT.asks
}

export function sayLater(run: RunId, context: CommandContext): ExitCode {
  context.out(`The plan waits: forge attach ${run} shows it again, forge stop ${run} ends the run.`)
  return EXIT.asks
}

/** Asks a question on the terminal; undefined where the user ends it without an answer. */
export async function askPerson({ input, signal }: CommandContext, question: string): Promise<string | undefined> {
  const lines = createInterface({ input, output: process.stdout })
  const closed = new Promise<undefined>(resolve => lines.once('close', () => resolve(undefined)))
  try {
    return await Promise.race([lines.question(question, { signal }), closed])
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, POLL_MS)
    signal.addEventListener('abort', done, { once: true })
  })
}
