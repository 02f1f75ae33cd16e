/** The processes that parse code: if one hangs, crashes or grows, only the text that it was parsing has no facts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asBytes } from '../../../core/git/repository.ts'
import { NO_FACTS } from '../../../forge/code/facts.ts'
import { Parsers } from '../../../forge/code/parsers.ts'
import { CodeReader } from '../../../forge/code/reader.ts'
import { commit } from '../../support/git.ts'
import { makePlace, type Place } from '../../support/repository.ts'

let place: Place
beforeAll(async () => {
  place = await makePlace()
})
afterAll(() => place[Symbol.asyncDispose]())

/** A child that answers with the text as a definition's name, and behaves badly for some texts. */
const CHILD = `
let asked = 0
process.on('message', ({ text }) => {
  asked++
  if (text === 'not loaded') process.exit(1)
  process.send('begins')
  if (text === 'hang') for (;;);
  if (text === 'grow') {
    const all = []
    for (;;) all.push(new Uint8Array(1 << 24).fill(1))
  }
  if (text === 'crash') process.abort()
  if (text === 'end') process.exit(0)
  if (text === 'killed') process.kill(process.pid, 'SIGKILL')
  const name = text + ' ' + process.pid + ' ' + asked
  process.send({ facts: { definitions: [{ name }], references: [], imports: [] }, folds: [], around: [], isLast: text === 'large' })
})
process.on('disconnect', () => process.exit())
`

async function parsersOf(options: { seconds?: number; memory?: number } = {}): Promise<Parsers> {
  const program = join(place.folder, 'child.ts')
  await writeFile(program, CHILD)
  return new Parsers({ most: 1, program, ...options })
}

/** Parsers for which no text is hostile. */
async function harmlessParsers(): Promise<Parsers> {
  const program = join(place.folder, 'harmless.ts')
  await writeFile(program, CHILD.replaceAll('if (', 'if (false && '))
  return new Parsers({ most: 1, program })
}

const parse = (parsers: Parsers, text: string) => parsers.parse({ grammar: 'go', text, wanted: { kind: 'facts' } })
const nameIn = async (parsers: Parsers, text: string): Promise<string> => {
  const parsed = await parse(parsers, text)
  return typeof parsed === 'string' ? '' : (parsed.facts.definitions[0]?.name ?? '')
}

test('a text that hangs the parser is given up, its process is killed, and the next text is parsed', async () => {
  using parsers = await parsersOf({ seconds: 1 })
  const [hung, next] = await Promise.all([parse(parsers, 'hang'), nameIn(parsers, 'next')])
  expect(hung).toBe('fatal')
  expect(next).toStartWith('next ')
})

test.each(['crash', 'end'])('a process that does %s has no reply, and another one goes on', async text => {
  using parsers = await parsersOf()
  expect(await parse(parsers, text)).toBe('fatal')
  expect(await nameIn(parsers, 'next')).toStartWith('next ')
})

test.each(['not loaded', 'killed'])('a process that is %s tells nothing of its text', async text => {
  using parsers = await parsersOf()
  expect(await parse(parsers, text)).toBe('given up')
  expect(await nameIn(parsers, 'next')).toStartWith('next ')
})

test('a process that grows while it parses is killed, and the next text is parsed', async () => {
  using parsers = await parsersOf({ memory: 400 << 20 })
  const [grown, next] = await Promise.all([parse(parsers, 'grow'), nameIn(parsers, 'next')])
  expect(grown).toBe('fatal')
  expect(next).toStartWith('next ')
})

test('a process that has taken much memory ends after its reply', async () => {
  using parsers = await parsersOf()
  const [, first] = (await nameIn(parsers, 'large')).split(' ')
  const [, second, asked] = (await nameIn(parsers, 'small')).split(' ')
  expect(second).not.toBe(first)
  expect(asked).toBe('1')
})

test('one process parses one text after the other', async () => {
  using parsers = await parsersOf()
  const names = await Promise.all(['a', 'b', 'c'].map(text => nameIn(parsers, text)))
  expect(new Set(names.map(name => name.split(' ')[1])).size).toBe(1)
  expect(names.map(name => name.split(' ')[2])).toEqual(['1', '2', '3'])
})

test('after the end, waiting texts have no facts', async () => {
  const parsers = await parsersOf()
  const waiting = [parse(parsers, 'hang'), parse(parsers, 'a')]
  parsers[Symbol.dispose]()
  expect(await Promise.all(waiting)).toEqual(['given up', 'given up'])
})

test('a content is parsed once: facts are kept by blob id and grammar, also for the next process', async () => {
  const tree = await commit(place.path, 'main', { 'a.go': 'package a\nfunc Next() {}\n' })
  const { oid = '' } = (await place.objects.info(`${tree}:a.go`)) ?? {}
  const file = { path: asBytes('a.go'), oid, mode: '100644' } as const
  const read = async (parsers?: Parsers) => {
    using code = new CodeReader(place.objects, place.folder, parsers && (() => parsers))
    return await code.factsOf([file])
  }
  const [first] = await read()
  expect(first?.definitions.map(({ name }) => name)).toEqual(['Next'])
  // The facts are stored: with a time limit of 0 seconds, parsing would give none.
  expect(await read(await parsersOf({ seconds: 0 }))).toEqual([first ?? NO_FACTS])
})

test('the text of a blob has the facts that are kept for the blob, and a new text is parsed once', async () => {
  const [path, text] = [asBytes('b.go'), 'package b\nfunc Other() {}\n']
  using code = new CodeReader(place.objects, place.folder)
  const facts = await code.factsOfText(path, text)
  const hasty = await parsersOf({ seconds: 0 })
  using later = new CodeReader(place.objects, place.folder, () => hasty)
  expect(facts.definitions.map(({ name }) => name)).toEqual(['Other'])
  expect(await later.factsOfText(path, text)).toEqual(facts)
  const tree = await commit(place.path, 'main', { 'b.go': text })
  const { oid = '' } = (await place.objects.info(`${tree}:b.go`)) ?? {}
  expect(await later.factsOf([{ path, oid, mode: '100644' }])).toEqual([facts])
})

test('a text that ends its process is not parsed again, neither as a blob nor as a text, also by the next desk', async () => {
  const [path, text] = [asBytes('c.go'), 'crash']
  const tree = await commit(place.path, 'main', { 'c.go': text })
  const { oid = '' } = (await place.objects.info(`${tree}:c.go`)) ?? {}
  const file = { path, oid, mode: '100644' } as const
  const [hostile, harmless] = [await parsersOf(), await harmlessParsers()]
  using first = new CodeReader(place.objects, place.folder, () => hostile)
  expect(await first.factsOf([file])).toEqual([NO_FACTS])
  // These parsers would give a definition.
  using later = new CodeReader(place.objects, place.folder, () => harmless)
  expect((await later.structureOf(asBytes('d.go'), 'other'))?.facts.definitions).toHaveLength(1)
  expect(await later.factsOf([file])).toEqual([NO_FACTS])
  expect(await later.factsOfText(path, text)).toEqual(NO_FACTS)
  expect(await later.structureOf(path, text)).toBeUndefined()
  expect(await later.around(path, text, [[1, 0, 1, 1]])).toBeUndefined()
  expect([...later.symbolsOf([`${oid} go`]).values()]).toEqual([''])
})
