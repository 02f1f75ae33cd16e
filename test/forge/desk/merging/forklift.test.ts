/** Forklift on the desk: real runs are opened, finished by hand, and published. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Edit, File } from '../../../../forge/desk/contract/branches.ts'
import type { Forklift, ForkliftRun } from '../../../../forge/desk/contract/forklift.ts'
import type { Merging } from '../../../../forge/desk/contract/merging.ts'
import { openForge } from '../../../support/forge.ts'
import { show, tryGit } from '../../../support/git.ts'
import { makeFolder } from '../../../support/repository.ts'
import { makePage, type TestWindow } from '../../../support/served.ts'
import { exists, expectExit, makeWorld, until, type World, type WorldOptions } from '../../../support/world.ts'

setDefaultTimeout(120_000)

let folder: Awaited<ReturnType<typeof makeFolder>>
let page: string
beforeAll(async () => {
  folder = await makeFolder()
  page = await makePage(join(folder.path, 'page'))
})
afterAll(() => folder[Symbol.asyncDispose]())

/** Two conflicts, of which an agent can resolve one. */
const TWO: WorldOptions = {
  files: { base: { 'b.txt': 'b\n' }, fork: { 'b.txt': 'b of the fork\n' }, upstream: { 'b.txt': 'b of upstream\n' } },
}
const STUCK = 'printf "Which greeting?\\n\\n<b>I tried</b> both.\\n" >STUCK.md; exit 4'
/** The script of an agent that resolves one conflict and leaves the other. */
const LEFT = `merge || true; printf 'b of both\\n' >b.txt; ${STUCK}`
const COMMITTED = `merge || resolve 'Keep both'; ${STUCK}`

const ask = async (window: TestWindow) => (await window.ask({ ask: 'forklift' })) as Forklift
const merging = async (window: TestWindow, branch: string) =>
  (await window.ask({ ask: 'merging', branch })) as Merging | null
const onlyRun = async (window: TestWindow): Promise<ForkliftRun> => {
  const { runs } = await ask(window)
  expect(runs).toHaveLength(1)
  return runs[0] as ForkliftRun
}
const open = async (window: TestWindow) => {
  const { run } = await onlyRun(window)
  return ((await window.ask({ ask: 'open run', run })) as { branch: string }).branch
}

/** Replaces the text of a file in the editor. */
async function type(window: TestWindow, branch: string, path: string, text: string): Promise<void> {
  const file = (await window.ask({ ask: 'open', at: { kind: 'branch', branch }, path })) as File
  if (file.kind !== 'text') throw new Error(`${path} is ${file.kind}`)
  const { ChangeSet } = await import('@codemirror/state')
  const changes = ChangeSet.of({ from: 0, to: file.text.length, insert: text }, file.text.length).toJSON()
  const edits: Edit[] = [{ client: 'a person', changes }]
  const { accepted } = (await window.ask({ ask: 'edit', branch, path, version: file.version, edits })) as {
    accepted: boolean
  }
  expect(accepted).toBe(true)
}

/** Removes a commit from the checkout, as in a new clone without it. */
async function forget(world: World, oid: string): Promise<void> {
  const upstream = await world.git('rev-parse', 'refs/remotes/upstream/main')
  await world.git('checkout', '-q', '--detach', upstream)
  const refs = await world.git('for-each-ref', '--format=%(refname)', '--contains', oid)
  for (const ref of refs.split('\n').filter(Boolean)) await world.git('update-ref', '-d', ref)
  await world.git('reflog', 'expire', '--expire=now', '--expire-unreachable=now', '--all')
  await rm(join(world.checkout, '.git/FETCH_HEAD'), { force: true })
  await rm(join(world.checkout, '.git/ORIG_HEAD'), { force: true })
  await world.git('gc', '-q', '--prune=now')
}

async function stuckRun(agent: string, options: WorldOptions = {}): Promise<World> {
  const world = await makeWorld(options)
  await world.agent(agent)
  expectExit(await world.run(), 4)
  return world
}

describe('a fork', () => {
  test('is described with how far upstream is ahead, and its runs with their outcomes', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const told = await ask(window)
    expect(told.upstream).toEqual({ name: 'them/project', branch: 'main', ahead: 1 })
    expect(told.isRunning).toBe(false)
    expect(told.runs).toEqual([
      expect.objectContaining({ end: 'stuck', words: 'Stuck, 2 files in conflict', canOpen: true, isByHand: false }),
    ])
  })

  test('without a remote upstream is no fork, with the reason', async () => {
    await using world = await makeWorld()
    await world.git('remote', 'remove', 'upstream')
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    expect(await ask(window)).toMatchObject({ missing: expect.stringContaining('git remote add upstream'), runs: [] })
    const refused = await window.ask({ ask: 'open run', run: 'fork_20261122_101500' }).catch(error => error.message)
    expect(refused).toContain('git remote add upstream')
  })

  test('does not list runs of other forks, nor invalid ones', async () => {
    await using world = await stuckRun(LEFT, TWO)
    for (const name of ['other_20261122_101500', 'fork_20261122_101500', 'fork_20261122_101501']) {
      await mkdir(join(world.runsFolder, name))
      await writeFile(join(world.runsFolder, name, 'metadata.json'), '{"origin": 1}')
    }
    await rm(join(world.runsFolder, 'fork_20261122_101501', 'metadata.json'))
    await symlink('/dev/zero', join(world.runsFolder, 'fork_20261122_101501', 'metadata.json'))
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    expect((await ask(window)).runs).toHaveLength(1)
    const refused = await window.ask({ ask: 'open run', run: '../../../etc' }).catch(error => error.message)
    expect(refused).toContain('There is no such run')
  })
})

describe('a stuck run', () => {
  test('is opened as a branch at its start, with a waiting merge, the agent’s resolutions and its report', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    expect(branch).toMatch(/^forklift-\d{8}_\d{6}$/)
    expect(await world.git('rev-parse', branch)).toBe((await world.tip('origin')) ?? '')
    const waits = await merging(window, branch)
    expect(waits).toMatchObject({
      kind: 'merge',
      ours: 'main',
      theirs: 'upstream/main',
      theirsCommit: await world.tip('upstream'),
      forklift: { stuck: 'Which greeting?\n\n<b>I tried</b> both.\n' },
    })
    expect(waits?.files.map(({ path, state, by }) => [path, state, by?.model])).toEqual([
      ['b.txt', 'settled', 'claude-sonnet-5'],
      ['greeting.txt', 'open', undefined],
    ])
    const file = await window.ask({ ask: 'open', at: { kind: 'branch', branch }, path: 'b.txt' })
    expect(file).toMatchObject({ text: 'b of both\n' })
    // Opening the run again shows the same branch.
    expect(await onlyRun(window)).toMatchObject({ branch })
    expect(await open(window)).toBe(branch)
  })

  test('has the agent’s resolutions in a file, with markers around its open conflicts', async () => {
    const lines = (one: string, other: string) => `${one}\n${'same\n'.repeat(9)}${other}\n`
    const files = {
      base: { 'two.txt': lines('a', 'b') },
      fork: { 'two.txt': lines('a of the fork', 'b of the fork') },
      upstream: { 'two.txt': lines('a of upstream', 'b of upstream') },
    }
    // The agent begins the merge with the command that Forklift's instructions give it.
    const begin = 'git -c merge.conflictStyle=zdiff3 merge --quiet "refs/remotes/upstream/$upstream_branch" || true'
    const half = "sed -i '1,/^>>>>>>>/{/^<<<<<<</d;/^|||||||/,/^>>>>>>>/d}' two.txt"
    const settle = `${begin}; ${half}; ${STUCK}`
    await using world = await stuckRun(settle, { files })
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    const { files: rows = [] } = (await merging(window, branch)) ?? {}
    expect(rows.find(({ path }) => path === 'two.txt')).toMatchObject({ state: 'open', left: 1, all: 2 })
    const file = await window.ask({ ask: 'open', at: { kind: 'branch', branch }, path: 'two.txt' })
    expect((file as { text: string }).text).toStartWith('a of the fork\nsame\n')
  })

  for (const [what, script, file] of [
    ['untouched', '', { path: 'ours.md', left: 2 }],
    [
      'resolved under one of its names',
      'printf both >ours.md; rm theirs.md',
      { path: 'ours.md', left: 0, taken: 'ours' },
    ],
    [
      'resolved under the other of its names',
      'printf both >theirs.md; rm ours.md',
      { path: 'ours.md', result: 'theirs.md', left: 0, taken: 'theirs' },
    ],
  ] as const)
    test(`has a file that both sides renamed as the agent left it: ${what}`, async () => {
      const long = (line: string) => `${line}\n${'same\n'.repeat(20)}`
      const options = {
        files: {
          base: { 'old.md': long('base') },
          fork: { 'old.md': null, 'ours.md': long('ours') },
          upstream: { 'old.md': null, 'theirs.md': long('theirs') },
        },
      }
      await using world = await stuckRun(`merge || true; ${script}\n${STUCK}`, options)
      await using forge = await openForge(world, page)
      await using window = await forge.window()
      const branch = await open(window)
      expect((await merging(window, branch))?.files).toContainEqual(
        expect.objectContaining({ kind: 'rename/rename', all: 2, ...file }),
      )
      const news = window.news.filter(({ say }) => say === 'notice')
      expect(news).toEqual([])
      if (file.left > 0) return
      const at = { kind: 'branch', branch } as const
      const path = 'result' in file ? file.result : file.path
      expect(await window.ask({ ask: 'open', at, path })).toMatchObject({ text: 'both' })
    })

  test('is opened by one operation, and one undo reverts all of it', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    // The refs' trees are compared, not their commits, whose dates differ for the same drafts.
    const format = '--format=%(refname) %(tree)'
    const refs = () => world.git('for-each-ref', format, 'refs/heads', 'refs/forge/merging', 'refs/forge/drafts')
    const before = await refs()
    const branch = await open(window)
    const after = await refs()
    expect(after).toContain(`refs/heads/${branch}`)
    await window.ask({ ask: 'undo' })
    expect(await refs()).toBe(before)
    await window.ask({ ask: 'redo' })
    expect(await refs()).toBe(after)
    expect((await merging(window, branch))?.files.map(({ state }) => state)).toEqual(['settled', 'open'])
    await window.ask({ ask: 'undo' })
    expect((await onlyRun(window)).branch).toBeUndefined()
    expect(await open(window)).toBe(branch)
  })

  test('includes the agent’s changes beside the conflicts, and names those it could not take over', async () => {
    const files = {
      base: {
        'b.txt': 'b\n',
        'other.txt': 'o\n',
        '.gitignore': 'built/\n*.log\n',
        pic: 'p\0',
        'gone.txt': 'g\n',
        'm.txt': 'm\n',
      },
      fork: { 'b.txt': 'b of the fork\n', pic: 'p of the fork\0', 'm.txt': 'm of the fork\n' },
      upstream: { 'b.txt': 'b of upstream\n', pic: 'p of upstream\0', 'm.txt': null },
    }
    const beside = `merge || true; printf 'b of both\n' >b.txt; printf 'p of both\\0' >pic; rm m.txt
printf 'o of the agent\n' >other.txt; mkdir -p new built; printf 'n\n' >new/helper.txt; printf '#!/bin/sh\n' >new/run.sh
chmod +x new/run.sh; touch built/x a.log ':(odd)'; git init -q new/nested; touch new/nested/x; ln -s /etc/passwd new/link; rm gone.txt; ${STUCK}`
    await using world = await stuckRun(beside, { files })
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    const { files: rows = [] } = (await merging(window, branch)) ?? {}
    expect(rows.map(({ path, state, by }) => [path, state, by?.model])).toEqual([
      ['b.txt', 'settled', 'claude-sonnet-5'],
      ['greeting.txt', 'open', undefined],
      ['m.txt', 'settled', 'claude-sonnet-5'],
      ['pic', 'settled', 'claude-sonnet-5'],
    ])
    const { drafts } = (
      (await window.ask({ ask: 'desk' })) as { desk: { branches: { name: string; drafts: string[] }[] } }
    ).desk.branches.find(({ name }) => name === branch) ?? { drafts: [] }
    expect(drafts).toEqual([':(odd)', 'b.txt', 'm.txt', 'new/helper.txt', 'new/run.sh', 'other.txt', 'pic'])
    const tree = await world.git('ls-tree', '-r', `refs/forge/drafts/${branch}`)
    expect(tree).toMatch(/^100755 .*new\/run\.sh$/m)
    const { words } = await window.heard('notice', ({ words }) => words.includes('Not all'))
    const { workspace } = await world.lastRun()
    expect(words).toBe(
      `Not all that the agent did was taken over: look yourself what it made of new/link, new/nested and gone.txt, in ${workspace}.`,
    )
  })

  test('whose agent continued after its commit names the later changes', async () => {
    await using world = await stuckRun(
      COMMITTED.replace('printf "Which', 'sleep 0.1; printf "more" >more.txt; printf "Which'),
      TWO,
    )
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    await open(window)
    const { words } = await window.heard('notice', ({ words }) => words.includes('Not all'))
    expect(words).toContain('what it made of more.txt, in ')
  })

  test('whose workspace is gone is opened nevertheless, with all conflicts', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await rm((await world.lastRun()).workspace, { recursive: true })
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    const waits = await merging(window, branch)
    expect(waits?.files.map(({ state }) => state)).toEqual(['open', 'open'])
    expect(waits?.forklift?.stuck).toContain('Which greeting?')
  })

  test('has the agent’s commit, without its report', async () => {
    await using world = await stuckRun(COMMITTED, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    const waits = await merging(window, branch)
    expect(waits?.files.map(({ path, left }) => [path, left])).toEqual([
      ['b.txt', 0],
      ['greeting.txt', 0],
    ])
    expect(waits?.notYet).toBeUndefined()
    const folder = (await window.ask({ ask: 'folder', at: { kind: 'branch', branch }, path: '' })) as { name: string }[]
    expect(folder.map(({ name }) => name)).not.toContain('STUCK.md')
  })

  test('is opened without anything of a hostile workspace, and says so', async () => {
    await using world = await stuckRun(
      `${LEFT.replace('exit 4', '')}
git config core.fsmonitor 'touch ${'$'}HOME/pwned'
ln -sf /etc/passwd b.txt
rm -rf .git/objects/info; ln -s /etc .git/objects/info
exit 4`,
      TWO,
    )
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    expect((await merging(window, branch))?.files.map(({ state }) => state)).toEqual(['open', 'open'])
    const { words } = await window.heard('notice', ({ words }) => words.includes('Nothing of the agent'))
    expect(words).toContain('.git/objects')
    expect(await readdir(world.home)).not.toContain('pwned')
  })

  test('can be opened again after its merge was aborted and its branch deleted', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    await window.ask({ ask: 'abort merging', branch })
    await window.ask({ ask: 'delete branch', branch })
    expect((await onlyRun(window)).branch).toBeUndefined()
    expect(await open(window)).toBe(branch)
  })

  test('finished by hand becomes a pull request', async () => {
    await using world = await stuckRun(LEFT, TWO)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    const early = await window.ask({ ask: 'publish', branch }).catch(error => error.message)
    expect(early).toContain('finish it first')
    await type(window, branch, 'greeting.txt', 'hello from both\n')
    const ready = await merging(window, branch)
    expect(ready?.notYet).toBeUndefined()
    const { theirsCommit: theirs = '', message: before = '' } = ready ?? {}
    await window.ask({ ask: 'keep merging message', branch, theirs, before, message: 'Bring in the news' })
    await window.ask({ ask: 'finish merging', branch })
    await window.ask({ ask: 'publish', branch })
    const { end } = await window.heard('forklift', ({ end }) => end !== undefined)
    expect({ end, said: (await ask(window)).said?.lines }).toMatchObject({ end: 0 })
    const [published] = (await ask(window)).runs
    expect(published).toMatchObject({ isByHand: true, branch, end: 'merged', words: 'Merged 1 commit by hand' })
    expect(published?.pullRequest).toBe('https://github.com/me/fork/pull/1')
    expect(await show(world.origin, world.pull.headSha, 'greeting.txt')).toBe('hello from both')
    expect(await show(world.origin, world.pull.headSha, 'b.txt')).toBe('b of both')
  })
})

describe('a run with another outcome', () => {
  test('is opened with the reason in place of the report, if it was refused', async () => {
    await using world = await makeWorld(TWO)
    await world.agent('merge || true; git add --all; git commit --quiet -m "With marks"')
    expectExit(await world.run(), 3)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    expect(await onlyRun(window)).toMatchObject({ end: 'refused', canOpen: true })
    const waits = await merging(window, await open(window))
    expect(waits?.forklift?.stuck).toContain('Refused')
    expect(waits?.files.map(({ state }) => state)).toEqual(['open', 'open'])
  })

  test('is opened with the agent’s work so far, if its time was up', async () => {
    await using world = await makeWorld(TWO)
    await world.agent(LEFT.replace('exit 4', 'exit 2'))
    expectExit(await world.run(), 2)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    expect(await onlyRun(window)).toMatchObject({ end: 'timed out', words: 'Out of time, 2 files in conflict' })
    const waits = await merging(window, await open(window))
    expect(waits?.files.map(({ path, state }) => [path, state])).toEqual([
      ['b.txt', 'settled'],
      ['greeting.txt', 'open'],
    ])
  })

  test('is opened at its start even if only its own folder still has that commit', async () => {
    await using world = await makeWorld(TWO)
    // The run begins at a commit of origin that this checkout does not have.
    await world.agent(LEFT)
    expectExit(await world.run(), 4)
    const { metadata } = await world.lastRun()
    const start = String(metadata.startCommit)
    await forget(world, start)
    expect((await tryGit(world.checkout, ['cat-file', '-e', start])).code).not.toBe(0)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const branch = await open(window)
    expect(await world.git('rev-parse', branch)).toBe(start)
    await world.git('rev-list', '--objects', '--quiet', branch)
  })

  test('is not opened if it succeeded', async () => {
    await using world = await makeWorld()
    expectExit(await world.run(), 0)
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const { run, canOpen } = await onlyRun(window)
    expect(canOpen).toBe(false)
    const refused = await window.ask({ ask: 'open run', run }).catch(error => error.message)
    expect(refused).toContain('nothing in it to go on with')
  })
})

describe('a run started elsewhere', () => {
  test('shows what it has recorded, and nothing else', async () => {
    await using world = await stuckRun(LEFT, TWO)
    const { path, metadata } = await world.lastRun()
    await rm(join(path, 'outcome.json'))
    await rm(join(path, 'agent.json'))
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const { end, words } = await onlyRun(window)
    expect({ end, words }).toEqual({
      end: 'running',
      words: expect.stringMatching(/^At work, or cut off: its agent has until \d+:\d\d \(not started here\)$/),
    })
    await writeFile(join(path, 'agent.json'), JSON.stringify({ exitCode: 0, seconds: 1 }))
    expect((await onlyRun(window)).words).toStartWith('Its agent has ended: being judged or published, or cut off')
    const old = { ...metadata, startedAt: new Date(Date.now() - 86_400_000).toISOString() }
    await writeFile(join(path, 'metadata.json'), JSON.stringify(old))
    expect(await onlyRun(window)).toMatchObject({ end: 'failed', words: 'Cut off: it has no end' })
  })
})

describe('Run', () => {
  test('shows the output of Forklift by line, to its end', async () => {
    await using world = await makeWorld()
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    await window.ask({ ask: 'run forklift' })
    expect((await ask(window)).isRunning).toBe(true)
    const again = await window.ask({ ask: 'run forklift' }).catch(error => error.message)
    expect(again).toContain('running already')
    await window.heard('forklift', ({ line }) => line?.includes('The agent merges') === true)
    await window.heard('forklift', ({ line }) => line?.includes('Pull request opened') === true)
    await window.heard('forklift', ({ end }) => end === 0)
    const told = await ask(window)
    expect(told).toMatchObject({ isRunning: false, said: { end: 0 } })
    expect(told.runs[0]).toMatchObject({ end: 'merged', pullRequest: 'https://github.com/me/fork/pull/1' })
  })

  test('is stopped like by Ctrl-C, and leaves no container', async () => {
    await using world = await makeWorld()
    await world.agent('sleep 60')
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    const idle = await window.ask({ ask: 'stop forklift' }).catch(error => error.message)
    expect(idle).toContain('not running')
    await window.ask({ ask: 'run forklift' })
    await window.heard('forklift', ({ line }) => line?.includes('The agent merges') === true)
    expect(await onlyRun(window)).toMatchObject({ end: 'running', words: 'Running', canOpen: false })
    await window.ask({ ask: 'stop forklift' })
    await window.heard('forklift', ({ end }) => end === 130)
    expect(await world.containers()).toEqual([])
  })

  test('goes on when the window is closed, and is shown in the next one', async () => {
    await using world = await makeWorld()
    await using forge = await openForge(world, page)
    const first = await forge.window()
    await first.ask({ ask: 'run forklift' })
    await first[Symbol.asyncDispose]()
    await using second = await forge.window()
    const isOver = async () => !(await ask(second)).isRunning
    while (!(await isOver())) await Bun.sleep(50)
    expect((await ask(second)).said?.lines.at(-1)).toContain('Pull request opened')
  })

  test('goes on to its pull request when the desk itself is stopped', async () => {
    await using world = await makeWorld()
    await world.agent('while [ ! -e "$state/go" ]; do sleep 0.05; done; good')
    const forge = await openForge(world, page)
    const window = await forge.window()
    await window.ask({ ask: 'run forklift' })
    await window.heard('forklift', ({ line }) => line?.includes('The agent merges') === true)
    await window[Symbol.asyncDispose]()
    await forge[Symbol.asyncDispose]()
    const { path, state } = await world.lastRun()
    await writeFile(join(state, 'go'), '')
    const outcome = await until('its end', () => exists(join(path, 'outcome.json')))
    expect(outcome).toBe(true)
    expect((await world.lastRun()).outcome).toMatchObject({ exitCode: 0 })
    expect(world.pull.headSha).toBeString()
    await using again = await openForge(world, page)
    await using other = await again.window()
    expect(await onlyRun(other)).toMatchObject({ end: 'merged' })
  })

  test('shows Forklift’s message if something is missing', async () => {
    await using world = await makeWorld()
    await rm(join(world.home, '.config/forklift'), { recursive: true })
    await using forge = await openForge(world, page)
    await using window = await forge.window()
    await window.ask({ ask: 'run forklift' })
    await window.heard('forklift', ({ end }) => end === 1)
    expect((await ask(window)).said?.lines.join('\n')).toContain('opencode.env is missing')
  })
})
