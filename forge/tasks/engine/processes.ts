/**
 * Processes that outlive the command which started them: how one is started, known again, and ended. A number alone
 * does not tell a process: the system gives it to another one later. With the time of its start it does.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import * as v from 'valibot'

const POLL_MS = 25

/** A process of this machine, as it is written down. */
export const ProcessMark = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(2)),
  /** When it began, as the operating system says it: only comparable on the same machine until it reboots. */
  began: v.string(),
})
export type ProcessMark = v.InferOutput<typeof ProcessMark>

/** How a process is known; undefined where there is none of that number, or one that has ended and is only listed. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const began = process.platform === 'linux' ? await beganOnLinux(pid) : await beganElsewhere(pid)
  return began === undefined ? undefined : { pid, began }
}

/** Whether that very process still runs. */
export async function isProcessAlive(mark: ProcessMark): Promise<boolean> {
  return (await markOf(mark.pid))?.began === mark.began
}

/** Field 22 of its line is when it began, in ticks since the system did; field 3 that it has ended, as Z or X. */
async function beganOnLinux(pid: number): Promise<string | undefined> {
  const [line, boot] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''),
    readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => ''),
  ])
  // The name of its program, in parentheses, may have any sign in it.
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
 * Starts a program in a session of its own: it has no terminal, and stays when this process ends. What it says goes to
 * the end of a log, which is the user's alone. Gives its number; undefined where it could not be started.
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

/** Sends TERM to a process, and KILL after that many milliseconds. Gives whether it ended by itself. */
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

/** One that has ended meanwhile needs no signal. */
export function sendSignal({ pid }: ProcessMark, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export const sleep = promisify(setTimeout)
