/** The runs as the page knows them: the list, one that is shown, a task of it. Asked for while the tab is shown. */
import { batch, computed, signal } from '@preact/signals'
import type { Fields } from '../../contract/contract.ts'
import type { News } from '../../contract/news.ts'
import type { JournalLine, Landing, Run, Runs, ShownPlan, TaskDetail } from '../../contract/tasks.ts'
import type { Connection } from '../ui/socket.ts'

/** Milliseconds from one look to the next: while something is under way, while nothing is, and after a trouble. */
const PAUSE_MS = { busy: 1_500, quiet: 3_000, trouble: 10_000 }
/** States in which a run has ended: the others may become one of these at any moment, on the server alone. */
const ENDED = ['done', 'failed', 'stopped']
/** How long after the desk has said that branches are different it is looked again. */
const LOOK_DELAY_MS = 300

const askingIn = (run: Run | undefined): string[] =>
  (run?.tasks ?? []).flatMap(({ id, state }) => (state === 'asks' ? [id] : []))

export class TasksState {
  readonly runs = signal<Runs | undefined>(undefined)
  /** The run and the task that are shown, by name. */
  readonly chosen = signal<string | undefined>(undefined)
  readonly chosenTask = signal<string | undefined>(undefined)
  readonly run = signal<Run | undefined>(undefined)
  /** The plan, whole, while it waits for a yes. */
  readonly plan = signal<ShownPlan | undefined>(undefined)
  readonly task = signal<TaskDetail | undefined>(undefined)
  readonly journal = signal<JournalLine[] | undefined>(undefined)
  /** Why it can't be seen, as a sentence. */
  readonly problem = signal<string | undefined>(undefined)
  /** Something is being told to a run. */
  readonly isTelling = signal(false)
  /** Counts up when the field for an answer is to have the focus. */
  readonly answerWanted = signal(0)
  /** The run whose plan is being edited. */
  readonly editedRun = signal<string | undefined>(undefined)
  /** What was typed as an answer, by run and task, and in the fields below it. */
  readonly answers = new Map<string, string>()
  readonly state = computed(() => this.run.value?.tasks.find(({ id }) => id === this.chosenTask.value))

  /** Whether there is something to see: a run, or why there is none. */
  readonly isReady = computed(
    () => this.run.value !== undefined || this.runs.value?.runs.length === 0 || this.problem.value !== undefined,
  )

  readonly #connection: Connection
  #isShown = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #mark = ''
  /** What is shown of the chosen run is as of this mark. */
  #shownMark = ''
  /** Counts what is asked for, so that a late answer is no news. */
  #asking = 0
  #branches = ''

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Begins to look, now and again. Gives what ends it. */
  begin(): () => void {
    const onVisible = () => {
      if (document.visibilityState === 'visible') this.lookSoon(0)
    }
    this.#isShown = true
    document.addEventListener('visibilitychange', onVisible)
    this.lookSoon(0)
    return () => {
      this.#isShown = false
      clearTimeout(this.#timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }

  hear(news: News): void {
    // A task that begins or passes is a branch.
    if (news.say !== 'desk') return
    const branches = news.desk.branches.map(({ name, tip }) => `${name} ${tip}`).join('\0')
    if (branches !== this.#branches) this.lookSoon(LOOK_DELAY_MS)
    this.#branches = branches
  }

  lookSoon(after: number): void {
    if (!this.#isShown) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), after)
  }

  async #look(): Promise<void> {
    if (!this.#isShown || document.visibilityState === 'hidden') return
    let pause = PAUSE_MS.trouble
    const begun = performance.now()
    try {
      const { mark } = await this.#connection.ask('tasks mark', {})
      if (mark !== this.#mark || this.isBusy || this.#isOpen || this.runs.peek() === undefined) await this.refresh()
      this.#mark = mark
      this.problem.value = undefined
      pause = this.isBusy ? PAUSE_MS.busy : PAUSE_MS.quiet
    } catch (error) {
      this.problem.value = (error as Error).message
    }
    // Each look starts programs: on a busy machine they get no more than half of the time.
    this.lookSoon(Math.max(pause, performance.now() - begun))
  }

  /** Whether a run is under way that may be another one at any moment. */
  get isBusy(): boolean {
    const rows = this.runs.peek()?.runs ?? []
    return rows.some(({ state, tasks }) => state === 'planning' || state === 'runs' || tasks.running > 0)
  }

  /** Whether the run that is shown may still end. */
  get #isOpen(): boolean {
    const { state } = this.runs.peek()?.runs.find(({ run }) => run === this.chosen.peek()) ?? {}
    return state !== undefined && !ENDED.includes(state)
  }

  /** Asks for the list, and for what is shown where that is another by now. */
  async refresh(): Promise<void> {
    const runs = await this.#connection.ask('tasks runs', {})
    const chosen = this.chosen.peek()
    const isThere = runs.runs.some(({ run }) => run === chosen)
    const first = runs.runs.find(({ state }) => state === 'asks' || state === 'approving') ?? runs.runs[0]
    batch(() => {
      this.runs.value = runs
      if (!isThere) this.#forget(first?.run)
    })
    const row = runs.runs.find(({ run }) => run === this.chosen.peek())
    if (row && row.mark !== this.#shownMark) await this.#load(row.mark)
  }

  choose(run: string): void {
    if (run === this.chosen.peek()) this.chooseTask(undefined)
    else {
      this.#forget(run)
      this.#loadNow()
    }
  }

  /** Shows the run below or above the one that is shown; after the last comes the first. */
  step(by: 1 | -1): void {
    const rows = this.runs.peek()?.runs ?? []
    const at = rows.findIndex(({ run }) => run === this.chosen.peek())
    const next = rows.at((at + by) % rows.length)
    if (next) this.choose(next.run)
  }

  chooseTask(task: string | undefined): void {
    if (task === this.chosenTask.peek()) return
    batch(() => {
      this.chosenTask.value = task
      this.task.value = undefined
      this.journal.value = undefined
    })
    this.#loadNow()
  }

  #forget(run: string | undefined): void {
    this.#shownMark = ''
    this.#asking++
    batch(() => {
      this.chosen.value = run
      this.chosenTask.value = undefined
      this.run.value = undefined
      this.plan.value = undefined
      this.task.value = undefined
      this.journal.value = undefined
    })
  }

  async #loadNow(): Promise<void> {
    const row = this.runs.peek()?.runs.find(({ run }) => run === this.chosen.peek())
    try {
      await this.#load(row?.mark ?? '')
    } catch (error) {
      this.problem.value = (error as Error).message
    }
  }

  /** The chosen run, and then its task, or the task that asks where nobody has chosen one yet. */
  async #load(mark: string): Promise<void> {
    const name = this.chosen.peek()
    if (name === undefined) return
    const asking = ++this.#asking
    const isNew = this.run.peek() === undefined
    const isLate = () => asking !== this.#asking
    const run =
      isNew || mark !== this.#shownMark ? await this.#connection.ask('tasks run', { run: name }) : this.run.peek()
    if (isLate() || !run) return
    // A task that begins to ask is shown to a person who looks at the run as a whole; one that was left stays left.
    const asked = new Set(askingIn(this.run.peek()))
    const first = askingIn(run).find(id => !asked.has(id))
    batch(() => {
      this.run.value = run
      if (first !== undefined && this.chosenTask.peek() === undefined) this.chosenTask.value = first
      this.problem.value = undefined
    })
    const task = run.tasks.find(({ id }) => id === this.chosenTask.peek())?.id
    const [plan, detail, journal] = await Promise.all([
      run.state === 'approving' ? this.#connection.ask('tasks plan', { run: name }) : undefined,
      task === undefined ? undefined : this.#connection.ask('tasks task', { run: name, task }),
      this.#connection.ask('tasks journal', { run: name, task }),
    ])
    if (isLate()) return
    batch(() => {
      this.plan.value = plan
      this.task.value = detail
      this.journal.value = journal
    })
    this.#shownMark = mark
  }

  /** What a landing would show. */
  seeLanding(fields: Fields<'tasks landing'>): Promise<Landing> {
    return this.#connection.ask('tasks landing', fields)
  }
}
