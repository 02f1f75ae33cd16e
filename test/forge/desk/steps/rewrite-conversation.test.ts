/** Commits of a branch that has a conversation with the AI are dropped, reordered, squashed and reverted. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { newSession, SESSION, type Session, type SessionEntry, withEntries } from '../../../../forge/ai/session.ts'
import { readSession, writeSession } from '../../../../forge/ai/session-file.ts'
import type { Rewriting } from '../../../../forge/desk/contract/steps.ts'
import { ask, type Desk, makeDesk } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { rewrite } from './rewriting.ts'

setDefaultTimeout(60_000)

const ATTRIBUTES = '.forge/.gitattributes'

const said = (text: string): SessionEntry => ({ kind: 'user', turn: text, at: 1, text })

/** A conversation in which the user has sent these messages. */
const talked = (...texts: string[]): Session => withEntries(newSession(), ...texts.map(said))

/** main: `before`, a turn `one`, an edit, a turn `two`, an edit; returns their ids by these names. */
async function openTalk(): Promise<{ desk: Desk; ids: Record<string, string> }> {
  const desk = await makeDesk({ files: { 'a.txt': 'a\n' } })
  const { path } = desk
  const one = { [SESSION]: writeSession(talked('one')).toString(), [ATTRIBUTES]: '* merge=forge-own\n' }
  const ids = {
    before: await commit(path, 'main', { 'before.txt': 'b\n' }, { message: 'Before' }),
    one: await commit(path, 'main', one, { message: 'chat: one' }),
    edit: await commit(path, 'main', { 'edit.txt': 'e\n' }, { message: 'Edit' }),
    two: await commit(path, 'main', { [SESSION]: writeSession(talked('one', 'two')).toString(), 'two.txt': '2\n' }),
    last: await commit(path, 'main', { 'last.txt': 'l\n' }, { message: 'Last' }),
  }
  await desk.git('reset', '-q', '--hard')
  await desk.work.look()
  return { desk, ids }
}

async function rewriteMain(desk: Desk, rewriting: Rewriting) {
  const preview = await ask(desk.work, 'preview', rewrite(rewriting))
  await ask(desk.work, 'do', rewrite(rewriting))
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(preview.tree ?? '')
  return preview
}

/** The messages of the conversation in a commit; undefined where it has none. */
async function messagesIn(desk: Desk, ref: string): Promise<string[] | undefined> {
  const listed = await desk.git('ls-tree', ref, SESSION)
  if (listed === '') return undefined
  const { session, unreadable } = readSession(Buffer.from(await desk.git('show', `${ref}:${SESSION}`)))
  expect(unreadable).toBeUndefined()
  return session.messages.flatMap(entry => (entry.kind === 'user' ? [entry.text] : []))
}

/** The commits of main from the newest to `before`, each with the files that it changes. */
async function changesOf(desk: Desk): Promise<Record<string, string>> {
  const log = await desk.git('log', '--format=>%s', '--name-only', '-z', 'main')
  const commits = log.split('>').filter(Boolean)
  return Object.fromEntries(
    commits.map(text => [
      text.split('\0')[0],
      text
        .split(/[\0\n]+/)
        .slice(1)
        .filter(Boolean)
        .join(' '),
    ]),
  )
}

test('a dropped commit takes its conversation with it, as by git rebase', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  await desk.git('branch', '-f', 'short', ids.edit ?? '')
  await desk.work.look()
  const rewriting: Rewriting = { do: 'drop', commits: [ids.one ?? ''] }
  await ask(desk.work, 'do', { step: { step: 'rewrite', branch: 'short', rewriting } })
  expect(await desk.git('diff', '--name-only', 'short~', 'short')).toBe('edit.txt')
  expect(await desk.git('ls-tree', '-r', '--name-only', 'short')).toBe('a.txt\nbefore.txt\nedit.txt')
})

test('a later turn keeps its own part of the conversation, without the messages of a dropped one', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  await rewriteMain(desk, { do: 'drop', commits: [ids.one ?? ''] })
  expect(await messagesIn(desk, 'main')).toEqual(['two'])
  expect(await messagesIn(desk, 'main~2')).toBeUndefined()
  expect(await desk.git('diff', '--name-only', 'main~2', 'main~')).toBe(`${SESSION}\ntwo.txt`)
  expect(await desk.git('diff', '--name-only', 'main~', 'main')).toBe('last.txt')
})

test('commits on both sides of a turn are reordered, and each keeps its own files', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  const tree = await desk.git('rev-parse', 'main^{tree}')
  const preview = await rewriteMain(desk, { do: 'reorder', commits: [ids.edit ?? ''], after: ids.before ?? '' })
  expect(preview.warnings).toEqual([])
  expect(await desk.git('rev-parse', 'main^{tree}')).toBe(tree)
  const changes = await changesOf(desk)
  expect(changes['chat: one']).toBe(`${ATTRIBUTES} ${SESSION}`)
  expect(changes.Edit).toBe('edit.txt')
})

test('turns are reordered with their messages', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  await rewriteMain(desk, { do: 'reorder', commits: [ids.two ?? ''], after: ids.before ?? '' })
  expect(await messagesIn(desk, 'main~3')).toEqual(['two'])
  expect(await messagesIn(desk, 'main~2')).toEqual(['two', 'one'])
  expect(await messagesIn(desk, 'main')).toEqual(['two', 'one'])
})

test('a commit that is squashed over a turn brings nothing of it', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  await rewriteMain(desk, { do: 'squash', commits: [ids.before ?? '', ids.edit ?? ''], isFixup: true })
  expect(await messagesIn(desk, 'main~3')).toBeUndefined()
  expect(await messagesIn(desk, 'main~2')).toEqual(['one'])
  expect(await messagesIn(desk, 'main')).toEqual(['one', 'two'])
})

test('the preview of a revert says that the conversation stays', async () => {
  const { desk, ids } = await openTalk()
  await using _ = desk
  const note = [expect.stringContaining('The conversation with the AI in .forge/ stays')]
  const of = (name: string) =>
    ask(desk.work, 'preview', { step: { step: 'revert', commits: [ids[name] ?? ''], onto: 'main' } })
  expect(await of('one')).toMatchObject({ is: 'nothing', notes: note })
  expect(await of('two')).toMatchObject({ is: 'clean', notes: note })
  expect((await of('edit')).notes).toBeUndefined()
})
