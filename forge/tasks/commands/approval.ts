/** The approval of a plan: it is shown whole, with every command that would run, and signed. */
import { createHash } from 'node:crypto'
import { Failure } from '../../../core/failure.ts'
import { hasBatches } from '../../ai/batches/services.ts'
import { readSettings } from '../../ai/settings.ts'
import type { ShownPlan } from '../../formats/tasks-json.ts'
import { commandsOfPlan } from '../checks/validate.ts'
import type { Reference, RunId, TaskId } from '../contract.ts'
import { planChanges } from '../plan/changes.ts'
import { type PriceOf, planEstimateOf } from '../plan/estimate.ts'
import type { Plan } from '../plan/schema.ts'
import { planInFull, showPlan } from '../plan/show.ts'
import { readPlan, readRunInput } from '../runs/plans.ts'
import { batchPriceOf, priceOf } from '../runs/prices.ts'
import { reviewersOf } from '../steps/request.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { editPlan } from './edit-plan.ts'
import { askPerson, columnsOf, type PlanWord } from './follow.ts'
import { openNetwork } from './network.ts'
import { openStore, type RunPlace } from './place.ts'

/** A plan with all that the user has to see before approving it. */
export type LookedAt = {
  plan: Plan
  /** All commands that the plan would run, with those of FORGE.md. */
  commands: string[]
  /** The text for a terminal of that many columns. */
  text: (columns: number) => string
  /** The plan for --json. Its field `seen` is a digest of everything that is approved. */
  inFull: Omit<ShownPlan, 'waits'>
}

/** Reads a plan of a run, by default the current one, with all that the user has to see before approving it. */
export async function lookAtPlan(
  place: RunPlace,
  run: RunId,
  reference: Reference | undefined,
  context: CommandContext,
): Promise<LookedAt> {
  const store = openStore(place, run)
  const [plan, { base, limits, batch, models = {} }, own] = await Promise.all([
    readPlan(store, reference),
    readRunInput(store),
    readSettings(context.env),
  ])
  const settings = own.withModels(models)
  const priceOfTier: PriceOf = tier => {
    const [name] = settings.modelsOf(tier)
    return name === undefined ? undefined : priceOf(name, settings)
  }
  const commands = await commandsOfPlan(place.objects, plan, base)
  const hasNetwork = await (await openNetwork(place, context)).isGiven()
  const batchPriceOfTier: PriceOf = tier => {
    const [name] = settings.modelsOf(tier)
    return name !== undefined && hasBatches(name, settings) ? batchPriceOf(name, settings) : undefined
  }
  const estimate = planEstimateOf(plan, priceOfTier, {
    reviewersOf: tier => reviewersOf(settings, tier),
    batchPriceOf: batchPriceOfTier,
  })
  const showing = { hasNetwork, commands, estimate, limits, inBatch: batch !== undefined }
  const holds = await readPlan(store).catch(() => undefined)
  const changes = holds ? planChanges(holds, plan) : []
  const seen = createHash('sha256')
    .update(JSON.stringify([plan, base, commands, hasNetwork, limits]))
    .digest('hex')
  return {
    plan,
    commands,
    text: columns => showPlan(plan, { ...showing, changes, width: Math.min(columns, 120) }),
    inFull: { ...planInFull(plan, showing), seen: seen.slice(0, 40) },
  }
}

/** Prints a plan before anything of it runs: what, in which order, where, at what cost, with which commands. */
export function tellPlan({ text }: LookedAt, context: CommandContext): void {
  for (const line of text(columnsOf(context)).trimEnd().split('\n')) context.out(line)
}

/** Asks the user whether a plan may run, and signs what is approved. */
export async function approvePlan(
  place: RunPlace,
  { run, plan: proposed }: { run: RunId; plan: Reference },
  context: CommandContext,
): Promise<PlanWord> {
  let plan = proposed
  let looked = await lookAtPlan(place, run, plan, context)
  tellPlan(looked, context)
  let isEditLost = false
  for (;;) {
    const said = await askPerson(context, '\nRun it? yes, no, later, edit it, or say what to change (y/n/l/e/c): ')
    const word = said?.trim().toLowerCase()
    if (word === undefined || word === 'l' || word === 'later') return { says: 'later' }
    if (word === 'n' || word === 'no') return { says: 'no' }
    if (word === 'c' || word === 'change') {
      const words = (await askPerson(context, 'What is to be different? '))?.trim()
      if (words) return { says: 'change', answer: await keepAnswer(place, { run, task: '', words }, context) }
    }
    if (word === 'e' || word === 'edit') {
      const edited = await editedPlan(place, run, plan, context)
      if (edited === undefined) continue
      isEditLost = edited === 'unreadable'
      if (edited === 'unreadable') continue
      plan = edited
      looked = await lookAtPlan(place, run, plan, context)
      tellPlan(looked, context)
    }
    if (word !== 'y' && word !== 'yes') continue
    if (isEditLost) {
      isEditLost = false
      tellPlan(looked, context)
      context.out(
        '\nYour last edit was not taken, as it could not be read: this is the plan without it. Yes to this one?',
      )
      continue
    }
    await signPlan(place, run, looked, context)
    return { says: 'yes', plan }
  }
}

/** Signs an approved plan and all its commands. */
export async function signPlan(
  place: RunPlace,
  run: RunId,
  { plan, commands }: LookedAt,
  context: CommandContext,
): Promise<void> {
  const approved = openApproved(place, run, context)
  await approved.approve(commands)
  await approved.approvePlan(plan)
}

/** Stores the user's answer to a task, or with '' to the run, and signs it. */
export async function keepAnswer(
  place: RunPlace,
  { run, task, words }: { run: RunId; task: TaskId | ''; words: string },
  context: CommandContext,
): Promise<Reference> {
  const answer = await openStore(place, run).put('answer', words)
  await openApproved(place, run, context).signAnswer(task, answer.oid)
  return answer
}

/**
 * The plan as edited by the user; undefined where it is unchanged, 'unreadable' where it is no plan any more (the
 * reason was printed).
 */
async function editedPlan(
  place: RunPlace,
  run: RunId,
  plan: Reference,
  context: CommandContext,
): Promise<Reference | 'unreadable' | undefined> {
  try {
    const edited = await editPlan(place, run, plan, context)
    if (edited === undefined) context.out('It is as it was.')
    return edited
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    for (const line of error.message.split('\n')) context.out(line)
    return 'unreadable'
  }
}
