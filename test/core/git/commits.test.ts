/** Commits are read and made without losing any byte of messages or names. */
import { expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import {
  commit,
  commitChanges,
  commitsBetween,
  isAncestor,
  mergeBases,
  parseCommit,
  textOf,
} from '../../../core/git/commits.ts'
import { writeObjects } from '../../../core/git/objects.ts'
import { emptyTree } from '../../../core/git/trees.ts'
import { gitWith, commit as pushed, tryGit } from '../../support/git.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { makePlace, type Place } from '../../support/repository.ts'

const UNA = { name: 'Una Ü', email: 'una@upstream.example', date: { seconds: 1_700_000_000, zone: '+0130' } }
const IVO = { name: 'Ivo', email: 'ivo@fork.example', date: { seconds: 1_700_000_060, zone: '-0900' } }

/** Makes a commit of an empty tree, and gives it parsed. */
async function made(place: Place, message: string | Uint8Array, more: object = {}) {
  const tree = await treeOf(place)
  const oid = await commit(place.objects, { tree, parents: [], message, author: UNA, committer: IVO, ...more })
  return { oid, ...parseCommit((await place.objects.read(oid))?.bytes ?? Buffer.alloc(0)) }
}

async function treeOf(place: Place): Promise<string> {
  const [tree = ''] = await writeObjects(place.repository, [{ type: 'tree', bytes: Buffer.alloc(0) }])
  return tree
}

test('a commit is the one that git commit-tree makes', async () => {
  await using place = await makePlace()
  const parent = await pushed(place.path, 'main', { a: '1' })
  const other = await pushed(place.path, 'other', { a: '2' })
  const tree = await place.git('rev-parse', 'main^{tree}')
  const message = 'Subject ü\n\nBody\n'
  const parents = [parent, other]
  const env = {
    ...{ GIT_AUTHOR_NAME: UNA.name, GIT_AUTHOR_EMAIL: UNA.email, GIT_AUTHOR_DATE: '@1700000000 +0130' },
    ...{ GIT_COMMITTER_NAME: IVO.name, GIT_COMMITTER_EMAIL: IVO.email, GIT_COMMITTER_DATE: '@1700000060 -0900' },
  }
  const flags = parents.flatMap(it => ['-p', it])
  const expected = await gitWith(place.path, ['commit-tree', tree, ...flags, '-F', '-'], message, env)
  expect(await commit(place.objects, { tree, parents, message, author: UNA, committer: IVO })).toBe(expected)
})

test('messages survive to the byte, with and without a line end, and in other character sets', async () => {
  await using place = await makePlace()
  for (const message of ['', 'no line end', '\n\n leading', 'emoji 🍴\r\n', '# hash\n\n\n'])
    expect((await made(place, message)).message.toString()).toBe(message)
  const latin = await made(place, Buffer.from('Gr\xfc\xdfe', 'latin1'))
  expect([latin.encoding, textOf(latin.message, latin.encoding)]).toEqual(['ISO-8859-1', 'Grüße'])
  const cyrillic = await made(place, Buffer.from('\xef\xf0\xe8', 'latin1'), { encoding: 'windows-1251' })
  expect(textOf(cyrillic.message, cyrillic.encoding)).toBe('при')
  expect(await refusedBy(made(place, 'a\0b'))).toThrow('NUL')
  await place.git('fsck', '--strict')
})

test('a commit with signatures, merged tags and odd names is read whole', async () => {
  await using place = await makePlace()
  const [tree, parent] = [emptyTree('sha1'), '1'.repeat(40)]
  const lines = [
    `tree ${tree}\nparent ${parent}\nparent ${parent}`,
    'author J\xf6rg <j@x> 1700000000 +0100\ncommitter  <> 0 -0000',
    `mergetag object ${parent}\n type commit\n tag v1\n tagger A <a@b> 1 +0000\n \n words\n author nobody`,
    'gpgsig -----BEGIN\n \n parent of nothing\n -----END\nencoding ISO-8859-1',
  ]
  const bytes = Buffer.from(`${lines.join('\n')}\n\nMessage \xfc\n\nauthor of this\n`, 'latin1')
  const read = parseCommit(bytes)
  expect(read).toMatchObject({ tree, parents: [parent, parent], isSigned: true, encoding: 'ISO-8859-1' })
  expect(read.author).toMatchObject({ name: 'Jörg', email: 'j@x', date: { seconds: 1_700_000_000, zone: '+0100' } })
  expect(read.committer).toMatchObject({ name: '', email: '', date: { seconds: 0, zone: '-0000' } })
  expect(textOf(read.message, read.encoding)).toBe('Message ü\n\nauthor of this\n')
  // A new commit with the same author and committer has the same bytes for their names.
  const oid = await commit(place.objects, { ...read, tree: await treeOf(place), parents: [] })
  expect(
    (await place.objects.read(oid))?.bytes?.includes(Buffer.from('author J\xf6rg <j@x> 1700000000 +0100\n', 'latin1')),
  ).toBe(true)
})

test('bytes that are not a commit are read without an error', () => {
  for (const text of ['', '\n\n', 'tree', 'author x\n\n', 'author A <b> 99999999999999999999 +0\n', ' \n \n'])
    expect(parseCommit(Buffer.from(text)).parents).toEqual([])
})

test('without an identity, the user’s own one is used', async () => {
  await using place = await makePlace()
  await place.git('config', 'user.name', 'Me Myself')
  await place.git('config', 'user.email', 'me@home.example')
  const { author, committer } = await made(place, 'x', { author: undefined, committer: undefined })
  expect([author, committer]).toMatchObject([{ name: 'Me Myself' }, { name: 'Me Myself', email: 'me@home.example' }])
  expect(Math.abs((author.date?.seconds ?? 0) - Date.now() / 1000)).toBeLessThan(60)
})

test('without an identity in git, the error says how to set one', async () => {
  await using place = await makePlace()
  await place.git('config', 'user.useConfigOnly', 'true')
  const failed = made(place, 'x', { author: undefined })
  expect(await refusedBy(failed)).toThrow('git config --global')
  expect(await refusalOf(failed)).toBeInstanceOf(Failure)
})

test('characters that would end the author line are removed, or refused', async () => {
  await using place = await makePlace()
  const { author } = await made(place, 'x', { author: { ...UNA, name: 'A\nparent <b>\0', email: '<a@b>\n' } })
  expect([author.name, author.email]).toEqual(['Aparent b', 'a@b'])
  expect(await refusedBy(made(place, 'x', { author: { ...UNA, bytes: Buffer.from('A <b>\nx') } }))).toThrow('odd bytes')
  expect(await refusedBy(made(place, 'x', { author: { ...UNA, date: { seconds: 0, zone: '+1\n' } } }))).toThrow(
    'no date',
  )
  expect(await refusedBy(made(place, 'x', { encoding: 'a\nb' }))).toThrow('no character set')
})

test('a tree or a parent that is not there is refused', async () => {
  await using place = await makePlace()
  const { oid } = await made(place, 'x')
  const missing = '1'.repeat(40)
  expect(await refusedBy(made(place, 'x', { tree: missing }))).toThrow('There is no tree')
  expect(await refusedBy(made(place, 'x', { tree: oid }))).toThrow('There is no tree')
  expect(await refusedBy(made(place, 'x', { parents: [oid, missing] }))).toThrow('There is no commit')
  expect(await refusedBy(made(place, 'x', { parents: ['--help'] }))).toThrow('no full object id')
})

test('a commit is signed by the program that the user has configured', async () => {
  await using place = await makePlace()
  const program = join(place.folder, 'gpg')
  const answer = '-----BEGIN PGP SIGNATURE-----\n\nfor %s\n-----END PGP SIGNATURE-----\n'
  await writeFile(program, `#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '${answer}' "$*"\n`)
  await chmod(program, 0o755)
  await place.git('config', 'gpg.program', program)
  await place.git('config', 'user.signingKey', 'KEY')
  const signed = await made(place, 'Signed ü\n', { sign: true })
  expect([signed.isSigned, signed.message.toString(), signed.author]).toEqual([true, 'Signed ü\n', UNA])
  await writeFile(program, '#!/bin/sh\nexit 1\n')
  expect(await refusalOf(made(place, 'x', { sign: true }))).toBeInstanceOf(Failure)
})

test('changes become a commit in one go, and nothing is left of them where a parent is not there', async () => {
  await using place = await makePlace()
  const parent = await pushed(place.path, 'main', { a: '1', 'in/b': '2' })
  const changes = new Map([['in/c', { mode: '100644', bytes: Buffer.from('3') }]])
  const who = { author: UNA, committer: IVO, message: 'x' }
  const made = await commitChanges(place.objects, { base: parent, changes, parents: [parent], ...who })
  expect(await place.git('ls-tree', '-r', '--name-only', made)).toBe('a\nin/b\nin/c')
  expect(await place.git('rev-parse', `${made}^`)).toBe(parent)
  const first = await commitChanges(place.objects, { base: undefined, changes, parents: [], ...who })
  expect(await place.git('ls-tree', '-r', '--name-only', first)).toBe('in/c')
  const before = await place.git('count-objects')
  const other = new Map([['new', { mode: '100644', bytes: Buffer.from('4') }]])
  const failed = commitChanges(place.objects, { base: parent, changes: other, parents: ['1'.repeat(40)], ...who })
  expect(await refusedBy(failed)).toThrow('There is no commit')
  expect(await place.git('count-objects')).toBe(before)
})

test('sha256 repositories have commits, too', async () => {
  await using place = await makePlace('sha256')
  const { oid } = await made(place, 'x')
  expect((await tryGit(place.path, ['cat-file', '-t', oid])).stdout).toBe('commit\n')
})

test('which commit descends from which, and where two histories part', async () => {
  await using place = await makePlace()
  const at = (branch: string, parents: string[]) => pushed(place.path, branch, { [branch]: `${parents}` }, { parents })
  const root = await pushed(place.path, 'main', { a: '1' })
  const [one, two] = [await at('one', [root]), await at('two', [root])]
  const [left, right] = [await at('left', [one, two]), await at('right', [two, one])]
  const stranger = await pushed(place.path, 'stranger', { b: '1' })
  expect(await isAncestor(place.repository, root, left)).toBe(true)
  expect(await isAncestor(place.repository, left, root)).toBe(false)
  expect(await refusedBy(isAncestor(place.repository, '1'.repeat(40), root))).toThrow()
  expect((await mergeBases(place.repository, left, right)).toSorted()).toEqual([one, two].toSorted())
  expect(await mergeBases(place.repository, left, stranger)).toEqual([])
})

test('the commits between two are counted, and the newest named', async () => {
  await using place = await makePlace()
  const root = await pushed(place.path, 'main', { a: '0' })
  for (let at = 1; at <= 4; at++)
    await pushed(place.path, 'main', { a: `${at}` }, { message: `Change ${at}`, when: 1_700_000_000 + at })
  const tip = await place.git('rev-parse', 'main')
  const { count, newest } = await commitsBetween(place.repository, root, tip, 2)
  expect([count, newest.map(({ date, subject }) => [date, subject])]).toEqual([
    4,
    [
      ['2023-11-14', 'Change 4'],
      ['2023-11-14', 'Change 3'],
    ],
  ])
  expect(await commitsBetween(place.repository, tip, root, 2)).toEqual({ count: 0, newest: [] })
})
