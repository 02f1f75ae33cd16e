/** Objects are read by one long-running git process, and many are written by one. */
import { expect, test } from 'bun:test'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findByDigits, openObjects, readStart, writeBlob, writeBlobs, writeObjects } from '../../../core/git/objects.ts'
import { GitError } from '../../../core/git/run.ts'
import { commit } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'
import { refusedBy } from '../../support/refusals.ts'
import { childrenWith, makePlace, until } from '../../support/repository.ts'

const ABSENT = '1'.repeat(40)
const random = randomFrom(7)
const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)))

test('a thousand objects come back whole and in order, whatever bytes they are made of', async () => {
  await using place = await makePlace()
  const odd = ['', '\n', 'missing\n', `${ABSENT} missing\n`, `${ABSENT} blob 3\nabc\n`, '\0', 'no line end']
  const contents = [...odd.map(text => Buffer.from(text)), noise(300_000)]
  for (let at = contents.length; at < 1000; at++) contents.push(noise(random.below(200)))
  const oids = await writeBlobs(place.repository, contents)
  const read = await Promise.all(oids.map(oid => place.objects.read(oid)))
  expect(read.map(it => it?.bytes?.toString('latin1'))).toEqual(contents.map(it => it.toString('latin1')))
})

test('requests made together are answered by one git process', async () => {
  await using place = await makePlace()
  const oids = await writeBlobs(place.repository, [Buffer.from('a'), Buffer.from('b')])
  await Promise.all(oids.map(oid => place.objects.read(oid)))
  const first = await childrenWith('--batch-command')
  await place.objects.read(oids[0] ?? '')
  expect([first.length, await childrenWith('--batch-command')]).toEqual([1, first])
})

test('an object that is not there is an answer', async () => {
  await using place = await makePlace()
  const blob = await writeBlob(place.repository, Buffer.from('here'))
  const answers = await Promise.all([ABSENT, blob, `${blob}^{commit}`].map(name => place.objects.info(name)))
  expect(answers.map(it => it?.type)).toEqual([undefined, 'blob', undefined])
  expect(await place.objects.read(ABSENT)).toBeUndefined()
})

test('an object beyond the limit has its size, but is not read', async () => {
  await using place = await makePlace()
  const oid = await writeBlob(place.repository, noise(5000))
  expect(await place.objects.read(oid, { limit: 4999 })).toEqual({ oid, type: 'blob', size: 5000, bytes: undefined })
  expect((await place.objects.read(oid, { limit: 5000 }))?.bytes?.length).toBe(5000)
})

test('the beginning of a blob can be had without the rest', async () => {
  await using place = await makePlace()
  const oid = await writeBlob(place.repository, Buffer.alloc(3 << 20, 'x'))
  expect((await readStart(place.repository, oid, 10)).toString()).toBe('xxxxxxxxxx')
})

test('an entry can be named by a commit and a path', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { 'a folder/file': 'x' })
  const names = [`${tip}:a folder/file`, `${tip}:a folder`, `${tip}:file`]
  const infos = await Promise.all(names.map(name => place.objects.info(name)))
  expect(infos.map(it => it?.type)).toEqual(['blob', 'tree', undefined])
})

test('a git that is killed is started again, and nothing that was asked is lost', async () => {
  await using place = await makePlace()
  const contents = Array.from({ length: 3000 }, (_, at) => Buffer.from(`${at}\n`.repeat(200)))
  const oids = await writeBlobs(place.repository, contents)
  await place.objects.info(oids[0] ?? '')
  const [child = 0] = await childrenWith('--batch-command')
  const asked = Promise.all(oids.map(oid => place.objects.read(oid)))
  await place.objects.info(oids[0] ?? '')
  process.kill(child, 'SIGKILL')
  expect((await asked).map(it => it?.bytes?.toString())).toEqual(contents.map(String))
  expect(await childrenWith('--batch-command')).not.toContain(child)
})

test('a broken object is an error for its own request only', async () => {
  await using place = await makePlace()
  const [good = '', bad = '', other = ''] = await writeBlobs(
    place.repository,
    ['good', 'bad'.repeat(999), 'other'].map(text => Buffer.from(text)),
  )
  const file = join(place.path, 'objects', bad.slice(0, 2), bad.slice(2))
  await chmod(file, 0o600)
  await writeFile(file, 'broken')
  const ends = await Promise.allSettled([good, bad, other].map(oid => place.objects.read(oid)))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', expect.any(String), 'fulfilled'])
  const [, end] = ends
  if (end?.status === 'rejected') expect(end.reason).toBeInstanceOf(GitError)
  else expect(end?.value).toBeUndefined()
  expect((await place.objects.read(other))?.bytes?.toString()).toBe('other')
})

test('names that could be another command, an option or a path are refused before git sees them', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { file: 'x' })
  const names = [
    '',
    '--help',
    'HEAD:file',
    'HEAD~1',
    'main',
    'abcd',
    `${ABSENT}\ninfo HEAD`,
    `${ABSENT}:file\ninfo HEAD`,
    `${ABSENT}:`,
    'refs/heads/a b',
    'refs/x..y',
  ]
  for (const name of names) expect(await refusedBy(place.objects.info(name))).toThrow('does not name an object')
  expect((await place.objects.info('refs/heads/main'))?.type).toBe('commit')
  expect((await place.objects.info('HEAD^{tree}'))?.type).toBe('tree')
})

test('objects and refs that come later are seen, and a repack is nothing to notice', async () => {
  await using place = await makePlace()
  expect(await place.objects.info('HEAD')).toBeUndefined()
  const oid = await commit(place.path, 'main', { file: 'first' })
  expect((await place.objects.info('HEAD'))?.oid).toBe(oid)
  await place.git('repack', '-adq')
  const blob = await place.git('rev-parse', 'main:file')
  expect((await place.objects.read(blob))?.bytes?.toString()).toBe('first')
})

test('sha256 repositories are read and written, too', async () => {
  await using place = await makePlace('sha256')
  const oid = await writeBlob(place.repository, Buffer.from('text'))
  expect([oid.length, (await place.objects.read(oid))?.bytes?.toString()]).toEqual([64, 'text'])
  expect(await refusedBy(place.objects.info(ABSENT))).toThrow('does not name an object')
})

test('an interruption ends the git process, and open requests fail with its reason', async () => {
  await using place = await makePlace()
  const interruption = new AbortController()
  await using objects = openObjects({ ...place.repository, signal: interruption.signal })
  await objects.info(ABSENT)
  const asked = objects.info(ABSENT)
  interruption.abort(new Error('enough'))
  expect(await refusedBy(asked)).toThrow('enough')
  expect(await refusedBy(objects.info(ABSENT))).toThrow('enough')
  await until(async () => (await childrenWith('--batch-command')).length === 0)
})

test('closing ends the git process, and every caller gets an answer', async () => {
  await using place = await makePlace()
  await place.objects.info(ABSENT)
  const asked = place.objects.info(ABSENT)
  asked.catch(() => undefined)
  await place.objects[Symbol.asyncDispose]()
  expect(await childrenWith('--batch-command')).toEqual([])
  expect(await refusedBy(asked)).toThrow('closed')
  expect(await refusedBy(place.objects.info(ABSENT))).toThrow('closed')
})

test('where git can’t be started, requests fail after a few tries', async () => {
  await using place = await makePlace()
  await rm(place.path, { recursive: true })
  const ends = await Promise.allSettled(Array.from({ length: 50 }, () => place.objects.info(ABSENT)))
  expect(ends.map(({ status }) => status)).toEqual(Array(50).fill('rejected'))
})

test('the first digits of an id find all that begin with them', async () => {
  await using place = await makePlace()
  const oids = await writeBlobs(
    place.repository,
    Array.from({ length: 400 }, (_, at) => Buffer.from(`${at}`)),
  )
  const [oid = ''] = oids
  // An id prefix is not taken for a branch of the same name.
  await place.git('update-ref', `refs/heads/${oid.slice(0, 8)}`, await commit(place.path, 'main', { a: 'b' }))
  expect(await findByDigits(place.repository, oid.slice(0, 8))).toEqual([oid])
  expect(await findByDigits(place.repository, ABSENT)).toEqual([])
  expect(await findByDigits(place.repository, '--all')).toEqual([])
})

test('objects of all kinds and sizes are written as git itself would', async () => {
  await using place = await makePlace()
  const contents = [
    '',
    'text',
    'x'.repeat(15),
    'x'.repeat(16),
    'x'.repeat(2047),
    'x'.repeat(2048),
    noise(1 << 20),
    'text',
  ]
  const oids = await writeBlobs(
    place.repository,
    contents.map(it => Buffer.from(it)),
  )
  for (const [at, content] of contents.entries()) {
    const file = join(place.folder, 'content')
    await writeFile(file, content)
    expect(await place.git('hash-object', '--no-filters', file)).toBe(oids[at] ?? '')
  }
  await place.git('fsck', '--full', '--strict')
})

test('very many are written as one pack, none lost', async () => {
  await using place = await makePlace()
  const contents = Array.from({ length: 1500 }, (_, at) => Buffer.from(`content ${at}`))
  const oids = await writeBlobs(place.repository, contents)
  const counted = await place.git('count-objects', '-v')
  expect(counted).toContain('count: 0\n')
  expect(counted).toContain('in-pack: 1500\n')
  expect((await place.objects.read(oids[1499] ?? ''))?.bytes?.toString()).toBe('content 1499')
})

test('nothing to write starts no git', async () => {
  await using place = await makePlace()
  await rm(place.path, { recursive: true })
  expect(await writeObjects(place.repository, [])).toEqual([])
})
