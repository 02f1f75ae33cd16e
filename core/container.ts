/**
 * Runs untrusted programs in containers: the flags that lock a container, its time limit, and its removal, also when
 * the docker client or this process dies. The `docker run` command itself is in the calling program.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessPromise } from 'zx/core'
import { shellIn } from './shell.ts'

/** Seconds between TERM and KILL in `docker stop`. */
export const GRACE_SECONDS = 10

/** The exit code of `docker run` when docker could not start the container. */
export const NOT_STARTED = 125

/** A folder of the host, and its path in the container. `isReadOnly`: the container can't write there. */
export type Mount = { source: string; target: string; isReadOnly?: boolean }

/** The image that untrusted programs run in, built by `make image`. */
export const IMAGE = 'forklift/kitchen-sink:latest'

/**
 * The flags that lock a container: a read-only image, only these capabilities and no way to gain others, limits on
 * memory and processes. The engine keeps no logs.
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

/**
 * The docker options that lock a container (restrict what it can do), with the four capabilities that the image's entry
 * point needs to set up its firewall and change its user.
 */
export const LOCK = lockWith(['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP'])

/** The same options without capabilities, for containers that have no network and are started as a user. */
export const CLOSED_LOCK = lockWith([])

/**
 * The user and group id of the agent where Forklift runs as root and can change the owner of files. It is above the ids
 * of people, so that the agent uses up no other user's kernel limits (inotify instances, pipes, timers). The image has
 * a user with this id.
 */
export const AGENT_USER = 2_100_000_001

/** The docker flags that mount folders. */
export function mountFlags(mounts: Mount[]): string[] {
  // The value of --mount is a line of CSV: a comma in a path needs quotes.
  const field = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return mounts.flatMap(({ source, target, isReadOnly = false }) => [
    '--mount',
    `type=bind,${field(`source=${source}`)},target=${target}${isReadOnly ? ',readonly' : ''}`,
  ])
}

export type Container = {
  /** The container's name in docker; must be unique. */
  name: string
  /** The container is stopped after this many seconds. */
  seconds: number
  /** Stops the container early. */
  signal: AbortSignal
  /** Called every second with the number of seconds since the start. */
  onSecond: (gone: number) => void
}

/** How a container ended. */
export type ContainerEnd = {
  /** The time limit was reached, or the signal was aborted. */
  wasStopped: boolean
  /**
   * The exit code of the docker client, which is the container's; may be 0 even if it was stopped. Undefined: the
   * client was killed.
   */
  exitCode: number | undefined
  seconds: number
}

/**
 * Runs a container until it ends, its time limit is reached or the signal is aborted. The container is removed when
 * this returns. `start` starts `docker run --rm` and gives its process.
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

/**
 * Starts a process that removes the container when this process ends (its standard input closes), or after `seconds`.
 * A line written to its standard input ends it.
 */
export function removeWhenAlone(name: string, seconds: number): ProcessPromise {
  return shellIn({ cwd: '/' }, { nothrow: true, stdio: ['pipe', 'ignore', 'ignore'] })`
    read -r -t ${seconds} || for attempt in 1 2 3 4 5 6 7 8 9; do docker rm --force ${name} || true; sleep 1; done`
}

/** How the docker client ended; `exitCode` is undefined where it was killed. */
type ClientEnd = { exitCode: number | undefined }

async function exitOf(client: ProcessPromise): Promise<ClientEnd> {
  return { exitCode: (await client).exitCode ?? undefined }
}

const docker = () => shellIn({ cwd: '/' }, { nothrow: true, timeout: `${GRACE_SECONDS + 10}s` })

/** Removes a container that a killed or failed client may have left behind. */
async function removeRemains(name: string, end: ClientEnd): Promise<ClientEnd> {
  if (end.exitCode !== 0) await docker()`docker rm --force ${name}`
  return end
}

/**
 * Runs `docker stop`, then removes the container until the client has ended: a single removal can miss a container that
 * is just being created.
 */
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
