/**
 * One order for all that reaches a workflow, which is the same when its history is replayed.
 *
 * A local activity ends within a workflow task, and the history has only a marker of it. Where a workflow task was
 * answered while one was under way (as it is for a query, and after seconds), a replay can't tell what came first: the
 * end of the local activity, or an event of about the same time. It hands both over together, in another order, or in
 * another task than before, and a workflow that did the second before the first would then send other commands than
 * those in its history (github.com/temporalio/sdk-rust/issues/803 is one case).
 *
 * So here the end of a local activity always comes first: everything else waits until none is under way, and then comes
 * singly, in the order in which it arrived. These interceptors belong to every workflow (engine/bundle.ts).
 */
import {
  type ActivateInput,
  CancellationScope,
  condition,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow'

/**
 * What an event brings about can wait for a condition of the workflow, which can bring about something for which another
 * condition waits. The library looks at all conditions again and again until none is met any more. The next event waits
 * for this many looks during which no local activity is under way: more than the longest such chain.
 */
const CALM_LOOKS = 5

/** The number of local activities under way. */
let underWay = 0

/** The number of events that wait for their turn. */
let waiting = 0

/** Resolves when all that arrived before has been let through. */
let before: Promise<void> = Promise.resolve()

export const interceptors = (): WorkflowInterceptors => ({
  internals: [{ activate: localsFirst }],
  inbound: [
    {
      execute: (input, next) => cancelledInOrder(() => next(input)),
      handleSignal: async (input, next) => {
        await turn()
        await next(input)
      },
      // The update is accepted before that: the server refuses one that is not when its workflow task is answered.
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
 * Ends local activities before anything that came with them, also before an update is accepted: if its marker was
 * recorded before the others came, then it ends before them in a replay as well. In a replay they come together only
 * where it ended later, and there the update was accepted before.
 *
 * One case is left, within milliseconds: a local activity that ended after its workflow task was answered and before the
 * update came. It, too, ends first here, and in a replay the update is accepted first. These differ where the workflow
 * then does more than another local activity.
 */
function localsFirst(input: ActivateInput, next: (input: ActivateInput) => void): void {
  const jobs = input.activation.jobs ?? []
  const others = jobs.filter(job => !job.resolveActivity?.isLocal)
  const isMixed = others.length > 0 && others.length < jobs.length
  if (!isMixed || workflowInfo().unsafe.isReplaying) {
    next(input)
    return
  }
  const withOnly = (jobs: ActivateInput['activation']['jobs']) => ({
    ...input,
    activation: { ...input.activation, jobs },
  })
  next(withOnly(jobs.filter(job => job.resolveActivity?.isLocal)))
  CancellationScope.nonCancellable(async () => {
    await calmLooks(() => underWay > 0 || waiting === 0)
    next(withOnly(others))
  })
}

/** Waits until all that arrived before has been let through, with what it brought about. */
function turn(): Promise<void> {
  waiting++
  before = before.then(async () => {
    await CancellationScope.nonCancellable(() => calmLooks(() => underWay === 0))
    waiting--
  })
  return before
}

/** Waits for a chain of looks at each of which `isCalm` gives true. */
async function calmLooks(isCalm: () => boolean): Promise<void> {
  let looks = 0
  while (looks < CALM_LOOKS) {
    await nextLook()
    if (isCalm()) {
      looks++
    } else {
      await condition(isCalm)
      looks = 0
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
