/** How a run ends: what its steps found, recorded whatever happens, and any error as a sentence with an exit code. */
import { ProcessOutput } from 'zx/core'
import { isFull } from '../core/disk.ts'
import { EXIT, type ExitCode, Failure } from '../core/failure.ts'
import { TooLarge } from '../core/git/bounds.ts'
import { GitError } from '../core/git/run.ts'
import { firstLine } from '../core/text.ts'
import { type Found, type Run, record } from './runs.ts'

/** The steps to an end: they yield what they found as soon as it is true, and return the last line of a good end. */
export type Steps = AsyncGenerator<Found, string>

/** The last line of a run that has nothing to do; one that was interrupted is not told to be fine. */
export function nothingToDo(because: string, signal: AbortSignal): string {
  signal.throwIfAborted()
  return `Nothing to do: ${because}.`
}

/** Takes the steps, and gives their last line. `onFound` is told what they yield. */
export async function lastLineOf(steps: Steps, onFound: (found: Found) => void = () => undefined): Promise<string> {
  for (;;) {
    const step = await steps.next()
    if (step.done) return step.value
    onFound(step.value)
  }
}

/** Takes the steps and writes how they ended. A second try that could not publish either leaves room for a third. */
export async function recordTheEnd(
  { path, metadata: { startedAt } }: Run,
  file: 'outcome' | 'published',
  steps: Steps,
  signal: AbortSignal,
): Promise<string> {
  let found: Found = {}
  const end = (exitCode: ExitCode, outcome: string) =>
    record(path, file, { exitCode, outcome, startedAt, endedAt: new Date().toISOString(), ...found })
  try {
    const line = await lastLineOf(steps, more => {
      found = { ...found, ...more }
    })
    await end(EXIT.done, line)
    return line
  } catch (error) {
    const failure = await inWords(error, signal, path)
    if (file === 'outcome' || failure.code === EXIT.refused) await end(failure.code, failure.message)
    throw failure
  }
}

/**
 * The one place where an error becomes a sentence and an exit code. `folder` is where Forklift writes: whether its disk
 * is full is measured, since words of git's may be a stranger's.
 */
export async function inWords(error: unknown, signal: AbortSignal, folder: string): Promise<Failure> {
  if (signal.aborted) return signal.reason as Failure
  if (error instanceof Failure) return error
  if (error instanceof TooLarge)
    return new Failure(
      `What upstream or the fork brings is too large to be judged: ${error.message}. Merge it by hand.`,
    )
  const full = new Failure('The disk is full: free some space and run forklift again.')
  if (error instanceof ProcessOutput || error instanceof GitError) {
    if (await isFull(folder).catch(() => false)) return full
    return new Failure(`git or docker failed: ${reasonOf(error)}.`)
  }
  const { code, path, message } = error as NodeJS.ErrnoException
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code ?? '')) return full
  if (code && path) return new Failure(`${path} can't be used (${code}): check its owner and its disk.`)
  return new Failure(`${message}: this was not expected, please report it.`)
}

function reasonOf(error: ProcessOutput | GitError): string {
  if (error instanceof GitError) return error.message
  return error.stderr ? firstLine(error.stderr) : `ended by ${error.signal ?? error.exitCode}`
}
