/** The requests of earlier runs that can be asked again: each with what is needed to judge an answer to it. */

import * as v from 'valibot'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, RunId, StepKind, TaskId, Tier } from '../contract.ts'
import { Plan, type Task } from '../plan/schema.ts'
import { type Domain, domainOf } from '../runs/domains.ts'
import { readJournal } from '../runs/journal.ts'
import { RunStore } from '../runs/store.ts'
import { parseStoredAnswer, type StoredAnswer } from '../runs/stored-answer.ts'
import { ANSWERS } from '../steps/answers.ts'
import { parseRequest, type StoredRequest } from '../steps/request.ts'

/** A request of an earlier run, with its answer. */
export type KeptRequest = {
  run: RunId
  key: string
  kind: StepKind
  tier: Tier
  step: string
  stored: StoredRequest
  answer: StoredAnswer
  /** The commit whose files the request shows. */
  base: Oid
  plan?: Plan
  task?: Task
  domain?: Domain
}

/**
 * The requests of a run that have an answer, in the order of the journal. Requests stored by older versions are left
 * out, since they do not name their base commit.
 */
export async function keptRequests(objects: Objects, run: RunId): Promise<KeptRequest[]> {
  const store = new RunStore(objects, run)
  const kept: KeptRequest[] = []
  for (const { what, refs = [], task } of await readJournal(store)) {
    const [request, base] = ['request', 'base'].map(kind => refs.find(it => it.kind === kind))
    if (what !== 'asks_model' || !request || !base) continue
    const found = await readKept(store, request.oid)
    if (!found) continue
    const reference = refs.find(({ kind }) => kind === 'plan')
    const plan = reference && (await readPlanOf(store, reference.oid))
    const of = plan && taskOf(plan, task)
    kept.push({
      ...found,
      run,
      base: base.oid,
      ...(plan && { plan }),
      ...(of && { task: of, domain: domainOf(of) }),
    })
  }
  return kept
}

const taskOf = (plan: Plan, id: TaskId | undefined): Task | undefined => plan.tasks.find(task => task.id === id)

async function readPlanOf(store: RunStore, oid: Oid): Promise<Plan | undefined> {
  const parsed = v.safeParse(Plan, await store.readJson({ kind: 'plan', oid }).catch(() => undefined))
  return parsed.success ? parsed.output : undefined
}

/** A request and its answer; undefined where one of them is gone, or of a kind that is not known any more. */
async function readKept(
  store: RunStore,
  oid: Oid,
): Promise<Pick<KeptRequest, 'key' | 'kind' | 'tier' | 'step' | 'stored' | 'answer'> | undefined> {
  try {
    const bytes = await store.readText({ kind: 'request', oid })
    const key = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    const answered = await store.find('answers', key)
    if (answered === undefined) return undefined
    const answer = parseStoredAnswer(await store.read({ kind: 'answer', oid: answered }))
    const stored = parseRequest(JSON.parse(bytes))
    const kind = Object.keys(ANSWERS).find(it => it === stored.kind) as StepKind | undefined
    return kind && answer.tier && { key, kind, tier: answer.tier, step: answer.step, stored, answer }
  } catch {
    return undefined
  }
}
