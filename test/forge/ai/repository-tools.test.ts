/** The repository's own tools, and the approval that each needs. */
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APPROVALS, Approvals, type Subject } from '../../../forge/ai/approvals.ts'
import { type RepositoryTool, RepositoryTools } from '../../../forge/ai/repository-tools.ts'
import { Sandbox } from '../../../forge/ai/sandbox.ts'
import { CommitVfs, WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit, type Files } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makePlace, type Place } from '../../support/repository.ts'
import { shortest } from '../../support/times.ts'
import { roomOf } from './room.ts'

setDefaultTimeout(60_000)

const never = new AbortController().signal
const toolOf = (name: string, body = "return 'ran'", more = '') => `
export const schema = { name: '${name}', description: 'It does ${name}.', properties: { path: { type: 'string' } },
  required: ['path'], additionalProperties: false ${more} }
export async function execute(vfs, args) { ${body} }
`
const sandbox = new Sandbox()
afterAll(() => sandbox[Symbol.asyncDispose]())

let place: Place
let config: string
beforeEach(async () => {
  place = await makePlace()
  config = join(place.folder, 'config/forge')
})
afterEach(() => place[Symbol.asyncDispose]())

const write = (vfs: WorkInProgressVfs, path: string, text: string) => vfs.writeFile(path, Buffer.from(text))
async function workOn(files: Files): Promise<WorkInProgressVfs> {
  return new WorkInProgressVfs(place.objects, await commit(place.path, 'main', files))
}
async function find(vfs: WorkInProgressVfs, taken: string[] = []) {
  return await new RepositoryTools(sandbox, new Approvals(config)).find(vfs, { taken: new Set(taken), signal: never })
}
async function theTool(vfs: WorkInProgressVfs, path = 'tools/mend.ts'): Promise<RepositoryTool> {
  const { tools, broken } = await find(vfs)
  const tool = tools.find(it => it.path === path)
  if (!tool) throw new Error(`There is no tool ${path}: ${broken.map(it => it.words)}`)
  return tool
}
const run = async (tool: RepositoryTool, vfs: WorkInProgressVfs, sent: unknown = { path: 'a' }) =>
  await tool.run(sent, roomOf(vfs, never))
async function approve(vfs: WorkInProgressVfs, path?: string): Promise<RepositoryTool> {
  const tool = await theTool(vfs, path)
  const question = await tool.question(vfs)
  if (!question) throw new Error('It is approved already')
  await tool.approve(vfs, question)
  return tool
}
const stateOf = async (vfs: WorkInProgressVfs, path?: string) => (await (await theTool(vfs, path)).approval(vfs)).state

// --- Which files are tools

test('a file in tools/ is a tool, by what its schema says in the sandbox', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend'), 'tools/deep/x.ts': '', 'tools/notes.md': '', 'x.ts': '' })
  const { tools, broken } = await find(vfs)
  expect(broken).toEqual([])
  expect(tools.map(it => [it.path, it.description])).toEqual([
    [
      'tools/mend.ts',
      {
        name: 'mend',
        description: 'It does mend.',
        parameters: {
          type: 'object',
          properties: { path: { type: 'string' } },
          required: ['path'],
          additionalProperties: false,
        },
      },
    ],
  ])
})

test('a file that can not be one says why, and the others are there all the same', async () => {
  const apart = toolOf('x').replace('properties', "parameters: { type: 'array' }, properties")
  const vfs = await workOn({
    'tools/other.ts': toolOf('another'),
    'tools/write_file.ts': toolOf('write_file'),
    'tools/Mend.ts': toolOf('Mend'),
    'tools/mend.ts': toolOf('mend'),
    'tools/syntax.ts': 'export const = 1',
    'tools/nothing.ts': 'export {}',
    'tools/wordless.ts': toolOf('wordless').replace(/description: '[^']*'/, "description: ' '"),
    'tools/x.ts': apart,
    'tools/deep.ts': toolOf('deep', '', `, deep: JSON.parse('['.repeat(50) + ']'.repeat(50))`),
    'tools/imports.ts': `import fs from 'node:fs'\n${toolOf('imports', 'return fs')}`,
    'tools/throws.ts': 'throw new Error("no")',
    'tools/hidden.ts': toolOf('hidden', "return '\u202e'"),
    'tools/long.ts': `// ${'x'.repeat(300_000)}`,
    'tools/link.ts': { mode: '120000', content: 'mend.ts' },
    'tools/latin.ts': '',
  })
  await vfs.writeFile('tools/latin.ts', Buffer.from([0x2f, 0x2f, 0xe9]))
  const { tools, broken } = await find(vfs, ['write_file'])
  expect(tools.map(it => it.description.name)).toEqual(['Mend'])
  const why = Object.fromEntries(broken.map(it => [it.path.slice(6, -3), it.words.replace(/^.* is no tool: /, '')]))
  expect(why).toEqual({
    other: 'its schema is named another, and its file other.',
    write_file: 'there is a tool write_file already.',
    mend: 'there is a tool mend already.',
    syntax: expect.stringContaining("can't be compiled"),
    nothing: expect.stringContaining('It has no `export async function execute'),
    wordless: 'its schema needs a `name` and a `description`.',
    x: expect.stringContaining('is not that of an object'),
    deep: 'its schema is nested too deeply.',
    imports: expect.stringContaining('A tool can import nothing'),
    throws: expect.stringContaining('Error: no'),
    hidden: expect.stringContaining('its source has invisible characters'),
    long: "a tool's source may have 256 KiB.",
    link: 'it is no file.',
    latin: 'its source is not UTF-8.',
  })
})

test('descriptions have a bound, and so has their number', async () => {
  const many = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`tools/t${at + 10}.ts`, 'export {}']))
  const vfs = await workOn({ ...many, 'tools/a.ts': toolOf('a').replace('It does a', 'x'.repeat(5000)) })
  const { tools, broken } = await find(vfs)
  expect(tools[0]?.description.description.length).toBeLessThan(1030)
  expect(broken.filter(it => it.words.includes('may bring 64 tools'))).toHaveLength(7)
})

test('tools that never say what they are do not hold up a turn for long, and only once', async () => {
  const endless = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`tools/t${at}.ts`, 'for (;;);']))
  const vfs = await workOn(endless)
  await using impatient = new Sandbox({ schemaSeconds: 0.3 })
  const tools = new RepositoryTools(impatient, new Approvals(config), 100)
  const look = async () => (await tools.find(vfs, { taken: new Set(), signal: never })).broken.map(it => it.words)
  const left = (words: string[]) => words.filter(it => it.includes('asked the next time')).length
  expect([left(await look()), left(await look())]).toEqual([3, 0])
  const patient = new RepositoryTools(impatient, new Approvals(config))
  const words = (await patient.find(vfs, { taken: new Set(), signal: never })).broken.map(it => it.words)
  expect(words.filter(it => it.includes('took longer than 0.3 seconds'))).toHaveLength(6)
  const again = () => patient.find(vfs, { taken: new Set(), signal: never })
  expect(await shortest(250, again)).toBeLessThan(250)
})

// --- Approval

test('a new tool is not run before it is approved, then it runs on its own', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend', "await vfs.writeFile(args.path, 'x'); return 'ran'") })
  const tool = await theTool(vfs)
  const refused = await run(tool, vfs)
  expect([refused.isError, refused.text]).toEqual([
    true,
    'mend was not run: the user has not approved it as it is now.',
  ])
  expect(vfs.changes.size).toBe(0)
  const question = await tool.question(vfs)
  expect(question).toMatchObject({
    path: 'tools/mend.ts',
    source: expect.stringContaining('args.path'),
    before: undefined,
  })
  if (question) await tool.approve(vfs, question)
  expect(await run(tool, vfs)).toEqual({ text: 'ran', isError: false, words: 'mend: a', touched: ['a'] })
  // In the next turn the tool is approved, by the committed approval.
  const person = { name: 'A', email: 'a@b' }
  const oid = await vfs.commit({ message: 'x\n', author: person, committer: person })
  expect(await stateOf(new WorkInProgressVfs(place.objects, oid))).toBe('approved')
})

test('a tool that has changed by one byte is asked about again, beside what was approved', async () => {
  const source = toolOf('mend')
  const vfs = await workOn({ 'tools/mend.ts': source })
  const tool = await approve(vfs)
  await write(vfs, 'tools/mend.ts', `${source} `)
  expect((await run(tool, vfs)).text).toContain('has not approved it as it is now')
  expect(await tool.question(vfs)).toMatchObject({ source: `${source} `, before: source })
  await write(vfs, 'tools/mend.ts', source)
  expect((await run(tool, vfs)).text).toBe('ran')
})

test('what has changed since it was shown is not approved', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  const tool = await theTool(vfs)
  const question = await tool.question(vfs)
  await write(vfs, 'tools/mend.ts', toolOf('mend', "return 'evil'"))
  if (question) expect(await refusedBy(tool.approve(vfs, question))).toThrow('has changed meanwhile')
  expect(await stateOf(vfs)).toBe('new')
})

test('the same content under another name is asked about', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  await approve(vfs)
  const subject = (name: string): Subject => ({ kind: 'tool', scope: '', name, content: Buffer.from(toolOf('mend')) })
  const approvals = new Approvals(config)
  expect((await approvals.look(vfs, subject('tools/mend.ts'))).state).toBe('approved')
  expect((await approvals.look(vfs, subject('tools/other.ts'))).state).toBe('new')
  expect((await approvals.look(vfs, { ...subject('tools/mend.ts'), kind: 'command' })).state).toBe('new')
  expect((await approvals.look(vfs, { ...subject('tools/mend.ts'), scope: 'x' })).state).toBe('new')
})

test('a branch of a stranger brings no approval: not theirs, not a forged one, not one of another tool', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend'), 'tools/evil.ts': toolOf('evil') })
  // A stranger approves the tool with a key of their own.
  const theirs = new WorkInProgressVfs(vfs.objects, vfs.base)
  const stranger = new Approvals(join(place.folder, 'stranger'))
  const content = Buffer.from(toolOf('evil'))
  await stranger.approve(theirs, { kind: 'tool', scope: '', name: 'tools/evil.ts', content })
  const [foreign] = await entriesOf(theirs)
  await approve(vfs, 'tools/mend.ts')
  const [mine] = await entriesOf(vfs)
  if (!foreign || !mine) throw new Error('There is no approval')
  const forged = [
    foreign,
    { ...foreign, key: mine.key },
    { ...mine, name: 'tools/evil.ts', blob: foreign.blob, sha256: foreign.sha256 },
    { ...mine, name: 'tools/evil.ts' },
    { ...mine, sha256: foreign.sha256, blob: foreign.blob },
    { ...foreign, key: mine.key, signature: '' },
    { ...foreign, key: mine.key, signature: mine.signature.replace(/^./, it => (it === 'A' ? 'B' : 'A')) },
  ]
  for (const entry of forged) {
    await write(vfs, APPROVALS, JSON.stringify({ version: 1, approvals: [entry, mine] }))
    expect([await stateOf(vfs, 'tools/evil.ts'), await stateOf(vfs, 'tools/mend.ts')]).toEqual(['new', 'approved'])
  }
  // Many entries with this user's key but another person's signature approve nothing, and cost little time.
  const flood = Array.from({ length: 1500 }, () => ({ ...foreign, key: mine.key }))
  await write(vfs, APPROVALS, JSON.stringify({ version: 1, approvals: flood }))
  expect(await stateOf(vfs, 'tools/evil.ts')).toBe('new')
})

test('approvals of others stay where they are, and an own one takes the place of the earlier', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  const colleague = new Approvals(join(place.folder, 'colleague'))
  await colleague.approve(vfs, { kind: 'tool', scope: '', name: 'tools/mend.ts', content: Buffer.from(toolOf('mend')) })
  expect(await stateOf(vfs)).toBe('new')
  await approve(vfs)
  await write(vfs, 'tools/mend.ts', toolOf('mend', 'return 2'))
  await approve(vfs)
  const entries = await entriesOf(vfs)
  expect([entries.length, new Set(entries.map(it => it.key)).size]).toEqual([2, 2])
})

test('a file of approvals that is broken approves nothing, and is replaced', async () => {
  const broken = [
    '',
    '[',
    '{}',
    '{"version":2,"approvals":[]}',
    '{"version":1,"approvals":[{"key":1}]}',
    '['.repeat(1e5),
  ]
  for (const text of [...broken, `"${'x'.repeat(3 << 20)}"`]) {
    const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
    await write(vfs, APPROVALS, text)
    expect(await stateOf(vfs)).toBe('new')
    await approve(vfs)
    expect(await stateOf(vfs)).toBe('approved')
  }
})

test('without the key nothing is approved any more; one that is not alone is not used', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  await approve(vfs)
  const key = join(config, 'signing_key')
  expect([(await stat(key)).mode & 0o777, (await readdir(config)).sort()]).toEqual([0o600, ['signing_key']])
  await chmod(key, 0o644)
  expect(await refusedBy(stateOf(vfs))).toThrow('can be read by others')
  await chmod(key, 0o600)
  await rename(key, `${key}.away`)
  expect(await stateOf(vfs)).toBe('new')
  await approve(vfs)
  expect(await stateOf(vfs)).toBe('approved')
  await rename(`${key}.away`, key)
  for (const text of ['no key', await keyOf('rsa'), await keyOf('ed25519', 'a passphrase')]) {
    await writeFile(key, text)
    expect(await refusedBy(stateOf(vfs))).toThrow('is no signing key of Forge')
  }
  await rm(key)
})

/** A private key of ssh-keygen, of this type. */
async function keyOf(type: string, passphrase = ''): Promise<string> {
  const path = join(place.folder, `key-${type}-${passphrase.length}`)
  await Bun.$`ssh-keygen -q -t ${type} -N ${passphrase} -f ${path}`
  return await Bun.file(path).text()
}

test('two that need the key at the same time make one', async () => {
  const subject = (name: string): Subject => ({ kind: 'command', scope: 's', name, content: Buffer.from('x') })
  const base = await commit(place.path, 'main', {})
  const works = Array.from({ length: 6 }, () => new WorkInProgressVfs(place.objects, base))
  await Promise.all(works.map((vfs, at) => new Approvals(config).approve(vfs, subject(`c${at}`))))
  const keys = await Promise.all(works.map(async vfs => (await entriesOf(vfs))[0]?.key))
  expect(new Set(keys).size).toBe(1)
  expect((await readdir(config)).sort()).toEqual(['signing_key'])
})

// --- A run

test('a tool that fails changes nothing, also where it had written before', async () => {
  const body = "await vfs.writeFile('x', 'x'); await vfs.deleteFile('a.txt'); throw new Error('late')"
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend', body), 'a.txt': 'a' })
  const tool = await approve(vfs)
  const { text, isError } = await run(tool, vfs)
  expect([isError, text]).toEqual([
    true,
    expect.stringMatching(/^mend failed, and changed nothing\. It threw Error: late/),
  ])
  expect([...vfs.changes.keys()]).toEqual([APPROVALS])
})

test('a tool can not approve itself, nor another', async () => {
  const body = `const seen = JSON.parse(await vfs.readFile('${APPROVALS}')); await vfs.writeFile('${APPROVALS}', JSON.stringify(seen))`
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend', body) })
  const { text } = await run(await approve(vfs), vfs)
  expect(text).toContain('.forge is not written here')
})

test('a file that becomes a folder, and what is written twice, come over as they are', async () => {
  const body = `await vfs.deleteFile('a.txt'); await vfs.writeFile('a.txt/in', 'x'); await vfs.deleteFile('dir')
    await vfs.writeFile('dir', 'y', { executable: true }); await vfs.writeFile('new', '1'); await vfs.deleteFile('new')`
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend', body), 'a.txt': 'a', 'dir/b': 'b' })
  await write(vfs, 'draft', 'stays')
  expect((await run(await approve(vfs), vfs)).text).toBe('Done.')
  expect((await vfs.listFiles('')).map(it => `${it.mode} ${it.path}`)).toEqual([
    `100644 ${APPROVALS}`,
    '100644 a.txt/in',
    '100755 dir',
    '100644 draft',
    '100644 tools/mend.ts',
  ])
  await vfs.writeTree()
})

test('arguments that do not fit are told, and nothing is run', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  const tool = await approve(vfs)
  const wrong: [unknown, string][] = [
    ['{"path', 'send its arguments as a JSON object.'],
    [[], 'send its arguments as a JSON object.'],
    [{}, 'the argument path is missing.'],
    [{ path: 1 }, 'the argument path must be of type string.'],
    [{ path: 'a', more: 1 }, 'it has no argument more.'],
    [JSON.parse('{"path":"a","__proto__":1}'), 'it has no argument __proto__.'],
  ]
  for (const [sent, words] of wrong)
    expect(await run(tool, vfs, sent)).toMatchObject({ isError: true, text: `mend was not run: ${words}` })
})

test('a tool that is gone meanwhile says so', async () => {
  const vfs = await workOn({ 'tools/mend.ts': toolOf('mend') })
  const tool = await approve(vfs)
  await vfs.deleteFile('tools/mend.ts')
  expect((await run(tool, vfs)).text).toContain('There is no file tools/mend.ts')
  expect(await new CommitVfs(place.objects, vfs.base ?? '').fileExists('tools/mend.ts')).toBe(true)
})

type Entry = { key: string; blob: string; sha256: string; signature: string; name: string }

async function entriesOf(vfs: WorkInProgressVfs): Promise<Entry[]> {
  return JSON.parse((await vfs.readFile(APPROVALS)).toString()).approvals
}
