/** The dialog that starts a run of the tasks: the wish, where it begins, and what it may cost. */
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { TIERS, type Tier } from '../../contract/tasks.ts'
import { draftsOf } from '../page/branch-facts.ts'
import { splitByRun } from '../page/branches-of-runs.ts'
import { usePlace } from '../page/places.ts'
import { type Page, TASKS, usePage } from '../page/state.ts'
import type { NewRun } from '../page/tasks-state.ts'
import { DialogFrame, SubmitFooter } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, Keys } from '../ui/words.tsx'

export function NewRunDialog({ close }: { close: () => void }) {
  const page = usePage()
  const id = useId()
  const wish = useRef<HTMLTextAreaElement>(null)
  const { newRun, newRunProblem: problem, isStarting } = page.tasks
  useLayoutEffect(() => wish.current?.focus(), [])
  const typed = newRun.value
  const branches = basesOf(page)
  const base = baseOf(page, typed, branches)
  const drafts = base === undefined ? [] : draftsOf(page, base)
  const change = (part: Partial<NewRun>) => {
    newRun.value = { ...newRun.peek(), ...part }
    problem.value = undefined
  }
  return (
    <DialogFrame title="New run" close={close}>
      <form
        onSubmit={event => {
          event.preventDefault()
          start(page, base, close)
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          start(page, base, close)
        }}
      >
        <div class="dialog-body new-run">
          <label for={`${id}-wish`}>What you want</label>
          <textarea
            ref={wish}
            id={`${id}-wish`}
            class="field"
            rows={8}
            value={typed.wish}
            onInput={event => change({ wish: event.currentTarget.value })}
          />
          <div class="row">
            <label for={`${id}-base`}>Begins at</label>
            <select
              id={`${id}-base`}
              class="field grow"
              value={base}
              onChange={event => change({ base: event.currentTarget.value })}
            >
              {branches.map(name => (
                <option key={name} value={name}>
                  {readable(name)}
                </option>
              ))}
            </select>
          </div>
          <div class="row">
            <ShortField
              id={`${id}-budget`}
              label="Budget in dollars"
              placeholder="Default"
              value={typed.dollars}
              change={dollars => change({ dollars })}
            />
            <ShortField
              id={`${id}-minutes`}
              label="Minutes"
              placeholder="No limit"
              value={typed.minutes}
              change={minutes => change({ minutes })}
            />
            <ShortField
              id={`${id}-most`}
              label="Tasks at the same time"
              value={typed.atMost}
              change={atMost => change({ atMost })}
            />
          </div>
          <label class="step-check">
            <input
              type="checkbox"
              checked={typed.isBatched}
              onChange={event => change({ isBatched: event.currentTarget.checked })}
            />
            Send in batches: at half the price, but an answer may take a day
          </label>
          <ModelFields id={id} models={typed.models} change={models => change({ models })} />
          {base !== undefined && drafts.length > 0 ? (
            <p class="step-warning">
              <Icon name="alert" />
              <span>
                {readable(base)} has {plural(drafts.length, 'draft')}, which will not be part of the run: save first if
                it needs {drafts.length === 1 ? 'it' : 'them'}.
              </span>
            </p>
          ) : null}
          <p class="meta">First a plan is made. It waits for you, with each command that it would run.</p>
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
        </div>
        <SubmitFooter close={close} isOff={isStarting.value}>
          {isStarting.value ? 'Starting…' : 'Start'}
          <Keys of="Ctrl+Enter" />
        </SubmitFooter>
      </form>
    </DialogFrame>
  )
}

interface ShortFieldProps {
  id: string
  label: string
  placeholder?: string
  value: string
  change: (value: string) => void
}

/** A field for a number, with its label. */
function ShortField({ id, label, placeholder, value, change }: ShortFieldProps) {
  return (
    <>
      <label for={id}>{label}</label>
      <input
        id={id}
        class="field short"
        inputMode="decimal"
        autocomplete="off"
        placeholder={placeholder}
        value={value}
        onInput={event => change(event.currentTarget.value)}
      />
    </>
  )
}

/** A field for the model of each tier. They are folded unless one is set. */
function ModelFields({
  id,
  models,
  change,
}: {
  id: string
  models: NewRun['models']
  change: (models: NewRun['models']) => void
}) {
  return (
    <details class="new-run-models" open={Object.values(models).some(Boolean)}>
      <summary>Models for this run</summary>
      {TIERS.map(tier => (
        <div class="row" key={tier}>
          <label for={`${id}-${tier}`}>{TIER_WORDS[tier]}</label>
          <input
            id={`${id}-${tier}`}
            class="field grow"
            autocomplete="off"
            spellcheck={false}
            placeholder="Default (provider/name sets another one)"
            value={models[tier] ?? ''}
            onInput={event => change({ ...models, [tier]: event.currentTarget.value })}
          />
        </div>
      ))}
    </details>
  )
}

const TIER_WORDS: Record<Tier, string> = {
  reasoning: 'Reasoning',
  generation: 'Generation',
  summarization: 'Summarization',
  classification: 'Classification',
}

/** The branches at which a run can begin: all except those of runs. */
const basesOf = (page: Page): string[] =>
  splitByRun(page.desk.value?.branches ?? [])
    .own.map(({ name }) => name)
    .sort()

/** The chosen branch, else the one that is checked out. Undefined while there is none. */
function baseOf(page: Page, { base }: NewRun, branches: readonly string[]): string | undefined {
  const head = page.desk.value?.head
  return [base, head].find(name => name !== undefined && branches.includes(name)) ?? branches[0]
}

/**
 * Starts the run, and shows it. If that fails, what was typed stays, with the reason. Closing the dialog
 * meanwhile does not stop the start.
 */
async function start(page: Page, base: string | undefined, close: () => void): Promise<void> {
  const { tasks } = page
  if (tasks.isStarting.peek()) return
  const { wish, dollars, minutes: typedMinutes, atMost, isBatched, models: typed } = tasks.newRun.peek()
  const amount = dollars.trim().replace(/^\$/, '')
  const wrong = whyWrong({ wish, base, amount, minutes: typedMinutes.trim(), atMost: atMost.trim() })
  tasks.newRunProblem.value = wrong
  if (wrong !== undefined || base === undefined) return
  tasks.isStarting.value = true
  try {
    const cost = amount === '' ? {} : { cost: Number(amount) }
    const minutes = typedMinutes.trim() === '' ? {} : { minutes: Number(typedMinutes) }
    const chosen = Object.entries(typed).filter(([, name]) => name.trim() !== '')
    const models = chosen.length > 0 ? { models: Object.fromEntries(chosen) } : {}
    const fields = { wish, base, ...cost, ...minutes, atMost: Number(atMost), isBatched, ...models }
    const { run, notes } = await page.connection.ask('start run', fields)
    tasks.forgetNewRun()
    close()
    page.active.value = TASKS
    for (const title of notes) page.notify({ tone: 'plain', title: withoutTricks(title) })
    page.spoken.value = 'The run has started'
    tasks.showStarted(run)
  } catch (error) {
    tasks.newRunProblem.value = withoutTricks((error as Error).message)
  } finally {
    tasks.isStarting.value = false
  }
}

interface Typed {
  wish: string
  base: string | undefined
  amount: string
  minutes: string
  atMost: string
}

/** Why no run can start with what was typed, as a sentence; undefined if it can. */
function whyWrong({ wish, base, amount, minutes, atMost }: Typed): string | undefined {
  if (wish.trim() === '') return 'Write what you want.'
  if (base === undefined) return 'There is no branch yet at which a run can begin.'
  if (amount !== '' && !(/^\d{1,6}(\.\d{1,2})?$/.test(amount) && Number(amount) > 0))
    return 'The budget is an amount in dollars, such as 7.50.'
  if (minutes !== '' && !(/^\d{1,9}$/.test(minutes) && Number(minutes) > 0))
    return 'Minutes: a whole number, such as 90.'
  if (!(/^\d{1,4}$/.test(atMost) && Number(atMost) >= 1 && Number(atMost) <= 1000))
    return 'Tasks at the same time: a whole number from 1 to 1000.'
  return undefined
}

/** Opens the dialog. It is the main element of a view without runs. */
export function NewRunButton() {
  const page = usePage()
  const button = usePlace<HTMLButtonElement>('home')
  return (
    <Button
      buttonRef={button}
      look="main"
      icon="plus"
      words="New run…"
      keys="Ctrl+Alt+N"
      onClick={() => {
        page.dialog.value = { kind: 'new run' }
      }}
    />
  )
}
