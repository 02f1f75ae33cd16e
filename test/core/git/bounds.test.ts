/** Limits on untrusted objects: they are counted before they are read, and bounded in time, memory and output. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bounds, QUESTIONS, TooLarge } from '../../../core/git/bounds.ts'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { GitError, run } from '../../../core/git/run.ts'
import { emptyTree, treeBytes, verifyFewChanges } from '../../../core/git/trees.ts'
import { bare, gitWith } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'

setDefaultTimeout(60_000)

let folder = ''
let repository = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'core-bounds-'))
  repository = await bare(join(folder, 'repo.git'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const write = (type: 'tree' | 'blob', bytes: Buffer | string) =>
  gitWith(repository, ['hash-object', '-w', '-t', type, '--stdin', '--literally'], bytes as string)
const folderOf = (oid: string, names: string[]) =>
  write('tree', treeBytes(names.map(name => ({ name, mode: '040000', oid }))) as unknown as string)

/** A tree with the same folder twenty times, nested this many levels deep. */
async function bomb(levels: number): Promise<string> {
  const blob = await write('blob', 'boom\n')
  let tree = await write('tree', treeBytes([{ name: 'f', mode: '100644', oid: blob }]) as unknown as string)
  const names = Array.from({ length: 20 }, (_, at) => String(at))
  for (let level = 0; level < levels; level++) tree = await folderOf(tree, names)
  return tree
}

/** The error of a git command under these bounds. */
async function failure(args: string[], bounds: Partial<Bounds>): Promise<GitError> {
  const here = { ...(await openRepository(repository)), bounds: { ...QUESTIONS, ...bounds } }
  const error = await run(here, args).catch(it => it)
  expect(error).toBeInstanceOf(GitError)
  return error
}

test('trees that differ in endlessly many paths are recognised by reading each folder once', async () => {
  await using objects = openObjects(await openRepository(repository))
  const refused = await refusedBy(verifyFewChanges(objects, emptyTree('sha1'), await bomb(10)))
  expect(refused).toThrow(TooLarge)
  expect(refused).toThrow(/differs in [\d,]+ paths/)
})

test('paths that both trees share are not counted', async () => {
  const [tree, blob] = [await bomb(10), await write('blob', 'new\n')]
  const more = treeBytes([
    { name: 'bomb', mode: '040000', oid: tree },
    { name: 'new', mode: '100644', oid: blob },
  ])
  await using objects = openObjects(await openRepository(repository))
  const less = await folderOf(tree, ['bomb'])
  await verifyFewChanges(objects, less, await write('tree', more as unknown as string))
})

test('a difference that is large and can be looked at passes', async () => {
  await using objects = openObjects(await openRepository(repository))
  await verifyFewChanges(objects, emptyTree('sha1'), await bomb(3))
})

test('a git command that takes too long is ended, with the processes that it started', async () => {
  const begun = performance.now()
  const error = await failure(['-c', 'alias.wait=!sleep 600', 'wait'], { seconds: 0.3 })
  expect(error.ending).toEqual({ bound: 'time' })
  expect(error.message).toContain('took too much time')
  expect(performance.now() - begun).toBeLessThan(20_000)
})

test('a git that prints too much is ended', async () => {
  const error = await failure(['ls-tree', '-r', await bomb(10)], { output: 1 << 20 })
  expect(error.ending).toEqual({ bound: 'output' })
})

test('a git that wants too much memory gets none, and ends', async () => {
  const error = await failure(['diff-tree', '-r', emptyTree('sha1'), await bomb(10)], { memory: 64 << 20 })
  expect(error.ending).toEqual({})
  expect(error.code).toBe(128)
})

test('a git process that is ended by a signal says by which', async () => {
  const error = await failure(['-c', 'alias.die=!kill -TERM $PPID; sleep 0.2', 'die'], {})
  expect(error.ending).toEqual({ signal: 'SIGTERM' })
})

test('an answer within its bounds is whole', async () => {
  const here = { ...(await openRepository(repository)), bounds: QUESTIONS }
  expect((await run(here, ['ls-tree', '-r', '-z', await bomb(2)])).stdout.toString().split('\0')).toHaveLength(401)
})
