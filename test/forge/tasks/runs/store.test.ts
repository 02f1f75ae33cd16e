/** The store of a run, with many writers, and with killed ones. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { git, PLAIN } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const RUN = '20261122-test-abcd'
const WRITER = join(import.meta.dir, 'store-writer.ts')

const storeOf = (place: Place) => new RunStore(place.objects, RUN)

/** A process that writes to a repository's store, and prints after each write what is stored. */
function startWriter(place: Place, name: string, count: number) {
  return Bun.spawn(['bun', WRITER, place.path, RUN, name, String(count)], {
    env: { ...process.env, ...PLAIN },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

test('what was put is read again, also by another process and after a garbage collection', async () => {
  await using place = await makePlace()
  const reference = await storeOf(place).put('artifact', 'Grüße\n')
  await git(place.path, 'gc', '--prune=now', '--quiet')
  await using objects = openObjects(await openRepository(place.path, { env: PLAIN }))
  expect(await new RunStore(objects, RUN).readText(reference)).toBe('Grüße\n')
})

test('a repository of long ids keeps it, too', async () => {
  await using place = await makePlace('sha256')
  const reference = await storeOf(place).put('artifact', 'found')
  expect(reference.oid).toHaveLength(64)
  expect(await storeOf(place).readText(reference)).toBe('found')
})

test('the first answer to a request stays', async () => {
  await using place = await makePlace()
  const key = 'a'.repeat(64)
  const first = await storeOf(place).keep('answers', key, 'one')
  const second = await storeOf(place).keep('answers', key, 'two')
  expect(second).toBe(first)
  expect(await storeOf(place).find('answers', key)).toBe(first)
})

test('two in the same moment with one name get the same answer', async () => {
  await using place = await makePlace()
  const store = storeOf(place)
  const oids = await Promise.all(['one', 'two'].map(text => store.keep('answers', 'b'.repeat(64), text)))
  expect(new Set(oids).size).toBe(1)
})

test('of the plan, the last one counts', async () => {
  await using place = await makePlace()
  const store = storeOf(place)
  await store.set('plan.json', 'old')
  await store.set('plan.json', 'new')
  expect((await store.get('plan.json'))?.toString()).toBe('new')
})

test('thousands that are put at once are a few commits', async () => {
  await using place = await makePlace()
  const store = storeOf(place)
  const began = performance.now()
  const put = Array.from({ length: 3000 }, (_, at) => store.put('artifact', `found ${at}`))
  const references = await Promise.all(put)
  console.log(`3,000 blobs put in ${Math.round(performance.now() - began)} ms`)
  expect(Number(await git(place.path, 'rev-list', '--count', store.ref))).toBeLessThan(5)
  const texts = await Promise.all(references.map(it => store.readText(it)))
  expect(texts[2999]).toBe('found 2999')
})

test('nothing is lost when four processes write at the same time', async () => {
  await using place = await makePlace()
  const writers = ['a', 'b', 'c', 'd'].map(name => startWriter(place, name, 12))
  const told = await Promise.all(writers.map(writer => new Response(writer.stdout).text()))
  const store = storeOf(place)
  const lines = told.join('').trim().split('\n')
  expect(lines).toHaveLength(48)
  for (const line of lines) {
    const [name = '', oid = ''] = line.split(' ')
    expect(await store.find('journal', name)).toBe(oid)
  }
  // All four have written this file, and all got the same content.
  expect((await store.all('decisions')).length).toBe(1)
}, 60_000)

test('whenever a writer is killed, all that it said is kept is there, and the next one goes on', async () => {
  await using place = await makePlace()
  for (let round = 0; round < 12; round++) {
    const writer = startWriter(place, `r${round}`, 1000)
    const reader = writer.stdout.getReader()
    let told = ''
    for (let wanted = 1 + (round % 4); told.split('\n').length <= wanted; ) {
      const { value, done } = await reader.read()
      if (done) break
      told += Buffer.from(value).toString()
    }
    await Bun.sleep(round * 3)
    writer.kill('SIGKILL')
    for (let next = await reader.read(); !next.done; next = await reader.read())
      told += Buffer.from(next.value).toString()
    await writer.exited
    const store = storeOf(place)
    const whole = told.slice(0, told.lastIndexOf('\n')).split('\n').filter(Boolean)
    expect(whole.length).toBeGreaterThan(0)
    for (const line of whole) {
      const [name = '', oid = ''] = line.split(' ')
      expect(await store.find('journal', name)).toBe(oid)
    }
  }
  await storeOf(place).put('artifact', 'after all of them')
  await git(place.path, 'fsck', '--connectivity-only', '--no-dangling')
}, 120_000)

test('a lock that a killed git left does not stop a run for ever', async () => {
  await using place = await makePlace()
  const store = storeOf(place)
  await store.put('artifact', 'before')
  await Bun.write(join(place.path, `${store.ref}.lock`), '')
  const reference = await store.put('artifact', 'after')
  expect(await store.readText(reference)).toBe('after')
}, 20_000)

test('a write right after another one is not forgotten', async () => {
  await using place = await makePlace()
  const store = storeOf(place)
  const chain = async (name: string) => {
    for (let at = 0; at < 20; at++) await store.put('artifact', `${name} ${at}`)
  }
  await Promise.all(['a', 'b', 'c'].map(chain))
  expect(await store.readText(await store.put('artifact', 'last'))).toBe('last')
}, 60_000)
