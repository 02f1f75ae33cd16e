/**
 * A run: plans, waits for a person's yes, does the tasks in their order, some at a time, brings their results together
 * and checks the contract. All that needs a person stands in its status, and waits without a clock. Each of its parts is
 * in run/; here they are put together.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setHandler,
} from '@temporalio/workflow'
import type { RunInput, RunStatus } from '../contract.ts'
import { short } from './effects.ts'
import { ListedState } from './run/attributes.ts'
import { Budget } from './run/budget.ts'
import { Escalation } from './run/escalation.ts'
import { Holds } from './run/holds.ts'
import { Journal } from './run/journal.ts'
import { Outcomes } from './run/outcomes.ts'
import { OwnWork } from './run/own-work.ts'
import { Phase } from './run/phase.ts'
import { Planning } from './run/planning.ts'
import { Questions } from './run/questions.ts'
import type { Carried } from './run/records.ts'
import { Result } from './run/result.ts'
import { Scheduler } from './run/scheduler.ts'
import { command } from './run/sentences.ts'
import { Status } from './run/status.ts'
import { Tasks } from './run/tasks.ts'
import { Updates } from './run/updates.ts'
import { told } from './task.ts'

/** Runs from the plan to the result; `carried` is what the history before this one had come to. */
export async function run(input: RunInput, carried?: Carried): Promise<RunStatus> {
  const { run: id } = input
  const scope = new CancellationScope()
  const phase = new Phase(carried ? 'works' : 'planning')
  const tasks = new Tasks(carried?.tasks)
  const budget = new Budget(input.limits, carried)
  const journal = new Journal(id, () => holds.journalIsLost(), carried?.lines)
  const escalation = new Escalation(
    id,
    () => planning.plan,
    () => status.whole,
  )
  const holds = new Holds({ run: id, phase, journal, escalation, onChange: heldOrLetGo }, carried)
  const ownWork = new OwnWork({ run: id, phase, holds, budget })
  const questions = new Questions({ run: id, escalation, onAsked: show }, carried)
  const planning = new Planning({ input, tasks, budget, ownWork, questions, journal }, carried)
  const outcomes = new Outcomes({ input, tasks, planning, holds, questions, escalation, journal })
  const scheduler = new Scheduler({ input, tasks, planning, budget, ownWork, holds, outcomes, journal, show, goOnAnew })
  const result = new Result({ input, phase, tasks, planning, ownWork, questions, journal })
  const status = new Status({ run: id, phase, tasks, budget, holds, ownWork, questions, planning, scheduler })
  const listed = new ListedState()
  const updates = { input, scope, phase, tasks, budget, holds, questions, planning, scheduler, status, journal }
  new Updates(updates).listen()
  setHandler(told, said => tasks.find(said.task)?.hear(said))

  const kept = CancellationScope.nonCancellable(() => status.keep())
  try {
    await scope.run(live)
  } catch (error) {
    if (!isCancellation(error)) throw error
  }
  return await CancellationScope.nonCancellable(async () => {
    if (!phase.ending) await stop()
    show()
    await Promise.all([kept, condition(allHandlersFinished)])
    return status.whole
  })

  /** From the plan, or from where the history before this one has come to, to the end. */
  async function live(): Promise<void> {
    const isUnderWay = () =>
      !phase.ending && !holds.now && (!scheduler.isIdle || (ownWork.isUnderWay && !questions.open))
    budget.watchClock(isUnderWay, halt => holds.halt(halt)).catch(() => undefined)
    if (!carried) await plan()
    while (!phase.ending) {
      phase.works()
      await scheduler.work()
      phase.finishes()
      await result.finish()
    }
  }

  /** Comes to a plan; where nothing else is asked, that is all. */
  async function plan(): Promise<void> {
    const { approvedPlan, answers, facts = [] } = await ownWork.patiently(() => short.begin(input))
    questions.remember(answers)
    planning.tell(facts)
    await planning.begin(approvedPlan)
    if (!input.onlyPlan) return
    phase.end({ state: 'done', words: `The plan is made and nothing is begun: ${command('show', id)} shows it.` })
  }

  /** A person has stopped it: it ends when nothing is under way any more. */
  async function stop(): Promise<void> {
    await condition(() => scheduler.isIdle)
    tasks.stop()
    const done = tasks.records.filter(({ state }) => state === 'done').length
    const words = `It was stopped; the branches of ${done} of ${tasks.records.length} tasks are there.`
    phase.end({ state: 'stopped', words })
    await journal.say(journal.ownId('stopped'), 'stopped', words)
  }

  /** Goes on with a new history, when nothing of this one is under way. */
  async function goOnAnew(): Promise<void> {
    await condition(() => allHandlersFinished() && !ownWork.isUnderWay && !status.isBeingKept)
    const planned = planning.carried()
    if (!planned) return
    await continueAsNew<typeof run>(input, {
      ...planned,
      ...budget.carried(),
      ...questions.carried(),
      ...holds.carried(),
      tasks: tasks.records,
      lines: journal.lines,
    })
  }

  /** What runs hears of it, and what may begin is looked at anew. */
  function heldOrLetGo(): void {
    show()
    scheduler.tellHeld()
    scheduler.wake()
  }

  function show(): void {
    listed.show(status.now.state)
  }
}
