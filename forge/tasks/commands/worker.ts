/** `forge worker`: works on the runs of one repository until it is ended. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import { blackOut } from '../../ai/secrets.ts'
import { readSettings } from '../../ai/settings.ts'
import { openServer, queueOf } from '../engine/engine.ts'
import { logTo, openWorkerPlace, WorkerClaim } from '../engine/workers.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'

export const HELP = `forge worker: works on the runs of this repository, until it is ended.

A run starts a worker by itself where there is none. This one stays in the foreground: for a machine that does nothing
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
  // Whoever started it from a terminal that is gone gets the reason from the log.
  try {
    await using claim = await WorkerClaim.take(place)
    const [server, queue, { runWorker }] = await Promise.all([
      openServer(env, { start: !detached, say: log }),
      queueOf(repository),
      import('../engine/worker.ts'),
    ])
    const release = () => claim[Symbol.asyncDispose]()
    drain.addEventListener('abort', release, { once: true })
    const onReady = async () => {
      await claim.announce(repository, env, { server, queue })
      log(`Works on the runs of ${visible(cwd)}, by the Temporal server at ${visible(server.address)}.`)
    }
    await runWorker({ repository, server, queue, env, signal, drain, log, onReady })
    log(drain.aborted ? 'Drained: a newer worker is there.' : 'Ended.')
  } catch (error) {
    if (!detached || signal.aborted) throw error
    log(error instanceof Failure ? error.message : `${(error as Error).message}: this was not expected.`)
    return EXIT.error
  }
  if (signal.aborted) throw signal.reason
  return EXIT.done
}

/** What a provider or a server says of an error may have a key in it. */
async function withoutKeys(log: (line: string) => void, env: CommandContext['env']): Promise<(line: string) => void> {
  // Settings that can't be read are told of by the first activity that needs them.
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
