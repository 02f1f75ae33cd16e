/** `forge pause`, `forge resume` and `forge stop`, for a whole run or one of its tasks. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import type { ApprovedCommands } from '../checks/approved.ts'
import type { Limits, RunInput, RunStatus } from '../contract.ts'
import { UnknownRun, type WorkflowStanding } from '../engine/client.ts'
import { readLastStatus, readRunInput } from '../runs/plans.ts'
import type { RunStore } from '../runs/store.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { hasEnded, isOfOtherVersion, lookAtRun } from './look.ts'
import { count, dollars, parse } from './options.ts'
import { findRun, openPlace, openStore, type RunPlace } from './place.ts'
import { openRunServer, type RunServer } from './server.ts'

const PAUSE_USAGE = 'forge pause RUN [TASK]'
const RESUME = 'forge resume RUN [TASK] [--budget DOLLARS] [--requests N] [--minutes N] [--yes]'
const STOP = 'forge stop RUN [TASK]'

export const PAUSE_HELP = `${PAUSE_USAGE}

Begins nothing new in a run, or in one task. What has been sent to a model is waited for, and kept.`

export const RESUME_HELP = `${RESUME}

Goes on with a run that was paused, is out of budget, or asks; or with one task. A run that was stopped, or that the
server does not know any more, is submitted again: what was done is found in git, and is not paid for twice.

  --budget DOLLARS   what all of it may cost from now on, what was spent included; likewise --requests and --minutes
  --yes              approve the plan and its commands`

export const STOP_HELP = `${STOP}

Ends a run, or one task: nothing more of it is begun or sent, and what waits for that task does not begin. Branches and
the journal stay, so that forge resume can take it up again; forge runs --prune lets go of them.`

export async function runPause(argv: string[], context: CommandContext): Promise<ExitCode> {
  return await tell('pause', parse(argv, { options: {}, usage: PAUSE_USAGE, words: [1, 2] }).positionals, context)
}

export async function runStop(argv: string[], context: CommandContext): Promise<ExitCode> {
  return await tell('stop', parse(argv, { options: {}, usage: STOP, words: [1, 2] }).positionals, context)
}

const SAYS = { pause: 'is paused', stop: 'is stopped' }

async function tell(what: 'pause' | 'stop', [word = '', task]: string[], context: CommandContext): Promise<ExitCode> {
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  await using server = await openRunServer(place, context, { start: true })
  await server.update(run, what, task).catch(async error => {
    if (!(error instanceof UnknownRun)) throw error
    const { status } = await lookAtRun(server, openStore(place, run), context.env)
    if (!status || !hasEnded(status)) throw error
    throw new Failure(`The run ${run} has ended already: forge show ${run} says how.`)
  })
  context.out(`${task === undefined ? `The run ${run}` : visible(task)} ${SAYS[what]}.`)
  return EXIT.done
}

/** Says what can be done with a run that has ended. A run that was only to make a plan has no result to land. */
const whyDone = ({ run, result }: RunStatus): string =>
  result === undefined
    ? `The run ${run} has made its plan, and that was all: forge run with the file that it is in does it.`
    : `The run ${run} is done: forge land ${run} shows and merges it.`

const RESUME_OPTIONS = {
  budget: { type: 'string' },
  requests: { type: 'string' },
  minutes: { type: 'string' },
  yes: { type: 'boolean' },
} as const

export async function runResume(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values, positionals } = parse(argv, { options: RESUME_OPTIONS, usage: RESUME, words: [1, 2] })
  const [word = '', task] = positionals
  const cost = dollars(values.budget, '--budget')
  const requests = count(values.requests, '--requests')
  const minutes = count(values.minutes, '--minutes')
  const more: Partial<Limits> = {
    ...(cost !== undefined && { cost }),
    ...(requests !== undefined && { requests }),
    ...(minutes !== undefined && { minutes }),
  }
  await using place = await openPlace(context)
  const run = await findRun(place, word, context)
  const approved = openApproved(place, run, context)
  if (values.yes) {
    await readAsked(place, approved)
    await approved.approveAll()
  }
  await using server = await openRunServer(place, context, { start: true })
  const going = `${task === undefined ? `The run ${run}` : visible(task)} goes on: forge attach ${run} shows it.`
  const goesOn = await canGoOn(server, openStore(place, run))
  const isRaised = Object.keys(more).length > 0
  if (goesOn.is === 'no' && goesOn.last?.state === 'done') throw new Failure(whyDone(goesOn.last))
  const before = goesOn.is === 'yes' ? (await server.status(run)).state : undefined
  if (goesOn.is !== 'yes' || isRaised) {
    const input = await readAsked(place, approved)
    const limits = { ...input.limits, ...more }
    await approved.approveAsking({ ...input, limits })
    if (goesOn.is !== 'yes') {
      if (goesOn.is === 'elsewhere') await server.forget(run)
      await server.submit({ ...input, limits, ...(values.yes && { isApproved: true }) })
      context.out(`${going} ${whyAgain(goesOn)}: it was submitted again, and what is done stays done.`)
      return EXIT.done
    }
    await server.update(run, 'raise', more)
  }
  const { state, plan } = await server.status(run)
  // A run that had reached a limit continues as soon as the limit is raised; in the states listed here, the run has to
  // be resumed as well.
  const isEnough = isRaised && task === undefined && !['paused', 'asks', 'approving'].includes(before ?? state)
  if (isEnough) {
    context.out(going)
    return EXIT.done
  }
  if (values.yes && state === 'approving' && plan) await server.update(run, 'approve', plan)
  else await server.update(run, 'resume', task)
  context.out(going)
  return EXIT.done
}

/** Reads what a run was asked for, to be signed anew: what a hub has brought has to be signed already. */
async function readAsked(place: RunPlace, approved: ApprovedCommands): Promise<RunInput> {
  const input = await readRunInput(approved.store)
  if (!(await place.hub()) || (await approved.hasEverAsked(input))) return input
  throw new Failure(
    `You have not asked for ${input.run} as it is in this repository, so it is not resumed: see forge run.${await approved.ofStrangers()}`,
  )
}

type GoesOn = { is: 'yes' | 'elsewhere' } | { is: 'no'; standing: WorkflowStanding; last?: RunStatus }

/** Whether a run can continue. `elsewhere`: it is under way, but only another version of Forge can continue it. */
async function canGoOn(server: RunServer, store: RunStore): Promise<GoesOn> {
  const { run } = store
  const standing = await server.standing(run)
  if (standing.is === 'open') return { is: (await isOfOtherVersion(server, run)) ? 'elsewhere' : 'yes' }
  const last = await readLastStatus(store)
  return { is: 'no', standing, last }
}

/** Why a run was submitted again. */
function whyAgain(goesOn: Exclude<GoesOn, { is: 'yes' }>): string {
  if (goesOn.is !== 'no') return 'Another version of Forge had begun it'
  const { standing, last } = goesOn
  if (last?.state === 'stopped') return 'It was stopped'
  if (standing.is === 'unknown') return 'The server did not know it any more'
  return `It was ${standing.is === 'completed' ? 'over' : standing.is} on the server`
}
