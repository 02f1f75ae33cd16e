/** The decisions of the user about a run, as they are kept in git. */
import * as v from 'valibot'
import type { RunStore } from './store.ts'

const Decision = v.object({
  kind: v.picklist(['approval', 'answer']),
  task: v.string(),
  count: v.number(),
  answer: v.object({ kind: v.string(), oid: v.string() }),
})
export type Decision = v.InferOutput<typeof Decision>

const ReadDecision = v.pipe(v.string(), v.parseJson(), Decision)

/** All decisions, in the order in which their questions were asked. What is none is left out: a hub may bring it. */
export async function readDecisions(store: RunStore): Promise<Decision[]> {
  const all = (await store.all('decisions')).flatMap(bytes => {
    const parsed = v.safeParse(ReadDecision, bytes.toString())
    return parsed.success ? [parsed.output] : []
  })
  return all.sort((a, b) => a.count - b.count)
}
