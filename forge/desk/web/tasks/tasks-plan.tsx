/**
 * A plan that waits for approval, as a whole: the contract, the tasks in order, each command that would run, and the
 * cost limit. The button comes after all of it, and signs the plan with the user's key.
 */
import type { ComponentChildren } from 'preact'
import type { PlannedTask, Run, ShownPlan } from '../../contract/tasks.ts'
import { usePlace } from '../page/places.ts'
import { usePage } from '../page/state.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { visible, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, Waiting } from '../ui/words.tsx'
import { approve } from './tasks-actions.ts'
import { Told } from './tasks-words.tsx'

export function WholePlan({ run, tasks }: { run: Run; tasks: TasksState }) {
  const page = usePage()
  const plan = tasks.plan.value
  const approval = usePlace<HTMLButtonElement>('approval')
  if (!plan)
    return <div class="contract">{tasks.problem.value === undefined ? <Waiting words="Loading…" /> : null}</div>
  const commands = plan.commands.length + plan.others.length
  return (
    <div class="whole-plan">
      <PlanText plan={plan} />
      <footer class="plan-foot">
        <span class="grow meta">
          {commands === 0
            ? 'No commands.'
            : `Approving signs ${plural(commands, 'command')} with your key, for this run only.`}
        </span>
        <Button
          words="Edit…"
          onClick={() => {
            tasks.editedRun.value = run.run
          }}
        />
        <Button
          words="Request changes…"
          onClick={() => {
            tasks.chooseTask(undefined)
            tasks.answerWanted.value++
          }}
        />
        <Button
          look="main approve"
          buttonRef={approval}
          icon="check"
          words="Approve"
          isOff={tasks.isTelling.value || !plan.waits}
          onClick={() => approve(page, tasks, run)}
        />
      </footer>
    </div>
  )
}

/** The whole text of the plan to approve. */
export function PlanText({ plan }: { plan: ShownPlan }) {
  return (
    <section
      class="plan-text"
      aria-label="Plan"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
      tabIndex={0}
    >
      <Told text={plan.summary} />
      <WhatMustBeTrue plan={plan} />
      {plan.levels.map((level, at) => (
        <Part key={at} title={orderOf(at, level.length)}>
          {level.map(task => (
            <TaskOfPlan key={task.id} task={task} plan={plan} />
          ))}
        </Part>
      ))}
      <Commands plan={plan} />
      <Part title="Cost">
        {plan.cost.map((words, at) => (
          <p key={at}>{withoutTricks(words)}</p>
        ))}
      </Part>
    </section>
  )
}

const orderOf = (at: number, count: number): string =>
  `${at === 0 ? 'First' : at === 1 ? 'Then' : `Then (${at + 1})`}${count > 1 ? ', at the same time' : ''}`

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function WhatMustBeTrue({ plan }: { plan: ShownPlan }) {
  return (
    <Part title="Contract">
      <ul class="plan-claims">
        {plan.contract.map(({ id, says, how, isReview }) => (
          <li key={id}>
            <span class="meta">{withoutTricks(id)}</span>
            <span>
              {withoutTricks(says)}{' '}
              <span class="meta">{isReview ? `a review: ${withoutTricks(how)}` : numberOf(plan, how)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Part>
  )
}

/** The number of a command. Each is listed once, below the tasks. */
function numberOf({ commands }: ShownPlan, command: string): string {
  const at = commands.findIndex(it => it.command === command)
  return at < 0 ? withoutTricks(command) : `[${at + 1}]`
}

function TaskOfPlan({ task, plan }: { task: PlannedTask; plan: ShownPlan }) {
  const { id, title, size, tier, recursion, after, write, never, claims, checks, reviews } = task
  const facts = [size, tier, ...(recursion > 0 ? [`sub-agents, ${plural(recursion, 'level')} deep`] : [])]
  const rows: [name: string, words: string][] = [
    ['After', after.join(', ')],
    ['Writes', write.length > 0 ? write.join(', ') : 'not known: runs alone'],
    ['Never', never.join(', ')],
    ['Assertions', claims.join(', ')],
    ['Checks', checks.map(check => numberOf(plan, check)).join(', ')],
    ['Reviews', reviews.join(' · ')],
  ]
  return (
    <div class="plan-task">
      <h4>
        {withoutTricks(title)} <span class="meta">{withoutTricks([id, ...facts].join(' · '))}</span>
      </h4>
      <dl>
        {rows.map(([name, words]) =>
          words === '' ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{withoutTricks(words)}</dd>
            </div>
          ),
        )}
      </dl>
    </div>
  )
}

function Commands({ plan: { commands, others, hasNetwork } }: { plan: ShownPlan }) {
  const where = hasNetwork ? 'with the network, as you have allowed' : 'without network'
  return (
    <>
      <Part title={`Commands that will run, in a container ${where}`}>
        {commands.length === 0 ? <p>None.</p> : null}
        <ol class="plan-commands">
          {commands.map(({ command, seconds, users }, at) => (
            <li key={at}>
              <Command command={command} name={`[${at + 1}]`} />
              <span class="meta">
                at most {seconds.toLocaleString('en')} s, for {withoutTricks(users.join(', '))}
              </span>
            </li>
          ))}
        </ol>
      </Part>
      {others.length > 0 ? (
        <Part title="Commands of the repository (FORGE.md, ready-made checks)">
          <ol class="plan-commands">
            {others.map((command, at) => (
              <li key={at}>
                <Command command={command} name="" />
              </li>
            ))}
          </ol>
        </Part>
      ) : null}
    </>
  )
}

/** A command in full, with invisible characters escaped, since approving requires to see all of it. */
function Command({ command, name }: { command: string; name: string }) {
  return (
    <>
      <span class="meta">{name}</span>
      <code class="command">{command.split('\n').map(visible).join('\n')}</code>
    </>
  )
}
