/** Renames a checked out branch, with the desk killed at each step. */
import { expect, test } from 'bun:test'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Desk, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { commit, gitWith, PLAIN } from '../../../support/git.ts'

const RENAMER = join(import.meta.dir, 'renamer.ts')

/**
 * A stand-in for git: since the file `pid` exists, the start whose number is in the file `at` kills the process whose
 * id is in `pid`, and runs no git.
 */
const counted = (folder: string) => `#!/bin/sh
if [ -e '${folder}/pid' ]; then
  # Several may begin at once, and each takes a number of its own.
  number=1
  until mkdir "${folder}/$number" 2>/dev/null; do
    # The test has ended.
    [ -d '${folder}' ] || exit 1
    number=$((number + 1))
  done
  if [ "$number" -eq "$(cat '${folder}/at')" ]; then
    kill -9 "$(cat '${folder}/pid')"
    exit 1
  fi
fi
exec '${Bun.which('git')}' "$@"
`

/** A repository with topic checked out in a worktree of its own, and with an upstream. */
async function start(): Promise<Desk> {
  const desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  await desk.work[Symbol.asyncDispose]()
  await desk.git('branch', 'topic')
  await desk.git('config', 'branch.topic.remote', '.')
  await desk.git('config', 'branch.topic.merge', 'refs/heads/main')
  await desk.git('worktree', 'add', '-q', join(desk.folder, 'linked'), 'topic')
  return desk
}

/** Renames topic, killed before the nth git process; false if it needed fewer. */
async function renameUntil(desk: Desk, at: number, to = 'renamed'): Promise<boolean> {
  const folder = join(desk.folder, 'counted')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await writeFile(join(folder, 'git'), counted(folder))
  await chmod(join(folder, 'git'), 0o755)
  await writeFile(join(folder, 'at'), String(at))
  const args = [RENAMER, desk.path, join(desk.folder, 'state'), join(folder, 'pid'), to]
  const child = Bun.spawn([process.execPath, ...args], {
    env: { ...process.env, ...PLAIN, ...PERSON, PATH: `${folder}:${process.env.PATH}` },
    stdout: 'inherit',
    stderr: 'inherit',
  })
  await child.exited
  if (child.exitCode === 0) return false
  expect(child.signalCode).toBe('SIGKILL')
  return true
}

/** Restarts the desk, and verifies that the branch has one name, with all that belongs to it. */
async function verifyWhole(desk: Desk, to = 'renamed'): Promise<string> {
  const work = await desk.restart()
  const names = (await desk.git('for-each-ref', '--format=%(refname)')).split('\n')
  const branch = names.includes(`refs/heads/${to}`) ? to : 'topic'
  expect(names.filter(name => /topic|renam/.test(name))).toEqual([
    `refs/forge/drafts/${branch}`,
    `refs/heads/${branch}`,
  ])
  const linked = join(desk.folder, 'linked')
  expect(await gitWith(linked, ['symbolic-ref', 'HEAD'])).toBe(`refs/heads/${branch}`)
  expect(await gitWith(linked, ['status', '--porcelain'])).toBe('')
  expect(await desk.git('config', `branch.${branch}.merge`)).toBe('refs/heads/main')
  expect(await textOf(work, branch, 'a.txt')).toBe('a\ntyped\n')
  expect(desk.news.filter(it => it.say === 'notice')).toEqual([])
  await desk.git('fsck', '--strict', '--no-dangling')
  return branch
}

test('after kill -9 before any of its git processes, the next desk has one branch with all that belongs to it', async () => {
  const ends = new Set<string>()
  for (let at = 1; ; at++) {
    await using desk = await start()
    const isKilled = await renameUntil(desk, at)
    // Nothing is lost at any step, also before the desk is restarted.
    const drafts = (await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).split('\n')
    expect(drafts).toHaveLength(1)
    expect(await desk.git('show', `${drafts[0]}:a.txt`)).toBe('a\ntyped')
    expect(await gitWith(join(desk.folder, 'linked'), ['status', '--porcelain'])).toBe('')
    ends.add(await verifyWhole(desk))
    // The rename can be undone as usual.
    if (ends.has('renamed')) {
      await desk.work.undo()
      expect(await gitWith(join(desk.folder, 'linked'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/topic')
      expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('a\ntyped\n')
    }
    if (!isKilled) break
    expect(at).toBeLessThan(50)
  }
  expect(ends).toEqual(new Set(['topic', 'renamed']))
}, 120_000)

test('a rename to a name in its own folder, which takes two transactions, survives kill -9 between any of its git processes', async () => {
  const ends = new Set<string>()
  const between = new Set<string>()
  for (let at = 1; ; at++) {
    await using desk = await start()
    const isKilled = await renameUntil(desk, at, 'topic/renamed')
    const refs = await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts', 'refs/forge/moving')
    const [drafts = ''] = refs.split('\n').filter(ref => ref.includes('drafts'))
    between.add(drafts)
    expect(await desk.git('show', `${drafts}:a.txt`)).toBe('a\ntyped')
    await desk.git('gc', '-q', '--prune=now').catch(() => undefined)
    ends.add(await verifyWhole(desk, 'topic/renamed'))
    expect(await desk.git('for-each-ref', 'refs/forge/moving')).toBe('')
    if (!isKilled) break
    expect(at).toBeLessThan(50)
  }
  expect(ends).toEqual(new Set(['topic', 'topic/renamed']))
  expect(between).toEqual(
    new Set([
      'refs/forge/drafts/topic',
      'refs/forge/moving/+refs/+forge/+drafts/+topic/=renamed',
      'refs/forge/drafts/topic/renamed',
    ]),
  )
}, 120_000)

test('if another program commits to the old name before the next start, both branches stay, with a notice', async () => {
  let isSeen = false
  for (let at = 1; !isSeen; at++) {
    await using desk = await start()
    if (!(await renameUntil(desk, at))) break
    const marks = await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/renaming')
    if (marks === '') continue
    isSeen = true
    const theirs = await commit(desk.path, 'topic', { 'b.txt': 'b\n' })
    const work = await desk.restart()
    expect(await desk.git('rev-parse', 'topic')).toBe(theirs)
    expect(desk.news).toContainEqual({
      say: 'notice',
      words: 'topic was moved by another program while it was renamed to renamed: there are both now.',
      isBad: true,
    })
    expect(await textOf(work, 'renamed', 'a.txt')).toBe('a\ntyped\n')
    expect(await desk.git('for-each-ref', 'refs/forge/renaming')).toBe('')
  }
  expect(isSeen).toBe(true)
}, 120_000)
