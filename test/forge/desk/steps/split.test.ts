/** A commit is split in two, and rewritten commits are signed. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ask, type Desk, makeDesk } from '../../../support/desk.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { byGit, commitsOf, openLine, rewrite } from './rewriting.ts'

setDefaultTimeout(60_000)

const LINES = Array.from({ length: 20 }, (_, at) => `${at}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`
const CHANGED = LINES.with(2, 'two').with(15, 'fifteen')

/** main with a commit that changes two places of a file, renames a file and adds one, and a commit after it. */
async function openBoth(): Promise<{ desk: Desk; both: string; last: string }> {
  const desk = await makeDesk({ files: { 'all.txt': text(LINES), 'old.txt': 'to be renamed\n' } })
  await writeFile(join(desk.path, 'all.txt'), text(CHANGED))
  await writeFile(join(desk.path, 'new.txt'), 'new\n')
  await desk.git('mv', 'old.txt', 'renamed.txt')
  await desk.git('add', '.')
  await desk.git('commit', '-q', '-m', 'Do two things\n\nBoth.', '--author', 'Mira <mira@example.org>')
  const both = await desk.git('rev-parse', 'main')
  await writeFile(join(desk.path, 'last.txt'), 'last\n')
  await desk.git('add', '.')
  await desk.git('commit', '-q', '-m', 'Last')
  return { desk, both, last: await desk.git('rev-parse', 'main') }
}

test('a commit is split by files and lines, as by an edit in git’s rebase, and one undo joins it', async () => {
  const { desk, both, last } = await openBoth()
  await using _ = desk
  await writeFile(join(desk.folder, 'part.txt'), text(LINES.with(2, 'two')))
  const expected = await byGit(
    desk,
    [
      `pick ${await desk.git('rev-parse', 'main~2')}`,
      `pick ${both}`,
      [
        'exec git reset -q HEAD^ && cp ../part.txt all.txt && git add -A all.txt old.txt renamed.txt',
        `git commit -q -C ${both} && git commit -q --amend -m 'Do the first thing'`,
        `git show ${both}:all.txt >all.txt && git add -A && git commit -q -C ${both}`,
      ].join(' && '),
      `pick ${last}`,
    ].join('\n'),
  )
  const lines = [{ fromA: 2, toA: 3, fromB: 2, toB: 3 }]
  const first = [{ path: 'all.txt', lines }, { path: 'renamed.txt' }]
  const splitting = rewrite({ do: 'split', commit: both, first }, 'Do the first thing')
  const preview = await ask(desk.work, 'preview', splitting)
  expect(preview).toMatchObject({ is: 'clean', words: 'rewrites 2 commits' })
  expect(preview.rewritten?.map(({ subject, becomes }) => [subject, becomes])).toEqual([
    ['Last', 'reapplied'],
    ['Do two things', 'split'],
    ['Do the first thing', 'split'],
  ])
  expect((await ask(desk.work, 'do', splitting)).words).toBe(`Split ${both.slice(0, 8)} in main.`)
  expect(await commitsOf(desk, 'main')).toBe(expected)
  expect(await desk.git('show', '--format=', '--name-only', 'main~2')).toBe('all.txt\nrenamed.txt')
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(await desk.git('rev-parse', `${last}^{tree}`))
  await ask(desk.work, 'undo', {})
  expect(await desk.git('rev-parse', 'main')).toBe(last)
})

test('a split needs changes for both commits, and lines that exist', async () => {
  const { desk, both } = await openBoth()
  await using _ = desk
  const why = async (
    ...first: { path: string; lines?: { fromA: number; toA: number; fromB: number; toB: number }[] }[]
  ) => (await ask(desk.work, 'preview', rewrite({ do: 'split', commit: both, first }))).words
  expect(await why()).toBe('Select the changes of the first commit.')
  const all = ['all.txt', 'new.txt', 'renamed.txt'].map(path => ({ path }))
  expect(await why(...all)).toBe('Leave some of the changes to the second commit.')
  expect(await why({ path: 'last.txt' })).toBe('last.txt is not among the changed files.')
  expect(await why({ path: 'all.txt', lines: [{ fromA: 100, toA: 101, fromB: 0, toB: 0 }] })).toBe(
    'The file has changed since these lines were shown: try again.',
  )
  expect(await refusedBy(ask(desk.work, 'do', rewrite({ do: 'split', commit: both, first: [] })))).toThrow(
    'Select the changes of the first commit.',
  )
})

test('rewritten commits are signed with an ssh key where commit.gpgSign says so, and the others stay', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  const key = join(desk.folder, 'key')
  await Bun.$`ssh-keygen -q -t ed25519 -N ${''} -C ada@example.org -f ${key}`
  await writeFile(join(desk.folder, 'signers'), `ada@example.org ${await Bun.file(`${key}.pub`).text()}`)
  await desk.git('config', 'gpg.format', 'ssh')
  await desk.git('config', 'user.signingKey', key)
  await desk.git('config', 'gpg.ssh.allowedSignersFile', join(desk.folder, 'signers'))
  await desk.git('config', 'commit.gpgSign', 'true')
  await ask(desk.work, 'do', rewrite({ do: 'squash', commits: [ids.c ?? '', ids.d ?? ''], isFixup: true }))
  const signed = await desk.git('log', '--format=%G? %s %an', 'main')
  expect(signed.split('\n')).toEqual([
    'G Change e e',
    'G Change c c',
    'N Change b b',
    'N Change a a',
    `N Begin ${await desk.git('log', '-1', '--format=%an', ids.first ?? '')}`,
  ])
  expect(await desk.git('rev-parse', 'main~2')).toBe(ids.b ?? '')
})

test('the preview says which of the rewritten commits are on a remote', async () => {
  const { desk, ids } = await openLine()
  await using _ = desk
  await desk.git('update-ref', 'refs/remotes/origin/main', ids.d ?? '')
  const { rewritten } = await ask(desk.work, 'preview', rewrite({ do: 'drop', commits: [ids.c ?? ''] }))
  expect(rewritten?.map(({ from, becomes, isPushed }) => [from[0], becomes, isPushed])).toEqual([
    [ids.e ?? '', 'reapplied', false],
    [ids.d ?? '', 'reapplied', true],
    [ids.c ?? '', 'dropped', true],
  ])
})
