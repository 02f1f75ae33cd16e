/** Actions on a run: answer, pause, resume, stop, review a result, land it. */
import type { TasksWord } from '../../contract/tasks.ts'
import { type Run, type RunTask, resultBranch } from '../../contract/tasks.ts'
import type { At } from '../../contract/values.ts'
import { attempt } from '../page/actions.ts'
import type { Page } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import type { Actions } from '../ui/action.ts'
import { withoutTricks } from '../ui/names.ts'
import { LIMITS } from './run-limits.ts'

const TOPIC = 'tasks'

/**
 * Sends an answer or a decision to a run, and loads the run again. Returns the output of `forge`; undefined if it
 * failed.
 */
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

/** A run, or one of its tasks. */
interface About {
  run: Run
  task?: RunTask | undefined
}

const wordsOf = ({ run, task }: About) => ({ run: run.run, ...(task && { task: task.id }) })

export function titleOf({ run, task }: About): string {
  return withoutTricks(task?.title ?? run.title ?? run.wish.split('\n', 1)[0] ?? run.run)
}

function pause(page: Page, tasks: TasksState, about: About): void {
  tell(page, tasks, { tell: 'pause', ...wordsOf(about) })
}

/** Approves exactly the plan that is shown. */
export function approve(page: Page, tasks: TasksState, run: Run): void {
  const plan = tasks.plan.peek()
  if (plan?.waits) tell(page, tasks, { tell: 'approve', run: run.run, seen: plan.seen })
}

/** Asks what should change in the plan of a run that is under way, and has the planner change it. */
export function requestChanges(page: Page, tasks: TasksState, run: Run): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Request changes to ${titleOf({ run })}`,
    label: 'What should change in the plan?',
    value: '',
    button: 'Request changes',
    hint: 'A model changes the plan. What is done stays done, and the changed plan waits for your approval.',
    run: async text => {
      await page.connection.ask('tell tasks', { word: { tell: 'replan', run: run.run, text } })
      tasks.editedRun.value = undefined
      await tasks.refresh()
      tasks.lookSoon(0)
    },
  }
}

/** Resumes a run; if it reached a limit, asks for a higher one. */
function resume(page: Page, tasks: TasksState, about: About): void {
  if (about.task || about.run.state !== 'out of budget') {
    tell(page, tasks, { tell: 'resume', ...wordsOf(about) })
    return
  }
  const { run } = about
  const name = run.limit ?? 'cost'
  const { label, taken, isGood, wrong } = LIMITS[name]
  const before = run.limits[name] ?? (name === 'cost' ? run.spent.cost : name === 'requests' ? run.spent.requests : 30)
  const value = name === 'cost' ? (before * 2).toFixed(2) : String(Math.ceil(before * 2))
  page.dialog.value = {
    kind: 'ask',
    title: `Resume ${titleOf(about)}`,
    label,
    value,
    selection: [0, value.length],
    button: 'Resume',
    hint: taken(run),
    run: async typed => {
      const more = Number(typed.trim().replace(/^\$/, ''))
      if (!isGood.test(typed.trim()) || more <= 0) throw new Error(wrong)
      await page.connection.ask('tell tasks', { word: { tell: 'resume', ...wordsOf(about), limits: { [name]: more } } })
      tasks.lookSoon(0)
    },
  }
}

function stop(page: Page, tasks: TasksState, about: About): void {
  page.dialog.value = {
    kind: 'confirm',
    title: `Stop ${titleOf(about)}?`,
    words: [
      about.task
        ? 'This task ends, and what waits for it does not begin.'
        : 'The run ends: nothing more is begun or sent.',
      'Branches, results and the journal stay, and Resume continues it.',
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

/** Where a result is: a branch, or, for a task of an ended run, a commit. Undefined if there is none. */
function placeOfResult(page: Page, { run, task }: About): At | undefined {
  const branch = resultBranch(run.run, task?.id)
  const hasOne = task ? task.tip !== undefined : run.hasResult
  if (hasOne && page.branch(branch)) return { kind: 'branch', branch }
  return task?.tip === undefined ? undefined : { kind: 'commit', commit: task.tip }
}

/** Opens the review of a result: all its changes, compared with the checked out branch. */
function review(page: Page, about: About): void {
  const place = placeOfResult(page, about)
  if (place === undefined) return
  const tab = page.open(place)
  tab.review.kind.value = 'all'
  page.showHere(tab, { kind: 'review' })
}

function land(page: Page, about: About): void {
  const place = placeOfResult(page, about)
  const tip = place?.kind === 'commit' ? { tip: place.commit } : {}
  page.dialog.value = { kind: 'landing', title: titleOf(about), ...wordsOf(about), ...tip }
}

/** Opens the merge of a run as a branch, with what is resolved, and shows that. */
export async function finishByHand(page: Page, run: Run): Promise<void> {
  await attempt(
    page,
    async () => {
      const { branch } = await page.connection.ask('open merge', { run: run.run })
      const tab = page.open({ kind: 'branch', branch })
      await tab.merging.refresh()
      page.wantFocus()
    },
    { topic: TOPIC },
  )
}

const ENDED = ['done', 'failed', 'stopped']

export function canPause({ run, task }: About): boolean {
  return task ? task.state === 'runs' || task.state === 'waits' : run.state === 'runs' || run.state === 'planning'
}

function canResume({ run, task }: About): boolean {
  if (!task) return ['paused', 'out of budget', 'stopped', 'failed', 'unreachable'].includes(run.state)
  return task.state === 'paused' || (task.state === 'stopped' && !ENDED.includes(run.state))
}

function canStop({ run, task }: About): boolean {
  return !ENDED.includes(run.state) && !(task && ENDED.includes(task.state))
}

/** A run, or one of its tasks, with the page that shows it. */
export interface OneRun extends About {
  page: Page
  tasks: TasksState
}

const hasResult = (about: OneRun): boolean => placeOfResult(about.page, about) !== undefined

/** The label of an action on a run: the verb alone on buttons, and with the run's title in the palette. */
function of(verb: string) {
  const [words, dots = ''] = verb.split(/(?=…)/)
  return (about: OneRun): string => `${words} ${titleOf(about)}${dots}`
}

export const runActions = {
  review: {
    label: 'Review',
    inPalette: of('Review'),
    icon: 'diff',
    keys: 'Alt+R',
    isPossible: hasResult,
    run: about => review(about.page, about),
  },
  land: {
    label: 'Land…',
    inPalette: of('Land…'),
    icon: 'land',
    keys: 'Alt+Shift+F',
    isPossible: hasResult,
    run: about => land(about.page, about),
  },
  pause: {
    label: 'Pause',
    inPalette: of('Pause'),
    icon: 'pause',
    keys: 'Alt+P',
    isPossible: canPause,
    run: about => pause(about.page, about.tasks, about),
  },
  resume: {
    label: 'Resume',
    inPalette: of('Resume'),
    icon: 'play',
    keys: 'Alt+P',
    isPossible: canResume,
    run: about => resume(about.page, about.tasks, about),
  },
  stop: {
    label: 'Stop…',
    inPalette: of('Stop…'),
    icon: 'stop',
    keys: 'Alt+Shift+Z',
    isPossible: canStop,
    run: about => stop(about.page, about.tasks, about),
  },
} satisfies Actions<OneRun>
