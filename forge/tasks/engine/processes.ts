/**
 * Starts, identifies and ends processes that outlive the command which started them. A process id alone can be reused
 * by the system; together with the start time it identifies a process.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import * as v from 'valibot'

const POLL_MS = 25

/** A process of this machine, as stored in a record. */
export const ProcessMark = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(2)),
  /** The start time as the operating system gives it; comparable only on the same machine until it reboots. */
  began: v.string(),
})
export type ProcessMark = v.InferOutput<typeof ProcessMark>

/** The id and start time of a running process; undefined where none has this id. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const began = process.platform === 'linux' ? await beganOnLinux(pid) : await beganElsewhere(pid)
  return began === undefined ? undefined : { pid, began }
}

/** Whether exactly this process still runs. */
export async function isProcessAlive(mark: ProcessMark): Promise<boolean> {
  return (await markOf(mark.pid))?.began === mark.began
}

/** The start time on Linux: field 22 of stat, in ticks since boot; field 3 is Z or X for an ended process. */
async function beganOnLinux(pid: number): Promise<string | undefined> {
  const [line, boot] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''),
    readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => ''),
  ])
  // The program's name, in parentheses, may contain any character.
  const [state, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const ticks = rest[18]
  return ticks === undefined || state === 'Z' || state === 'X' ? undefined : `${boot.trim()} ${ticks}`
}

async function beganElsewhere(pid: number): Promise<string | undefined> {
  const child = Bun.spawn(['ps', '-o', 'lstart=,stat=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] })
  const line = (await child.stdout.text()).trim()
  return line === '' || /\sZ\S*$/.test(line) ? undefined : line.replace(/\s+\S+$/, '')
}

/**
 * Starts a program in a new session without a terminal, so that it outlives this process. Its output is appended to a
 * log that only the user can read. Gives its process id; undefined where it could not be started.
 */
export async function startDetached(
  command: readonly [string, ...string[]],
  { cwd, env, log }: { cwd: string; env: Record<string, string | undefined>; log: string },
): Promise<{ pid: number; ended: Promise<void> } | undefined> {
  const [program, ...args] = command
  const file = openSync(log, 'a', 0o600)
  try {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', file, file] })
    const ended = new Promise<void>(resolve => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    child.unref()
    return child.pid === undefined ? undefined : { pid: child.pid, ended }
  } finally {
    closeSync(file)
  }
}

/** Sends TERM to a process, and KILL after `patience` milliseconds. Gives whether it ended by itself. */
export async function endProcess(mark: ProcessMark, patience: number): Promise<boolean> {
  const isGone = async (milliseconds: number): Promise<boolean> => {
    for (const last = performance.now() + milliseconds; ; await sleep(POLL_MS)) {
      if (!(await isProcessAlive(mark))) return true
      if (performance.now() > last) return false
    }
  }
  if (!(await isProcessAlive(mark))) return true
  sendSignal(mark, 'SIGTERM')
  if (await isGone(patience)) return true
  sendSignal(mark, 'SIGKILL')
  await isGone(patience)
  return false
}

/** Sends a signal; ignores that the process has ended. */
export function sendSignal({ pid }: ProcessMark, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export const sleep = promisify(setTimeout)
