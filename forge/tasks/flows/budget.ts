/**
 * The budget of a run that several machines work on: one workflow beside the run's decides for all of them whether a
 * request may be sent, so that N requests are N over all machines. It is not the run's own workflow, as its many
 * questions would fill the history of that one. Where it is lost or has ended, it begins again with what git knows.
 */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { RunId } from '../contract.ts'
import {
  type Closing,
  close,
  type Granting,
  type Purse,
  reserve,
  settle,
  settleKnown,
  type Used,
  type Wanted,
} from '../run/purse.ts'

/**
 * A new history is begun after this many questions: the server allows 2,000 updates for each history, and 10,000
 * signals.
 */
const MAX_QUESTIONS = 1000
/** How long a budget is kept after the last question. */
const IDLE = '30 days'

export const reserved = defineUpdate<Granting, [Wanted]>('reserve')
export const settled = defineSignal<[{ id: string } | { key: string }, Used]>('settle')
/** What became of requests in batches. */
export const closed = defineSignal<[Closing[]]>('close')
export const ended = defineSignal('end')
export const used = defineQuery<Purse>('used')

/** Keeps the budget of one run. */
export async function forgeBudget({ run, purse: first }: { run: RunId; purse: Purse }): Promise<void> {
  let purse = first
  let questions = 0
  let hasEnded = false
  setHandler(reserved, wanted => {
    questions++
    const { purse: next, granting } = reserve(purse, wanted, Date.now())
    purse = next
    return granting
  })
  setHandler(settled, (which, what) => {
    questions++
    purse = 'id' in which ? settle(purse, which.id, what) : settleKnown(purse, which.key, what)
  })
  setHandler(closed, closings => {
    questions++
    purse = close(purse, closings)
  })
  setHandler(ended, () => {
    hasEnded = true
  })
  setHandler(used, () => purse)
  const isLong = () => questions >= MAX_QUESTIONS || workflowInfo().continueAsNewSuggested
  for (let seen = -1; seen !== questions && !hasEnded && !isLong(); ) {
    seen = questions
    await condition(() => hasEnded || isLong(), IDLE)
  }
  await condition(allHandlersFinished)
  if (!hasEnded && isLong()) await continueAsNew<typeof forgeBudget>({ run, purse })
}
