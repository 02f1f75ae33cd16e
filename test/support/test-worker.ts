/** A worker in the test's own process, with the test's own activities. */
import { hostWorker } from '../../forge/tasks/engine/worker.ts'
import type { Part } from '../../forge/tasks/run/queues.ts'
import type { TestTemporal } from './temporal.ts'

export type TestWorker = AsyncDisposable & {
  queue: string
  log: string[]
  /** Ends the worker: running work is stopped after a moment. */
  end: () => void
  /** Lets the worker take no more work, and end when its running work has ended. */
  drain: () => void
  ended: Promise<void>
}

type Activities = Record<string, (input: never) => Promise<unknown>>

/** `queue`: by default a new one. */
type Options = {
  bundle: string
  activities?: Activities
  queue?: string
  parts?: Part[]
  runsFlows?: boolean
  version?: string
}

let count = 0

/** Starts a worker; disposing ends it. */
export async function workOn(
  { server, env }: TestTemporal,
  { bundle, activities = {}, queue = `test-${process.pid}-${count++}`, ...more }: Options,
): Promise<TestWorker> {
  const [end, drain] = [new AbortController(), new AbortController()]
  const log: string[] = []
  const ready = Promise.withResolvers<void>()
  const ended = hostWorker({
    server,
    queue,
    bundle,
    ...more,
    activities: { ask: async () => 'answered', ...activities },
    env,
    signal: end.signal,
    drain: drain.signal,
    log: line => log.push(line),
    onReady: ready.resolve,
  })
  await Promise.race([ready.promise, ended])
  const close = async () => {
    end.abort()
    await ended
  }
  return { queue, log, end: () => end.abort(), drain: () => drain.abort(), ended, [Symbol.asyncDispose]: close }
}
