/** Reads what git alone knows of a run: its input, wish, plan and last status. */
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { Oid } from '../../../core/formats/values.ts'
import { Limits, Reference, RunStatus, TierModels } from '../../formats/tasks-json.ts'
import type { RunInput } from '../contract.ts'
import { Plan } from '../plan/schema.ts'
import type { RunStore } from './store.ts'

const StoredRunSchema = v.object({
  run: v.string(),
  wish: Reference,
  wished: v.optional(Reference),
  plan: v.optional(Reference),
  base: Oid,
  limits: Limits,
  isApproved: v.boolean(),
  onlyPlan: v.boolean(),
  atMost: v.pipe(v.number(), v.integer(), v.minValue(1)),
  batch: v.optional(v.picklist(['work', 'all'])),
  models: v.optional(TierModels),
  began: v.number(),
  facts: v.optional(v.array(Reference)),
  lessons: v.optional(Reference),
})

/**
 * A run's input as stored at its beginning. `began`: milliseconds since 1970. `facts`: what planners are told of the
 * repository, collected once, so that a repeated step has the same request. `lessons`: those of earlier runs, stored
 * for the same reason.
 */
export type StoredRun = RunInput & { began: number; facts?: Reference[]; lessons?: Reference }

/** Reads a plan; without a reference, the current one. Throws a {@link Failure} where there is none. */
export async function readPlan(store: RunStore, reference?: Reference): Promise<Plan> {
  const bytes = reference ? await store.read(reference) : await store.get('plan.json')
  if (!bytes) throw new Failure(`The run ${store.run} has no plan yet: forge show ${store.run} says how it is.`)
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Plan), bytes.toString())
  if (parsed.success) return parsed.output
  throw new Failure(`The plan of run ${store.run} can't be read (${parsed.issues[0].message}): begin a new run.`)
}

/** Reads a run's stored input; undefined where it has not begun. Throws a {@link Failure} where that can't be read. */
export async function readStoredRun(store: RunStore): Promise<StoredRun | undefined> {
  const bytes = await store.get('run.json')
  if (!bytes) return undefined
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), StoredRunSchema), bytes.toString())
  if (!parsed.success) throw new Failure(unreadable(store))
  return parsed.output
}

/** Reads a run's input, to submit it again. Throws a {@link Failure} where it was never stored. */
export async function readRunInput(store: RunStore): Promise<RunInput> {
  const stored = await readStoredRun(store)
  if (!stored) throw new Failure(unreadable(store))
  const { began: _began, facts: _facts, lessons: _lessons, ...input } = stored
  return input
}

const unreadable = ({ run }: RunStore): string => `How run ${run} was asked for can't be read: begin a new run.`

/** Reads the user's wish. */
export async function readWish(store: RunStore): Promise<string> {
  const { wish } = await readRunInput(store)
  return await store.readText(wish)
}

/**
 * Reads the status of a run when it last rested; undefined for one that never did, and for what is no status, as a hub
 * may have brought it.
 */
export async function readLastStatus(store: RunStore): Promise<RunStatus | undefined> {
  const bytes = await store.get('status.json')
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), RunStatus), bytes?.toString())
  return parsed.success ? parsed.output : undefined
}
