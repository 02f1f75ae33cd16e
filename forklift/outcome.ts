/** Records how a run ends and what its steps found, whatever happens. */
import { EXIT, type ExitCode } from '../core/failure.ts'
import { type RecordedRun, readRun } from '../core/formats/forklift-run.ts'
import { DamagedClone, inWords } from './errors.ts'
import { removeFolders } from './leftovers.ts'
import { type RunFindings, recordFile } from './runs.ts'

/**
 * The steps of a run: they yield facts to record as soon as these are known, and return the last line to print on
 * success.
 */
export type RunSteps = AsyncGenerator<RunFindings, string>

/** The last line of a run that has nothing to do. Throws where the run was interrupted. */
export function nothingToDo(because: string, signal: AbortSignal): string {
  signal.throwIfAborted()
  return `Nothing to do: ${because}.`
}

/** Runs the steps of a run of Forklift, and gives the last line to print. `onFound` gets what the steps find out. */
export async function lastLineOf(
  steps: RunSteps,
  onFound: (found: RunFindings) => void = () => undefined,
): Promise<string> {
  for (;;) {
    const step = await steps.next()
    if (step.done) return step.value
    onFound(step.value)
  }
}

/**
 * Runs the steps and records how they ended. For `published`, which is a later attempt to publish a run's result, only
 * success or a refusal is recorded, so that an attempt that failed otherwise can be repeated.
 */
export async function recordTheEnd(
  { path, metadata: { startedAt } }: RecordedRun,
  file: 'outcome' | 'published',
  steps: RunSteps,
  signal: AbortSignal,
): Promise<string> {
  let found: RunFindings = {}
  const end = async (exitCode: ExitCode, outcome: string) => {
    const record = { exitCode, outcome, startedAt, endedAt: new Date().toISOString(), ...found }
    if (await recordFile(path, file, record)) return
    // Another process has recorded an outcome first. If this one is a publication and that is not, record it beside it.
    const isNews = file === 'outcome' && exitCode === EXIT.done && (await readRun(path))?.outcome?.exitCode !== exitCode
    if (isNews) await recordFile(path, 'published', record)
  }
  try {
    const line = await lastLineOf(steps, more => {
      found = { ...found, ...more }
    })
    await end(EXIT.done, line)
    return line
  } catch (error) {
    const failure = await inWords(error, signal, path)
    // A damaged clone is noticed when the workspace is made from it. The run directory then has nothing for the user to
    // look at yet, and is removed.
    const isNothing = failure instanceof DamagedClone && Object.keys(found).length === 0
    if (isNothing) await removeFolders([path])
    else if (file === 'outcome' || failure.code === EXIT.refused) await end(failure.code, failure.message)
    throw failure
  }
}
