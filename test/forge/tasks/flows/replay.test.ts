/** Flows as they are now go on with runs that were begun before: recorded histories are replayed. */
import { beforeAll, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker, type WorkflowBundle } from '@temporalio/worker'
import { bundleOfFlows } from '../../../support/flows.ts'

const FOLDER = join(import.meta.dir, '../histories')
const files = (await readdir(FOLDER)).filter(name => name.endsWith('.json')).sort()

let bundle: WorkflowBundle
beforeAll(async () => {
  bundle = await bundleOfFlows()
}, 60_000)

type Recorded = { workflowId: string; history: { events: { eventType: string; [name: string]: unknown }[] } }
const read = async (name: string): Promise<Recorded[]> => JSON.parse(await readFile(join(FOLDER, name), 'utf8'))

test('histories of a plan, a retry, a question and a fan-out are there', () => {
  expect(files).toEqual(['fan-out.json', 'plan-and-run.json', 'question.json', 'retry.json'])
})

test.each(files)('runs as in %s go on', async name => {
  const recorded = await read(name)
  expect(recorded.length).toBeGreaterThan(2)
  for (const { workflowId, history } of recorded) {
    await Worker.runReplayHistory({ workflowBundle: bundle }, history, workflowId)
  }
})

test('a flow that does something else than it did is found', async () => {
  const [run] = await read('retry.json')
  if (!run) throw new Error('There is no history.')
  const text = JSON.stringify(run.history).replaceAll('"name":"begin"', '"name":"start"')
  const replayed = Worker.runReplayHistory({ workflowBundle: bundle }, JSON.parse(text), run.workflowId)
  await expect(replayed).rejects.toThrow()
})
