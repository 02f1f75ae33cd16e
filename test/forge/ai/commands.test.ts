/**
 * Commands for the AI, with a stand-in for docker that runs them without a container: when they may run, which changes
 * are taken over, and how they end. What a container's commands can't do is tested on a real engine, in test/e2e.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  areCommandsOn,
  commandTool,
  removeLeftCommands,
  switchCommands,
  whyNoCommands,
} from '../../../forge/ai/commands.ts'
import type { ToolResult } from '../../../forge/ai/tool.ts'
import { runChecks } from '../../../forge/ai/turn-checks.ts'
import { WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makePlace, type Place, until } from '../../support/repository.ts'
import { roomOf } from './room.ts'

setDefaultTimeout(60_000)

const never = new AbortController().signal
const FILES = {
  'a.txt': 'a\n',
  'src/b.ts': 'b\n',
  'src/c.ts': 'c\n',
  link: { mode: '120000' as const, content: '/etc/passwd' },
}
const before: Record<string, string | undefined> = {}
let place: Place
let state: string
let vfs: WorkInProgressVfs

function setVariable(name: string, value: string | undefined): void {
  if (!(name in before)) before[name] = process.env[name]
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

beforeAll(() => setVariable('PATH', `${join(import.meta.dir, '../../stand-ins')}:${process.env.PATH}`))
afterAll(() => {
  for (const [name, value] of Object.entries(before)) setVariable(name, value)
})

beforeEach(async () => {
  place = await makePlace()
  state = join(place.folder, 'state')
  setVariable('FORKLIFT_TEST_DOCKER', join(place.folder, 'engine'))
  setVariable('FORKLIFT_TEST_FAULT', undefined)
  await Bun.write(join(state, 'x'), '')
  await switchCommands(state, true)
  vfs = new WorkInProgressVfs(place.objects, await commit(place.path, 'main', FILES))
  // A name that is not UTF-8: commands see the file, but their changes of it can't be copied back to the branch.
  await vfs.writeFile('caf\xe9', Buffer.from('latin1'))
})
afterEach(() => place[Symbol.asyncDispose]())

async function run(command: string, more: object = {}, signal = never): Promise<ToolResult> {
  return await commandTool(state).run({ command, ...more }, roomOf(vfs, signal))
}

test('a command sees the files as they are now, and its output and its end are told', async () => {
  await vfs.writeFile('new.txt', Buffer.from('new'))
  const good = await run('cat a.txt new.txt; ls; pwd >/dev/null; echo wrong >&2')
  expect(good.text).toMatch(/^It ended with 0 after \d+ seconds?\.\nIts output:\na\nnewa\.txt\n/)
  expect([good.isError, good.text.includes('wrong'), good.touched]).toEqual([false, true, []])
  const bad = await run('exit 3')
  expect([bad.isError, bad.text]).toEqual([true, expect.stringMatching(/^It ended with 3 .*\nIt printed nothing\.$/)])
  expect(await readdir(join(state, 'materialized'))).toEqual([])
})

test('nothing comes back unless it is asked for', async () => {
  const { text } = await run('echo more >> a.txt; echo new > n; rm src/b.ts')
  expect(text).not.toContain('Changed')
  expect([...vfs.changes.keys()]).toEqual(['caf\xe9'])
})

test('files, folders and globs that are asked for come back, with their modes, and those that are gone', async () => {
  const command =
    'echo more >> a.txt; echo x > src/run.sh; chmod +x src/run.sh; rm src/b.ts; echo no > other; echo y > z.md'
  const { text, touched } = await run(command, { keep_changes: ['a.txt', './src/', '*.md'] })
  expect(touched).toEqual(['a.txt', 'src/b.ts', 'src/run.sh', 'z.md'])
  expect(text).toContain('Changed: a.txt, src/b.ts, src/run.sh, z.md.')
  expect((await vfs.listFiles('')).map(it => `${it.mode} ${it.path}`)).toEqual([
    '100644 a.txt',
    '100644 caf\xe9',
    '120000 link',
    '100644 src/c.ts',
    '100755 src/run.sh',
    '100644 z.md',
  ])
  expect((await vfs.readFile('a.txt')).toString()).toBe('a\nmore\n')
})

test('links, pipes, repositories, protected and odd names do not come back, and are told', async () => {
  const command = [
    'ln -s /etc/passwd stolen; ln -s /etc folder; mkfifo pipe; mkdir -p .git/hooks deep/.git .forge',
    'echo x > .git/hooks/x; echo x > deep/.git/config; echo x > .forge/approved_tools.json; echo x > .GIT',
    "printf x > $'a\\nb'; printf x > $'caf\\xe8'; rm -r src; ln -s /etc src; echo fine > fine",
    'head -c 17000000 /dev/zero > big',
  ].join('\n')
  const { text, touched, isError } = await run(command, { keep_changes: ['**', '.*/**', '.GIT', '.git', 'deep'] })
  expect([isError, touched]).toEqual([false, ['fine', 'src/b.ts', 'src/c.ts']])
  for (const refused of [
    'stolen (a link)',
    'folder (a link)',
    'pipe (no file)',
    '.git (a repository)',
    'big (larger than 16 MB)',
  ])
    expect(text).toContain(refused)
  expect(text).toContain('.forge is not written here')
  const paths = (await vfs.listFiles('')).map(it => it.path)
  expect(paths).toEqual(['a.txt', 'caf\xe9', 'fine', 'link'])
  expect(text).not.toContain('root:')
})

test('a folder that the command has closed is opened again and removed', async () => {
  const { touched } = await run('mkdir shut; echo x > shut/in; chmod 000 shut/in shut; chmod 500 .', {
    keep_changes: ['shut'],
  })
  expect(touched).toEqual(['shut/in'])
  expect(await readdir(join(state, 'materialized'))).toEqual([])
})

test('too much of it is refused whole', async () => {
  const { text, isError } = await run('for i in 1 2 3 4 5; do head -c 15000000 /dev/zero > f$i; done', {
    keep_changes: ['*'],
  })
  expect([isError, vfs.changes.size]).toEqual([true, 1])
  expect(text).toContain('more than 64 MB')
})

test('of much output the beginning and the end are kept', async () => {
  const { text } = await run('echo first; yes | head -c 50000000; echo last')
  expect(text.length).toBeLessThan(34_000)
  expect(text).toMatch(/Its output:\nfirst\ny\n/)
  expect(text).toMatch(/\n… the middle is left out here …\n[\s\S]*last$/)
  expect((await run("printf '\\033[31mred\\033[0m\\r\\n'")).text).toMatch(/output:\nred$/)
})

test('when its time is over it is stopped, and what it printed is told', async () => {
  const { text, isError } = await run('echo begun; exec sleep 1000', { seconds: 1 })
  expect([isError, text]).toEqual([true, 'It was stopped after 1 seconds.\nIts output:\nbegun'])
  expect(await readdir(join(place.folder, 'engine/containers'))).toEqual([])
})

test('a signal stops it, and leaves nothing running or lying about', async () => {
  const stop = new AbortController()
  const ended = run('touch begun; exec sleep 1000', {}, stop.signal)
  const containers = () => readdir(join(place.folder, 'engine/containers')).catch(() => [])
  await until(async () => (await containers()).length === 1)
  stop.abort(new Error('stopped by the user'))
  expect(await refusedBy(ended)).toThrow('stopped by the user')
  expect([await containers(), await readdir(join(state, 'materialized'))]).toEqual([[], []])
})

test('it runs only where the person has switched it on, and the image is there', async () => {
  expect([await areCommandsOn(state), await whyNoCommands(state, never)]).toEqual([true, undefined])
  for (const [fault, words] of [
    ['no-image', 'make image'],
    ['down', 'does not answer'],
    ['rootless', 'map user ids'],
  ]) {
    setVariable('FORKLIFT_TEST_FAULT', fault)
    const { text, isError } = await run('touch /tmp/never')
    expect([isError, text]).toEqual([true, expect.stringContaining(words ?? '')])
  }
  setVariable('FORKLIFT_TEST_FAULT', undefined)
  await switchCommands(state, false)
  expect((await run('true')).text).toBe(
    'run_command was not run. Commands are switched off for this repository: the user can switch them on.',
  )
})

test('what makes no sense is not run', async () => {
  const tool = commandTool(state)
  for (const sent of [
    undefined,
    'ls',
    {},
    { command: '' },
    { command: 1 },
    { command: 'ls', seconds: 1e9 },
    { command: 'ls', keep_changes: 'x' },
  ])
    expect((await tool.run(sent, roomOf(vfs, never))).text).toContain('run_command was not run')
  expect(tool.title({ command: 'make\ttest' })).toBe('run_command make\\x09test')
})

test('the container has the lock, no network, no capabilities, and nothing of this environment', async () => {
  setVariable('ANTHROPIC_API_KEY', 'sk-ant-secret-value')
  await run('true')
  const calls = await Promise.all(
    (await readdir(join(place.folder, 'engine/calls'))).map(it =>
      readFile(join(place.folder, 'engine/calls', it), 'utf8'),
    ),
  )
  const call = calls.find(it => it.startsWith('run\0'))?.split('\0') ?? []
  const flags = call.join(' ')
  for (const flag of [
    '--network none',
    '--cap-drop ALL',
    '--read-only',
    '--security-opt no-new-privileges',
    '--pull never',
  ])
    expect(flags).toContain(flag)
  expect(flags).toMatch(/--user [1-9]\d*:[1-9]\d* /)
  expect(flags).not.toMatch(/--cap-add|--privileged|ANTHROPIC|sk-ant|docker\.sock/)
  expect(call.filter(it => it.startsWith('type=bind'))).toHaveLength(1)
})

test('what a killed process has left is removed, also where the command had closed it', async () => {
  const dead = Bun.spawn(['true'])
  await dead.exited
  const left = join(state, 'materialized', `scratch-${hostname()}-${dead.pid}-abc`, 'shut')
  await mkdir(join(left, 'in'), { recursive: true })
  await chmod(left, 0)
  await removeLeftCommands(state)
  expect(await readdir(join(state, 'materialized'))).toEqual([])
})

test('the checks of FORGE.md run on the turn’s files, prepared, and those that fail are told with what they printed', async () => {
  const forge = {
    prepare: ['echo ready > ready'],
    checks: ['grep -q ready ready', 'echo bad; grep -q x a.txt', 'cat new.txt'],
  }
  await vfs.writeFile('new.txt', Buffer.from('new\n'))
  const checked = await runChecks(state, forge, { vfs, signal: never })
  expect(checked).toMatchObject({
    isGood: false,
    words: 'failed: echo bad; grep -q x a.txt',
    failed: ['echo bad; grep -q x a.txt'],
  })
  expect(checked?.text).toBe('$ echo bad; grep -q x a.txt\n(it ended with 1)\nbad')
  // Files that checks wrote are not taken over, and only failed checks run again.
  expect(await vfs.fileExists('ready')).toBe(false)
  expect(await runChecks(state, forge, { vfs, signal: never, only: ['cat new.txt'] })).toMatchObject({
    isGood: true,
    words: '1 check passed',
  })
  const broken = await runChecks(state, { ...forge, prepare: ['exit 3'] }, { vfs, signal: never })
  expect(broken).toMatchObject({ isGood: false, failed: ['exit 3'] })
})

test('no check runs where commands are switched off, or there are none', async () => {
  expect(await runChecks(state, { prepare: [], checks: [] }, { vfs, signal: never })).toBeUndefined()
  await switchCommands(state, false)
  expect(await runChecks(state, { prepare: [], checks: ['true'] }, { vfs, signal: never })).toBeUndefined()
})
