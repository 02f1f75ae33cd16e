/**
 * Tells whether this user's own worker has checked what is shown and landed, and runs the checks in this process, in
 * the locked-down container, without the Temporal server.
 */
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { openState } from '../../../core/state.ts'
import { visible } from '../../../core/text.ts'
import { Approvals } from '../../ai/approvals.ts'
import { blackOut } from '../../ai/secrets.ts'
import { readSettings } from '../../ai/settings.ts'
import { Believed } from '../checks/believed.ts'
import { Slots } from '../checks/slots.ts'
import { type Attempt, commandsOfAttempt, validate } from '../checks/validate.ts'
import { hashOfPart, Verdicts } from '../checks/verdicts.ts'
import type { Oid, RunId, TaskId } from '../contract.ts'
import type { Plan } from '../plan/schema.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { askPerson } from './follow.ts'
import { openNetwork } from './network.ts'
import { openStore, type RunPlace } from './place.ts'

/** What is shown or landed: a commit of one task or of all tasks of a run. */
export type Result = { run: RunId; task?: TaskId; plan: Plan; base: Oid; tip: Oid }

const openVerdicts = (place: RunPlace, run: RunId, { env }: CommandContext): Verdicts =>
  new Verdicts(new Approvals(join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge')), openStore(place, run))

/** Reads what this user's signatures say about a run. Throws a {@link Failure} where the user's key can't be used. */
export async function openBelieved(
  place: RunPlace,
  { run, plan }: Pick<Result, 'run' | 'plan'>,
  context: CommandContext,
): Promise<Believed> {
  return new Believed(place.objects, plan, await openVerdicts(place, run, context).all())
}

/**
 * Runs all checks of a run's result in this process: the commands of the plan's assertions, of its tasks and of
 * FORGE.md, and whether each task kept within its boundaries. Signs what they have shown. Asks about commands that the
 * user has not approved, unless `isSure`. Throws a {@link Failure} where a check fails or something is missing.
 */
export async function checkHere(
  place: RunPlace,
  { run, task, plan, base, tip }: Result,
  { isSure }: { isSure: boolean },
  context: CommandContext,
): Promise<void> {
  const { objects, repository } = place
  const { env, signal, err } = context
  const of = plan.tasks.find(({ id }) => id === task)
  const attempt: Attempt = { plan, task: of, base, head: tip, isWhole: true }
  const approved = openApproved(place, run, context)
  const unseen = await approved.missing(await commandsOfAttempt(objects, attempt))
  if (unseen.length > 0) {
    if (!isSure) await askAbout(unseen, context)
    await approved.approve(unseen)
  }
  const store = openStore(place, run)
  const secrets = await readSettings(env).then(
    settings => settings.secrets,
    // Checks need no models.
    () => [],
  )
  await using slots = new Slots(repository, await openState(repository, env))
  const { isGood, words, report, question, commands } = await validate(
    {
      objects,
      slots,
      keep: (kind, text) => store.put(kind, blackOut(text, secrets)),
      commitMended: async head => head,
      unapproved: all => approved.missing(all),
      hasNetwork: await (await openNetwork(place, context)).isGiven(),
      signal,
      onProgress: said => err(said),
    },
    attempt,
  )
  if (question) throw new Failure(`Nothing was checked and nothing was merged: ${words}`)
  await openVerdicts(place, run, context).sign({
    fact: 'checked',
    run,
    task: task ?? '',
    attempt: 0,
    ...{ base, from: tip, head: tip, plan: hashOfPart(plan, task), commands, report: report.oid, isGood },
    isWhole: true,
  })
  if (!isGood) throw new Failure(`Nothing was merged, as it was checked here and did not pass: ${words}`)
}

async function askAbout(commands: readonly string[], context: CommandContext): Promise<void> {
  if (!context.isTerminal) throw new Failure('There is no terminal to ask about the commands on: add --yes.')
  context.out('To check it, these commands run in the locked container:')
  for (const command of commands) context.out(`  ${visible(command)}`)
  const said = await askPerson(context, 'Run them? yes or no (y/n): ')
  if (!/^y(es)?$/i.test(said?.trim() ?? '')) throw new Failure('Nothing was checked, and nothing was merged.')
}
