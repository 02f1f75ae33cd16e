/** Commits of a branch are amended, reworded, squashed, dropped and reordered as by `git rebase --interactive`. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, edit, makeDesk } from '../../../support/desk.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { byGit, commitsOf, openLine, pick, rewrite } from './rewriting.ts'

setDefaultTimeout(60_000)

test('rewording a commit keeps those before it, and gives those after it only another parent', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const wanted = rewrite({ do: 'reword', commit: ids.c ?? '' }, 'Another change\n\nAnd why.')
  const expected = await byGit(
    desk,
    `${pick(ids, 'first', 'a', 'b')}\nreword ${ids.c}\n${pick(ids, 'd', 'e')}`,
    'Another change\n\nAnd why.\n',
  )
  const preview = await ask(desk.work, 'preview', wanted)
  expect(preview).toMatchObject({ is: 'clean', words: 'rewrites 3 commits', message: 'Another change\n\nAnd why.' })
  const done = await ask(desk.work, 'do', { ...wanted, before: ids.e })
  expect(done.words).toBe(`Reworded ${ids.c?.slice(0, 8)} in main.`)
  expect(await commitsOf(desk, 'main')).toBe(expected)
  expect(await desk.git('rev-parse', 'main~3')).toBe(ids.b ?? '')
  await ask(desk.work, 'undo', {})
  expect(await desk.git('rev-parse', 'main')).toBe(ids.e ?? '')
})

test('the message of a commit is offered for editing, and the same one changes nothing', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const rewriting = { do: 'reword', commit: ids.c ?? '' } as const
  const preview = await ask(desk.work, 'preview', rewrite(rewriting))
  expect(preview).toMatchObject({ is: 'clean', message: 'Change c\n\nWhy c.\n', commits: 3 })
  const same = ask(desk.work, 'do', rewrite(rewriting, 'Change c\n\nWhy c.'))
  expect(await refusedBy(same)).toThrow('There is nothing to do: main is like that already.')
})

test('the first commit of all can be reworded, too', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await ask(desk.work, 'do', rewrite({ do: 'reword', commit: ids.first ?? '' }, 'The beginning'))
  expect(await desk.git('log', '--format=%s', 'main')).toBe(
    ['Change e', 'Change d', 'Change c', 'Change b', 'Change a', 'The beginning'].join('\n'),
  )
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(await desk.git('rev-parse', `${ids.e}^{tree}`))
})

test('commits are squashed into the oldest of them, with both messages or its own', async () => {
  for (const isFixup of [false, true]) {
    const { desk, ids } = await openLine()
    await using _ = desk
    const commits = [ids.e ?? '', ids.b ?? '']
    const expected = await byGit(
      desk,
      `${pick(ids, 'first', 'a', 'b')}\n${isFixup ? 'fixup' : 'squash'} ${ids.e}\n${pick(ids, 'c', 'd')}`,
    )
    const { message, words } = await ask(desk.work, 'preview', rewrite({ do: 'squash', commits, isFixup }))
    // The old commits: b and e become one, c and d are made again.
    expect(words).toBe('rewrites 4 commits')
    expect(message).toBe(isFixup ? undefined : 'Change b\n\nWhy b.\n\nChange e\n\nWhy e.\n')
    const done = await ask(desk.work, 'do', rewrite({ do: 'squash', commits, isFixup }))
    expect(done.words).toBe('Squashed 2 commits in main.')
    expect(await commitsOf(desk, 'main')).toBe(expected)
  }
})

test('a squashed commit that git commit --squash has made brings its message without that subject', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const { commit: e } = await ask(
    desk.work,
    'do',
    rewrite({ do: 'reword', commit: ids.e ?? '' }, 'squash! Change b\n\nMore.'),
  )
  const commits = [e ?? '', ids.b ?? '']
  const { message } = await ask(desk.work, 'preview', rewrite({ do: 'squash', commits, isFixup: false }))
  expect(message).toBe('Change b\n\nWhy b.\n\nMore.\n')
})

test('a commit is dropped, after a warning', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const expected = await byGit(desk, pick(ids, 'first', 'a', 'c', 'd', 'e'))
  const dropping = rewrite({ do: 'drop', commits: [ids.b ?? ''] })
  expect(await ask(desk.work, 'preview', dropping)).toMatchObject({ is: 'drops', words: 'drops 1 commit' })
  await ask(desk.work, 'do', dropping)
  expect(await commitsOf(desk, 'main')).toBe(expected)
})

test('a commit is moved after another one, or before the first', async () => {
  for (const [after, order] of [
    ['d', ['first', 'a', 'c', 'd', 'b', 'e']],
    ['first', ['first', 'b', 'a', 'c', 'd', 'e']],
  ] as const) {
    const { desk, ids } = await openLine()
    await using _ = desk
    const expected = await byGit(desk, pick(ids, ...order))
    await ask(desk.work, 'do', rewrite({ do: 'reorder', commits: [ids.b ?? ''], after: ids[after] ?? '' }))
    expect(await commitsOf(desk, 'main')).toBe(expected)
  }
})

test('the newest commit is amended with the drafts; undo makes them drafts again', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const editor = await edit(desk.work, 'main', 'all.txt')
  await editor.type('typed\n')
  const amending = rewrite({ do: 'amend', isWithDrafts: true }, 'Change e and the end')
  expect(await ask(desk.work, 'preview', amending)).toMatchObject({ is: 'clean', words: 'rewrites 1 commit' })
  await ask(desk.work, 'do', amending)
  expect(await desk.git('log', '-1', '--format=%s %an', 'main')).toBe('Change e and the end e')
  expect(await desk.git('rev-parse', 'main^')).toBe(ids.d ?? '')
  expect(await desk.git('show', 'main:all.txt')).toEndWith('typed')
  expect((await desk.work.branches.work('main')).draftPaths).toEqual([])
  await ask(desk.work, 'undo', {})
  expect(await desk.git('rev-parse', 'main')).toBe(ids.e ?? '')
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['all.txt'])
})

test('an amend takes only the drafts that its preview has shown', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const editor = await edit(desk.work, 'main', 'all.txt')
  await editor.type('typed\n')
  const amending = rewrite({ do: 'amend', isWithDrafts: true }, 'Change e and the end')
  const { before, tree } = await ask(desk.work, 'preview', amending)
  await editor.type('typed since\n')
  expect(await refusedBy(ask(desk.work, 'do', { ...amending, before, tree }))).toThrow(
    'The drafts of main have changed since this was previewed: nothing was done. Look at it again.',
  )
  expect(await desk.git('rev-parse', 'main')).toBe(ids.e ?? '')
  const again = await ask(desk.work, 'preview', amending)
  await ask(desk.work, 'do', { ...amending, before, tree: again.tree })
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(again.tree ?? '')
})

test('drafts stay drafts if an older commit is reworded', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const editor = await edit(desk.work, 'main', 'all.txt')
  await editor.type('typed\n', 0)
  await ask(desk.work, 'do', rewrite({ do: 'reword', commit: ids.a ?? '' }, 'Another'))
  expect((await desk.work.branches.work('main')).draftPaths).toEqual(['all.txt'])
  expect(await desk.git('show', 'main:all.txt')).not.toContain('typed')
})

test('a conflict waits for its resolution, and the later commits follow', async () => {
  const desk = await makeDesk({ files: { 'a.txt': 'one\n' } })
  await using _ = desk
  const ids: string[] = []
  for (const text of ['two\n', 'three\n']) {
    await writeFile(join(desk.path, 'a.txt'), text)
    await desk.git('commit', '-q', '-a', '-m', `Write ${text}`)
    ids.push(await desk.git('rev-parse', 'main'))
  }
  await writeFile(join(desk.path, 'b.txt'), 'b\n')
  await desk.git('add', '.')
  await desk.git('commit', '-q', '-m', 'Add b')
  const dropping = rewrite({ do: 'drop', commits: [ids[0] ?? ''] })
  const preview = await ask(desk.work, 'preview', dropping)
  expect(preview).toMatchObject({ is: 'conflicts', conflicts: 1, words: '1 file in conflict, at commit 1 of 2' })
  expect(await ask(desk.work, 'do', dropping)).toMatchObject({ merging: 'main' })
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'theirs' })
  await ask(desk.work, 'finish merging', { branch: 'main' })
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Add b\nWrite three\nBegin')
  expect(await desk.git('show', 'main:a.txt')).toBe('three')
})

test('commits from a merge are not changed, and a later merge stays a merge', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('checkout', '-q', '-b', 'side', ids.first ?? '')
  await writeFile(join(desk.path, 'side.txt'), 'side\n')
  await desk.git('add', '.')
  await desk.git('commit', '-q', '-m', 'Side')
  const side = await desk.git('rev-parse', 'side')
  await desk.git('checkout', '-q', 'main')
  await desk.git('merge', '-q', '--no-ff', '-m', 'Merge side', 'side')
  expect(await refusedBy(ask(desk.work, 'do', rewrite({ do: 'drop', commits: [side] })))).toThrow(
    `${side.slice(0, 8)} came into main by a merge: it can be changed on a branch of its own only.`,
  )
  await ask(desk.work, 'do', rewrite({ do: 'drop', commits: [ids.c ?? ''] }))
  expect(await desk.git('rev-parse', 'main^2')).toBe(side)
  expect(await desk.git('log', '--first-parent', '--format=%s', 'main')).toBe(
    ['Merge side', 'Change e', 'Change d', 'Change b', 'Change a', 'Begin'].join('\n'),
  )
  // The merged side branch begins at a commit that would be replaced.
  expect(await refusedBy(ask(desk.work, 'do', rewrite({ do: 'reword', commit: ids.first ?? '' }, 'Other')))).toThrow(
    `A branch that was merged later begins after ${ids.first?.slice(0, 8)}: use git rebase --rebase-merges.`,
  )
})

test('the preview asks for no forced push of a branch that was never pushed', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('update-ref', 'refs/remotes/origin/other', ids.d ?? '')
  const { warnings } = await ask(desk.work, 'preview', rewrite({ do: 'reword', commit: ids.c ?? '' }, 'Other'))
  expect(warnings).toEqual(['2 commits that go are on a remote already, in other branches.'])
  const step = { step: 'move' as const, branch: 'main', to: { commit: ids.a ?? '', words: 'a' } }
  expect((await ask(desk.work, 'preview', { step })).warnings.filter(words => words.includes('remote'))).toEqual([])
})

test('the preview names the tags that keep the commits, and the branches and tags that keep some of them', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('tag', 'older', ids.b ?? '')
  await desk.git('-c', 'user.name=M', '-c', 'user.email=m@example.com', 'tag', '-a', '-m', 'Some', 'v1', ids.c ?? '')
  const step = rewrite({ do: 'reword', commit: ids.c ?? '' }, 'Other')
  const keepers = async () => {
    const { warnings } = await ask(desk.work, 'preview', step)
    return warnings.filter(words => words.includes(' as they are now'))
  }
  expect(await keepers()).toEqual(['The tag v1 keeps some of the commits as they are now.'])
  await desk.git('branch', 'partly', ids.c ?? '')
  await desk.git('tag', 'whole', 'main')
  expect(await keepers()).toEqual([
    'The tag whole keeps the commits as they are now.',
    'partly, the tag v1 keep some of the commits as they are now.',
  ])
})

test('the preview warns of commits on a remote, and of other branches that keep the commits', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('update-ref', 'refs/remotes/origin/main', ids.d ?? '')
  await desk.git('branch', 'stacked')
  const preview = await ask(desk.work, 'preview', rewrite({ do: 'reword', commit: ids.c ?? '' }, 'Other'))
  expect(preview.warnings).toContain('2 commits that go are on a remote already: a push of main has to be forced.')
  expect(preview.warnings).toContain('stacked keeps the commits as they are now.')
})

test('commits of a branch that stays merged are not counted as commits that go; those of a dropped merge are', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('checkout', '-q', '-b', 'side', ids.d ?? '')
  for (const text of ['one', 'two']) {
    await writeFile(join(desk.path, 'side.txt'), text)
    await desk.git('add', '.')
    await desk.git('commit', '-q', '-m', `Side ${text}`)
  }
  await desk.git('checkout', '-q', 'main')
  await desk.git('merge', '-q', '--no-ff', '-m', 'Merge side', 'side')
  const merge = await desk.git('rev-parse', 'main')
  await desk.git('update-ref', 'refs/remotes/origin/main', merge)
  const warnings = async (...of: Parameters<typeof rewrite>) =>
    (await ask(desk.work, 'preview', rewrite(...of))).warnings.filter(words => words.includes('on a remote'))
  const amended = await warnings({ do: 'amend', isWithDrafts: false }, 'Merge the side branch')
  expect(amended).toEqual(['1 commit that goes is on a remote already: a push of main has to be forced.'])
  const reworded = await warnings({ do: 'reword', commit: ids.e ?? '' }, 'Other')
  expect(reworded).toEqual(['2 commits that go are on a remote already: a push of main has to be forced.'])
  const dropped = await warnings({ do: 'drop', commits: [merge] })
  expect(dropped).toEqual(['3 commits that go are on a remote already: a push of main has to be forced.'])
})
