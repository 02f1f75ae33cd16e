/** Follows a run on the terminal, until it ends, waits for a person, or the person turns to something else. */
import { createInterface } from 'node:readline/promises'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visibleLines } from '../../../core/text.ts'
import type { Reference, RunId, RunStatus } from '../contract.ts'
import type { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'
import type { RunServer } from './server.ts'
import { Drawing } from './tree.ts'

export type Following = {
  server: RunServer
  store: RunStore
  run: RunId
  context: CommandContext
  /** Shows a plan to the person and gives whether it is approved; undefined leaves it for later. */
  approve: (plan: Reference, status: RunStatus) => Promise<boolean | undefined>
}

/** How often a run is asked how it is, in milliseconds. */
const PAUSE = 400

/** Follows it; gives the exit code of its end. Ctrl-C only ends the following. */
export async function follow(following: Following): Promise<ExitCode> {
  const { server, run, context } = following
  const { stdout } = process
  const look = () => ({
    width: stdout.columns || 100,
    height: Math.max((stdout.rows || 30) - 1, 6),
    hasColours: context.isTerminal && !context.env.NO_COLOR,
  })
  const drawing = new Drawing(context.draw, look, context.isTerminal)
  for (;;) {
    if (context.signal.aborted) return detach(following)
    const status = await server.status(run)
    drawing.show(status)
    const code = endOf(status)
    if (code !== undefined) return await sayEnd(following, status, code)
    if (status.state === 'approving' && status.plan && context.isTerminal) {
      drawing.leave()
      const isApproved = await following.approve(status.plan, status)
      if (context.signal.aborted) return detach(following)
      if (isApproved === undefined) return sayLater(following)
      if (isApproved) await server.update(run, 'approve', status.plan)
      else await server.update(run, 'stop')
    }
    await pause(context.signal)
  }
}

/** The exit code of a run that does not go on by itself; undefined for one that does. */
export function endOf({ state, tasks }: RunStatus): ExitCode | undefined {
  const isBusy = tasks.some(task => task.state === 'runs')
  switch (state) {
    case 'done':
      return EXIT.done
    case 'failed':
    case 'stopped':
      return EXIT.error
    case 'out of budget':
      return isBusy ? undefined : EXIT.timedOut
    case 'asks':
    case 'paused':
      return isBusy ? undefined : EXIT.stuck
    default:
      return undefined
  }
}

async function sayEnd({ store, run, context }: Following, status: RunStatus, code: ExitCode): Promise<ExitCode> {
  if (code === EXIT.done) {
    context.out(`Done. Have a look with forge land ${run}, which merges only what you agree to.`)
    return code
  }
  for (const line of await questionsOf(store, status)) context.out(line)
  for (const line of nextSteps(status)) context.out(line)
  return code
}

/** All that a run asks, and its report, as a person reads it. */
export async function questionsOf(store: RunStore, status: RunStatus): Promise<string[]> {
  const lines: string[] = []
  const tell = async (heading: string, reference: Reference) => {
    const text = visibleLines((await store.readText(reference)).trim())
    lines.push('', heading, ...text.split('\n').map(line => `  ${line}`))
  }
  if (status.report) await tell('Report', status.report)
  if (status.question) await tell('The run asks', status.question)
  for (const { id, state, question } of status.tasks)
    if (state === 'asks' && question) await tell(`${id} asks`, question)
  return lines.length > 0 ? [...lines, ''] : []
}

/** What a person can type next, where a run does not go on by itself. */
export function nextSteps({ run, state, tasks }: RunStatus): string[] {
  const asking = tasks.filter(task => task.state === 'asks')
  switch (state) {
    case 'asks':
      return asking.length > 0
        ? asking.slice(0, 5).map(({ id }) => `  forge answer ${run} ${id} "…"`)
        : [`  forge answer ${run} "…"`]
    case 'paused':
      return [`  forge resume ${run}`]
    case 'out of budget':
      return [`  forge resume ${run} --budget DOLLARS`]
    default:
      return [`  forge show ${run} --journal`]
  }
}

function detach({ run, context }: Following): ExitCode {
  context.out('')
  context.out(`Left alone: the run goes on. forge attach ${run} shows it again, forge stop ${run} ends it.`)
  return EXIT.done
}

function sayLater({ run, context }: Following): ExitCode {
  context.out(`The plan waits: forge attach ${run} shows it again, forge stop ${run} ends the run.`)
  return EXIT.stuck
}

/** Asks a person on the terminal; undefined where they end it without an answer. */
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
    const timer = setTimeout(done, PAUSE)
    signal.addEventListener('abort', done, { once: true })
  })
}

/** For a run that the server does not know: it has never been there, or the server has lost it. */
export const unknownRun = (run: RunId): Failure =>
  new Failure(`The run ${run} is not under way: forge resume ${run} submits it again, and what is done stays done.`)
