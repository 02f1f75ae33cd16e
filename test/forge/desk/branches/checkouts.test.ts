/** The user's checkout: it follows a save as with `git checkout`, and is not changed otherwise. */

import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Checkouts } from '../../../../forge/desk/branches/checkouts.ts'
import { openFile } from '../../../../forge/desk/branches/places.ts'
import { addFile, ask, type Desk, edit, makeDesk, saveIn, textOf } from '../../../support/desk.ts'
import { commit, type Files, gitWith, tryGit } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { makePlace, until } from '../../../support/repository.ts'

const FILES = { 'a.txt': 'a\n', 'b.txt': 'b\n', 'folder/c.txt': 'c\n' }

/** Every file of a work tree with its mode, times and content, and of .git all but objects and refs. */
async function snapshot(top: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const walk = async (folder: string) => {
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      const relative = path.slice(top.length + 1)
      if (/^\.git\/(objects|refs|logs\/refs|logs\/HEAD|packed-refs|COMMIT_EDITMSG)/.test(relative)) continue
      const { mode, mtimeMs, ino } = await lstat(path)
      const kind = mode & 0o170000
      if (kind === 0o040000) await walk(path)
      const content =
        kind === 0o100000
          ? createHash('sha1')
              .update(await readFile(path))
              .digest('hex')
          : ''
      const times = kind === 0o040000 ? '' : `${mtimeMs} ${ino}`
      found[relative] = `${mode.toString(8)} ${times} ${kind === 0o120000 ? await readlink(path) : content}`
    }
  }
  await walk(top)
  return found
}

test('a day of work in other branches does not change the checkout, its index or its configuration', async () => {
  await using desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, 'a.txt'), 'changed here\n')
  await writeFile(join(desk.path, 'b.txt'), 'staged\n')
  await desk.git('add', 'b.txt')
  await writeFile(join(desk.path, 'untracked'), 'x')
  await mkdir(join(desk.path, '.git/hooks'))
  await writeFile(join(desk.path, '.git/hooks/pre-commit'), '#!/bin/sh\ntouch ran\n', { mode: 0o755 })
  const before = await snapshot(desk.path)
  const { work } = desk
  await ask(work, 'new branch', { branch: 'topic', from: null })
  const editor = await edit(work, 'topic', 'a.txt')
  for (let round = 0; round < 3; round++) {
    await editor.type(`${round}\n`)
    await ask(work, 'save', { branch: 'topic', paths: 'all' })
  }
  await ask(work, 'new file', { branch: 'topic', path: 'folder/new.txt' })
  await ask(work, 'move', { branch: 'topic', moves: [{ from: 'folder', to: 'other' }] })
  await ask(work, 'delete', { branch: 'topic', paths: ['b.txt'] })
  await saveIn(work, 'topic')
  await (await edit(work, 'topic', 'a.txt')).type('draft\n')
  await work.flush()
  await work.undo()
  await work.redo()
  await ask(work, 'discard', { branch: 'topic', paths: ['a.txt'] })
  await work.renameBranch('topic', 'renamed')
  await openFile(work.branches, { kind: 'branch', branch: 'main' }, 'a.txt')
  await work.describeBranches()
  await ask(work, 'delete branch', { branch: 'renamed' })
  await work.undo()
  await work.flush()
  expect(await snapshot(desk.path)).toEqual(before)
})

test('the checkout of a branch follows a save, and nothing else in it changes', async () => {
  await using desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, 'b.txt'), 'changed here\n')
  await writeFile(join(desk.path, 'folder/untracked'), 'mine\n')
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await addFile(desk.work, 'main', 'folder/new.txt')
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'folder/c.txt', to: 'd.txt' }] })
  await saveIn(desk.work, 'main')
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe(' M b.txt\n?? folder/untracked')
  expect(await readFile(join(desk.path, 'a.txt'), 'utf8')).toBe('a\nsaved\n')
  expect(await readFile(join(desk.path, 'd.txt'), 'utf8')).toBe('c\n')
  expect(await readFile(join(desk.path, 'b.txt'), 'utf8')).toBe('changed here\n')
  // Undoes five operations: the last save, the move, the save of new.txt, its creation, and the first save.
  for (let count = 0; count < 5; count++) await desk.work.undo()
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe(' M b.txt\n?? folder/untracked')
  expect(await readFile(join(desk.path, 'a.txt'), 'utf8')).toBe('a\n')
})

test('a file with only a new time stamp does not keep a checkout from following', async () => {
  await using desk = await makeDesk({ files: FILES })
  await utimes(join(desk.path, 'a.txt'), new Date(1e12), new Date(1e12))
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await readFile(join(desk.path, 'a.txt'), 'utf8')).toBe('a\nsaved\n')
})

test('a local change in the way prevents any change of the checkout, and each save says so', async () => {
  await using desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, 'a.txt'), 'mine, not saved\n')
  const before = await snapshot(desk.path)
  const editor = await edit(desk.work, 'main', 'a.txt')
  for (let round = 0; round < 3; round++) {
    await editor.type(`${round}\n`)
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    await desk.work.flush()
  }
  const after = await snapshot(desk.path)
  // Git may have refreshed the times in its index.
  delete before['.git/index']
  delete after['.git/index']
  expect(after).toEqual(before)
  const said = desk.news.filter(it => it.say === 'checkout left behind')
  const news = {
    say: 'checkout left behind' as const,
    branch: 'main',
    folder: desk.path,
    why: 'a.txt has changes there that are not committed.',
    isAhead: true,
  }
  expect(said).toEqual([news, news, news])
  // Once nothing is in the way, the checkout follows from the commit it is at.
  await desk.git('restore', '--source', 'main~3', '--staged', '--worktree', 'a.txt')
  await editor.type('last\n')
  expect(desk.news).not.toContainEqual({ say: 'checkout follows', branch: 'main' })
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(desk.news).toContainEqual({ say: 'checkout follows', branch: 'main' })
})

describe('a checkout that was left behind and put in order', () => {
  const follows = (desk: Desk) => desk.news.filter(it => it.say === 'checkout follows').length
  const behind = (desk: Desk) => desk.news.filter(it => it.say === 'checkout left behind').length

  /** A desk with a save that the checkout could not follow, since a.txt was changed there. */
  async function oneBehind() {
    const desk = await makeDesk({ files: FILES })
    await writeFile(join(desk.path, 'a.txt'), 'mine, not saved\n')
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('saved\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    await desk.work.flush()
    return { desk, editor }
  }

  for (const [how, putInOrder] of Object.entries({
    'by a reset': (desk: Desk) => desk.git('reset', '-q', '--hard'),
    'by a stash': (desk: Desk) => desk.git('stash', '-q'),
    'by a commit': (desk: Desk) => desk.git('commit', '-q', '-a', '-m', 'Mine'),
  })) {
    test(`${how} is seen without another save`, async () => {
      const { desk } = await oneBehind()
      await using _ = desk
      await desk.work.look()
      expect(follows(desk)).toBe(0)
      await putInOrder(desk)
      // A change of a file that the save did not touch does not matter.
      await writeFile(join(desk.path, 'b.txt'), 'changed there\n')
      await desk.work.look()
      expect(follows(desk)).toBe(1)
      // A commit that was made there takes back what was saved here.
      const isTakenBack = /takes back what was done here in a\.txt: it was made in .* which was behind/
      const said = desk.news.flatMap(it => (it.say === 'notice' && it.isBad ? [it.words] : []))
      expect(said.filter(words => isTakenBack.test(words))).toHaveLength(how === 'by a commit' ? 1 : 0)
      const elsewhere = ask(desk.work, 'save elsewhere', { branch: 'main', to: 'other' })
      expect(await refusedBy(elsewhere)).toThrow('The checkout of main has followed')
    })
  }

  test('is behind again at the next save that a local change is in the way of, and that is said', async () => {
    const { desk, editor } = await oneBehind()
    await using _ = desk
    expect(behind(desk)).toBe(1)
    await desk.git('reset', '-q', '--hard')
    await writeFile(join(desk.path, 'a.txt'), 'mine again\n')
    await editor.type('saved, too\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    await desk.work.flush()
    expect(await desk.git('status', '--porcelain')).toBe('MM a.txt')
    expect(behind(desk)).toBe(2)
  })

  test('stays so at the save of another file, and the file that is in the way is named again, not that one', async () => {
    const { desk } = await oneBehind()
    await using _ = desk
    const other = await edit(desk.work, 'main', 'b.txt')
    await other.type('saved\n')
    await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
    await desk.work.flush()
    const why = 'a.txt has changes there that are not committed.'
    expect(desk.news.flatMap(it => (it.say === 'checkout left behind' ? [it.why] : []))).toEqual([why, why])
  })
})

test('a branch does not move while a merge or a rebase waits in its checkout, which would take that back', async () => {
  await using desk = await makeDesk({ files: FILES })
  await desk.git('branch', 'theirs')
  await commit(desk.path, 'theirs', { 'a.txt': 'theirs\n' })
  await desk.git('checkout', '-q', '-b', 'ours')
  await writeFile(join(desk.path, 'a.txt'), 'ours\n')
  await desk.git('commit', '-q', '-a', '-m', 'Ours')
  const committer = { GIT_COMMITTER_NAME: 'M', GIT_COMMITTER_EMAIL: 'm@example.com' }
  expect((await tryGit(desk.path, ['merge', '-q', 'theirs'], undefined, committer)).code).toBe(1)
  await desk.work.look()
  const editor = await edit(desk.work, 'ours', 'b.txt')
  await editor.type('typed\n')
  const save = () => ask(desk.work, 'save', { branch: 'ours', paths: 'all' })
  const before = await desk.git('rev-parse', 'ours')
  expect(await refusedBy(save())).toThrow(`A merge waits in ${desk.path}, where ours is checked out`)
  expect(await desk.git('rev-parse', 'ours')).toBe(before)
  expect(await textOf(desk.work, 'ours', 'b.txt')).toContain('typed')
  const over = () => desk.news.flatMap(it => (it.say === 'refusal over' ? [it.words] : []))
  await desk.work.look()
  expect(over()).toEqual([])
  await desk.git('merge', '--abort')
  await desk.work.look()
  expect(over()).toEqual([expect.stringContaining('A merge waits in')])
  // Nor while it is rebased there.
  expect((await tryGit(desk.path, ['rebase', '-q', 'theirs'], undefined, committer)).code).toBe(1)
  expect(await refusedBy(save())).toThrow(`A rebase of ours waits in ${desk.path}`)
  // Git refuses to rename or delete it as well.
  const why = `A rebase of ours waits in ${desk.path}: it sets the branch when it ends. Finish or abort it there first.`
  expect(await refusedBy(ask(desk.work, 'rename branch', { branch: 'ours', to: 'mine' }))).toThrow(why)
  expect(await refusedBy(ask(desk.work, 'delete branch', { branch: 'ours' }))).toThrow(why)
  expect(await desk.git('rev-parse', 'ours')).toBe(before)
  await desk.work.look()
  expect(over()).toHaveLength(1)
  // No file of the checkout changes, nor its HEAD.
  await desk.git('rebase', '--quit')
  await desk.work.look()
  expect(over().slice(1)).toEqual([expect.stringContaining('A rebase of ours waits in')])
  await desk.git('checkout', '-q', '-f', 'ours')
  await desk.work.look()
  await save()
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
})

test('an untracked file is not overwritten by a saved file of the same name', async () => {
  await using desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, 'new.txt'), 'mine\n')
  await addFile(desk.work, 'main', 'new.txt')
  await desk.work.flush()
  expect(await readFile(join(desk.path, 'new.txt'), 'utf8')).toBe('mine\n')
  expect(desk.news).toContainEqual(
    expect.objectContaining({ say: 'checkout left behind', why: expect.stringContaining('new.txt') }),
  )
})

test('all work trees of a branch follow, and those of other branches do not', async () => {
  await using desk = await makeDesk({ files: FILES })
  const [one, two] = [join(desk.folder, 'one'), join(desk.folder, 'two')]
  await desk.git('worktree', 'add', '-q', '-b', 'topic', one)
  await desk.git('worktree', 'add', '-q', '--force', two, 'topic')
  const before = await snapshot(desk.path)
  await (await edit(desk.work, 'topic', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'topic', paths: 'all' })
  await desk.work.flush()
  for (const folder of [one, two]) expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('a\nsaved\n')
  expect(await desk.git('-C', one, 'status', '--porcelain')).toBe('')
  for (const name of Object.keys(before)) if (name.startsWith('.git/')) delete before[name]
  expect(await snapshot(desk.path)).toMatchObject(before)
  expect((await desk.work.describeBranches()).map(it => [it.name, it.checkout])).toEqual([
    ['main', desk.path],
    ['topic', expect.stringMatching(/one$|two$/)],
  ])
})

test('no operation runs a hook of the repository', async () => {
  await using desk = await makeDesk({ files: FILES })
  const hooks = join(desk.path, '.git/hooks')
  await mkdir(hooks)
  const names = [
    'pre-commit',
    'commit-msg',
    'post-commit',
    'post-checkout',
    'post-index-change',
    'prepare-commit-msg',
    'post-rewrite',
  ]
  for (const name of names)
    await writeFile(join(hooks, name), `#!/bin/sh\ntouch ${desk.folder}/ran-${name}\n`, { mode: 0o755 })
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'z.txt' }] })
  await saveIn(desk.work, 'main')
  await desk.work.undo()
  await desk.work.renameBranch('main', 'other')
  await desk.work.flush()
  expect((await readdir(desk.folder)).filter(name => name.startsWith('ran'))).toEqual([])
})

/** Makes a commit by plain git, since the desk can't save files with a filter, and merges it into main on the desk. */
async function moveOn(desk: Desk, files: Files): Promise<void> {
  const parents = [await desk.git('rev-parse', 'main')]
  const made = await commit(desk.path, 'elsewhere', files, { parents })
  const source = { commit: made, branch: 'elsewhere', words: 'elsewhere' }
  await desk.work.steps.do({ step: 'merge', source, onto: 'main' })
}

test('filters that the user has configured run for a checkout as they do for git', async () => {
  await using desk = await makeDesk({ files: { ...FILES, '.gitattributes': '*.up filter=upper\n', 'x.up': 'one\n' } })
  await desk.git('config', 'filter.upper.smudge', 'tr a-z A-Z')
  await desk.git('config', 'filter.upper.clean', 'tr A-Z a-z')
  await desk.git('checkout', '-q', '--force', 'main')
  await moveOn(desk, { 'x.up': 'one\ntwo\n' })
  await desk.work.flush()
  expect(await readFile(join(desk.path, 'x.up'), 'utf8')).toBe('ONE\nTWO\n')
  expect(await desk.git('status', '--porcelain')).toBe('')
})

test('a removed work tree does not count as a checkout', async () => {
  await using desk = await makeDesk({ files: FILES })
  const folder = join(desk.folder, 'gone')
  await desk.git('worktree', 'add', '-q', '-b', 'topic', folder)
  await rm(folder, { recursive: true })
  await (await edit(desk.work, 'topic', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'topic', paths: 'all' })
  await desk.work.flush()
  expect((await desk.work.describeBranches()).find(it => it.name === 'topic')?.checkout).toBeUndefined()
  expect(desk.news.filter(it => it.say === 'checkout left behind' || it.say === 'notice')).toEqual([])
})

test('a read-only checkout is left behind, and the save succeeds', async () => {
  await using desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, '.git/index.lock'), '')
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  const commit = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit
  await desk.work.flush()
  expect(await desk.git('rev-parse', 'main')).toBe(commit ?? '')
  expect(desk.news).toContainEqual(
    expect.objectContaining({ say: 'checkout left behind', why: expect.stringContaining('index.lock') }),
  )
  await chmod(desk.path, 0o755)
})

test('a checkout whose index is locked for a moment by another git follows, without a notice', async () => {
  await using desk = await makeDesk({ files: FILES })
  const lock = join(desk.path, '.git/index.lock')
  await writeFile(lock, '')
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  const followed = desk.work.flush()
  setTimeout(() => rm(lock), 500)
  await followed
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(desk.news.filter(it => it.say === 'checkout left behind')).toEqual([])
})

test('a checkout that stays behind an undo is not said to be behind new commits', async () => {
  await using desk = await makeDesk({ files: FILES })
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  await writeFile(join(desk.path, 'a.txt'), 'changed there\n')
  await desk.work.undo()
  await desk.work.flush()
  const why = 'a.txt has changes there that are not committed.'
  const behind = { branch: 'main', folder: desk.path, why, isAhead: false }
  expect(desk.news).toContainEqual({ say: 'checkout left behind', ...behind })
  expect(await desk.work.checkoutsLeftBehind()).toEqual([behind])
})

test('a checkout that stayed behind a lock says so in words, and follows when it is tried again', async () => {
  await using desk = await makeDesk({ files: FILES })
  const lock = join(desk.path, '.git/index.lock')
  await writeFile(lock, '')
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  const why = `Another git command is at work, so wait for its end, or delete ${lock} if there is none.`
  expect(desk.news).toContainEqual({
    say: 'checkout left behind',
    branch: 'main',
    folder: desk.path,
    why,
    isAhead: true,
  })
  await rm(lock)
  await ask(desk.work, 'follow again', { branch: 'main' })
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(desk.news).toContainEqual({ say: 'checkout follows', branch: 'main' })
})

test('a checkout follows after a restart if the desk was killed right after the save', async () => {
  await using desk = await makeDesk({ files: FILES })
  const before = await desk.git('rev-parse', 'main')
  const state = join(desk.folder, 'state', 'checkouts.json')
  await (await edit(desk.work, 'main', 'a.txt')).type('saved\n')
  const to = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit
  await desk.work.flush()
  expect(JSON.parse(await readFile(state, 'utf8'))).toEqual({})
  // The state in between: the branch has moved, the files have not.
  await desk.git('read-tree', '-m', '-u', 'main', before)
  expect(await desk.git('status', '--porcelain')).toBe('M  a.txt')
  const pending = { [join(desk.path, '.git')]: { branch: 'main', from: before, to, isTold: false } }
  await writeFile(state, JSON.stringify(pending))
  const work = await desk.restart()
  await work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
  // An outdated record of a pending checkout must not change any file.
  await desk.git('commit', '-q', '--allow-empty', '-m', 'later')
  await writeFile(state, JSON.stringify(pending))
  const snap = await snapshot(desk.path)
  await (await desk.restart()).flush()
  expect(await snapshot(desk.path)).toEqual(snap)
  await writeFile(state, 'no JSON')
  await desk.restart()
})

test('a pending checkout is recorded before the branch moves', async () => {
  await using desk = await makeDesk({ files: FILES })
  const from = await desk.git('rev-parse', 'main')
  // Another git process holds the branch: the record is written before the branch can move.
  await writeFile(join(desk.path, '.git/refs/heads/main.lock'), '')
  await ask(desk.work, 'new file', { branch: 'main', path: 'new.txt' })
  const refused = refusedBy(saveIn(desk.work, 'main'))
  let seen: unknown[] = []
  await until(async () => {
    const text = await readFile(join(desk.folder, 'state/checkouts.json'), 'utf8').catch(() => '{}')
    seen = Object.values(JSON.parse(text))
    return seen.length > 0
  })
  expect(seen).toEqual([{ branch: 'main', from, to: expect.stringMatching(/^[0-9a-f]{40}$/), isTold: false }])
  expect(await refused).toThrow(/main/)
  expect(await desk.git('rev-parse', 'main')).toBe(from)
})

/** A desk with a save that the checkout could not follow, since a.txt was changed there, and a later draft. */
async function leftBehind() {
  const desk = await makeDesk({ files: FILES })
  await writeFile(join(desk.path, 'a.txt'), 'mine, not saved\n')
  const before = await desk.git('rev-parse', 'main')
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('saved\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await editor.type('and more\n')
  const saved = (await ask(desk.work, 'save', { branch: 'main', paths: 'all' })).commit ?? ''
  await editor.type('draft\n')
  await desk.work.flush()
  expect(desk.news.filter(it => it.say === 'checkout left behind')).toHaveLength(2)
  return { desk, before, saved }
}

test('a save that a checkout could not follow moves to a new branch, and a commit in the checkout reverts nothing', async () => {
  const { desk, before, saved } = await leftBehind()
  await using _ = desk
  const untouched = await snapshot(desk.path)
  expect((await ask(desk.work, 'save elsewhere', { branch: 'main', to: 'main-saved' })).commit).toBe(saved)
  await desk.work.flush()
  const after = await snapshot(desk.path)
  for (const it of [untouched, after]) delete it['.git/index']
  expect(after).toEqual(untouched)
  expect(await desk.git('rev-parse', 'main')).toBe(before)
  expect(await desk.git('rev-parse', 'main-saved')).toBe(saved)
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\n')
  expect(await textOf(desk.work, 'main-saved', 'a.txt')).toBe('a\nsaved\nand more\ndraft\n')
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).toBe(
    'refs/forge/drafts/main-saved',
  )
  await desk.git('commit', '-q', '-a', '-m', 'Mine')
  expect(await desk.git('show', '--format=%P', '--name-only', 'main')).toBe(`${before}\n\na.txt`)
  expect(await desk.git('show', 'main:a.txt')).toBe('mine, not saved')
  expect(await desk.git('show', 'main-saved:a.txt')).toBe('a\nsaved\nand more')
  await desk.work.look()
  // The checkout follows again.
  await (await edit(desk.work, 'main', 'b.txt')).type('later\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  await desk.work.flush()
  expect(await desk.git('status', '--porcelain')).toBe('')
})

test('moving a save to a new branch is one operation: undo restores branch, commits and drafts, redo moves them again, also after a restart', async () => {
  const { desk, before, saved } = await leftBehind()
  await using _ = desk
  await ask(desk.work, 'save elsewhere', { branch: 'main', to: 'other' })
  await (await edit(desk.work, 'other', 'b.txt')).type('typed in other\n')
  await (await edit(desk.work, 'main', 'folder/c.txt')).type('typed in main\n')
  let work = await desk.restart()
  expect((await work.undoable()).undo).toBe('move what was saved to main to the new branch other')
  await work.undo()
  await work.flush()
  expect(await desk.git('for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads')).toBe(`main ${saved}`)
  for (const [path, text] of [
    ['a.txt', 'a\nsaved\nand more\ndraft\n'],
    ['b.txt', 'b\ntyped in other\n'],
    ['folder/c.txt', 'c\ntyped in main\n'],
  ] as const)
    expect(await textOf(work, 'main', path)).toBe(text)
  expect(await readFile(join(desk.path, 'a.txt'), 'utf8')).toBe('mine, not saved\n')
  work = await desk.restart()
  await work.redo()
  await work.flush()
  expect(await desk.git('rev-parse', 'main', 'other')).toBe(`${before}\n${saved}`)
  expect(await textOf(work, 'other', 'b.txt')).toBe('b\ntyped in other\n')
  expect(await desk.git('status', '--porcelain')).toBe(' M a.txt')
})

test('a branch whose checkout has followed, or that has moved since, is not moved', async () => {
  const { desk } = await leftBehind()
  await using _ = desk
  const why = (name: string, to: string) =>
    ask(desk.work, 'save elsewhere', { branch: name, to }).catch((error: Error) => error.message)
  await ask(desk.work, 'new branch', { branch: 'followed', from: null })
  expect(await why('followed', 'x')).toBe('The checkout of followed has followed: its saves need no other branch.')
  expect(await why('main', 'followed')).toBe('There is a branch followed already: choose another name.')
  expect(await why('main', 'a..b')).toContain("can't be the name of a branch")
  await desk.git('commit', '-q', '--allow-empty', '-m', 'Outside')
  expect(await why('main', 'x')).toStartWith('main was moved by another program since it was saved')
  expect(await desk.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe('followed\nmain')
})

test('a first save that a file was in the way of moves to a new branch, too', async () => {
  await using desk = await makeDesk()
  await writeFile(join(desk.path, 'a.txt'), 'mine\n')
  await addFile(desk.work, 'main', 'a.txt')
  await desk.work.flush()
  await ask(desk.work, 'save elsewhere', { branch: 'main', to: 'first' })
  await desk.work.flush()
  expect(await desk.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe('first')
  expect(await desk.git('status', '--porcelain')).toBe('?? a.txt')
})

test('a branch renamed while its checkout follows a save is still followed', async () => {
  await using desk = await makeDesk({ files: { ...FILES, '.gitattributes': 'a.txt filter=slow\n' } })
  await desk.git('config', 'filter.slow.smudge', 'sleep 0.3; cat')
  for (const text of ['a\none\n', 'a\none\ntwo\n']) await moveOn(desk, { 'a.txt': text })
  await desk.work.renameBranch('main', 'trunk')
  await desk.work.flush()
  expect(await readFile(join(desk.path, 'a.txt'), 'utf8')).toBe('a\none\ntwo\n')
  expect(await desk.git('status', '--porcelain', '-b')).toBe('## trunk')
})

test('the record is correct when several checkouts follow at the same time', async () => {
  await using place = await makePlace()
  const from = await commit(place.path, 'main', FILES)
  const to = await commit(place.path, 'later', { 'a.txt': 'later\n' })
  const names = Array.from({ length: 12 }, (_, number) => `branch-${number}`)
  for (const name of names)
    await gitWith(place.path, ['worktree', 'add', '-q', '-b', name, join(place.folder, name), 'main'])
  const state = join(place.folder, 'state')
  await mkdir(state)
  const checkouts = await Checkouts.open(place.objects, state, () => undefined)
  await checkouts.settled()
  const kept = async () => Object.values(JSON.parse(await readFile(join(state, 'checkouts.json'), 'utf8')))
  for (let times = 0; times < 10; times++) {
    const announced = await Promise.all(names.map(name => checkouts.announce(name, from, to)))
    expect(await kept()).toHaveLength(names.length)
    await Promise.all(announced.map(withdraw => withdraw()))
    expect(await kept()).toEqual([])
  }
})
