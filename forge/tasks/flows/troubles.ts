/** What was thrown in a flow, told apart: what a person has to mend, and what an attempt may fail by. */
import { ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow'
import type { LimitName } from '../contract.ts'
import type { Halt } from '../run/events.ts'

/** Characters of a sentence that may stand in a history. */
const MAX_WORDS = 300

const LIMITS: LimitName[] = ['requests', 'tokens', 'cost', 'minutes']

/** Troubles of a model that are the request's own: the same one fails again, another one may not. */
const OF_THE_REQUEST = ['too long', 'refused', 'broken']

/** How the server's library says that a history does not fit the code. */
const OTHER_STEPS = /\bTMPRL1100\b|nondeterminism/i

/**
 * What an activity or a child threw when its retries were over: a halt, or only the `words` by which this attempt
 * fails. Throws it again where it is a cancellation.
 */
export function failureOf(error: unknown): { halt: Halt } | { words: string } {
  if (isCancellation(error)) throw error
  const failure = applicationFailureOf(error)
  if (failure?.type === 'OutOfBudget') {
    const limit = LIMITS.find(name => name === failure.details?.[0])
    return { halt: { why: 'budget', words: failure.message, ...(limit && { limit }) } }
  }
  if (failure?.type === 'ModelError') {
    const trouble: unknown = failure.details?.[0]
    if (typeof trouble === 'string' && OF_THE_REQUEST.includes(trouble)) return { words: failure.message }
    return { halt: { why: 'model', words: failure.message } }
  }
  if (chainOf(error).some(({ message }) => OTHER_STEPS.test(message))) {
    const words = 'Another version of Forge has begun a part of this with other steps: that part has to begin again.'
    return { halt: { why: 'machine', words } }
  }
  return { halt: { why: 'machine', words: errorWords(error) } }
}

/** What was thrown, where nothing can go on without a person. Throws it again where it is a cancellation. */
export function haltOf(error: unknown): Halt {
  const trouble = failureOf(error)
  return 'halt' in trouble ? trouble.halt : { why: 'machine', words: trouble.words }
}

/** The innermost sentence of an error, for a person. */
export function errorWords(error: unknown): string {
  const causes = chainOf(error)
  if (causes.some(cause => cause instanceof TimeoutFailure) && !applicationFailureOf(error)) {
    return 'A part of the work did not end in its time.'
  }
  const words = causes.at(-1)?.message.trim() || 'An error without words.'
  return words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS)} …` : words
}

const applicationFailureOf = (error: unknown): ApplicationFailure | undefined =>
  chainOf(error).find(cause => cause instanceof ApplicationFailure)

/** An error and what it was caused by, from the outside in. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 20; at = at.cause) chain.push(at)
  return chain
}
