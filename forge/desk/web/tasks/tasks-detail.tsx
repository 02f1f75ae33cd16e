/** The details of a run or one of its tasks: its question, its description, its actions, and its journal. */
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { JournalLine, Run, RunTask, TaskDetail } from '../../contract/tasks.ts'
import { usePage } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { Icon } from '../ui/icons.tsx'
import { visible, withoutTricks } from '../ui/names.ts'
import { fullTime } from '../ui/times.ts'
import { ActionIcon, Waiting } from '../ui/words.tsx'
import { tell, titleOf } from './tasks-actions.ts'
import { TasksButtons } from './tasks-buttons.tsx'
import { shownRunActions } from './tasks-commands.ts'
import { isAnswered, journalSign, RUN_SIGNS, TASK_SIGNS, Told, taskWords } from './tasks-words.tsx'

export function TasksDetail({ run, tasks }: { run: Run; tasks: TasksState }) {
  const state = tasks.state.value
  return (
    <aside
      class="detail"
      aria-label={state ? `The task ${state.id}` : 'The run'}
      onKeyDown={event => {
        if (event.key !== 'Escape' || !state || event.target instanceof HTMLTextAreaElement) return
        event.preventDefault()
        tasks.chooseTask(undefined)
      }}
    >
      {state ? <OfTask run={run} state={state} tasks={tasks} /> : <OfRun run={run} tasks={tasks} />}
      <Journal lines={tasks.journal.value} hasTask={state !== undefined} />
    </aside>
  )
}

// --- The run ---

function OfRun({ run, tasks }: { run: Run; tasks: TasksState }) {
  const { icon, tone, word } = RUN_SIGNS[run.state]
  return (
    <>
      <section class="quest">
        <div class="row">
          <span class={`tag ${tone === 'is-warn' ? 'warn' : tone === 'is-bad' ? 'bad' : ''}`}>
            <Icon name={icon} size="xs" tone={tone} />
            {word}
          </span>
          <span class="grow" />
          <span class="micro cut">{run.run}</span>
        </div>
        <h2>{titleOf({ run })}</h2>
        {run.words ? <Told class="prose" text={run.words} /> : null}
        <Unchecked why={run.unchecked} />
        {run.asks === undefined ? null : <Told class="asked" text={run.asks} />}
        {canAnswer(run) ? <Answer run={run} tasks={tasks} /> : null}
      </section>
      {run.complaints.length > 0 ? (
        <Section title="Problems in the plan">
          <List items={run.complaints} />
        </Section>
      ) : null}
      {run.report === undefined ? null : (
        <Section title="Report">
          <pre class="report">{run.report.trimEnd().split('\n').map(visible).join('\n')}</pre>
        </Section>
      )}
      <Section title="Description">
        <Told class="prose" text={run.wish} />
      </Section>
      {run.models === undefined ? null : (
        <Section title="Models of this run">
          <List items={run.models} />
        </Section>
      )}
      {run.summary === undefined || run.state === 'approving' ? null : (
        <Section title="Plan">
          <Told class="prose" text={run.summary} />
        </Section>
      )}
    </>
  )
}

/** Whether the run itself can be answered: it waits for approval, or has a question that none of its tasks has. */
const canAnswer = ({ state, asks, tasks }: Run): boolean =>
  state === 'approving' || (state === 'asks' && (asks !== undefined || !tasks.some(task => task.state === 'asks')))

// --- A task ---

function OfTask({ run, state, tasks }: { run: Run; state: RunTask; tasks: TasksState }) {
  const page = usePage()
  const detail = tasks.task.value
  const about = { page, tasks, run, task: state }
  const { icon, tone } = TASK_SIGNS[state.state]
  return (
    <>
      <section class="quest">
        <div class="row">
          <span class={`tag ${state.state === 'asks' ? 'warn' : state.state === 'failed' ? 'bad' : ''}`}>
            <Icon name={icon} size="xs" tone={tone} />
            {withoutTricks(taskWords(state, run.tasks))}
          </span>
          <span class="grow" />
          <span class="micro cut">{state.id}</span>
          <ActionIcon action={shownRunActions.backToRun} about={about} />
        </div>
        <h2>{titleOf(about)}</h2>
        {state.words ? <Told class="prose" text={state.words} /> : null}
        <Unchecked why={state.unchecked} />
        {detail?.asks === undefined ? null : <Told class="asked" text={detail.asks} />}
        {state.state === 'asks' ? <Answer run={run} task={state} tasks={tasks} /> : null}
        <div class="acts">
          <TasksButtons about={about} hasLand />
        </div>
      </section>
      {detail ? <Planned detail={detail} run={run} /> : <Waiting words="Loading…" />}
    </>
  )
}

function Planned({ detail, run }: { detail: TaskDetail; run: Run }) {
  const claimed = run.contract.filter(({ task }) => task === detail.id)
  const checks = [...detail.checks, ...detail.reviews.map(question => `review: ${question}`)]
  return (
    <>
      {detail.behaviour === undefined ? null : (
        <Section title="What it does">
          <Told class="prose" text={detail.behaviour} />
          {detail.acceptance.filter(words => words !== detail.behaviour).length > 0 ? (
            <List items={detail.acceptance} />
          ) : null}
        </Section>
      )}
      {detail.behaviour === undefined ? null : (
        <Section title="Where it may write">
          {detail.write.length > 0 ? (
            <List items={detail.write} isCode />
          ) : (
            <p class="prose told">Not known: nothing else runs beside it.</p>
          )}
          {detail.never.length > 0 ? <List title="Never" items={detail.never} isCode /> : null}
        </Section>
      )}
      {claimed.length + checks.length > 0 ? (
        <Section title="Checks">
          <ul class="items">
            {claimed.map(({ id, says, how, isReview }) => (
              <li key={id}>
                <span class="meta">{withoutTricks(id)}</span> {withoutTricks(says)}
                <code>{`${isReview ? 'review: ' : ''}${withoutTricks(how)}`}</code>
              </li>
            ))}
            {checks.map((check, at) => (
              <li key={at}>
                <code>{withoutTricks(check)}</code>
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
    </>
  )
}

// --- Parts ---

/** Warns that only the Temporal server says that the checks passed, without a signature of this user that proves it. */
function Unchecked({ why }: { why: string | undefined }) {
  if (why === undefined) return null
  return (
    <p class="step-warning">
      <Icon name="alert" />
      <span>The result was not verified by you: {withoutTricks(why)}.</span>
    </p>
  )
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <section class="part">
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function List({ items, title, isCode }: { items: readonly string[]; title?: string; isCode?: boolean }) {
  return (
    <>
      {title === undefined ? null : <p class="meta listed">{title}</p>}
      <ul class={`items ${isCode ? 'mono' : ''}`}>
        {items.map((item, at) => (
          <li key={at}>{withoutTricks(item)}</li>
        ))}
      </ul>
    </>
  )
}

/** Splits globs or paths that were typed. */
const partsOf = (words: string): string[] =>
  words
    .split(/[,\n]/)
    .map(word => word.trim())
    .filter(Boolean)

function Answer({ run, task, tasks }: { run: Run; task?: RunTask; tasks: TasksState }) {
  const page = usePage()
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const [mayWrite, files] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)]
  const key = `${run.run} ${task?.id ?? ''}`
  const isPlan = run.state === 'approving'
  const wanted = tasks.answerWanted.value
  const given = useRef(wanted)
  // A layout effect, so that the next key goes to the field.
  useLayoutEffect(() => {
    if (given.current === wanted) return
    given.current = wanted
    field.current?.focus()
  }, [wanted])
  const send = async () => {
    const additions = {
      mayWrite: partsOf(mayWrite.current?.value ?? ''),
      with: partsOf(files.current?.value ?? ''),
    }
    const hasAdditions = additions.mayWrite.length + additions.with.length > 0
    // If the user adds files that the task may write or read, an answer in words is not needed.
    const text = field.current?.value.trim() || (hasAdditions ? 'Go on with what is added.' : '')
    if (text === '') return
    const word = { tell: 'answer', run: run.run, ...(task && { task: task.id }), text } as const
    const said = await tell(page, tasks, { ...word, ...(hasAdditions && additions) })
    if (said) for (const name of [key, `${key} write`, `${key} with`]) tasks.answers.delete(name)
  }
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    send()
  }
  return (
    <form
      class="answer"
      aria-label="Answer"
      onSubmit={event => {
        event.preventDefault()
        send()
      }}
    >
      <label for={id}>{isPlan ? 'What should change in the plan?' : 'Your answer'}</label>
      <textarea
        key={key}
        ref={field}
        id={id}
        class="field"
        rows={4}
        maxLength={20_000}
        defaultValue={tasks.answers.get(key) ?? ''}
        onInput={event => tasks.answers.set(key, event.currentTarget.value)}
        onKeyDown={sendByKey}
      />
      {task ? (
        <>
          <Additions
            key={`${key} write`}
            field={mayWrite}
            label="May also write these files"
            placeholder="src/helper.ts, test/**"
            value={tasks.answers.get(`${key} write`) ?? ''}
            onChange={value => tasks.answers.set(`${key} write`, value)}
            onKeyDown={sendByKey}
          />
          <Additions
            key={`${key} with`}
            field={files}
            label="Also gets these files as context"
            placeholder="src/types.ts, docs/format.md"
            value={tasks.answers.get(`${key} with`) ?? ''}
            onChange={value => tasks.answers.set(`${key} with`, value)}
            onKeyDown={sendByKey}
          />
        </>
      ) : null}
      <div class="row">
        <button type="submit" class={isPlan ? 'button' : 'button main'} aria-disabled={tasks.isTelling.value}>
          {isPlan ? 'Request changes' : 'Answer'}
          <kbd>Ctrl Enter</kbd>
        </button>
        <span class="micro">Sent to the models: include no secrets.</span>
      </div>
    </form>
  )
}

interface AdditionsProps {
  field: { current: HTMLInputElement | null }
  label: string
  placeholder: string
  value: string
  onChange: (value: string) => void
  onKeyDown: (event: KeyboardEvent) => void
}

/** A field for files to add to a task, separated by commas. */
function Additions({ field, label, placeholder, value, onChange, onKeyDown }: AdditionsProps) {
  const id = useId()
  return (
    <>
      <label for={id}>{label}</label>
      <input
        ref={field}
        id={id}
        class="field mono"
        type="text"
        spellcheck={false}
        autocomplete="off"
        maxLength={10_000}
        placeholder={placeholder}
        defaultValue={value}
        onInput={event => onChange(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </>
  )
}

function Journal({ lines, hasTask }: { lines: JournalLine[] | undefined; hasTask: boolean }) {
  return (
    <section class="part" aria-label="Journal">
      <h3>Journal</h3>
      {lines === undefined ? <Waiting words="Loading…" /> : null}
      {lines?.length === 0 ? <p class="prose told">No entries yet.</p> : null}
      <ol class="journal">
        {(lines ?? []).map((line, at) => (
          <Decision
            key={line.id}
            line={line}
            before={lines?.[at - 1]}
            hasTask={hasTask}
            isSettled={isAnswered(line, lines?.slice(at + 1) ?? [])}
          />
        ))}
      </ol>
    </section>
  )
}

interface DecisionProps {
  line: JournalLine
  before: JournalLine | undefined
  hasTask: boolean
  isSettled: boolean
}

function Decision({ line, before, hasTask, isSettled }: DecisionProps) {
  const { icon, tone } = journalSign(line, isSettled)
  const { at, what, words, why, task, attempt } = line
  const label = withoutTricks(what).replaceAll('_', ' ')
  // In a task's journal each attempt has a heading; in a run's, each line names its task.
  const heading = hasTask && attempt !== undefined && attempt !== before?.attempt ? `Attempt ${attempt}` : undefined
  return (
    <>
      {heading === undefined ? null : <li class="attempt">{heading}</li>}
      <li>
        <time title={fullTime(at)}>{clockOf(at)}</time>
        <Icon name={icon} size="xs" tone={tone} />
        <span class="decision">
          <span class="strong">{hasTask || task === undefined ? label : `${withoutTricks(task)} ${label}`}</span>
          {words ? `: ${withoutTricks(words)}` : ''}
          {why ? <span class="why">{withoutTricks(why)}</span> : null}
        </span>
      </li>
    </>
  )
}

const clockOf = (at: number): string => {
  const date = new Date(at * 1000)
  return `${String(date.getHours()).padStart(2, '0')}:${String(date.getMinutes()).padStart(2, '0')}`
}
