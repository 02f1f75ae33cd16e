/**
 * What Forklift asks of a host of pull requests, such as GitHub. To support another host, add a file that exports a
 * `HostKind`, and an entry to the list in hosts.ts.
 */
import type { Shell } from 'zx/core'
import type { Oid } from '../core/git/repository.ts'

/** A pull request, as it was when it was read. */
export type PullRequest = {
  number: number
  /** The host's own id, where the number is not enough for its API. */
  id?: string
  /** The address of the pull request's page. */
  url: string
  title: string
  body: string
  isOpen: boolean
  isDraft: boolean
  isMerged: boolean
  /** The commit on the base branch, after the merge. */
  mergedAs?: Oid
  /** The pull request's own branch, that branch's newest commit, and the branch that it is to be merged into. */
  branch: string
  tip: Oid
  into: string
}

/** Pull requests, most recently updated first. `mayBeMore`: not all closed ones are listed. */
export type Pulls = { open: PullRequest[]; closed: PullRequest[]; mayBeMore: boolean }

/** The host's facts about the origin repository: its name, and which merge buttons are enabled. */
export type HostedRepository = { name: string; buttons: { merge: boolean; squash: boolean; rebase: boolean } }

/** What the host's rules demand of a branch. */
export type BranchRules = { forbidsCreation: boolean; wantsSignatures: boolean; forbidsMergeCommits: boolean }

/** How a host formats the text of a pull request, and what it calls its own buttons and settings, as Markdown. */
export type PageFormat = {
  /** The longest text that the host accepts for a pull request, in UTF-16 code units. */
  maxBodyChars: number
  /** Formats lines as a block that stands out. */
  warning: (lines: string[]) => string
  /** The address of a commit in another repository, from the address of that repository's page. */
  commitLink: (web: string, oid: Oid) => string
  /** How to merge with a merge commit, as an imperative: "choose **Create a merge commit**". */
  mergeWith: string
  /** The setting that allows merge commits: "Settings, General, **Allow merge commits**". */
  allowMergeCommits: string
  /** What updates a fork without commits of its own: "**Sync fork** on the fork's page". */
  syncFork: string
}

/** The host of one repository, accessed with one token. Methods throw a Failure for what they can't do. */
export interface PullRequestHost {
  readonly name: string
  /** Where the token comes from: a variable or a command. */
  readonly tokenSource: string
  readonly page: PageFormat
  /** The address of the repository's page. */
  readonly web: string
  /** Throws where publishing would fail. `upstream`: the URLs of upstream. */
  verifyPublishable(upstream: readonly string[]): Promise<HostedRepository>
  /**
   * A folder in which a push over HTTPS with the user's token can't change files (a token may lack the right to change
   * CI workflows), and the reason, as the end of a sentence.
   */
  lockedFolder(): Promise<{ path: string; why: string } | undefined>
  /** The rules for a branch; no rules where the host has none or does not show them. */
  rulesFor(branch: string): Promise<BranchRules>
  /**
   * The environment in which git gets the token for a URL, unless the user's own credential helpers have a password for
   * it.
   */
  credentialsFor(url: string, sh: Shell): Promise<Record<string, string>>
  /** Lists pull requests from branches of the repository itself. */
  pulls(): Promise<Pulls>
  /** Lists pull requests from the repository itself into one branch. */
  pullsInto(base: string, state: 'open' | 'closed'): Promise<PullRequest[]>
  /** Lists all pull requests from one branch to another, open and closed. */
  pullsFrom(branch: string, base: string): Promise<PullRequest[]>
  /**
   * Whether a person with the right to do so has approved the pull request, and the ISO time of a person's last comment
   * or review on it ('': none).
   */
  attention(pull: PullRequest): Promise<{ approved: boolean; lastSign: string }>
  /** The message of a commit that no branch has any more; undefined where the host has not kept the commit. */
  commitMessage(oid: Oid): Promise<string | undefined>
  /**
   * Opens a pull request: not as a draft where the host has no drafts. Gives the existing one where one is open
   * already.
   */
  open(pull: { title: string; head: string; base: string; body: string; draft: boolean }): Promise<PullRequest>
  update(pull: PullRequest, text: { title: string; body: string }): Promise<PullRequest>
  /** Converts a pull request to a draft. Gives whether it is a draft afterwards. */
  makeDraft(pull: PullRequest): Promise<boolean>
  /** The address of the page for opening a pull request by hand. */
  linkToOpen(head: string, base: string): string
}

/** What is needed to find the host of origin. */
export type HostSearch = {
  /** The URLs of origin: as configured, then as git rewrites it. */
  urls: readonly string[]
  env: Record<string, string | undefined>
  sh: Shell
  signal: AbortSignal
}

/**
 * What a kind of host finds out from origin's URLs: `host` where origin is on a host of this kind. Otherwise `whyNot`,
 * a clause that says why origin is not taken for one; without it, origin is clearly on no host of this kind.
 */
export type HostFound = { host: PullRequestHost } | { host?: undefined; whyNot?: string }

/** A kind of host of pull requests, such as GitHub. */
export interface HostKind {
  /** Throws a Failure where origin is on a host of this kind that cannot be used, without a token for example. */
  find(search: HostSearch): Promise<HostFound>
  /** The address of the page of the repository at one of these URLs; undefined where it is not on this kind of host. */
  webOf(urls: readonly string[]): string | undefined
  /** Why the host refused a push, from git's output; undefined where that has none of this host's known messages. */
  whyRefused(printed: string): string | undefined
}
