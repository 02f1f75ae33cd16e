/** Shows why a value could not be loaded, with a button to try again. */
import { withoutTricks } from './names.ts'
import { Button, Empty } from './words.tsx'

interface FailedProps {
  problem: string | undefined
  again: () => void
}

/** Shows a failure in place of the content, with a button to try again. */
export function Failed({ title, problem, again }: FailedProps & { title: string }) {
  return (
    <Empty title={title}>
      <p class="lede" role="alert">
        {withoutTricks(problem ?? '')}
      </p>
      <Button words="Try again" icon="refresh" onClick={again} />
    </Empty>
  )
}

/** Shows a failure in one line, with a button to try again; nothing if there is no problem. */
export function FailedLine({ problem, again }: FailedProps) {
  if (problem === undefined) return null
  return (
    <p class="failed-line is-bad" role="alert">
      <span>{withoutTricks(problem)}</span>
      <Button look="small" words="Try again" onClick={again} />
    </p>
  )
}
