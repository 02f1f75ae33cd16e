/**
 * The landing of a run's or a task's result: the contract, how it was checked, the files, and the button that makes one
 * commit.
 */
import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { TasksWord } from '../../contract/tasks.ts'
import { resultBranch } from '../../contract/tasks.ts'
import { usePreview } from '../graph/use-preview.ts'
import { useStepRun } from '../graph/use-step-run.ts'
import { draftsOf } from '../page/branch-facts.ts'
import { splitByRun } from '../page/branches-of-runs.ts'
import type { DialogContent } from '../page/dialog-content.ts'
import { saveAll } from '../page/saving.ts'
import { type Page, usePage } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { undoOfLast } from '../page/undo.ts'
import { ChangeSum, ChangesWithDiffs } from '../review/change-list.tsx'
import { openSteps } from '../steps/source-steps.ts'
import { branchSource, commitSource } from '../steps/step-ways.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, visible } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { plural } from '../ui/times.ts'
import { Button } from '../ui/words.tsx'

interface Props {
  content: Extract<DialogContent, { kind: 'landing' }>
  tasks: TasksState
  close: () => void
}

export function LandingDialog({ content, tasks, close }: Props) {
  const page = usePage()
  const id = useId()
  const onto = useSignal(firstTarget(page))
  const { run, task } = content
  const { landing, changes, warnings, trouble, hasConflicts, source, look } = useLanding(tasks, content, onto.value)
  const { problem, isBusy, start, body } = useStepRun((title: string) => {
    close()
    page.tell({ title, ...undoOfLast(page) })
    tasks.lookSoon(0)
  }, look)
  const isOff = isBusy.value || landing?.tree === undefined
  const drafts = draftsOf(page, onto.value)
  const words = readable(resultBranch(run, task))

  const land = () => {
    if (isOff || landing?.tree === undefined) return
    const word = {
      tell: 'land',
      run,
      ...(task !== undefined && { task }),
      onto: onto.value,
      tree: landing.tree,
      ...(landing.unchecked !== undefined && { anyway: true }),
    } satisfies TasksWord
    void start(async () => {
      const { words: said } = await page.connection.ask('tell tasks', { word })
      // The line with the command to undo is left out, since the notice has a button.
      return said.findLast(line => !line.startsWith('To undo:')) ?? 'Landed'
    })
  }

  const save = async () => {
    isBusy.value = true
    problem.value = undefined
    await saveAll(page, onto.value).catch((error: Error) => {
      problem.value = error.message
    })
    isBusy.value = false
  }

  /** Opens the dialog of a landing, from which conflicts are resolved in the target branch. */
  const resolve = () => {
    if (source === undefined) return
    close()
    openSteps(page, source, onto.value, 'land')
  }

  return (
    <DialogFrame title={`${content.title} → ${readable(onto.value)}`} close={close} look="step-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          land()
        }}
      >
        <div class="step-body" ref={body} tabIndex={-1}>
          <p class="step-explains">
            {readable(onto.value)} gets all changes of {words} as one commit. The commits themselves are kept.
          </p>
          <div class="landing-onto">
            <label for={id}>Onto</label>
            <select
              id={id}
              class="field"
              value={onto.value}
              onChange={event => {
                onto.value = event.currentTarget.value
                problem.value = undefined
              }}
            >
              {targets(page).map(name => (
                <option key={name} value={name}>
                  {readable(name)}
                </option>
              ))}
            </select>
            <span class="grow" />
            {changes && changes.length > 0 ? <ChangeSum changes={changes} look="meta" /> : null}
          </div>
          {landing && landing.doubts.length > 0 ? <Doubts doubts={landing.doubts} /> : null}
          {drafts.length > 0 ? (
            <p class="step-warning">
              <Icon name="alert" />
              <span class="grow">
                {readable(onto.value)} has {plural(drafts.length, 'draft')}, which are merged onto what is landed. Save
                them first to have them committed below it.
              </span>
              <Button look="small" words="Save all drafts" isOff={isBusy.value} onClick={save} />
            </p>
          ) : null}
          {(landing?.unchecked === undefined ? warnings : [landing.unchecked, ...warnings]).map(warning => (
            <p class="step-warning" key={warning}>
              <Icon name="alert" />
              <span>{visible(warning)}</span>
            </p>
          ))}
          <section class="landing-words" aria-label="What is landed" aria-busy={!landing && trouble === undefined}>
            {landing ? <LandingWords words={landing.words} hasDiff={(changes?.length ?? 0) > 0} /> : null}
            {landing ? null : hasConflicts ? conflictWords(onto.value) : (trouble ?? 'Loading…')}
          </section>
          {changes && changes.length > 0 ? (
            <div class="step-changes">
              <ChangesWithDiffs key={landing?.tree} changes={changes} />
            </div>
          ) : null}
        </div>
        <footer>
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
          <span class="grow" />
          <CloseButton isFirst close={close} />
          {hasConflicts ? <Button look="main" icon="land" words="Land and resolve…" onClick={resolve} /> : null}
          <button
            type="submit"
            hidden={hasConflicts}
            class={`button ${landing?.unchecked === undefined ? 'main' : 'stop'}`}
            aria-disabled={isOff}
          >
            {landing?.unchecked === undefined ? 'Land' : 'Land anyway'}
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

const conflictWords = (onto: string): string =>
  `${readable(onto)} has changed since, and some files conflict with the result. Resolve the conflicts to land it.`

/** What the checks do not cover: shown first. */
export function Doubts({ doubts }: { doubts: readonly string[] }) {
  return (
    <section class="landing-doubts" aria-label="Check before landing">
      <h3>
        <Icon name="warning" tone="is-warn" />
        Check before landing
      </h3>
      <ul>
        {doubts.map(words => (
          <li key={words}>{visible(words)}</li>
        ))}
      </ul>
    </section>
  )
}

/**
 * Shows the contract (the assertions of the plan) and how it was checked. The run's history is folded, and git's table
 * of files is left out if the diff is shown.
 */
function LandingWords({ words, hasDiff }: { words: readonly string[]; hasDiff: boolean }) {
  const places = [words.findIndex(line => line.startsWith('How it went')), words.findIndex(line => STAT.test(line))]
  const [wentAt = words.length, statAt = words.length] = places.map(at => (at < 0 ? words.length : at))
  const about = [...words.slice(0, Math.min(wentAt, statAt)), ...(hasDiff ? [] : words.slice(statAt))]
  const went = words.slice(wentAt + 1, statAt)
  return (
    <>
      {about.map(visible).join('\n')}
      {went.length > 0 ? (
        <details>
          <summary>How it went</summary>
          {went.map(visible).join('\n')}
        </details>
      ) : null}
    </>
  )
}

/** The line before git's table of files. */
const STAT = /^\d[\d,]* commits? becomes? one:/

/** The branches to land on: all except those of runs. */
function targets(page: Page): string[] {
  return splitByRun(page.desk.value?.branches ?? [])
    .own.map(({ name }) => name)
    .sort()
}

function firstTarget(page: Page): string {
  const head = page.desk.peek()?.head
  return head !== undefined && targets(page).includes(head) ? head : (targets(page)[0] ?? '')
}

/** The output of `forge land`, and the files as in any preview. */
function useLanding(tasks: TasksState, { run, task, tip: hidden }: Props['content'], onto: string) {
  const page = usePage()
  const branch = resultBranch(run, task)
  const branchTip = page.branch(branch)?.tip
  const tip = branchTip ?? hidden
  const source = tip === undefined ? undefined : branchTip ? branchSource(branch, tip) : commitSource(tip)
  const target = page.branch(onto)?.tip
  const ask = () => tasks.seeLanding({ run, ...(task !== undefined && { task }), onto })
  const told = useServerValue(ask, [run, task, onto, tip, target], { forgetsOnChange: true })
  const step = source && ({ step: 'land', source, onto } as const)
  const { preview, changes, problem, look } = usePreview(step)
  const landing = told.latest.value
  // That the result has conflicts is more important than why `forge` refuses to land it: the refusal is shown only once
  // the preview is.
  const isPreviewed = step === undefined || preview !== undefined || problem !== undefined
  return {
    source,
    landing,
    changes: landing && changes,
    warnings: (landing && changes && preview?.warnings) ?? [],
    trouble: isPreviewed ? told.problem.value : undefined,
    hasConflicts: preview?.is === 'conflicts',
    look: () => {
      told.refresh()
      look()
    },
  }
}
