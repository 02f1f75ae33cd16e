/** Checks claims in the agent's message about its merge, as far as git can. */
import type { Path } from '../core/git/repository.ts'
import type { MergeReview, ReviewedConflict } from '../core/review.ts'
import { many, visiblePath } from '../core/text.ts'

/** A claim in the agent's words, and what git found. */
type CheckedClaim = { claim: string; isTrue: boolean; finding: string }

/** Claims that nothing else was changed. */
const OF_THE_REST =
  /\b(everything else|all (the )?other (files|changes)|(the )?other files|the rest( of (the )?\w+)?|nothing else|no other (file|change)s?)\b/i
/** Claims that something is unchanged, or is as git or one side of the merge has it. */
const AS_IT_WAS =
  /\b(un(changed|touched|modified|affected)|identical|clean(ly)?|as (is|it|they|git|before|upstream|the fork|in)|(is|are|was|were|been|stays?|stayed|left|kept|taken|took|takes?|comes?|came|merged|changed|touched|edited|modified)|no (other )?(changes?|edits?))\b/i
/** Statements about tests and builds, which git can't check. */
const OF_CHECKS =
  /\b(run|ran|runs|tests?|tested|checked|compiled?|builds?|built|verified|pass(es|ed)?|fails?|failed)\b/i
/** Claims that a file is one side's version. */
const OF_A_SIDE =
  /\b(upstream|theirs|fork|ours)\b('s)? (version|side|copy)|\b(version|side|copy) (of|from) (upstream|the fork)\b/i

const MAX_CLAIMS = 8
/** At most this many characters of the agent's message are read, here and for the page. */
export const MAX_WORDS_CHARS = 20_000

/**
 * Checks the claims in an agent's message: that everything besides the conflicts and the named files is unchanged, and
 * that a file in conflict is one side's version. Of the latter only false claims are given.
 */
export function checkClaims(review: MergeReview, words: string): CheckedClaim[] {
  const sentences = words
    .slice(0, MAX_WORDS_CHARS)
    .split(/(?<=[.!?;])\s+|\n\s*\n|\n(?=\s*[-*+•]\s)/)
    .map(sentence =>
      sentence
        .replace(/^\s*[-*+•]\s/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
  return sentences
    .flatMap(claim => [...checkTheRest(review, claim, words), ...checkSides(review.conflicts, claim)])
    .slice(0, MAX_CLAIMS)
}

function checkTheRest(review: MergeReview, claim: string, words: string): CheckedClaim[] {
  if (!OF_THE_REST.test(claim) || !AS_IT_WAS.test(claim) || OF_CHECKS.test(claim)) return []
  const { edits, dropped, vanished, goneFromStart, keptOff, files } = review
  const of = (paths: Path[]) => paths.filter(path => !namesFile(words, visiblePath(path)))
  const touched = of([...edits.map(({ path }) => path), ...dropped, ...vanished, ...goneFromStart, ...keptOff])
  const around = of(review.around)
  const isOne = touched.length === 1
  const findings = [
    touched.length > 0 &&
      `${many(touched.length, 'file')} beyond the conflicts ${isOne ? 'is' : 'are'} not as git's own merge has ${isOne ? 'it' : 'them'}`,
    around.length > 0 && `${many(around.length, 'file')} with a conflict changed beside it, too`,
  ].filter(it => it !== false)
  if (findings.length > 0) return [{ claim, isTrue: false, finding: findings.join(', and ') }]
  const own = files.fork > 0 ? `, with the fork's changes to ${files.fork} of them` : ''
  const others =
    edits.length > 0 ? 'all files beyond the conflicts that these words do not name' : 'all files beyond the conflicts'
  return [{ claim, isTrue: true, finding: `${others} are as git's own merge has them${own}` }]
}

function checkSides(conflicts: readonly ReviewedConflict[], claim: string): CheckedClaim[] {
  if (!OF_A_SIDE.test(claim)) return []
  const namesUpstream = /\b(upstream|theirs)\b/i.test(claim)
  // A claim can be checked only if it names exactly one side. One that names both may mean a mixture, or several files.
  if (namesUpstream === /\b(fork|ours)\b/i.test(claim)) return []
  const said = namesUpstream ? "upstream's version" : "the fork's version"
  return conflicts.flatMap(({ path, resolution }) => {
    const name = visiblePath(path)
    if (!namesFile(claim, name) || resolution === said) return []
    return [{ claim, isTrue: false, finding: `${name} is ${resolution === 'deleted' ? 'deleted' : resolution}` }]
  })
}

/** Whether a sentence names a file by its path, or by its last part where that is not a common word. */
function namesFile(claim: string, name: string): boolean {
  const last = name.slice(name.lastIndexOf('/') + 1)
  const words = claim.split(/[\s`'"“”(),;:]+/).map(word => word.replace(/\.$/, ''))
  return words.includes(name) || (/[._]/.test(last) && words.includes(last))
}
