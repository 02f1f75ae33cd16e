/** The runs of a repository on the Temporal server, as the commands speak to them. */
import { Failure } from '../../../core/failure.ts'
import type { RunId, RunInput, RunStatus, RunUpdates } from '../contract.ts'
import { forgetRun, standingOf, startRun, statusOfRun, updateRun, type WorkflowStanding } from '../engine/client.ts'
import { openEngine } from '../engine/engine.ts'
import { ensureWorker, findWorker, openWorkerPlace } from '../engine/workers.ts'
import type { CommandContext } from './context.ts'
import type { RunPlace } from './place.ts'

/** All that a command asks of a run. What the run refuses is thrown as a Failure in its own words. */
export type RunServer = AsyncDisposable & {
  status: (run: RunId) => Promise<RunStatus>
  update: <Name extends keyof RunUpdates>(
    run: RunId,
    name: Name,
    ...args: Parameters<RunUpdates[Name]>
  ) => Promise<void>
  submit: (input: RunInput) => Promise<void>
  /** The server's own word on the run, without asking the run itself. */
  standing: (run: RunId) => Promise<WorkflowStanding>
  /** Whether a worker may answer for a run: one of this machine, or any of a server that others work on, too. */
  hasWorker: () => Promise<boolean>
  /** Ends it on the server alone, so that it can be submitted again. */
  forget: (run: RunId) => Promise<void>
}

/**
 * Opens the server; `start` starts one, and a worker, where there is none. Throws a Failure where that can't be done.
 */
export async function openRunServer(
  { repository }: RunPlace,
  { env, err }: CommandContext,
  { start }: { start: boolean },
): Promise<RunServer> {
  const engine = await openEngine(repository, env, { start, say: err })
  const { client, queue, server } = engine
  // A worker that was found may just be ending, as it had nothing to do: what was said is for the next one then.
  const ensure = async () => {
    if (start) await ensureWorker(repository, env, { server, queue })
  }
  return {
    hasWorker: async () =>
      server.running === undefined || (await findWorker(await openWorkerPlace(repository, env))) !== undefined,
    status: run => statusOfRun(client, run),
    update: async (run, name, ...args) => {
      const [first, ...rest] = args
      await updateRun(client, run, name, [first, ...rest])
      await ensure()
    },
    submit: async input => {
      await startRun(client, queue, input)
      await ensure()
    },
    forget: run => forgetRun(client, run, 'It is submitted again.'),
    standing: run => standingOf(client, run),
    [Symbol.asyncDispose]: engine.close,
  }
}

/** The server where one runs, without starting any; a sentence where there is none, or it does not answer. */
export async function findRunServer(place: RunPlace, context: CommandContext): Promise<RunServer | Failure> {
  try {
    return await openRunServer(place, context, { start: false })
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}
