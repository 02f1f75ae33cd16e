/** The pull request's text, from what the review found. What strangers wrote is shown, and can't do anything. */
import type { Oid } from './git.ts'
import type { Review } from './review.ts'

/** What the page tells besides the review. Undefined is what is not known. */
export type Story = {
  originBranch: string
  upstreamBranch: string
  /** Web addresses of the repositories, such as https://github.com/me/project. */
  origin?: string | undefined
  upstream?: string | undefined
  model?: string | undefined
  variant?: string | undefined
  agent?: string | undefined
  seconds?: number | undefined
  requests?: number | undefined
  tokens?: number | undefined
  /** What the agent said at the end: untrusted text. */
  words?: string | undefined
  /** The merge buttons that the repository allows. */
  buttons?: { merge: boolean; squash: boolean; rebase: boolean } | undefined
  /** The fork has no commits of its own: upstream's commit itself is the result. */
  fastForward?: boolean | undefined
  /** Web addresses of older pull requests of Forklift's that this one takes the place of. */
  leftBehind?: string[] | undefined
  /** Sentences of the host's own, such as one about local commits that were not part of the run. */
  notes?: string[] | undefined
}

export const BEGIN = '<!-- forklift:begin -->'
export const END = '<!-- forklift:end -->'

export function page(review: Review, story: Story): { title: string; body: string; draft: boolean } {
  const title = `Merge ${story.upstreamBranch} (${review.upstreamCommits.count} commits)`
  return { title, body: `${BEGIN}\n${ledgerText(review)}\n${END}\n`, draft: review.partial.length > 0 }
}

/** The same ledger for a terminal. */
export function ledgerText(review: Review): string {
  return [...review.refusals, ...review.partial].join('\n')
}

/** Puts our section into a pull request's body and leaves the rest as a person wrote it. */
export function mergeBody(existing: string, ours: string): string {
  return `${existing}\n${ours}`
}

/** The message of the one commit that is published. */
export function commitMessage(review: Review, story: Story): string {
  const trailer = (oid: Oid) => `Forklift-Upstream: ${oid}`
  return `Merge ${story.upstreamBranch}\n\n${trailer(review.commits.upstream)}\n`
}
