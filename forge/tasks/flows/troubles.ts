/**
 * Classifies an error thrown in a flow: either the user has to fix something and the run halts, or only the attempt
 * fails.
 */
import { ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow'
import type { LimitName } from '../contract.ts'
import type { Halt } from '../run/events.ts'

/** A sentence is cut to this many characters before it enters a workflow's history. */
const MAX_WORDS = 300

const LIMITS: LimitName[] = ['requests', 'tokens', 'cost', 'minutes']

/** Troubles of a model that are caused by the request: the same request would fail again, another one may succeed. */
const OF_THE_REQUEST = ['too long', 'refused', 'broken']

/** Matches the error of Temporal's library for a workflow's history that does not fit the current code. */
const OTHER_STEPS = /\bTMPRL1100\b|nondeterminism/i

/**
 * Classifies what an activity or a child workflow threw after its retries: a halt, which stops the work until the user
 * acts, or only the `words` by which the attempt fails. Rethrows a cancellation.
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

/** Converts a thrown error to a halt, for an error after which only the user can continue. Rethrows a cancellation. */
export function haltOf(error: unknown): Halt {
  const trouble = failureOf(error)
  return 'halt' in trouble ? trouble.halt : { why: 'machine', words: trouble.words }
}

/** The innermost message of an error, for the user. */
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

/** An error and its causes, from the outside in. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 20; at = at.cause) chain.push(at)
  return chain
}
