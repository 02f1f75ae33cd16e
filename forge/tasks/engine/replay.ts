#!/usr/bin/env bun
/**
 * Replays recorded histories with a bundle of workflows and reports those that do not fit, to find changes of a
 * workflow that would break running runs. It does not use Bun, so it also runs in Node: replay.ts BUNDLE HISTORY.json …
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DataConverter } from '@temporalio/common'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'

/** A recorded history, with the id of its workflow, as its children's ids begin with that. */
type RecordedHistory = { workflowId: string; history: unknown }

/** Gives a sentence for each history that does not fit; empty where all do. `converter`: decrypts their data. */
export async function replay(
  histories: readonly RecordedHistory[],
  bundle: string,
  converter?: DataConverter,
): Promise<string[]> {
  beQuiet()
  const complaints: string[] = []
  const dataConverter = converter && { dataConverter: converter }
  const options = {
    workflowBundle: { codePath: bundle },
    ...dataConverter,
    sinks: { exporter: { export: { fn: () => undefined } } },
  }
  const given = histories.map(({ workflowId, history }) => ({ workflowId, history: historyFromJSON(history) }))
  for await (const { workflowId, error } of Worker.runReplayHistories(options, given))
    if (error) complaints.push(`${workflowId}: ${error.message.split('\n')[0]}`)
  return complaints
}

/** Silences the library's own log: the result says everything. */
function beQuiet(): void {
  try {
    const logger = new DefaultLogger('ERROR', () => undefined)
    Runtime.install({ logger, telemetryOptions: { logging: { forward: {}, filter: 'OFF' } } })
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'IllegalStateError') throw error
  }
}

export async function readHistory(path: string): Promise<RecordedHistory> {
  const { workflowId, history } = JSON.parse(await readFile(path, 'utf8'))
  if (typeof workflowId !== 'string' || !history) throw new Error(`${basename(path)} is no recorded history`)
  return { workflowId, history }
}

const [, script, bundle, ...paths] = process.argv
if (script && import.meta.url === pathToFileURL(script).href) {
  if (!bundle || paths.length === 0) throw new Error('Say which: replay.ts BUNDLE HISTORY.json …')
  const complaints = await replay(await Promise.all(paths.map(readHistory)), bundle)
  for (const complaint of complaints) console.error(complaint)
  console.log(`${paths.length - complaints.length} of ${paths.length} histories go on as they began`)
  process.exit(complaints.length === 0 ? 0 : 1)
}
