/** No edit is lost: kill -9, a full disk, a read-only one, a clock that is set back. */
import { expect, test } from 'bun:test'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openObjects } from '../../../core/git/objects.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { openFile } from '../../../forge/desk/branches/places.ts'
import { errorInWords } from '../../../forge/desk/server/window.ts'
import { materializedIn, WorkInProgressVfs } from '../../../forge/vfs.ts'
import { ask, edit, holdDrafts, makeDesk, PERSON, textOf } from '../../support/desk.ts'
import { commit, PLAIN, tryGit } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { until } from '../../support/repository.ts'
import { shortest } from '../../support/times.ts'
import { FIRST_FILES, filesOf, kindOf, stepThatLedTo } from './file-steps.ts'

const TYPIST = join(import.meta.dir, 'typist.ts')
const MOVER = join(import.meta.dir, 'file-mover.ts')
/**
 * The most typing, in milliseconds, that a kill may lose here. Drafts are written within a second, which a test of its
 * own checks, but all of that is late on a busy machine.
 */
const MAX_LOST_MS = 2_500

/**
 * Runs a script, kills it this many milliseconds after its first line, and returns its lines, with the time at which
 * each arrived, and that of the kill.
 */
async function runUntilKilled(script: string, words: string[], milliseconds: number) {
  const child = Bun.spawn([process.execPath, script, ...words], {
    env: { ...process.env, ...PLAIN, ...PERSON },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said: { line: string; at: number }[] = []
  let rest = ''
  let killed = Number.POSITIVE_INFINITY
  const kill = () => {
    killed = performance.now()
    child.kill('SIGKILL')
  }
  for await (const piece of child.stdout) {
    const lines = (rest + Buffer.from(piece).toString()).split('\n')
    rest = lines.pop() ?? ''
    if (said.length === 0) setTimeout(kill, milliseconds)
    for (const line of lines) said.push({ line, at: performance.now() })
  }
  await child.exited
  if (child.signalCode !== 'SIGKILL') throw new Error(await new Response(child.stderr).text())
  return { said, killed }
}

test('after kill -9 at any moment, at most the last second of typing is lost', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': '' }, bare: true })
  await desk.work[Symbol.asyncDispose]()
  const random = randomFrom(Date.now())
  let first = 1
  for (let round = 0; round < 4; round++) {
    // In every second round the desk also saves now and then; in the others only drafts are written.
    const words = [desk.path, join(desk.folder, 'state'), String(first), round % 2 === 0 ? '' : 'and saves']
    const { said, killed } = await runUntilKilled(TYPIST, words, 200 + random.below(5_000))
    const work = await desk.restart()
    const numbers = (await textOf(work, 'main', 'a.txt'))?.split('\n').filter(Boolean).map(Number) ?? []
    // Each number once, in order, from the first: none is missing in between.
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
    const certain = Number(said.findLast(({ at }) => at < killed - MAX_LOST_MS)?.line ?? 0)
    expect(numbers.length).toBeGreaterThanOrEqual(certain)
    first = numbers.length + 1
    await work[Symbol.asyncDispose]()
  }
  await desk.git('fsck', '--strict', '--no-dangling')
}, 120_000)

test('after kill -9 at any moment, new, renamed, moved, deleted and saved files are as after one of the last steps', async () => {
  await using desk = await makeDesk({ files: FIRST_FILES, bare: true })
  await desk.work[Symbol.asyncDispose]()
  const random = randomFrom(Date.now())
  let from = 1
  let outside = 0
  for (let round = 0; round < 5; round++) {
    const words = [desk.path, join(desk.folder, 'state'), String(from)]
    const { said, killed } = await runUntilKilled(MOVER, words, random.below(3_000))
    // In every second round another program commits before the desk is back: the drafts are merged onto that commit.
    if (round % 2 === 1) {
      outside++
      await commit(desk.path, 'main', { [`outside${outside}.txt`]: 'from outside\n' })
    }
    const work = await desk.restart()
    await work.look()
    const files = await filesOf(desk.path)
    const numberOf = (line: string | undefined) => Number(line?.split(' ')[1] ?? from - 1)
    const [begun, typed] = [numberOf(said.findLast(({ line }) => line.startsWith('begin'))?.line), killed - MAX_LOST_MS]
    // Typed text may be lost for a second, all else not once the desk has answered.
    const certain = said.findLast(({ line, at }) => {
      return line.startsWith('done') && (at < typed || kindOf(numberOf(line)) !== 'type')
    })
    const reached = stepThatLedTo(files, numberOf(certain?.line), begun)
    if (reached === undefined)
      throw new Error(`The files are as after none of the last steps: ${JSON.stringify(files)}`)
    from = reached + 1
    const { shown } = files
    for (const [path, text] of Object.entries(shown)) expect(await textOf(work, 'main', path)).toBe(text)
    for (let number = 1; number <= outside; number++)
      expect(await textOf(work, 'main', `outside${number}.txt`)).toBe('from outside\n')
    await work[Symbol.asyncDispose]()
  }
  await desk.git('fsck', '--strict', '--no-dangling')
}, 120_000)

test('a single keystroke is written within a second', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  const write = async () => {
    await editor.type('x')
    const shown = async () => (await tryGit(desk.path, ['show', 'refs/forge/drafts/main:a.txt'])).stdout
    await until(async () => (await shown()) === editor.text)
  }
  expect(await shortest(1_000, write)).toBeLessThan(1_000)
})

test('text that can’t be written is kept in memory, is said as long as that holds, and written as soon as possible', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  const write = await holdDrafts(desk.path)
  const notices = () => desk.news.filter(it => it.say === 'notice')
  const unwritten = async () => (await desk.work.describeBranches())[0]?.unwritten
  await editor.type('one\n')
  await until(async () => (await unwritten()) !== undefined)
  await editor.type('two\n')
  expect(await refusedBy(desk.work.flush())).toThrow()
  expect(await refusedBy(desk.work.flush())).toThrow()
  expect(notices()).toEqual([])
  const at = { kind: 'branch', branch: 'main' } as const
  expect(await openFile(desk.work.branches, at, 'a.txt')).toMatchObject({ text: 'a\none\ntwo\n', written: 'a\n' })
  await write()
  await until(() => notices().length > 0)
  expect(notices()).toMatchObject([{ isBad: false }])
  expect(await unwritten()).toBeUndefined()
  expect(await openFile(desk.work.branches, at, 'a.txt')).not.toHaveProperty('written')
  expect(await desk.git('show', 'refs/forge/drafts/main:a.txt')).toBe('a\none\ntwo')
})

/** Mounts a disk of this many megabytes; false if the system does not allow it. */
async function mount(folder: string, megabytes: number): Promise<boolean> {
  await mkdir(folder)
  return (await Bun.$`mount -t tmpfs -o size=${megabytes}m tmpfs ${folder}`.quiet().nothrow()).exitCode === 0
}
const canMount = (await Bun.$`unshare --mount true`.quiet().nothrow()).exitCode === 0

test.skipIf(!canMount)('on a full disk the text is kept, and a save says why it fails', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const objects = join(desk.path, 'objects')
  const content = join(desk.folder, 'content')
  await Bun.$`cp -r ${objects} ${content} && rm -r ${objects}`.quiet()
  if (!(await mount(objects, 1))) throw new Error('it could not be mounted')
  try {
    await Bun.$`cp -r ${content}/. ${objects}`.quiet()
    const work = await desk.restart()
    const editor = await edit(work, 'main', 'a.txt')
    await Bun.$`dd if=/dev/zero of=${objects}/ballast bs=4k`.quiet().nothrow()
    await editor.type('typed\n')
    await until(async () => (await work.describeBranches())[0]?.unwritten?.includes('the disk is full') === true)
    expect(await refusedBy(ask(work, 'save', { branch: 'main', paths: 'all' }))).toThrow('disk is full')
    expect(await textOf(work, 'main', 'a.txt')).toBe('a\ntyped\n')
    await rm(`${objects}/ballast`)
    await until(() => desk.news.some(it => it.say === 'notice' && !it.isBad))
    await ask(work, 'save', { branch: 'main', paths: 'all' })
    expect(await desk.git('show', 'main:a.txt')).toBe('a\ntyped')
  } finally {
    await desk.work[Symbol.asyncDispose]()
    await Bun.$`umount ${objects}`.quiet()
  }
})

test.skipIf(!canMount)('on a read-only disk the text is kept, and written when possible', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const content = join(desk.folder, 'content')
  await Bun.$`mv ${desk.path} ${content}`.quiet()
  if (!(await mount(desk.path, 8))) throw new Error('it could not be mounted')
  try {
    await Bun.$`cp -r ${content}/. ${desk.path}`.quiet()
    const work = await desk.restart()
    const editor = await edit(work, 'main', 'a.txt')
    await Bun.$`mount -o remount,ro ${desk.path}`.quiet()
    await editor.type('typed\n')
    await until(async () => (await work.describeBranches())[0]?.unwritten !== undefined)
    expect(await refusedBy(ask(work, 'save', { branch: 'main', paths: 'all' }))).toThrow()
    await Bun.$`mount -o remount,rw ${desk.path}`.quiet()
    await until(() => desk.news.some(it => it.say === 'notice' && !it.isBad))
    expect(await desk.git('show', 'refs/forge/drafts/main:a.txt')).toBe('a\ntyped')
  } finally {
    await desk.work[Symbol.asyncDispose]()
    await Bun.$`umount ${desk.path}`.quiet()
  }
})

test('setting the clock back changes nothing', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const now = Date.now
  try {
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('one\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    Date.now = () => now() - 86_400_000_000
    await editor.type('two\n')
    await until(
      async () => (await tryGit(desk.path, ['show', 'refs/forge/drafts/main:a.txt'])).stdout === 'a\none\ntwo\n',
    )
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    expect((await ask(desk.work, 'operations', { from: 0, count: 9 })).map(it => it.words)).toEqual([
      'save a.txt to main',
      'save a.txt to main',
    ])
    await desk.work.undo()
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\none\ntwo\n')
    expect(await desk.git('show', 'main:a.txt')).toBe('a\none')
  } finally {
    Date.now = now
  }
})

test('stale locks of a killed git do not prevent drafts from being written', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('one\n')
  await desk.work.flush()
  for (const name of ['drafts/main', 'operations']) await writeFile(join(desk.path, `refs/forge/${name}.lock`), '')
  await editor.type('two\n')
  await until(
    async () => (await tryGit(desk.path, ['show', 'refs/forge/drafts/main:a.txt'])).stdout === 'a\none\ntwo\n',
  )
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toBe('a\none\ntwo')
}, 120_000)

test('a branch locked by another git is named, and the text is kept', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  await (await edit(desk.work, 'main', 'a.txt')).type('one\n')
  await writeFile(join(desk.path, 'refs/heads/main.lock'), '')
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'main', paths: 'all' }))).toThrow('main.lock')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\none\n')
  await rm(join(desk.path, 'refs/heads/main.lock'))
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toBe('a\none')
})

test('files that a killed desk prepared for a command are removed at the next start', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const dead = Bun.spawn(['true'])
  await dead.exited
  await using objects = openObjects(await openRepository(desk.path))
  const state = join(desk.folder, 'state')
  const vfs = new WorkInProgressVfs(objects, await desk.git('rev-parse', 'main'))
  await using made = await vfs.materialize(materializedIn(state))
  // Makes the folder belong to another process.
  const folder = dirname(made.folder)
  await rename(folder, folder.replace(`-${process.pid}-`, `-${dead.pid}-`))
  await desk.restart()
  expect(await readdir(materializedIn(state))).toEqual([])
})

test('a lock that another git left is named, with what to do, by a save, a branch and an upstream', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  const { work } = desk
  const first = await desk.git('rev-parse', 'main')
  await desk.git('remote', 'add', 'origin', desk.path)
  await desk.git('update-ref', 'refs/remotes/origin/main', first)
  await work.look()
  const locks = ['refs/heads/main', 'refs/heads/new', 'config', 'packed-refs'].map(name =>
    join(desk.path, '.git', `${name}.lock`),
  )
  const [main = '', created = '', config = '', packed = ''] = locks
  for (const lock of locks) await writeFile(lock, '')
  const said = async (question: Promise<unknown>) => errorInWords(await refusalOf(question))
  const advice = (lock: string) =>
    `another git command is at work, so wait for its end, or delete ${lock} if there is none`
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  expect(await said(ask(work, 'save', { branch: 'main', paths: 'all' }))).toBe(
    `Nothing was done in main: ${advice(main)}. What was typed is kept.`,
  )
  expect(await said(ask(work, 'new branch', { branch: 'new', from: first }))).toBe(
    `Git could not do this: ${advice(created)}.`,
  )
  const upstream = { branch: 'main', upstream: 'refs/remotes/origin/main' }
  expect(await said(ask(work, 'set upstream', upstream))).toBe(`Git could not do this: ${advice(config)}.`)
  const tracked = { branch: 'tracks', from: first, tracks: 'refs/remotes/origin/main' }
  expect(await said(ask(work, 'new branch', tracked))).toBe(
    `tracks was created, but does not track refs/remotes/origin/main: ${advice(config)}. Then set its upstream.`,
  )
  expect(await said(ask(work, 'delete branch', { branch: 'tracks' }))).toBe(`Git could not do this: ${advice(packed)}.`)
  for (const lock of locks) await rm(lock)
  await ask(work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toContain('typed')
})
