/** Finds the host of origin among the hosts of pull requests that Forklift knows. */
import { GITHUB, PAGE } from './github.ts'
import type { HostKind, HostSearch, PageFormat, PullRequestHost } from './host.ts'

/**
 * The known hosts, in the order in which they are asked; the first that answers is taken. GitHub stays last: with a
 * token for an enterprise server it takes every host for a GitHub.
 */
const KINDS: readonly HostKind[] = [GITHUB]

/** The format of a pull request's text where no host is known, as where forklift/judge.ts prints one. */
export const USUAL_FORMAT: PageFormat = PAGE

/** Finds the host of origin. Without one, `note` gets a sentence that says why, unless origin is on no host at all. */
export async function findHost(
  search: HostSearch,
  note: (sentence: string) => void,
  kinds = KINDS,
): Promise<PullRequestHost | undefined> {
  const reasons: string[] = []
  for (const kind of kinds) {
    const found = await kind.find(search)
    if (found.host) return found.host
    if (found.whyNot) reasons.push(found.whyNot)
  }
  if (reasons.length > 0) note(`${reasons.join(', and ')}: the branch will be pushed, without a pull request.`)
  return undefined
}

/** The address of the page of the repository at one of these URLs; undefined where no host knows them. */
export function webOf(urls: readonly string[], kinds = KINDS): string | undefined {
  return firstOf(kinds, kind => kind.webOf(urls))
}

/** Why a host refused a push, from what git printed; undefined where that is in no host's words. */
export function whyRefused(printed: string, kinds = KINDS): string | undefined {
  return firstOf(kinds, kind => kind.whyRefused(printed))
}

function firstOf<T>(kinds: readonly HostKind[], ask: (kind: HostKind) => T | undefined): T | undefined {
  for (const kind of kinds) {
    const answer = ask(kind)
    if (answer !== undefined) return answer
  }
  return undefined
}
