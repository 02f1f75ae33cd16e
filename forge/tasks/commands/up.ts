/** `forge up` and `forge down`: start and end the local Temporal server and the detached workers. */
import { EXIT, type ExitCode } from '../../../core/failure.ts'
import { openRepository, type Repository } from '../../../core/git/repository.ts'
import { many, visible } from '../../../core/text.ts'
import { namespaceOf, openRuns } from '../engine/client.ts'
import { connectTo, endOurServer, type OpenServer, openServer } from '../engine/engine.ts'
import { queueOf } from '../engine/repository-id.ts'
import { endWorker, ensureWorker, findWorker, findWorkers, openWorkerPlace } from '../engine/workers.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'

export const UP_HELP = `forge up [--ui]: starts what runs need, where it is not there: the Temporal server, and a worker for this repository.

forge run does that by itself. Both stay when the terminal is closed; forge down ends them.

  --ui   with Temporal's own page for the browser. While it is there, other pages in your browser could try to reach it:
         forge down, and forge up without it, when you have seen what you wanted.

A server of your own is used with TEMPORAL_ADDRESS, TEMPORAL_PROFILE or temporal.toml. Where nothing else is found, the
program of the server is downloaded once; FORGE_TEMPORAL_BIN names one that you have.`

const DOWN = 'forge down [--all]'

export const DOWN_HELP = `${DOWN}: ends the worker of this repository, and the local Temporal server where nobody else uses it.

Nothing is lost: what was under way goes on at the next forge up or forge run, where it was. Where workers of other
repositories are on the server, both stay for them; those repositories are named.

  --all   ends the server and the workers of all repositories

With a server of your own (TEMPORAL_ADDRESS), it ends the worker of this repository, and nothing else.`

export async function runUp(argv: string[], { cwd, env, out, err }: CommandContext): Promise<ExitCode> {
  const options = { ui: { type: 'boolean' } } as const
  const { ui = false } = parse(argv, { options, usage: 'forge up [--ui]', words: [0, 0] }).values
  const repository = await repositoryOf(cwd)
  const server = await openServer(env, { start: true, say: err, ui })
  await using _ = closing(await connectTo(server, ({ words }) => err(words)))
  out(`The Temporal server: ${visible(server.address)}, namespace ${visible(server.namespace)}`)
  if (server.running?.ui !== undefined) out(`Temporal's page: http://127.0.0.1:${server.running.ui}`)
  if (!repository) {
    out('No worker: this is no git repository.')
    return EXIT.done
  }
  const worker = await ensureWorker(repository, env, { server, queue: await queueOf(repository) })
  if (!worker) {
    out('No worker: FORGE_WORKER=none.')
    return EXIT.done
  }
  out(`The worker of ${visible(worker.folder)}: process ${worker.process.pid}`)
  return EXIT.done
}

export async function runDown(argv: string[], { cwd, env, out }: CommandContext): Promise<ExitCode> {
  const { all } = parse(argv, { options: { all: { type: 'boolean' } }, usage: DOWN, words: [0, 0] }).values
  const server = await openServer(env, { start: false }).catch(() => undefined)
  const isTheirs = server !== undefined && server.running === undefined
  const repository = await repositoryOf(cwd)
  const own = repository && (await findWorker(await openWorkerPlace(repository, env)))
  const others = isTheirs ? [] : (await findWorkers(env)).filter(({ process }) => process.pid !== own?.process.pid)
  // A server is not ended while other repositories' workers use it, unless they are ended too (--all).
  const users = all ? [] : others.filter(({ address }) => address === server?.address)
  const isServerEnded = !isTheirs && users.length === 0
  const runs = server ? await runsUnderWay(server, isServerEnded ? undefined : repository) : []
  const workers = [...(own ? [own] : []), ...(all ? others : [])]
  await Promise.all(workers.map(endWorker))
  const hasEnded = isServerEnded && (await endOurServer(env))
  if (workers.length > 0) out(`Ended ${many(workers.length, 'worker')}.`)
  if (hasEnded) out('Ended the Temporal server.')
  if (isTheirs) out(`The Temporal server at ${visible(server.address)} is yours, and is left as it is.`)
  if (users.length > 0) {
    const folders = users.map(({ folder }) => visible(folder)).join(', ')
    out(
      `The Temporal server stays, as ${users.length === 1 ? 'another worker is' : `${users.length} other workers are`} on it (${folders}): forge down --all ends all.`,
    )
  }
  if (workers.length === 0 && !hasEnded && !isTheirs && users.length === 0) out('Nothing was there to end.')
  if (runs.length > 0 && (workers.length > 0 || hasEnded))
    out(`${many(runs.length, 'run')} under way, to go on at the next forge up or run: ${visible(runs.join(', '))}`)
  return EXIT.done
}

/** The runs under way, of one repository or of all. */
async function runsUnderWay(server: OpenServer, repository: Repository | undefined): Promise<string[]> {
  try {
    const { Client } = await import('@temporalio/client')
    const connection = await connectTo(server)
    await using _ = closing(connection)
    const client = new Client({ connection, ...namespaceOf(server) })
    return await openRuns(client, repository && (await queueOf(repository)))
  } catch {
    // A server that does not answer is ended all the same.
    return []
  }
}

async function repositoryOf(cwd: string): Promise<Repository | undefined> {
  return await openRepository(cwd).catch(() => undefined)
}

const closing = (connection: { close: () => Promise<void> }): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => connection.close(),
})
