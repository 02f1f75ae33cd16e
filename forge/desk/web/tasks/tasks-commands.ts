/** The actions of the tab of the tasks. */
import type { Run } from '../../contract/tasks.ts'
import type { Command } from '../app/command.ts'
import type { Page } from '../app/state.ts'
import { focusOn } from '../ui/focus.ts'
import { actionsOn, titleOf } from './tasks-actions.ts'
import type { TasksState } from './tasks-state.ts'

export function tasksCommands(page: Page, tasks: TasksState): Command[] {
  const rows = tasks.runs.value?.runs ?? []
  const run = tasks.run.value
  return [
    ...(rows.length > 0
      ? [
          {
            words: 'Go to the runs',
            keys: 'Alt+X',
            icon: 'list',
            run: () => focusOn('.tasks .run[aria-current="true"]'),
          } satisfies Command,
        ]
      : []),
    ...(run ? runCommands(page, tasks, run) : []),
    // Also while a run is still on its way: who pages through the runs is faster than they come.
    ...(rows.length > 1
      ? ([
          { words: 'Next run', keys: 'Alt+PageDown', icon: 'arrow-down', run: () => tasks.step(1) },
          { words: 'Previous run', keys: 'Alt+PageUp', icon: 'arrow-up', run: () => tasks.step(-1) },
        ] satisfies Command[])
      : []),
  ]
}

/** What can be done with the run that is shown, and with the task of it that is. */
function runCommands(page: Page, tasks: TasksState, run: Run): Command[] {
  const state = tasks.state.value
  const about = { run, ...(state && { task: state }) }
  const what = titleOf(about)
  const isAsked = state ? state.state === 'asks' : run.state === 'asks' || run.state === 'approving'
  return [
    { words: 'Go to the tasks of the run', keys: 'Alt+I', icon: 'workflow', run: () => focusOn('.plan [data-home]') },
    ...(isAsked
      ? [
          {
            words: run.state === 'approving' ? 'Request changes to the plan' : `Answer ${what}`,
            keys: 'Alt+A',
            icon: 'question',
            run: () => {
              tasks.answerWanted.value++
            },
          } satisfies Command,
        ]
      : []),
    ...(run.state === 'approving'
      ? [
          {
            words: 'Go to the plan to approve',
            keys: 'Alt+Y',
            icon: 'shield',
            run: () => focusOn('.whole-plan .approve'),
          } satisfies Command,
        ]
      : []),
    ...actionsOn(page, tasks, about).map(({ verb, asks, icon, keys, run }) => ({
      words: `${verb} ${what}${asks ? '…' : ''}`,
      ...{ keys, icon, run },
    })),
    ...(state
      ? [
          {
            words: 'Back to the run',
            keys: 'Alt+Shift+W',
            icon: 'x',
            run: () => tasks.chooseTask(undefined),
          } satisfies Command,
        ]
      : []),
  ]
}
