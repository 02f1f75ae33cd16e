/** Branches: listing, creating, renaming, deleting and restoring them, each with its drafts. */
import { describe, expect, spyOn, test } from 'bun:test'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Work } from '../../../../forge/desk/work.ts'
import { ask, conflictsIn, type Desk, edit, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { commit, gitWith } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { until } from '../../../support/repository.ts'

const FILES = { 'a.txt': 'a\n' }

test('branches are listed with upstream, checkout, drafts and conversation', async () => {
  await using desk = await makeDesk({ files: FILES })
  const first = await desk.git('rev-parse', 'main')
  await desk.git('update-ref', 'refs/remotes/origin/main', first)
  await desk.git('config', 'remote.origin.url', 'x')
  await desk.git('config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*')
  await desk.git('branch', '-q', '--set-upstream-to=origin/main', 'main')
  const author = 'Jörg <j@example.org>'
  await commit(desk.path, 'main', { 'b.txt': 'b\n' }, { message: 'Bring b: grüße\n\nBody.', author })
  await desk.git('reset', '-q', '--hard')
  const topic = { '.forge/session.json': '{}' }
  await commit(desk.path, 'wip/\xe2\x82\xac'.normalize(), topic, { parents: [first] }).catch(() => undefined)
  await commit(desk.path, 'topic', topic, { parents: [first] })
  await (await edit(desk.work, 'topic', 'a.txt')).type('draft\n')
  const list = await desk.work.describeBranches()
  expect(list.find(it => it.name === 'main')).toEqual({
    name: 'main',
    tip: await desk.git('rev-parse', 'main'),
    committed: Number(await desk.git('log', '-1', '--format=%ct', 'main')),
    subject: 'Bring b: grüße',
    session: false,
    upstream: { name: 'origin/main', ahead: 1, behind: 0, isLocal: false },
    checkout: desk.path,
    drafts: [],
  })
  expect(list.find(it => it.name === 'topic')).toMatchObject({ session: true, drafts: ['a.txt'] })
})

test('a branch is created at any commit, by default at the checked out one', async () => {
  await using desk = await makeDesk({ files: FILES })
  const first = await desk.git('rev-parse', 'main')
  const second = await commit(desk.path, 'main', { 'b.txt': 'b\n' })
  await ask(desk.work, 'new branch', { branch: 'at/first', from: first })
  await ask(desk.work, 'new branch', { branch: 'here', from: null })
  expect(await desk.git('rev-parse', 'at/first', 'here')).toBe(`${first}\n${second}`)
  await desk.work.undo()
  expect(await desk.git('branch', '--list', 'here')).toBe('')
})

describe('a branch from a stash', () => {
  /** A desk with a stash of a changed and of an untracked file; answers the stash's commit. */
  async function stashIn(desk: Desk): Promise<string> {
    const who = ['-c', 'user.name=M', '-c', 'user.email=m@example.com']
    await desk.git('reset', '-q', '--hard')
    await writeFile(join(desk.path, 'a.txt'), 'put away\n')
    await writeFile(join(desk.path, 'new.txt'), 'untracked\n')
    await desk.git(...who, 'stash', '--quiet', '--include-untracked')
    return await desk.git('rev-parse', 'stash@{0}')
  }

  test('has its untracked files as drafts, and one undo takes both back', async () => {
    await using desk = await makeDesk({ files: FILES })
    const stash = await stashIn(desk)
    await ask(desk.work, 'new branch', { branch: 'topic', from: stash })
    expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('put away\n')
    expect(await textOf(desk.work, 'topic', 'new.txt')).toBe('untracked\n')
    expect(await desk.git('ls-tree', '--name-only', 'topic')).toBe('a.txt')
    await (await edit(desk.work, 'topic', 'new.txt')).type('typed\n')
    await desk.work.undo()
    expect(await desk.git('for-each-ref', 'refs/heads/topic', 'refs/forge/drafts')).toBe('')
    await desk.work.redo()
    expect(await desk.git('rev-parse', 'topic')).toBe(stash)
    expect(await textOf(desk.work, 'topic', 'new.txt')).toBe('untracked\ntyped\n')
  })

  test('is not created where drafts of a deleted branch of that name would be lost', async () => {
    await using desk = await makeDesk({ files: FILES })
    const stash = await stashIn(desk)
    await ask(desk.work, 'new branch', { branch: 'topic', from: null })
    await (await edit(desk.work, 'topic', 'a.txt')).type('typed\n')
    await desk.work.flush()
    await desk.git('branch', '--quiet', '-D', 'topic')
    await desk.work.look()
    expect(await refusedBy(ask(desk.work, 'new branch', { branch: 'topic', from: stash }))).toThrow(
      'There are drafts of a branch topic that is gone',
    )
    expect(await desk.git('branch', '--list', 'topic')).toBe('')
  })
})

test('names that git does not accept are refused with a sentence', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'a', from: null })
  const bad: [string, string][] = [
    ['main', 'There is a branch main already'],
    ['a/b', 'Git keeps no branch a/b beside a'],
    ['-rf', "-rf can't be the name of a branch: it begins with a dash."],
    ['HEAD', "HEAD can't be the name of a branch: git names the checked-out commit so."],
    ['with space', "can't be the name of a branch: it has a space."],
    ['x..y', "x..y can't be the name of a branch: it has two dots in a row."],
    ['', "Nothing can't be the name of a branch: it is empty."],
    ['x.lock', "x.lock can't be the name of a branch: it ends in .lock, or has .lock before a slash."],
    ['x\ny', "can't be the name of a branch: it has a control character."],
    ['x~1', "x~1 can't be the name of a branch: it has a “~”."],
    ['x//y', 'it has a slash without a name before and after it.'],
    ['x/.y', 'it begins with a dot, or has one after a slash.'],
    ['x.', 'it ends in a dot.'],
    ['x@{y', 'it has “@{”.'],
  ]
  for (const [name, why] of bad) {
    expect(await refusedBy(ask(desk.work, 'new branch', { branch: name, from: null }))).toThrow(why)
    if (name !== 'a/b') expect(await refusedBy(desk.work.renameBranch('a', name))).toThrow(why)
  }
  expect(await refusedBy(ask(desk.work, 'new branch', { branch: 'new', from: '1'.repeat(40) }))).toThrow(
    'There is no commit',
  )
  expect(await refusedBy(ask(desk.work, 'save', { branch: 'nowhere', paths: 'all' }))).toThrow(
    'There is no branch nowhere',
  )
  expect(await desk.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe('a\nmain')
})

test('a renamed branch keeps drafts, upstream and checkout, also when the rename is undone', async () => {
  await using desk = await makeDesk({ files: FILES })
  await desk.git('config', 'branch.main.remote', 'origin')
  await desk.git('config', 'branch.main.merge', 'refs/heads/main')
  await (await edit(desk.work, 'main', 'a.txt')).type('draft\n')
  await desk.work.renameBranch('main', 'trunk')
  expect(await desk.git('symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
  expect(await desk.git('config', 'branch.trunk.merge')).toBe('refs/heads/main')
  expect(await desk.git('status', '--porcelain')).toBe('')
  expect(await textOf(desk.work, 'trunk', 'a.txt')).toBe('a\ndraft\n')
  expect((await desk.work.describeBranches()).map(({ name, drafts }) => [name, drafts])).toEqual([['trunk', ['a.txt']]])
  await desk.work.undo()
  expect(await desk.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
  expect(await desk.git('config', 'branch.main.merge')).toBe('refs/heads/main')
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\ndraft\n')
  await desk.work.redo()
  expect(await desk.git('for-each-ref', '--format=%(refname)')).toBe(
    'refs/forge/drafts/trunk\nrefs/forge/operations\nrefs/heads/trunk',
  )
})

test.each([
  ['not written yet', false],
  ['written', true],
])(
  'what is typed under the new name before a rename by git is followed stays, with drafts %s',
  async (_, isWritten) => {
    await using desk = await makeDesk({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' } })
    await (await edit(desk.work, 'main', 'a.txt')).type('old name\n')
    await (await edit(desk.work, 'main', 'b.txt')).type('old name\n')
    await desk.work.flush()
    await desk.git('branch', '-m', 'main', 'trunk')
    await (await edit(desk.work, 'trunk', 'b.txt')).type('new name\n', 0)
    await (await edit(desk.work, 'trunk', 'c.txt')).type('new name\n')
    if (isWritten) await desk.work.flush()
    await desk.work.look()
    const texts = ['a.txt', 'b.txt', 'c.txt'].map(path => textOf(desk.work, 'trunk', path))
    expect(await Promise.all(texts)).toEqual(['a\nold name\n', 'new name\nb\nold name\n', 'c\nnew name\n'])
    await desk.restart()
    expect(await textOf(desk.work, 'trunk', 'c.txt')).toBe('c\nnew name\n')
  },
)

test.each([
  ['not written yet', false],
  ['written', true],
])('a branch is not renamed to a deleted one with drafts, %s', async (_, isWritten) => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  await desk.git('branch', 'topic')
  await desk.git('branch', 'other')
  const editor = await edit(desk.work, 'topic', 'a.txt')
  await desk.git('branch', '-D', 'topic')
  await desk.work.look()
  await editor.type('typed\n')
  if (isWritten) await desk.work.flush()
  expect(await refusedBy(ask(desk.work, 'rename branch', { branch: 'other', to: 'topic' }))).toThrow(
    'There are drafts of a branch topic that is gone: choose another name.',
  )
  expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('a\ntyped\n')
})

test('a branch that git branch -m has renamed keeps its drafts and what is typed, and undo renames it back', async () => {
  await using desk = await makeDesk({ files: FILES })
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('draft\n')
  await desk.git('branch', 'idle')
  await desk.work.look()
  await desk.git('branch', '-m', 'main', 'trunk')
  await desk.git('branch', '-m', 'idle', 'lazy')
  await desk.work.look()
  expect(desk.news).toContainEqual({ say: 'renamed', branch: 'main', to: 'trunk' })
  expect(desk.news).toContainEqual({ say: 'renamed', branch: 'idle', to: 'lazy' })
  await editor.type('more\n')
  expect(await textOf(desk.work, 'trunk', 'a.txt')).toContain('more')
  expect((await desk.work.describeBranches()).map(({ name, drafts }) => [name, drafts])).toEqual([
    ['lazy', []],
    ['trunk', ['a.txt']],
  ])
  await desk.work.undo(undefined, 'trunk')
  expect(await desk.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
  expect(await textOf(desk.work, 'main', 'a.txt')).toContain('more')
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).toBe('refs/forge/drafts/main')
})

/** Ends the desk, runs a task, and starts it again. */
async function whileAway(desk: Desk, task: () => Promise<unknown>): Promise<Desk['work']> {
  await desk.work[Symbol.asyncDispose]()
  await task()
  return await desk.restart()
}

test('a rename by git branch -m while no desk runs is followed at the next start, also by way of other names', async () => {
  await using desk = await makeDesk({ files: FILES })
  await desk.git('branch', 'topic')
  await (await edit(desk.work, 'main', 'a.txt')).type('draft\n')
  await (await edit(desk.work, 'topic', 'a.txt')).type('other\n')
  const work = await whileAway(desk, async () => {
    await desk.git('branch', '-m', 'main', 'trunk')
    for (const [from = '', to = ''] of [
      ['topic', 'next'],
      ['next', 'topic'],
      ['topic', 'next'],
      ['next', 'topic/last'],
    ])
      await desk.git('branch', '-m', from, to)
  })
  expect((await work.describeBranches()).map(({ name, drafts }) => [name, drafts])).toEqual([
    ['topic/last', ['a.txt']],
    ['trunk', ['a.txt']],
  ])
  expect(await work.vanished()).toEqual([])
  expect(await work.branches.nameNow('main')).toBe('trunk')
  expect(await textOf(work, 'trunk', 'a.txt')).toContain('draft')
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).toBe(
    'refs/forge/drafts/topic/last\nrefs/forge/drafts/trunk',
  )
  await work.undo(undefined, 'trunk')
  expect(await desk.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
})

test('drafts of a deleted branch stay its own where an older rename, or more than one, could be meant', async () => {
  await using desk = await makeDesk({ files: FILES })
  const rename = (to: string, at: number) => {
    const times = { ...PERSON, GIT_COMMITTER_DATE: `${at} +0000` }
    return gitWith(desk.path, ['branch', '-m', 'topic', to], undefined, times)
  }
  const now = Math.floor(Date.now() / 1000)
  await desk.git('branch', 'topic')
  await rename('older', now - 3600)
  await desk.git('branch', 'topic')
  await desk.work.look()
  await (await edit(desk.work, 'topic', 'a.txt')).type('draft\n')
  const gone = [{ branch: 'topic', drafts: ['a.txt'] }]
  expect(await (await whileAway(desk, () => desk.git('branch', '-D', 'topic'))).vanished()).toEqual(gone)
  const work = await whileAway(desk, async () => {
    for (const to of ['one', 'two']) {
      await desk.git('branch', 'topic')
      await rename(to, now + 3600)
    }
  })
  expect(await work.vanished()).toEqual(gone)
})

/** Names of which one is a folder of the other: git can't have refs of both at the same time. */
const IN_EACH_OTHER = [
  ['main', 'main/b'],
  ['main/b', 'main'],
] as const

const OWN_REFS = ['refs/heads', 'refs/forge/drafts', 'refs/forge/moving', 'refs/forge/renaming']

describe.each(IN_EACH_OTHER)('%s renamed to %s', (from, to) => {
  const whole = (branch: string) => `refs/forge/drafts/${branch}\nrefs/heads/${branch}`
  const refsOf = (desk: Desk) => desk.git('for-each-ref', '--format=%(refname)', ...OWN_REFS)
  const begin = async () => {
    const desk = await makeDesk({ files: FILES })
    if (from !== 'main') await desk.git('branch', '-m', 'main', from)
    await desk.work.look()
    return desk
  }

  test.each(['on the desk', 'by git branch -m'])('%s keeps drafts and checkout, also in undo and redo', async how => {
    await using desk = await begin()
    const editor = await edit(desk.work, from, 'a.txt')
    await editor.type('draft\n')
    await desk.work.flush()
    if (how === 'on the desk') await desk.work.renameBranch(from, to)
    else await desk.git('branch', '-m', from, to)
    await desk.work.look()
    await editor.type('more\n')
    await desk.work.flush()
    expect(desk.news).toContainEqual({ say: 'renamed', branch: from, to })
    expect(await textOf(desk.work, to, 'a.txt')).toBe('a\ndraft\nmore\n')
    expect(await refsOf(desk)).toBe(whole(to))
    expect(await desk.git('symbolic-ref', 'HEAD')).toBe(`refs/heads/${to}`)
    await desk.work.undo(undefined, to)
    expect(await refsOf(desk)).toBe(whole(from))
    expect(await desk.git('symbolic-ref', 'HEAD')).toBe(`refs/heads/${from}`)
    await editor.type('again\n')
    await desk.work.redo(from)
    expect(await refsOf(desk)).toBe(whole(to))
    expect(await desk.git('status', '--porcelain')).toBe('')
    const work = await desk.restart()
    expect(await textOf(work, to, 'a.txt')).toBe('a\ndraft\nmore\nagain\n')
    expect(desk.news.filter(it => it.say === 'notice')).toEqual([])
  })

  test.each([
    ['not written yet', false],
    ['written', true],
  ])('what is typed under the new name before that is noticed stays, %s', async (_, isWritten) => {
    await using desk = await begin()
    await (await edit(desk.work, from, 'a.txt')).type('old name\n')
    await desk.work.flush()
    await desk.git('branch', '-m', from, to)
    await (await edit(desk.work, to, 'a.txt')).type('new name\n', 0)
    // Git can't keep both drafts.
    if (isWritten) expect(await refusedBy(desk.work.flush())).toThrow('beside what is typed in')
    await desk.work.look()
    expect(await textOf(desk.work, to, 'a.txt')).toBe('new name\na\nold name\n')
    const work = await desk.restart()
    expect(await textOf(work, to, 'a.txt')).toBe('new name\na\nold name\n')
    expect(await refsOf(desk)).toBe(whole(to))
  })
})

describe('drafts of a deleted branch that git can’t keep beside those of another', () => {
  const PUT_ASIDE = 'put aside what was typed in topic, which is gone'

  /** A desk where drafts of topic, which is gone, were put aside as topic/new was typed in. */
  async function begin(): Promise<Desk> {
    const desk = await makeDesk({ files: FILES })
    await desk.git('branch', 'topic')
    await (await edit(desk.work, 'topic', 'a.txt')).type('typed\n')
    await desk.work.flush()
    await desk.git('branch', '-D', 'topic')
    await desk.git('branch', 'topic/new')
    await desk.work.look()
    await (await edit(desk.work, 'topic/new', 'a.txt')).type('new\n')
    await desk.work.flush()
    await desk.work.look()
    return desk
  }

  test('are put aside, and notices of both branches say so', async () => {
    await using desk = await begin()
    const words =
      'What was typed in topic, which is gone, was put aside, since git can’t keep it beside what is typed in ' +
      'topic/new. It is kept in Operations.'
    for (const branch of ['topic', 'topic/new'])
      expect(desk.news).toContainEqual({ say: 'notice', branch, words, isBad: true })
  })

  test('come back by Undo when the other branch is renamed, and Restore branch finds them', async () => {
    await using desk = await begin()
    const id = await operationOf(desk.work, PUT_ASIDE)
    const why = 'Git can’t keep what was typed in topic beside the branch topic/new: rename topic/new first.'
    expect(await refusedBy(desk.work.undo(id))).toThrow(`${why} Nothing was undone.`)
    expect(await ask(desk.work, 'operations', { from: 0, count: 9 })).toContainEqual(
      expect.objectContaining({ id, inTheWay: why }),
    )
    await desk.work.renameBranch('topic/new', 'new')
    await desk.work.undo(id)
    expect(await desk.work.vanished()).toEqual([{ branch: 'topic', drafts: ['a.txt'] }])
    const work = await desk.restart()
    await ask(work, 'restore branch', { branch: 'topic' })
    expect(await textOf(work, 'topic', 'a.txt')).toBe('a\ntyped\n')
    expect(await textOf(work, 'new', 'a.txt')).toBe('a\nnew\n')
  })

  test('are put aside at the end of the desk, too, and come back by Undo', async () => {
    await using desk = await begin()
    await (await edit(desk.work, 'topic', 'a.txt')).type('later\n')
    expect(await refusedBy(desk.work.flush())).toThrow('beside what is typed in topic/new')
    const [{ unwritten } = {}] = await desk.work.vanished()
    expect(unwritten).toBe('git can’t keep it beside what is typed in topic/new')
    const work = await desk.restart()
    await desk.git('gc', '-q', '--prune=now')
    await work.renameBranch('topic/new', 'new')
    await work.undo(await operationOf(work, PUT_ASIDE))
    expect(await textOf(work, 'topic', 'a.txt')).toBe('a\nlater\n')
  })

  test('come back by Undo after a garbage collection also where a new second begins as the desk ends', async () => {
    await using desk = await begin()
    await (await edit(desk.work, 'topic', 'a.txt')).type('later\n')
    const begun = Date.now()
    let seconds = 0
    // A commit of the same drafts is another one in the next second.
    const clock = spyOn(Date.prototype, 'getTime').mockImplementation(() => begun + 1000 * seconds++)
    const work = await desk.restart().finally(() => clock.mockRestore())
    await desk.git('gc', '-q', '--prune=now')
    await work.renameBranch('topic/new', 'new')
    await work.undo(await operationOf(work, PUT_ASIDE))
    expect(await textOf(work, 'topic', 'a.txt')).toBe('a\nlater\n')
  })

  test('come back by Undo as drafts of a branch that has the name again, with what is typed there', async () => {
    await using desk = await begin()
    await desk.work.renameBranch('topic/new', 'new')
    await desk.git('branch', 'topic')
    await desk.work.look()
    await (await edit(desk.work, 'topic', 'a.txt')).type('before\n', 0)
    await desk.work.undo(await operationOf(desk.work, PUT_ASIDE))
    expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('before\na\ntyped\n')
    await desk.work.redo('topic')
    expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('before\na\n')
  })
})

test('a branch that was deleted while a merge waited in it is restored where it was, with the merge, after a restart', async () => {
  await using desk = await makeDesk({ files: FILES })
  const first = await desk.git('rev-parse', 'main')
  const theirs = await commit(desk.path, 'main', { 'a.txt': 'theirs\n' })
  await desk.git('reset', '-q', '--hard')
  const ours = await commit(desk.path, 'topic', { 'a.txt': 'ours\n' }, { parents: [first] })
  await desk.work.look()
  const source = { branch: 'main', commit: theirs, words: 'main' }
  await desk.work.steps.do({ step: 'merge', source, onto: 'topic' })
  const editor = await edit(desk.work, 'topic', 'a.txt')
  await editor.type('resolved\n', 0, editor.text.length)
  await desk.work.flush()
  await desk.git('branch', '-D', 'topic')
  await desk.work.look()
  const work = await desk.restart()
  await ask(work, 'restore branch', { branch: 'topic' })
  expect(await desk.git('rev-parse', 'topic')).toBe(ours)
  await work.mergings.finish('topic')
  expect(await desk.git('rev-parse', 'topic^@')).toBe(`${ours}\n${theirs}`)
})

test('what waits in a deleted branch is put aside where git can’t keep it beside another branch, and comes back by Undo', async () => {
  await using desk = await makeDesk({ files: FILES })
  const first = await desk.git('rev-parse', 'main')
  const theirs = await commit(desk.path, 'main', { 'a.txt': 'theirs\n' })
  await desk.git('reset', '-q', '--hard')
  const source = { branch: 'main', commit: theirs, words: 'main' }
  const ours = await commit(desk.path, 'topic', { 'a.txt': 'ours\n' }, { parents: [first] })
  await desk.work.look()
  await desk.work.steps.do({ step: 'merge', source, onto: 'topic' })
  const editor = await edit(desk.work, 'topic', 'a.txt')
  await editor.type('resolved\n', 0, editor.text.length)
  await desk.work.flush()
  await desk.git('branch', '-D', 'topic')
  await desk.git('branch', 'topic/new', ours)
  await desk.work.look()
  await desk.work.steps.do({ step: 'merge', source, onto: 'topic/new' })
  const waiting = () => desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/merging', 'refs/forge/drafts')
  expect(await waiting()).toBe('refs/forge/merging/topic/new')
  const words =
    'What waits in topic, which is gone, was put aside, since git can’t keep it beside the branch topic/new. ' +
    'It is kept in Operations.'
  for (const branch of ['topic', 'topic/new'])
    expect(desk.news).toContainEqual({ say: 'notice', branch, words, isBad: true })
  const id = await operationOf(desk.work, 'put aside what waits in topic, which is gone')
  const why = 'Git can’t keep what waits in topic beside the branch topic/new: rename topic/new first.'
  expect(await refusedBy(desk.work.undo(id))).toThrow(`${why} Nothing was undone.`)
  await desk.work.mergings.abort('topic/new')
  await desk.work.renameBranch('topic/new', 'new')
  await desk.work.undo(id)
  const work = await desk.restart()
  await ask(work, 'restore branch', { branch: 'topic' })
  expect(await desk.git('rev-parse', 'topic')).toBe(ours)
  expect(await textOf(work, 'topic', 'a.txt')).toBe('resolved\n')
  await work.mergings.finish('topic')
  expect(await desk.git('rev-parse', 'topic^@')).toBe(`${ours}\n${theirs}`)
})

for (const [when, isFirst] of [
  ['before', true],
  ['after', false],
] as const)
  test(`a branch that is reset ${when} git branch -m renames it keeps its drafts and what is typed`, async () => {
    await using desk = await makeDesk({ files: FILES })
    await commit(desk.path, 'main', { 'b.txt': 'later\n' })
    await desk.work.look()
    const tip = await desk.git('rev-parse', 'main~1')
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('draft\n')
    await desk.work.flush()
    if (isFirst) await desk.git('reset', '--hard', '-q', 'HEAD~1')
    await desk.git('branch', '-m', 'trunk')
    if (!isFirst) await desk.git('reset', '--hard', '-q', 'HEAD~1')
    await desk.work.look()
    await editor.type('more\n')
    await desk.work.flush()
    expect(await desk.work.vanished()).toEqual([])
    expect(await textOf(desk.work, 'trunk', 'a.txt')).toBe('a\ndraft\nmore\n')
    expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts')).toBe('refs/forge/drafts/trunk')
    await desk.work.undo(undefined, 'trunk')
    expect(await desk.git('rev-parse', 'main')).toBe(tip)
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe('a\ndraft\nmore\n')
  })

test('a deleted branch is restored with its drafts, by undo or by name, even after a garbage collection', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  await ask(desk.work, 'new file', { branch: 'topic', path: 'only here.txt' })
  const tip = await desk.git('rev-parse', 'topic')
  await (await edit(desk.work, 'topic', 'a.txt')).type('draft\n')
  for (const back of [() => desk.work.undo(), () => ask(desk.work, 'restore branch', { branch: 'topic' })]) {
    await ask(desk.work, 'delete branch', { branch: 'topic' })
    expect(await desk.git('for-each-ref', '--format=%(refname)')).toBe('refs/forge/operations\nrefs/heads/main')
    await desk.git('gc', '-q', '--prune=now')
    await back()
    expect(await desk.git('rev-parse', 'topic')).toBe(tip)
    expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('a\ndraft\n')
  }
})

test.each([true, false])(
  'a deleted branch in which was typed on is restored with that and with the drafts of before (written: %p)',
  async isWritten => {
    await using desk = await makeDesk({ files: FILES, bare: true })
    await ask(desk.work, 'new branch', { branch: 'topic', from: null })
    await ask(desk.work, 'new file', { branch: 'topic', path: 'only here.txt' })
    await (await edit(desk.work, 'topic', 'a.txt')).type('draft\n')
    await ask(desk.work, 'delete branch', { branch: 'topic' })
    await (await edit(desk.work, 'topic', 'a.txt')).type('since\n', 0)
    if (isWritten) await desk.work.flush()
    await ask(desk.work, 'restore branch', { branch: 'topic' })
    expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('since\na\ndraft\n')
    await desk.work.flush()
    const drafts = await desk.git('ls-tree', '--name-only', 'refs/forge/drafts/topic')
    expect(drafts.split('\n')).toEqual(expect.arrayContaining(['a.txt', 'only here.txt']))
  },
)

test('a deletion takes only the drafts that were shown, also where another desk has written some', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  const tip = await desk.git('rev-parse', 'topic')
  expect(await ask(desk.work, 'branch deletion', { branch: 'topic' })).toEqual({ commits: 0, tip, drafts: [] })
  const { work: other } = await desk.another()
  await (await edit(other, 'topic', 'a.txt')).type('draft\n')
  await other.flush()
  const seen = { branch: 'topic', before: tip, drafts: [] }
  expect(await refusedBy(ask(desk.work, 'delete branch', seen))).toThrow(
    'a.txt in topic was edited since this was shown: nothing was deleted.',
  )
  const { drafts } = await ask(desk.work, 'branch deletion', { branch: 'topic' })
  expect(drafts).toEqual(['a.txt'])
  await ask(desk.work, 'delete branch', { ...seen, drafts })
  await desk.work.undo()
  expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('a\ndraft\n')
})

test('a checked out branch is not deleted', async () => {
  await using desk = await makeDesk({ files: FILES })
  expect(await refusedBy(ask(desk.work, 'delete branch', { branch: 'main' }))).toThrow(
    `main is checked out in ${desk.path}`,
  )
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  await desk.git('checkout', '-q', 'topic')
  expect(await refusedBy(desk.work.undo())).toThrow('topic is checked out')
})

test('a branch switch in the terminal is noticed', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  const seen = desk.news.length
  await desk.git('checkout', '-q', 'topic')
  await until(() => desk.news.slice(seen).some(it => it.say === 'branch' && it.branch === 'main'))
  expect((await desk.work.describeBranches()).find(it => it.name === 'topic')?.checkout).toBe(desk.path)
})

test('thousands of branches are all listed, and slow counts follow later', async () => {
  await using desk = await makeDesk({ files: FILES, bare: true })
  const first = await desk.git('rev-parse', 'main')
  const second = await commit(desk.path, 'up', { 'b.txt': 'b\n' }, { parents: [first] })
  const names = Array.from({ length: 60 }, (_, at) => `b${at}`)
  const input = names.map(name => `create refs/heads/${name} ${first}\n`).join('')
  await gitWith(desk.path, ['update-ref', '--stdin'], input)
  for (const [at, name] of names.entries()) {
    // Each branch has an upstream at another commit, so that each has to be counted (ahead, behind) by itself.
    const other = await commit(desk.path, `up${at}`, { c: name }, { parents: [second] })
    await desk.git('config', `branch.${name}.remote`, '.')
    await desk.git('config', `branch.${name}.merge`, `refs/heads/up${at}`)
    expect(other).toHaveLength(40)
  }
  const counted = async () => (await desk.work.describeBranches()).filter(it => it.upstream?.behind === 2).length
  expect(await counted()).toBeGreaterThanOrEqual(20)
  await until(async () => (await counted()) === 60)
}, 120_000)

test('a branch renamed during typing loses nothing, and is found by both names', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  const editor = await edit(desk.work, 'topic', 'a.txt')
  let isDone = false
  const renaming = desk.work.renameBranch('topic', 'other').finally(() => {
    isDone = true
  })
  while (!isDone) {
    await editor.type('x')
    await Bun.sleep(0)
  }
  await renaming
  await editor.type('y\n')
  expect(desk.news).toContainEqual({ say: 'renamed', branch: 'topic', to: 'other' })
  expect(await textOf(desk.work, 'other', 'a.txt')).toBe(editor.text)
  const work = await desk.restart()
  expect(await textOf(work, 'other', 'a.txt')).toBe(editor.text)
  expect(await desk.git('for-each-ref', '--format=%(refname)', 'refs/forge/drafts', 'refs/heads')).toBe(
    'refs/forge/drafts/other\nrefs/heads/main\nrefs/heads/other',
  )
})

test('a branch is followed where the desk looks in the middle of git branch -m, after the old name is deleted', async () => {
  await using desk = await makeDesk({ files: FILES, bare: false })
  await desk.git('branch', 'topic')
  await desk.work.look()
  await (await edit(desk.work, 'topic', 'a.txt')).type('typed\n')
  await desk.work.flush()
  const tip = await desk.git('rev-parse', 'topic')
  await desk.git('branch', '-q', '-D', 'topic')
  await desk.work.look()
  // Git moves the reflog to the new name, and adds this line to it.
  await desk.git('update-ref', 'refs/heads/other', tip)
  const line = `${tip} ${tip} A <a@example.com> 1795996404 +0000\tBranch: renamed refs/heads/topic to refs/heads/other\n`
  await writeFile(join(desk.path, '.git/logs/refs/heads/other'), line)
  await desk.work.look()
  expect(desk.news).toContainEqual({ say: 'renamed', branch: 'topic', to: 'other' })
  expect(await textOf(desk.work, 'other', 'a.txt')).toContain('typed')
  expect(await desk.work.vanished()).toEqual([])
})

test('a branch deleted during typing keeps the edits, and gets them back when it is restored', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  const editor = await edit(desk.work, 'topic', 'a.txt')
  let isDone = false
  const deleting = ask(desk.work, 'delete branch', { branch: 'topic' }).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await editor.type('x')
    await Bun.sleep(0)
  }
  await deleting
  await desk.work.undo()
  const work = await desk.restart()
  // Edits may be in conflict with what was restored.
  const [conflict] = await conflictsIn(work, 'topic')
  expect(conflict?.draft ?? (await textOf(work, 'topic', 'a.txt'))).toBe(editor.text)
})

test('after renames, a deletion and a restore there is one branch, and no old name returns', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  // A second window keeps the file open by the branch's first name.
  const second = await edit(desk.work, 'topic', 'a.txt')
  await second.type('typed\n')
  await desk.work.renameBranch('topic', 'second')
  await second.type('by the old name\n')
  await desk.work.renameBranch('second', 'third')
  await second.type('and again\n')
  await ask(desk.work, 'delete branch', { branch: 'third' })
  await desk.work.undo()
  await desk.work.look()
  const work = await desk.restart()
  expect(await work.vanished()).toEqual([])
  expect((await work.describeBranches()).map(({ name, drafts }) => [name, drafts])).toEqual([
    ['main', []],
    ['third', ['a.txt']],
  ])
  for (const name of ['topic', 'second', 'third', 'main'])
    expect((await ask(work, 'name now', { branch: name })).branch).toBe(name === 'main' ? 'main' : 'third')
  expect(await textOf(work, 'third', 'a.txt')).toBe('a\ntyped\nby the old name\nand again\n')
  // A window that does not know of the renames types into the renamed branch.
  await (await edit(work, 'topic', 'a.txt')).type('last\n')
  expect(await textOf(work, 'third', 'a.txt')).toBe('a\ntyped\nby the old name\nand again\nlast\n')
  // Renames are undone across the restart, with the drafts.
  await work.undo(await operationOf(work, 'rename the branch second to third'))
  await work.undo(await operationOf(work, 'rename the branch topic to second'))
  expect((await ask(work, 'name now', { branch: 'third' })).branch).toBe('topic')
  expect(await textOf(work, 'topic', 'a.txt')).toBe('a\ntyped\nby the old name\nand again\nlast\n')
  expect(await (await desk.restart()).vanished()).toEqual([])
})

const operationOf = async (work: Work, words: string) =>
  (await ask(work, 'operations', { from: 0, count: 99 })).find(operation => operation.words === words)?.id

test('a new branch with the former name of another one is a branch of its own', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  await (await edit(desk.work, 'topic', 'a.txt')).type('of the first\n')
  await desk.work.renameBranch('topic', 'other')
  await ask(desk.work, 'new branch', { branch: 'topic', from: null })
  expect(await textOf(desk.work, 'topic', 'a.txt')).toBe('a\n')
  await (await edit(desk.work, 'topic', 'a.txt')).type('of the second\n')
  expect(await textOf(desk.work, 'other', 'a.txt')).toBe('a\nof the first\n')
  expect((await ask(await desk.restart(), 'name now', { branch: 'topic' })).branch).toBe('topic')
})

test('typing goes on in a branch deleted by any program, and makes no empty commit', async () => {
  await using desk = await makeDesk({ files: FILES })
  await ask(desk.work, 'new branch', { branch: 'here', from: null })
  await ask(desk.work, 'new branch', { branch: 'outside', from: null })
  const tip = await desk.git('rev-parse', 'main')
  await ask(desk.work, 'delete branch', { branch: 'here' })
  await desk.git('branch', '-D', 'outside')
  // No file was open, and the desk was restarted.
  let work = await desk.restart()
  for (const name of ['here', 'outside']) {
    expect(await refusedBy(ask(work, 'new file', { branch: name, path: 'new.txt' }))).toThrow(
      'was deleted: restore it first',
    )
    await (await edit(work, name, 'a.txt')).type('typed\n')
    expect(await refusedBy(ask(work, 'save', { branch: name, paths: 'all' }))).toThrow('was deleted: restore it first')
  }
  work = await desk.restart()
  expect(await work.vanished()).toEqual([
    { branch: 'here', drafts: ['a.txt'] },
    { branch: 'outside', drafts: ['a.txt'] },
  ])
  for (const name of ['here', 'outside']) {
    await ask(work, 'restore branch', { branch: name })
    expect(await desk.git('rev-parse', name)).toBe(tip)
    expect(await textOf(work, name, 'a.txt')).toBe('a\ntyped\n')
  }
})

test('a branch whose configuration can’t be written is renamed nevertheless, and a notice says so', async () => {
  await using desk = await makeDesk({ files: FILES })
  await desk.git('branch', 'old')
  await desk.git('config', 'branch.old.remote', '.')
  await (await edit(desk.work, 'old', 'a.txt')).type('typed\n')
  await writeFile(join(desk.path, '.git/config.lock'), '')
  await desk.work.renameBranch('old', 'new')
  await rm(join(desk.path, '.git/config.lock'))
  expect(desk.news).toContainEqual({
    say: 'notice',
    words: expect.stringMatching(/^new has its new name, but .* still that of old: .*config/),
    isBad: true,
  })
  expect(await textOf(desk.work, 'old', 'a.txt')).toBe('a\ntyped\n')
  await ask(desk.work, 'save', { branch: 'old', paths: 'all' })
  expect(await desk.git('show', 'new:a.txt')).toBe('a\ntyped')
})
