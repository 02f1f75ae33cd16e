/** The actions of the Tasks tab, for keys and the palette. */
import type { Page } from '../page/state.ts'
import { type Actions, type Command, commandsWith } from '../ui/action.ts'
import { canPause, finishByHand, type OneRun, requestChanges, runActions, titleOf } from './tasks-actions.ts'

const runCount = ({ tasks }: Page): number => tasks.runs.value?.runs.length ?? 0

export const runsActions = {
  goToRuns: {
    label: 'Go to the runs',
    keys: 'Alt+X',
    icon: 'list',
    isPossible: page => runCount(page) > 0,
    run: ({ places }) => places.focus('runs'),
  },
  // Possible while a run is loading, so that paging through the runs need not wait.
  next: {
    label: 'Next run',
    keys: 'Alt+PageDown',
    icon: 'arrow-down',
    isPossible: page => runCount(page) > 1,
    run: ({ tasks }) => tasks.step(1),
  },
  previous: {
    label: 'Previous run',
    keys: 'Alt+PageUp',
    icon: 'arrow-up',
    isPossible: page => runCount(page) > 1,
    run: ({ tasks }) => tasks.step(-1),
  },
} satisfies Actions<Page>

/** States in which the plan can't be changed. */
const CLOSED: readonly string[] = ['planning', 'done', 'failed', 'stopped', 'unreachable']

const canChangePlan = ({ run }: OneRun): boolean => run.tasks.length > 0 && !CLOSED.includes(run.state)
const waitsForApproval = ({ run }: OneRun): boolean => run.state === 'approving'

/**
 * Actions on the shown run as a whole, possible whether or not one of its tasks is shown; those that apply to a task,
 * too, are in {@link runActions}.
 */
export const shownRunActions = {
  goToTasks: {
    label: 'Go to the tasks of the run',
    keys: 'Alt+I',
    icon: 'workflow',
    run: ({ page }) => page.places.focus('home'),
  },
  answer: {
    label: 'Answer',
    inPalette: about => (waitsForApproval(about) ? 'Request changes to the plan' : `Answer ${titleOf(about)}`),
    keys: 'Alt+A',
    icon: 'question',
    isPossible: about =>
      about.task ? about.task.state === 'asks' : about.run.state === 'asks' || waitsForApproval(about),
    run: ({ tasks }) => {
      tasks.answerWanted.value++
    },
  },
  goToPlan: {
    label: 'Go to the plan to approve',
    keys: 'Alt+Y',
    icon: 'shield',
    isPossible: waitsForApproval,
    run: ({ page }) => page.places.focus('approval'),
  },
  editPlan: {
    label: 'Edit the plan…',
    keys: 'Alt+L',
    icon: 'pencil',
    isPossible: canChangePlan,
    run: ({ tasks, run }) => {
      tasks.editedRun.value = run.run
    },
  },
  requestChanges: {
    label: 'Request changes to the plan…',
    icon: 'question',
    isPossible: about => !waitsForApproval(about) && canChangePlan(about),
    run: ({ page, tasks, run }) => requestChanges(page, tasks, run),
  },
  finish: {
    label: 'Finish by hand',
    inPalette: ({ run }) => `Finish by hand: ${titleOf({ run })}`,
    icon: 'merge',
    keys: 'F8',
    isPossible: ({ run }) => run.merges === true,
    run: ({ page, run }) => finishByHand(page, run),
  },
  limits: {
    label: 'Change limits…',
    inPalette: ({ run }) => `Change limits of ${titleOf({ run })}…`,
    icon: 'clock',
    keys: 'Alt+Shift+D',
    isPossible: ({ run }) => canPause({ run }),
    run: ({ page, run }) => {
      page.dialog.value = { kind: 'limits', title: `Limits of ${titleOf({ run })}`, run }
    },
  },
  backToRun: {
    label: 'Back to the run',
    keys: 'Alt+Shift+W',
    icon: 'x',
    isPossible: ({ task }) => task !== undefined,
    run: ({ tasks }) => tasks.chooseTask(undefined),
  },
} satisfies Actions<OneRun>

export function tasksCommands(page: Page): Command[] {
  const { tasks } = page
  const run = tasks.run.value
  const about = run && { page, tasks, run, task: tasks.state.value }
  const ofRun = about ? [...commandsWith(shownRunActions, about), ...commandsWith(runActions, about)] : []
  return [...commandsWith(runsActions, page), ...ofRun]
}
