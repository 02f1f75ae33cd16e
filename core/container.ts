/**
 * What is the same for every program that runs something of strangers in a container: the flags that lock it, the clock
 * above it, and its end, whatever happens to it, to the docker client or to this process. The command that starts it
 * stands in the program itself.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessPromise } from 'zx/core'
import { shellIn } from './shell.ts'

/** What `docker stop` leaves a container between TERM and KILL. */
export const GRACE_SECONDS = 10

/** How `docker run` ends where docker itself could not start the container. */
export const NOT_STARTED = 125

/** A folder of the host's, and where the container sees it. */
export type Mount = { source: string; target: string }

/** The image that strangers' code runs in, as `make image` makes it. */
export const IMAGE = 'forklift/kitchen-sink:latest'

/**
 * The flags of the lock: nothing of the image can be written, no capability but those that are named, no way to gain
 * one, and bounds on memory and processes. No logs are kept by the engine.
 */
const lockWith = (capabilities: string[]): readonly string[] =>
  [
    ['--log-driver', 'none'],
    ['--read-only', '--tmpfs', '/tmp:exec,mode=1777,size=512m'],
    ['--cap-drop', 'ALL'],
    capabilities.flatMap(capability => ['--cap-add', capability]),
    ['--security-opt', 'no-new-privileges'],
    ['--pids-limit', '512', '--memory', '4g', '--memory-swap', '4g'],
  ].flat()

/** With the four capabilities that the image's entry point needs to raise its firewall and to become a user. */
export const LOCK = lockWith(['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP'])

/** With none: for what needs no entry point, since it has no network and is started as a user. */
export const CLOSED_LOCK = lockWith([])

/**
 * The user and group of an agent whose files Forklift may give away, as root may: above the ids that people get, so
 * that it uses up no limit that the kernel counts by user (inotify instances, pipes, timers) of another user. The image
 * knows it.
 */
export const AGENT_USER = 2_100_000_001

/** The flags for the folders that a container sees. */
export function mountFlags(mounts: Mount[]): string[] {
  // The value of --mount is a line of CSV: a comma in a path needs quotes.
  const field = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return mounts.flatMap(({ source, target }) => ['--mount', `type=bind,${field(`source=${source}`)},target=${target}`])
}

export type Container = {
  /** By which docker knows it; no other container may have it. */
  name: string
  /** Seconds after which it is stopped. */
  seconds: number
  /** Stops it before its time. */
  signal: AbortSignal
  /** Told every second how long it has been running. */
  onSecond: (gone: number) => void
}

/** How a container ended. */
export type ContainerEnd = {
  /** Its time was over, or the signal came. */
  wasStopped: boolean
  /** The client's own, and so the container's; one that is being stopped may end well after all. Undefined: killed. */
  exitCode: number | undefined
  seconds: number
}

/**
 * Waits for a container until it ends by itself, its time is over or the signal comes. It is gone when this returns.
 * `start` gives the running `docker run --rm`, whose exit code is the container's.
 */
export async function runToItsEnd(container: Container, start: () => ProcessPromise): Promise<ContainerEnd> {
  const { name, seconds: limit, signal, onSecond } = container
  signal.throwIfAborted()
  const begun = performance.now()
  const gone = () => Math.round((performance.now() - begun) / 1000)
  const watchdog = removeWhenAlone(name, limit + 60)
  const client = start()
  const ended = exitOf(client)
  const clock = setInterval(() => onSecond(gone()), 1000)
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, signal])
  stop.addEventListener('abort', () => clearInterval(clock))
  const timeIsUp = sleep(limit * 1000, undefined, { signal: stop }).catch(() => undefined)
  const end = await Promise.race([ended, timeIsUp])
  over.abort()
  const last = end ? await removeRemains(name, end) : await stopAndRemove(name, client, ended)
  watchdog.stdin.end('over\n')
  return { wasStopped: end === undefined, exitCode: last.exitCode, seconds: gone() }
}

/** A process that removes a container when this one is gone (end of file on its input) or hangs. */
function removeWhenAlone(name: string, seconds: number): ProcessPromise {
  return shellIn({ cwd: '/' }, { nothrow: true, stdio: ['pipe', 'ignore', 'ignore'] })`
    read -r -t ${seconds} || for attempt in 1 2 3 4 5 6 7 8 9; do docker rm --force ${name} || true; sleep 1; done`
}

/** How the docker client ended; without an exit code where it was killed. */
type ClientEnd = { exitCode: number | undefined }

async function exitOf(client: ProcessPromise): Promise<ClientEnd> {
  return { exitCode: (await client).exitCode ?? undefined }
}

const docker = () => shellIn({ cwd: '/' }, { nothrow: true, timeout: `${GRACE_SECONDS + 10}s` })

/** A client that was killed, or failed, may have left the container behind. */
async function removeRemains(name: string, end: ClientEnd): Promise<ClientEnd> {
  if (end.exitCode !== 0) await docker()`docker rm --force ${name}`
  return end
}

/** `docker stop` for the grace, then removal until it is gone: a kill can miss a container that is just being made. */
async function stopAndRemove(name: string, client: ProcessPromise, ended: Promise<ClientEnd>): Promise<ClientEnd> {
  await docker()`docker stop ${name}`
  for (let attempt = 0; attempt < 10; attempt++) {
    const end = await Promise.race([ended, sleep(1000)])
    if (end) return end
    await docker()`docker rm --force ${name}`
  }
  await client.kill('SIGKILL')
  return { exitCode: undefined }
}
