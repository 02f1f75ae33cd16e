/**
 * Tells which parts of the work wait as no machine serves them, by the server's record of each queue: how long its
 * oldest task waits, and when a worker has last asked for one.
 */
import type { Client } from '@temporalio/client'
import { type Part, queueOfPart } from '../run/queues.ts'

/** Milliseconds that a task may wait before that is told: a worker with room takes one at once. */
const WAITS_MS = 4000
/** A worker asks for at most 60 seconds at a time, so one that has last asked before that is gone. */
const GONE_MS = 70_000
/** Milliseconds for the server's answer. */
const ANSWER_MS = 3000
/** Milliseconds between two looks for the server's time. */
const LOOK_MS = 20

/** The types of Temporal's queues. */
const [WORKFLOWS, ACTIVITIES] = [1, 2]

type Queue = { part: 'runs' | Part; name: string; type: number }

const WORDS: Record<Queue['part'], { what: string; machine: string; remedy: string }> = {
  runs: { what: 'runs', machine: 'machine', remedy: 'start forge worker on one' },
  models: {
    what: 'requests to models',
    machine: 'machine with a key',
    remedy: 'start forge worker, or forge worker --only models, on one',
  },
  checks: {
    what: 'checks',
    machine: 'machine with docker',
    remedy: 'start forge worker, or forge worker --only checks, on one',
  },
}

/**
 * A sentence for each part of a repository's work that waits. `now`: this machine's clock, which only the sentences
 * use. A server that does not tell gives none.
 */
export async function unservedIn(client: Client, queue: string, now = Date.now()): Promise<string[]> {
  const queues: Queue[] = [
    { part: 'runs', name: queue, type: WORKFLOWS },
    { part: 'models', name: queueOfPart(queue, 'models'), type: ACTIVITIES },
    { part: 'checks', name: queueOfPart(queue, 'checks'), type: ACTIVITIES },
  ]
  let asked: Promise<number> | undefined
  const serverNow = () => {
    asked ??= serverTime(client, queue).catch(() => now)
    return asked
  }
  const told = queues.map(it => sentenceOf(client, it, { now, serverNow }).catch(() => undefined))
  return (await Promise.all(told)).filter(words => words !== undefined)
}

async function sentenceOf(
  client: Client,
  { part, name, type }: Queue,
  { now, serverNow }: { now: number; serverNow: () => Promise<number> },
): Promise<string | undefined> {
  const { pollers, stats } = await described(client, name, type)
  const age = Number(stats?.approximateBacklogAge?.seconds ?? 0) * 1000
  if (!(Number(stats?.approximateBacklogCount ?? 0) > 0) || age < WAITS_MS) return undefined
  const { what, machine, remedy } = WORDS[part]
  const last = Math.max(0, ...(pollers ?? []).map(lastAsked))
  const idle = last === 0 ? Number.POSITIVE_INFINITY : (await serverNow()) - last
  // A worker that has asked since then serves the queue; the server's count of what waits is only approximate.
  if (idle <= age) return undefined
  const since = timeOf(now - age)
  if (idle < GONE_MS)
    return `No ${machine} has taken ${what} since ${since}: those that serve them have no room, or are gone.`
  return `No ${machine} serves ${what} since ${since}: ${remedy}.`
}

/**
 * The server's clock, in milliseconds since 1970: its record of a question that is asked for that. No answer tells it,
 * and this machine's clock may be wrong by more than a task waits.
 */
async function serverTime(client: Client, queue: string): Promise<number> {
  const name = `${queue}/clock`
  const identity = `forge-${crypto.randomUUID()}`
  const { namespace } = client.options
  const ended = new AbortController()
  const poll = () => client.workflowService.pollActivityTaskQueue({ namespace, taskQueue: { name }, identity })
  const last = performance.now() + ANSWER_MS
  const polling = client.withDeadline(Date.now() + ANSWER_MS, () => client.withAbortSignal(ended.signal, poll))
  polling.catch(() => undefined)
  try {
    while (performance.now() < last) {
      const { pollers } = await described(client, name, ACTIVITIES)
      const own = pollers?.find(poller => poller.identity === identity)
      if (own) return lastAsked(own)
      await Bun.sleep(LOOK_MS)
    }
  } finally {
    ended.abort()
  }
  throw new Error('The server does not tell its time.')
}

/** The server's record of a queue. */
async function described(client: Client, name: string, taskQueueType: number) {
  const { namespace } = client.options
  const request = { namespace, taskQueue: { name }, taskQueueType, reportStats: true }
  return await client.withDeadline(Date.now() + ANSWER_MS, () => client.workflowService.describeTaskQueue(request))
}

type Poller = { lastAccessTime?: { seconds?: { toString(): string } | null } | null }

/** When a worker has last asked for work, by the server's clock, in milliseconds since 1970. */
const lastAsked = ({ lastAccessTime }: Poller): number => Number(lastAccessTime?.seconds ?? 0) * 1000

const timeOf = (at: number): string => new Date(at).toTimeString().slice(0, 8)
