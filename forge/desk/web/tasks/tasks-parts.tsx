/** The tab `Tasks` is a part of the page of its own, which is loaded when it is first shown: see Page.loadTasks. */
import type { News } from '../../contract/news.ts'
import type { Run } from '../../contract/tasks.ts'
import type { Command } from '../app/commands.ts'
import type { DialogContent } from '../app/dialog-content.ts'
import type { Page } from '../app/state.ts'
import { focusOn } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { plural } from '../ui/times.ts'
import { Tasks } from './tasks.tsx'
import { actionsOn, titleOf } from './tasks-actions.ts'
import { LandingDialog } from './tasks-landing.tsx'
import { TasksState } from './tasks-state.ts'
import { RUN_SIGNS, spentWords } from './tasks-words.tsx'

/** All that the rest of the page needs of it. */
export function openTasks(page: Page) {
  const tasks = new TasksState(page.connection)
  return {
    isReady: () => tasks.isReady.value,
    hear: (news: News) => tasks.hear(news),
    Tab: () => <Tasks tasks={tasks} />,
    Place: () => <TasksPlace tasks={tasks} />,
    Landing: (props: { content: Extract<DialogContent, { kind: 'landing' }>; close: () => void }) => (
      <LandingDialog {...props} tasks={tasks} />
    ),
    commands: () => commandsOf(page, tasks),
  }
}

/** What the status bar says while the tab is shown. */
function TasksPlace({ tasks }: { tasks: TasksState }) {
  const run = tasks.run.value
  const rows = tasks.runs.value?.runs ?? []
  const asking = rows.filter(({ state }) => state === 'asks' || state === 'approving').length
  const running = run?.tasks.filter(({ state }) => state === 'runs').length ?? 0
  if (!run) return <span class="seg">{tasks.runs.value ? plural(rows.length, 'run') : ''}</span>
  const { icon, tone, word } = RUN_SIGNS[run.state]
  return (
    <>
      <span class="seg">
        <Icon name="workflow" />
        <span class="cut">{titleOf({ run })}</span>
      </span>
      <span class="seg">
        {running > 0 ? <Icon name="arc" tone="by-ai spin" /> : <Icon name={icon} tone={tone} />}
        {running > 0 ? `${plural(running, 'task')} at work` : word}
      </span>
      {asking > 0 ? (
        <span class="seg">
          <Icon name="question" tone="is-warn" />
          {asking === 1 ? '1 run waits for you' : `${asking} runs wait for you`}
        </span>
      ) : null}
      <span class="seg opt-wide">{spentWords(run.spent)}</span>
    </>
  )
}

function commandsOf(page: Page, tasks: TasksState): Command[] {
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
            words: run.state === 'approving' ? 'Say what to change in the plan' : `Answer ${what}`,
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
            words: 'Go to the plan that waits for a yes',
            keys: 'Alt+Y',
            icon: 'shield',
            run: () => focusOn('.whole-plan .approve'),
          } satisfies Command,
        ]
      : []),
    ...actionsOn(page, tasks, about).map(({ does, verb, asks, icon, keys, run }) => ({
      words: `${verb} ${does === 'resume' ? 'with ' : ''}${what}${asks ? '…' : ''}`,
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
