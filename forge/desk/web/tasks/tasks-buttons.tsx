/** Buttons for the actions on a run or one of its tasks. */

import { isPossible } from '../ui/action.ts'
import { Button } from '../ui/words.tsx'
import { type OneRun, runActions } from './tasks-actions.ts'
import { shownRunActions } from './tasks-commands.ts'

const { review, land, pause, resume, stop } = runActions
const { finish, limits } = shownRunActions
/** Actions that only show a result, which are possible while a decision is being sent to the run. */
const LOOKING: readonly unknown[] = [review, land]

/**
 * The buttons of a run or task. `hasLand`: whether Land is included; the head of a run has a button of its own for it.
 */
export function TasksButtons({ about, hasLand }: { about: OneRun; hasLand: boolean }) {
  const isTelling = about.tasks.isTelling.value
  const isRun = about.task === undefined
  const actions = [
    review,
    ...(hasLand ? [land] : []),
    ...(isRun ? [finish] : []),
    ...[pause, resume],
    ...(isRun ? [limits] : []),
    stop,
  ]
  return (
    <>
      {actions
        .filter(action => isPossible(action, about))
        .map(action => (
          <Button
            key={action.label}
            look="small"
            icon={action.icon}
            words={action.label}
            isOff={isTelling && !LOOKING.includes(action)}
            onClick={() => action.run(about)}
          />
        ))}
    </>
  )
}
