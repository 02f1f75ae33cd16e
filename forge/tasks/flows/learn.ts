/**
 * Learns from runs that have ended: from each in a workflow of its own, which the run starts at its end, and once a day
 * from all that were not learned from, e.g. since their provider did not answer. A failure here does not affect any
 * run.
 */
import type { RunId } from '../contract.ts'
import { Batched } from './batched.ts'
import { atOnce, slow } from './effects.ts'
import { step } from './step.ts'

/** Learns from one run; in a batch where the run's own requests were sent in batches. */
export async function forgeLearn({ run }: { run: RunId }): Promise<void> {
  // The run has ended, so it need not be told that a request waits for a batch.
  await learn(run, new Batched(async () => undefined))
}

/** Without `batched`, the request is sent singly. */
async function learn(run: RunId, batched?: Batched): Promise<void> {
  const { about, base, inBatch = false } = await slow.gatherLessons({ run })
  if (!about) return
  const place = { run, attempt: 1, step: 'lessons', kind: 'extract', tier: 'summarization' } as const
  const held = { isHeld: false, mayGoOn: async () => undefined }
  const means = { held, fanOuts: new Set<never>(), ...(batched && { batched }) }
  const end = await step({ ...place, choice: 0, depth: 0, base, about, ...(inBatch && { inBatch }) }, means)
  // Where no model could be asked, the next day's round tries again.
  if (end.halt) return
  const { outcome, parsed } = end.result
  await atOnce.keepLessons({ run, ...(outcome === 'success' && parsed && { parsed }) })
}

/**
 * Learns from all runs of a repository that have ended and were not learned from, one after the other: each is told the
 * lessons of those before. Their requests are sent singly, as each could wait for a day in a batch.
 */
export async function forgeLessons(): Promise<void> {
  for (const run of await slow.unlearned()) await learn(run).catch(() => undefined)
}
