/** A stand-in for the tasks beside the desk, for tests of the page: made-up runs, and what is sent to them. */
import type { Asked } from '../../../forge/desk/contract/contract.ts'
import type {
  JournalLine,
  Landing,
  Run,
  RunRow,
  Runs,
  RunTask,
  ShownPlan,
  TaskDetail,
  TasksWord,
} from '../../../forge/desk/contract/tasks.ts'
import { type Part, Refusal, type StandIn } from './web-stand-in.ts'

export class TasksStandIn implements Part {
  /** In the order in which they are listed. */
  runs: Run[] = []
  missing: string | undefined
  readonly told: TasksWord[] = []
  /** The plan that waits for approval. */
  plan: ShownPlan | undefined
  readonly details = new Map<string, TaskDetail>()
  journal: JournalLine[] = []
  landing: Landing = { words: [], doubts: [] }
  /** The output of forge for an answer or decision. */
  says: string[] = ['Done.']
  /** The questions asked, in order. */
  readonly looks: Asked['ask'][] = []
  #changes = 0

  constructor(readonly desk: StandIn) {
    desk.parts.push(this)
  }

  /** Changes the state of a run, as it would change by itself. */
  change(run: string, more: Partial<Run>): void {
    this.#changes++
    this.runs = this.runs.map(it => (it.run === run ? { ...it, ...more } : it))
  }

  changeTask(run: string, id: string, more: Partial<RunTask>): void {
    const tasks = this.#run(run).tasks.map(task => (task.id === id ? { ...task, ...more } : task))
    this.change(run, { tasks })
  }

  answer(question: Asked): { value: unknown } | undefined {
    if (question.ask.startsWith('tasks ')) this.looks.push(question.ask)
    switch (question.ask) {
      case 'tasks mark':
        return { value: { mark: String(this.#changes) } }
      case 'tasks runs':
        return { value: this.#list() }
      case 'tasks run':
        return { value: this.#run(question.run) }
      case 'tasks plan':
        return { value: this.plan }
      case 'tasks task':
        return { value: this.details.get(question.task) ?? { ...NO_DETAIL, id: question.task } }
      case 'tasks journal':
        return { value: this.journal.filter(({ task }) => question.task === undefined || task === question.task) }
      case 'tasks landing':
        return { value: this.landing }
      case 'tell tasks':
        this.told.push(question.word)
        return { value: { words: this.says } }
      default:
        return undefined
    }
  }

  #list(): Runs {
    if (this.missing !== undefined) return { missing: this.missing, runs: [] }
    return { runs: this.runs.map(run => rowOf(run)) }
  }

  #run(name: string): Run {
    const run = this.runs.find(it => it.run === name)
    if (!run) throw new Refusal(`There is no run ${name} in this repository: see forge runs.`)
    return run
  }
}

const NO_DETAIL = { outputs: [], acceptance: [], write: [], never: [], checks: [], reviews: [] }

function rowOf(run: Run): RunRow {
  const count = (state: RunTask['state']) => run.tasks.filter(task => task.state === state).length
  return {
    run: run.run,
    wish: run.wish,
    state: run.state,
    tasks: { all: run.tasks.length, done: count('done'), running: count('runs'), asking: count('asks') },
    spent: run.spent,
    mark: JSON.stringify(run),
  }
}
