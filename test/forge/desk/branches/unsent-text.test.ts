/** Text that was typed without the desk: added to the draft, merged with other changes, and never lost or doubled. */
import { describe, expect, test } from 'bun:test'
import type { Fields } from '../../../../forge/desk/contract/contract.ts'
import {
  addFile,
  ask,
  conflictsIn,
  type Desk,
  edit,
  makeDesk,
  replacement,
  saveIn,
  textOf,
} from '../../../support/desk.ts'
import { commit, gitWith } from '../../../support/git.ts'

const LINES = 'one\ntwo\nthree\nfour\nfive\n'

/** What a page kept: `typed` at the start of the text `start` of a.txt, in these pieces. */
const typedIn = (since: string, typed: string[], start = LINES): Fields<'add unsent text'> => {
  let length = start.length
  let at = 0
  const steps = typed.map(text => {
    const step = replacement(length, at, 0, text)
    length += text.length
    at += text.length
    return step
  })
  return { branch: 'main', path: 'a.txt', since, start, steps, lineEnd: 'LF', bom: false }
}
const tipOf = (desk: Desk) => desk.git('rev-parse', 'main')

describe('text that was typed without the desk', () => {
  test('is a draft in the repository at once, and adding it twice changes nothing', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES }, format: 'sha256' })
    const typed = typedIn(await tipOf(desk), ['typed '])
    for (const _ of [1, 2]) {
      expect(await ask(desk.work, 'add unsent text', typed)).toEqual({
        branch: 'main',
        path: 'a.txt',
        isConflict: false,
      })
      expect(await desk.git('show', 'refs/forge/drafts/main:a.txt')).toBe(`typed ${LINES}`.trimEnd())
    }
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`typed ${LINES}`)
  })

  test('goes on from the part of it that the desk had written before it was killed', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES } })
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('be', 0)
    await ask(desk.work, 'add unsent text', typedIn(await tipOf(desk), ['be', 'fo', 're ']))
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`before ${LINES}`)
  })

  test('has no text of another window that the desk has got from there, with more', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES } })
    const typed = typedIn(await tipOf(desk), ['be', 'fo', 're '])
    // Of these the first two are of a window that has typed on since.
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('befo', 0)
    await editor.type(' and more\n')
    const kept = { ...typed, steps: [...typed.steps.slice(0, 2), replacement(LINES.length + 4, 0, 0, 'mine\n')] }
    expect(await ask(desk.work, 'add unsent text', kept)).toMatchObject({ isConflict: false })
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`mine\nbefo${LINES} and more\n`)
  })

  test('keeps line ends and byte order mark', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': '\ufeffone\r\ntwo\r\n' } })
    const typed = typedIn(await tipOf(desk), ['new\n'], 'one\ntwo\n')
    await desk.git('update-ref', 'refs/heads/main', await commit(desk.path, 'main', { 'b.txt': 'b\n' }))
    await ask(desk.work, 'add unsent text', { ...typed, lineEnd: 'CRLF', bom: true })
    const wanted = await gitWith(desk.path, ['hash-object', '--stdin'], '\ufeffnew\r\none\r\ntwo\r\n')
    expect(await desk.git('rev-parse', 'refs/forge/drafts/main:a.txt')).toBe(wanted)
  })

  test('is merged with what was typed and saved meanwhile, with the line ends of the file', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES.replaceAll('\n', '\r\n') } })
    const since = await tipOf(desk)
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('saved\n')
    await saveIn(desk.work, 'main')
    await editor.type('draft\n')
    const typed = { ...typedIn(since, ['typed ']), lineEnd: 'CRLF' } as const
    expect((await ask(desk.work, 'add unsent text', typed)).isConflict).toBe(false)
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`typed ${LINES}saved\ndraft\n`)
    expect((await ask(desk.work, 'add unsent text', typed)).isConflict).toBe(false)
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(`typed ${LINES}saved\ndraft\n`)
  })

  test('is a conflict, with both texts, where the same line was changed or the file deleted', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES, 'b.txt': LINES } })
    const since = await tipOf(desk)
    const editor = await edit(desk.work, 'main', 'a.txt')
    await editor.type('other ', 0)
    await ask(desk.work, 'delete', { branch: 'main', paths: ['b.txt'] })
    const typed = typedIn(since, ['typed '])
    expect(await ask(desk.work, 'add unsent text', typed)).toMatchObject({ isConflict: true })
    expect(await ask(desk.work, 'add unsent text', { ...typed, path: 'b.txt' })).toMatchObject({ isConflict: true })
    const conflicts = await conflictsIn(desk.work, 'main')
    expect(conflicts.map(({ path, draft, tip }) => [path, draft, tip])).toEqual([
      ['a.txt', `typed ${LINES}`, `other ${LINES}`],
      ['b.txt', `typed ${LINES}`, { what: 'nothing' }],
    ])
  })

  test('follows a renamed file and a renamed branch', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES } })
    const since = await tipOf(desk)
    await ask(desk.work, 'move', { branch: 'main', moves: [{ from: 'a.txt', to: 'b.txt' }] })
    await saveIn(desk.work, 'main')
    await ask(desk.work, 'rename branch', { branch: 'main', to: 'trunk' })
    expect(await ask(desk.work, 'add unsent text', typedIn(since, ['typed ']))).toEqual({
      branch: 'trunk',
      path: 'b.txt',
      isConflict: false,
    })
    expect(await textOf(desk.work, 'trunk', 'b.txt')).toBe(`typed ${LINES}`)
  })

  test('is refused with a reason, and without any effect, where no file can have it', async () => {
    await using desk = await makeDesk({ files: { 'a.txt': LINES } })
    const since = await tipOf(desk)
    const why = (fields: Partial<Fields<'add unsent text'>>) =>
      ask(desk.work, 'add unsent text', { ...typedIn(since, ['typed ']), ...fields }).then(
        () => 'It was added',
        (error: Error) => error.message,
      )
    expect(await why({ steps: [replacement(LINES.length, 0, 0, 'a\0b')] })).toContain('NUL')
    expect(await why({ start: 'else\n', steps: [replacement(5, 0, 0, 'a\0b')] })).toContain('no text in UTF-8')
    expect(await why({ steps: [[3]] })).toContain('edit of another text')
    expect(await why({ path: '.git/config' })).toContain('git refuses')
    await addFile(desk.work, 'main', 'new.txt')
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(LINES)
  })
})
