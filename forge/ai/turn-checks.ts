/**
 * Runs the checks of FORGE.md after a turn of the chat, in the container of the commands. Failures are shown to the
 * model once, before its changes are committed.
 */
import { Failure } from '../../core/failure.ts'
import { firstLine, many, short, visible } from '../../core/text.ts'
import { materializedIn, type WorkInProgressVfs } from '../vfs.ts'
import { openAll, runClosed } from './closed-container.ts'
import { whyNoCommands } from './commands.ts'
import type { ForgeMd } from './forge-md.ts'

/** The time limits of a check and of a preparing command, in seconds. */
const SECONDS = { check: 300, prepare: 600 }
/** At most this many characters of a failed command's output are shown to a model, from its end. */
const MAX_OUTPUT = 4000

/** A command that failed. */
type Failed = { command: string; how: string; output: string }

/** The result of checks. `text`: the output of failed ones for the model. `failed`: their commands. */
export type Checked = { isGood: boolean; text: string; words: string; failed: string[] }

/**
 * Runs checks on a turn's files; `only`: just these commands. Undefined where none can run here. Changes that they make
 * to files are dropped. Throws the signal's reason.
 */
export async function runChecks(
  state: string,
  { prepare, checks }: Pick<ForgeMd, 'prepare' | 'checks'>,
  { vfs, signal, only }: { vfs: WorkInProgressVfs; signal: AbortSignal; only?: readonly string[] },
): Promise<Checked | undefined> {
  const isPrepared = !prepare.some(command => only?.includes(command))
  const wanted = only && isPrepared ? checks.filter(check => only.includes(check)) : checks
  if (wanted.length === 0 || (await whyNoCommands(state, signal)) !== undefined) return undefined
  try {
    return await checkedIn(state, { prepare, checks: wanted }, vfs, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Failure)) throw error
    return undefined
  }
}

async function checkedIn(
  state: string,
  { prepare, checks }: Pick<ForgeMd, 'prepare' | 'checks'>,
  vfs: WorkInProgressVfs,
  signal: AbortSignal,
): Promise<Checked> {
  await using made = await vfs.materialize(materializedIn(state))
  const { folder } = made
  const failed: Failed[] = []
  const run = async (command: string, seconds: number): Promise<boolean> => {
    const end = await runClosed(folder, { command, seconds }, signal).finally(() => openAll(folder))
    signal.throwIfAborted()
    if (!end.wasStopped && end.exitCode === 0) return true
    const how = end.wasStopped ? `was stopped after ${seconds} seconds` : `ended with ${end.exitCode ?? 'a signal'}`
    failed.push({ command, how, output: end.output })
    return false
  }
  for (const command of prepare) if (!(await run(command, SECONDS.prepare))) return told(failed, checks.length)
  for (const command of checks) await run(command, SECONDS.check)
  return told(failed, checks.length)
}

function told(failed: readonly Failed[], count: number): Checked {
  const parts = failed.map(({ command, how, output }) => {
    const end = output.length > MAX_OUTPUT ? `…\n${output.slice(-MAX_OUTPUT).toWellFormed()}` : output
    return `$ ${command}\n(it ${how})\n${end || '(it printed nothing)'}`
  })
  const names = failed.map(({ command }) => visible(short(firstLine(command), 60))).join(', ')
  return {
    isGood: failed.length === 0,
    text: failed.length === 0 ? 'All checks of FORGE.md ended well.' : parts.join('\n\n'),
    words: failed.length === 0 ? `${many(count, 'check')} passed` : `failed: ${names}`,
    failed: failed.map(({ command }) => command),
  }
}
