/** Finds the repository of a command, and the run that its argument means. */
import { Failure } from '../../../core/failure.ts'
import { type Objects, openObjects } from '../../../core/git/objects.ts'
import { openRepository, type Repository } from '../../../core/git/repository.ts'
import { visible } from '../../../core/text.ts'
import type { RunId } from '../contract.ts'
import { type FoundRun, listRuns } from '../runs/folder.ts'
import { RunStore } from '../runs/store.ts'
import type { CommandContext } from './context.ts'

export type RunPlace = AsyncDisposable & { repository: Repository; objects: Objects }

/** Opens the repository of the current folder. Throws a {@link Failure} where there is none. */
export async function openPlace({ cwd, signal }: CommandContext): Promise<RunPlace> {
  // Git is started without the signal: Ctrl-C ends only what waits for the user or the server.
  const repository = await openRepository(cwd)
  signal.throwIfAborted()
  const objects = openObjects(repository)
  return { repository, objects, [Symbol.asyncDispose]: () => objects[Symbol.asyncDispose]() }
}

/** Finds a run by its id, the beginning of one, or `last`. Throws a {@link Failure} where none or several match. */
export async function findRun({ repository }: RunPlace, word: string, { env }: CommandContext): Promise<RunId> {
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
