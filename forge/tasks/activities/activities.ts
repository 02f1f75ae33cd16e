/** All activities together, as a worker of Temporal gets them. */
import type { Activities } from '../contract.ts'
import { type ActivityOptions, guarded, Means } from './means.ts'
import { PlanWork } from './plan.ts'
import { RunWork } from './run.ts'
import { StepWork } from './step.ts'
import { TaskWork } from './task.ts'

export type { ActivityOptions, Check, CheckMeans, Lint, Surroundings } from './means.ts'

/** Gives what flows may do, and what closes all that it opens: journals and ledgers. */
export function makeActivities(options: ActivityOptions): { activities: Activities } & Disposable {
  const means = new Means(options)
  const steps = new StepWork(means)
  const plans = new PlanWork(means)
  const tasks = new TaskWork(means)
  const runs = new RunWork(means, tasks)
  const activities: Activities = {
    construct: guarded(means, input => steps.construct(input)),
    send: guarded(means, input => steps.send(input)),
    receive: guarded(means, input => steps.receive(input)),
    serialize: guarded(means, input => steps.serialize(input)),
    transition: guarded(means, input => steps.transition(input)),
    keepWords: guarded(means, input => steps.keepWords(input)),
    lintPlan: guarded(means, input => plans.lintPlan(input)),
    gather: guarded(means, input => tasks.gather(input)),
    judge: guarded(means, input => tasks.judge(input)),
    validate: guarded(means, input => tasks.validate(input)),
    reportFailure: guarded(means, input => tasks.reportFailure(input)),
    deliver: guarded(means, input => tasks.deliver(input)),
    begin: guarded(means, input => runs.begin(input)),
    note: guarded(means, input => runs.note(input)),
    remember: guarded(means, input => runs.remember(input)),
    escalate: guarded(means, input => runs.escalate(input)),
    finish: guarded(means, input => runs.finish(input)),
  }
  return { activities, [Symbol.dispose]: () => means[Symbol.dispose]() }
}
