/**
 * Learns from runs that have ended: from each in a workflow of its own, which the run starts at its end, and once a day
 * from all that were not learned from, e.g. since their provider did not answer. A failure here does not affect any
 * run.
 */
import type { RunId } from '../contract.ts'
import { atOnce, slow } from './effects.ts'
import { step } from './step.ts'

/** Learns from one run. */
export async function forgeLearn({ run }: { run: RunId }): Promise<void> {
  const { about, base } = await slow.gatherLessons({ run })
  if (!about) return
  const place = { run, attempt: 1, step: 'lessons', kind: 'extract', tier: 'summarization' } as const
  const means = { held: { isHeld: false, mayGoOn: async () => undefined }, fanOuts: new Set<never>() }
  const end = await step({ ...place, choice: 0, depth: 0, base, about }, means)
  // Where no model could be asked, the next day's round tries again.
  if (end.halt) return
  const { outcome, parsed } = end.result
  await atOnce.keepLessons({ run, ...(outcome === 'success' && parsed && { parsed }) })
}

/** Learns from all runs of a repository that have ended and were not learned from. */
export async function forgeLessons(): Promise<void> {
  for (const run of await slow.unlearned()) await forgeLearn({ run }).catch(() => undefined)
}
