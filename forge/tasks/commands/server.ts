/** Access of the commands to a repository's runs on the Temporal server. */
import { Failure } from '../../../core/failure.ts'
import type { RunId, RunInput, RunStatus, RunUpdates } from '../contract.ts'
import { forgetRun, standingOf, startRun, statusOfRun, updateRun, type WorkflowStanding } from '../engine/client.ts'
import { openEngine } from '../engine/engine.ts'
import { unservedIn } from '../engine/unserved.ts'
import { ensureWorker, findWorker, openWorkerPlace } from '../engine/workers.ts'
import { HubTrouble } from '../hub/remote.ts'
import type { CommandContext } from './context.ts'
import { pushRun, type RunPlace } from './place.ts'

/** All that a command asks of a run. A refusal by the run is thrown as a Failure with its message. */
export type RunServer = AsyncDisposable & {
  status: (run: RunId) => Promise<RunStatus>
  update: <Name extends keyof RunUpdates>(
    run: RunId,
    name: Name,
    ...args: Parameters<RunUpdates[Name]>
  ) => Promise<void>
  submit: (input: RunInput) => Promise<void>
  /** The state of the run's workflow on the server, without asking the run itself. */
  standing: (run: RunId) => Promise<WorkflowStanding>
  /** Whether a worker may answer for a run: one of this machine, or any on a shared server. */
  hasWorker: () => Promise<boolean>
  /** A sentence for each part of the work that waits as no machine serves it. */
  unserved: () => Promise<string[]>
  /** Ends the run on the server only, so that it can be submitted again. */
  forget: (run: RunId) => Promise<void>
}

/** Connects to the Temporal server. `start`: starts a missing server or worker. Throws a Failure if that fails. */
export async function openRunServer(
  place: RunPlace,
  { env, err }: CommandContext,
  { start }: { start: boolean },
): Promise<RunServer> {
  const { repository } = place
  const engine = await openEngine(repository, env, { start, say: err })
  const { client, queue, server } = engine
  // The worker that was found may be about to end because it is idle: then the next one is started.
  const ensure = async () => {
    if (start) await ensureWorker(repository, env, { server, queue })
  }
  return {
    hasWorker: async () =>
      server.running === undefined || (await findWorker(await openWorkerPlace(repository, env))) !== undefined,
    status: async run => {
      const status = await statusOfRun(client, run)
      await fetchNamed(place, status)
      return status
    },
    update: async (run, name, ...args) => {
      const [first, ...rest] = args
      // The run may be on any machine, and needs what this command has written.
      await pushRun(place, run)
      await updateRun(client, run, name, [first, ...rest])
      await ensure()
    },
    submit: async input => {
      await pushRun(place, input.run, [input.base])
      await startRun(client, queue, input)
      await ensure()
    },
    unserved: once(() => unservedIn(client, queue)),
    forget: run => forgetRun(client, run, 'It is submitted again.'),
    standing: run => standingOf(client, run),
    [Symbol.asyncDispose]: engine.close,
  }
}

/** Milliseconds for which the answer about queues counts. */
const UNSERVED_MS = 3000

/** Asks at most once in UNSERVED_MS, as a followed run is looked at several times a second. */
function once(ask: () => Promise<string[]>): () => Promise<string[]> {
  let [last, answer] = [Number.NEGATIVE_INFINITY, Promise.resolve<string[]>([])]
  return () => {
    if (performance.now() - last < UNSERVED_MS) return answer
    last = performance.now()
    answer = ask()
    return answer
  }
}

/** Fetches what a status names and this machine lacks, since another one has made it. */
async function fetchNamed(place: RunPlace, { run, plan, question, report }: RunStatus): Promise<void> {
  const hub = await place.hub()
  if (!hub) return
  const named = [plan, question, report].flatMap(it => it?.oid ?? [])
  const found = await Promise.all(named.map(oid => place.objects.info(oid)))
  if (found.every(info => info !== undefined)) return
  try {
    await hub.of(run).fetch()
  } catch (error) {
    // What is missing is then reported where it is read.
    if (!(error instanceof HubTrouble)) throw error
  }
}

/** Opens the server if it is running; gives a Failure where it is not, or does not answer. */
export async function findRunServer(place: RunPlace, context: CommandContext): Promise<RunServer | Failure> {
  try {
    return await openRunServer(place, context, { start: false })
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}
