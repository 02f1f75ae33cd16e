/**
 * A worker is killed at any point of its steps: the next worker continues, repeats few paid requests, and gets the same
 * result.
 */
import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { attemptRef, openRunFolder } from '../../../../forge/tasks/runs/folder.ts'
import { journalFile, parseLines, readJournal } from '../../../../forge/tasks/runs/journal.ts'
import { PLAIN } from '../../../support/git.ts'
import { makeScene, RUN } from './scene.ts'

const WORKER = join(import.meta.dir, 'step-worker.ts')
const STEPS = 4
const KILLS = 24

test('killed at two dozen moments, the work ends as if nothing had been killed', async () => {
  await using scene = await makeScene()
  const paid = join(scene.place.folder, 'paid')
  const state = join(scene.place.folder, 'state')
  const start = () =>
    Bun.spawn(['bun', WORKER, scene.place.path, state, paid, RUN, scene.base, scene.plan.oid, String(STEPS)], {
      env: { ...process.env, ...PLAIN },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  // Each worker is killed about one activity later than the one before (a step has six).
  let kills = 0
  for (; kills < KILLS; kills++) {
    const worker = start()
    const reader = worker.stdout.getReader()
    let told = ''
    while (told.split('\n').length <= kills) {
      const { value, done } = await reader.read()
      if (done) break
      told += Buffer.from(value).toString()
    }
    await Bun.sleep((kills * 7) % 25)
    worker.kill('SIGKILL')
    await worker.exited
    if (told.includes('end ')) break
  }
  const last = start()
  const end = /end ([0-9a-f]+)/.exec(await new Response(last.stdout).text())?.[1] ?? ''
  const branch = attemptRef(RUN, 'stack', 1)
  expect(await scene.place.git('rev-parse', branch)).toBe(end)
  expect(await scene.place.git('rev-list', '--count', `${scene.base}..${branch}`)).toBe(String(STEPS))
  const names = ['a.txt', ...Array.from({ length: STEPS }, (_, at) => `made-${at + 1}.txt`)]
  expect((await scene.place.git('ls-tree', '--name-only', end)).split('\n')).toEqual(names)
  const requests = (await readFile(paid, 'utf8')).length
  console.log(`${kills} kills in ${STEPS} steps: ${requests} requests paid`)
  // At most one request was under way at each kill.
  expect(requests).toBeLessThanOrEqual(STEPS + kills)
  const wanted = ['asks_model', 'success', 'asks_model', 'success', 'asks_model', 'success', 'asks_model', 'success']
  expect((await readJournal(scene.store)).map(({ what }) => what)).toEqual(wanted)
  const folder = await openRunFolder(scene.place.repository, RUN, { XDG_STATE_HOME: state })
  const text = await readFile(journalFile(folder), 'utf8')
  expect(text.trim().split('\n')).toHaveLength(wanted.length)
  expect(parseLines(text)).toHaveLength(wanted.length)
  await scene.place.git('fsck', '--connectivity-only', '--no-dangling')
}, 180_000)
