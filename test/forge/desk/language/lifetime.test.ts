/** When language servers start and end: idle ones, more than eight, those of what windows show. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Problem } from '../../../../forge/desk/contract/language.ts'
import type { News } from '../../../../forge/desk/contract/news.ts'
import { Languages, type LanguagesOptions } from '../../../../forge/desk/language/languages.ts'
import { edit, makeDesk } from '../../../support/desk.ts'
import { doubleLauncher } from '../../../support/language.ts'
import { until } from '../../../support/repository.ts'

setDefaultTimeout(60_000)

const NEVER = 60 * 60_000
const AT_ONCE = -1

type Shown = { branch: string; path: string }

/** Language servers of a repository with two files and some branches, and the files that windows show. */
async function makeScene(branches: readonly string[] = [], idle: LanguagesOptions['idle'] = undefined) {
  const desk = await makeDesk({ files: { 'a.py': 'def one():\n    wrong\n', 'b.py': 'one\n', 'c.ts': 'wrong\n' } })
  for (const branch of branches) await desk.git('branch', branch, 'main')
  const launcher = doubleLauncher()
  const shown: Shown[] = []
  const news: News[] = []
  const state = join(desk.folder, 'languages')
  await mkdir(state)
  const languages = new Languages({
    ...{ state, config: state, launcher, ...(idle && { idle }) },
    say: it => news.push(it),
    work: branch => desk.work.branches.work(branch),
    shown: () => shown.map(({ branch, path }) => ({ at: { kind: 'branch', branch }, path })),
  })
  await languages.switchOn(true)
  return {
    ...{ desk, launcher, shown, news, languages },
    copies: () => readdir(join(state, 'materialized')),
    /** Opens a file in a window. */
    open: async (branch: string, path = 'a.py') => {
      const editor = await edit(desk.work, branch, path)
      shown.push({ branch, path })
      await languages.understand(branch, path)
      return editor
    },
    /** The state of the server for a file of a branch that was told last. */
    stateOf: (branch: string, end = '.py') =>
      news.findLast(it => it.say === 'language server' && it.branch === branch && it.ends.includes(end)) as
        | Extract<News, { say: 'language server' }>
        | undefined,
    problemsOf: async (branch: string, path: string): Promise<Problem[]> =>
      (await languages.running(branch)).problemsOf(path)?.problems ?? [],
    [Symbol.asyncDispose]: async () => {
      await languages[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
    },
  }
}

type Scene = Awaited<ReturnType<typeof makeScene>>

const isReady = ({ stateOf }: Scene, branch: string, end?: string) =>
  until(() => stateOf(branch, end)?.state.is === 'ready')

test('a server ends some time after its last file was closed, with the copy of the files', async () => {
  await using scene = await makeScene([], { open: NEVER, closed: AT_ONCE })
  const { languages, launcher, shown } = scene
  await scene.open('main')
  await isReady(scene, 'main')
  await languages.look()
  expect(launcher.running).toBe(1)
  shown.splice(0)
  await languages.look()
  await until(() => launcher.running === 0)
  expect(await scene.copies()).toEqual([])
  await expect(languages.running('main')).rejects.toThrow('No language server runs')
})

test('a server that was not used for long ends also with open files, takes its problems along, and starts again', async () => {
  await using scene = await makeScene([], { open: AT_ONCE, closed: AT_ONCE })
  const { languages, launcher, news } = scene
  await scene.open('main')
  await isReady(scene, 'main')
  await until(() => news.some(it => it.say === 'problems' && it.problems.length === 1))
  await languages.look()
  expect(scene.stateOf('main')?.state.is).toBe('idle')
  expect(news.findLast(it => it.say === 'problems')).toMatchObject({ path: 'a.py', problems: [] })
  await until(() => launcher.running === 0)
  await languages.understand('main', 'a.py')
  await isReady(scene, 'main')
  expect(launcher.started).toHaveLength(2)
})

test('a server that is asked for while idle ones are ended runs, on files that are there', async () => {
  await using scene = await makeScene([], { open: NEVER, closed: NEVER })
  const { languages, launcher } = scene
  for (let round = 0; round < 10; round++) {
    const [understood] = await Promise.all([languages.understand('main', 'a.py'), languages.look()])
    expect(understood?.is).toMatch(/starting|ready/)
    await (await (await languages.running('main')).serverOf('a.py')).ready
    await languages.switchOn(false)
    await languages.switchOn(true)
  }
  await until(() => launcher.running === 0)
  expect(await scene.copies()).toEqual([])
})

test('switched off while a server is asked for, none starts', async () => {
  await using scene = await makeScene()
  const { languages, launcher } = scene
  const understood = languages.understand('main', 'a.py')
  await languages.switchOn(false)
  expect(await understood).toEqual({ is: 'off', program: 'pyright' })
  expect(launcher.started).toEqual([])
})

const NINE = Array.from({ length: 9 }, (_, at) => `branch-${at}`)

test('at most eight servers run, also while they start; one more ends the one that was used least recently', async () => {
  await using scene = await makeScene(NINE)
  const { languages, launcher, news } = scene
  const alive = new Set<object>()
  let most = 0
  const { start } = launcher
  launcher.start = (spec, folder) => {
    const running = start(spec, folder)
    alive.add(running)
    most = Math.max(most, alive.size)
    running.ended.then(() => alive.delete(running))
    const kill = () => {
      alive.delete(running)
      running.kill()
    }
    return { ...running, kill }
  }
  await Promise.all(NINE.map(branch => scene.open(branch)))
  await until(() => NINE.every(branch => /ready|idle/.test(scene.stateOf(branch)?.state.is ?? '')))
  const idle = () => NINE.filter(branch => scene.stateOf(branch)?.state.is === 'idle')
  expect(idle()).toHaveLength(1)
  const [first = ''] = idle()
  // Its next edit starts it again, and another one ends.
  await languages.understand(first, 'a.py')
  await isReady(scene, first)
  expect(idle()).toHaveLength(1)
  expect(idle()).not.toEqual([first])
  expect(most).toBe(8)
  expect(news.filter(({ say }) => say === 'notice')).toEqual([])
})

test('a server that a turn waits for is not ended for another one', async () => {
  await using scene = await makeScene(NINE)
  const { languages, desk, launcher } = scene
  const [held = '', ...others] = NINE
  const vfs = await (await desk.work.branches.work(held)).vfs()
  const asked = languages.problemsIn(held, vfs, ['a.py'], AbortSignal.timeout(30_000))
  await until(() => launcher.started.length === 1)
  await Promise.all(others.map(branch => scene.open(branch)))
  const { found, unknown } = await asked
  expect(unknown).toEqual([])
  expect(found.get('a.py')?.map(({ message }) => message)).toEqual(['This is wrong.'])
  expect(scene.stateOf(held)?.state.is).toBe('ready')
})

test('a turn that asks again has the files that it has changed since, also those that it does not ask about', async () => {
  await using scene = await makeScene()
  const { languages, desk, launcher } = scene
  const vfs = await (await desk.work.branches.work('main')).vfs()
  const ask = async () => (await languages.problemsIn('main', vfs, ['a.py'], AbortSignal.timeout(30_000))).found
  for (const text of ['first\n', 'second\n']) {
    await vfs.writeFile('b.py', Buffer.from(text))
    const asked = ask()
    const read = () => Bun.file(join(launcher.started[0]?.folder ?? '', 'b.py')).text()
    await until(async () => (await read().catch(() => '')) === text, 10_000)
    expect((await asked).get('a.py')).toHaveLength(1)
  }
})

test('two files of a branch and one of another, side by side: a server for each branch and language, with its files', async () => {
  await using scene = await makeScene(['other'], { open: NEVER, closed: NEVER })
  const { languages, launcher, shown } = scene
  const first = await scene.open('main')
  const second = await scene.open('main', 'b.py')
  // Twice in a split editor.
  await scene.open('main', 'b.py')
  await scene.open('other')
  await scene.open('main', 'c.ts')
  for (const [branch, end] of [['main'], ['other'], ['main', '.ts']] as const) await isReady(scene, branch, end)
  expect(launcher.started.map(({ program }) => program).sort()).toEqual([
    'pyright',
    'pyright',
    'typescript-language-server',
  ])
  await first.type('wrong\n')
  await second.type('wrong\n')
  const lines = async (branch: string, path: string) =>
    (await scene.problemsOf(branch, path)).map(({ range }) => range.start.line).join()
  const told = (path: string) => {
    const running = languages.running('main')
    return running.then(servers => servers.edited(path))
  }
  await told('a.py')
  await told('b.py')
  await until(async () => (await lines('main', 'a.py')) === '1,2' && (await lines('main', 'b.py')) === '1')
  expect(await lines('other', 'a.py')).toBe('1')
  const openIn = async (branch: string) =>
    (await languages.running(branch)).servers.flatMap(({ openPaths }) => openPaths).sort()
  // One half of the split is closed: the file is still shown in the other.
  shown.splice(1, 1)
  await languages.look()
  expect(await openIn('main')).toEqual(['a.py', 'b.py', 'c.ts'])
  shown.splice(1, 1)
  await languages.look()
  expect(await openIn('main')).toEqual(['a.py', 'c.ts'])
  expect(await openIn('other')).toEqual(['a.py'])
})
