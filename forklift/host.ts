/**
 * What Forklift asks of a host of pull requests. Another host is a file that exports a `HostKind`, and an entry in the
 * list of hosts.ts.
 */
import type { Shell } from 'zx/core'
import type { Oid } from '../core/git/repository.ts'

/** A pull request as it was when it was asked for. */
export type PullRequest = {
  number: number
  /** By which the host knows it where the number is not enough. */
  id?: string
  /** The address of its page. */
  url: string
  title: string
  body: string
  isOpen: boolean
  isDraft: boolean
  isMerged: boolean
  /** The commit that it became when it was merged. */
  mergedAs?: Oid
  /** The branch that it brings, the newest commit of that, and the branch that it goes to. */
  branch: string
  tip: Oid
  into: string
}

/** Pull requests, the most recently updated first. `mayBeMore`: not all closed ones were listed. */
export type Pulls = { open: PullRequest[]; closed: PullRequest[]; mayBeMore: boolean }

/** The origin repository as its host knows it: its name there, and the ways in which it lets people merge. */
export type HostedRepository = { name: string; buttons: { merge: boolean; squash: boolean; rebase: boolean } }

/** What rules of the host ask of a branch. */
export type BranchRules = { forbidsCreation: boolean; wantsSignatures: boolean; forbidsMergeCommits: boolean }

/** How a host formats the text of a pull request, and what it calls its own buttons and settings, as Markdown. */
export type PageFormat = {
  /** The largest body, in UTF-16 code units. */
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

/** The host of one repository, seen with one token. What it can't do is thrown as a Failure. */
export interface PullRequestHost {
  readonly name: string
  /** Where the token comes from: a variable or a command. */
  readonly tokenSource: string
  readonly page: PageFormat
  /** The address of the repository's page. */
  readonly web: string
  /** What would make publishing fail is thrown. `upstream`: the URLs of upstream. */
  verifyPublishable(upstream: readonly string[]): Promise<HostedRepository>
  /** A folder that a push over HTTPS must not change with this token, and the end of a sentence that says so. */
  lockedFolder(): Promise<{ path: string; why: string } | undefined>
  /** None where the host does not know rules or does not tell. */
  rulesFor(branch: string): Promise<BranchRules>
  /** The environment in which git gets the token for a URL, where the user's own helpers have nothing for it. */
  credentialsFor(url: string, sh: Shell): Promise<Record<string, string>>
  /** Pull requests from branches of the repository itself. */
  pulls(): Promise<Pulls>
  /** The same into one branch alone. */
  pullsInto(base: string, state: 'open' | 'closed'): Promise<PullRequest[]>
  /** Every pull request there ever was from one branch to another. */
  pullsFrom(branch: string, base: string): Promise<PullRequest[]>
  /**
   * Whether a person with the right to has approved it, and the ISO time of the last comment or review by a person, or
   * ''.
   */
  attention(pull: PullRequest): Promise<{ approved: boolean; lastSign: string }>
  /** The message of a commit that is no longer to be had from a branch; undefined where the host has none. */
  commitMessage(oid: Oid): Promise<string | undefined>
  /** Opens a pull request, no draft where the host has none; gives the one that is open already where there is one. */
  open(pull: { title: string; head: string; base: string; body: string; draft: boolean }): Promise<PullRequest>
  update(pull: PullRequest, text: { title: string; body: string }): Promise<PullRequest>
  /** Makes a draft of a pull request that is ready. Gives whether it is one now. */
  makeDraft(pull: PullRequest): Promise<boolean>
  /** The page on which a person opens a pull request by hand. */
  linkToOpen(head: string, base: string): string
}

/** What origin's remote tells, and what is needed to find its host. */
export type HostSearch = {
  /** The URLs of origin: as configured, then as git rewrites it. */
  urls: readonly string[]
  env: Record<string, string | undefined>
  sh: Shell
  signal: AbortSignal
}

/**
 * What one kind of host says to origin's URLs: `host` where origin is there. Otherwise `whyNot`, a clause that says why
 * origin is not taken for this kind; without it, origin is clearly not of this kind.
 */
export type HostFound = { host: PullRequestHost } | { host?: undefined; whyNot?: string }

/** A kind of host. */
export interface HostKind {
  /** Throws a Failure where origin is on a host of this kind that cannot be used, without a token for example. */
  find(search: HostSearch): Promise<HostFound>
  /** The address of the page of the repository at one of these URLs; undefined where it is not on this kind of host. */
  webOf(urls: readonly string[]): string | undefined
  /** Why the host refused a push, from what git printed; undefined where that is not in this kind of host's words. */
  whyRefused(printed: string): string | undefined
}
