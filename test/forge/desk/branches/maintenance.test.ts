/**
 * The objects that typing and saving leave in the repository, and that git maintenance runs as after git's own commits.
 */
import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, type Desk, edit, makeDesk } from '../../../support/desk.ts'

const FILES = { 'a.txt': 'a\n' }

/** Git estimates the number of loose objects from one of 256 folders: with this many, that folder has some. */
const LOOSE_OBJECTS = 1000

async function countLoose(desk: Desk): Promise<number> {
  return Number((await desk.git('count-objects')).split(' ')[0])
}

/** A desk whose repository needs maintenance in git's view: many loose objects on a branch. */
async function untidy(...configuration: [string, string][]): Promise<Desk> {
  const desk = await makeDesk({ files: FILES, bare: true })
  const lines = Array.from({ length: LOOSE_OBJECTS }, (_, at) => `M 100644 inline f${at}\ndata <<E\n${at}\nE\n`)
  const head = 'commit refs/heads/many\ncommitter A <a@b> 1700000000 +0000\ndata 0\n'
  const child = Bun.spawn(['git', '-c', 'fastimport.unpackLimit=1000000', 'fast-import', '--quiet'], {
    cwd: desk.path,
    stdin: Buffer.from(`${head}${lines.join('')}\n`),
  })
  expect(await child.exited).toBe(0)
  for (const [key, value] of [['gc.autoDetach', 'false'], ['gc.auto', '100'], ...configuration] as const)
    await desk.git('config', key, value)
  expect(await countLoose(desk)).toBeGreaterThan(LOOSE_OBJECTS)
  return desk
}

async function saveOnce(desk: Desk): Promise<void> {
  await (await edit(desk.work, 'main', 'a.txt')).type('typed\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
}

test('after a save git runs its maintenance if necessary, and all edits are kept', async () => {
  await using desk = await untidy()
  await (await edit(desk.work, 'main', 'a.txt')).type('draft of before\n')
  await saveOnce(desk)
  expect(await countLoose(desk)).toBeLessThan(100)
  expect(await desk.git('fsck', '--strict')).toBe('')
  await desk.work.undo()
  expect((await desk.work.describeBranches()).find(({ name }) => name === 'main')?.drafts).toEqual(['a.txt'])
}, 120_000)

test.each<[string, string]>([
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
])(
  'it does not where %s=%s',
  async (key, value) => {
    await using desk = await untidy([key, value])
    await saveOnce(desk)
    expect(await countLoose(desk)).toBeGreaterThan(LOOSE_OBJECTS)
  },
  30_000,
)

test('git maintenance does not run if a hook would, and the hook does not run', async () => {
  await using desk = await untidy()
  await mkdir(join(desk.path, 'hooks'), { recursive: true })
  await writeFile(join(desk.path, 'hooks/pre-auto-gc'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 })
  await saveOnce(desk)
  expect(await countLoose(desk)).toBeGreaterThan(LOOSE_OBJECTS)
  expect(await Bun.file(join(desk.path, 'ran')).exists()).toBe(false)
}, 120_000)

test('a second of fast typing leaves only a handful of objects', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const before = await countLoose(desk)
  const editor = await edit(desk.work, 'main', 'a.txt')
  const end = performance.now() + 3000
  while (performance.now() < end) {
    await editor.type('x')
    await Bun.sleep(10)
  }
  await desk.work.flush()
  // A blob, a tree and a commit each time.
  expect((await countLoose(desk)) - before).toBeLessThanOrEqual(5 * 3)
}, 120_000)
