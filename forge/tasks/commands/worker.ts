/** `forge worker`: works on the runs of one repository until it is ended. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository, type Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import { whyNoContainer } from '../../ai/closed-container.ts'
import { blackOut } from '../../ai/secrets.ts'
import { readSettings } from '../../ai/settings.ts'
import { namespaceOf, openRuns } from '../engine/client.ts'
import { connectTo, type OpenServer, openServer } from '../engine/engine.ts'
import { IdleWatch } from '../engine/idle.ts'
import { queueOf } from '../engine/repository-id.ts'
import { logTo, openWorkerPlace, WorkerClaim } from '../engine/workers.ts'
import { PARTS, type Part } from '../run/queues.ts'
import { readLastStatus } from '../runs/plans.ts'
import { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'
import { isResting } from './look.ts'
import { parse, wrong } from './options.ts'

const USAGE = 'forge worker [--only models|checks]'

export const HELP = `${USAGE}: works on the runs of this repository, until it is ended.

A run starts a worker by itself where there is none, and that one ends when there was nothing to do for 15 minutes. This one stays in the foreground: for a machine that does nothing
else, or to see what a worker says. The models' keys are read from the environment and from forge.env.

  --only models   asks models and goes on with runs, and runs no checks: for a machine without docker
  --only checks   runs checks alone: for a machine without the models' keys

FORGE_WORKER=models, checks or none in forge.env says the same of the worker that forge run starts.

Ctrl-C ends it within seconds; what was under way is done again by the next worker. Asked by SIGUSR2, it takes nothing
new, finishes what it does, and ends.`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { detached: { type: 'boolean' }, only: { type: 'string' } } as const
  const { detached, only: asked } = parse(argv, { options, usage: USAGE, words: [0, 0] }).values
  if (asked !== undefined && !isPart(asked)) throw wrong('--only wants models or checks', USAGE)
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
    const only = asked ?? (await partOf(env))
    await verifyPart(only, context)
    const isShared = server.running === undefined
    await runWorker({ repository, only, isShared, server, queue, env, signal, drain: ending, log, onReady, idle })
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

const isPart = (word: string): word is Part => (PARTS as readonly string[]).includes(word)

/** The part of the work that the settings give this machine; undefined for all. */
async function partOf(env: CommandContext['env']): Promise<Part | undefined> {
  const { worker } = await readSettings(env)
  return worker === 'none' ? undefined : worker
}

/** Verifies that this machine has what a part of the work needs, which a worker with that part alone is for. */
async function verifyPart(only: Part | undefined, { env, signal }: CommandContext): Promise<void> {
  if (only === undefined) return
  const settings = await readSettings(env)
  const missing = only === 'models' ? settings.missing(settings.modelsOf('generation')[0]) : undefined
  if (missing) throw new Failure(missing)
  const why = only === 'checks' ? await whyNoContainer(signal) : undefined
  if (why) throw new Failure(`The worker did not begin: checks need ${why}`)
}

/** Whether a queue has a run under way that may continue without the user. */
async function hasWorkingRuns(repository: Repository, server: OpenServer, queue: string): Promise<boolean> {
  const { Client } = await import('@temporalio/client')
  const connection = await connectTo(server)
  const objects = openObjects(repository)
  try {
    const open = await openRuns(new Client({ connection, ...namespaceOf(server) }), queue)
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
