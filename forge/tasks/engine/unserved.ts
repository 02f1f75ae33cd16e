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

/** A sentence for each part of a repository's work that waits. A server that does not tell gives none. */
export async function unservedIn(client: Client, queue: string, now = Date.now()): Promise<string[]> {
  const queues: Queue[] = [
    { part: 'runs', name: queue, type: WORKFLOWS },
    { part: 'models', name: queueOfPart(queue, 'models'), type: ACTIVITIES },
    { part: 'checks', name: queueOfPart(queue, 'checks'), type: ACTIVITIES },
  ]
  const told = queues.map(it => sentenceOf(client, it, now).catch(() => undefined))
  return (await Promise.all(told)).filter(words => words !== undefined)
}

async function sentenceOf(client: Client, { part, name, type }: Queue, now: number): Promise<string | undefined> {
  const request = {
    namespace: client.options.namespace,
    taskQueue: { name },
    taskQueueType: type,
    reportStats: true,
  }
  const describe = () => client.workflowService.describeTaskQueue(request)
  const { pollers, stats } = await client.withDeadline(Date.now() + ANSWER_MS, describe)
  const age = Number(stats?.approximateBacklogAge?.seconds ?? 0) * 1000
  if (!(Number(stats?.approximateBacklogCount ?? 0) > 0) || age < WAITS_MS) return undefined
  const begin = now - age
  const { what, machine, remedy } = WORDS[part]
  const lasts = (pollers ?? []).map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000)
  const last = Math.max(0, ...lasts)
  // A worker that has asked since then serves the queue; the server's count of what waits is only approximate.
  if (last >= begin) return undefined
  const since = timeOf(begin)
  if (now - last < GONE_MS)
    return `No ${machine} has taken ${what} since ${since}: those that serve them have no room, or are gone.`
  return `No ${machine} serves ${what} since ${since}: ${remedy}.`
}

const timeOf = (at: number): string => new Date(at).toTimeString().slice(0, 8)
