/** How a run ends: what its steps found is recorded, whatever happens. */
import { EXIT, type ExitCode } from '../core/failure.ts'
import { type RecordedRun, readRun } from '../core/formats/forklift-run.ts'
import { DamagedClone, inWords } from './errors.ts'
import { removeFolders } from './leftovers.ts'
import { type RunFindings, recordFile } from './runs.ts'

/** The steps to an end: they yield what they found as soon as it is true, and return the last line of a good end. */
export type RunSteps = AsyncGenerator<RunFindings, string>

/** The last line of a run that has nothing to do; one that was interrupted is not told to be fine. */
export function nothingToDo(because: string, signal: AbortSignal): string {
  signal.throwIfAborted()
  return `Nothing to do: ${because}.`
}

/** Takes the steps, and gives their last line. `onFound` is told what they yield. */
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

/** Takes the steps and writes how they ended. A second try that could not publish either leaves room for a third. */
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
    // Another process has published the same result at the same time, and recorded how that ended.
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
    // Found out as the workspace was made, since it takes as long: there is nothing in the directory to look at.
    const isNothing = failure instanceof DamagedClone && Object.keys(found).length === 0
    if (isNothing) await removeFolders([path])
    else if (file === 'outcome' || failure.code === EXIT.refused) await end(failure.code, failure.message)
    throw failure
  }
}
