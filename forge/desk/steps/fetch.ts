/**
 * A fetch, as with `git fetch --prune`: from one remote or from all. It moves no local branch and deletes no tag. The
 * removal of remote branches that are gone is recorded as an operation.
 */
import { Failure } from '../../../core/failure.ts'
import { listRefs, type RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { firstOf, many, visiblePath } from '../../../core/text.ts'
import { Stopped } from './plannings.ts'
import {
  prunes,
  type RemoteSettings,
  type Remotes,
  readRemotes,
  remoteNamed,
  trackedRef,
  verifyKeepsBranches,
} from './remotes.ts'
import { type Transfers, whyFailed } from './transfer.ts'

const FETCH = ['--progress', '--no-auto-maintenance', '--no-recurse-submodules']

/** The remotes to fetch from. Throws a {@link Failure} if there is none. */
export function remotesToFetch(remotes: Remotes, name: string | undefined): RemoteSettings[] {
  if (name !== undefined) return [remoteNamed(remotes, name)]
  const wanted = remotes.all.filter(({ isSkipped }) => !isSkipped)
  if (wanted.length === 0)
    throw new Failure('There is no remote to fetch from: add one with git remote add, and fetch again.')
  return wanted
}

/**
 * Fetches, and removes remote branches that are gone, where {@link prunes} allows it. Returns what was fetched, in
 * words, and what was removed, which can be undone: '' for nothing. If one of several remotes fails, the others are
 * still fetched.
 */
export async function fetchFrom(
  transfers: Transfers,
  name: string | undefined,
  signal: AbortSignal,
): Promise<{ words: string; gone: string }> {
  const { repository } = transfers.room.objects
  const remotes = await readRemotes(repository)
  const wanted = remotesToFetch(remotes, name)
  const before = await fetchedRefs(repository)
  const failed: string[] = []
  const fetched: string[] = []
  try {
    await transfers.begin('Fetching', async () => {
      for (const remote of wanted) {
        try {
          const isPruning = await prunes(repository, remotes, remote)
          await fetchOne(transfers, remotes, remote, { signal, isFirst: fetched.length === 0, isPruning })
          fetched.push(visiblePath(remote.name))
        } catch (error) {
          if (!(error instanceof Failure) || error instanceof Stopped || wanted.length === 1) throw error
          failed.push(error.message)
        }
      }
    })
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    const after = await fetchedRefs(repository)
    const gone = await recordGone(transfers, wanted, before, after)
    return { words: [`The fetch was stopped: ${whatCame(before, after)}.`, ...gone].join(' '), gone: gone.join(' ') }
  }
  const after = await fetchedRefs(repository)
  const came = whatCame(before, after)
  const gone = await recordGone(transfers, wanted, before, after)
  const from = fetched.join(' and ')
  if (failed.length > 0)
    throw new Failure(`${failed.join(' ')}${from === '' ? '' : ` The rest was fetched from ${from}: ${came}.`}`)
  return { words: [`Fetched from ${from}: ${came}.`, ...gone].join(' '), gone: gone.join(' ') }
}

/** At most this many remote branches are named in the words of an operation. */
const MAX_NAMED_BRANCHES = 3

/**
 * Records the tracking refs that a fetch has removed, one operation for each remote; the operation keeps their commits.
 * Returns a sentence for each remote.
 */
async function recordGone(
  { room: { operations } }: Transfers,
  remotes: readonly RemoteSettings[],
  before: ReadonlyMap<RefName, Oid>,
  after: ReadonlyMap<RefName, Oid>,
): Promise<string[]> {
  const said: string[] = []
  for (const remote of remotes) {
    const gone = [...before].filter(([ref]) => !after.has(ref) && trackedRef(remote, ref) !== undefined)
    if (gone.length === 0) continue
    const there = visiblePath(remote.name)
    const are = gone.length === 1 ? 'is' : 'are'
    const names = gone.map(([ref]) => visiblePath(ref.replace(/^refs\/remotes\//, '')))
    await operations.record({
      kind: 'prune',
      words: `remove ${firstOf(names, MAX_NAMED_BRANCHES)}, which ${are} not on ${there} any more`,
      moves: [],
      refs: gone.map(([ref, oid]) => ({ ref, before: oid, after: undefined })),
    })
    said.push(`${branchesIn(gone.length)} ${are} gone on ${there}.`)
  }
  return said
}

/**
 * Fetches from one remote: all its refs, or none. `isPruning`: removes the tracking refs of branches that are gone
 * there, and no tags. Throws a {@link Failure} in one sentence.
 */
export async function fetchOne(
  transfers: Transfers,
  remotes: Remotes,
  remote: RemoteSettings,
  { signal, isFirst, isPruning = false }: { signal: AbortSignal; isFirst: boolean; isPruning?: boolean },
): Promise<void> {
  verifyKeepsBranches(remote)
  // Later remotes append to FETCH_HEAD, so that it lists all of them.
  // Without --no-prune, git would do as its configuration says, and no operation would keep what it removes.
  const pruning = isPruning ? ['--prune', '--no-prune-tags'] : ['--no-prune']
  const args = ['fetch', ...FETCH, ...pruning, ...(isFirst ? [] : ['--append'])]
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
  const [tags, branches] = [made.filter(isTag).length, made.filter(name => !isTag(name)).length]
  const parts = [
    ...(moved.length > 0 ? [`${branchesIn(moved.length)} moved`] : []),
    ...(branches > 0 ? [`${branchesIn(branches)} new`] : []),
    ...(tags > 0 ? [`${many(tags, 'tag')} new`] : []),
  ]
  return parts.length === 0 ? 'nothing new' : parts.join(', ')
}

const branchesIn = (count: number): string => (count === 1 ? '1 branch' : `${count.toLocaleString('en')} branches`)
