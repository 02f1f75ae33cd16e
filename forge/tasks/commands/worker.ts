/** `forge worker`: works on the runs of one repository until it is ended. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository, type Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import { blackOut } from '../../ai/secrets.ts'
import { readSettings } from '../../ai/settings.ts'
import { openRuns } from '../engine/client.ts'
import { connectTo, type OpenServer, openServer } from '../engine/engine.ts'
import { IdleWatch } from '../engine/idle.ts'
import { queueOf } from '../engine/repository-id.ts'
import { logTo, openWorkerPlace, WorkerClaim } from '../engine/workers.ts'
import { readLastStatus } from '../runs/plans.ts'
import { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'
import { isResting } from './look.ts'
import { parse } from './options.ts'

export const HELP = `forge worker: works on the runs of this repository, until it is ended.

A run starts a worker by itself where there is none, and that one ends when there was nothing to do for 15 minutes. This one stays in the foreground: for a machine that does nothing
else, or to see what a worker says. The models' keys are read from the environment and from forge.env.

Ctrl-C ends it within seconds; what was under way is done again by the next worker. Asked by SIGUSR2, it takes nothing
new, finishes what it does, and ends.`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { detached: { type: 'boolean' } } as const
  const { detached } = parse(argv, { options, usage: 'forge worker', words: [0, 0] }).values
  const { cwd, env, out, signal } = context
  const repository = await openRepository(cwd)
  const place = await openWorkerPlace(repository, env)
  const drain = drainSignal()
  const log = await withoutKeys(detached ? logTo(place.log) : out, env)
  // The terminal that started the worker may be gone, so the reason is also logged.
  try {
    await using claim = await WorkerClaim.take(place)
    const [server, queue, { runWorker }] = await Promise.all([
      openServer(env, { start: !detached, say: log }),
      queueOf(repository),
      import('../engine/worker.ts'),
    ])
    const quit = new AbortController()
    const ending = AbortSignal.any([drain, quit.signal])
    using idle = new IdleWatch({
      isNeeded: () => hasWorkingRuns(repository, server, queue),
      end: () => quit.abort(),
    })
    const release = () => claim[Symbol.asyncDispose]()
    ending.addEventListener('abort', release, { once: true })
    const onReady = async () => {
      await claim.announce(repository, env, { server, queue })
      // A worker started in a terminal stays until the user ends it.
      if (detached) idle.begin()
      log(`Works on the runs of ${visible(cwd)}, by the Temporal server at ${visible(server.address)}.`)
    }
    await runWorker({ repository, server, queue, env, signal, drain: ending, log, onReady, idle })
    log(drain.aborted ? 'Drained: a newer worker is there.' : quit.signal.aborted ? ENDED_IDLE : 'Ended.')
  } catch (error) {
    if (!detached || signal.aborted) throw error
    log(error instanceof Failure ? error.message : `${(error as Error).message}: this was not expected.`)
    return EXIT.error
  }
  if (signal.aborted) throw signal.reason
  return EXIT.done
}

const ENDED_IDLE = 'Ended, as there was nothing to do: the next command that needs a worker starts one.'

/** Whether a queue has a run under way that may continue without the user. */
async function hasWorkingRuns(repository: Repository, server: OpenServer, queue: string): Promise<boolean> {
  const { Client } = await import('@temporalio/client')
  const connection = await connectTo(server)
  const objects = openObjects(repository)
  try {
    const open = await openRuns(new Client({ connection, namespace: server.namespace }), queue)
    const last = await Promise.all(open.map(run => readLastStatus(new RunStore(objects, run))))
    return last.some(status => !status || !isResting(status))
  } finally {
    await objects[Symbol.asyncDispose]()
    await connection.close()
  }
}

/** Gives a log function that blacks out keys, which messages of providers and servers may contain. */
async function withoutKeys(log: (line: string) => void, env: CommandContext['env']): Promise<(line: string) => void> {
  // Unreadable settings are reported by the first activity that needs them.
  const secrets = await readSettings(env).then(
    settings => settings.secrets,
    () => [],
  )
  const own = env.TEMPORAL_API_KEY ? [env.TEMPORAL_API_KEY] : []
  return line => log(blackOut(line, [...secrets, ...own]))
}

function drainSignal(): AbortSignal {
  const control = new AbortController()
  process.on('SIGUSR2', () => control.abort())
  return control.signal
}
