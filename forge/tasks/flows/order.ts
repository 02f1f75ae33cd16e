/**
 * One order for all that reaches a workflow, which is the same when its history is replayed.
 *
 * A local activity ends within a workflow task, and the history has only a marker of its end. A workflow task can be
 * answered before a local activity in it has ended: to answer a query, and when the activity takes seconds. If an event
 * comes at about that time, the replay delivers the event and the end of the activity together, in another order, or in
 * another workflow task than before. A workflow that reacts to both may then send other commands than those in its
 * history, which is an error (github.com/temporalio/sdk-rust/issues/803 is one case).
 *
 * So here the end of a local activity always comes first: every event waits until no local activity is under way, and
 * is then delivered alone, in the order of arrival. These interceptors belong to every workflow (engine/bundle.ts).
 */
import {
  type ActivateInput,
  ApplicationFailure,
  CancellationScope,
  condition,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow'
import { ASK_AGAIN } from '../contract.ts'

/**
 * What an event brings about can wait for a condition of the workflow, which can bring about something for which
 * another condition waits. The library looks at all conditions again and again until none is met any more. The next
 * event waits for this many looks during which no local activity is under way: more than the longest such chain.
 */
const CALM_LOOKS = 5

/** The number of local activities under way. */
let underWay = 0

/** Whether updates that come right now have to be sent again. */
let isUnclear = false

/** Resolves when all that arrived before has been let through. */
let before: Promise<void> = Promise.resolve()

export const interceptors = (): WorkflowInterceptors => ({
  internals: [{ activate: withClearUpdates }],
  inbound: [
    {
      execute: (input, next) => cancelledInOrder(() => next(input)),
      handleSignal: async (input, next) => {
        await turn()
        await next(input)
      },
      validateUpdate: (input, next) => {
        if (isUnclear) throw ApplicationFailure.nonRetryable('It came at an unclear moment: send it again.', ASK_AGAIN)
        next(input)
      },
      // It is accepted before its turn: the server refuses one that is not when its workflow task is answered.
      handleUpdate: async (input, next) => {
        await turn()
        return await next(input)
      },
    },
  ],
  outbound: [
    {
      scheduleLocalActivity: async (input, next) => {
        underWay++
        try {
          return await next(input)
        } finally {
          underWay--
        }
      },
      scheduleActivity: (input, next) => inOrder(next(input)),
      startTimer: (input, next) => inOrder(next(input)),
      signalWorkflow: (input, next) => inOrder(next(input)),
      startChildWorkflowExecution: async (input, next) => {
        const [started, ended] = await next(input)
        return [inOrder(started), inOrder(ended)]
      },
    },
  ],
})

/** The same promise, which settles when it is its turn. */
function inOrder<Result>(arrives: Promise<Result>): Promise<Result> {
  const arrived = arrives.finally(turn)
  // Its caller may not have come to wait for it yet.
  arrived.catch(() => undefined)
  return arrived
}

/**
 * Refuses an update that comes together with the end of a local activity, so that it is sent again. Where the marker
 * was recorded before the update came, what follows the local activity comes before the acceptance in a replay; else
 * after it. Here these can't be told apart, and a refused update leaves nothing in the history. In a replay, they come
 * together only where the update had come before.
 */
function withClearUpdates(input: ActivateInput, next: (input: ActivateInput) => void): void {
  const jobs = input.activation.jobs ?? []
  isUnclear = !workflowInfo().unsafe.isReplaying && jobs.some(job => job.resolveActivity?.isLocal)
  next(input)
  isUnclear = false
}

/** Waits until all that arrived before has been let through, with what it brought about. */
function turn(): Promise<void> {
  before = before.then(() => CancellationScope.nonCancellable(calm))
  return before
}

async function calm(): Promise<void> {
  let calmLooks = 0
  while (calmLooks < CALM_LOOKS) {
    await nextLook()
    if (underWay === 0) {
      calmLooks++
    } else {
      await condition(() => underWay === 0)
      calmLooks = 0
    }
  }
}

/** Waits until the library looks at the workflow's conditions again: all that could go on has done so by then. */
async function nextLook(): Promise<void> {
  // A condition is looked at once when it is made.
  let isMade = false
  await condition(() => {
    const isLater = isMade
    isMade = true
    return isLater
  })
}

/** Runs a workflow so that its cancellation, too, comes when it is its turn. */
function cancelledInOrder<Result>(work: () => Promise<Result>): Promise<Result> {
  const root = CancellationScope.current()
  return CancellationScope.nonCancellable(() => {
    const scope = new CancellationScope()
    root.cancelRequested.catch(async () => {
      await turn()
      scope.cancel()
    })
    return scope.run(work)
  })
}
