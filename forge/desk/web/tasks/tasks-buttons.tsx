/** Buttons for what can be done with a run or with one of its tasks. */

import { Button } from '../ui/words.tsx'
import type { TasksAction } from './tasks-actions.ts'
import type { TasksState } from './tasks-state.ts'

export function TasksButtons({ actions, tasks }: { actions: TasksAction[]; tasks: TasksState }) {
  // What is being told to a run has an answer first; looking at a result need not wait for that.
  const isTelling = tasks.isTelling.value
  return (
    <>
      {actions.map(({ does, verb, asks, icon, run }) => (
        <Button
          key={does}
          look="small"
          icon={icon}
          words={asks ? `${verb}…` : verb}
          isOff={isTelling && does !== 'review' && does !== 'land'}
          onClick={run}
        />
      ))}
    </>
  )
}
