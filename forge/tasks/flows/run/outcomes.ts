/** What follows from how an attempt at a task ended: its result, another attempt, a question, another order or plan. */
import type { Reference, RunInput } from '../../contract.ts'
import { short } from '../effects.ts'
import type { TaskEnd } from '../ends.ts'
import type { Escalation } from './escalation.ts'
import type { Holds } from './holds.ts'
import type { Journal } from './journal.ts'
import type { Planning } from './planning.ts'
import type { Questions } from './questions.ts'
import { command, sentence } from './sentences.ts'
import type { Task, Tasks } from './tasks.ts'

/** How often a task may question the plan; after that it has failed. */
const DISCOVERIES = 2

type Means = {
  input: RunInput
  tasks: Tasks
  planning: Planning
  holds: Holds
  questions: Questions
  escalation: Escalation
  journal: Journal
}

export class Outcomes {
  readonly #means: Means

  constructor(means: Means) {
    this.#means = means
  }

  /** Decides what follows. */
  async settle(task: Task, end: TaskEnd): Promise<void> {
    task.remark(end.words)
    if (end.halt) {
      task.interrupt()
      return await this.#means.holds.halt(end.halt, task.id)
    }
    const evidence = end.report ? [end.report] : []
    switch (end.outcome) {
      case 'success':
        return await this.#passed(task, end)
      case 'failure_retryable':
        return await this.#failed(task, end.words, evidence)
      case 'failure_terminal':
        this.#means.holds.count(task, true)
        task.learn(evidence)
        await this.#asks(task, `It can't be done as it is: ${end.words}`, evidence)
        return await this.#means.holds.holdIfDegraded()
      case 'blocked_on_human':
        if (end.isUnchecked) task.lack()
        return await this.#asks(task, end.words, end.question ? [end.question] : [], end.question)
      case 'blocked_on_sibling':
        return await this.#blocked(task, end)
      case 'new_tasks_discovered':
        return await this.#discovers(task, end)
      case 'confused':
        task.learn(evidence)
        return await this.#confused(task, end.words, evidence)
    }
  }

  async #passed(task: Task, { head }: TaskEnd): Promise<void> {
    task.pass(head)
    const { attempt } = task.record
    const tries = attempt === 1 ? 'at the first attempt' : `at attempt ${attempt}`
    await this.#means.journal.say(`${task.id}/${attempt}/passed`, 'passed', `It passed ${tries}.`, { task })
    this.#means.holds.count(task, false)
    await this.#means.holds.holdIfDegraded()
  }

  /** Another attempt, from a fresh base, with the report, one tier higher; or a person is asked. */
  async #failed(task: Task, words: string, evidence: Reference[]): Promise<void> {
    const { holds, journal } = this.#means
    const mayTryAgain = task.fail(evidence)
    holds.count(task, true)
    const { attempt, failures, about } = task.record
    if (mayTryAgain) {
      const above = task.raiseTier()
      const why = `Another attempt follows from a fresh base, ${above ? `one tier higher (${above})` : 'by the same tier'}.`
      await journal.say(`${task.id}/${attempt}/failed`, 'failed', words, { refs: evidence, why, task })
      task.wait()
    } else {
      const count = failures === 1 ? 'An attempt' : `${failures} attempts`
      const reports = about.filter(({ kind }) => kind === 'report')
      await this.#asks(task, `${count} failed, the last one so: ${words}`, reports)
    }
    await holds.holdIfDegraded()
  }

  /** Halts a task until a person has answered; the rest goes on. What was answered before is not asked again. */
  async #asks(task: Task, words: string, evidence: Reference[], question?: Reference): Promise<void> {
    const { input, tasks, questions, escalation, journal } = this.#means
    const { id } = task
    const { attempt, isAgain } = task.record
    const before = questions.answerTo(id, task.countQuestion())
    if (before) {
      const besides = { refs: [before], why: words, task }
      await journal.say(`${id}/${attempt}/answered`, 'answered', 'A person has answered this before.', besides)
      tasks.goOn(task, before)
      return
    }
    await journal.say(`${id}/${attempt}/asks`, 'asks', words, { refs: evidence, task })
    const next = isAgain
      ? `When that is set right: ${command('resume', input.run, id)} (--yes approves all commands of the run).`
      : `Answer it: ${command('answer', input.run, id)} "…"`
    task.remark(`${sentence(words)} ${next}`)
    const report = await escalation.report({ words, evidence, task: id })
    // It may have been stopped while its report was written.
    if (task.record.state === 'runs') task.ask(question ?? report)
  }

  /** The order is looked at again: it waits for that task too, unless they would wait for each other. */
  async #blocked(task: Task, { sibling = '', words }: TaskEnd): Promise<void> {
    const { input, tasks, planning, journal } = this.#means
    const { id } = task
    const { attempt } = task.record
    const why = tasks.whyNotAfter(task, sibling)
    if (!why) {
      task.waitFor(sibling, words)
      const said = `Waits for ${sibling} from now on.`
      await journal.say(`${id}/${attempt}/order`, 'order', said, { why: words, task })
      return
    }
    const failed = `It says that it waits for ${sibling || 'another task'} (${words}), but ${why}.`
    const place = { run: input.run, task: id, attempt, plan: planning.planOrWish }
    const report = await short.reportFailure({ ...place, outcome: 'blocked_on_sibling', words: failed, evidence: [] })
    await this.#failed(task, failed, [report])
  }

  /** The plan is looked at again. */
  async #discovers(task: Task, { words, parsed }: TaskEnd): Promise<void> {
    if (task.discover(parsed) > DISCOVERIES) {
      return await this.#failed(task, `It finds ever more to do instead of doing its own part: ${words}`, [])
    }
    task.wait()
    this.#means.planning.doubt({ task: task.id, words, ...(parsed && { parsed }) })
    const id = `${task.id}/${task.record.attempt}/discovers`
    await this.#means.journal.say(id, 'discovers', words, { refs: parsed ? [parsed] : [], task })
  }

  /** What nobody can classify stops the whole run. */
  async #confused(task: Task, words: string, evidence: Reference[]): Promise<void> {
    await this.#asks(task, `Nobody can tell what it means: ${words}`, evidence)
    if (task.record.state === 'asks') this.#means.holds.confuse(task)
  }
}
