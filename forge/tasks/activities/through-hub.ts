/**
 * An activity on a machine that shares its runs with others: what its input names and this machine lacks is fetched
 * from the hub first, and what it made is pushed before it answers. A hub that does not answer is waited for; meanwhile
 * nothing that was paid for is lost, as it is in this machine's repository.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Objects } from '../../../core/git/objects.ts'
import { isOid } from '../../../core/git/repository.ts'
import { many } from '../../../core/text.ts'
import type { Oid, RunId } from '../contract.ts'
import { HubTrouble } from '../hub/remote.ts'
import type { SharedRun, SharedRuns } from '../hub/shared-runs.ts'
import type { Journal } from '../runs/journal.ts'
import type { Troubles } from '../runs/troubles.ts'

/** The means of activities that are used here. */
type Means = {
  objects: Objects
  options: { shared?: SharedRuns | undefined }
  surroundings: () => { signal: AbortSignal; attempt?: number }
  now: () => number
  clean: (text: string) => string
  run: (run: RunId) => Promise<{ journal: Journal; troubles: Troubles }>
}

/**
 * What an activity needs of the hub besides what its input names. `isFresh`: whether it reads what other machines may
 * have written meanwhile. `hasRefs`: whether it reads the refs of the run. `isLazy`: whether nothing that follows needs
 * what it writes, so that the next push may bring it. `patience`: for how many milliseconds it waits for the hub.
 */
export type HubNeeds = { isFresh?: boolean; hasRefs?: boolean; isLazy?: boolean; patience?: number }

/** Milliseconds for which an activity waits for the hub by itself, before it fails and is repeated. */
const PATIENCE_MS = 3 * 60_000
/** The same for activities that may last an hour, and are expensive to repeat. */
export const LONG_PATIENCE_MS = 45 * 60_000
/** The same for activities that nothing waits for: a run can be paused and stopped while the hub is away. */
const LAZY_PATIENCE_MS = 3_000
/** The longest time between two tries, in milliseconds. */
const MAX_PAUSE_MS = 10_000

/**
 * Does the work of an activity. Without a hub, that is all. @throws HubTrouble where the hub does not answer for long.
 */
export async function withHub<Input extends { run: RunId }, Output>(
  means: Means,
  input: Input,
  work: () => Promise<Output>,
  { isFresh = false, hasRefs = false, isLazy = false, patience = PATIENCE_MS }: HubNeeds = {},
): Promise<Output> {
  const run = means.options.shared?.of(input.run)
  if (!run) return await work()
  const named = oidsIn(means, input)
  const { attempt = 1 } = means.surroundings()
  if (isFresh && isLazy)
    await Promise.race([run.fetch().catch(ignoreTrouble), sleep(LAZY_PATIENCE_MS, undefined, { ref: false })])
  else if (isFresh || attempt > 1 || (await isLacking(means, named)))
    await patiently(means, run, () => run.fetch(), patience)
  if (hasRefs) await run.nameRefs()
  let output: Output
  try {
    output = await work()
  } catch (error) {
    // What was made until then may have been paid for.
    run.push().catch(() => undefined)
    throw error
  }
  run.carry(await commitsIn(means, oidsIn(means, output).difference(named)))
  if (isLazy) run.pushSoon()
  else await patiently(means, run, () => run.push(), patience)
  return output
}

function ignoreTrouble(error: unknown): void {
  if (!(error instanceof HubTrouble)) throw error
}

/** The ids of objects in a value. Sentences, which a model may have written, name none. */
function oidsIn(means: Means, value: unknown): Set<Oid> {
  const { format } = means.objects.repository
  const found = new Set<Oid>()
  const look = (it: unknown): void => {
    if (typeof it === 'string' && isOid(format, it)) found.add(it)
    else if (Array.isArray(it)) for (const one of it) look(one)
    else if (it && typeof it === 'object') for (const [name, one] of Object.entries(it)) if (name !== 'words') look(one)
  }
  look(value)
  return found
}

async function isLacking({ objects }: Means, oids: ReadonlySet<Oid>): Promise<boolean> {
  const found = await Promise.all([...oids].map(oid => objects.info(oid)))
  return found.some(info => info === undefined)
}

async function commitsIn({ objects }: Means, oids: ReadonlySet<Oid>): Promise<Oid[]> {
  const found = await Promise.all([...oids].map(oid => objects.info(oid)))
  return found.flatMap(info => (info?.type === 'commit' ? [info.oid] : []))
}

/** Tries until the hub answers. The journal and `forge show` say since when it does not. */
async function patiently(means: Means, run: SharedRun, transfer: () => Promise<void>, patience: number): Promise<void> {
  const last = performance.now() + patience
  for (let tries = 1; ; tries++) {
    const { signal } = means.surroundings()
    signal.throwIfAborted()
    try {
      await transfer()
      return await tellOver(means, run)
    } catch (error) {
      if (!(error instanceof HubTrouble)) throw error
      const pause = Math.min(250 * 2 ** tries, MAX_PAUSE_MS)
      await tell(means, run, { words: error.message, pause })
      if (performance.now() + pause > last) throw error
      await sleep(pause, undefined, { signal })
    }
  }
}

/** Says in the journal and for `forge show` that the hub does not answer, once until it does. */
async function tell(
  means: Means,
  { run, remote }: SharedRun,
  trouble: { words: string; pause: number },
): Promise<void> {
  const { journal, troubles } = await means.run(run)
  const now = means.now()
  const words = means.clean(trouble.words)
  if (!(await troubles.failed(remote.words, { words, now, next: now + trouble.pause }))) return
  const why = 'What was made is kept on this machine until then; nothing of it is asked for again.'
  await journal.note({ run, id: `trouble ${remote.words} ${now}`, what: 'trouble', words, why })
}

async function tellOver(means: Means, shared: SharedRun): Promise<void> {
  const { run, remote } = shared
  const { journal, troubles } = await means.run(run)
  const over = await troubles.over(remote.words)
  if (!over) return
  const seconds = Math.max(1, Math.round((means.now() - over.since) / 1000))
  const words = `The hub answers again, after ${many(seconds, 'second')} and ${over.tries === 1 ? 'one try' : `${over.tries} tries`}.`
  await journal.note({ run, id: `trouble over ${remote.words} ${over.since}`, what: 'trouble over', words })
  await shared.push().catch(() => undefined)
}
