/** Turns of an AI in an attacker's repository, or with a hostile model. */
import { expect, test } from 'bun:test'
import { NO_USAGE, SESSION } from '../../../../forge/ai/session.ts'
import type { Conversation } from '../../../../forge/desk/contract/chat.ts'
import { makeChat, onBranch, run } from '../../../support/chat.ts'
import { ask, textOf } from '../../../support/desk.ts'
import { commit, type Files } from '../../../support/git.ts'
import { type Script, write } from '../../../support/scripted-model.ts'

const endIn = ({ items }: Conversation) => items.findLast(item => item.kind === 'end')

const link = (content: string) => ({ mode: '120000', content }) as const

const FOLDERS: Record<string, Files> = {
  'a link to somewhere else': { '.forge': link('/tmp') },
  'a file': { '.forge': 'x' },
  'one in which the conversation is a link': { [SESSION]: link('../../../etc/passwd') },
  'one in which the conversation is a folder': { [`${SESSION}/x`]: 'x' },
  'one in which the attributes are a link': { '.forge/.gitattributes': link('/etc/passwd') },
  'one in which the attributes are a folder': { '.forge/.gitattributes/x': 'x' },
  'one in which the approvals are a link': { '.forge/approved_tools.json': link('/etc/passwd') },
}
for (const [name, files] of Object.entries(FOLDERS))
  test(`if .forge is ${name}, a turn ends with its conversation, and reads and writes nothing elsewhere`, async () => {
    await using chat = await makeChat([{ calls: [write('a.txt', 'two\n')] }, { text: 'Done.' }, { text: 'Count' }])
    const { desk, model } = chat
    await commit(desk.path, 'main', files)
    const said = await run(desk)
    expect(said.turn).toBeUndefined()
    expect(endIn(said)).toMatchObject({ how: 'done', commit: { subject: 'Count' } })
    expect(await desk.git('ls-tree', 'main', SESSION)).toStartWith('100644 blob')
    expect(await desk.git('show', 'main:a.txt')).toBe('two')
    expect(JSON.stringify(model.requests)).not.toContain('root:')
    await desk.git('fsck', '--connectivity-only')
  })

const usage = { input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER, cacheRead: 0, cacheWrite: 0 }

test('a stranger’s conversation with absurd numbers is unreadable, and the page works', async () => {
  const end = { kind: 'end', turn: 'a', at: 1, how: 'done', model: 'm', seconds: 1, usage: { ...usage, cost: 1.7e308 } }
  await using chat = await makeChat([{ text: 'Yes.' }])
  await commit(chat.desk.path, 'main', {
    [SESSION]: JSON.stringify({ version: 1, active_files: [], messages: [end, end, end] }),
  })
  const said = await run(chat.desk)
  expect(said.items.at(-1)).toMatchObject({ kind: 'end', how: 'done' })
})

test('a stranger’s conversation can only activate files of the repository', async () => {
  const paths = ['/etc/passwd', '../../../etc/passwd', '.git/config', 'link', 'folder/passwd', 'AGENTS.md', '.', '']
  await using chat = await makeChat([{ text: 'Yes.' }])
  const { desk, model } = chat
  await commit(desk.path, 'main', {
    link: link('/etc/passwd'),
    folder: link('/etc'),
    'AGENTS.md': link('../../../../../../../etc/passwd'),
    'CLAUDE.md': link('/etc/passwd'),
    [SESSION]: JSON.stringify({ version: 1, active_files: paths.filter(Boolean), messages: [] }),
  })
  expect((await run(desk)).turn).toBeUndefined()
  const sent = JSON.stringify(model.requests)
  expect(sent).toContain('AGENTS.md')
  expect([sent.includes('root:'), sent.includes('[core]')]).toEqual([false, false])
})

const PATHS = [
  [
    '.git/config',
    '.GIT/hooks/post-commit',
    'src/.git/config',
    '.git./x',
    '.git /x',
    '.git::$INDEX_ALLOCATION/x',
    'git~1/x',
  ],
  [
    '.g\u200cit/config',
    '.git\\hooks\\x',
    'a\\..\\..\\x',
    '..\\..\\x',
    '../x',
    'a/../../x',
    '/etc/x',
    '//x',
    'C:\\x/../..',
    '.',
  ],
  [
    SESSION,
    '.FORGE/session.json',
    '.forge/approved_tools.json',
    '.forge./x',
    '.forge /x',
    '.forge::$DATA',
    'forge~1/x',
  ],
  [
    '.fo\u200crge/session.json',
    '.forge\\session.json',
    './.forge/x',
    '././.git/x',
    'a\0b',
    'a\nb',
    '\u001b[31m',
    'x'.repeat(300),
  ],
].flat()
test('no path of a model leads out of the repository, or into the folders of git or the forge', async () => {
  const tools = (path: string) => [
    write(path, 'owned\n'),
    { name: 'rename_file', arguments: { from: 'a.txt', to: path } },
  ]
  await using chat = await makeChat([{ calls: PATHS.flatMap(tools) }, { text: 'Done.' }])
  const said = await run(chat.desk)
  const done = said.items.flatMap(it => (it.kind === 'call' && it.call.state === 'done' ? [it.call.title] : []))
  expect(done).toEqual([])
  expect(endIn(said)).toMatchObject({ how: 'done', commit: { files: [] } })
}, 120_000)

test('a full conversation accepts no message, can still be read, and says how to begin a new one', async () => {
  const text = 'all work and no play '.repeat(50_000)
  const blocks = [{ type: 'text', text }]
  const answers = Array.from({ length: 20 }, () => ({ kind: 'answer', turn: 'a', model: 'm', blocks, usage: NO_USAGE }))
  const script: Script = (_, count) =>
    count < 5 ? { calls: [1, 2].map(part => write(`${count}-${part}.txt`, text)) } : { text: 'Done.' }
  await using chat = await makeChat(script)
  const { desk } = chat
  await commit(desk.path, 'main', { [SESSION]: JSON.stringify({ version: 1, active_files: [], messages: answers }) })
  const said = await run(desk)
  expect(endIn(said)).toMatchObject({ how: 'limit', words: expect.stringContaining('deleting .forge/session.json') })
  await desk.work.chat.turns.end('main', true)
  await desk.restart()
  expect((await ask(desk.work, 'conversation', { at: onBranch() })).items.length).toBe(said.items.length)
}, 120_000)

test('an answer of megabytes, or with thousands of calls, is not carried out', async () => {
  const calls = Array.from({ length: 3000 }, () => write('b.txt', 'x'))
  await using chat = await makeChat([{ calls }])
  expect(endIn(await run(chat.desk))).toMatchObject({ how: 'failed', words: expect.stringContaining('3,000 tools') })
  await chat.desk.work.chat.turns.end('main', false)
  chat.model.play([{ text: 'x'.repeat(9 << 20) }])
  expect(endIn(await run(chat.desk))).toMatchObject({ how: 'failed', words: expect.stringContaining('8 MB') })
  expect(await textOf(chat.desk.work, 'main', 'b.txt')).toBeUndefined()
  await chat.desk.work.chat.turns.end('main', false)
  chat.model.play([{ text: 'and so on '.repeat(4 << 20), error: new Error('It broke off') }])
  const cut = (await run(chat.desk)).items.find(item => item.kind === 'text')
  expect(cut?.kind === 'text' && cut.text.length).toBeLessThan(2 << 20)
}, 120_000)
