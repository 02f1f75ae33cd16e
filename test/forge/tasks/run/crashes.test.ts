/**
 * Random plans with random outcomes, with workers killed between any two steps and a server that loses everything: the
 * budget is never exceeded, finished work is not paid for again, and the final tree is the same as without crashes. The
 * decisions and the ledger are real; git, models and the user are simulated by maps.
 */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PassedBefore, PersonAnswer, Reference, RunInput, TaskShape } from '../../../../forge/tasks/contract.ts'
import { decide } from '../../../../forge/tasks/run/decide.ts'
import type { Event, RunCommand, TaskEnd, Worked } from '../../../../forge/tasks/run/events.ts'
import { newRun, type RunRecord, type TaskWork } from '../../../../forge/tasks/run/state.ts'
import { statusOf } from '../../../../forge/tasks/run/status.ts'
import { Ledger, OutOfBudget, type Reservation } from '../../../../forge/tasks/runs/budget.ts'
import { shape } from '../../../support/flow-activities.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { makeFolder } from '../../../support/repository.ts'

/** The most dollars of a request: 100 tokens of an answer, at 10,000 dollars per million. */
const DEAREST = 1
/** After this many steps, a world counts as stuck. */
const MAX_STEPS = 20_000
const OUTCOMES = ['failure_retryable', 'failure_terminal', 'blocked_on_human', 'new_tasks_discovered'] as const

const ref = (kind: string, oid = kind): Reference => ({ kind, oid })

type Start = Extract<RunCommand, { do: 'start' }>
/** An attempt under way, at step `at`. `sent`: the step's request, if it was sent. */
type Out = { start: Start; at: number; sent?: { reservation: Reservation; cost: number } }

/** The tasks of a simulated run, and how each attempt at them ends: the same for one seed, with and without crashes. */
type Nature = {
  tasks: TaskShape[]
  steps: Map<string, number>
  endOf: (task: string, attempt: number) => Partial<TaskEnd>
}

function natureOf(seed: number): Nature {
  const random = randomFrom(seed)
  const tasks = Array.from({ length: 1 + random.below(10) }, (_, at) => {
    const dependsOn = at > 0 && random.chance(0.5) ? [`t${random.below(at)}`] : []
    return shape(`t${at}`, { dependsOn, isAlone: random.below(8) === 0 })
  })
  const steps = new Map(tasks.map(({ id }) => [id, 1 + random.below(3)]))
  const ends = new Map(
    tasks.map(({ id }) => [id, Array.from({ length: random.below(4) }, () => random.pick(OUTCOMES))]),
  )
  const endOf = (task: string, attempt: number): Partial<TaskEnd> => {
    const outcome = ends.get(task)?.[attempt - 1]
    return outcome ? { outcome, words: 'Not so.', report: ref('report', `${task}/${attempt}`) } : {}
  }
  return { tasks, steps, endOf }
}

/** The probabilities, from 0 to 1, that the worker is killed after a step, and that the server loses the run. */
type Crashes = { worker: number; server: number }

class World {
  run: RunRecord
  #now = 0
  #pending: (() => Event)[] = []
  #out: Out[] = []
  // The data in git, which survive all crashes.
  #plan: Reference | undefined
  readonly #personAnswers: PersonAnswer[] = []
  readonly #passed = new Map<string, PassedBefore>()
  readonly #answers = new Set<string>()
  /** The dollars that the provider has charged. */
  paid = 0
  cost = DEAREST * 2
  sent: string[] = []
  lives = 1

  constructor(
    readonly nature: Nature,
    readonly random: Random,
    readonly ledger: Ledger,
    readonly path: string,
  ) {
    this.run = newRun(this.#input, 'life 1')
    this.#happens({ is: 'begun' })
  }

  get #input(): RunInput {
    const limits = { depth: 1, cost: this.cost }
    return { run: 'r', wish: ref('wish'), base: 'base', limits, isApproved: true, onlyPlan: false, atMost: 3 }
  }

  live(crashes: Crashes): string {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      if (this.run.ending && this.#out.length === 0) return this.run.ending.result ?? ''
      if (this.random.chance(crashes.worker)) this.#killWorker()
      if (this.random.chance(crashes.server)) this.#loseServer()
      this.#step()
      // The user may have raised the limit since.
      expect(this.paid).toBeLessThanOrEqual(this.cost)
    }
    throw new Error(`It stands still: ${JSON.stringify(statusOf(this.run, this.#now))}`)
  }

  #happens(event: Event): void {
    const { run, commands } = decide(this.run, event, ++this.#now)
    this.run = JSON.parse(JSON.stringify(run))
    for (const command of commands) this.#carryOut(command)
  }

  #carryOut(command: RunCommand): void {
    if (command.do === 'work')
      this.#pending.push(() => ({ is: 'worked', id: command.id, what: this.#worked(command.what) }))
    if (command.do === 'report')
      this.#pending.push(() => ({ is: 'reported', matter: command.matter, report: ref('escalation') }))
    if (command.do !== 'start') return
    const { task } = command.input
    expect(this.#out.some(({ start }) => start.input.task === task)).toBe(false)
    expect(this.#passed.has(task)).toBe(false)
    this.#out.push({ start: command, at: 0 })
  }

  #worked(what: TaskWork): Worked {
    const spent = { requests: 1, input: 1, output: 1, cost: 0 }
    switch (what.do) {
      case 'begin': {
        const passed = [...this.#passed.values()]
        const plan = this.#plan && { plan: this.#plan, passed }
        return { of: 'begin', answers: [...this.#personAnswers], facts: [], used: 0, ...plan }
      }
      case 'keep':
        return { of: 'keep', reference: ref(what.kind, what.words) }
      case 'lint':
        return { of: 'lint', linted: { plan: what.plan, tasks: this.nature.tasks, complaints: [], widens: [] } }
      case 'ask': {
        const plan = what.wish.kind === 'plan' ? { plan: ref('plan') } : {}
        return { of: 'ask', result: { outcome: 'success', words: '', spent, ...plan }, spent }
      }
      case 'remember':
        this.#plan = what.what.answer
        return { of: 'remember' }
      case 'finish': {
        const head = what.results
          .map(it => it.head)
          .toSorted()
          .join()
        return { of: 'finish', finished: { isGood: true, head, report: ref('report'), words: '' } }
      }
      case 'judge':
        return { of: 'judge', report: ref('report'), words: '' }
    }
  }

  /** Advances one event or attempt that is under way; if there is none, the user acts. */
  #step(): void {
    const count = this.#pending.length + this.#out.length
    if (count === 0) {
      this.#person()
      return
    }
    const next = this.random.below(count)
    if (next < this.#pending.length) {
      const [event] = this.#pending.splice(next, 1)
      if (event) this.#happens(event())
      return
    }
    const out = this.#out[next - this.#pending.length]
    if (out) this.#advance(out)
  }

  #advance(out: Out): void {
    const { task, attempt } = out.start.input
    const key = `${task}/${attempt}/${out.at}`
    if (out.sent) {
      this.#answers.add(key)
      this.ledger.settle(out.sent.reservation, { ...NOTHING, output: 1, cost: out.sent.cost })
      delete out.sent
      out.at++
      return
    }
    if (out.at < (this.nature.steps.get(task) ?? 1)) {
      if (this.#answers.has(key)) out.at++
      else this.#send(out, key)
      return
    }
    this.#end(out, this.nature.endOf(task, attempt))
  }

  #send(out: Out, key: string): void {
    const { halt, reservation } = this.#reserve(key)
    if (halt) {
      this.#end(out, { outcome: 'failure_retryable', words: halt.words, halt })
      return
    }
    if (reservation === 'wait') return
    const cost = DEAREST * (0.1 + 0.9 * (this.random.below(100) / 100))
    this.paid += cost
    this.sent.push(key)
    out.sent = { reservation, cost }
  }

  #reserve(
    key: string,
  ): { halt: NonNullable<TaskEnd['halt']>; reservation?: never } | { halt?: never; reservation: Reservation | 'wait' } {
    const price = { input: 0, output: 10_000, cacheRead: 0, cacheWrite: 0 }
    const asked = { key, model: 'm', kind: 'implement', tier: 'generation', input: 0, output: 100, price }
    try {
      return { reservation: this.ledger.reserve(asked, { depth: 1, cost: this.cost }, { isWhole: true }) }
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
      return { halt: { why: 'budget', words: error.message, limit: 'cost' } }
    }
  }

  #end(out: Out, end: Partial<TaskEnd>): void {
    const { input, raises } = out.start
    const { task, attempt, shape, base } = input
    const spent = { requests: 1, input: 1, output: 1, cost: 0 }
    const whole: TaskEnd = { outcome: 'success', words: '', spent, ...end }
    if (whole.outcome === 'success' && !whole.halt) {
      const head = `${task}@${attempt}`
      this.#passed.set(task, { task, attempt, head, from: base, hash: shape.hash })
      Object.assign(whole, { head, from: base })
    }
    this.#out.splice(this.#out.indexOf(out), 1)
    this.#pending.push(() => ({ is: 'ended', task, attempt, end: whole, raises }))
  }

  #person(): void {
    const { run } = this
    const words = ref('answer', `${this.#now}`)
    const asking = run.tasks.find(({ state }) => state === 'asks')
    if (run.hold?.why === 'budget') {
      this.cost += DEAREST * (1 + this.random.below(3))
      this.#happens({ is: 'raised', limits: { cost: this.cost } })
    } else if (run.hold) this.#happens({ is: 'resumed' })
    else if (asking) {
      const { shape, questions } = asking
      this.#personAnswers.push({ task: shape.id, count: questions, answer: words })
      this.#happens({ is: 'answered', task: shape.id, answer: words })
    } else throw new Error(`Nobody acts: ${JSON.stringify(statusOf(run, this.#now))}`)
  }

  /** Kills the worker: requests under way are paid for and their answers lost; running work is repeated. */
  #killWorker(): void {
    for (const out of this.#out) {
      delete out.sent
      out.at = 0
    }
    using database = new Database(join(this.path, 'ledger.sqlite'))
    database.exec("UPDATE requests SET owner = 'another-machine 1 1' WHERE settled = 0")
  }

  #loseServer(): void {
    if (this.run.ending) return
    this.#killWorker()
    this.#pending = []
    this.#out = []
    this.run = newRun(this.#input, `life ${++this.lives}`)
    this.#happens({ is: 'begun' })
  }
}

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 }

test.each(Array.from({ length: 30 }, (_, seed) => [seed]))(
  'what crashes changes neither the tree nor the budget (seed %d)',
  async seed => {
    await using folder = await makeFolder()
    const nature = natureOf(seed)
    const worldOf = async (name: string, by: number) => {
      const path = join(folder.path, name)
      await mkdir(path)
      return new World(nature, randomFrom(by), await Ledger.open(path, { paid: async () => [] }), path)
    }
    const calm = await worldOf('calm', seed)
    const tree = calm.live({ worker: 0, server: 0 })
    expect(new Set(calm.sent).size).toBe(calm.sent.length)
    const wild = await worldOf('wild', seed + 1000)
    expect(wild.live({ worker: 0.05, server: 0.02 })).toBe(tree)
    expect(new Set(wild.sent)).toEqual(new Set(calm.sent))
    for (const { ledger } of [calm, wild]) ledger[Symbol.dispose]()
  },
)
