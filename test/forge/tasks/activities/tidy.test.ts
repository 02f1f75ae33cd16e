/** Objects that runs leave in the repository are packed by `git maintenance`, as after git's own commits. */
import { expect, test } from 'bun:test'
import { oidOf, writeBlob } from '../../../../core/git/objects.ts'
import { makeScene, RUN, type Scene } from './scene.ts'

async function countLoose({ place }: Scene): Promise<number> {
  return Number((await place.git('count-objects')).split(' ')[0])
}

/** A run in a repository in which git soon finds many loose objects. */
async function untidy(): Promise<Scene> {
  const scene = await makeScene()
  await scene.place.git('config', 'gc.autoDetach', 'false')
  await scene.place.git('config', 'gc.auto', '50')
  // Git counts the objects in the folder 17 only, and multiplies that by 256.
  const { repository } = scene.place
  for (let [at, found] = [0, 0]; found < 3; at++) {
    const bytes = Buffer.from(`${at}`)
    if (!oidOf(repository.format, { type: 'blob', bytes }).startsWith('17')) continue
    await writeBlob(repository, bytes)
    found++
  }
  return scene
}

const note = (scene: Scene, id: string, what: string, task?: string) =>
  scene.activities.note({
    run: RUN,
    lines: [{ run: RUN, id, what, words: 'It is so.', ...(task !== undefined && { task }) }],
  })

async function notes(scene: Scene, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at++) await note(scene, `${at}`, 'failed', 'a')
}

test('when a run has ended, and not before', async () => {
  await using scene = await untidy()
  await notes(scene, 0, 100)
  await note(scene, 'stop a', 'stopped', 'a')
  await scene.tidied()
  expect(await countLoose(scene)).toBeGreaterThan(300)
  await note(scene, 'finish/done', 'done')
  await scene.tidied()
  expect(await countLoose(scene)).toBeLessThan(100)
  expect(await scene.place.git('fsck', '--strict', '--no-dangling')).toBe('')
}, 60_000)

test('also where there is little: what a run has written is packed when it ends, and what others have written is not', async () => {
  await using scene = await makeScene()
  await writeBlob(scene.place.repository, Buffer.from('of somebody else'))
  await notes(scene, 0, 10)
  expect(await countLoose(scene)).toBeGreaterThan(40)
  await note(scene, 'finish/done', 'done')
  await scene.tidied()
  // Still loose: the three objects of the base commit, and the blob that somebody else has written.
  expect(await countLoose(scene)).toBe(4)
  expect(await scene.place.git('fsck', '--strict', '--no-dangling')).toBe('')
  expect(await scene.store.all('journal')).toHaveLength(11)
}, 60_000)

test('where git is not to tidy up by itself, nothing is packed', async () => {
  await using scene = await makeScene()
  await scene.place.git('config', 'maintenance.auto', 'false')
  await note(scene, 'finish/done', 'done')
  await scene.tidied()
  expect(await scene.place.git('count-objects', '-v')).toContain('packs: 0')
}, 60_000)

test('and after some hundred writes of one that is under way, which goes on', async () => {
  await using scene = await untidy()
  await notes(scene, 0, 310)
  await scene.tidied()
  expect(await countLoose(scene)).toBeLessThan(200)
  await notes(scene, 310, 312)
  expect(await scene.store.all('journal')).toHaveLength(312)
}, 60_000)
