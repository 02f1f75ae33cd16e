/** Which tasks run: some at a time, in the order of what they wait for, each as a workflow of its own. */
import {
  CancellationScope,
  type ChildWorkflowHandle,
  condition,
  isCancellation,
  startChild,
  workflowInfo,
} from '@temporalio/workflow'
import type { RunInput, TaskId } from '../../contract.ts'
import { hold } from '../children.ts'
import type { TaskFlow, TaskInput } from '../ends.ts'
import { haltOf } from '../troubles.ts'
import { attributesOfTask } from './attributes.ts'
import type { Budget } from './budget.ts'
import type { Holds } from './holds.ts'
import type { Journal } from './journal.ts'
import type { Outcomes } from './outcomes.ts'
import type { OwnWork } from './own-work.ts'
import type { Planning } from './planning.ts'
import { waitsFor } from './records.ts'
import { whyNow } from './sentences.ts'
import type { Task, Tasks } from './tasks.ts'

/** Events and bytes of a history, with room for what is under way; the server ends a run at 51,200 and 50 MB. */
const HISTORY = { events: 15_000, bytes: 15_000_000 }

/** A task that is under way. `isHeld` is what its workflow was told last. */
type Running = { task: Task; scope: CancellationScope; child?: ChildWorkflowHandle<TaskFlow>; isHeld: boolean }

/** `show` tells the server how the run is; `goOnAnew` goes on with a new history, when nothing of this one is under way. */
type Means = {
  input: RunInput
  tasks: Tasks
  planning: Planning
  budget: Budget
  ownWork: OwnWork
  holds: Holds
  outcomes: Outcomes
  journal: Journal
  show: () => void
  goOnAnew: () => Promise<void>
}

export class Scheduler {
  readonly #means: Means
  readonly #running = new Map<TaskId, Running>()
  /** The number of the last word about holding that was told on. */
  #told = 0
  /** Whether something has happened since the tasks were last looked at. */
  #isAwake = false
  /** Whether a new history is due: nothing is begun until what is under way has ended. */
  #isDraining = false

  constructor(means: Means) {
    this.#means = means
  }

  get isIdle(): boolean {
    return this.#running.size === 0
  }

  isRunning(id: TaskId): boolean {
    return this.#running.has(id)
  }

  /** Does all tasks, until each is done or stopped. */
  async work(): Promise<void> {
    const { tasks, planning, ownWork, holds, show, goOnAnew } = this.#means
    for (;;) {
      this.#isAwake = false
      if (planning.isDoubted && !this.#isDraining) {
        await ownWork.patiently(() => planning.settleDoubts())
        continue
      }
      if (!holds.now && !this.#isDraining) this.#begin()
      tasks.giveUp(id => this.isRunning(id))
      show()
      if (this.isIdle && tasks.areOver) return
      this.#isDraining = this.#isHistoryLong
      if (this.#isDraining && this.isIdle) await goOnAnew()
      await condition(() => this.#isAwake)
    }
  }

  /** Lets it look at the tasks again: something may begin, or is over. */
  wake(): void {
    this.#isAwake = true
  }

  get #isHistoryLong(): boolean {
    const { events = HISTORY.events } = this.#means.input
    const { historyLength, historySize } = workflowInfo()
    return historyLength > events || historySize > HISTORY.bytes
  }

  /** Begins what may begin now. */
  #begin(): void {
    for (const { task, row } of this.#means.tasks.ready) {
      if (this.#running.has(task.id)) continue
      const isOneAlone = [...this.#running.values()].some(({ task }) => task.record.shape.isAlone)
      if (isOneAlone || this.#running.size >= this.#means.input.atMost) return
      // One that has to be alone is not overtaken for ever: it waits for what runs, and nothing is begun meanwhile.
      if (task.record.shape.isAlone && this.#running.size > 0) return
      this.#launch(task, row)
    }
  }

  /** Ends a task's workflow, and what that has under way. */
  cancel(id: TaskId): void {
    this.#running.get(id)?.scope.cancel()
  }

  /** Tells what runs whether it is held. */
  tellHeld(): void {
    for (const running of this.#running.values()) {
      const isHeld = this.#means.holds.now !== undefined || running.task.record.isPaused
      if (!running.child || running.isHeld === isHeld) continue
      running.isHeld = isHeld
      // One that has ended meanwhile needs not hear it.
      running.child.signal(hold, isHeld, ++this.#told).catch(() => undefined)
    }
  }

  #launch(task: Task, row: number): void {
    const { budget, holds } = this.#means
    budget.spend(task.begin())
    const running: Running = { task, scope: new CancellationScope(), isHeld: false }
    this.#running.set(task.id, running)
    // Nobody awaits it: whatever it throws ends here, or the workflow's task would fail for ever.
    running.scope
      .run(() => this.#attempt(running, row))
      .catch(async error => {
        task.interrupt()
        if (!isCancellation(error)) await holds.halt(haltOf(error), task.id)
      })
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(task.id)
        this.wake()
      })
  }

  async #attempt(running: Running, row: number): Promise<void> {
    const { input, budget, outcomes, journal } = this.#means
    const { task } = running
    const { shape, attempt, tier, about } = task.record
    const words = `${shape.title}: attempt ${attempt} by the tier ${tier}.`
    const why = whyNow(task.record, row)
    await journal.say(`${task.id}/${attempt}/begins`, 'begins', words, { refs: about, why, task })
    running.child = await startChild<TaskFlow>('task', {
      workflowId: `${workflowInfo().workflowId}/${task.id}`,
      args: [this.#inputOf(task)],
      ...attributesOfTask(input.run, task.id),
    })
    const { raises } = budget
    this.tellHeld()
    const end = await running.child.result()
    task.end(end.spent)
    // However it ended: a person has stopped it meanwhile.
    const isStopped = task.record.state === 'stopped'
    // What was refused by limits that are higher by now is tried again: only that shows whether it still is too much.
    const isStale = end.halt?.why === 'budget' && raises !== budget.raises
    if (isStopped || isStale) task.interrupt()
    else await outcomes.settle(task, end)
  }

  #inputOf({ id, record }: Task): TaskInput {
    const { input, tasks, planning, budget } = this.#means
    const { shape, attempt, tier, about } = record
    const results = waitsFor(record).flatMap(other => tasks.find(other)?.record.head ?? [])
    return {
      run: input.run,
      task: id,
      attempt,
      plan: planning.planOrWish,
      shape,
      tier,
      base: input.base,
      results,
      depth: Math.min(shape.recursion, budget.limits.depth),
      about,
    }
  }
}
