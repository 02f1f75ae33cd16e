/** What a run knows of the fork: its checkout, its two remotes as they answered, and its GitHub. */
import type { Oid, Repository } from '../core/git/repository.ts'
import type { GitHub, Pull, RepositoryOnGitHub } from './github.ts'

export type RemoteName = 'origin' | 'upstream'

/** A remote as it answered. */
export type Remote = {
  name: RemoteName
  /** As configured, without credentials. */
  url: string
  /** Where git pushes to, by its own rewriting of URLs; it may hold credentials. */
  pushUrl: string
  /** The address of its page, where it is on a GitHub. */
  web: string | undefined
  /** Its default branch, and the commit that is at. */
  branch: string
  tip: Oid
  /** All of its branches. */
  heads: ReadonlyMap<string, Oid>
}

/** The fork's own pull requests, the most recently updated first. `mayBeMore`: not all closed ones were listed. */
export type Pulls = { open: Pull[]; closed: Pull[]; mayBeMore: boolean }

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
  /** Origin's GitHub; undefined where it is on none. */
  github: GitHub | undefined
  /** What GitHub says of origin. */
  onGitHub: RepositoryOnGitHub | undefined
  /** Asked for while git fetches; rejected where GitHub did not answer. */
  pulls: Promise<Pulls>
}

/** A branch `forklift/<branch>-<stamp>` on origin at the commit it was first read at, and its open pull request. */
export type Head = { ref: string; tip: Oid; pull?: Pull }

/** A remote's default branch as git calls it here: origin/main. */
export const nameOf = (remote: Remote): string => `${remote.name}/${remote.branch}`
