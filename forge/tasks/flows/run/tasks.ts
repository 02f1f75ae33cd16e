/** The tasks of a run: how each one goes from its wait to its end, and which may begin. */
import type { Oid, Reference, Spent, TaskId, TaskShape, Tier } from '../../contract.ts'
import { NOTHING, type Told } from '../ends.ts'
import { rowsOf, tierAbove, wayBetween } from '../graph.ts'
import { hasBegun, isOver, newRecord, nodeOf, renewed, type TaskRecord, waitsFor } from './records.ts'

/** One task of a plan. What becomes of it is said by its methods, and read in its record. */
export class Task {
  readonly #record: TaskRecord

  constructor(record: TaskRecord) {
    this.#record = record
  }

  get record(): Readonly<TaskRecord> {
    return this.#record
  }

  get id(): TaskId {
    return this.#record.shape.id
  }

  /** Begins another attempt, or an interrupted one again. Gives what the attempts before this one have used. */
  begin(): Spent {
    const record = this.#record
    record.state = 'runs'
    record.doing = 'begins'
    record.words = ''
    const isAgain = record.isAgain
    record.isAgain = false
    if (isAgain) return NOTHING
    record.attempt++
    const before = record.spent ?? NOTHING
    delete record.spent
    return before
  }

  /** An attempt tells what it does. One that is over, or another one's, is not heard. */
  hear({ attempt, doing, spent }: Told): void {
    if (this.#record.state !== 'runs' || this.#record.attempt !== attempt) return
    this.#record.doing = doing
    this.#record.spent = spent
  }

  /** An attempt has ended, however. */
  end(spent: Spent): void {
    this.#record.spent = spent
    this.#record.doing = ''
  }

  /** What a person reads of it for now. */
  remark(words: string): void {
    this.#record.words = words
  }

  /** The attempt was ended from outside: the same one is begun again. */
  interrupt(): void {
    if (this.#record.state === 'runs') this.#record.state = 'waits'
    this.#record.isAgain = true
  }

  /** Only what it lacks from outside keeps this attempt from going on: the same one is begun again when that is there. */
  lack(): void {
    this.#record.isAgain = true
  }

  pass(head: Oid | undefined): void {
    if (head) this.#record.head = head
    this.#record.state = 'done'
    this.#record.words = ''
  }

  /** An attempt has failed. Whether there may be another one, without a person's word. */
  fail(evidence: Reference[]): boolean {
    this.#record.failures++
    this.learn(evidence)
    return this.#record.failures < this.#record.mayFail
  }

  /** Its next attempt is by a more capable tier, which this gives; undefined where it had the highest one. */
  raiseTier(): Tier | undefined {
    const above = tierAbove(this.#record.tier)
    this.#record.tier = above ?? this.#record.tier
    return above
  }

  /** Its next attempt is about this too. */
  learn(about: Reference[]): void {
    this.#record.about.push(...about)
  }

  /** It waits for another attempt, unless it was stopped meanwhile. */
  wait(): void {
    if (this.#record.state === 'runs') this.#record.state = 'waits'
  }

  /** It waits for another task too. */
  waitFor(sibling: TaskId, words: string): void {
    this.#record.siblings.push(sibling)
    this.#record.state = 'waits'
    this.#record.words = `It waits for ${sibling}: ${words}`
  }

  /** It has found out that there is more to do than the plan knows. Gives how often it has. */
  discover(found: Reference | undefined): number {
    if (found) this.learn([found])
    return ++this.#record.discoveries
  }

  /** It has one more question. Gives the number of that. */
  countQuestion(): number {
    return ++this.#record.questions
  }

  /** It waits for a person. `report` is what that person reads. */
  ask(report: Reference | undefined): void {
    if (report) this.#record.question = report
    this.#record.state = 'asks'
  }

  /** A person lets it go on: it has another attempt, with that person's answer where there is one. */
  goOn(answer?: Reference): void {
    if (answer) {
      this.learn([answer])
      this.#record.isAgain = false
    }
    this.#record.mayFail = Math.max(this.#record.mayFail, this.#record.failures + 1)
    this.#record.state = 'waits'
    this.#record.words = ''
    this.#record.isGivenUp = false
    delete this.#record.question
  }

  pause(): void {
    this.#record.isPaused = true
  }

  /** Ends a pause; what it was before, it is still. */
  unpause(): void {
    this.#record.isPaused = false
  }

  stop(words: string): void {
    this.#record.state = 'stopped'
    this.#record.words = words
    delete this.#record.question
  }

  /** The run has ended. */
  close(): void {
    if (this.#record.state !== 'done') this.#record.state = 'stopped'
  }

  /** What it needs was stopped, so that it never begins. */
  giveUp(missing: TaskId): void {
    this.#record.state = 'stopped'
    this.#record.isGivenUp = true
    this.#record.words = `It needs the result of ${missing}, which was stopped.`
  }

  /** What was given up has a chance again. */
  hopeAgain(): void {
    if (!this.#record.isGivenUp) return
    Object.assign(this.#record, { isGivenUp: false, state: 'waits', words: '' })
  }

  /** Marks it as counted. Whether it was not before. */
  countOnce(): boolean {
    const isFirst = !this.#record.isCounted
    this.#record.isCounted = true
    return isFirst
  }
}

export class Tasks {
  /** In the plan's order. */
  #tasks: Map<TaskId, Task>

  constructor(records: TaskRecord[] = []) {
    this.#tasks = new Map(records.map(record => [record.shape.id, new Task(record)]))
  }

  get all(): Task[] {
    return [...this.#tasks.values()]
  }

  get records(): Readonly<TaskRecord>[] {
    return this.all.map(({ record }) => record)
  }

  find(id: TaskId): Task | undefined {
    return this.#tasks.get(id)
  }

  get areOver(): boolean {
    return this.records.every(isOver)
  }

  /** Those that may begin: what the longest row of others waits for goes first. */
  get ready(): { task: Task; row: number }[] {
    const rows = rowsOf(this.records.map(nodeOf))
    const ready = this.all.filter(task => this.#isReady(task))
    return ready.map(task => ({ task, row: rows.get(task.id) ?? 1 })).sort((a, b) => b.row - a.row)
  }

  get isOneReady(): boolean {
    return this.all.some(task => this.#isReady(task))
  }

  #isReady({ record }: Task): boolean {
    if (record.state !== 'waits' || record.isPaused) return false
    return waitsFor(record).every(id => this.find(id)?.record.state === 'done')
  }

  /** Takes a plan: what has begun stays as it is, everything else is as the plan has it. Gives the ids that are new. */
  adopt(shapes: TaskShape[]): TaskId[] {
    const before = this.#tasks
    const begun = this.all.filter(({ record }) => hasBegun(record))
    const next = new Map(begun.map(task => [task.id, task]))
    for (const shape of shapes) {
      if (!next.has(shape.id)) next.set(shape.id, new Task(renewed(shape, before.get(shape.id)?.record)))
    }
    const order = new Set([...shapes.map(({ id }) => id), ...next.keys()])
    this.#tasks = new Map([...order].flatMap(id => entryOf(next, id)))
    return [...this.#tasks.keys()].filter(id => !before.has(id))
  }

  /** What waits for a task that was stopped never begins. */
  giveUp(isUnderWay: (id: TaskId) => boolean): void {
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const task of this.all) {
        if (task.record.state !== 'waits' || isUnderWay(task.id)) continue
        const missing = waitsFor(task.record).find(id => (this.find(id)?.record.state ?? 'stopped') === 'stopped')
        if (missing === undefined) continue
        task.giveUp(missing)
        isMore = true
      }
    }
  }

  /** Stops what is not done: the run has ended. */
  stop(): void {
    for (const task of this.all) task.close()
  }

  /** Lets a task go on, and what was given up with it; what still lacks something is given up anew. */
  goOn(task: Task, answer?: Reference): void {
    task.goOn(answer)
    for (const other of this.all) other.hopeAgain()
  }

  /** Why a task can't wait for another one; undefined where it can. */
  whyNotAfter({ id, record }: Task, sibling: TaskId): string | undefined {
    const other = this.find(sibling)
    if (!other) return 'the plan has no such task'
    if (sibling === id) return 'that is the task itself'
    if (waitsFor(record).includes(sibling)) return `it had the result of ${sibling} already`
    if (other.record.state === 'stopped') return `${sibling} was stopped`
    const way = wayBetween(this.records.map(nodeOf), sibling, id)
    return way && `they would wait for each other: ${id} for ${way.join(' for ')}`
  }
}

/** Tasks as a proposed plan has them, for whoever looks at it. */
export const proposed = (shapes: TaskShape[]): TaskRecord[] => shapes.map(newRecord)

const entryOf = (tasks: Map<TaskId, Task>, id: TaskId): [TaskId, Task][] => {
  const task = tasks.get(id)
  return task ? [[id, task]] : []
}
