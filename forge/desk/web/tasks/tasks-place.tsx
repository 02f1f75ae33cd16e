/** What the status bar shows in the Tasks tab. */

import type { TasksState } from '../page/tasks-state.ts'
import { Icon } from '../ui/icons.tsx'
import { plural } from '../ui/times.ts'
import { titleOf } from './tasks-actions.ts'
import { RUN_SIGNS, spentWords } from './tasks-words.tsx'

export function TasksPlace({ tasks }: { tasks: TasksState }) {
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
        {running > 0 ? `${plural(running, 'task')} running` : word}
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
