/** Buttons for the actions on a run or one of its tasks. */

import { isPossible } from '../ui/action.ts'
import { Button } from '../ui/words.tsx'
import { type OneRun, runActions } from './tasks-actions.ts'

const { review, land, finish, pause, resume, limits, stop } = runActions
/** Actions that only show a result, which are possible while a decision is being sent to the run. */
const LOOKING: readonly unknown[] = [review, land]

/**
 * The buttons of a run or task. `hasLand`: whether Land is included; the head of a run has a button of its own for it.
 */
export function TasksButtons({ about, hasLand }: { about: OneRun; hasLand: boolean }) {
  const isTelling = about.tasks.isTelling.value
  const actions = [review, ...(hasLand ? [land] : []), finish, pause, resume, limits, stop]
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
