/** Lints a proposed plan: gives what the flow needs to know of it, or the complaints. */
import * as v from 'valibot'
import { hashOfPart } from '../checks/verdicts.ts'
import type { Linted, List, Oid, PlanActivities, Reference, RunId, TaskId } from '../contract.ts'
import { planChanges } from '../plan/changes.ts'
import { complaintsOf } from '../plan/file.ts'
import { Plan } from '../plan/schema.ts'
import { mergedBy } from '../runs/merging.ts'
import type { RunStore } from '../runs/store.ts'
import { brief } from './brief.ts'
import { allItems, keepItems } from './lists.ts'
import type { Means } from './means.ts'

const StandingList = v.array(v.object({ id: v.string(), is: v.picklist(['done', 'under way', 'stopped']) }))

export class PlanWork implements PlanActivities {
  constructor(private readonly means: Means) {}

  async lintPlan(input: { run: RunId; parsed: Reference; base: Oid; standing?: List }): Promise<Linted> {
    const { store, journal } = await this.means.run(input.run)
    const json = jsonIn(await store.readText(input.parsed))
    if (json === undefined) return await refused(store, [NO_JSON])
    const read = v.safeParse(Plan, proposed(json))
    if (!read.success) return await refused(store, complaintsOf(proposed(json)))
    const plan = read.output
    const { limits, batch } = await this.means.stored(store)
    const settings = await this.means.settingsOf(store)
    const before = await planThatHolds(store)
    const standing = input.standing ? v.parse(StandingList, await allItems(store, input.standing)) : []
    const {
      tasks,
      complaints,
      notes = [],
    } = await this.means.options.lint(plan, {
      tree: input.base,
      limits,
      standing,
      before,
      inBatch: batch !== undefined,
      settings,
    })
    if (complaints.length > 0) return await refused(store, complaints)
    for (const words of notes) await journal.note({ run: input.run, id: `notes ${words}`, what: 'notes', words })
    const frozen = standing.filter(({ is }) => is !== 'stopped').map(({ id }) => id)
    const merged = await mergedBy(this.means.objects, input.base)
    const kind = (id: TaskId) => merged?.parts.some(({ task }) => task === id) && { kind: 'resolve' as const }
    const shapes = tasks.map(shape => ({ ...shape, hash: hashOfPart(plan, shape.id), ...kind(shape.id) }))
    return {
      plan: await store.put('plan', `${JSON.stringify(plan, undefined, 2)}\n`),
      tasks: await keepItems(store, 'shapes', shapes),
      complaints: [],
      changes: before ? planChanges(before, plan).slice(0, MAX_SENTENCES).map(brief) : [],
      widens: before ? this.means.widens(settings, before, plan, frozen).slice(0, MAX_SENTENCES).map(brief) : [],
    }
  }
}

/** At most this many sentences of one kind are put into a history. */
const MAX_SENTENCES = 20

/** The last approved plan; undefined where there is none. */
export async function planThatHolds(store: RunStore): Promise<Plan | undefined> {
  const bytes = await store.get('plan.json')
  return bytes && v.parse(Plan, JSON.parse(bytes.toString()))
}

/** Gives the plan of some JSON: the field `plan` of a model's answer, or the whole of what a person wrote. */
const proposed = (json: unknown): unknown =>
  typeof json === 'object' && json !== null && 'plan' in json && !('tasks' in json) ? json.plan : json

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The complaint about a plan that is no JSON. (An error would stop the run, where nobody could correct the plan.) */
const NO_JSON = 'The plan is no JSON: edit it again, or let it be planned anew.'

const refused = async (store: RunStore, complaints: string[]): Promise<Linted> => ({
  complaints: complaints.slice(0, MAX_SENTENCES).map(brief),
  report: await store.put('complaints', complaints.map(it => `- ${it}`).join('\n')),
  widens: [],
})
