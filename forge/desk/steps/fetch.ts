/** A fetch, as with `git fetch`: from one remote or from all. It moves no branch. */
import { Failure } from '../../../core/failure.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { many, visiblePath } from '../../../core/text.ts'
import { type RemoteSettings, type Remotes, readRemotes, remoteNamed, verifyKeepsBranches } from './remotes.ts'
import { Stopped, type Transfers, whyFailed } from './transfer.ts'

const FETCH = ['--progress', '--no-auto-maintenance', '--no-recurse-submodules']

/** The remotes to fetch from. Throws a {@link Failure} if there is none. */
export function remotesToFetch(remotes: Remotes, name: string | undefined): RemoteSettings[] {
  if (name !== undefined) return [remoteNamed(remotes, name)]
  const wanted = remotes.all.filter(({ isSkipped }) => !isSkipped)
  if (wanted.length === 0)
    throw new Failure('There is no remote to fetch from: add one with git remote add, and fetch again.')
  return wanted
}

/** Fetches, and returns what was fetched, in words. If one of several remotes fails, the others are still fetched. */
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
  // Later remotes append to FETCH_HEAD, so that it lists all of them.
  const args = ['fetch', ...FETCH, ...(isFirst ? [] : ['--append'])]
  const name = ['--', asText(remote.name)]
  try {
    try {
      await transfers.run([...args, '--atomic', ...name], { remotes, signal })
    } catch (error) {
      // If a single ref can't be written, fetches again without --atomic, so that the others are.
      if (!(error instanceof GitError && isAboutRef(error.stderr))) throw error
      await transfers.run([...args, ...name], { remotes, signal })
    }
  } catch (error) {
    if (error instanceof GitError && isAboutRef(error.stderr)) throw whyNotKept(error, remotes, remote)
    throw whyFailed(error, remotes, remote.name)
  }
  // Much may have been fetched, and git was told not to run its maintenance.
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

/** The refs that a fetch may change. */
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
