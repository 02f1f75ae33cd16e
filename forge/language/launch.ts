/**
 * Starts a language server in the locked container: without network, as an unprivileged user, on a folder that it can
 * read and not write.
 */
import { randomUUID } from 'node:crypto'
import { CLOSED_LOCK, IMAGE, mountFlags, removeWhenAlone } from '../../core/container.ts'
import { unattended } from '../../core/git/environment.ts'
import { firstLine, short, visible } from '../../core/text.ts'
import { giveToContainer, NO_PROXIES, openAll, runClosed, whyNoContainer } from '../ai/closed-container.ts'
import type { ServerSpec } from './servers.ts'

/** The folder of the branch's files in the container. */
export const WORKSPACE = '/workspace'
/** A container is removed after this many seconds, if this process hangs. */
const MAX_SECONDS = 24 * 60 * 60
/** The time limit of a command that prepares the files. */
const PREPARE_SECONDS = 600
/** At most this many bytes of a server's last words are kept. */
const MAX_ERROR_BYTES = 2 << 10
/** The exit codes of `docker run` for a command that can't be run, and one that is not there. */
const NO_PROGRAM = [126, 127]

/** A running server. */
export type ServerProcess = {
  /** Writes to its standard input. Throws where it has ended. */
  write: (bytes: Uint8Array) => void
  output: ReadableStream<Uint8Array>
  /** Resolves when it has ended, with why, as a sentence. */
  ended: Promise<string>
  /** Ends it at once, with all that it started. */
  kill: () => void
}

/** How servers are started. Tests give one that starts a program without a container. */
export type Launcher = {
  /** Why no server can be started here, as the end of a sentence ("… need docker, …"); undefined where one can. */
  whyNot: (signal: AbortSignal) => Promise<string | undefined>
  /** A factor for the time limits of answers. Default: 1. */
  patience?: number
  /** Prepares a folder for servers: they can read all its files. Gives the owner of files that are added later. */
  own: (folder: string) => Promise<readonly [uid: number, gid: number]>
  start: (spec: ServerSpec, folder: string) => ServerProcess
  /**
   * Runs a command that prepares the files, which may write in the folder. Gives why it failed, as a sentence;
   * undefined where it ended well.
   */
  prepare: (folder: string, command: string, options: { hasNetwork: boolean; signal: AbortSignal }) => Promise<Prepared>
}
export type Prepared = string | undefined

export const IN_CONTAINER: Launcher = {
  whyNot: whyNoContainer,
  own: giveToContainer,
  start: startInContainer,
  prepare: prepareInContainer,
}

async function prepareInContainer(
  folder: string,
  command: string,
  { hasNetwork, signal }: { hasNetwork: boolean; signal: AbortSignal },
): Promise<Prepared> {
  const wanted = { command, seconds: PREPARE_SECONDS, hasNetwork }
  const end = await runClosed(folder, wanted, signal).finally(() => openAll(folder))
  const name = visible(short(command, 60))
  if (end.wasStopped) return `${name} was stopped after ${PREPARE_SECONDS} seconds.`
  if (end.exitCode === 0) return undefined
  const words = firstLine(end.output.trim().split('\n').at(-1) ?? '')
  return `${name} ended with ${end.exitCode ?? 'a signal'} (${visible(short(words, 200))}).`
}

function startInContainer(spec: ServerSpec, folder: string): ServerProcess {
  const isRoot = process.getuid?.() === 0
  const user = isRoot ? '1000:1000' : `${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`
  const name = `forge-language-${randomUUID()}`
  const [program = '', ...args] = spec.command
  const env = { HOME: '/tmp', TERM: 'dumb', NO_COLOR: '1', ...NO_PROXIES, ...spec.env }
  const command = [
    ['docker', 'run', '--rm', '--interactive', '--pull', 'never', '--name', name, '--label', `forge=${name}`],
    ['--stop-timeout', '1', ...CLOSED_LOCK, '--network', 'none', '--user', user, '--ulimit', 'core=0'],
    mountFlags([{ source: folder, target: WORKSPACE, isReadOnly: true }]),
    ['--workdir', WORKSPACE, ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`])],
    ['--entrypoint', program, IMAGE, ...args],
  ].flat()
  const watchdog = removeWhenAlone(name, MAX_SECONDS)
  const remove = () => Bun.spawn(['docker', 'rm', '--force', name], { cwd: '/', ...SILENT, env: unattended() })
  const running = startProcess(command, { cwd: '/', env: unattended() }, code =>
    NO_PROGRAM.includes(code) ? `The image ${IMAGE} has no ${spec.program}: make image.` : undefined,
  )
  running.ended.finally(() => {
    // The client may have been killed before its container.
    remove().exited.finally(() => watchdog.stdin.end('over\n'))
  })
  return {
    ...running,
    kill: () => {
      remove()
      running.kill()
    },
  }
}

const SILENT = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/**
 * Starts a program as a server. `inWords` gives a sentence for an exit code that has a known cause. What the program
 * writes to its standard error is not kept but for its last line.
 */
export function startProcess(
  command: readonly string[],
  where: { cwd: string; env?: Record<string, string | undefined> },
  inWords: (code: number) => string | undefined = () => undefined,
): ServerProcess {
  const child = Bun.spawn([...command], { ...where, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const lastWords = endOf(child.stderr)
  const ended = child.exited.then(async code => {
    const known = inWords(code)
    if (known !== undefined) return known
    const words = (await lastWords).trim().split('\n').at(-1) ?? ''
    return `It ended with ${child.signalCode ?? code}${words === '' ? '' : ` (${visible(short(words, 200))})`}.`
  })
  return {
    write: bytes => {
      child.stdin.write(bytes)
      child.stdin.flush()
    },
    output: child.stdout,
    ended,
    kill: () => child.kill('SIGKILL'),
  }
}

/** The end of a stream's text, read until the stream ends. */
async function endOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let kept = Buffer.alloc(0)
  for await (const chunk of stream)
    kept = Buffer.concat([kept, chunk.subarray(-MAX_ERROR_BYTES)]).subarray(-MAX_ERROR_BYTES)
  return kept.toString()
}
