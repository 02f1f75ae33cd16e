/** Fetches from the two remotes and pushes to origin, with a lease so that no commits are lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../core/failure.ts'
import { stamp, stampOf } from '../core/formats/forklift-run.ts'
import { TRANSFERS } from '../core/git/bounds.ts'
import { isAncestor } from '../core/git/commits.ts'
import { parseRemote } from '../core/git/remote-url.ts'
import type { Oid, Repository } from '../core/git/repository.ts'
import { type GitAnswer, GitError, holds, read, run } from '../core/git/run.ts'
import { shellIn } from '../core/shell.ts'
import { firstLine } from '../core/text.ts'
import { allOf } from '../core/together.ts'
import { type Fork, type Head, type Remote, remoteBranchName } from './fork.ts'
import type { PullRequest, Pulls } from './host.ts'
import { whyRefused } from './hosts.ts'
import type { Report } from './terminal.ts'

/** Fetches both default branches into their remote-tracking refs. Gives the fork with the fetched tips. */
export async function fetchBothBranches(fork: Fork, report: Report): Promise<Fork> {
  const [origin, upstream] = await allOf<[Remote, Remote]>([
    fetchDefaultBranch(fork, fork.origin, report),
    fetchDefaultBranch(fork, fork.upstream, report),
  ])
  for (const { name, branch } of [origin, upstream]) {
    if (branch !== 'main') report.note(`the default branch of ${name} is ${branch}.`)
  }
  return { ...fork, origin, upstream }
}

/**
 * Fetches a remote's default branch, which may have moved since its branches were listed. Gives the remote with the new
 * tip.
 */
async function fetchDefaultBranch(fork: Fork, remote: Remote, report: Report): Promise<Remote> {
  if (fork.tracked.get(`refs/remotes/${remoteBranchName(remote)}`) === remote.tip) return remote
  report.step(`Fetching ${remoteBranchName(remote)}`)
  return { ...remote, tip: await fetchTip(fork, remote, report) }
}

/** Whether a remote's default branch currently contains a commit. */
export async function hasNow(fork: Fork, remote: Remote, oid: Oid, report: Report): Promise<boolean> {
  return await isAncestor(fork.repository, oid, await fetchTip(fork, remote, report))
}

/** Fetches a remote's default branch, and gives its current tip. */
async function fetchTip(fork: Fork, remote: Remote, report: Report): Promise<Oid> {
  const { fetched, tip } = await fetchBranch(fork, remote.name, remote.branch, report)
  if (tip) return tip
  const reason = firstLine(fetched.stderr)
  if (isLocked(fetched.stderr)) {
    throw new Failure(`A lock file of git is in the way (${reason}): remove it if no git is running.`)
  }
  throw new Failure(`${remote.name} could not be fetched (${reason}): check the network and try again.`)
}

/** Fetches a branch into its remote-tracking ref. Gives the new tip if the fetch succeeded. */
async function fetchBranch(
  { repository }: Fork,
  from: string,
  branch: string,
  report: Report,
): Promise<{ fetched: GitAnswer; tip: Oid | undefined }> {
  const tracking = `refs/remotes/${from}/${branch}`
  const fetched = await fetch(repository, from, [`+refs/heads/${branch}:${tracking}`], report)
  if (fetched.code !== 0) return { fetched, tip: undefined }
  return { fetched, tip: await read(repository, ['rev-parse', '--verify', tracking]) }
}

/** Whether a branch name has the form that Forklift uses. */
export const isOurs = (branch: string): boolean => /^forklift\/.+-\d{8}_\d{6}$/.test(branch)

/**
 * Fetches the branches of Forklift's on origin that later runs add to, newest first: those with an open pull request,
 * or with none. Their names contain the name of the default branch; after that was renamed, only the pull request tells
 * that a branch of the old name belongs to it.
 */
export async function fetchOurHeads(fork: Fork, { open, closed }: Pulls, report: Report): Promise<Head[]> {
  const { origin, host } = fork
  const from = (pulls: PullRequest[], ref: string) =>
    pulls.find(({ branch, into }) => branch === ref && into === origin.branch)
  const candidates = [...origin.heads.keys()]
    .filter(ref => isOurs(ref) && (ref.slice(0, -16) === `forklift/${origin.branch}` || from(open, ref)))
    .filter(ref => from(open, ref) || !from(closed, ref))
    .sort((one, other) => stampOf(other).localeCompare(stampOf(one)))
  const heads: Head[] = []
  for (const ref of candidates.slice(0, 20)) {
    const pulls = [from(open, ref) ?? (await host?.pullsFrom(ref, origin.branch)) ?? []].flat()
    const pull = pulls.find(({ isOpen }) => isOpen)
    const tip = pull || pulls.length === 0 ? await fetchHead(fork, ref, report) : undefined
    if (tip) heads.push({ ref, tip, pull })
  }
  return heads
}

/** Fetches a branch of Forklift's. Gives its current tip; undefined where it has been deleted. */
export async function fetchHead(fork: Fork, ref: string, report: Report): Promise<Oid | undefined> {
  const listed = fork.origin.heads.get(ref)
  if (fork.tracked.get(`refs/remotes/origin/${ref}`) === listed) return listed
  const { fetched, tip } = await fetchBranch(fork, 'origin', ref, report)
  if (tip || /find remote ref/.test(fetched.stderr)) return tip
  throw new GitError('fetch', fetched.code, fetched.stderr, '')
}

/** Deletes the remote-tracking refs of Forklift's branches that origin no longer has. */
export async function forgetWhatIsGone({ repository, origin, tracked }: Fork): Promise<void> {
  const gone = [...tracked].flatMap(([ref, oid]) => {
    const branch = ref.replace('refs/remotes/origin/', '')
    return isOurs(branch) && !origin.heads.has(branch) ? [`delete ${ref} ${oid}\n`] : []
  })
  if (gone.length > 0) await run(repository, ['update-ref', '--stdin'], { input: gone.join(''), ok: 'any' })
}

const EXACTLY =
  '--no-tags --no-prune --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules --refmap='.split(' ')

/** Whether git failed because another process has locked a ref, or left its lock file behind. */
const isLocked = (words: string): boolean => /cannot lock ref|\.lock': File exists/.test(words)

/** Fetches only the given refspecs: no tags, no pruning, no FETCH_HEAD, none of the user's own refspecs. */
async function fetch(
  repository: Repository,
  from: string,
  refspecs: string[],
  report: Report,
  settings: string[] = [],
): Promise<GitAnswer> {
  const command = [
    ...settings,
    '-c',
    'protocol.file.allow=always',
    'fetch',
    report.counting,
    ...EXACTLY,
    from,
    ...refspecs,
  ]
  for (let attempt = 1; ; attempt++) {
    const fetched = await report.follow(onWords => run(repository, command, { ok: 'any', bounds: TRANSFERS, onWords }))
    // Another fetch at the same moment, by the user or another run, locks the ref briefly.
    if (!isLocked(fetched.stderr) || attempt === 5) return fetched
    await sleep(300 * attempt, undefined, { signal: repository.signal })
  }
}

/** Whether a commit is in the user's repository, or can be fetched from origin by its id. */
export async function commitIsHere({ repository }: Fork, oid: Oid, report: Report): Promise<boolean> {
  const local = await run(repository, ['cat-file', '-e', `${oid}^{commit}`], { ok: 'any' })
  return local.code === 0 || (await fetch(repository, 'origin', [oid], report)).code === 0
}

/** Throws where the host would refuse the push for the files that it changes, before the agent is paid. */
export async function verifyTheTokenMayPush(fork: Fork, base: Oid): Promise<void> {
  const { repository, host, origin, upstream } = fork
  const overSsh = parseRemote(origin.pushUrl) && !/^https?:/.test(origin.pushUrl)
  const locked = overSsh ? undefined : await host?.lockedFolder()
  if (!locked || (await holds(repository, ['diff', '--quiet', base, upstream.tip, '--', locked.path]))) return
  throw new Failure(`Upstream changed ${locked.path} and ${locked.why}.`)
}

/** Whether upstream keeps files in Git LFS. They must be on origin before the branch is pushed. */
export async function hasLargeFiles({ repository, upstream }: Fork): Promise<boolean> {
  const search = ['grep', '--quiet', 'filter=lfs', upstream.tip, '--', ':(glob)**/.gitattributes']
  return (await run(repository, search, { ok: 'any' })).code === 0
}

/** Throws where files in Git LFS can't be copied to origin: the user's own git-lfs does that. */
export async function verifyLargeFilesCanBeCarried(fork: Fork): Promise<void> {
  if (!(await hasLargeFiles(fork))) return
  if ((await run(fork.repository, ['lfs', 'version'], { ok: 'any' })).code === 0) return
  throw new Failure('Upstream keeps files in Git LFS, and git-lfs is missing: install it.')
}

/** Copies the LFS files of upstream's new commits to origin, with the user's own git-lfs. */
export async function carryLargeFiles({ repository, origin, upstream }: Fork, report: Report): Promise<void> {
  const { bounds: _, ...asLongAsItTakes } = repository
  const sh = shellIn(asLongAsItTakes, { nothrow: true })
  report.step("Copying upstream's LFS files to origin")
  // Finds all new commits that add an LFS pointer, in binary files and merge commits too.
  const everyDiff = ['--no-patch', '--text', '--no-textconv', '--no-ext-diff', '--diff-merges=first-parent']
  const all = ['-c', 'lfs.fetchInclude=', '-c', 'lfs.fetchExclude=']
  const carried = await sh`
    { echo ${upstream.tip}; git log --format=%H ${everyDiff} -G${'^oid sha256:'} ${`${origin.tip}..${upstream.tip}`}; } |
      xargs git ${all} lfs fetch upstream
    git -c lfs.allowIncompletePush=true lfs push origin ${upstream.tip}`
  if (carried.exitCode === 0) return
  throw new Failure(
    `The LFS files could not be copied to origin (${firstLine(carried.stderr)}): run git lfs push by hand.`,
  )
}

/**
 * A name for a new branch that no branch on origin and no pull request has used. Its time is that of the newest commit,
 * not the current one: two runs at the same moment choose the same name, and the lease lets only one of them push.
 */
export async function newBranchName({ repository, origin, upstream, pulls }: Fork): Promise<string> {
  const { open, closed } = await pulls
  const taken = new Set([...origin.heads.keys(), ...[...open, ...closed].map(({ branch }) => branch)])
  const listing = await read(repository, ['show', '--no-patch', '--format=%ct', origin.tip, upstream.tip])
  const dates = listing
    .split('\n')
    .map(Number)
    .filter(date => date < Date.now() / 1000)
  for (let date = Math.max(...dates, 0); ; date++) {
    const ref = `forklift/${origin.branch}-${stamp(new Date(date * 1000))}`
    if (!taken.has(ref)) return ref
  }
}

/** A commit to push from a repository to a branch, which must still be at `expected` ('': must not exist). */
export type Push = { from: Repository; commit: Oid; ref: string; expected: Oid | '' }

/**
 * Pushes a commit to a branch of origin that must still be at `expected` (git's --force-with-lease). If another run
 * has pushed first, gives that run's pull request. `again`: the command that tries again with the same result.
 */
export async function pushCommit(fork: Fork, { from, commit, ref, expected }: Push, again: string, report: Report) {
  await run(from, ['update-ref', 'refs/heads/publish', commit])
  // Keep the objects packed: a few small objects in a pack can be very large as loose files.
  const asPack = ['-c', 'fetch.unpackLimit=1']
  const brought = await fetch(fork.repository, from.gitDir, ['refs/heads/publish'], report, asPack)
  if (brought.code !== 0) throw new GitError('fetch', brought.code, brought.stderr, '')
  const flags = ['--porcelain', '--no-verify', '--no-signed', '--no-follow-tags', '--recurse-submodules=no']
  const lease = `--force-with-lease=refs/heads/${ref}:${expected}`
  const where = ['origin', `${commit}:refs/heads/${ref}`]
  const command = ['-c', 'remote.origin.mirror=false', 'push', report.counting, ...flags, lease, ...where]
  const pushed = await report.follow(onWords =>
    run(fork.repository, command, { ok: 'any', bounds: TRANSFERS, onWords }),
  )
  if (pushed.code === 0) return undefined
  const [told, words] = [pushed.stdout.toString(), `${pushed.stdout}${pushed.stderr}`]
  const kept = `The result is kept: run ${again} again.`
  if (/stale info|fetch first|already exists|cannot lock ref/.test(words)) {
    const pull = await pullOfAnotherRun(fork, report)
    if (pull) return pull
    throw new Failure(`${ref} changed on origin meanwhile. ${kept}`)
  }
  const refusal = whyRefused(words)
  if (refusal) throw new Failure(`${refusal} ${kept}`)
  const rejected = /^!.*\[(?:remote )?rejected\] \((.*)\)/m.exec(told)?.[1]
  const reason = [firstLine(pushed.stderr), rejected].filter(Boolean).join('; ')
  throw new Failure(`origin did not take ${ref} (${reason}): check your right to push. ${kept}`)
}

/** Waits for the pull request of the run that pushed first, and gives it. */
async function pullOfAnotherRun(fork: Fork, report: Report): Promise<PullRequest | undefined> {
  const { host, repository, origin, upstream } = fork
  for (let attempt = 0; attempt < 8; attempt++) {
    const open = (await host?.pullsInto(origin.branch, 'open')) ?? []
    for (const pull of open.filter(({ branch }) => isOurs(branch))) {
      if (!(await commitIsHere(fork, pull.tip, report))) continue
      if (await isAncestor(repository, upstream.tip, pull.tip)) return pull
    }
    await sleep(1000, undefined, { signal: repository.signal })
  }
  return undefined
}
