/** A fetch, as plain `git fetch` does it: from one remote or from all. What is fetched moves no branch. */
import { Failure } from '../../../core/failure.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { type RemoteSettings, type Remotes, readRemotes, remoteNamed, verifyKeepsBranches } from './remotes.ts'
import { Stopped, type Transfers, whyFailed } from './transfer.ts'

const FETCH = ['--progress', '--no-auto-maintenance', '--no-recurse-submodules']

/** The remotes that a fetch goes to. Throws a {@link Failure} where there is none. */
export function remotesToFetch(remotes: Remotes, name: string | undefined): RemoteSettings[] {
  if (name !== undefined) return [remoteNamed(remotes, name)]
  const wanted = remotes.all.filter(({ isSkipped }) => !isSkipped)
  if (wanted.length === 0)
    throw new Failure('There is no remote to fetch from: add one with git remote add, and fetch again.')
  return wanted
}

/** Fetches, and says what came. Where some of several remotes fail, the others are fetched all the same. */
export async function fetchFrom(transfers: Transfers, name: string | undefined): Promise<string> {
  const { repository } = transfers.room.objects
  const remotes = await readRemotes(repository)
  const wanted = remotesToFetch(remotes, name)
  const before = await fetchedRefs(repository)
  const failed: string[] = []
  const fetched: string[] = []
  try {
    await transfers.begin('Fetching', async signal => {
      for (const remote of wanted) {
        try {
          await fetchOne(transfers, remotes, remote, { signal, isFirst: fetched.length === 0 })
          fetched.push(visiblePath(remote.name))
        } catch (error) {
          if (!(error instanceof Failure) || error instanceof Stopped || wanted.length === 1) throw error
          failed.push(error.message)
        }
      }
    })
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    return `The fetch was stopped: ${whatCame(before, await fetchedRefs(repository))}.`
  }
  const came = whatCame(before, await fetchedRefs(repository))
  const from = fetched.join(' and ')
  if (failed.length > 0)
    throw new Failure(`${failed.join(' ')}${from === '' ? '' : ` The rest was fetched from ${from}: ${came}.`}`)
  return `Fetched from ${from}: ${came}.`
}

/** Fetches from one remote: all its refs, or none. Throws a {@link Failure} in one sentence. */
export async function fetchOne(
  transfers: Transfers,
  remotes: Remotes,
  remote: RemoteSettings,
  { signal, isFirst }: { signal: AbortSignal; isFirst: boolean },
): Promise<void> {
  verifyKeepsBranches(remote)
  // The list of what was fetched last is of all remotes that are fetched together.
  const args = ['fetch', ...FETCH, ...(isFirst ? [] : ['--append'])]
  const name = ['--', asText(remote.name)]
  try {
    try {
      await transfers.run([...args, '--atomic', ...name], { remotes, signal })
    } catch (error) {
      // A single ref that can't be kept does not keep the others from coming, as in any fetch.
      if (!(error instanceof GitError && isAboutRef(error.stderr))) throw error
      await transfers.run([...args, ...name], { remotes, signal })
    }
  } catch (error) {
    if (error instanceof GitError && isAboutRef(error.stderr)) throw whyNotKept(error, remotes, remote)
    throw whyFailed(error, remotes, remote.name)
  }
  // What came may be much, and git was told to leave it as it is.
  transfers.room.maintenance.afterCommit()
}

const isAboutRef = (stderr: string): boolean => /cannot lock ref|exists; cannot create|\[rejected\]/.test(stderr)

function whyNotKept(error: GitError, remotes: Remotes, { name }: RemoteSettings): unknown {
  const words = visiblePath(name)
  if (/exists; cannot create/.test(error.stderr))
    return new Failure(
      `${words} has a branch whose name is in the way of one that it had before: the rest was fetched; run git remote prune ${words}, and fetch again.`,
    )
  const [rejected = ''] = /^.*\[rejected\].*$/m.exec(error.stderr) ?? []
  if (rejected === '') return whyFailed(error, remotes, name)
  const line = visiblePath(rejected.replace(/\s+/g, ' ').trim())
  return new Failure(`What ${words} has now does not replace what is here (${line}): the rest was fetched.`)
}

/** What a fetch may bring. */
async function fetchedRefs(repository: Repository): Promise<Map<RefName, Oid>> {
  const refs = await listRefs(repository, ['refs/remotes/', 'refs/tags/'])
  return new Map(refs.filter(({ symbolic }) => symbolic === undefined).map(({ name, oid }) => [name, oid]))
}

function whatCame(before: ReadonlyMap<RefName, Oid>, after: ReadonlyMap<RefName, Oid>): string {
  const names = [...after.keys()]
  const isTag = (name: RefName) => name.startsWith('refs/tags/')
  const made = names.filter(name => !before.has(name))
  const moved = names.filter(name => before.has(name) && before.get(name) !== after.get(name))
  const gone = [...before.keys()].filter(name => !after.has(name))
  const [tags, branches] = [made.filter(isTag).length, made.filter(name => !isTag(name)).length]
  const parts = [
    ...(moved.length > 0 ? [`${branchesIn(moved.length)} moved`] : []),
    ...(branches > 0 ? [`${branchesIn(branches)} new`] : []),
    ...(tags > 0 ? [`${many(tags, 'tag')} new`] : []),
    ...(gone.length > 0 ? [`${gone.length.toLocaleString('en')} gone there`] : []),
  ]
  return parts.length === 0 ? 'nothing new' : parts.join(', ')
}

const branchesIn = (count: number): string => (count === 1 ? '1 branch' : `${count.toLocaleString('en')} branches`)
