/** The runs of the tasks: the list, the shown run and its task. Polled while the tab is shown. */
import { batch, computed, signal } from '@preact/signals'
import type { Fields } from '../../contract/contract.ts'
import type { News } from '../../contract/news.ts'
import type { JournalLine, Landing, Run, Runs, ShownPlan, TaskDetail, Tier } from '../../contract/tasks.ts'
import type { Connection } from '../ui/socket.ts'

/** Delay between two polls, in milliseconds: while a run is active, while none is, and after an error. */
const PAUSE_MS = { busy: 1_500, quiet: 3_000, trouble: 10_000 }
/** Milliseconds after which the page says that the runs have not answered: the Temporal server may hang. */
const SLOW_MS = 4_000
/** The states in which a run has ended. A run in any other state may change without news from the desk. */
const ENDED = ['done', 'failed', 'stopped']
/** Delay after news of changed branches before the runs are loaded again, in milliseconds. */
const LOOK_DELAY_MS = 300

const askingIn = (run: Run | undefined): string[] =>
  (run?.tasks ?? []).flatMap(({ id, state }) => (state === 'asks' ? [id] : []))

/** What is typed for a run that has not started yet. `base`: the chosen branch. */
export interface NewRun {
  wish: string
  base?: string
  dollars: string
  minutes: string
  atMost: string
  isBatched: boolean
  /** The names of models as typed, by tier; '' for those of the settings. */
  models: Partial<Record<Tier, string>>
}
const BLANK: NewRun = { wish: '', dollars: '', minutes: '', atMost: '4', isBatched: false, models: {} }

export class TasksState {
  readonly runs = signal<Runs | undefined>(undefined)
  /**
   * The runs that have refs, newest first: known at once, while their states take a program on the server, which needs
   * seconds on a busy machine. Undefined before the first answer.
   */
  readonly names = signal<string[] | undefined>(undefined)
  /** The name of the run that the user has chosen; `chosenTask`: that of one of its tasks. */
  readonly chosen = signal<string | undefined>(undefined)
  readonly chosenTask = signal<string | undefined>(undefined)
  readonly run = signal<Run | undefined>(undefined)
  /** The whole plan, while it waits for approval. */
  readonly plan = signal<ShownPlan | undefined>(undefined)
  readonly task = signal<TaskDetail | undefined>(undefined)
  readonly journal = signal<JournalLine[] | undefined>(undefined)
  /** Why the runs can't be shown, as a sentence. */
  readonly problem = signal<string | undefined>(undefined)
  /** Whether the runs have not answered for a while: what is shown may be out of date. */
  readonly isSlow = signal(false)
  /** Whether an answer or a decision is being sent to a run. */
  readonly isTelling = signal(false)
  /** Increases when the answer's field should get the focus. */
  readonly answerWanted = signal(0)
  /** The run whose plan is being edited. */
  readonly editedRun = signal<string | undefined>(undefined)
  /** The typed answers and additions, by run and task. */
  readonly answers = new Map<string, string>()
  /** Kept while the dialog is closed. */
  readonly newRun = signal<NewRun>(BLANK)
  /** Why no run was started with what was typed, as a sentence. */
  readonly newRunProblem = signal<string | undefined>(undefined)
  readonly isStarting = signal(false)
  readonly state = computed(() => this.run.value?.tasks.find(({ id }) => id === this.chosenTask.value))

  /** Whether there are no runs, as far as is known. */
  readonly hasNone = computed(() => (this.runs.value?.runs ?? this.names.value)?.length === 0)

  /** Whether the view has content: a run, an empty list, or an error. */
  readonly isReady = computed(
    () => this.run.value !== undefined || this.hasNone.value || this.problem.value !== undefined,
  )

  readonly #connection: Connection
  #isShown = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #mark = ''
  /** The mark (version) of the run that is shown. */
  #shownMark = ''
  /** Numbers the requests, so that a late answer is ignored. */
  #asking = 0
  #branches = ''
  /** The name of a run that this window has just started. The run is shown as soon as the server lists it. */
  #started: string | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Starts polling. Returns a function that stops it. */
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
    // Only news of branches counts: a task that starts or passes changes a branch.
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
    const slow = setTimeout(() => {
      this.isSlow.value = true
    }, SLOW_MS)
    try {
      const { mark, runs: names } = await this.#connection.ask('tasks mark', {})
      this.names.value = names
      if (mark !== this.#mark || this.isBusy || this.#isOpen || this.runs.peek() === undefined) await this.refresh()
      this.#mark = mark
      this.problem.value = undefined
      pause = this.isBusy ? PAUSE_MS.busy : PAUSE_MS.quiet
    } catch (error) {
      this.problem.value = (error as Error).message
    } finally {
      clearTimeout(slow)
      this.isSlow.value = false
    }
    // Each poll starts programs on the server: at least half of the time is left to other work.
    this.lookSoon(Math.max(pause, performance.now() - begun))
  }

  /** Whether a run is active, so that it may change at any moment. */
  get isBusy(): boolean {
    const rows = this.runs.peek()?.runs ?? []
    return rows.some(({ state, tasks }) => state === 'planning' || state === 'runs' || tasks.running > 0)
  }

  /** Whether the shown run is still active. */
  get #isOpen(): boolean {
    const { state } = this.runs.peek()?.runs.find(({ run }) => run === this.chosen.peek()) ?? {}
    return state !== undefined && !ENDED.includes(state)
  }

  /** Loads the list, and the shown run if it has changed. */
  async refresh(): Promise<void> {
    const runs = await this.#connection.ask('tasks runs', {})
    const chosen = this.chosen.peek()
    const isThere = runs.runs.some(({ run }) => run === chosen)
    const started = runs.runs.find(({ run }) => run === this.#started)?.run
    if (started !== undefined) this.#started = undefined
    const first = runs.runs.find(({ state }) => state === 'asks' || state === 'approving') ?? runs.runs[0]
    batch(() => {
      this.runs.value = runs
      if (started !== undefined) this.#forget(started)
      else if (!isThere) this.#forget(first?.run)
    })
    const row = runs.runs.find(({ run }) => run === this.chosen.peek())
    if (row && row.mark !== this.#shownMark) await this.#load(row.mark)
  }

  /** Shows a run that was just started. */
  async showStarted(run: string): Promise<void> {
    this.#started = run
    try {
      await this.refresh()
    } catch (error) {
      this.problem.value = (error as Error).message
    }
    this.lookSoon(0)
  }

  forgetNewRun(): void {
    this.newRun.value = BLANK
    this.newRunProblem.value = undefined
  }

  choose(run: string): void {
    this.#started = undefined
    if (run === this.chosen.peek()) this.chooseTask(undefined)
    else {
      this.#forget(run)
      this.#loadNow()
    }
  }

  /** Shows the next run (1) or the previous one (-1), wrapping around. */
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

  /** Loads the chosen run, then the chosen task, or, if none was chosen, the task that has a question. */
  async #load(mark: string): Promise<void> {
    const name = this.chosen.peek()
    if (name === undefined) return
    const asking = ++this.#asking
    const isNew = this.run.peek() === undefined
    const isLate = () => asking !== this.#asking
    const run =
      isNew || mark !== this.#shownMark ? await this.#connection.ask('tasks run', { run: name }) : this.run.peek()
    if (isLate() || !run) return
    // A task that begins to ask the user is shown, unless another task is shown. A task that the user has closed stays
    // closed.
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

  /** Loads the preview of a landing. */
  seeLanding(fields: Fields<'tasks landing'>): Promise<Landing> {
    return this.#connection.ask('tasks landing', fields)
  }
}
