/**
 * What holds a run as a whole: a person's pause, a limit, a model or a machine that does not do, too many failures, or an
 * end that nobody can classify. While it is held nothing new is begun, and what is under way comes to its next step.
 */
import { condition } from '@temporalio/workflow'
import type { Reference, RunId, TaskId } from '../../contract.ts'
import type { Halt } from '../ends.ts'
import type { Escalation } from './escalation.ts'
import type { Journal } from './journal.ts'
import type { Phase } from './phase.ts'
import type { Carried, Hold } from './records.ts'
import { command, sentence, toGoOn } from './sentences.ts'
import type { Task } from './tasks.ts'

/** A run is degraded where of at least so many tasks at least this share failed in its first attempt. */
const DEGRADED = { tasks: 6, share: 0.5 }

/** `onChange` hears whenever it is held or let go. */
type Means = { run: RunId; phase: Phase; journal: Journal; escalation: Escalation; onChange: () => void }

export class Holds {
  readonly #means: Means
  /** Whether a person has paused it: that outlasts whatever else holds it meanwhile. */
  #isPaused: boolean
  #held: Hold | undefined
  /** Tasks whose first attempt has ended. */
  #counted: Carried['counted']

  constructor(means: Means, carried?: Pick<Carried, 'hold' | 'isPaused' | 'counted'>) {
    this.#means = means
    this.#held = carried?.hold
    this.#isPaused = carried?.isPaused ?? false
    this.#counted = carried?.counted ?? { ended: 0, failed: 0 }
  }

  /** What holds it now, as a person is shown it. */
  get now(): Pick<Hold, 'state' | 'words' | 'question' | 'limit'> | undefined {
    const words = `It is paused: go on with ${command('resume', this.#means.run)}.`
    return this.#held ?? (this.#isPaused ? { state: 'paused', words } : undefined)
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** The limit that holds it. */
  get budget(): Hold | undefined {
    return this.#held?.why === 'budget' ? this.#held : undefined
  }

  /** What holds it until a person says something to that; a pause and a limit end by other words. */
  get asking(): Hold | undefined {
    return this.#held?.why === 'budget' ? undefined : this.#held
  }

  /** The task whose end nobody can classify, where that is what holds it. */
  get confused(): TaskId | undefined {
    return this.#held?.why === 'confused' ? this.#held.task : undefined
  }

  /** Waits until nothing holds it. A person decides that: there is no clock. */
  untilLetGo(): Promise<void> {
    return condition(() => !this.now)
  }

  /** A person wants nothing new to be begun. */
  pause(): void {
    this.#isPaused = true
    this.#means.onChange()
  }

  /** A person wants it to go on, whatever holds it. */
  resume(): void {
    this.#isPaused = false
    this.letGo()
  }

  /** What held it is settled; a pause stays. */
  letGo(): void {
    this.#held = undefined
    this.#means.onChange()
  }

  /** A line of the journal was lost: what nobody can read should not go on. */
  journalIsLost(): void {
    if (this.now) return
    const words = `The journal can't be written. Set it right, then ${command('resume', this.#means.run)}.`
    this.#hold({ why: 'machine', state: 'paused', words })
  }

  /** Something has to be mended before it can go on, and a person is told what. */
  async halt(halt: Halt, task?: TaskId): Promise<void> {
    const { run, phase, journal } = this.#means
    if (this.now || phase.ending) return
    const goOn = toGoOn(run, halt)
    const isBudget = halt.why === 'budget'
    const next = isBudget ? `go on with more: ${goOn}` : `set it right, then ${goOn}.`
    const held: Hold = {
      why: halt.why,
      state: isBudget ? 'out of budget' : 'paused',
      words: `${sentence(halt.words)} What is done is kept; ${next}`,
      ...(halt.limit && { limit: halt.limit }),
      ...(task !== undefined && { task }),
    }
    this.#hold(held)
    await journal.say(journal.ownId('halted'), 'halted', halt.words)
    await this.#report(held, halt.words)
  }

  /** What nobody can classify, and a task now asks about, holds the whole run. */
  confuse({ id, record }: Task): void {
    const words = `${id} ended in a way that nobody can classify, so all is held. ${record.words}`
    const { question } = record
    this.#hold({ why: 'confused', state: 'asks', words, task: id, ...(question && { question }) })
  }

  /** Counts how a task's first attempt has ended. */
  count(task: Task, hasFailed: boolean): void {
    if (!task.countOnce()) return
    const { ended, failed } = this.#counted
    this.#counted = { ended: ended + 1, failed: failed + (hasFailed ? 1 : 0) }
  }

  /** Where a large share of the tasks fails something is wrong with the plan: a person is asked before more is spent. */
  async holdIfDegraded(): Promise<void> {
    const { ended, failed } = this.#counted
    if (this.now || ended < DEGRADED.tasks || failed < ended * DEGRADED.share) return
    this.#counted = { ended: 0, failed: 0 }
    const { run, journal } = this.#means
    const words = `${failed} of ${ended} tasks failed at their first attempt: is the plan right?`
    const next = `Go on: ${command('resume', run)}, or end it: ${command('stop', run)}.`
    const held: Hold = { why: 'degraded', state: 'asks', words: `${words} ${next}` }
    this.#hold(held)
    await journal.say(journal.ownId('degraded'), 'degraded', words)
    await this.#report(held, words)
  }

  #hold(held: Hold): void {
    this.#held = held
    this.#means.onChange()
  }

  async #report(held: Hold, words: string): Promise<void> {
    const { run, escalation } = this.#means
    const resume = toGoOn(run, held)
    const question: Reference | undefined = await escalation.report({ words, evidence: [], task: held.task, resume })
    // The one that holds now is the one that is asked about: a person may have been quick.
    if (question && this.#held?.words === held.words) this.#held = { ...this.#held, question }
  }

  carried(): Pick<Carried, 'hold' | 'isPaused' | 'counted'> {
    return { counted: this.#counted, isPaused: this.#isPaused, ...(this.#held && { hold: this.#held }) }
  }
}
