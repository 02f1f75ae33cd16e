/** The person's word on a plan: it is shown whole, with every command that would run, and signed for. */
import { join } from 'node:path'
import { xdgFolder } from '../../../core/folders.ts'
import { Approvals } from '../../ai/approvals.ts'
import { readSettings } from '../../ai/settings.ts'
import { ApprovedCommands } from '../checks/approved.ts'
import { commandsOfPlan } from '../checks/validate.ts'
import type { Limits, Oid, Reference, RunId } from '../contract.ts'
import { estimateOf, type PriceOf } from '../plan/estimate.ts'
import type { Plan } from '../plan/schema.ts'
import { showPlan } from '../plan/show.ts'
import { priceOf } from '../runs/budget.ts'
import { openRunFolder } from '../runs/folder.ts'
import { readPlan } from '../runs/plans.ts'
import { reviewersOf } from '../steps/request.ts'
import type { CommandContext } from './context.ts'
import { askPerson, columnsOf } from './follow.ts'
import { openNetwork } from './network.ts'
import { openStore, type Place } from './place.ts'

/** The approvals of a run. */
export async function openApproved(place: Place, run: RunId, { env }: CommandContext): Promise<ApprovedCommands> {
  const folder = await openRunFolder(place.repository, run, env)
  const config = join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge')
  return new ApprovedCommands(new Approvals(config), folder, place.repository, run)
}

/**
 * Shows a plan as it is before anything of it runs: what, in which order, where, at what cost, with which commands.
 * Gives all commands that it would run, those of the repository's own FORGE.md too.
 */
export async function tellPlan(
  place: Place,
  { plan, base, limits }: { plan: Plan; base: Oid; limits: Limits },
  context: CommandContext,
): Promise<string[]> {
  const commands = await commandsOfPlan(place.objects, plan, base)
  const settings = await readSettings(context.env)
  const priceOfTier: PriceOf = tier => {
    const [name] = settings.modelsOf(tier)
    return name === undefined ? undefined : priceOf(name, settings)
  }
  const hasNetwork = await (await openNetwork(place, context)).isGiven()
  const shown = showPlan(plan, {
    hasNetwork,
    commands,
    estimate: estimateOf(plan, priceOfTier, { reviewersOf: tier => reviewersOf(settings, tier) }),
    limits,
    width: Math.min(columnsOf(context), 120),
  })
  for (const line of shown.trimEnd().split('\n')) context.out(line)
  return commands
}

/** Asks whether a plan may run. What is approved is signed for; undefined where the person wants to think about it. */
export async function approvePlan(
  place: Place,
  { run, plan, base, limits }: { run: RunId; plan: Reference; base: Oid; limits: Limits },
  context: CommandContext,
): Promise<boolean | undefined> {
  const read = await readPlan(openStore(place, run), plan)
  const commands = await tellPlan(place, { plan: read, base, limits }, context)
  for (;;) {
    const said = await askPerson(context, '\nRun it? yes, no, or later (y/n/l): ')
    const word = said?.trim().toLowerCase()
    if (word === undefined || word === 'l' || word === 'later') return undefined
    if (word === 'n' || word === 'no') return false
    if (word !== 'y' && word !== 'yes') continue
    const approved = await openApproved(place, run, context)
    await approved.approve(commands)
    await approved.approvePlan(read)
    return true
  }
}
