/** A plan that somebody proposes, linted: what the flow has to know of it, or why it can't be. */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { short, visible } from '../../../core/text.ts'
import type { Linted, Oid, PlanActivities, Reference, RunId, TaskId, TaskShape } from '../contract.ts'
import { Plan } from '../plan/schema.ts'
import type { RunStore } from '../runs/store.ts'
import type { Means } from './means.ts'

export class PlanWork implements PlanActivities {
  constructor(private readonly means: Means) {}

  async lintPlan(input: { run: RunId; parsed: Reference; base: Oid; done: TaskId[] }): Promise<Linted> {
    const { store, journal } = await this.means.run(input.run)
    const read = v.safeParse(Plan, proposed(await jsonOf(store, input.parsed)))
    if (!read.success) return await refused(store, [], complaintsAbout(read.issues))
    const plan = read.output
    const { limits } = await this.means.stored(store)
    const before = await store.get('plan.json')
    const {
      tasks,
      complaints,
      notes = [],
    } = await this.means.options.lint(plan, {
      tree: input.base,
      limits,
      done: input.done,
      ...(before && { before: v.parse(Plan, JSON.parse(before.toString())) }),
    })
    if (complaints.length > 0) return await refused(store, tasks, complaints)
    for (const words of notes) await journal.note({ run: input.run, id: `notes ${words}`, what: 'notes', words })
    return { plan: await store.put('plan', `${JSON.stringify(plan, undefined, 2)}\n`), tasks, complaints: [] }
  }
}

/** A model's answer has its plan in it; a person's is the plan. */
const proposed = (json: unknown): unknown =>
  typeof json === 'object' && json !== null && 'plan' in json && !('tasks' in json) ? json.plan : json

async function jsonOf(store: RunStore, reference: Reference): Promise<unknown> {
  const text = await store.readText(reference)
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure('The plan is no JSON: edit it again, or let it be planned anew.')
  }
}

const refused = async (store: RunStore, tasks: TaskShape[], complaints: string[]): Promise<Linted> => ({
  tasks,
  complaints,
  report: await store.put('complaints', complaints.map(it => `- ${it}`).join('\n')),
})

const complaintsAbout = (issues: readonly v.BaseIssue<unknown>[]): string[] =>
  issues.slice(0, 20).map(issue => `At ${short(visible(v.getDotPath(issue) ?? 'the top'), 120)}: ${issue.message}.`)
