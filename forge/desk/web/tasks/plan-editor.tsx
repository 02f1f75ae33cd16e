/**
 * The editor of a run's plan: first as a file with the linter's messages, then as a whole, with each command that would
 * run. Approving signs the plan with the user's key.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { CheckedPlan, Run } from '../../contract/tasks.ts'
import { keep, kept } from '../page/kept.ts'
import { usePage } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { withoutTricks } from '../ui/names.ts'
import { Button, Waiting } from '../ui/words.tsx'
import { openPlanCode, type PlanCode } from './plan-code.ts'
import { requestChanges } from './tasks-actions.ts'
import { PlanText } from './tasks-plan.tsx'

const keyOf = (run: string): string => `plan of ${run}`

export function PlanEditor({ run, tasks }: { run: Run; tasks: TasksState }) {
  const page = usePage()
  const place = useRef<HTMLDivElement>(null)
  const code = useRef<PlanCode | undefined>(undefined)
  const checked = useSignal<CheckedPlan | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(true)
  const name = run.run

  /** Runs a task and shows its error; the buttons are disabled meanwhile. */
  const busy = async (task: () => Promise<void>) => {
    isBusy.value = true
    problem.value = undefined
    try {
      await task()
    } catch (error) {
      problem.value = (error as Error).message
    }
    isBusy.value = false
  }
  const check = () =>
    busy(async () => {
      const text = code.current?.text() ?? ''
      if (text.trim() === '') throw new Error('The plan is empty: undo, or discard the changes.')
      const found = await page.connection.ask('tasks plan check', { run: name, text })
      checked.value = found
      code.current?.complain(found.complaints)
    })
  const approve = () =>
    busy(async () => {
      const text = code.current?.text() ?? ''
      const seen = checked.peek()?.plan?.seen ?? ''
      try {
        await page.connection.ask('tell tasks', { word: { tell: 'plan', run: name, text, seen } })
      } catch (error) {
        // The refusal is about the text of the plan, so the editor is shown again.
        checked.value = undefined
        throw error
      }
      keep(keyOf(name), '')
      page.tell({ title: 'The plan is changed' })
      tasks.editedRun.value = undefined
      tasks.lookSoon(0)
    })
  useEffect(() => {
    let isGone = false
    busy(async () => {
      const text = kept(keyOf(name)) || ((await page.connection.ask('tasks plan', { run: name })).file ?? '')
      if (isGone || !place.current) return
      code.current = openPlanCode({
        parent: place.current,
        text,
        nonce: page.nonce,
        onChange: () => keep(keyOf(name), code.current?.text() ?? ''),
        submit: check,
      })
      code.current.focus()
    })
    return () => {
      isGone = true
      code.current?.end()
      code.current = undefined
    }
  }, [name])

  const plan = checked.value?.plan
  const close = () => {
    tasks.editedRun.value = undefined
  }
  return (
    <section class="plan-edit" aria-label="Edit the plan">
      {plan ? (
        <div class="whole-plan">
          <PlanText plan={plan} />
        </div>
      ) : null}
      <Complaints
        complaints={problem.value === undefined ? (checked.value?.complaints ?? []) : [{ words: problem.value }]}
        goTo={line => code.current?.goTo(line)}
      />
      <div ref={place} class="editor plan-code" hidden={plan !== undefined} aria-busy={code.current === undefined}>
        {code.current === undefined && isBusy.value ? <Waiting words="Loading…" /> : null}
      </div>
      <footer class="plan-foot">
        <span class="grow meta">
          {plan
            ? 'Approving signs the plan and its commands with your key, for this run only.'
            : 'Tasks that are done or running stay as they are. A task that changes starts again with two attempts.'}
        </span>
        {plan ? (
          <Button
            words="Back to editing"
            onClick={() => {
              checked.value = undefined
              code.current?.focus()
            }}
          />
        ) : (
          <>
            <Button
              words="Discard changes"
              onClick={() => {
                keep(keyOf(name), '')
                close()
              }}
            />
            {run.state === 'approving' ? null : (
              <Button words="Request changes…" onClick={() => requestChanges(page, tasks, run)} />
            )}
            <Button words="Close" onClick={close} />
          </>
        )}
        <Button
          look="main approve"
          icon={plan ? 'check' : 'diff'}
          words={plan ? 'Approve' : 'Review changes'}
          keys={plan ? undefined : 'Ctrl+Enter'}
          isOff={isBusy.value}
          onClick={plan ? approve : check}
        />
      </footer>
    </section>
  )
}

/** The linter's messages in a list; one that has a line is a link to it. */
function Complaints({ complaints, goTo }: { complaints: CheckedPlan['complaints']; goTo: (line: number) => void }) {
  if (complaints.length === 0) return null
  return (
    <ul class="plan-complaints" role="alert">
      {complaints.map(({ words, line }, at) => (
        <li key={at}>
          {line === undefined ? null : (
            <button type="button" class="button quiet small" onClick={() => goTo(line)}>
              Line {line}
            </button>
          )}
          <span>{withoutTricks(words)}</span>
        </li>
      ))}
    </ul>
  )
}
