/** Above the review of what a run or a task came to: what its checks do not show, and the way to land it. */
import { resultBranch } from '../../contract/tasks.ts'
import { branchOf } from '../page/branch-facts.ts'
import { runOfBranch, splitByRun } from '../page/branches-of-runs.ts'
import { type Tab, usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { named, visible } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { Button } from '../ui/words.tsx'
import { Doubts } from './tasks-landing.tsx'

/** The task of which a branch is the result; undefined for that of a whole run, and for any other branch. */
const taskOf = (branch: string): string | undefined => /\/([^/]+)\/done$/.exec(branch)?.[1]

export function RunFacts({ tab }: { tab: Tab }) {
  const page = usePage()
  const branch = branchOf(tab) ?? ''
  const run = runOfBranch(branch)
  const task = taskOf(branch)
  const desk = page.desk.value
  const onto = desk?.head ?? splitByRun(desk?.branches ?? []).own[0]?.name
  const tips = [branch, onto].map(name => desk?.branches.find(it => it.name === name)?.tip).join(' ')
  const ask =
    run === undefined || branch !== resultBranch(run, task) || onto === undefined
      ? undefined
      : () => page.tasks.seeLanding({ run, ...(task !== undefined && { task }), onto })
  // The dialog that lands it says why it can't be landed.
  const landing = useServerValue(ask, [branch, onto, tips], { forgetsOnChange: true }).latest.value
  if (!landing || run === undefined) return null
  const { doubts, unchecked, tree } = landing
  return (
    <section class="run-facts" aria-label="Result of a run">
      {doubts.length > 0 ? <Doubts doubts={doubts} /> : null}
      {unchecked === undefined ? null : (
        <p class="step-warning">
          <Icon name="alert" />
          <span>{visible(unchecked)}</span>
        </p>
      )}
      {tree === undefined ? null : (
        <Button
          look="small"
          icon="land"
          words="Land…"
          onClick={() => {
            const title = named(task ?? run)
            page.dialog.value = { kind: 'landing', title, run, ...(task !== undefined && { task }) }
          }}
        />
      )}
    </section>
  )
}
