/** Above the review of a run's or a task's result: what its checks do not cover, and the button Land. */
import { resultBranch } from '../../contract/tasks.ts'
import { branchOf } from '../page/branch-facts.ts'
import { runOfBranch, splitByRun } from '../page/branches-of-runs.ts'
import { type Tab, usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { named, visible } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { Button } from '../ui/words.tsx'
import { Doubts } from './tasks-landing.tsx'

/** The task whose result a branch is; undefined for the result of a whole run, and for any other branch. */
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
  // If the preview can't be loaded, the landing's dialog says why.
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
