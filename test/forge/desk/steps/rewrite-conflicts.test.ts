/** A rewriting that meets conflicts waits for their resolution, and ends as `git rebase --interactive` does. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, type Desk, makeDesk, PERSON } from '../../../support/desk.ts'
import { gitWith } from '../../../support/git.ts'
import { typeMessage } from '../../../support/merging.ts'
import { commitsOf, rewrite } from './rewriting.ts'

setDefaultTimeout(60_000)

/** main with commits that each write another text to the same file; returns their ids by that text. */
async function openSame(...texts: string[]): Promise<{ desk: Desk; ids: Record<string, string> }> {
  const desk = await makeDesk({ files: { 'a.txt': 'begin\n' } })
  const ids: Record<string, string> = { begin: await desk.git('rev-parse', 'main') }
  for (const text of texts) {
    await writeFile(join(desk.path, 'a.txt'), `${text}\n`)
    await desk.git('commit', '-q', '-a', '-m', `Write ${text}\n\nWhy ${text}.`, '--author', `${text} <${text}@a.org>`)
    ids[text] = await desk.git('rev-parse', 'main')
  }
  return { desk, ids }
}

/** Git's own rebase of main with a todo list; each conflict is resolved with the picked commit's text. */
async function byGit(desk: Desk, ...todo: string[]): Promise<string> {
  const folder = join(desk.folder, 'by-git')
  const editor = join(desk.folder, 'editor')
  await writeFile(editor, `#!/bin/sh\ncat >"$1" <<'EOF'\n${todo.join('\n')}\nEOF\n`)
  await chmod(editor, 0o755)
  const env = { ...PERSON, GIT_SEQUENCE_EDITOR: editor, GIT_EDITOR: 'true' }
  const git = (...args: string[]) => gitWith(folder, args, undefined, env)
  await desk.git('worktree', 'add', '-q', '-B', 'by-git', folder, 'main')
  let next = git('rebase', '-q', '-i', '--root')
  while (await next.then(() => false).catch(() => true)) {
    await git('checkout', '-q', '--theirs', 'a.txt')
    await git('add', 'a.txt')
    next = git('rebase', '--continue')
  }
  return await commitsOf(desk, 'by-git')
}

/** Resolves the conflict that waits in main with the picked commit's text, and goes on. */
async function goOn(desk: Desk) {
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'theirs' })
  return await ask(desk.work, 'finish merging', { branch: 'main' })
}

test('a conflict inside a squash waits, and so does one in a later commit, also after a restart', async () => {
  const { desk, ids } = await openSame('one', 'two', 'three', 'four')
  await using _ = desk
  const [one = '', two = '', three = '', four = ''] = ['one', 'two', 'three', 'four'].map(name => ids[name])
  const todo = [`pick ${ids.begin}`, `pick ${one}`, `squash ${three}`, `pick ${two}`, `pick ${four}`]
  const expected = await byGit(desk, ...todo)
  const squashing = rewrite({ do: 'squash', commits: [three, one], isFixup: false })
  const preview = await ask(desk.work, 'preview', squashing)
  expect(preview).toMatchObject({ is: 'conflicts', words: '1 file in conflict, at commit 1 of 3' })
  expect(preview.rewritten?.map(({ becomes, from }) => [becomes, from])).toEqual([
    ['waiting', [four]],
    ['waiting', [two]],
    ['conflict', [one, three]],
  ])
  await ask(desk.work, 'do', squashing)
  const merging = await ask(desk.work, 'merging', { branch: 'main' })
  expect(merging?.message.trimEnd()).toBe('Write one\n\nWhy one.\n\nWrite three\n\nWhy three.')
  await desk.restart()
  expect((await goOn(desk)).words).toBe('There are conflicts again, at commit 2 of 3.')
  expect((await goOn(desk)).words).toBe('There are conflicts again, at commit 3 of 3.')
  expect((await goOn(desk)).words).toBe('Squashed 2 commits in main.')
  expect(await commitsOf(desk, 'main')).toBe(expected)
  expect(await desk.git('fsck', '--no-dangling')).toBe('')
})

test('a commit after the one in conflict can still be squashed into it, and the typed message is used', async () => {
  const { desk, ids } = await openSame('one', 'two', 'three')
  await using _ = desk
  const [one = '', two = '', three = ''] = ['one', 'two', 'three'].map(name => ids[name])
  const expected = await byGit(desk, `pick ${ids.begin}`, `pick ${two}`, `fixup ${three}`, `pick ${one}`)
  // Moved behind the two others, `one` leaves them in conflict with what is now before them.
  await ask(desk.work, 'do', rewrite({ do: 'reorder', commits: [one], after: three }))
  while ((await goOn(desk)).merging !== undefined);
  const [first = '', second = '', third = ''] = (await desk.git('rev-list', '--reverse', 'main')).split('\n').slice(1)
  expect([first, second, third]).not.toContain('')
  await ask(desk.work, 'do', rewrite({ do: 'squash', commits: [first, second], isFixup: true }))
  expect(await commitsOf(desk, 'main')).toBe(expected)
})

test('the message typed for a rewritten commit comes back with its conflict by undo, and is used then', async () => {
  const { desk, ids } = await openSame('one', 'two', 'three')
  await using _ = desk
  await ask(desk.work, 'do', rewrite({ do: 'drop', commits: [ids.one ?? ''] }))
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'theirs' })
  await typeMessage(desk.work, 'main', 'Typed')
  await ask(desk.work, 'finish merging', { branch: 'main' })
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Write three\nTyped\nBegin')
  await ask(desk.work, 'undo', { branch: 'main' })
  expect((await ask(desk.work, 'merging', { branch: 'main' }))?.message).toBe('Typed')
  await ask(desk.work, 'finish merging', { branch: 'main' })
  expect(await desk.git('log', '--format=%s', 'main')).toBe('Write three\nTyped\nBegin')
})

test('a merge in conflict waits, too, and stays a merge', async () => {
  const { desk, ids } = await openSame('one', 'two')
  await using _ = desk
  await desk.git('checkout', '-q', '-b', 'side', ids.begin ?? '')
  await writeFile(join(desk.path, 'a.txt'), 'side\n')
  await desk.git('commit', '-q', '-a', '-m', 'Side')
  const side = await desk.git('rev-parse', 'side')
  await desk.git('checkout', '-q', 'main')
  await desk.git('merge', '-q', '-s', 'ours', '-m', 'Merge side', 'side')
  await writeFile(join(desk.path, 'a.txt'), 'two\nand side\n')
  await desk.git('commit', '-q', '-a', '--amend', '-C', 'HEAD')
  expect(await ask(desk.work, 'do', rewrite({ do: 'drop', commits: [ids.two ?? ''] }))).toMatchObject({
    merging: 'main',
  })
  expect((await goOn(desk)).words).toBe(`Dropped ${ids.two?.slice(0, 8)} in main.`)
  expect(await desk.git('rev-parse', 'main^2')).toBe(side)
  expect(await desk.git('rev-parse', 'main^')).toBe(ids.one ?? '')
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('Merge side')
  expect(await desk.git('show', 'main:a.txt')).toBe('two\nand side')
})

test('a reorder says what our side is at each of its conflicts, counts what it makes, and says what is left out', async () => {
  const { desk, ids } = await openSame('one', 'two', 'three', 'four')
  await using _ = desk
  const [one = '', two = '', four = ''] = ['one', 'two', 'four'].map(name => ids[name])
  const moving = rewrite({ do: 'reorder', commits: [four], after: two })
  expect(await ask(desk.work, 'preview', moving)).toMatchObject({ words: '1 file in conflict, at commit 1 of 2' })
  await ask(desk.work, 'do', moving)
  const sides = async () => {
    const { ours, theirs } = (await ask(desk.work, 'merging', { branch: 'main' })) ?? {}
    return { ours, theirs }
  }
  expect(await sides()).toEqual({ ours: `${two.slice(0, 8)} (Write two)`, theirs: `${four.slice(0, 8)} (Write four)` })
  expect((await goOn(desk)).words).toBe('There are conflicts again, at commit 2 of 2.')
  expect((await sides()).ours).toBe(`${four.slice(0, 8)} (Write four)`)
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'ours' })
  expect(await ask(desk.work, 'merging', { branch: 'main' })).toHaveProperty('nothingLeft')
  // A message that was typed before nothing was left makes no commit of it.
  await typeMessage(desk.work, 'main', 'Write three, again')
  const { words } = await ask(desk.work, 'finish merging', { branch: 'main' })
  expect(words).toBe(`Reordered ${four.slice(0, 8)} in main. “Write three” changed nothing any more, and was left out.`)
  expect(await desk.git('log', '-1', '--format=%s', 'main')).toBe('Write four')
  expect(await desk.git('rev-parse', 'main~2')).toBe(one)
})
