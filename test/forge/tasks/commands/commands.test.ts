/** The commands of the tasks on the command line of `forge`: found, explained, and distinguished from folders. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { RunStore } from '../../../../forge/tasks/runs/store.ts'
import { bare, commit, git, gitWith, PLAIN } from '../../../support/git.ts'
import { homeIn } from '../../../support/temporal.ts'
import { PROJECT } from '../../../support/world.ts'

let folder = ''
let env: Record<string, string | undefined> = {}
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'forge-commands-')))
  env = await homeIn(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function forge(args: string[], more: Record<string, string> = {}, cwd = folder) {
  const command = [join(PROJECT, 'forge.ts'), ...args]
  const child = Bun.spawn(command, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { code: await child.exited, out, err }
}

test('forge --help lists the commands, and each explains itself', async () => {
  const { code, out } = await forge(['--help'])
  expect(code).toBe(0)
  const verbs = out.split('\n').flatMap(line => /^forge ([a-z]+) .* {3}/.exec(line)?.[1] ?? [])
  expect(verbs).toEqual(expect.arrayContaining(['worker', 'up', 'down', 'doctor']))
  for (const verb of verbs) {
    const help = await forge([verb, '--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toStartWith(`forge ${verb}`)
  }
}, 60_000)

test('an option that a command does not know is wrong usage', async () => {
  expect(await forge(['up', '--loud'])).toEqual({
    code: 64,
    out: '',
    err: "Unknown option '--loud': forge up [--ui]\n",
  })
})

test('a folder that is named as a command is opened as a folder', async () => {
  await mkdir(join(folder, 'doctor'))
  const { code, err } = await forge(['./doctor', '--no-open'])
  expect(err).toMatch(/^There is no git repository in .*doctor/)
  expect(code).toBe(1)
})

test('forge doctor says what is missing, and what to do about it', async () => {
  const { code, out } = await forge(['doctor'], { FORGE_TEMPORAL_BIN: '/nowhere/temporal' })
  expect(code).toBe(1)
  const lines = out.trimEnd().split('\n')
  expect(lines.map(line => line.split(/\s+/)[1])).toEqual([
    'git',
    'repository',
    'Temporal',
    'worker',
    'models',
    'containers',
    'signing',
    'traces',
  ])
  expect(lines[0]).toMatch(/^✓ git +2\.\d+$/)
  expect(lines[1]).toMatch(/^✗ repository +There is no git repository in /)
  expect(lines[2]).toMatch(/^✗ Temporal +FORGE_TEMPORAL_BIN is \/nowhere\/temporal, which is no program: /)
  expect(lines[3]).toMatch(/^- worker +no repository here$/)
  expect(lines[4]).toMatch(/^✗ models +To ask a model, set FORGE_MODEL /)
  expect(lines[6]).toMatch(/^- signing +no key yet: /)
  expect(lines[7]).toMatch(/^- traces +not sent: /)
})

test('forge doctor --json says the same to a program', async () => {
  const { code, out, err } = await forge(['doctor', '--json'])
  expect({ code, err }).toEqual({ code: 1, err: '' })
  const found = out
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(found).toEqual(
    expect.arrayContaining([
      { name: 'git', state: 'good', words: expect.stringMatching(/^2\.\d+$/) },
      { name: 'repository', state: 'missing', words: expect.stringContaining('There is no git repository in') },
      { name: 'traces', state: 'optional', words: expect.stringContaining('not sent') },
    ]),
  )
  expect(found).toHaveLength(8)
})

test.each([
  ['statsu', ' Did you mean forge stats?'],
  ['resmue', ' Did you mean forge resume?'],
  ['Show', ' Did you mean forge show?'],
  ['nonsense', ''],
])('%s is no command and no folder, and the nearest one is named', async (word, hint) => {
  expect(await forge([word, 'last', '--json'])).toEqual({
    ...{ code: 64, out: '' },
    err: `There is no command ${word}, and no folder of that name.${hint} forge --help lists the commands.\n`,
  })
})

test('forge stats of a repository without runs says so, and lists nothing', async () => {
  const child = Bun.spawn(['git', 'init', '-q', join(folder, 'empty')], { stdio: ['ignore', 'ignore', 'inherit'] })
  expect(await child.exited).toBe(0)
  const stats = async (...args: string[]) => forge(['stats', ...args], {}, join(folder, 'empty'))
  expect(await stats()).toEqual({
    ...{ code: 0, err: '' },
    out: 'No model has answered in this repository yet: forge run "…" begins a run.\n',
  })
  expect(await stats('--json')).toEqual({ code: 0, out: '', err: '' })
})

test('what a push to the hub has made of a run is not signed when it is resumed, and ends no command', async () => {
  const path = join(folder, 'pushed')
  await gitWith(folder, ['init', '--quiet', '--initial-branch=main', path])
  const base = await commit(path, 'main', { 'a.txt': 'a\n' })
  for (const [key, value] of Object.entries({
    'remote.hub.url': await bare(join(folder, 'hub.git'), 'main'),
    'forge.hub': 'hub',
  }))
    await git(path, 'config', key, value)
  await using objects = openObjects(await openRepository(path, { env: PLAIN }))
  const store = new RunStore(objects, '20261122-test-abcd')
  const wish = await store.put('wish', 'Do something else.')
  const input = {
    run: store.run,
    wish,
    base,
    limits: { depth: 3 },
    isApproved: true,
    onlyPlan: false,
    atMost: 8,
    began: 1,
  }
  await store.set('run.json', JSON.stringify(input))
  const { code, err } = await forge(['resume', store.run, '--yes'], {}, path)
  expect({ code, err }).toEqual({
    code: 1,
    err: `You have not asked for ${store.run} as it is in this repository, so it is not resumed: see forge run.\n`,
  })
  expect(await store.all('approvals')).toEqual([])
  // Nor does it end a command, or reach the terminal.
  for (const status of ['{}', JSON.stringify({ run: store.run, state: '\u001b[2J', tasks: [], words: '' })]) {
    await store.set('status.json', status)
    const { code, out } = await forge(['runs'], {}, path)
    expect({ code, out }).toEqual({
      code: 0,
      out: `${store.run}  unreachable · 0 requests, 0 tokens · Do something else.\n  No Temporal server runs here: start one with forge up.\n`,
    })
  }
})

test('a server that can’t be reached is told of in a sentence', async () => {
  expect(await forge(['up'], { TEMPORAL_ADDRESS: '127.0.0.1:1' })).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/^No Temporal server answers at 127\.0\.0\.1:1 \(.*ECONNREFUSED.*\n$/),
  })
})

test('the desk starts without the packages of the tasks', async () => {
  const script = [
    `await import(${JSON.stringify(join(PROJECT, 'forge/tasks/commands/commands.ts'))})`,
    'console.log(Object.keys(require.cache).filter(path => /@(temporalio|opentelemetry)|tasks.engine/.test(path)).join())',
  ].join('\n')
  const child = Bun.spawn([process.execPath, '-e', script], { cwd: PROJECT, stdio: ['ignore', 'pipe', 'inherit'] })
  expect((await child.stdout.text()).trim()).toBe('')
})
