/** The facts about the fork for one run: its checkout, its two remotes, and their host. */
import type { Oid, Repository } from '../core/git/repository.ts'
import type { HostedRepository, PullRequest, PullRequestHost, Pulls } from './host.ts'

export type RemoteName = 'origin' | 'upstream'

/** A remote, as it answered at the beginning of the run. */
export type Remote = {
  name: RemoteName
  /** The configured URL, without credentials. */
  url: string
  /** The URL that git pushes to, after its own rewriting; may contain credentials. */
  pushUrl: string
  /** The address of the repository's page; undefined where its host is unknown. */
  web: string | undefined
  /** The name of the default branch, and the commit at its tip. */
  branch: string
  tip: Oid
  /** All branches of the remote, each with the commit at its tip. */
  heads: ReadonlyMap<string, Oid>
}

export type Fork = {
  /** The checkout's folder name, made safe for file names and messages. */
  project: string
  /** The path of the checkout. */
  top: string
  /** The folder in which Forklift keeps its runs and its scratch repositories. */
  state: string
  /** The user's own repository, with an environment in which git can authenticate to the remotes. */
  repository: Repository & { signal: AbortSignal }
  origin: Remote
  upstream: Remote
  /** The remote-tracking refs of both remotes, with their commits at the beginning of the run. */
  tracked: ReadonlyMap<string, Oid>
  /** The author and committer of the published commit. */
  identity: { name: string; email: string }
  /** The host of origin; undefined where no pull requests can be opened. */
  host: PullRequestHost | undefined
  /** The host's facts about origin. */
  hosted: HostedRepository | undefined
  /** The fork's pull requests. They are requested while git fetches; rejected where the host did not answer. */
  pulls: Promise<Pulls>
}

/** A branch `forklift/<branch>-<stamp>` on origin, the commit at which it was first read, and its open pull request. */
export type Head = { ref: string; tip: Oid; pull?: PullRequest }

/** The name of a remote's default branch in this clone: origin/main. */
export const remoteBranchName = (remote: Remote): string => `${remote.name}/${remote.branch}`
