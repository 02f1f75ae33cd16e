/** The refs of the desk do not leave the repository by accident. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { bare, commit, git } from '../../support/git.ts'
import { makePlace, until } from '../../support/repository.ts'
import { openTestDesk } from '../../support/served.ts'

const refsOf = async (path: string) =>
  (await git(path, 'for-each-ref', '--format=%(refname)')).split('\n').filter(Boolean).sort()
const hasDraft = async (path: string) => (await refsOf(path)).includes('refs/forge/drafts/main')

/** A repository with an unsaved draft, and its desk. */
async function withDraft(path: string) {
  await commit(path, 'main', { 'a.txt': 'one\n' })
  const desk = await openTestDesk(path)
  const window = await desk.window()
  const at = { kind: 'branch', branch: 'main' } as const
  await window.ask({ ask: 'open', at, path: 'a.txt' })
  const edits = [{ client: 'window', changes: [[0, 'a secret thought'], 4] }]
  await window.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })
  await until(() => hasDraft(path))
  return {
    [Symbol.asyncDispose]: async () => {
      await window[Symbol.asyncDispose]()
      await desk[Symbol.asyncDispose]()
    },
  }
}

test('a clone with --mirror gets no drafts, and a push with --mirror into the repository deletes none', async () => {
  await using place = await makePlace()
  const { path, folder } = place
  {
    await using _ = await withDraft(path)
    const clone = join(folder, 'clone.git')
    await git('/', 'clone', '-q', '--mirror', path, clone)
    expect(await refsOf(clone)).toEqual(['refs/heads/main'])
    await git(clone, 'push', '-q', '--mirror')
    expect(await hasDraft(path)).toBe(true)
  }
  // The next start of the desk does not write the settings once more.
  await using _ = await openTestDesk(path)
  expect(await place.git('config', '--get-all', 'transfer.hideRefs')).toBe('refs/forge')
})

test('a remote that git push mirrors to gets all refs but the forge’s, and keeps the user’s settings', async () => {
  await using place = await makePlace()
  const { path, folder } = place
  const [mirror, other] = [await bare(join(folder, 'mirror.git')), await bare(join(folder, 'other.git'))]
  await place.git('remote', 'add', '--mirror=push', 'mirror', mirror)
  await place.git('remote', 'add', '--mirror=push', 'chosen', other)
  await place.git('config', 'remote.chosen.push', 'refs/heads/main')
  await place.git('remote', 'add', 'plain', other)
  await using _ = await withDraft(path)
  await place.git('push', '-q', 'mirror')
  await place.git('update-ref', 'refs/notes/mine', 'refs/heads/main')
  await place.git('push', '-q', '--mirror', 'mirror')
  expect(await refsOf(mirror)).toEqual(['refs/heads/main', 'refs/notes/mine'])
  await place.git('update-ref', '-d', 'refs/notes/mine')
  await place.git('push', '-q', 'mirror')
  expect(await refsOf(mirror)).toEqual(['refs/heads/main'])
  expect(await place.git('config', '--get-all', 'remote.chosen.push')).toBe('refs/heads/main')
  expect(await place.git('config', '--get-regexp', '^remote\\.plain\\.')).not.toContain('push')
})
