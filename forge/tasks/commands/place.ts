/** Finds the repository of a command, and the run that its argument means. */
import { Failure } from '../../../core/failure.ts'
import { type Objects, openObjects } from '../../../core/git/objects.ts'
import { openRepository, type Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import type { Oid, RunId } from '../contract.ts'
import { HubTrouble } from '../hub/remote.ts'
import { SharedRuns } from '../hub/shared-runs.ts'
import { type FoundRun, listRuns } from '../runs/folder.ts'
import { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'

/** `hub`: the hub of the repository, by which other machines work on the same runs; undefined where there is none. */
export type RunPlace = AsyncDisposable & {
  repository: Repository
  objects: Objects
  hub: () => Promise<SharedRuns | undefined>
}

/** Opens the repository of the current folder. Throws a {@link Failure} where there is none. */
export async function openPlace({ cwd, signal }: CommandContext): Promise<RunPlace> {
  // Git is started without the signal: Ctrl-C ends only what waits for the user or the server.
  const repository = await openRepository(cwd)
  signal.throwIfAborted()
  const objects = openObjects(repository)
  const opening = SharedRuns.open(objects)
  // A wrong setting is reported by the first command that needs the hub.
  opening.catch(() => undefined)
  const close = async () => {
    const hub = await opening.catch(() => undefined)
    hub?.[Symbol.dispose]()
    await objects[Symbol.asyncDispose]()
  }
  return { repository, objects, hub: () => opening, [Symbol.asyncDispose]: close }
}

/** Fetches all runs from the hub, if there is one. A hub that does not answer is only a warning: see `err`. */
export async function fetchRuns(place: RunPlace, { err }: Pick<CommandContext, 'err'>): Promise<void> {
  const hub = await place.hub()
  try {
    await hub?.fetchAll()
  } catch (error) {
    if (!(error instanceof HubTrouble)) throw error
    err(`${error.message} What follows is as this machine knows it.`)
  }
}

/** Brings what this command has written of a run to the hub, with `commits` that it builds on. Throws a Failure. */
export async function pushRun(place: RunPlace, run: RunId, commits: readonly Oid[] = []): Promise<void> {
  const shared = (await place.hub())?.of(run)
  if (!shared) return
  shared.carry(commits)
  try {
    await shared.push()
  } catch (error) {
    if (!(error instanceof HubTrouble)) throw error
    throw new Failure(`${error.message} Other machines can't see what you asked for until it does: try again.`)
  }
}

/** Finds a run by its id, the beginning of one, or `last`. Throws a {@link Failure} where none or several match. */
export async function findRun(place: RunPlace, word: string, context: CommandContext): Promise<RunId> {
  await fetchRuns(place, context)
  const run = await findOwn(place, word, context)
  await (await place.hub())?.of(run).nameRefs()
  return run
}

async function findOwn({ repository }: RunPlace, word: string, { env }: CommandContext): Promise<RunId> {
  const runs = await listRuns(repository, env)
  if (word === 'last' && runs[0]) return runs[0].run
  const meant = runs.filter(({ run }) => run === word || run.startsWith(word) || run.endsWith(`-${word}`))
  const [only] = meant.filter(({ run }) => run === word).concat(meant)
  if (only && (meant.length === 1 || only.run === word)) return only.run
  if (meant.length === 0) throw new Failure(`There is no run ${visible(word)} in this repository: see forge runs.`)
  throw new Failure(`${visible(word)} could be ${meant.length} runs (${listed(meant)}): write more of it.`)
}

const listed = (runs: FoundRun[]): string =>
  `${runs
    .slice(0, 3)
    .map(({ run }) => run)
    .join(', ')}${runs.length > 3 ? ' …' : ''}`

export const openStore = ({ objects }: RunPlace, run: RunId): RunStore => new RunStore(objects, run)
