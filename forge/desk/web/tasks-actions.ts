/** What a person can do with a run: answer, pause, go on, stop, look at a result, land it. */
import type { TasksWord } from '../tasks-questions.ts'
import { type Run, type RunTask, resultBranch } from '../tasks-view.ts'
import { attempt } from './actions.ts'
import { withoutTricks } from './names.ts'
import type { Page } from './state.ts'
import type { TasksState } from './tasks-state.ts'

const TOPIC = 'tasks'

/** Tells a run something, and looks what came of it. Gives what `forge` said; undefined where it said no. */
export async function tell(page: Page, tasks: TasksState, word: TasksWord): Promise<string[] | undefined> {
  if (tasks.isTelling.peek()) return undefined
  let said: string[] | undefined
  tasks.isTelling.value = true
  await attempt(
    page,
    async () => {
      const { words } = await page.connection.ask('tell tasks', { word })
      said = words
      page.spoken.value = withoutTricks(words.at(-1) ?? 'Done')
      await tasks.refresh()
    },
    { topic: TOPIC },
  )
  tasks.isTelling.value = false
  tasks.lookSoon(0)
  return said
}

/** Of the run as a whole, or of one of its tasks. */
interface About {
  run: Run
  task?: RunTask | undefined
}

const wordsOf = ({ run, task }: About) => ({ run: run.run, ...(task && { task: task.id }) })

export function titleOf({ run, task }: About): string {
  return withoutTricks(task?.title ?? run.title ?? run.wish.split('\n', 1)[0] ?? run.run)
}

export function pause(page: Page, tasks: TasksState, about: About): void {
  tell(page, tasks, { tell: 'pause', ...wordsOf(about) })
}

/** Where the budget is spent, a run goes on with another one. */
export function resume(page: Page, tasks: TasksState, about: About): void {
  if (about.task || about.run.state !== 'out of budget') {
    tell(page, tasks, { tell: 'resume', ...wordsOf(about) })
    return
  }
  const { spent, limits } = about.run
  const more = Math.ceil((limits.cost ?? spent.cost) * 2 * 100) / 100
  page.dialog.value = {
    kind: 'ask',
    title: `Go on with ${titleOf(about)}`,
    label: 'What all of it may cost from now on, in dollars',
    value: more.toFixed(2),
    selection: [0, more.toFixed(2).length],
    button: 'Go on',
    hint: `$${spent.cost.toFixed(2)} is spent already, and counts.`,
    run: async typed => {
      const budget = Number(typed.trim().replace(/^\$/, ''))
      if (!(budget >= 0.01 && budget <= 999_999)) throw new Error('Write an amount in dollars, such as 7.50.')
      await page.connection.ask('tell tasks', { word: { tell: 'resume', ...wordsOf(about), budget } })
      tasks.lookSoon(0)
    },
  }
}

export function stop(page: Page, tasks: TasksState, about: About): void {
  page.dialog.value = {
    kind: 'confirm',
    title: `Stop ${titleOf(about)}?`,
    words: [
      about.task
        ? 'This task ends for good, and what waits for it does not begin.'
        : 'The run ends for good: nothing more is begun or sent.',
      'Branches, results and the journal stay.',
    ],
    button: about.task ? 'Stop the task' : 'Stop the run',
    isDangerous: true,
    run: async () => {
      await page.connection.ask('tell tasks', { word: { tell: 'stop', ...wordsOf(about) } })
      await tasks.refresh()
      tasks.lookSoon(0)
    },
  }
}

/** The branch of a result, where it is there. */
export function branchOfResult(page: Page, { run, task }: About): string | undefined {
  const branch = resultBranch(run.run, task?.id)
  const hasOne = task ? task.hasResult : run.hasResult
  return hasOne && page.branch(branch) ? branch : undefined
}

/** Opens a result as any branch, at its review. */
export function review(page: Page, about: About): void {
  const branch = branchOfResult(page, about)
  if (branch === undefined) return
  const tab = page.open({ kind: 'branch', branch })
  page.showHere(tab, { kind: 'review' })
}

export function land(page: Page, about: About): void {
  page.dialog.value = { kind: 'landing', title: titleOf(about), ...wordsOf(about) }
}

export function canPause({ run, task }: About): boolean {
  return task ? task.state === 'runs' || task.state === 'waits' : run.state === 'runs' || run.state === 'planning'
}

export function canResume({ run, task }: About): boolean {
  return task ? task.state === 'paused' : ['paused', 'out of budget'].includes(run.state)
}

const ENDED = ['done', 'failed', 'stopped']

export function canStop({ run, task }: About): boolean {
  return !ENDED.includes(run.state) && !(task && ENDED.includes(task.state))
}
