/**
 * Lists what a changed plan allows beyond the approved one: this needs another approval by the user. Changes that only
 * narrow what is allowed, reorder tasks or explain more need none.
 */
import { visible } from '../../../core/text.ts'
import type { TaskId } from '../contract.ts'
import { type PriceOf, planEstimateOf, type ReviewersOf } from './estimate.ts'
import { isCovered, readGlob } from './globs.ts'
import type { Plan, Task } from './schema.ts'

type Sources = { priceOf: PriceOf; reviewersOf?: ReviewersOf; done: readonly TaskId[] }

/** A change of the estimated cost below this factor needs no approval. */
const COST_MARGIN = 1.05

/** A sentence for each way in which a changed plan allows or costs more than the old one; empty where there is none. */
export function widensOf(before: Plan, plan: Plan, sources: Sources): string[] {
  return [...boundaries(before, plan), ...commands(before, plan), ...cost(before, plan, sources)]
}

function* boundaries(before: Plan, plan: Plan): Generator<string> {
  const known = new Map(before.tasks.map(task => [task.id, task]))
  const isAnyAlone = before.tasks.some(({ boundaries }) => boundaries.write.length === 0)
  for (const task of plan.tasks) {
    const { id, boundaries } = task
    const own = known.get(id)
    const wider = own ? beyond(boundaries.write, [own]) : beyond(boundaries.write, before.tasks)
    if (wider.length > 0) yield visible(`${id} may write ${wider.join(', ')}.`)
    if (boundaries.write.length === 0 && !(own ? own.boundaries.write.length === 0 : isAnyAlone))
      yield visible(`${id} may write any file.`)
    const allowed = own?.boundaries.never.filter(glob => !boundaries.never.includes(glob)) ?? []
    if (allowed.length > 0) yield visible(`${id} may touch ${allowed.join(', ')}, which it was not to.`)
  }
}

/** Globs that the boundaries of these tasks do not cover. */
function beyond(globs: readonly string[], tasks: readonly Task[]): string[] {
  const texts = new Set(tasks.flatMap(({ boundaries }) => boundaries.write))
  const known = [...texts].map(readGlob).filter(glob => typeof glob !== 'string')
  return globs.filter(text => {
    const glob = readGlob(text)
    return !texts.has(text) && (typeof glob === 'string' || !isCovered(glob, known))
  })
}

function* commands(before: Plan, plan: Plan): Generator<string> {
  const known = new Set(commandsIn(before))
  for (const command of new Set(commandsIn(plan)))
    if (!known.has(command)) yield visible(`It runs another command: ${command}`)
}

function commandsIn({ contract, tasks }: Plan): string[] {
  return [
    ...contract.flatMap(({ how }) => (how.kind === 'command' ? [how.command] : [])),
    ...tasks.flatMap(({ validation }) => validation.checks.map(it => (typeof it === 'string' ? it : it.command))),
  ]
}

function* cost(before: Plan, plan: Plan, { priceOf, reviewersOf, done }: Sources): Generator<string> {
  const options = { done: [...done], reviewersOf }
  const [old, now] = [planEstimateOf(before, priceOf, options), planEstimateOf(plan, priceOf, options)]
  if (old.cost && now.cost) {
    if (now.cost.high > old.cost.high * COST_MARGIN)
      yield `It may cost up to $${now.cost.high.toFixed(2)} instead of $${old.cost.high.toFixed(2)}.`
  } else if (now.requests.high > old.requests.high * COST_MARGIN)
    yield `It may take up to ${now.requests.high} requests instead of ${old.requests.high}.`
}
