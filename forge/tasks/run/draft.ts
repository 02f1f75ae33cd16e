/**
 * A working copy of a run while one event is decided: its new state, and the commands to carry out. Copy-on-write: the
 * run before stays as it was.
 */
import type { NewJournalLine, Reference, TaskId } from '../contract.ts'
import type { Matter, RunCommand } from './events.ts'
import { answerSentence, asSentence, whenSetRight } from './sentences.ts'
import type { Hold, RunQuestion, RunRecord, Stuck, TaskRecord, TaskWork } from './state.ts'

/** The optional parts of a journal line. */
type Besides = { refs?: Reference[]; why?: string; task?: TaskRecord }

export class Draft {
  readonly run: RunRecord
  readonly commands: RunCommand[] = []
  readonly #places: Map<TaskId, number>
  readonly #copied = new Set<TaskRecord>()

  constructor(
    before: RunRecord,
    readonly now: number,
  ) {
    this.run = { ...before, tasks: [...before.tasks] }
    this.#places = new Map(before.tasks.map(({ shape }, at) => [shape.id, at]))
  }

  do(command: RunCommand): void {
    this.commands.push(command)
  }

  // --- Tasks

  /** Gives a task for reading. */
  find(id: TaskId): Readonly<TaskRecord> | undefined {
    const at = this.#places.get(id)
    return at === undefined ? undefined : this.run.tasks[at]
  }

  /** Gives a task for changing it; undefined where there is none. */
  edit(id: TaskId): TaskRecord | undefined {
    const at = this.#places.get(id)
    const record = at === undefined ? undefined : this.run.tasks[at]
    if (at === undefined || !record || this.#copied.has(record)) return record
    const copy = { ...record }
    this.#copied.add(copy)
    this.run.tasks[at] = copy
    return copy
  }

  setTasks(tasks: TaskRecord[]): void {
    this.run.tasks = tasks
    this.#places.clear()
    for (const [at, { shape }] of tasks.entries()) this.#places.set(shape.id, at)
  }

  // --- The journal

  /**
   * Adds a journal line whose id depends only on its place in the run: after the server has lost the run, its
   * repetition adds no second one.
   */
  say(id: string, what: string, words: string, { refs = [], why, task }: Besides = {}): void {
    const line: NewJournalLine = { run: this.run.input.run, id, what, words, refs }
    if (why) line.why = why
    if (task) Object.assign(line, { task: task.shape.id, attempt: task.attempt })
    this.do({ do: 'note', line })
  }

  /** Adds a journal line whose id is used only once, also when the run is repeated after the server has lost it. */
  sayOnce(what: string, words: string, besides: Besides = {}): void {
    this.say(`${what}/${this.run.life}/${++this.run.lines}`, what, words, besides)
  }

  // --- Questions to a person

  /** Requests a report for the user. */
  report(matter: Matter, stuck: Stuck, more: { task?: TaskId; resume?: string } = {}): void {
    this.do({ do: 'report', matter, words: stuck.words, evidence: stuck.evidence, ...more })
  }

  /** Asks a question of the run itself. Gives the answer where the user gave it before the server lost the run. */
  ask(
    about: RunQuestion['about'],
    { words, evidence, isLacking }: Stuck,
    proposal?: RunQuestion['proposal'],
  ): Reference | undefined {
    const { run } = this
    const { run: id } = run.input
    const count = ++run.questions
    const before = run.remembered.find(it => it.task === '' && it.count === count)?.answer
    if (before) return before
    const asks = proposal ? words : `${asSentence(words)} ${isLacking ? whenSetRight(id) : answerSentence(id)}`
    run.question = { about, count, words: asks, proposal }
    const resume = isLacking ? { resume: `forge resume ${id}` } : {}
    this.report({ question: count }, { words, evidence }, resume)
    return undefined
  }

  // --- What the run does itself

  /** Sets what the run itself does next, such as planning or merging. It begins as soon as nothing holds the run. */
  work(what: TaskWork): void {
    this.run.work = { id: ++this.run.works, what, isUnderWay: false }
  }

  // --- Holding

  hold(hold: Hold): void {
    this.run.hold = hold
  }

  letGo(): void {
    delete this.run.hold
  }
}
