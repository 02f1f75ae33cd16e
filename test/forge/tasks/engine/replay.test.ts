/** The bundle of the workflows; and that a replay of recorded histories finds changes that break running runs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { buildBundle, FLOWS, writeBundle } from '../../../../forge/tasks/engine/bundle.ts'
import { workflowIdOf } from '../../../../forge/tasks/engine/client.ts'
import { readHistory, replay } from '../../../../forge/tasks/engine/replay.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { hasNoTemporal, startTemporal } from '../../../support/temporal.ts'
import { workOn } from '../../../support/test-worker.ts'
import { PROJECT } from '../../../support/world.ts'

const NODE = Bun.which('node') ?? undefined
if (!NODE) console.error('node is not there: histories are replayed under Bun alone.')
const RECORDED = join(import.meta.dir, '../histories')

let folder = ''
let same = ''
let other = ''
let real = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forge-replay-'))
  ;[same, other, real] = ['same.js', 'other.js', 'real.js'].map(name => join(folder, name)) as [string, string, string]
  await writeBundle(same, join(import.meta.dir, 'flows/flows.ts'))
  await writeBundle(other, join(import.meta.dir, 'flows/other.ts'))
  await writeBundle(real)
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a workflow that reads files is not bundled, and the reason is said', async () => {
  const refused = buildBundle(join(import.meta.dir, 'flows/impure.ts'))
  expect(await refusedBy(refused)).toThrow(/can't be bundled.*fs/s)
}, 60_000)

describe.skipIf(hasNoTemporal)('a recorded run', () => {
  const paths: string[] = []
  beforeAll(async () => {
    await using temporal = await startTemporal()
    await using worker = await workOn(temporal, { bundle: same })
    const { client } = temporal
    const workflowId = workflowIdOf('recorded')
    await client.workflow.execute('forgeRun', { args: [{ run: 'recorded' }], taskQueue: worker.queue, workflowId })
    for (const id of [workflowId, `${workflowId}/one/1`]) {
      const history = JSON.parse(historyToJSON(await client.workflow.getHandle(id).fetchHistory()))
      const path = join(folder, `${paths.length}.json`)
      await writeFile(path, JSON.stringify({ workflowId: id, history }))
      paths.push(path)
    }
  }, 60_000)

  test('goes on with the workflows that it began with', async () => {
    expect(await replay(await Promise.all(paths.map(readHistory)), same)).toEqual([])
  }, 60_000)

  test('is told of when its workflow was changed', async () => {
    const [complaint, ...more] = await replay(await Promise.all(paths.map(readHistory)), other)
    expect(complaint).toMatch(/^forge-run-recorded\/one\/1: .*(nondeterminism|Nondeterminism)/i)
    expect(more).toEqual([])
  }, 60_000)

  test.skipIf(!NODE)(
    'is replayed under Node as well',
    async () => {
      expect(await underNode(same, paths)).toEqual([0, '2 of 2 histories go on as they began\n'])
      expect((await underNode(other, paths))[0]).toBe(1)
    },
    60_000,
  )
})

const recorded = (await readdir(RECORDED).catch((): string[] => [])).filter(name => name.endsWith('.json'))
// Before the first release there are no recorded histories.
if (recorded.length > 0)
  describe('the histories of earlier versions', () => {
    const paths = recorded.map(name => join(RECORDED, name))

    test('go on under Bun', async () => {
      expect(await replay(await Promise.all(paths.map(readHistory)), real)).toEqual([])
    }, 120_000)

    // Changes of the flows that look harmless, and would break running runs.
    const changes: Change[] = [
      {
        what: 'a task is done by another flow',
        file: 'flows/run.ts',
        from: "startChild<AttemptFlow>('forgeAttempt'",
        to: "startChild<AttemptFlow>('attempt'",
      },
      {
        what: 'fewer sub-agents work at a time',
        file: 'flows/fan-out.ts',
        from: 'MAX_CONCURRENT_AGENTS = 40',
        to: 'MAX_CONCURRENT_AGENTS = 1',
      },
      {
        what: 'a line is written to the journal before all else',
        file: 'flows/step.ts',
        from: 'const constructed =',
        to: "await atOnce.keepWords({ ...place, kind: 'status', words: '' })\n    const constructed =",
      },
      {
        what: 'an answer whose unknown signal was classified is not read again',
        file: 'flows/step.ts',
        from: 'if (!meant) return',
        to: 'if (meant) return',
      },
      {
        what: 'the budget of a run is kept without a time limit',
        file: 'flows/budget.ts',
        from: 'isLong(), IDLE)',
        to: 'isLong())',
      },
    ]
    test.each(changes)(
      'do not go on, and that is said, when $what',
      async change => {
        const bundle = await bundleWith(change)
        const complaints = await replay(await Promise.all(paths.map(readHistory)), bundle)
        expect(complaints).not.toEqual([])
        for (const complaint of complaints) expect(complaint).toMatch(/: .*nondeterminism/i)
      },
      120_000,
    )

    test.skipIf(!NODE)(
      'go on under Node',
      async () => {
        expect(await underNode(real, paths)).toEqual([0, expect.any(String)])
      },
      120_000,
    )
  })

type Change = { what: string; file: string; from: string; to: string }

/** A bundle of the flows with one change in one file. */
async function bundleWith({ file, from, to }: Change): Promise<string> {
  const copy = await mkdtemp(join(folder, 'changed-'))
  for (const room of ['flows', 'run']) await cp(join(FLOWS, '../..', room), join(copy, room), { recursive: true })
  await linkPackages()
  const path = join(copy, file)
  const code = await readFile(path, 'utf8')
  expect(code.split(from)).toHaveLength(2)
  await writeFile(
    path,
    code.replace(from, () => to),
  )
  const bundle = join(copy, 'changed.js')
  await writeBundle(bundle, join(copy, 'flows/flows.ts'))
  return bundle
}

/** Links the project's packages into the folder. */
const linkPackages = (): Promise<void> =>
  symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules')).catch(() => undefined)

/** Runs the replay in Node, with the project's packages. */
async function underNode(bundle: string, paths: string[]): Promise<[code: number, output: string]> {
  const script = join(folder, 'replay.mjs')
  const command = ['build', join(PROJECT, 'forge/tasks/engine/replay.ts'), '--target', 'node', '--outfile', script]
  const build = Bun.spawn([process.execPath, ...command, '--external', '@temporalio/*'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  expect(await build.exited).toBe(0)
  await linkPackages()
  const child = Bun.spawn([NODE ?? '', script, bundle, ...paths], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return [await child.exited, output]
}
