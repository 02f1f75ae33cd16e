/** What goes over the wire with git: exactly the refs that are needed, and pushes that can lose nobody's commits. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessOutput } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { isAncestor } from '../core/git/commits.ts'
import type { Oid } from '../core/git/repository.ts'
import { run } from '../core/git/run.ts'
import type { Scratch } from '../core/git/scratch.ts'
import { firstLine } from '../core/text.ts'
import { type Pull, parseRemote } from './github.ts'
import type { Head } from './plan.ts'
import type { Fork, Remote } from './preflight.ts'
import * as runs from './runs.ts'

/** Brings the remote-tracking ref of a remote's default branch up to date; what was fetched counts, not what was listed. */
export async function fetchDefaultBranch(fork: Fork, remote: Remote): Promise<void> {
  const name = `${remote.name}/${remote.branch}`
  if (fork.tracked.get(`refs/remotes/${name}`) === remote.tip) return
  fork.report.step(`Fetching ${name}`)
  await refresh(fork, remote)
}

/** Whether a remote's default branch, as it is now, has a commit in it. */
export async function hasNow(fork: Fork, remote: Remote, oid: Oid): Promise<boolean> {
  await refresh(fork, remote)
  return await isAncestor(fork.where, oid, remote.tip)
}

async function refresh(fork: Fork, remote: Remote): Promise<void> {
  const { fetched, tip } = await fetchBranch(fork, remote.name, remote.branch)
  if (fetched.exitCode === 0) {
    remote.tip = tip
    return
  }
  const reason = firstLine(fetched.stderr)
  if (/\.lock': File exists|cannot lock ref/.test(fetched.stderr)) {
    throw new Failure(`A lock file of git is in the way (${reason}): remove it if no git is running.`)
  }
  throw new Failure(`${remote.name} could not be fetched (${reason}): check the network and try again.`)
}

/** Fetches a branch into its remote-tracking ref; the tip is where that is then, where the fetch ended well. */
async function fetchBranch(fork: Fork, from: string, branch: string): Promise<{ fetched: ProcessOutput; tip: Oid }> {
  const tracking = `refs/remotes/${from}/${branch}`
  const fetched = await fetch(fork, from, [`+refs/heads/${branch}:${tracking}`])
  const isThere = fetched.exitCode === 0
  return { fetched, tip: isThere ? (await fork.sh`git rev-parse --verify ${tracking}`).stdout.trim() : '' }
}

/** Whether a branch has a name that Forklift gives. */
export const isOurs = (branch: string): boolean => /^forklift\/.+-\d{8}_\d{6}$/.test(branch)

/**
 * The branches of ours on origin that can be carried on, newest first, fetched: those whose pull request is open, or
 * that have none. One for a branch that was renamed since is known by its pull request.
 */
export async function fetchOurHeads(fork: Fork, { open, closed }: { open: Pull[]; closed: Pull[] }): Promise<Head[]> {
  const { origin, github } = fork
  const from = (pulls: Pull[], ref: string) =>
    pulls.find(({ head, base }) => head.ref === ref && base.ref === origin.branch)
  const stampOf = (ref: string) => ref.slice(-15)
  const candidates = [...origin.heads.keys()]
    .filter(ref => isOurs(ref) && (ref.slice(0, -16) === `forklift/${origin.branch}` || from(open, ref)))
    .filter(ref => from(open, ref) || !from(closed, ref))
    .sort((one, other) => stampOf(other).localeCompare(stampOf(one)))
  const heads: Head[] = []
  for (const ref of candidates.slice(0, 20)) {
    const pulls = [from(open, ref) ?? (await github?.pullsFrom(ref, origin.branch, 'all')) ?? []].flat()
    const pull = pulls.find(({ state }) => state === 'open')
    const tip = pull || pulls.length === 0 ? await fetchHead(fork, ref) : undefined
    if (tip) heads.push({ ref, tip, ...(pull && { pull }) })
  }
  return heads
}

/** Fetches a branch of ours; where it is now, or undefined where it is gone meanwhile. */
async function fetchHead(fork: Fork, ref: string): Promise<Oid | undefined> {
  const listed = fork.origin.heads.get(ref)
  if (fork.tracked.get(`refs/remotes/origin/${ref}`) === listed) return listed
  const { fetched, tip } = await fetchBranch(fork, 'origin', ref)
  if (/find remote ref/.test(fetched.stderr)) return undefined
  if (fetched.exitCode !== 0) throw fetched
  return tip
}

/** A branch of ours that is gone from origin leaves a remote-tracking ref here, which nobody else would remove. */
export async function forgetWhatIsGone({ sh, origin, tracked }: Fork): Promise<void> {
  const gone = [...tracked].flatMap(([ref, oid]) => {
    const branch = ref.replace('refs/remotes/origin/', '')
    return isOurs(branch) && !origin.heads.has(branch) ? [`delete ${ref} ${oid}\n`] : []
  })
  if (gone.length > 0) await sh({ nothrow: true, input: gone.join(''), stdio: 'pipe' })`git update-ref --stdin`
}

const EXACTLY =
  '--no-tags --no-prune --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules --refmap='.split(' ')

/** Fetches exactly what is named: no tags, no pruning, no FETCH_HEAD, none of the user's own refspecs. */
async function fetch({ sh, signal, report }: Fork, from: string, refspecs: string[]): Promise<ProcessOutput> {
  for (let attempt = 1; ; attempt++) {
    const patient = sh({ nothrow: true, timeout: '3600s' })
    const fetched = await report.follow(
      patient`git -c protocol.file.allow=always fetch ${report.counting} ${EXACTLY} ${from} ${refspecs}`,
    )
    // Another fetch at the same moment, the user's or another run's, holds the ref for an instant.
    if (!/cannot lock ref|\.lock': File exists/.test(fetched.stderr) || attempt === 5) return fetched
    await sleep(300 * attempt, undefined, { signal })
  }
}

/** Whether a commit is in the user's repository, or can be had from origin without a ref of ours. */
export async function commitIsHere(fork: Fork, oid: Oid): Promise<boolean> {
  const local = await fork.sh({ nothrow: true })`git cat-file -e ${`${oid}^{commit}`}`
  return local.exitCode === 0 || (await fetch(fork, 'origin', [oid])).exitCode === 0
}

/** A classic token tells its scopes: without `workflow` GitHub would refuse the push, after the agent was paid. */
export async function theTokenMayPushWorkflows({ repository, sh, upstream, urls }: Fork, base: Oid): Promise<void> {
  const overSsh = parseRemote(urls.origin.push) && !/^https?:/.test(urls.origin.push)
  if (overSsh || !repository?.scopes || repository.scopes.includes('workflow')) return
  const touched = await sh({ nothrow: true })`git diff --quiet ${base} ${upstream.tip} -- .github/workflows`
  if (touched.exitCode === 0) return
  throw new Failure(
    'Upstream changed .github/workflows and the token lacks the workflow scope: gh auth refresh -s workflow.',
  )
}

/** Whether upstream keeps files in Git LFS. What its commits point to must be on origin before the branch is. */
export async function largeFilesCanBeCarried({ sh, upstream }: Fork): Promise<boolean> {
  const attributes = ':(glob)**/.gitattributes'
  const marked = await sh({ nothrow: true })`git grep --quiet filter=lfs ${upstream.tip} -- ${attributes}`
  if (marked.exitCode !== 0) return false
  const lfs = await sh({ nothrow: true })`git lfs version`
  if (lfs.exitCode === 0) return true
  throw new Failure('Upstream keeps files in Git LFS, and git-lfs is missing: install it.')
}

/** Brings the large files of upstream's new commits to origin, through the user's own git-lfs. */
export async function carryLargeFiles({ sh, origin, upstream, report }: Fork): Promise<void> {
  report.step('Carrying the large files of upstream to origin')
  // Pointers that any new commit brought, also where an attribute says that they are binary, also in a merge itself.
  const everyDiff = ['--no-patch', '--text', '--no-textconv', '--no-ext-diff', '--diff-merges=first-parent']
  const all = ['-c', 'lfs.fetchInclude=', '-c', 'lfs.fetchExclude=']
  const carried = await sh({ nothrow: true })`
    { echo ${upstream.tip}; git log --format=%H ${everyDiff} -G${'^oid sha256:'} ${`${origin.tip}..${upstream.tip}`}; } |
      xargs git ${all} lfs fetch upstream
    git -c lfs.allowIncompletePush=true lfs push origin ${upstream.tip}`
  if (carried.exitCode === 0) return
  throw new Failure(
    `The large files could not be carried to origin (${firstLine(carried.stderr)}): run git lfs push by hand.`,
  )
}

/**
 * A name that no branch of origin's has, nor one that a pull request came from: after the newest commit in it, so that
 * two runs at once choose the same and the lease lets one have it.
 */
export async function newBranch({ sh, origin, upstream, pulls }: Fork): Promise<string> {
  const { open, closed } = await pulls
  const taken = new Set([...origin.heads.keys(), ...[...open, ...closed].map(({ head }) => head.ref)])
  const { stdout } = await sh`git show --no-patch --format=%ct ${origin.tip} ${upstream.tip}`
  const dates = stdout
    .split('\n')
    .map(Number)
    .filter(date => date < Date.now() / 1000)
  for (let date = Math.max(...dates, 0); ; date++) {
    const ref = `forklift/${origin.branch}-${runs.stamp(new Date(date * 1000))}`
    if (!taken.has(ref)) return ref
  }
}

/** Pushes with a lease on what was first read. Gives the pull request of another run that was faster. */
export async function push(
  fork: Fork,
  room: Scratch,
  ref: string,
  commit: Oid,
  expected: Oid,
): Promise<Pull | undefined> {
  await run(room, ['update-ref', 'refs/heads/publish', commit])
  const brought = await fetch(fork, room.gitDir, ['refs/heads/publish'])
  if (brought.exitCode !== 0) throw brought
  const lease = `--force-with-lease=refs/heads/${ref}:${expected}`
  const flags = [
    fork.report.counting,
    '--porcelain',
    '--no-verify',
    '--no-signed',
    '--no-follow-tags',
    '--recurse-submodules=no',
    lease,
  ]
  const pushed = await fork.report.follow(
    fork.sh({
      nothrow: true,
      timeout: '3600s',
    })`git -c remote.origin.mirror=false push ${flags} origin ${`${commit}:refs/heads/${ref}`}`,
  )
  if (pushed.exitCode === 0) return undefined
  const kept = 'The result is kept: run forklift again.'
  if (/stale info|fetch first|already exists|cannot lock ref/.test(pushed.stdall)) {
    const pull = await thePullOfAnotherRun(fork)
    if (pull) return pull
    throw new Failure(`${ref} changed on origin meanwhile. ${kept}`)
  }
  if (/refusing to allow .* workflow|without `workflow` scope/.test(pushed.stdall)) {
    throw new Failure(`The token lacks the workflow scope that this push needs: gh auth refresh -s workflow. ${kept}`)
  }
  const rejected = /^!.*\[(?:remote )?rejected\] \((.*)\)/m.exec(pushed.stdout)?.[1]
  const reason = [firstLine(pushed.stderr), rejected].filter(Boolean).join('; ')
  throw new Failure(`origin did not take ${ref} (${reason}): check your right to push. ${kept}`)
}

/** The run that was faster has pushed, and may be about to open its pull request. */
async function thePullOfAnotherRun(fork: Fork): Promise<Pull | undefined> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const open = (await fork.github?.pulls('open', { base: fork.origin.branch })) ?? []
    for (const pull of fork.github?.own(open).filter(it => isOurs(it.head.ref)) ?? []) {
      if (!(await commitIsHere(fork, pull.head.sha))) continue
      if (await isAncestor(fork.where, fork.upstream.tip, pull.head.sha)) return pull
    }
    await sleep(1000, undefined, { signal: fork.signal })
  }
  return undefined
}
