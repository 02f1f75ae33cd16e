/**
 * Partial clones, which lack objects that git would fetch on demand. The desk does not use the network by itself: it
 * says what is missing, and how to get it.
 */
import { GitError } from '../../core/git/run.ts'

/** Whether git failed because an object was never fetched. */
export const isNotFetched = (error: unknown): boolean =>
  error instanceof GitError && /from promisor remote|lazy fetching disabled/.test(error.stderr)

export const NOT_FETCHED =
  'This repository is a partial clone that lacks what this needs, and the desk fetches nothing: get all of it by `git fetch --refetch --no-filter`.'
