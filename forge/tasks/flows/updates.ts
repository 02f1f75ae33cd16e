/** The updates of a run: what a user asks of it, each followed or refused with a sentence. */
import { ApplicationFailure, type defineUpdate, isCancellation, setHandler } from '@temporalio/workflow'
import { errorWords } from './troubles.ts'

/**
 * Handles an update of the user. `verify` throws the reason why it can't be followed: also when its turn comes
 * (order.ts), as what came before it may have changed that.
 */
export function handle<Args extends unknown[]>(
  update: ReturnType<typeof defineUpdate<void, Args>>,
  verify: NoInfer<(...args: Args) => void>,
  follow: NoInfer<(...args: Args) => Promise<void> | void>,
): void {
  const followed = async (...args: Args) => {
    verify(...args)
    await follow(...args)
  }
  setHandler(update, followed, { validator: verify })
}

/** Thrown to refuse an update with this sentence. */
export const refused = (words: string): ApplicationFailure => ApplicationFailure.nonRetryable(words, 'Refused')

/** Awaits an activity for an update of the user; a failure is thrown as a sentence for the user. */
export async function orRefused<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (isCancellation(error)) throw error
    throw refused(errorWords(error))
  }
}
