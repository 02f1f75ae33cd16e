/** The Tasks tab: the runs at the side, one of them in the middle, and its questions and decisions beside it. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlanAssertion, Run, RunRow } from '../../contract/tasks.ts'
import { usePlace } from '../page/places.ts'
import { usePage } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { isPossible } from '../ui/action.ts'
import { Boundary } from '../ui/boundary.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { placeOfMenu } from '../ui/menu-content.ts'
import { withoutTricks } from '../ui/names.ts'
import { useClock } from '../ui/use-clock.ts'
import { Button, Empty, IconButton, Waiting } from '../ui/words.tsx'
import { NewRunButton } from './new-run-dialog.tsx'
import { PlanEditor } from './plan-editor.tsx'
import { runActions, titleOf } from './tasks-actions.ts'
import { TasksButtons } from './tasks-buttons.tsx'
import { shownRunActions } from './tasks-commands.ts'
import { TasksDetail } from './tasks-detail.tsx'
import { TaskGraphView } from './tasks-graph.tsx'
import { WholePlan } from './tasks-plan.tsx'
import { RUN_SIGNS, runSign, type StateSign, spentWords, TASK_SIGNS } from './tasks-words.tsx'

/** The view of the Tasks tab. `notices`: shown above the run. */
export function TasksView({ tasks, notices }: { tasks: TasksState; notices: ComponentChildren }) {
  const page = usePage()
  useEffect(() => tasks.begin(), [tasks])
  const runs = tasks.runs.value
  const run = tasks.run.value
  const isEmpty = tasks.hasNone.value
  const names = tasks.names.value ?? []
  const hasRuns = (runs?.runs ?? names).length > 0
  const row = runs?.runs.find(known => known.run === tasks.chosen.value)
  return (
    <main class={`tasks ${hasRuns ? '' : 'none'}`}>
      {hasRuns ? (
        <Boundary part="The runs" about={runs}>
          <RunList tasks={tasks} runs={runs?.runs ?? names.map(name => ({ run: name }))} />
        </Boundary>
      ) : null}
      <section class="middle" aria-label="Run">
        {notices}
        <FailedLine problem={tasks.problem.value} again={() => tasks.lookSoon(0)} />
        {tasks.isSlow.value ? <Slow hasRuns={hasRuns} /> : null}
        {isEmpty ? <NoRuns missing={runs?.missing} /> : null}
        {run ? (
          <Boundary part="The run" about={run.run}>
            <RunHead run={run} tasks={tasks} />
            {tasks.editedRun.value === run.run ? (
              <PlanEditor run={run} tasks={tasks} />
            ) : (
              <>
                <TaskGraphView run={run} tasks={tasks} />
                {run.state === 'approving' ? <WholePlan run={run} tasks={tasks} /> : <Contract run={run} />}
              </>
            )}
          </Boundary>
        ) : isEmpty ? null : (
          <>
            {row ? <ComingRun row={row} tasks={tasks} /> : null}
            {tasks.problem.value === undefined ? (
              <Waiting words={page.connection.isUp.value ? 'Loading…' : ''} />
            ) : null}
          </>
        )}
      </section>
      {run ? (
        <Boundary part="What is known of it" about={tasks.chosenTask.value}>
          <TasksDetail run={run} tasks={tasks} />
        </Boundary>
      ) : null}
    </main>
  )
}

/** Says that the runs do not answer yet: the commands that read them wait some seconds for the Temporal server. */
function Slow({ hasRuns }: { hasRuns: boolean }) {
  return (
    <p class="notice" role="status">
      <Icon name="hourglass" />
      The Temporal server has not answered yet. {hasRuns ? 'What is shown may be out of date.' : ''}
    </p>
  )
}

/** Shown without runs. `missing`: why no run is possible. */
function NoRuns({ missing }: { missing: string | undefined }) {
  return (
    <Empty title={missing === undefined ? 'No runs yet' : 'Tasks are not available here'}>
      {missing === undefined ? (
        <>
          <p class="lede">
            A run does what is too large for one conversation: it makes a plan for you to approve, works on its tasks at
            the same time, and checks each result.
          </p>
          <div class="after">
            <NewRunButton />
          </div>
        </>
      ) : (
        <p class="lede">{withoutTricks(missing)}</p>
      )}
    </Empty>
  )
}

// --- The runs ---

/** A run of the list; of one that is not loaded yet, the name alone. */
type ListedRun = RunRow | { run: string }

/** Buttons that are not about one run. */
function RunsButtons() {
  const page = usePage()
  return (
    <>
      <IconButton
        icon="plus"
        words="New run"
        keys="Ctrl+Alt+N"
        onClick={() => {
          page.dialog.value = { kind: 'new run' }
        }}
      />
      <IconButton
        icon="preview"
        words="Lessons"
        onClick={() => {
          page.dialog.value = { kind: 'lessons' }
        }}
      />
    </>
  )
}

function RunList({ tasks, runs }: { tasks: TasksState; runs: ListedRun[] }) {
  const chosen = tasks.chosen.value
  return (
    <aside class="side" aria-label="Side bar">
      <div class="side-head">
        <h2 class="grow">Runs</h2>
        <RunsButtons />
      </div>
      <nav class="list" aria-label="Runs">
        {runs.map(row => (
          <RunButton key={row.run} row={row} isChosen={row.run === chosen} choose={() => tasks.choose(row.run)} />
        ))}
      </nav>
    </aside>
  )
}

function RunButton({ row, isChosen, choose }: { row: ListedRun; isChosen: boolean; choose: () => void }) {
  const isLoaded = 'wish' in row
  const button = usePlace<HTMLButtonElement>(...(isChosen ? (['runs'] as const) : []))
  return (
    <button
      ref={button}
      type="button"
      class="run"
      aria-current={isChosen}
      title={isLoaded ? withoutTricks(row.wish) : row.run}
      onClick={choose}
    >
      {isLoaded ? <RunWords row={row} /> : <NameOnly run={row.run} />}
    </button>
  )
}

function NameOnly({ run }: { run: string }) {
  return (
    <>
      <Icon name="dashed" />
      <span class="name cut">{run}</span>
      <span class="sub">
        <span>loading…</span>
      </span>
    </>
  )
}

function RunWords({ row }: { row: RunRow }) {
  const { icon, tone, word } = runSign(row)
  const { all, done } = row.tasks
  return (
    <>
      <Icon name={icon} tone={tone} />
      <span class="name cut">{withoutTricks(row.wish) || row.run}</span>
      <span class="sub">
        <span class={tone === 'is-warn' || tone === 'is-bad' ? tone : ''}>{word}</span>
        {all > 0 ? (
          <span>
            {done} of {all}
          </span>
        ) : null}
        {row.spent ? <span>{spentWords(row.spent)}</span> : null}
      </span>
    </>
  )
}

// --- The shown run ---

/** The head of a run of which only the row in the list is loaded. */
function ComingRun({ row, tasks }: { row: RunRow; tasks: TasksState }) {
  return (
    <header class="run-head">
      <div class="row">
        <InsteadOfList tasks={tasks} />
        <h2 class="cut">{withoutTricks(row.wish) || row.run}</h2>
        <StateTag sign={runSign(row)} />
      </div>
    </header>
  )
}

function StateTag({ sign: { icon, tone, word } }: { sign: StateSign }) {
  return (
    <span class={`tag state-tag ${tone === 'is-warn' ? 'warn' : tone === 'is-bad' ? 'bad' : ''}`}>
      <Icon name={icon} size="xs" tone={tone} />
      {word}
    </span>
  )
}

function RunHead({ run, tasks }: { run: Run; tasks: TasksState }) {
  const page = usePage()
  const about = { page, tasks, run }
  const { land } = runActions
  const { editPlan } = shownRunActions
  const canLand = isPossible(land, about)
  const { tone } = RUN_SIGNS[run.state]
  return (
    <header class="run-head">
      <div class="row">
        <InsteadOfList tasks={tasks} />
        <h2 class="cut">{titleOf(about)}</h2>
        <StateTag sign={RUN_SIGNS[run.state]} />
        <span class="grow" />
        {isPossible(editPlan, about) && tasks.editedRun.value !== run.run ? (
          <Button
            look="small"
            icon={editPlan.icon}
            words={editPlan.label}
            isOff={tasks.isTelling.value}
            onClick={() => editPlan.run(about)}
          />
        ) : null}
        <TasksButtons about={about} hasLand={false} />
        <Button
          look={canLand ? 'small main' : 'small'}
          icon={land.icon}
          words={land.label}
          title={canLand ? 'Review it and merge it as one commit' : 'The run has no result yet'}
          isOff={!canLand}
          onClick={() => land.run(about)}
        />
      </div>
      {/* Shown if a task or the plan's editor is shown beside it: otherwise the details say it. */}
      {run.words && (tasks.state.value || tasks.editedRun.value) ? (
        <p class={`run-words ${tone}`} role="status">
          {withoutTricks(run.words)}
        </p>
      ) : null}
      <Gauges run={run} />
    </header>
  )
}

/** What the list of runs has, for windows that are too narrow for it. */
function InsteadOfList({ tasks }: { tasks: TasksState }) {
  const page = usePage()
  return (
    <span class="instead-of-list">
      <IconButton
        icon="list"
        words="Other runs"
        onClick={event => {
          const button = event.currentTarget
          page.openMenu(runsMenu(tasks), placeOfMenu(event, button), button)
        }}
      />
      <RunsButtons />
    </span>
  )
}

function runsMenu(tasks: TasksState) {
  const rows = tasks.runs.peek()?.runs ?? []
  const items = rows.slice(0, 40).map(row => ({
    words: `${withoutTricks(row.wish) || row.run} (${runSign(row).word})`,
    icon: runSign(row).icon,
    run: () => tasks.choose(row.run),
  }))
  return { title: 'Runs', groups: [items] }
}

function Gauges({ run: { tasks, spent, batch, limits, contract, began } }: { run: Run }) {
  const done = new Set(tasks.filter(({ state }) => state === 'done').map(({ id }) => id))
  const held = contract.filter(({ task }) => done.has(task)).length
  return (
    <div class="gauges">
      {contract.length > 0 ? <Gauge name="Assertions" value={held} of={contract.length} look="bo" /> : null}
      {tasks.length > 0 ? <Gauge name="Tasks" value={done.size} of={tasks.length} look="b1" /> : null}
      {limits.cost !== undefined && (spent.cost > 0 || limits.requests === undefined) ? (
        <Gauge name="Budget" value={spent.cost} of={limits.cost} look="by" words={dollars} />
      ) : null}
      <Gauge name="Requests" value={spent.requests} of={limits.requests} look="b1" />
      {batch ? <Batches batch={batch} /> : null}
      {began === undefined ? null : <Elapsed began={began} of={limits.minutes} />}
    </div>
  )
}

/**
 * How many requests wait in batches at the provider, and for how long; if none does, the money that batches have saved.
 */
function Batches({ batch: { out, since, saved } }: { batch: NonNullable<Run['batch']> }) {
  const now = useClock(out > 0)
  const what = out > 0 ? `${plain(out)} out` : `$${saved.toFixed(2)} saved`
  const more = out > 0 && since !== undefined ? ` for ${durationWords((now - since) / 1000)}` : ''
  return (
    <div class="gauge is-long opt-wide">
      <div title={`Sent in batches, at half the price. $${saved.toFixed(2)} saved so far.`}>
        <span>In batches</span>
        <span>
          <b>{what}</b>
          {more}
        </span>
      </div>
    </div>
  )
}

/** Seconds as in "12 s", "5 min", "2 h 10 min". */
function durationWords(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)]
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`
  return hours < 1 ? `${minutes} min` : `${hours} h ${minutes % 60} min`
}

/** The elapsed time of a run, with its limit in minutes if there is one. */
function Elapsed({ began, of }: { began: number; of: number | undefined }) {
  const seconds = Math.max(0, Math.floor(useClock(true) / 1000 - began))
  return (
    <div class="gauge">
      <div>
        <span>Elapsed</span>
        <span>
          <b>{durationWords(seconds)}</b>
          {of === undefined ? '' : ` of ${of} min`}
        </span>
      </div>
    </div>
  )
}

const dollars = (amount: number): string => `$${amount.toFixed(2)}`
const plain = (amount: number): string => amount.toLocaleString('en')

interface GaugeProps {
  name: string
  value: number
  of: number | undefined
  look: string
  words?: (amount: number) => string
}

function Gauge({ name, value, of, look, words = plain }: GaugeProps) {
  const share = of === undefined || of === 0 ? 0 : Math.min(100, (100 * value) / of)
  return (
    <div class={of === undefined ? 'gauge opt-wide' : 'gauge'}>
      <div>
        <span>{name}</span>
        <span>
          <b>{words(value)}</b>
          {of === undefined ? '' : ` of ${words(of)}`}
        </span>
      </div>
      {of === undefined ? null : (
        <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="b0" width="100" height="4" />
          <rect class={share > 90 && look === 'by' ? 'bw' : look} width={share} height="4" />
        </svg>
      )}
    </div>
  )
}

/** The plan's contract, a list of assertions: each counts as fulfilled once the task that claims it has passed. */
function Contract({ run: { contract, tasks } }: { run: Run }) {
  const stateOf = ({ task }: PlanAssertion) => tasks.find(({ id }) => id === task)?.state ?? 'waits'
  if (contract.length === 0) return <div class="contract" />
  const count = (state: string) => contract.filter(it => stateOf(it) === state).length
  const rest = contract.length - count('done') - count('runs')
  return (
    <section
      class="contract"
      aria-label="Contract"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
    >
      <h3>
        <span class="grow">Contract</span>
        <span class="meta">
          {count('done')} hold, {count('runs')} in work, {rest} open
        </span>
      </h3>
      <ul>
        {contract.map(assertion => {
          const { icon, tone, word } = TASK_SIGNS[stateOf(assertion)]
          const how = `${assertion.isReview ? 'review: ' : ''}${withoutTricks(assertion.how)}`
          return (
            <li class="claim" key={assertion.id}>
              <Icon name={icon} size="xs" tone={tone} />
              <span class="meta">{withoutTricks(assertion.id)}</span>
              <span class="cut" title={withoutTricks(assertion.says)}>
                {withoutTricks(assertion.says)}
              </span>
              <span class="mono cut" title={how}>
                {how}
              </span>
              <span class="meta cut">{withoutTricks(assertion.task)}</span>
              <span class="vh">, {word === 'passed' ? 'holds' : word}</span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
