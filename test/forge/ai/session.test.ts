/** A conversation in its file, and hostile content there. */
import { describe, expect, test } from 'bun:test'
import type { Usage } from '../../../forge/ai/request.ts'
import {
  lastTurn,
  NOT_RUN,
  newSession,
  SESSION,
  type Session,
  type SessionEntry,
  usageOf,
  usageOfTurn,
  withActive,
  withAnswer,
  withEnd,
  withEntries,
  withInactive,
  withMissingResults,
  withModel,
  withResult,
  withUser,
} from '../../../forge/ai/session.ts'
import { loadSession, readSession, setAside, storeSession, writeSession } from '../../../forge/ai/session-file.ts'
import { WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'

const same = (text: string): string => text
const usage: Usage = { input: 100, output: 10, cacheRead: 80, cacheWrite: 20, cost: 0.5 }
const OID = 'a'.repeat(40)
const LATIN = 'caf\xe9/\xff.txt'
const UMLAUT = Buffer.from('Bücher/ä.txt').toString('latin1')

const call = (id: string, sent: unknown = {}) => ({ type: 'call' as const, id, name: 'get_lines', arguments: sent })
const result = (id: string, text = 'said') => ({
  turn: 't1',
  id,
  name: 'get_lines',
  text,
  isError: false,
  words: 'words',
  seconds: 0.25,
})
const end = { turn: 't1', at: 2000, how: 'done' as const, model: 'm', usage, seconds: 1 }

function someSession(): Session {
  let session = withActive(withActive(withModel(newSession(), 'anthropic/x'), UMLAUT), LATIN)
  session = withUser(session, { turn: 't1', at: 1000, text: 'Hello\n"you" \u2028 🎉' }, same)
  const provider = { signature: 'x', details: [1, { deep: null }] }
  const blocks = [{ type: 'reasoning' as const, text: 'hm', provider }, call('c1', { path: 'a', lines: [1, 2.5] })]
  session = withAnswer(session, { turn: 't1', model: 'm', answer: { blocks, usage } }, same)
  session = withResult(session, result('c1'), same)
  session = withEntries(session, { kind: 'file', path: LATIN, oid: OID, why: 'active' })
  session = withEntries(session, { kind: 'summary', turn: 't1', text: 'so far', usage })
  session = withEnd(session, { ...end, message: 'Do it' }, same)
  const opening = { tree: OID, at: 1, from: 0, ttl: '1h' as const, branch: 'main', key: 'ab12' }
  return { ...session, opening: { ...opening, files: [{ path: UMLAUT, oid: OID }] }, left_out: ['AGENTS.md'] }
}

test('a session comes back from its file as it was', () => {
  const session = someSession()
  expect(readSession(writeSession(session))).toEqual({ session })
  expect(writeSession(readSession(writeSession(session)).session)).toEqual(writeSession(session))
  expect(readSession(writeSession(newSession()))).toEqual({ session: newSession() })
  expect(readSession(undefined)).toEqual({ session: newSession() })
})

test('a turn more leaves all lines of the file as they are', () => {
  const before = writeSession(someSession()).toString().split('\n')
  const after = writeSession(withUser(someSession(), { turn: 't2', at: 3000, text: 'And\nmore' }, same))
  const lines = after.toString().split('\n')
  expect(lines).toHaveLength(before.length + 1)
  expect(lines.filter(line => !before.includes(line))).toHaveLength(1)
})

test('paths can be read in a diff, and those that are no UTF-8 are not lost', () => {
  const text = writeSession(someSession()).toString()
  expect(text).toContain('"Bücher/ä.txt"')
  expect(readSession(Buffer.from(text)).session.active_files).toEqual([UMLAUT, LATIN])
})

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const messages = (...entries: unknown[]): Buffer => bytesOf({ version: 1, active_files: [], messages: entries })
const BROKEN: [what: string, bytes: Buffer, why: RegExp][] = [
  ['nothing', Buffer.from(''), /no JSON/],
  ['half of one', writeSession(someSession()).subarray(0, 400), /no JSON/],
  ['conflict markers', Buffer.from('<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n'), /no JSON/],
  ['Latin-1', Buffer.from('{"version":1,"model":"\xe9"}', 'latin1'), /no JSON/],
  ['another version', bytesOf({ version: 2, messages: {} }), /another version/],
  ['a list', bytesOf([]), /no object/],
  ['a number', bytesOf(1), /no object/],
  ['no messages', bytesOf({ version: 1, active_files: [] }), /messages/],
  ['a kind that nobody knows', messages({ kind: 'order', text: 'x' }), /messages\.0\.kind/],
  ['an id that is none', messages({ kind: 'file', path: 'a', oid: '--help', why: 'active' }), /messages\.0\.oid/],
  [
    'a number without an end',
    Buffer.from('{"version":1,"active_files":[],"messages":[{"kind":"user","turn":"t","at":1e999,"text":""}]}'),
    /at/,
  ],
  ['a path that is no bytes', bytesOf({ version: 1, active_files: [{ bytes: 'ā' }], messages: [] }), /active_files/],
  ['depth', Buffer.from(`{"version":1,"messages":${'['.repeat(200_000)}`), /too deep/],
  ['a depth that is closed', Buffer.from(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`), /too deep/],
  ['too many entries', messages(...Array(100_001).fill(0)), /100,000/],
  ['33 MB', Buffer.alloc(33 << 20, '['), /32 MB/],
]

describe('what can not be read is said', () => {
  test.each(BROKEN)('%s', (_, bytes, why) => {
    const { session, unreadable } = readSession(bytes)
    expect(session).toEqual(newSession())
    expect(unreadable).toMatch(why)
    expect(unreadable).toMatch(/^The conversation in .forge\/session.json can't be read: .*It is kept beside/)
  })
})

test('brackets in a message are not deep', () => {
  const session = withUser(newSession(), { turn: 't1', at: 1, text: `${'['.repeat(1000)}"\\` }, same)
  expect(readSession(writeSession(session))).toEqual({ session })
})

test('a session that can not be read is kept beside the new one', async () => {
  await using place = await makePlace()
  const files = { [SESSION]: '{"version": 7}', '.forge/session-unreadable-1.json': 'an older one' }
  const vfs = new WorkInProgressVfs(place.objects, await commit(place.path, 'main', files))
  const { session, unreadable } = await loadSession(vfs)
  expect(unreadable).toMatch(/another version/)
  expect(await setAside(vfs)).toBe('.forge/session-unreadable-2.json')
  await storeSession(vfs, session)
  const texts = await Promise.all(
    ['session-unreadable-1', 'session-unreadable-2'].map(async name =>
      (await vfs.readFile(`.forge/${name}.json`)).toString(),
    ),
  )
  expect(texts).toEqual(['an older one', '{"version": 7}'])
  expect(await loadSession(vfs)).toEqual({ session: newSession() })
})

test('a link in the place of the session is none', async () => {
  await using place = await makePlace()
  const oid = await commit(place.path, 'main', { [SESSION]: { mode: '120000', content: '/etc/passwd' } })
  expect((await loadSession(new WorkInProgressVfs(place.objects, oid))).unreadable).toMatch(/no JSON/)
})

test('no secret enters: not in what is said, not in calls, results and thoughts', () => {
  const clean = (text: string): string => text.replaceAll('sk-123', '[secret]')
  let session = withUser(newSession(), { turn: 't1', at: 1, text: 'my key is sk-123' }, clean)
  const blocks = [
    { type: 'reasoning' as const, text: 'the key is sk-123', provider: { signature: 'of it' } },
    { type: 'reasoning' as const, text: 'hm', provider: { details: [{ text: 'sk-123' }] } },
    { type: 'reasoning' as const, text: 'harmless', provider: { signature: 'kept' } },
    { type: 'text' as const, text: 'sk-123!' },
    call('c1', { path: 'a', list: [{ 'sk-123': 'x sk-123' }] }),
  ]
  session = withAnswer(session, { turn: 't1', model: 'm', answer: { blocks, usage } }, clean)
  session = withResult(session, { ...result('c1', 'read sk-123'), words: 'sk-123' }, clean)
  session = withEnd(session, { ...end, words: 'sk-123', message: 'Add sk-123' }, clean)
  const text = writeSession(session).toString()
  expect(text).not.toContain('sk-123')
  expect(text.match(/\[secret\]/g)).toHaveLength(8)
  const answer = session.messages.find(entry => entry.kind === 'answer')
  expect(answer?.blocks.filter(({ type }) => type === 'reasoning')).toEqual([
    { type: 'reasoning', text: 'harmless', provider: { signature: 'kept' } },
  ])
})

test('what a model sends can always be written and read again', () => {
  let deep: unknown = 'x'
  for (let at = 0; at < 10_000; at++) deep = [deep]
  const sent = JSON.parse('{"__proto__": {"a": 1}, "half": "\\ud800", "1": 1, "0": 0}')
  const answer = { blocks: [call('c1', { deep }), call('c2', sent), call('c3', undefined)], usage }
  const session = withAnswer(newSession(), { turn: 't1', model: 'm', answer }, same)
  expect(readSession(writeSession(session))).toEqual({ session })
})

test('every call has its result before the turn ends', () => {
  const blocks = [call('c1'), call('c2'), call('c3')]
  let session = withAnswer(newSession(), { turn: 't1', model: 'm', answer: { blocks, usage } }, same)
  session = withResult(session, result('c2'), same)
  const ended = withEnd(session, { ...end, how: 'stopped' }, same).messages
  const results = ended.flatMap(entry => (entry.kind === 'result' ? [[entry.id, entry.text, entry.isError]] : []))
  expect(results).toEqual([
    ['c2', 'said', false],
    ['c1', NOT_RUN, true],
    ['c3', NOT_RUN, true],
  ])
  expect(withMissingResults({ ...session, messages: ended }).messages).toEqual(ended)
})

test('what a turn and a conversation cost', () => {
  let session = withUser(newSession(), { turn: 't1', at: 1, text: 'x' }, same)
  const answer = { blocks: [], usage: { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 } }
  session = withAnswer(session, { turn: 't1', model: 'm', answer }, same)
  expect(usageOfTurn(session, 't1')).toEqual(answer.usage)
  expect(lastTurn(session)).toEqual({ turn: 't1', isEnded: false })
  session = withEnd(session, end, same)
  expect(usageOfTurn(session, 't1')).toEqual(usage)
  session = withAnswer(session, { turn: 't2', model: 'm', answer }, same)
  expect(usageOf(session)).toEqual({ ...usage, input: 110, output: 11 })
  expect(lastTurn(session)).toEqual({ turn: 't2', isEnded: false })
})

test('a file is active once; one of instructions that was taken out stays out until it is wanted again', () => {
  const active = withActive(withActive(newSession(), 'a'), 'a')
  expect(active.active_files).toEqual(['a'])
  const out = withInactive(withInactive(active, 'a'), 'src/CLAUDE.md')
  expect(out).toEqual({ ...newSession(), left_out: ['src/CLAUDE.md'] })
  expect(withActive(out, 'src/CLAUDE.md')).toEqual({ ...newSession(), active_files: ['src/CLAUDE.md'] })
})

test('half a character in a stranger’s session is none in a request', () => {
  const entry = { kind: 'user', turn: 't', at: 1, text: 'x' }
  const bytes = Buffer.from(messages(entry).toString().replace('"x"', '"\\ud800"'))
  const [first] = readSession(bytes).session.messages as [Extract<SessionEntry, { kind: 'user' }>]
  expect(first.text).toBe('\ufffd')
})
