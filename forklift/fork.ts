/** What a run knows of the fork: its checkout, its two remotes as they answered, and their host. */
import type { Oid, Repository } from '../core/git/repository.ts'
import type { HostedRepository, PullRequest, PullRequestHost, Pulls } from './host.ts'

export type RemoteName = 'origin' | 'upstream'

/** A remote as it answered. */
export type Remote = {
  name: RemoteName
  /** As configured, without credentials. */
  url: string
  /** Where git pushes to, by its own rewriting of URLs; it may hold credentials. */
  pushUrl: string
  /** The address of its page, where its host is known to have one. */
  web: string | undefined
  /** Its default branch, and the commit that is at. */
  branch: string
  tip: Oid
  /** All of its branches. */
  heads: ReadonlyMap<string, Oid>
}

export type Fork = {
  /** A word for file names and messages, after the checkout's folder. */
  project: string
  /** The checkout's folder. */
  top: string
  /** Where Forklift keeps its runs and its scratch repositories. */
  state: string
  /** The user's own repository, in an environment in which git may speak to the remotes. */
  repository: Repository & { signal: AbortSignal }
  origin: Remote
  upstream: Remote
  /** Where the remote-tracking refs of both remotes were. */
  tracked: ReadonlyMap<string, Oid>
  /** Whose name the commit bears. */
  identity: { name: string; email: string }
  /** Where origin's pull requests are; undefined where it takes none. */
  host: PullRequestHost | undefined
  /** What the host says of origin. */
  hosted: HostedRepository | undefined
  /** The fork's own ones, asked for while git fetches; rejected where the host did not answer. */
  pulls: Promise<Pulls>
}

/** A branch `forklift/<branch>-<stamp>` on origin at the commit it was first read at, and its open pull request. */
export type Head = { ref: string; tip: Oid; pull?: PullRequest }

/** A remote's default branch as git calls it here: origin/main. */
export const remoteBranchName = (remote: Remote): string => `${remote.name}/${remote.branch}`
